//! Places many similar pods one after the other while nodes fill up.
//!
//! - Invariant: it picks the same nodes as [`choose`](super::choose) for pods that are not spread; what does not change
//!   is computed once per template.

use super::filter::{filter, fits, suits};
use super::score::{RawScore, fit};
use super::spread::TopologySpread;
use super::{FilterRejection, NodeInfo, PodSchedulingSpec, ResourceRequests, pick};
use crate::toleration_matching::NumericOperators;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The weight of `PodTopologySpread`.
const SPREAD_WEIGHT: i64 = 2;

/// A node that pods of one kind may use, apart from resources.
#[derive(Clone, Copy, Debug)]
struct FeasibleNode {
    node: usize,
    raw: RawScore,
    /// The version of the node for which the other fields hold.
    seen: u64,
    /// The resource scores of the pod; `None`: there is no room.
    fit: Option<(i64, i64)>,
}

/// What is known about a kind of pods.
#[derive(Clone, Debug)]
struct PodClass {
    offers: Vec<FeasibleNode>,
    /// No node had room, and no pod has left any of these nodes since.
    is_full: bool,
    /// For each node, whether selector and affinity match it.
    leads_to: Vec<bool>,
}

/// A pod to place.
#[derive(Clone, Copy, Debug)]
pub struct PodToPlace<'w> {
    /// Pods with the same number have the same spec.
    pub kind: u32,
    /// What it requires of a node.
    pub spec: &'w PodSchedulingSpec,
    /// The number of its ReplicaSet or StatefulSet, which the scheduler spreads over hosts and zones; `None`: it is not
    /// spread.
    pub group: Option<u32>,
    /// Picks one of several equally good nodes, as in [`choose`](super::choose).
    pub tie: u64,
}

/// Nodes that fill up.
#[derive(Clone, Debug)]
pub struct Placer {
    candidates: Vec<NodeInfo>,
    /// How often each node's load has changed, plus one.
    versions: Vec<u64>,
    kinds: BTreeMap<u32, PodClass>,
    spread: TopologySpread,
    numeric: NumericOperators,
}

impl Placer {
    /// Takes the nodes, with the pods on them.
    pub fn new(candidates: Vec<NodeInfo>, numeric: NumericOperators) -> Self {
        let versions = candidates.iter().map(|_| 1).collect();
        let spread = TopologySpread::over(&candidates);
        Self { candidates, versions, kinds: BTreeMap::new(), spread, numeric }
    }

    /// The current state of the nodes.
    pub fn candidates(&self) -> &[NodeInfo] {
        &self.candidates
    }

    /// Returns the best node for a pod. `None`: there is none.
    pub fn choose(&mut self, applicant: PodToPlace<'_>) -> Option<usize> {
        let PodToPlace { kind, spec, group, tie } = applicant;
        let Self { candidates, versions, kinds, spread, numeric } = self;
        let known = kinds.entry(kind).or_insert_with(|| PodClass::new(spec, candidates, *numeric));
        if known.is_full {
            return None;
        }
        let mut highest: Option<RawScore> = None;
        for offer in &mut known.offers {
            if offer.seen != versions[offer.node] {
                let candidate = &candidates[offer.node];
                offer.fit = fits(spec, candidate).is_ok().then(|| fit(spec, candidate));
                offer.seen = versions[offer.node];
            }
            if offer.fit.is_some() {
                highest = Some(highest.map_or(offer.raw, |highest| highest.max(offer.raw)));
            }
        }
        let Some(highest) = highest else {
            known.is_full = true;
            return None;
        };
        let possible = known.offers.iter().filter_map(|offer| Some((offer.node, offer.raw, offer.fit?)));
        let mut totals: Vec<(usize, i64)> =
            possible.map(|(node, raw, fit)| (node, raw.total(highest, fit))).collect();
        if let Some(group) = group {
            let nodes: Vec<usize> = totals.iter().map(|(node, _)| *node).collect();
            let scores = spread.scores(group, &nodes, &known.leads_to);
            totals.iter_mut().zip(scores).for_each(|((_, total), score)| *total += SPREAD_WEIGHT * score);
        }
        let most = totals.iter().map(|(_, total)| *total).max()?;
        let best: Vec<usize> =
            totals.into_iter().filter(|(_, total)| *total == most).map(|(node, _)| node).collect();
        Some(best[pick(tie, best.len())])
    }

    /// Returns the rejection of each node.
    pub fn why_not(&self, spec: &PodSchedulingSpec) -> Vec<FilterRejection> {
        let rejection = |candidate| filter(spec, candidate, self.numeric).err();
        self.candidates.iter().filter_map(rejection).collect()
    }

    /// Adds a pod to a node.
    pub fn put(&mut self, node: usize, load: &ResourceRequests) {
        let candidate = &mut self.candidates[node];
        candidate.used.add(load);
        candidate.pods = candidate.pods.saturating_add(1);
        self.versions[node] += 1;
    }

    /// Counts this many more pods of a group on a node. A pod that is being deleted no longer counts, though it uses
    /// its resources until it is gone.
    pub fn count(&mut self, group: u32, node: usize, more: i64) {
        self.spread.add(group, node, more);
    }

    /// Removes a pod from a node.
    pub fn take(&mut self, node: usize, load: &ResourceRequests) {
        let candidate = &mut self.candidates[node];
        candidate.used.take_off(load);
        candidate.pods = candidate.pods.saturating_sub(1);
        self.versions[node] += 1;
        for kind in self.kinds.values_mut().filter(|kind| kind.is_full) {
            kind.is_full = kind.offers.binary_search_by_key(&node, |offer| offer.node).is_err();
        }
    }
}

impl PodClass {
    fn new(spec: &PodSchedulingSpec, candidates: &[NodeInfo], numeric: NumericOperators) -> Self {
        let named = spec.named();
        let suiting = candidates
            .iter()
            .enumerate()
            .filter(|(_, candidate)| suits(spec, &named, candidate, numeric).is_ok());
        let offer = |(node, candidate)| FeasibleNode {
            node,
            raw: RawScore::of(spec, candidate, numeric),
            seen: 0,
            fit: None,
        };
        let leads_to = |candidate: &NodeInfo| spec.matches(candidate.name.as_str(), &candidate.labels);
        let leads_to = candidates.iter().map(leads_to).collect();
        Self { offers: suiting.map(offer).collect(), is_full: false, leads_to }
    }
}
