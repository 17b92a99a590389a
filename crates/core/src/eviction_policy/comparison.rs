//! Compares what eviction policies select, by their text alone: a policy that never applies, and policies between which only
//! the order of their names decides.
//!
//! - Invariant: nothing is claimed that depends on which objects exist. [`EvictionPolicy::covers`] and
//!   [`EvictionPolicy::is_disjoint_from`] are both false if the text does not decide.

use super::{EvictionPolicy, SelectedTaint, is_dead_node_key};
use crate::admission::LabelSelector;
use crate::cluster_snapshot::DisruptionBudget;
use crate::scheduling::{NodeOperator, NodeRequirement};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// The label of each namespace with its own name.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// How a policy contradicts another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyConflict<'p> {
    /// It never applies: this policy selects everything that it selects, and comes before it.
    Shadowed(&'p EvictionPolicy),
    /// For what both select, only the order of their names decides, because their priorities are equal. This one comes
    /// first.
    EqualPriority(&'p EvictionPolicy),
}

impl EvictionPolicy {
    /// Returns how the policy contradicts the others; `None`: it does not.
    pub fn conflict<'p>(&self, others: &[&'p Self]) -> Option<PolicyConflict<'p>> {
        let before = others.iter().copied().filter(|other| other.precedence() < self.precedence());
        let is_undecided = |other: &&Self| {
            other.priority == self.priority && !other.is_disjoint_from(self) && !other.has_effect_of(self)
        };
        let first = |one: &&'p Self| one.precedence();
        let shadowing = before.clone().filter(|other| other.covers(self)).min_by_key(first);
        let undecided = || before.filter(is_undecided).min_by_key(first);
        shadowing.map(PolicyConflict::Shadowed).or_else(|| undecided().map(PolicyConflict::EqualPriority))
    }

    /// Whether it selects every eviction that the other one selects.
    pub fn covers(&self, other: &Self) -> bool {
        let covers_taints = match (&self.taints[..], &other.taints[..]) {
            ([], []) => true,
            ([], taints) => !taints.iter().any(|taint| is_dead_node_key(&taint.key)),
            (_, []) => false,
            (own, taints) => taints.iter().all(|taint| own.iter().any(|own| own.covers(taint))),
        };
        let mut selectors = self.selectors().into_iter().zip(other.selectors());
        covers_taints && selectors.all(|(own, other)| own.iter().all(|one| is_implied(one, other)))
    }

    /// Whether no eviction is selected by both.
    pub fn is_disjoint_from(&self, other: &Self) -> bool {
        let have_no_taint = match (&self.taints[..], &other.taints[..]) {
            ([], []) => false,
            ([], taints) | (taints, []) => taints.iter().all(|taint| is_dead_node_key(&taint.key)),
            (own, taints) => !own.iter().any(|own| taints.iter().any(|taint| own.overlaps(taint))),
        };
        let mut selectors = self.selectors().into_iter().zip(other.selectors());
        have_no_taint || selectors.any(|(own, other)| are_disjoint(own, other))
    }

    /// Whether it selects nothing, whatever objects exist.
    pub fn selects_nothing(&self) -> bool {
        self.is_disjoint_from(self)
    }

    /// Whether it never evicts pods of this budget that it applies to: it respects budgets without a deadline, selects all
    /// of the budget's pods, and the budget never allows a disruption.
    pub fn never_evicts(&self, budget: &DisruptionBudget) -> bool {
        let Some(pods) = &budget.selector else { return false };
        let LabelSelector(namespace) = LabelSelector::of_labels([(NAMESPACE_NAME, &*budget.namespace)]);
        let are_implied = |selector, known| requirements(selector).iter().all(|one| is_implied(one, known));
        self.budgets.is_some_and(|respect| respect.deadline.is_none())
            && budget.never_allows()
            && are_implied(&self.namespaces, &namespace[..])
            && are_implied(&self.pods, pods)
    }

    /// Whether it delays evictions exactly as the other one.
    fn has_effect_of(&self, other: &Self) -> bool {
        let same = Self {
            name: other.name.clone(),
            taints: other.taints.clone(),
            nodes: other.nodes.clone(),
            namespaces: other.namespaces.clone(),
            pods: other.pods.clone(),
            ..self.clone()
        };
        same == *other
    }

    fn selectors(&self) -> [&[NodeRequirement]; 3] {
        [&self.nodes, &self.namespaces, &self.pods].map(requirements)
    }
}

impl SelectedTaint {
    /// Whether it selects every taint that the other one selects.
    fn covers(&self, other: &Self) -> bool {
        let is_any = self.values.is_empty();
        let has_all = !other.values.is_empty() && is_subset(&other.values, &self.values);
        self.key == other.key && (is_any || has_all)
    }

    /// Whether both select some taint.
    fn overlaps(&self, other: &Self) -> bool {
        let is_any = self.values.is_empty() || other.values.is_empty();
        self.key == other.key && (is_any || !have_nothing_common(&self.values, &other.values))
    }
}

/// The requirements of a selector; an invalid one counts as selecting everything.
fn requirements(selector: &LabelSelector) -> &[NodeRequirement] {
    if selector.errors().is_empty() { &selector.0 } else { &[] }
}

/// Whether labels that meet all of `known` meet `one`.
fn is_implied(one: &NodeRequirement, known: &[NodeRequirement]) -> bool {
    use NodeOperator::{DoesNotExist, Exists, In, NotIn};
    known.iter().filter(|other| other.key == one.key).any(|other| match (&other.operator, &one.operator) {
        (In | Exists, Exists) | (DoesNotExist, DoesNotExist | NotIn) => true,
        (In, In) => is_subset(&other.values, &one.values),
        (In, NotIn) => have_nothing_common(&other.values, &one.values),
        (NotIn, NotIn) => is_subset(&one.values, &other.values),
        _ => false,
    })
}

/// Whether no labels meet both.
fn are_disjoint(all: &[NodeRequirement], others: &[NodeRequirement]) -> bool {
    let contradicts = |one: &NodeRequirement, other: &NodeRequirement| {
        use NodeOperator::{DoesNotExist, Exists, In, NotIn};
        one.key == other.key
            && match (&one.operator, &other.operator) {
                (In, In) => have_nothing_common(&one.values, &other.values),
                (In, NotIn) => is_subset(&one.values, &other.values),
                (In | Exists, DoesNotExist) => true,
                _ => false,
            }
    };
    let both: Vec<&NodeRequirement> = all.iter().chain(others).collect();
    both.iter().any(|one| both.iter().any(|other| contradicts(one, other)))
}

fn is_subset(some: &[Box<str>], all: &[Box<str>]) -> bool {
    some.iter().all(|value| all.contains(value))
}

fn have_nothing_common(some: &[Box<str>], others: &[Box<str>]) -> bool {
    !some.iter().any(|value| others.contains(value))
}
