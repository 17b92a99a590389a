//! Explains a pod without a node: which taints keep it off which nodes, and where it could run.
//!
//! - A node that fits may have a drawback: it is not ready, is cordoned, or evicts the pod again.
//! - Affinity between pods, topology constraints and volumes are mentioned, not evaluated.

use super::{PodExplanation, PodLocation, scheduling_hold};
use crate::explain::text_parts::list;
use crate::messages::{counted, paragraph};
use crate::output::{PrintOptions, age, enumerated};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use taintward_core::cluster_snapshot::{ClusterSnapshot, SnapshotPod};
use taintward_core::forecast::evicted_after_binding;
use taintward_core::scheduling::{filter, kept_off_by};
use taintward_core::taint::{Taint, WellKnownTaint};
use taintward_core::time::Span;

/// The nodes, sorted by what they mean for a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct PossibleNodes {
    /// Those without a drawback first.
    feasible: Vec<PossibleNode>,
    /// Taints as text, and the nodes with exactly these; most nodes first.
    excluded_by_taints: Vec<(Vec<String>, Vec<String>)>,
    /// The meaning of the well-known ones, by key.
    meanings: BTreeMap<String, &'static str>,
    /// Another reason, in the scheduler's words, with its nodes.
    excluded_for_other_reasons: Vec<(String, Vec<String>)>,
    /// The pod has rules that were not evaluated.
    constraints_not_considered: bool,
}

/// A node that fits a pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PossibleNode {
    has_drawback: bool,
    name: String,
    /// `None`: it has no condition Ready.
    ready: Option<bool>,
    cordoned: bool,
    /// How long after its binding the pod is evicted; `None`: it stays.
    evicts_after: Option<Span>,
}

/// The largest number of names shown; the others are counted.
const NAMED_MAX: usize = 5;

/// The text for people; empty for a pod that needs no node.
pub(super) fn text(explanation: &PodExplanation<'_>, view: &PrintOptions, text: &mut String) {
    if let Some(nodes) = PossibleNodes::of(explanation) {
        nodes.text(scheduling_hold::condition(explanation.details), view, text);
    }
}

/// The object for programs; `None` for a pod that needs no node.
pub(super) fn object(explanation: &PodExplanation<'_>) -> Option<Value> {
    let details = explanation.details;
    PossibleNodes::of(explanation).map(|nodes| {
        let mut object = nodes.object();
        object["schedulingGates"] = json!(details.gates);
        object["schedulerName"] = json!(scheduling_hold::scheduler(details));
        object
    })
}

impl PossibleNodes {
    /// `None` for a pod that needs no node.
    fn of(explanation: &PodExplanation<'_>) -> Option<Self> {
        let is_looking = explanation.place == PodLocation::Nowhere && !explanation.details.is_over();
        let pod = explanation.pod.filter(|_| is_looking)?;
        let (snapshot, shape) = (explanation.snapshot(), explanation.snapshot().shape(pod));
        let mut nodes = Self { constraints_not_considered: shape.beyond, ..Self::default() };
        let (mut tainted, mut unfit) = (BTreeMap::<_, Vec<String>>::new(), BTreeMap::<_, Vec<String>>::new());
        for (at, node) in snapshot.nodes().iter().enumerate() {
            let name = node.fact.name.to_string();
            let taints = kept_off_by(&shape.spec.tolerations, &node.fact.taints, snapshot.numeric());
            if !taints.is_empty() {
                let known = |taint: &&Taint| Some((taint.key.to_string(), WellKnownTaint::of(taint)?.what));
                nodes.meanings.extend(taints.iter().filter_map(known));
                let taints: Vec<String> = taints.into_iter().map(ToString::to_string).collect();
                tainted.entry(taints).or_default().push(name);
                continue;
            }
            match filter(&shape.spec, &snapshot.candidate(at), snapshot.numeric()) {
                Ok(()) => nodes.feasible.push(PossibleNode::of(snapshot, at, pod)),
                Err(why) => {
                    let words: Vec<String> = why.reasons.iter().map(ToString::to_string).collect();
                    unfit.entry(words.join(", ")).or_default().push(name);
                }
            }
        }
        nodes.feasible.sort();
        nodes.excluded_by_taints = tainted.into_iter().collect();
        nodes.excluded_by_taints.sort_by_key(|(_, nodes)| std::cmp::Reverse(nodes.len()));
        nodes.excluded_for_other_reasons = unfit.into_iter().collect();
        nodes.excluded_for_other_reasons.sort_by_key(|(_, nodes)| std::cmp::Reverse(nodes.len()));
        Some(nodes)
    }

    /// `condition`: under which the nodes would accept the pod.
    fn text(&self, condition: Option<&str>, view: &PrintOptions, text: &mut String) {
        let nodes =
            |names: &[String]| format!("{}: {}", counted(names.len(), "node"), enumerated(names, NAMED_MAX));
        let tainted: Vec<String> = self
            .excluded_by_taints
            .iter()
            .map(|(taints, names)| format!("{}: does not tolerate {}", nodes(names), taints.join(", ")))
            .collect();
        list(text, "Nodes excluded by taints:", &tainted, view);
        let meanings: Vec<String> =
            self.meanings.iter().map(|(key, what)| format!("{key}: {what}")).collect();
        list(text, "What these taints mean; taintward explain node/NAME says more:", &meanings, view);
        let unfit: Vec<String> = self
            .excluded_for_other_reasons
            .iter()
            .map(|(why, names)| format!("{}: {why}", nodes(names)))
            .collect();
        list(text, "Nodes excluded for other reasons:", &unfit, view);
        text.push('\n');
        let feasible: Vec<String> = self.feasible.iter().map(PossibleNode::text).collect();
        let could = match (self.feasible.len(), condition) {
            (0, None) => "No node fits it.".to_owned(),
            (0, Some(condition)) => format!("{condition} no node would fit it."),
            (_, None) => format!("It fits on {}.", nodes(&feasible)),
            (_, Some(condition)) => format!("{condition} it would fit on {}.", nodes(&feasible)),
        };
        let hidden = self.feasible.iter().skip(NAMED_MAX).filter(|node| node.has_drawback).count();
        let could = match hidden {
            0 => could,
            _ => format!(
                "{could} Of those not named, {hidden} {} not ready or cordoned, or would evict it again.",
                if hidden == 1 { "is" } else { "are" }
            ),
        };
        paragraph(text, &could, view);
        if self.constraints_not_considered {
            let sentence = "It also has pod affinity, topology spread constraints or volumes, which are not considered here.";
            paragraph(text, sentence, view);
        }
    }

    fn object(&self) -> Value {
        let tainted =
            self.excluded_by_taints.iter().map(|(taints, nodes)| json!({ "taints": taints, "nodes": nodes }));
        let unfit = self
            .excluded_for_other_reasons
            .iter()
            .map(|(reason, nodes)| json!({ "reason": reason, "nodes": nodes }));
        let names = self.feasible.iter().map(|node| &node.name);
        let drawbacks = self.feasible.iter().filter(|node| node.has_drawback).map(PossibleNode::object);
        json!({
            "feasibleNodes": names.collect::<Vec<_>>(),
            "feasibleNodesWithDrawbacks": drawbacks.collect::<Vec<_>>(),
            "excludedByTaints": tainted.collect::<Vec<_>>(),
            "excludedForOtherReasons": unfit.collect::<Vec<_>>(),
            "constraintsNotConsidered": self.constraints_not_considered,
        })
    }
}

impl PossibleNode {
    fn of(snapshot: &ClusterSnapshot, at: usize, pod: &SnapshotPod) -> Self {
        let (node, now) = (&snapshot.nodes()[at], snapshot.now().mono);
        let evicted = evicted_after_binding(snapshot, pod, &snapshot.instances(at), now);
        let evicts_after = evicted.map(|evicted| evicted.max(now).since(now));
        let (ready, cordoned) = (node.ready, node.unschedulable);
        let has_drawback = ready == Some(false) || cordoned || evicts_after.is_some();
        Self { has_drawback, name: node.fact.name.to_string(), ready, cordoned, evicts_after }
    }

    /// `n1`, `n1 (not ready, cordoned)`, `n1 (evicts it again in 5m0s)`
    fn text(&self) -> String {
        let evicts = self.evicts_after.map(|after| match after.as_micros() {
            0 => "evicts it again immediately".to_owned(),
            _ => format!("evicts it again in {}", age(after)),
        });
        let drawbacks: Vec<String> = [
            (self.ready == Some(false)).then(|| "not ready".to_owned()),
            self.cordoned.then(|| "cordoned".to_owned()),
            evicts,
        ]
        .into_iter()
        .flatten()
        .collect();
        match &drawbacks[..] {
            [] => self.name.clone(),
            drawbacks => format!("{} ({})", self.name, drawbacks.join(", ")),
        }
    }

    fn object(&self) -> Value {
        json!({
            "node": self.name,
            "ready": self.ready,
            "unschedulable": self.cordoned,
            "evictedAfterSeconds": self.evicts_after.map(|after| after.as_micros() / 1_000_000),
        })
    }
}
