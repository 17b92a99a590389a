//! Changes policies, their definition, and the namespace that they select by.

use super::{Millis, World, labels};
use taintward_core::eviction::EvictionInput;
use taintward_core::eviction_policy::{
    EvictionPolicy, EvictionPolicyFact, NamespaceLabelsFact, RecordedPolicyStatus,
};
use taintward_core::identity::{ResourceVersion, Uid};
use taintward_core::object_event::{ObjectEvent, ObjectRef};

/// How long the requests of an eviction take together: what was under way before the process knew of a policy is none of
/// its evictions.
const UNDER_WAY: Millis = 1_000;

impl World {
    pub(super) fn policy_fact(&self, policy: &EvictionPolicy) -> EvictionPolicyFact {
        EvictionPolicyFact {
            uid: Uid::new(&policy.name),
            version: Some(ResourceVersion(self.version)),
            generation: 1,
            policy: policy.clone().into(),
            recorded: RecordedPolicyStatus { forced: self.recorded_forced, conditions: Vec::new() },
        }
    }

    pub(crate) fn set_policy(&mut self, policy: EvictionPolicy) {
        self.bump();
        let fact = self.policy_fact(&policy);
        self.policies.retain(|one| one.name != policy.name);
        self.policies.push(policy);
        self.send(EvictionInput::Policies(ObjectEvent::Applied { fact, listed: false }));
    }

    pub(crate) fn remove_policy(&mut self, name: &str) {
        self.policies.retain(|one| *one.name != *name);
        let object = ObjectRef { name: name.into(), uid: Some(Uid::new(name)), node: None };
        self.send(EvictionInput::Policies(ObjectEvent::Deleted(object)));
    }

    /// A policy cannot be decoded any more.
    pub(crate) fn lose_policy(&mut self, name: &str) {
        self.policies.retain(|one| *one.name != *name);
        let object = ObjectRef { name: name.into(), uid: Some(Uid::new(name)), node: None };
        self.send(EvictionInput::Policies(ObjectEvent::Undecodable(object)));
    }

    /// Deletes the only policy, or creates it again.
    pub(crate) fn toggle_policy(&mut self) {
        self.policy_changed = Some(self.now + UNDER_WAY);
        match self.deleted_policy.take() {
            Some(policy) => self.set_policy(policy),
            None => {
                self.deleted_policy = self.policies.first().cloned();
                let name = self.deleted_policy.as_ref().map(|policy| policy.name.clone());
                name.into_iter().for_each(|name| self.remove_policy(&name));
            }
        }
    }

    /// The policy, if it exists, limits how many nodes are emptied at once.
    pub(crate) fn limit_nodes(&mut self, nodes_at_once: Option<u32>) {
        if let Some(policy) = self.policies.first().cloned() {
            self.policy_changed = Some(self.now + UNDER_WAY);
            self.set_policy(EvictionPolicy { nodes_at_once, ..policy });
        }
    }

    /// The kind of policies is removed from the cluster, or is there again, with the only policy of before.
    pub(crate) fn set_definition_absent(&mut self, absent: bool) {
        match absent {
            true => self.deleted_policy = self.policies.pop(),
            false => self.policies.extend(self.deleted_policy.take()),
        }
        self.policy_changed = Some(self.now + UNDER_WAY);
        self.send(EvictionInput::PolicyDefinitionAbsent(absent));
    }

    /// The namespace of all pods belongs to another team.
    pub(crate) fn set_team(&mut self, team: &'static str) {
        self.team = team;
        self.policy_changed = Some(self.now + UNDER_WAY);
        let event = ObjectEvent::Applied { fact: self.namespace_fact(), listed: false };
        self.send(EvictionInput::Namespaces(event));
    }

    pub(super) fn namespace_fact(&self) -> NamespaceLabelsFact {
        let labels = labels(&[("team", self.team)]);
        NamespaceLabelsFact { uid: Uid::new("default"), version: None, name: "default".into(), labels }
    }
}
