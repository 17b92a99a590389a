//! Explains all pods of a workload: which ones leave, when and why.
//!
//! - Invariant: each verdict equals that of `explain pod/NAME`.

use super::context::ExplainContext;
use super::not_found::not_in_files;
use super::pod::PodExplanation;
use super::target::{Target, TargetKind};
use crate::cluster_state::details::{PodDetails, WorkloadOwner};
use std::collections::BTreeSet;
use taintward_core::time::{Mono, Now};

/// A workload and its pods.
pub(super) struct WorkloadExplanation<'s> {
    pub(super) target: &'s Target,
    pub(super) maker: WorkloadOwner,
    pub(super) namespace: String,
    /// Those that leave, who is first first; those of which it is not known; those that stay.
    pub(super) pods: Vec<PodExplanation<'s>>,
}

/// How many of its pods do what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OutcomeCounts {
    pub(super) going: usize,
    pub(super) later: usize,
    pub(super) staying: usize,
    /// They have no node, or one that is not known.
    pub(super) unjudged: usize,
}

impl<'s> WorkloadExplanation<'s> {
    pub(super) fn of(
        context: &'s ExplainContext,
        maker: WorkloadOwner,
        target: &'s Target,
    ) -> Result<Self, String> {
        let name = &target.name;
        let own: Vec<&PodDetails> =
            context.related().closeups.made.values().filter(|pod| pod.is_of(maker, name)).collect();
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

    pub(super) fn counts(&self, now: Now) -> OutcomeCounts {
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
}

fn absent(context: &ExplainContext, maker: WorkloadOwner, target: &Target) -> String {
    let (kind, name) = (target.kind.as_str(), &target.name);
    let survey = &context.related().survey;
    if context.controllers().is_none() {
        return not_in_files(context, TargetKind::Workload(maker), name);
    }
    if !survey.gaps.is_empty() {
        return format!("no pod of {kind} {name} could be read: nothing is said of it");
    }
    let space = context.namespace().unwrap_or_default();
    let plural = maker.of_api().2;
    format!(
        "there is no {kind} {name} in namespace {space}; kubectl get {plural} -n {space} lists those there are"
    )
}
