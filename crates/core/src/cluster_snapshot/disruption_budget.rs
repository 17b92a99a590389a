//! Evaluates a PodDisruptionBudget: which pods it selects and how many of them must stay.
//!
//! - NoExecute evictions ignore budgets (TE-23); the result is information for people.
//! - See `forecast/impact.rs` for which pods are evicted.

use crate::scheduling::{Labels, NodeRequirement};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// A number, or a percentage of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum IntOrPercent {
    /// This many.
    Count(u32),
    /// This percentage.
    Percent(u32),
}

impl IntOrPercent {
    /// Reads `3` or `30%`.
    pub fn parse(text: &str) -> Option<Self> {
        match text.strip_suffix('%') {
            Some(percent) => percent.parse().ok().map(Self::Percent),
            None => text.parse().ok().map(Self::Count),
        }
    }

    /// Returns the number for a total of `all`, rounded up as the disruption controller does.
    pub fn of(self, all: u32) -> u32 {
        match self {
            Self::Count(count) => count,
            Self::Percent(percent) => {
                let part = (u64::from(all) * u64::from(percent)).div_ceil(100);
                u32::try_from(part).unwrap_or(u32::MAX)
            }
        }
    }
}

/// The limit of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum DisruptionLimit {
    /// `spec.minAvailable`.
    MinAvailable(IntOrPercent),
    /// `spec.maxUnavailable`.
    MaxUnavailable(IntOrPercent),
}

impl DisruptionLimit {
    /// Returns how many of `all` pods must stay.
    pub fn of(self, all: u32) -> u32 {
        match self {
            Self::MinAvailable(portion) => portion.of(all),
            Self::MaxUnavailable(portion) => all.saturating_sub(portion.of(all)),
        }
    }
}

/// What the disruption controller counted last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BudgetStatus {
    /// `status.currentHealthy`.
    pub healthy: u32,
    /// `status.desiredHealthy`.
    pub desired: u32,
}

/// A PodDisruptionBudget.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DisruptionBudget {
    /// Its namespace.
    pub namespace: Box<str>,
    /// Its name.
    pub name: Box<str>,
    /// `spec.selector` as requirements that all must hold; `None` selects no pods, an empty list all pods.
    pub selector: Option<Vec<NodeRequirement>>,
    /// `None`: it sets no limit.
    pub floor: Option<DisruptionLimit>,
    /// `None` if the disruption controller has not counted yet, or not since the budget changed.
    pub status: Option<BudgetStatus>,
}

impl DisruptionBudget {
    /// Whether the budget selects a pod with these labels in its namespace.
    pub fn selects(&self, labels: &Labels) -> bool {
        self.selector.as_ref().is_some_and(|all| all.iter().all(|one| one.matches_label(labels)))
    }

    /// Whether it allows no disruption, whatever its pods do.
    pub fn never_allows(&self) -> bool {
        use IntOrPercent::{Count, Percent};
        match self.floor {
            Some(DisruptionLimit::MaxUnavailable(portion)) => [Count(0), Percent(0)].contains(&portion),
            Some(DisruptionLimit::MinAvailable(portion)) => portion == Percent(100),
            None => false,
        }
    }

    /// Returns how many pods are healthy, and how many must stay; without the controller's count, by the pods of the
    /// snapshot.
    pub fn counted(&self, all: u32, ready: u32) -> Option<BudgetStatus> {
        let by_pods = |floor: DisruptionLimit| BudgetStatus { healthy: ready, desired: floor.of(all) };
        self.status.or_else(|| self.floor.map(by_pods))
    }
}
