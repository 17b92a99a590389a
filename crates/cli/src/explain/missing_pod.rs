//! Explains a pod that does not exist, from its remaining events and the other pods of its workload.

use super::context::ExplainContext;
use crate::cluster_state::details::{EventDetails, PodDetails};
use std::collections::BTreeMap;

/// The reason of the events of a taint eviction (TE-34).
const EVICTED: &str = "TaintManagerEviction";

/// A pod that is not there.
pub(super) struct MissingPodExplanation<'s> {
    pub(super) context: &'s ExplainContext,
    pub(super) name: &'s str,
    /// The newest last.
    pub(super) events: Vec<&'s EventDetails>,
    /// Pods that may have taken its place, each once.
    pub(super) others: Vec<&'s PodDetails>,
}

impl<'s> MissingPodExplanation<'s> {
    pub(super) fn of(context: &'s ExplainContext, name: &'s str) -> Self {
        let events = context.events(context.namespace(), name);
        let others: BTreeMap<(&str, &str), &PodDetails> = context
            .related()
            .closeups
            .others
            .iter()
            .filter(|pod| pod.may_follow(name))
            .map(|pod| ((pod.namespace.as_str(), pod.name.as_str()), pod))
            .collect();
        Self { context, name, events, others: others.into_values().collect() }
    }

    /// What is known of why it went.
    pub(super) fn summary(&self) -> String {
        let evicted = |event: &&&EventDetails| {
            event.reason == EVICTED && event.message.starts_with("Marking for deletion")
        };
        match self.events.iter().rev().find(evicted) {
            Some(_) => "It is gone: a NoExecute taint sent it away, as its events say.".to_owned(),
            None => "It is gone. None of its events that are left says that a taint sent it away.".to_owned(),
        }
    }
}
