//! Explains all pods of a workload: which ones are evicted, when and why.
//!
//! - Invariant: each verdict equals that of `explain pod/NAME`.

use super::PodExplanation;
use crate::cluster_state::details::{PodDetails, WorkloadOwner};
use crate::color::Color;
use crate::explain::taint_description::ShownMeanings;
use crate::explain::target::Target;
use crate::explain::{ExplainContext, Explanation, ExplanationResult, not_found, text_parts};
use crate::messages::{self, paragraph, stamp};
use crate::output::{PrintOptions, Table, TableCell, TableColumn};
use crate::past_eviction::PastEviction;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use taintward_core::time::{Mono, Now};
use taintward_core::verdict::{EvictionExemption, Outcome, StayReason};

/// A workload and its pods.
struct WorkloadExplanation<'s> {
    context: &'s ExplainContext,
    target: &'s Target,
    maker: WorkloadOwner,
    namespace: String,
    /// Pods with a deadline, the first one first; then those that are unknown; then those that stay.
    pods: Vec<PodExplanation<'s>>,
}

/// The outcome of a pod that is being deleted: it does not stay.
const BEING_DELETED: Outcome = Outcome::Stays(StayReason::Exempt(EvictionExemption::Terminating));

/// The outcome of a pod whose countdown is paused.
const HELD: Outcome = Outcome::Stays(StayReason::OnHold);

/// The number of its pods for each outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct OutcomeCounts {
    due: usize,
    counting_down: usize,
    staying: usize,
    held: usize,
    being_deleted: usize,
    /// Pods without a node, or with an unknown one.
    unknown: usize,
}

/// The explanation of the pods of a workload.
pub(super) fn explain<'s>(
    context: &'s ExplainContext,
    maker: WorkloadOwner,
    target: &'s Target,
) -> ExplanationResult<'s> {
    let (kind, name) = (target.kind.as_str(), &target.name);
    let related = &context.related;
    let own: Vec<&PodDetails> = related.details.made.values().filter(|pod| pod.is_of(maker, name)).collect();
    let spaces: BTreeSet<&str> = own.iter().map(|pod| pod.namespace.as_str()).collect();
    let spaces: Vec<&str> = spaces.into_iter().collect();
    let namespace = match (&spaces[..], context.namespace()) {
        ([one], _) => (*one).to_owned(),
        ([], Some(namespace)) if related.present.contains(&(maker, name.clone())) => namespace.to_owned(),
        ([], _) if context.controllers.is_some() && !related.state.gaps.is_empty() => {
            return Err(format!(
                "cannot explain {kind} {name}, because none of its pods could be read; fix the errors above"
            ));
        }
        ([], _) => return Err(not_found::describe(context, target.kind, name)),
        (several, _) => {
            let several = several.join(", ");
            return Err(format!(
                "{kind} {name} has pods in several namespaces: {several}; choose one with -n"
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
    Ok(Box::new(WorkloadExplanation { context, target, maker, namespace, pods }))
}

impl WorkloadExplanation<'_> {
    /// Its evicted pods, judging by their names, the newest last.
    fn past_evictions(&self) -> Vec<PastEviction<'_>> {
        let mut past = self.context.past_evictions();
        past.retain(|eviction| {
            eviction.namespace() == self.namespace && self.maker.may_own(&self.target.name, eviction.pod())
        });
        past
    }

    fn counts(&self, now: Now) -> OutcomeCounts {
        let mut counts = OutcomeCounts::default();
        for pod in &self.pods {
            let count = match (pod.leaves(), pod.outcome()) {
                (Some(at), _) if at <= now.mono => &mut counts.due,
                (Some(_), _) => &mut counts.counting_down,
                (None, Some(HELD)) => &mut counts.held,
                (None, Some(BEING_DELETED)) => &mut counts.being_deleted,
                (None, Some(_)) => &mut counts.staying,
                (None, None) => &mut counts.unknown,
            };
            *count += 1;
        }
        counts
    }
}

impl Explanation for WorkloadExplanation<'_> {
    fn name(&self) -> String {
        format!("{}/{}", self.target.kind.as_str(), self.target.name)
    }

    fn text(&self, view: &PrintOptions, _: &mut ShownMeanings, text: &mut String) {
        let now = self.context.snapshot().now();
        let (kind, counts) = (self.maker.of_api().0, self.counts(now));
        paragraph(text, &format!("{kind} {}/{}", self.namespace, self.target.name), view);
        let more = |count: usize, what: &str| match count {
            0 => String::new(),
            many => format!(", {many} {what}"),
        };
        let others = more(counts.held, "held")
            + &more(counts.being_deleted, "being deleted")
            + &more(counts.unknown, "unknown");
        let sentence = match self.pods.len() {
            0 => "It has no pods.".to_owned(),
            all => format!(
                "{}: {} due now, {} counting down, {} staying{others}.",
                messages::counted(all, "pod"),
                counts.due,
                counts.counting_down,
                counts.staying,
            ),
        };
        paragraph(text, &sentence, view);
        let past = self.past_evictions();
        if self.pods.is_empty() {
            return text_parts::past_evictions(text, &past, now, view);
        }
        let leaves = TableColumn::new(&messages::with_zone("EVICTED", now));
        let mut table = Table::new(vec![
            leaves,
            TableColumn::new("POD").shortens(),
            TableColumn::new("NODE"),
            TableColumn::new("REASON"),
        ]);
        for pod in &self.pods {
            let time = match (pod.leaves(), pod.outcome()) {
                (Some(at), _) if at <= now.mono => TableCell::new("now").colored(Color::Red),
                (Some(at), _) => TableCell::new(messages::moment(now, at)),
                (None, Some(HELD)) => TableCell::new("held"),
                (None, Some(BEING_DELETED)) => TableCell::new("being deleted"),
                (None, Some(_)) => TableCell::new("stays"),
                (None, None) => TableCell::new("<unknown>"),
            };
            let PodDetails { name, node, .. } = pod.details;
            let node = if node.is_empty() { "<none>" } else { node };
            table.push(vec![time, name.as_str().into(), node.into(), pod.why().into()]);
        }
        text.push('\n');
        *text += &table.print(view);
        text_parts::past_evictions(text, &past, now, view);
    }

    fn object(&self) -> Value {
        let now = self.context.snapshot().now();
        let counts = self.counts(now);
        let mut object = json!({
            "kind": "Explanation",
            "object": {
                "kind": self.maker.of_api().0, "namespace": self.namespace, "name": self.target.name, "uid": null,
            },
            "outcome": "Workload",
            "pods": {
                "total": self.pods.len(),
                "due": counts.due,
                "countingDown": counts.counting_down,
                "staying": counts.staying,
                "held": counts.held,
                "beingDeleted": counts.being_deleted,
                "unknown": counts.unknown,
            },
            "evictions": [],
            "staying": [],
            "held": [],
            "beingDeleted": [],
            "unknown": [],
            "pastEvictions": self.past_evictions().iter().map(PastEviction::object).collect::<Vec<_>>(),
        });
        for pod in &self.pods {
            let PodDetails { namespace, name, node, .. } = pod.details;
            let mut item = json!({
                "namespace": namespace,
                "pod": name,
                "node": (!node.is_empty()).then_some(node),
                "reason": pod.why(),
            });
            let list = match (pod.leaves(), pod.outcome()) {
                (Some(at), _) => {
                    item["evictedAt"] = stamp(at);
                    item["remainingSeconds"] = json!((at.as_micros() - now.mono.as_micros()) / 1_000_000);
                    item["taint"] = json!(pod.decisive_taint());
                    "evictions"
                }
                (None, Some(HELD)) => "held",
                (None, Some(BEING_DELETED)) => "beingDeleted",
                (None, Some(_)) => "staying",
                (None, None) => "unknown",
            };
            object[list].as_array_mut().expect("it is a list, see above").push(item);
        }
        object
    }
}
