//! Stores the policies and the objects that they need, and finds the policy of an eviction.

use super::node_respects::NodeRespects;
use super::subject::GateSubject;
use crate::admission::LabelSelector;
use crate::eviction_policy::{
    BudgetFact, EvictionPolicy, EvictionPolicyFact, EvictionSubject, NamespaceLabelsFact, ReplicatedKind,
    WorkloadFact, first_selecting, is_dead_node_key,
};
use crate::identity::Uid;
use crate::object_store::{IndexedStore, Store};
use crate::scheduling::Labels;
use crate::taint::Taint;
use crate::workload::Workload;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The objects that decisions about delays depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct PolicyObjects {
    pub(crate) policies: Store<EvictionPolicyFact>,
    pub(crate) namespaces: IndexedStore<NamespaceLabelsFact>,
    pub(crate) budgets: IndexedStore<BudgetFact>,
    pub(crate) workloads: BTreeMap<ReplicatedKind, IndexedStore<WorkloadFact>>,
    /// No such kind is installed: there is no policy.
    pub(crate) definition_absent: bool,
    /// What annotations of nodes say about their taints.
    respects: NodeRespects,
}

/// The policy of an eviction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Governance<'p> {
    /// None: the pod is deleted as if policies did not exist.
    None,
    /// This one.
    Policy(&'p EvictionPolicyFact),
    /// Unknown, because an object that decides it is unknown.
    Unknown(Unknown),
}

/// Why the policy of an eviction is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// A policy, or the annotation of the node, cannot be decoded.
    Policy,
    /// The namespaces have not been listed yet.
    Namespaces,
}

impl PolicyObjects {
    /// Whether all policies are known, as far as they can be decoded.
    pub(crate) fn is_synced(&self) -> bool {
        self.definition_absent || self.policies.is_synced()
    }

    /// Whether a policy exists.
    pub(crate) fn has_policies(&self) -> bool {
        !self.definition_absent && !self.policies.is_empty()
    }

    pub(crate) fn policies(&self) -> impl Iterator<Item = &EvictionPolicyFact> {
        self.policies.facts().filter(|_| !self.definition_absent)
    }

    /// The policy with this UID.
    pub(crate) fn policy(&self, uid: &Uid) -> Option<&EvictionPolicy> {
        self.policies.get(uid).map(|fact| &*fact.policy)
    }

    /// Returns the policy of an eviction that all of these taints demand. A taint that no policy selects demands it as
    /// if policies did not exist, and the others cannot delay that.
    pub(crate) fn governance<'p>(&'p self, subject: &GateSubject<'_>) -> Governance<'p> {
        let selects_namespaces =
            |fact: &EvictionPolicyFact| fact.policy.namespaces != LabelSelector::default();
        if !self.namespaces.store().is_synced() && self.policies().any(selects_namespaces) {
            return Governance::Unknown(Unknown::Namespaces);
        }
        let (respects, node) = (&self.respects, &subject.pod.node);
        let has_undecodable_policy = self.policies.undecodable().next().is_some();
        let mut is_unknown = has_undecodable_policy;
        let mut governing: Option<&EvictionPolicyFact> = None;
        for taint in subject.taints {
            match self.first_for(taint, subject).or_else(|| respects.of(node, taint)) {
                Some(first) => {
                    governing =
                        governing.into_iter().chain([first]).min_by_key(|fact| fact.policy.precedence())
                }
                None if is_dead_node_key(&taint.key) => return Governance::None,
                None if has_undecodable_policy || respects.is_undecodable(node) => is_unknown = true,
                None => return Governance::None,
            }
        }
        match governing {
            _ if is_unknown => Governance::Unknown(Unknown::Policy),
            None => Governance::None,
            Some(fact) => Governance::Policy(fact),
        }
    }

    /// What annotations of nodes say.
    pub(crate) fn respects(&self) -> &NodeRespects {
        &self.respects
    }

    /// The same, to change it.
    pub(crate) fn respects_mut(&mut self) -> &mut NodeRespects {
        &mut self.respects
    }

    /// The policy that applies to an eviction because of this taint alone.
    fn first_for<'p>(&'p self, taint: &Taint, subject: &GateSubject<'_>) -> Option<&'p EvictionPolicyFact> {
        let namespace = self.namespaces.of(subject.namespace).next();
        let none = Labels::new();
        let namespace = namespace.map_or(&none, |fact| &fact.labels);
        let subject = EvictionSubject { node: subject.node, namespace, pod: &subject.template.labels };
        first_selecting(self.policies(), taint, subject)
    }

    /// The policies that apply to evictions because of one of the taints.
    pub(crate) fn selecting<'p>(
        &'p self,
        subject: &'p GateSubject<'_>,
    ) -> impl Iterator<Item = &'p EvictionPolicyFact> {
        subject.taints.iter().filter_map(|taint| self.first_for(taint, subject))
    }

    /// Returns the budgets that select a pod with these labels.
    pub(crate) fn budgets(&self, namespace: &str, pod: &Labels) -> Vec<&BudgetFact> {
        self.budgets.of(namespace).filter(|fact| fact.budget.selects(pod)).collect()
    }

    /// Whether every kind of workload has been listed.
    pub(crate) fn are_workloads_synced(&self) -> bool {
        ReplicatedKind::ALL
            .iter()
            .all(|kind| self.workloads.get(kind).is_some_and(|all| all.store().is_synced()))
    }

    /// The number of replicas of a workload, if it has one.
    pub(crate) fn replicas(&self, workload: &Workload) -> Option<u32> {
        let mut facts = self.workloads.values().flat_map(|kind| kind.of(workload));
        facts.next().map(|fact| fact.replicas)
    }
}
