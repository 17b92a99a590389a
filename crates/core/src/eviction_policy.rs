//! Defines how a due pod is evicted: `EvictionPolicy`, and the objects that policies need.
//!
//! - Invariant: a policy only delays an eviction. Whether and when a pod is due is the verdict's business.
//! - See `eviction/policy_gate.rs` for what the engine does with them, `eviction_policy/problems.rs` for what is wrong with
//!   a policy.

mod comparison;
mod facts;
mod problems;

pub use crate::fact::PodTemplateFact;
pub use comparison::PolicyConflict;
pub use facts::{
    BudgetFact, EvictionPolicyFact, NamespaceLabelsFact, RecordedPolicyStatus, ReplicatedKind, WorkloadFact,
};
pub use problems::{DEADLINE_MAX, PolicyProblem};

use crate::admission::LabelSelector;
use crate::scheduling::Labels;
use crate::taint::{Taint, keys};
use crate::time::Span;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// An `EvictionPolicy`: for the evictions that it selects, how a due pod is evicted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct EvictionPolicy {
    /// `metadata.name`.
    pub name: Box<str>,
    /// Of several policies that select an eviction, the one with the highest priority applies; of equal ones, the first
    /// by name.
    pub priority: i32,
    /// The taints; empty: every taint that is not about a dead node ([`is_dead_node_key`]).
    pub taints: Vec<SelectedTaint>,
    /// The nodes, by label.
    pub nodes: LabelSelector,
    /// The namespaces of the pods, by label.
    pub namespaces: LabelSelector,
    /// The pods, by label.
    pub pods: LabelSelector,
    /// Whether and for how long disruption budgets are respected.
    pub budgets: Option<BudgetRespect>,
    /// The largest number of evictions in any minute.
    pub pods_per_minute: Option<u32>,
    /// The largest number of nodes that are emptied at once.
    pub nodes_at_once: Option<u32>,
    /// How many replicas of a workload may be unavailable.
    pub unavailable_per_workload: Option<UnavailableLimit>,
    /// Whether pods leave a node in waves.
    pub order: Option<WaveOrder>,
    /// The largest termination grace period, in seconds; a pod with a shorter one keeps its own.
    pub grace_seconds_max: Option<u32>,
    /// Whether holds of single pods may delay these evictions.
    pub allow_holds: bool,
}

/// Selects everything and restricts nothing; holds are allowed.
impl Default for EvictionPolicy {
    fn default() -> Self {
        Self {
            name: Box::default(),
            priority: 0,
            taints: Vec::new(),
            nodes: LabelSelector::default(),
            namespaces: LabelSelector::default(),
            pods: LabelSelector::default(),
            budgets: None,
            pods_per_minute: None,
            nodes_at_once: None,
            unavailable_per_workload: None,
            order: None,
            grace_seconds_max: None,
            allow_holds: true,
        }
    }
}

/// A taint that a policy selects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SelectedTaint {
    /// Its key.
    pub key: Box<str>,
    /// Its values; empty: any.
    pub values: Vec<Box<str>>,
}

/// A pod is evicted by the eviction API, which respects disruption budgets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BudgetRespect {
    /// How long after it was due a pod is deleted in spite of its budgets; `None`: never.
    pub deadline: Option<Span>,
}

/// How many replicas of a workload may be unavailable; the lower limit applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct UnavailableLimit {
    /// The number; `None`: any.
    pub replicas: Option<u32>,
    /// The percentage of its replicas, rounded down, but at least one replica; `None`: all.
    pub percent: Option<u32>,
}

/// Pods of lower priority leave a node first, pods of DaemonSets after others: a wave begins when the pods of the wave
/// before are gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct WaveOrder {
    /// How long a wave delays the next one at most; `None`: until its pods are gone.
    pub timeout: Option<Span>,
}

/// Whether taints with this key say that a node is dead: an eviction there frees nothing, so that only a policy that names
/// the key governs it.
pub fn is_dead_node_key(key: &str) -> bool {
    [keys::NOT_READY, keys::UNREACHABLE, keys::OUT_OF_SERVICE].contains(&key)
}

/// What an eviction is selected by, except for its taint.
#[derive(Clone, Copy, Debug)]
pub struct EvictionSubject<'a> {
    /// The labels of the node.
    pub node: &'a Labels,
    /// The labels of the pod's namespace.
    pub namespace: &'a Labels,
    /// The labels of the pod.
    pub pod: &'a Labels,
}

impl EvictionPolicy {
    /// Whether the policy selects an eviction because of this taint.
    pub fn selects(&self, taint: &Taint, subject: EvictionSubject<'_>) -> bool {
        self.selects_taint(taint)
            && may_select(&self.nodes, subject.node)
            && may_select(&self.namespaces, subject.namespace)
            && may_select(&self.pods, subject.pod)
    }

    /// Whether the policy selects evictions because of this taint.
    pub fn selects_taint(&self, taint: &Taint) -> bool {
        match &self.taints[..] {
            [] => !is_dead_node_key(&taint.key),
            taints => taints.iter().any(|one| {
                one.key == taint.key && (one.values.is_empty() || one.values.contains(&taint.value))
            }),
        }
    }

    /// The place of the policy among those that select an eviction: the lowest applies.
    pub fn precedence(&self) -> (Reverse<i32>, &str) {
        (Reverse(self.priority), &self.name)
    }
}

/// Returns the policy of an eviction that all of these taints demand: `None` if no policy selects one of them, because the
/// others cannot delay what that taint demands.
pub fn governing<'p, 't>(
    policies: &'p [EvictionPolicyFact],
    taints: impl IntoIterator<Item = &'t Taint>,
    subject: EvictionSubject<'_>,
) -> Option<&'p EvictionPolicyFact> {
    let mut governing: Option<&EvictionPolicyFact> = None;
    for taint in taints {
        let first = first_selecting(policies.iter(), taint, subject)?;
        governing = governing.into_iter().chain([first]).min_by_key(|fact| fact.policy.precedence());
    }
    governing
}

/// Returns a policy that forbids holds of the pod (`allowHolds: false`), of those that apply to evictions because of one of
/// these taints.
pub fn forbidding_holds<'p, 't>(
    policies: impl Iterator<Item = &'p EvictionPolicyFact> + Clone,
    taints: impl IntoIterator<Item = &'t Taint>,
    subject: EvictionSubject<'_>,
) -> Option<&'p EvictionPolicyFact> {
    let first = |taint| first_selecting(policies.clone(), taint, subject);
    taints.into_iter().filter_map(first).find(|fact| !fact.policy.allow_holds)
}

/// Returns the policy that applies to an eviction because of this taint alone.
pub(crate) fn first_selecting<'p>(
    policies: impl Iterator<Item = &'p EvictionPolicyFact>,
    taint: &Taint,
    subject: EvictionSubject<'_>,
) -> Option<&'p EvictionPolicyFact> {
    let selecting = policies.filter(|fact| fact.policy.selects(taint, subject));
    selecting.min_by_key(|fact| fact.policy.precedence())
}

/// Whether the selector selects these labels, or might if it were valid.
fn may_select(selector: &LabelSelector, labels: &Labels) -> bool {
    selector.selects(labels) || !selector.errors().is_empty()
}

impl UnavailableLimit {
    /// Returns how many of so many replicas may be unavailable.
    pub fn of(self, replicas: u32) -> u32 {
        let share = |percent: u32| {
            let share = u64::from(replicas) * u64::from(percent) / 100;
            u32::try_from(share).unwrap_or(u32::MAX).max(1)
        };
        let share = self.percent.map_or(u32::MAX, share);
        share.min(self.replicas.unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests;
