//! Collects eviction policies, and the disruption budgets that they may wait for.
//!
//! - See `policy_findings.rs` for what is checked.

use super::object::ObjectName;
use crate::cluster_state::with_uid;
use crate::manifest::YamlNode;
use std::sync::Arc;
use taintward_core::cluster_snapshot::DisruptionBudget;
use taintward_core::eviction_policy::{BudgetFact, EvictionPolicy, EvictionPolicyFact};
use taintward_kube::decode::{Decoded, WatchedObject};

/// An eviction policy, as written.
pub(crate) struct CollectedPolicy {
    pub(crate) name: ObjectName,
    /// `None`: from a cluster.
    pub(crate) file: Option<String>,
    pub(crate) tree: YamlNode,
    /// Or why it cannot be decoded.
    pub(crate) policy: Result<Arc<EvictionPolicy>, String>,
}

/// The policies, and the budgets that they may wait for.
#[derive(Default)]
pub(crate) struct CollectedPolicies {
    pub(crate) policies: Vec<CollectedPolicy>,
    pub(crate) budgets: Vec<DisruptionBudget>,
}

impl CollectedPolicies {
    /// Adds an object if it is a policy or a budget. Returns whether it is a policy.
    pub(crate) fn put(&mut self, file: Option<&str>, tree: &YamlNode) -> bool {
        match (tree.text("apiVersion"), tree.text("kind")) {
            ("taintward.io/v1alpha1", "EvictionPolicy") => {
                self.policies.push(CollectedPolicy::new(file, tree));
                true
            }
            ("policy/v1", "PodDisruptionBudget") => {
                // A budget that cannot be decoded is a matter of its API server.
                self.budgets.extend(decoded::<BudgetFact>(tree).map(|fact| fact.budget));
                false
            }
            _ => false,
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.policies.len()
    }

    /// Whether a policy evicts no pod that its budgets do not allow to evict.
    pub(crate) fn need_budgets(&self) -> bool {
        let never_forces = |policy: &EvictionPolicy| policy.budgets.is_some_and(|one| one.deadline.is_none());
        self.policies.iter().filter_map(|one| one.policy.as_deref().ok()).any(never_forces)
    }

    /// Adds those of a cluster, as far as the files do not define them anew.
    pub(crate) fn extend(&mut self, cluster: Self) {
        let is_new = |one: &CollectedPolicy| !self.policies.iter().any(|own| own.name.name == one.name.name);
        let policies: Vec<CollectedPolicy> = cluster.policies.into_iter().filter(is_new).collect();
        let own = |budget: &DisruptionBudget| (budget.namespace.clone(), budget.name.clone());
        let is_new = |one: &DisruptionBudget| !self.budgets.iter().any(|known| own(known) == own(one));
        let budgets: Vec<DisruptionBudget> = cluster.budgets.into_iter().filter(is_new).collect();
        self.policies.extend(policies);
        self.budgets.extend(budgets);
    }
}

impl CollectedPolicy {
    fn new(file: Option<&str>, tree: &YamlNode) -> Self {
        let name = tree.at(&["metadata", "name"]).map(YamlNode::as_text).unwrap_or_default().to_owned();
        let name = ObjectName { kind: tree.text("kind").to_owned(), namespace: String::new(), name };
        let policy = decoded::<EvictionPolicyFact>(tree).map(|fact| fact.policy);
        Self { name, file: file.map(str::to_owned), tree: tree.clone(), policy }
    }
}

/// Decodes an object as the controller does.
fn decoded<F: WatchedObject>(tree: &YamlNode) -> Result<F, String> {
    let json = serde_json::to_vec(tree).map_err(|why| why.to_string())?;
    match F::from_json(&with_uid(json.into())) {
        Decoded::Object(fact) => Ok(fact),
        Decoded::Undecodable(object) => Err(object.why),
        Decoded::Unbound(_) => Err("not an object of its kind".to_owned()),
    }
}
