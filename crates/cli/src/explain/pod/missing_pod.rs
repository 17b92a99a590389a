//! Explains a pod that does not exist, from its remaining events and the other pods of its workload.

use crate::cluster_state::details::{EventDetails, PodDetails};
use crate::explain::taint_description::ShownMeanings;
use crate::explain::target::TargetKind;
use crate::explain::{ExplainContext, Explanation, ExplanationResult, not_found, object_parts, text_parts};
use crate::messages::paragraph;
use crate::output::PrintOptions;
use crate::past_eviction::PastEviction;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The largest number of other pods shown of one workload.
const OTHERS_MAX: usize = 10;

/// A pod that does not exist.
struct MissingPodExplanation<'s> {
    context: &'s ExplainContext,
    name: &'s str,
    /// The newest last.
    events: Vec<&'s EventDetails>,
    /// The eviction of the last pod of this name.
    trace: Option<PastEviction<'s>>,
    /// Pods that may have replaced it, each once.
    other_pods: Vec<&'s PodDetails>,
}

/// The explanation of a pod that does not exist, if events about it remain.
pub(super) fn explain<'s>(context: &'s ExplainContext, name: &'s str) -> ExplanationResult<'s> {
    let events = context.events(context.namespace(), name);
    if events.is_empty() {
        return Err(not_found::describe(context, TargetKind::Pod, name));
    }
    let others = context.related.details.others.iter().filter(|pod| pod.may_follow(name));
    let others: BTreeMap<(&str, &str), &PodDetails> =
        others.map(|pod| ((pod.namespace.as_str(), pod.name.as_str()), pod)).collect();
    let last = events.last().map_or("", |event| event.uid.as_str());
    let of_last: Vec<&EventDetails> = events.iter().copied().filter(|event| event.uid == last).collect();
    let trace = PastEviction::last(context.snapshot(), &of_last);
    let other_pods = others.into_values().collect();
    Ok(Box::new(MissingPodExplanation { context, name, events, trace, other_pods }))
}

impl MissingPodExplanation<'_> {
    /// The reason for its deletion, as far as events show it.
    fn summary(&self) -> String {
        match &self.trace {
            Some(trace) => format!("It was deleted. {}", trace.summary(self.context.snapshot().now())),
            None => "It was deleted. None of its remaining events reports an eviction by a taint.".to_owned(),
        }
    }
}

impl Explanation for MissingPodExplanation<'_> {
    fn name(&self) -> String {
        format!("pod/{}", self.name)
    }

    fn text(&self, view: &PrintOptions, _: &mut ShownMeanings, text: &mut String) {
        let now = self.context.snapshot().now();
        let space = self.context.namespace().map(|space| format!("{space}/")).unwrap_or_default();
        paragraph(text, &format!("Pod {space}{}", self.name), view);
        paragraph(text, &self.summary(), view);
        text_parts::list(text, "Events:", &text_parts::events(&self.events, now), view);
        let other = |pod: &&PodDetails| {
            let on = if pod.node.is_empty() {
                "without a node".to_owned()
            } else {
                format!("on node {}", pod.node)
            };
            let phase = if pod.deletion.is_some() { "Terminating" } else { &pod.phase };
            format!("{} {on}, {phase}", pod.name)
        };
        let mut others: Vec<String> = self.other_pods.iter().take(OTHERS_MAX).map(other).collect();
        if self.other_pods.len() > OTHERS_MAX {
            others.push(format!("{} more", self.other_pods.len() - OTHERS_MAX));
        }
        text_parts::list(text, "Pods of the same workload, judging by their names:", &others, view);
    }

    fn object(&self) -> Value {
        let others = self.other_pods.iter().map(
            |pod| json!({ "namespace": pod.namespace, "name": pod.name, "node": pod.node, "phase": pod.phase }),
        );
        json!({
            "kind": "Explanation",
            "object": { "kind": "Pod", "namespace": self.context.namespace(), "name": self.name, "uid": null },
            "outcome": "Deleted",
            "summary": self.summary(),
            "eviction": self.trace.as_ref().map(PastEviction::object),
            "events": object_parts::events(&self.events),
            "otherPods": others.collect::<Vec<_>>(),
        })
    }
}
