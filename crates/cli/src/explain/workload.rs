//! Explains all pods of a workload: which ones leave, when and why.
//!
//! - Invariant: each verdict equals that of `explain pod/NAME`.

use super::context::ExplainContext;
use super::not_found::not_in_files;
use super::pod::PodExplanation;
use super::target::{Target, TargetKind};
use crate::cluster_state::details::{PodDetails, WorkloadOwner};
use crate::color::Color;
use crate::messages::{self, paragraph, stamp};
use crate::output::{PrintOptions, Table, TableCell, TableColumn};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use taintward_core::time::{Mono, Now};

/// A workload and its pods.
pub(super) struct WorkloadExplanation<'s> {
    target: &'s Target,
    maker: WorkloadOwner,
    namespace: String,
    /// Those that leave, the first one first; those of which it is not known; those that stay.
    pods: Vec<PodExplanation<'s>>,
}

/// How many of its pods do what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct OutcomeCounts {
    going: usize,
    later: usize,
    staying: usize,
    /// They have no node, or one that is not known.
    unjudged: usize,
}

impl<'s> WorkloadExplanation<'s> {
    pub(super) fn of(
        context: &'s ExplainContext,
        maker: WorkloadOwner,
        target: &'s Target,
    ) -> Result<Self, String> {
        let name = &target.name;
        let own: Vec<&PodDetails> =
            context.related().details.made.values().filter(|pod| pod.is_of(maker, name)).collect();
        let spaces: BTreeSet<&str> = own.iter().map(|pod| pod.namespace.as_str()).collect();
        let spaces: Vec<&str> = spaces.into_iter().collect();
        let namespace = match (&spaces[..], context.namespace()) {
            ([one], _) => (*one).to_owned(),
            ([], Some(namespace)) if context.related().present.contains(&(maker, name.clone())) => {
                namespace.to_owned()
            }
            ([], _) => return Err(absent(context, maker, target)),
            (several, _) => {
                let kind = target.kind.as_str();
                let several = several.join(", ");
                return Err(format!(
                    "there are pods of {kind} {name} in several namespaces: {several}; name one with -n"
                ));
            }
        };
        let mut pods: Vec<PodExplanation<'s>> =
            own.into_iter().map(|pod| PodExplanation::of(context, pod)).collect();
        pods.sort_by_cached_key(|pod| match (pod.leaves(), pod.outcome()) {
            (Some(at), _) => (0, at, String::new()),
            (None, None) => (1, Mono::NEVER, pod.why()),
            (None, Some(_)) => (2, Mono::NEVER, pod.why()),
        });
        Ok(Self { target, maker, namespace, pods })
    }

    fn counts(&self, now: Now) -> OutcomeCounts {
        let mut counts = OutcomeCounts::default();
        for pod in &self.pods {
            let count = match (pod.leaves(), pod.outcome()) {
                (Some(at), _) if at <= now.mono => &mut counts.going,
                (Some(_), _) => &mut counts.later,
                (None, Some(_)) => &mut counts.staying,
                (None, None) => &mut counts.unjudged,
            };
            *count += 1;
        }
        counts
    }

    /// `deployment/web`
    pub(super) fn name(&self) -> String {
        format!("{}/{}", self.target.kind.as_str(), self.target.name)
    }

    /// As people read it.
    pub(super) fn text(&self, now: Now, view: &PrintOptions, text: &mut String) {
        let (kind, counts) = (self.maker.of_api().0, self.counts(now));
        paragraph(text, &format!("{kind} {}/{}", self.namespace, self.target.name), view);
        let s = |count: usize| if count == 1 { "s" } else { "" };
        let unjudged = match counts.unjudged {
            0 => String::new(),
            many => format!(", of {many} it is not known"),
        };
        let sentence = match self.pods.len() {
            0 => "It has no pods.".to_owned(),
            all => format!(
                "{all} pod{}: {} ha{} to go now, {} count{} down, {} stay{}{unjudged}.",
                if all == 1 { "" } else { "s" },
                counts.going,
                if counts.going == 1 { "s" } else { "ve" },
                counts.later,
                s(counts.later),
                counts.staying,
                s(counts.staying),
            ),
        };
        paragraph(text, &sentence, view);
        if self.pods.is_empty() {
            return;
        }
        let leaves = TableColumn::new(&messages::with_zone("LEAVES", now));
        let mut table = Table::new(vec![
            leaves,
            TableColumn::new("POD").shortens(),
            TableColumn::new("NODE"),
            TableColumn::new("WHY"),
        ]);
        for pod in &self.pods {
            let time = match (pod.leaves(), pod.outcome()) {
                (Some(at), _) if at <= now.mono => TableCell::new("now").colored(Color::Red),
                (Some(at), _) => TableCell::new(messages::moment(now, at)),
                (None, Some(_)) => TableCell::new("stays"),
                (None, None) => TableCell::new("<unknown>"),
            };
            let node = if pod.node().is_empty() { "<none>" } else { pod.node() };
            table.push(vec![time, pod.name().into(), node.into(), pod.why().into()]);
        }
        text.push('\n');
        *text += &table.print(view);
    }

    /// As programs read it.
    pub(super) fn object(&self, now: Now) -> Value {
        let counts = self.counts(now);
        let mut object = json!({
            "kind": "Explanation",
            "about": {
                "kind": self.maker.of_api().0, "namespace": self.namespace, "name": self.target.name, "uid": null,
            },
            "outcome": "Workload",
            "pods": {
                "all": self.pods.len(),
                "leavingNow": counts.going,
                "leavingLater": counts.later,
                "staying": counts.staying,
                "unknown": counts.unjudged,
            },
            "leaving": [],
            "staying": [],
            "unknown": [],
        });
        for pod in &self.pods {
            let mut item = json!({
                "namespace": pod.namespace(),
                "pod": pod.name(),
                "node": (!pod.node().is_empty()).then_some(pod.node()),
                "why": pod.why(),
            });
            let list = match (pod.leaves(), pod.outcome()) {
                (Some(at), _) => {
                    item["leavesAt"] = stamp(at);
                    item["inSeconds"] = json!((at.as_micros() - now.mono.as_micros()) / 1_000_000);
                    item["taint"] = json!(pod.decisive_taint());
                    "leaving"
                }
                (None, Some(_)) => "staying",
                (None, None) => "unknown",
            };
            object[list].as_array_mut().expect("it is a list, see above").push(item);
        }
        object
    }
}

fn absent(context: &ExplainContext, maker: WorkloadOwner, target: &Target) -> String {
    let (kind, name) = (target.kind.as_str(), &target.name);
    let state = &context.related().state;
    if context.controllers().is_none() {
        return not_in_files(context, TargetKind::Workload(maker), name);
    }
    if !state.gaps.is_empty() {
        return format!("no pod of {kind} {name} could be read: nothing is said of it");
    }
    let space = context.namespace().unwrap_or_default();
    let plural = maker.of_api().2;
    format!(
        "there is no {kind} {name} in namespace {space}; kubectl get {plural} -n {space} lists those there are"
    )
}
