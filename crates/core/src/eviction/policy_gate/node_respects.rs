//! Keeps what annotations of nodes say about their taints, as policies.

use crate::eviction_policy::{BudgetRespect, EvictionPolicy, EvictionPolicyFact, RecordedPolicyStatus};
use crate::fact::{NodeRespect, RESPECT_BUDGETS, TaintRespect};
use crate::identity::{NodeName, Uid};
use crate::taint::Taint;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

/// The annotation of each node that has one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct NodeRespects(BTreeMap<NodeName, RespectEntry>);

/// An annotation, and the policies that its entries stand for, in their order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct RespectEntry {
    annotation: Box<NodeRespect>,
    policies: Vec<EvictionPolicyFact>,
}

impl NodeRespects {
    /// A node has this annotation, or none. Returns whether that is new.
    pub(crate) fn set(&mut self, node: &NodeName, annotation: Option<Box<NodeRespect>>) -> bool {
        if self.0.get(node).map(|entry| &entry.annotation) == annotation.as_ref() {
            return false;
        }
        match annotation {
            None => _ = self.0.remove(node),
            Some(annotation) => {
                let policies = match &*annotation {
                    NodeRespect::Taints(taints) => taints.iter().map(|one| fact(node, one)).collect(),
                    NodeRespect::Undecodable => Vec::new(),
                };
                self.0.insert(node.clone(), RespectEntry { annotation, policies });
            }
        }
        true
    }

    /// The policy that the node's annotation stands for, for evictions because of this taint.
    pub(crate) fn of(&self, node: &NodeName, taint: &Taint) -> Option<&EvictionPolicyFact> {
        let entry = self.0.get(node)?;
        let NodeRespect::Taints(taints) = &*entry.annotation else { return None };
        let position = taints.iter().position(|one| one.is_about(taint))?;
        entry.policies.get(position)
    }

    /// The policy with this UID that the node's annotation stands for.
    pub(crate) fn policy(&self, node: &NodeName, uid: &Uid) -> Option<&EvictionPolicy> {
        let fact = self.0.get(node)?.policies.iter().find(|fact| fact.uid == *uid)?;
        Some(&fact.policy)
    }

    /// Whether the node's annotation cannot be decoded.
    pub(crate) fn is_undecodable(&self, node: &NodeName) -> bool {
        self.0.get(node).is_some_and(|entry| *entry.annotation == NodeRespect::Undecodable)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The policy that an entry stands for. Its name is shown where those of policies are.
fn fact(node: &NodeName, respect: &TaintRespect) -> EvictionPolicyFact {
    let TaintRespect { key, value, deadline, .. } = respect;
    let policy = EvictionPolicy {
        name: format!("of node {node} ({RESPECT_BUDGETS})").into(),
        budgets: Some(BudgetRespect { deadline: *deadline }),
        ..EvictionPolicy::default()
    };
    EvictionPolicyFact {
        uid: Uid::new(&format!("{RESPECT_BUDGETS} {node} {key}={value}")),
        version: None,
        generation: 0,
        policy: policy.into(),
        recorded: RecordedPolicyStatus::default(),
    }
}
