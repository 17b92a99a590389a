//! Evaluates a PodDisruptionBudget: which pods it selects and how many of them must stay.
//!
//! - NoExecute evictions ignore budgets (TE-23); the result is information for people.
//! - See `forecast/impact.rs` for which pods leave.

use crate::scheduling::{Labels, NodeRequirement};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// A number, or a share of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IntOrPercent {
    /// So many.
    Count(u32),
    /// So many of a hundred.
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

    /// How many of so many; part of one counts as one, as the disruption controller has it.
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

/// What a budget demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DisruptionLimit {
    /// `spec.minAvailable`.
    MinAvailable(IntOrPercent),
    /// `spec.maxUnavailable`.
    MaxUnavailable(IntOrPercent),
}

impl DisruptionLimit {
    /// How many of so many have to stay.
    pub fn of(self, all: u32) -> u32 {
        match self {
            Self::MinAvailable(portion) => portion.of(all),
            Self::MaxUnavailable(portion) => all.saturating_sub(portion.of(all)),
        }
    }
}

/// What its controller counted last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BudgetStatus {
    /// `status.currentHealthy`.
    pub healthy: u32,
    /// `status.desiredHealthy`.
    pub desired: u32,
}

/// A PodDisruptionBudget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisruptionBudget {
    /// Its namespace.
    pub namespace: Box<str>,
    /// Its name.
    pub name: Box<str>,
    /// `spec.selector` as requirements that all must hold; `None` selects nobody, an empty list everybody.
    pub selector: Option<Vec<NodeRequirement>>,
    /// `None`: it demands nothing.
    pub floor: Option<DisruptionLimit>,
    /// `None` where nobody has counted yet, or not since it was changed.
    pub status: Option<BudgetStatus>,
}

impl DisruptionBudget {
    /// Whether a pod with these labels, in the budget's namespace, is meant.
    pub fn selects(&self, labels: &Labels) -> bool {
        self.selector.as_ref().is_some_and(|all| all.iter().all(|one| one.matches_label(labels)))
    }

    /// How many are well, and how many have to stay; where nobody counted, by the pods that are there.
    pub fn counted(&self, all: u32, ready: u32) -> Option<BudgetStatus> {
        let by_pods = |floor: DisruptionLimit| BudgetStatus { healthy: ready, desired: floor.of(all) };
        self.status.or_else(|| self.floor.map(by_pods))
    }
}
