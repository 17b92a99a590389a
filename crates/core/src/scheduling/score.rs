//! # Score: which of the possible nodes is best
//! Room:     four of the scheduler's scores, with its default weights.
//! Comes in: a pod and the nodes that are possible.
//! Goes out: a [`Score`] for each.
//! Not here: spreading (`spread.rs`); affinity between pods, images: the original's other scores, the same for every node here.

use super::filter::untolerated;
use super::{CPU, Candidate, MEMORY, Wish, amount};
use crate::matching::NumericOperators;
use crate::taint::Effect;
use alloc::vec::Vec;

/// The scores of a node, each from 0 to 100, before weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Score {
    /// `TaintToleration`, weight 3 (SC-2).
    pub taints: i64,
    /// `NodeAffinity`, weight 2.
    pub affinity: i64,
    /// `NodeResourcesFit`, least allocated, weight 1.
    pub room: i64,
    /// `NodeResourcesBalancedAllocation`, weight 1.
    pub balance: i64,
}

/// The best a node can be.
pub(super) const BEST: i64 = 100;

/// The weight of `PodTopologySpread`.
pub(super) const SPREAD_WEIGHT: i64 = 2;

impl Score {
    /// With weights; at most 700.
    pub fn total(&self) -> i64 {
        3 * self.taints + 2 * self.affinity + self.room + self.balance
    }
}

/// The scores of nodes that have all passed the filter; they depend on who else is there.
pub fn score(wish: &Wish, candidates: &[&Candidate], numeric: NumericOperators) -> Vec<Score> {
    let count = |candidate: &&Candidate| unwanted(wish, candidate, numeric);
    let taints = normalised(candidates.iter().map(count).collect());
    let affinity = normalised(candidates.iter().map(|candidate| preference(wish, candidate)).collect());
    let scores = candidates.iter().zip(taints).zip(affinity).map(|((candidate, taints), affinity)| Score {
        taints: BEST - taints,
        affinity,
        room: room(wish, candidate),
        balance: balance(wish, candidate),
    });
    scores.collect()
}

/// Scaled so that the highest is 100; if all are zero, they stay zero. Negative ones count as zero.
fn normalised(raw: Vec<i64>) -> Vec<i64> {
    let highest = raw.iter().copied().max().unwrap_or(0);
    raw.into_iter().map(|score| scaled(score, highest)).collect()
}

/// One of several, scaled by the highest of them.
fn scaled(score: i64, highest: i64) -> i64 {
    if highest <= 0 { 0 } else { part(score.max(0), highest) }
}

/// What decides between nodes, before the nodes that are possible are compared with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Raw {
    /// Taints that ask to stay off.
    pub(super) unwanted: i64,
    /// What preferred terms are worth.
    pub(super) preference: i64,
}

impl Raw {
    pub(super) fn of(wish: &Wish, candidate: &Candidate, numeric: NumericOperators) -> Self {
        Self { unwanted: unwanted(wish, candidate, numeric), preference: preference(wish, candidate) }
    }

    /// The highest of both.
    pub(super) fn max(self, other: Self) -> Self {
        Self {
            unwanted: self.unwanted.max(other.unwanted),
            preference: self.preference.max(other.preference),
        }
    }

    /// The total score, if these are the highest among the nodes that are possible.
    pub(super) fn total(self, highest: Self, (room, balance): (i64, i64)) -> i64 {
        let taints = BEST - scaled(self.unwanted, highest.unwanted);
        let affinity = scaled(self.preference, highest.preference);
        Score { taints, affinity, room, balance }.total()
    }
}

/// How well a pod fits in, by what is free: room and balance.
pub(super) fn fit(wish: &Wish, candidate: &Candidate) -> (i64, i64) {
    (room(wish, candidate), balance(wish, candidate))
}

/// `part` in hundredths of `whole`, rounded down.
fn part(part: i64, whole: i64) -> i64 {
    let hundredths = i128::from(part) * i128::from(BEST) / i128::from(whole);
    i64::try_from(hundredths).unwrap_or(i64::MAX)
}

/// Taints that only ask to stay off and are not tolerated; a toleration of another effect never answers them (SC-2).
fn unwanted(wish: &Wish, candidate: &Candidate, numeric: NumericOperators) -> i64 {
    let preferring = |effect: &Effect| *effect == Effect::PreferNoSchedule;
    let count = untolerated(&wish.tolerations, &candidate.taints, numeric, preferring).len();
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// What the preferred terms that match are worth together.
fn preference(wish: &Wish, candidate: &Candidate) -> i64 {
    let matching =
        wish.preferred.iter().filter(|one| one.term.matches(candidate.name.as_str(), &candidate.labels));
    matching.map(|one| i64::from(one.weight)).fold(0, i64::saturating_add)
}

/// How much of CPU and memory, on average, would be left; a resource the node does not have plays no part.
fn room(wish: &Wish, candidate: &Candidate) -> i64 {
    let left = |name: &&str| {
        let whole = amount(&candidate.allocatable, name);
        let taken = amount(&candidate.used.assumed, name).saturating_add(amount(&wish.load.assumed, name));
        (whole > 0).then(|| part(whole.saturating_sub(taken).clamp(0, whole), whole))
    };
    let left: Vec<i64> = [CPU, MEMORY].iter().filter_map(left).collect();
    match i64::try_from(left.len()) {
        Ok(count) if count > 0 => left.iter().sum::<i64>() / count,
        _ => 0,
    }
}

/// Whether the pod makes the shares of CPU and memory taken more alike (towards 100) or less (towards 50). The shares
/// are binary fractions, as in the original, so that the same nodes are equal. Nothing requested, nothing to balance.
fn balance(wish: &Wish, candidate: &Candidate) -> i64 {
    if [CPU, MEMORY].iter().all(|name| amount(&wish.load.requested, name) == 0) {
        return 0;
    }
    let with = evenness(candidate, |name| {
        amount(&candidate.used.requested, name).saturating_add(amount(&wish.load.requested, name))
    });
    let without = evenness(candidate, |name| amount(&candidate.used.requested, name));
    BEST / 2 + (BEST / 2 + with - without) / 2
}

/// 100 for equal shares, down to 50 where one resource is taken wholly and the other not at all.
fn evenness(candidate: &Candidate, taken: impl Fn(&str) -> i64) -> i64 {
    let share = |name: &str| {
        let whole = amount(&candidate.allocatable, name);
        (whole > 0).then(|| (taken(name) as f64 / whole as f64).clamp(0.0, 1.0))
    };
    match (share(CPU), share(MEMORY)) {
        (Some(cpu), Some(memory)) => ((1.0 - ((cpu - memory) / 2.0).abs()) * BEST as f64) as i64,
        _ => BEST,
    }
}
