//! Scores the feasible nodes of a pod with four plugins of kube-scheduler and their default weights.
//!
//! - See `spread.rs` for spreading; affinity between pods and images are not scored.

use super::filter::untolerated;
use super::{BEST, CPU, MEMORY, NodeInfo, PodSchedulingSpec, amount};
use crate::taint::TaintEffect;
use crate::toleration_matching::NumericOperators;
use alloc::vec::Vec;

/// The scores of a node, each from 0 to 100, before weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeScore {
    /// `TaintToleration`, weight 3 (SC-2).
    pub taints: i64,
    /// `NodeAffinityJson`, weight 2.
    pub affinity: i64,
    /// `NodeResourcesFit`, least allocated, weight 1.
    pub room: i64,
    /// `NodeResourcesBalancedAllocation`, weight 1.
    pub balance: i64,
}

impl NodeScore {
    /// The weighted sum; at most 700.
    pub fn total(&self) -> i64 {
        3 * self.taints + 2 * self.affinity + self.room + self.balance
    }
}

/// Scores nodes that have all passed the filter; the scores depend on the other nodes.
pub fn score(
    spec: &PodSchedulingSpec,
    candidates: &[&NodeInfo],
    numeric: NumericOperators,
) -> Vec<NodeScore> {
    let count = |candidate: &&NodeInfo| unwanted(spec, candidate, numeric);
    let taints = normalised(candidates.iter().map(count).collect());
    let affinity = normalised(candidates.iter().map(|candidate| preference(spec, candidate)).collect());
    let scores =
        candidates.iter().zip(taints).zip(affinity).map(|((candidate, taints), affinity)| NodeScore {
            taints: BEST - taints,
            affinity,
            room: room(spec, candidate),
            balance: balance(spec, candidate),
        });
    scores.collect()
}

/// Scales the scores so that the highest is 100; if all are zero, they stay zero. Negative ones count as zero.
fn normalised(raw: Vec<i64>) -> Vec<i64> {
    let highest = raw.iter().copied().max().unwrap_or(0);
    raw.into_iter().map(|score| scaled(score, highest)).collect()
}

/// Scales one score by the highest.
fn scaled(score: i64, highest: i64) -> i64 {
    if highest <= 0 { 0 } else { part(score.max(0), highest) }
}

/// The scores of a node, before they are normalised among the feasible nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RawScore {
    /// The number of untolerated `PreferNoSchedule` taints.
    unwanted: i64,
    /// The sum of the matching preferred terms' weights.
    preference: i64,
}

impl RawScore {
    pub(super) fn of(spec: &PodSchedulingSpec, candidate: &NodeInfo, numeric: NumericOperators) -> Self {
        Self { unwanted: unwanted(spec, candidate, numeric), preference: preference(spec, candidate) }
    }

    /// The maximum of both, by field.
    pub(super) fn max(self, other: Self) -> Self {
        Self {
            unwanted: self.unwanted.max(other.unwanted),
            preference: self.preference.max(other.preference),
        }
    }

    /// Returns the total score, if these are the highest among the feasible nodes.
    pub(super) fn total(self, highest: Self, (room, balance): (i64, i64)) -> i64 {
        let taints = BEST - scaled(self.unwanted, highest.unwanted);
        let affinity = scaled(self.preference, highest.preference);
        NodeScore { taints, affinity, room, balance }.total()
    }
}

/// Scores the resources that are free: room and balance.
pub(super) fn fit(spec: &PodSchedulingSpec, candidate: &NodeInfo) -> (i64, i64) {
    (room(spec, candidate), balance(spec, candidate))
}

/// `part` in hundredths of `whole`, rounded down.
fn part(part: i64, whole: i64) -> i64 {
    let hundredths = i128::from(part) * i128::from(BEST) / i128::from(whole);
    i64::try_from(hundredths).unwrap_or(i64::MAX)
}

/// Counts `PreferNoSchedule` taints that are not tolerated; a toleration of another effect never matches them (SC-2).
fn unwanted(spec: &PodSchedulingSpec, candidate: &NodeInfo, numeric: NumericOperators) -> i64 {
    let preferring = |effect: &TaintEffect| *effect == TaintEffect::PreferNoSchedule;
    let count = untolerated(&spec.tolerations, &candidate.taints, numeric, preferring).len();
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Sums the weights of the preferred terms that match.
fn preference(spec: &PodSchedulingSpec, candidate: &NodeInfo) -> i64 {
    let matching =
        spec.preferred.iter().filter(|one| one.term.matches(candidate.name.as_str(), &candidate.labels));
    matching.map(|one| i64::from(one.weight)).fold(0, i64::saturating_add)
}

/// The average fraction of CPU and memory that would be free; a resource that the node does not have is left out.
fn room(spec: &PodSchedulingSpec, candidate: &NodeInfo) -> i64 {
    let left = |name: &&str| {
        let whole = amount(&candidate.allocatable, name);
        let taken = amount(&candidate.used.assumed, name).saturating_add(amount(&spec.load.assumed, name));
        (whole > 0).then(|| part(whole.saturating_sub(taken).clamp(0, whole), whole))
    };
    let left: Vec<i64> = [CPU, MEMORY].iter().filter_map(left).collect();
    match i64::try_from(left.len()) {
        Ok(count) if count > 0 => left.iter().sum::<i64>() / count,
        _ => 0,
    }
}

/// Whether the pod makes the used fractions of CPU and memory more equal (towards 100) or less (towards 50). The
/// fractions are binary floating point, as upstream, so that the same nodes are equal. Without requests there is
/// nothing to balance.
fn balance(spec: &PodSchedulingSpec, candidate: &NodeInfo) -> i64 {
    if [CPU, MEMORY].iter().all(|name| amount(&spec.load.requested, name) == 0) {
        return 0;
    }
    let with = evenness(candidate, |name| {
        amount(&candidate.used.requested, name).saturating_add(amount(&spec.load.requested, name))
    });
    let without = evenness(candidate, |name| amount(&candidate.used.requested, name));
    BEST / 2 + (BEST / 2 + with - without) / 2
}

/// 100 for equal fractions, down to 50 if one resource is used wholly and the other not at all.
fn evenness(candidate: &NodeInfo, taken: impl Fn(&str) -> i64) -> i64 {
    let share = |name: &str| {
        let whole = amount(&candidate.allocatable, name);
        (whole > 0).then(|| (taken(name) as f64 / whole as f64).clamp(0.0, 1.0))
    };
    match (share(CPU), share(MEMORY)) {
        (Some(cpu), Some(memory)) => ((1.0 - ((cpu - memory) / 2.0).abs()) * BEST as f64) as i64,
        _ => BEST,
    }
}
