//! Chooses a node for a pod: filters, scores, and breaks ties with a given number.
//!
//! - Invariant: every node is considered; kube-scheduler samples clusters of more than a hundred nodes.

use super::filter::filter_named;
use super::{FilterRejection, NodeInfo, PodSchedulingSpec, pick, score};
use crate::toleration_matching::NumericOperators;
use alloc::vec::Vec;

/// The result for a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectedNode {
    /// The candidate at this position.
    Node(usize),
    /// None: the rejection of each candidate, in order.
    Unschedulable(Vec<FilterRejection>),
}

/// Chooses the feasible node with the highest total score. Of several, `tie` picks one: any number, best a new one for
/// each pod; the same number picks the same node.
pub fn choose(
    spec: &PodSchedulingSpec,
    candidates: &[NodeInfo],
    numeric: NumericOperators,
    tie: u64,
) -> SelectedNode {
    let named = spec.named();
    let (mut possible, mut unfit) = (Vec::new(), Vec::new());
    for (at, candidate) in candidates.iter().enumerate() {
        match filter_named(spec, &named, candidate, numeric) {
            Ok(()) => possible.push(at),
            Err(why) => unfit.push(why),
        }
    }
    let nodes: Vec<&NodeInfo> = possible.iter().map(|&at| &candidates[at]).collect();
    let totals: Vec<i64> = score(spec, &nodes, numeric).iter().map(score::NodeScore::total).collect();
    let Some(highest) = totals.iter().max() else { return SelectedNode::Unschedulable(unfit) };
    let best: Vec<usize> =
        possible.iter().zip(&totals).filter(|(_, total)| *total == highest).map(|(&at, _)| at).collect();
    SelectedNode::Node(best[pick(tie, best.len())])
}
