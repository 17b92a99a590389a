//! Merges the default tolerations of a namespace into a pod and checks them against its whitelist (AD-8 to AD-12).
//!
//! - Invariant: a rejection is a 403 (upstream: 500, AD-11); an update is rejected only for what it adds, so that pods
//!   admitted under an older whitelist can still be labeled and deleted.
//! - See `review.rs` for a namespace that is not known yet (AD-12): the rule is skipped there.

use super::messages::{text_of, toleration_of};
use super::requester::Operation;
use super::toleration_coverage::TolerationCoverage;
use crate::taint::{TaintEffect, keys};
use crate::toleration::Toleration;

pub use super::toleration_coverage::is_superset;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// A namespace's annotation with default tolerations for its pods: a JSON list (AD-8).
pub const DEFAULTS: &str = "scheduler.alpha.kubernetes.io/defaultTolerations";

/// A namespace's annotation with the tolerations that its pods may have: a JSON list (AD-8).
pub const WHITELIST: &str = "scheduler.alpha.kubernetes.io/tolerationsWhitelist";

/// A list in an annotation (AD-8).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum TolerationListAnnotation {
    /// The annotation is absent: the cluster's list applies.
    #[default]
    Absent,
    /// This list replaces the cluster's; an empty annotation is an empty list.
    Present(Vec<Toleration>),
    /// The value is not a JSON list of tolerations, for this reason: the request is rejected.
    Unreadable(Box<str>),
}

impl TolerationListAnnotation {
    /// Returns the list that applies; `None` if it is unknown.
    fn or<'l>(&'l self, cluster: &'l [Toleration]) -> Option<&'l [Toleration]> {
        match self {
            Self::Absent => Some(cluster),
            Self::Present(own) => Some(own),
            Self::Unreadable(_) => None,
        }
    }
}

/// The lists in a namespace's annotations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NamespaceTolerationLists {
    /// The list in [`DEFAULTS`].
    pub defaults: TolerationListAnnotation,
    /// The list in [`WHITELIST`].
    pub whitelist: TolerationListAnnotation,
}

/// What happens to a pod's own toleration that a namespace's default covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MergeMode {
    /// It stays, before the default, and is the one that applies (MATCH-9).
    #[default]
    KeepsOwn,
    /// It is removed when the pod is created, exactly as AD-10 says. On update it stays here too: an API server rejects
    /// an update that removes a toleration (VAL-6).
    AsUpstream,
}

/// The rule's settings; the lists are those of the plugin's configuration file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodTolerationRestriction {
    /// For namespaces without [`DEFAULTS`].
    pub cluster_defaults: Vec<Toleration>,
    /// For namespaces without [`WHITELIST`].
    pub cluster_whitelist: Vec<Toleration>,
    /// What happens to covered tolerations.
    pub merging: MergeMode,
}

/// Tolerations with those of the namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergedTolerations {
    /// The whole list.
    pub tolerations: Vec<Toleration>,
    /// How many were added.
    pub added: usize,
    /// How many of the pod's own were removed ([`MergeMode::AsUpstream`]).
    pub dropped: usize,
}

impl PodTolerationRestriction {
    /// Returns a pod's tolerations with the defaults of its namespace (creation only) and, unless the pod is
    /// BestEffort, the one for memory pressure (AD-9).
    pub fn merged(
        &self,
        tolerations: &[Toleration],
        lists: &NamespaceTolerationLists,
        operation: Operation,
        best_effort: bool,
    ) -> MergedTolerations {
        let defaults = match operation {
            Operation::Create => lists.defaults.or(&self.cluster_defaults).unwrap_or_default(),
            Operation::Update => &[],
        };
        let pressure = Toleration::exists(keys::MEMORY_PRESSURE, TaintEffect::NoSchedule);
        let extra = if best_effort { defaults.to_vec() } else { merge(defaults, &[pressure]) };
        let exact = self.merging == MergeMode::AsUpstream && operation == Operation::Create;
        if !extra.is_empty() && exact {
            let merged = merge(tolerations, &extra);
            let had: BTreeSet<&Toleration> = tolerations.iter().collect();
            let added = merged.iter().filter(|one| !had.contains(one)).count();
            let dropped = tolerations.len() + added - merged.len();
            return MergedTolerations { tolerations: merged, added, dropped };
        }
        let merged = add_uncovered(tolerations, &extra);
        MergedTolerations { added: merged.len() - tolerations.len(), tolerations: merged, dropped: 0 }
    }

    /// Checks a pod's tolerations against the whitelist (AD-8, AD-11). `old` are those it had before an update.
    ///
    /// # Errors
    /// The pod is rejected.
    pub fn allows(
        &self,
        tolerations: &[Toleration],
        old: Option<&[Toleration]>,
        lists: &NamespaceTolerationLists,
    ) -> Result<(), RestrictionViolation> {
        if old.is_none() {
            readable(DEFAULTS, &lists.defaults)?;
        }
        let had: BTreeSet<&Toleration> = old.unwrap_or_default().iter().collect();
        let mut new =
            tolerations.iter().enumerate().filter(|(_, toleration)| !had.contains(toleration)).peekable();
        if new.peek().is_none() {
            return Ok(());
        }
        readable(WHITELIST, &lists.whitelist)?;
        let Some(allowed) = lists.whitelist.or(&self.cluster_whitelist).filter(|list| !list.is_empty())
        else {
            return Ok(());
        };
        let allowed: TolerationCoverage<'_> = allowed.iter().collect();
        let outside = new.find(|(_, toleration)| !allowed.any(toleration));
        outside.map_or(Ok(()), |(at, toleration)| {
            let is_of_cluster = matches!(lists.whitelist, TolerationListAnnotation::Absent);
            Err(RestrictionViolation::Outside { at, toleration: toleration.clone(), is_of_cluster })
        })
    }
}

fn readable(annotation: &'static str, list: &TolerationListAnnotation) -> Result<(), RestrictionViolation> {
    match list {
        TolerationListAnnotation::Unreadable(why) => {
            Err(RestrictionViolation::Unreadable { annotation, why: text_of(why) })
        }
        _ => Ok(()),
    }
}

/// Why a pod is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestrictionViolation {
    /// An annotation of the namespace is not a list of tolerations.
    Unreadable {
        /// The annotation.
        annotation: &'static str,
        /// Why it is not a list.
        why: String,
    },
    /// No toleration of the whitelist covers one of the pod (AD-11).
    Outside {
        /// The position of the toleration in the pod.
        at: usize,
        /// The toleration.
        toleration: Toleration,
        /// The whitelist is that of the cluster, not of the namespace.
        is_of_cluster: bool,
    },
}

/// For the author of the request, with the remedy.
impl fmt::Display for RestrictionViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { annotation, why } => write!(
                f,
                "annotation {annotation} of the namespace is not a JSON list of tolerations ({why}): correct or remove \
                 it"
            ),
            // Upstream's sentence, followed by the toleration that it is about.
            Self::Outside { at, toleration, is_of_cluster } => {
                let (scope, list) = match is_of_cluster {
                    true => ("cluster", "the cluster's whitelist"),
                    false => ("namespace", WHITELIST),
                };
                write!(
                    f,
                    "pod tolerations (possibly merged with namespace default tolerations) conflict with its {scope} \
                     whitelist: toleration {at} ({}) is covered by none of {list}; remove it, or add it there",
                    toleration_of(toleration)
                )
            }
        }
    }
}

impl core::error::Error for RestrictionViolation {}

/// Merges two lists, without tolerations that another one covers; of two equal ones the first stays (AD-10).
pub fn merge(first: &[Toleration], second: &[Toleration]) -> Vec<Toleration> {
    let all: Vec<&Toleration> = first.iter().chain(second).collect();
    let mut later = TolerationCoverage::default();
    let mut covered_later: Vec<bool> = all
        .iter()
        .rev()
        .map(|one| {
            let covered = later.another(one);
            later.add(one);
            covered
        })
        .collect();
    let (mut kept, mut merged) = (TolerationCoverage::default(), Vec::new());
    for one in all {
        if covered_later.pop() == Some(false) && !kept.any(one) {
            kept.add(one);
            merged.push(one.clone());
        }
    }
    merged
}

/// Returns all of the first list, and those of the second that no toleration covers.
fn add_uncovered(first: &[Toleration], second: &[Toleration]) -> Vec<Toleration> {
    let mut kept: TolerationCoverage<'_> = first.iter().collect();
    let second = merge(second, &[]);
    let mut merged = first.to_vec();
    for one in &second {
        if !kept.any(one) {
            kept.add(one);
            merged.push(one.clone());
        }
    }
    merged
}
