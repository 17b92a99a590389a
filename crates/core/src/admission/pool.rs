//! Defines [`DedicatedPool`]: nodes on which only the pods of some users may run.
//!
//! - The folder validates pools ([`assess`]), changes or refuses pods ([`mutation`], [`violation`]), plans the edits of
//!   nodes ([`reconcile`]) and counts ([`status`]).
//! - Invariant: a pool takes no taint or label that Kubernetes or another pool owns, and removes exactly what it has
//!   added.

use super::LabelSelector;
use super::label_selector::is_in;
use crate::scheduling::{Labels, NodeRequirement};
use crate::taint::{Taint, TaintEffect, keys};
use crate::time::Wall;
use crate::toleration::{Toleration, TolerationOperator};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

mod affinity;
mod assess;
mod findings;
mod membership;
mod node_plan;
mod node_record;
mod pods_on_nodes;
mod pool_entry;
mod status;
mod validity;
mod violations;

pub use affinity::{alternatives, narrowed};
pub use assess::{PoolAssessment, assess};
pub use findings::{PoolFinding, Reason};
pub use membership::{MADE_FOR, Membership, PodOwner, PoolExemption, PoolExemptions, membership};
pub use node_plan::{NodeEdits, NodePlan, PoolConflict, PoolNode, RecordEdit, reconcile};
pub use node_record::{AppliedMark, NodeRecordAnnotation, RECORD, RecordTrust};
pub use pods_on_nodes::{PodOnNodeFact, PodsOnNodes};
pub use pool_entry::{PoolEntry, entry, is_ordinary, might_tolerate};
pub use status::{
    NAMED_MOST, NamedPod, PodOnNode, PoolStatus, UnauthorizedPod, is_trespasser, remembered, status,
};
pub use validity::PoolValidity;
pub use violations::{PoolMutation, PoolViolation, mutation, violation};

/// What keeps others off: one taint of this key and value for each effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolTaint {
    /// The key.
    pub key: Box<str>,
    /// The value; may be empty.
    pub value: Box<str>,
    /// The effects; none given means `NoSchedule`, which sends no running pod away.
    pub effects: Vec<TaintEffect>,
}

/// What leads the pool's own pods to its nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolLabel {
    /// The key.
    pub key: Box<str>,
    /// The value.
    pub value: Box<str>,
}

/// Which nodes belong to it: those that are named and those that are selected. Nodes of the control plane never do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolMembers {
    /// By name.
    pub names: Vec<Box<str>>,
    /// By labels, not counting those that a pool itself has put there. `None` selects no node, an empty selector every
    /// one. A kubelet may set most labels of its own node, and so join; not those under
    /// `node-restriction.kubernetes.io/`.
    pub selector: Option<LabelSelector>,
}

/// A service account.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServiceAccount {
    /// Its namespace.
    pub namespace: Box<str>,
    /// Its name.
    pub name: Box<str>,
}

/// Who may use it; one of them is enough. [`membership`] says how each is understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolUsers {
    /// Pods in these namespaces. `None` selects none, an empty selector all.
    pub namespaces: Option<LabelSelector>,
    /// Pods that run as one of these.
    pub service_accounts: Vec<ServiceAccount>,
    /// Pods that one of these users makes by himself.
    pub users: Vec<Box<str>>,
    /// Pods that somebody of one of these groups makes by himself.
    pub groups: Vec<Box<str>>,
}

/// Where the pool's own pods may run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PoolPlacement {
    /// On its nodes only: they get the toleration and the node affinity.
    #[default]
    Exclusive,
    /// On its nodes, too: they get the toleration.
    Allowed,
}

/// What becomes of pods of others that would be let onto its nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PoolEnforcement {
    /// They are refused.
    #[default]
    Deny,
    /// They are refused, and those that are there already are evicted.
    Evict,
    /// Their authors are warned.
    Warn,
    /// Nothing.
    Off,
}

/// What the pool is to pods that the DaemonSet controller makes, outside of exempt namespaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DaemonSetPolicy {
    /// They are as other pods: kept off its nodes, unless they are its own.
    #[default]
    Deny,
    /// They may run on its nodes.
    Allow,
}

/// A `DedicatedPool`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DedicatedPool {
    /// `metadata.name`.
    pub name: Box<str>,
    /// `metadata.uid`; empty where it is not known.
    pub uid: Box<str>,
    /// `metadata.creationTimestamp`: of two pools that want the same, the older one has it.
    pub created: Option<Wall>,
    /// `metadata.deletionTimestamp` is set: it wants nothing any more.
    pub leaving: bool,
    /// What keeps others off.
    pub taint: PoolTaint,
    /// What leads its own pods there; `None` means a label of its own ([`DedicatedPool::label`]).
    pub label: Option<PoolLabel>,
    /// Which nodes.
    pub members: PoolMembers,
    /// Whose pods.
    pub users: PoolUsers,
    /// Where these may run.
    pub placement: PoolPlacement,
    /// What becomes of others.
    pub enforcement: PoolEnforcement,
    /// What becomes of DaemonSets' pods.
    pub daemon_sets: DaemonSetPolicy,
    /// What it has stood for and may be on nodes, as its status remembers it ([`remembered`]); see [`RecordTrust::Pools`].
    pub applied_marks: Vec<AppliedMark>,
}

impl DedicatedPool {
    /// The taints it puts on its nodes, in the order of its effects.
    pub fn taints(&self) -> Vec<Taint> {
        let default = [TaintEffect::NoSchedule];
        let effects = if self.taint.effects.is_empty() { &default[..] } else { &self.taint.effects };
        let taint = |effect: &TaintEffect| Taint {
            key: self.taint.key.clone(),
            value: self.taint.value.clone(),
            effect: effect.clone(),
            time_added: None,
        };
        let new = |&(at, effect): &(usize, &TaintEffect)| !effects[..at].contains(effect);
        effects.iter().enumerate().filter(new).map(|(_, effect)| taint(effect)).collect()
    }

    /// Those of them that keep pods off; `PreferNoSchedule` does not.
    pub fn barrier(&self) -> Vec<Taint> {
        let mut taints = self.taints();
        taints.retain(|taint| keeps_off(&taint.effect));
        taints
    }

    /// The label it puts on its nodes: its own choice, or one that no kubelet may set, so that no node can draw the
    /// pool's pods to itself.
    pub fn label(&self) -> PoolLabel {
        let own =
            || PoolLabel { key: format!("{RESTRICTED}/pool.{}", self.name).into(), value: "true".into() };
        self.label.clone().unwrap_or_else(own)
    }

    /// What its own pods get: one toleration for every effect, so that a pool whose effects are changed later does not
    /// send away its own.
    pub fn toleration(&self) -> Toleration {
        let (key, value) = (self.taint.key.clone(), self.taint.value.clone());
        Toleration { key, operator: TolerationOperator::Equal, value, effect: None, seconds: None }
    }

    /// What its own pods ask of a node, if they may run nowhere else.
    pub fn requirement(&self) -> NodeRequirement {
        let label = self.label();
        is_in(&label.key, vec![label.value])
    }

    /// Everything it puts on a node.
    pub fn marks(&self) -> Vec<AppliedMark> {
        let label = self.label();
        let taints = self.taints().into_iter();
        let taints = taints.map(|taint| AppliedMark::Taint {
            key: taint.key,
            value: taint.value,
            effect: taint.effect,
        });
        taints.chain([AppliedMark::Label { key: label.key, value: label.value }]).collect()
    }

    /// Whether pods of others are refused.
    pub fn keeps_out(&self) -> bool {
        !self.leaving && matches!(self.enforcement, PoolEnforcement::Deny | PoolEnforcement::Evict)
    }

    /// Whether pods of others that are on its nodes are evicted.
    pub fn evicts(&self) -> bool {
        !self.leaving && self.enforcement == PoolEnforcement::Evict
    }

    /// Whether it asks for a node of this name and with these labels, from which those that pools put there have been
    /// taken off.
    pub fn selects(&self, name: &str, labels: &Labels) -> bool {
        !self.leaving && !is_control_plane(labels) && self.names_or_matches(name, labels)
    }

    fn names_or_matches(&self, name: &str, labels: &Labels) -> bool {
        self.members.names.iter().any(|own| **own == *name)
            || self.members.selector.as_ref().is_some_and(|selector| selector.selects(labels))
    }

    /// Who comes first of those that want the same: the older one, then the first by name.
    fn rank(&self) -> (Wall, &str) {
        (self.created.unwrap_or(Wall::from_micros(i64::MAX)), &self.name)
    }
}

/// A label that nodes of the control plane have; the second is of old releases.
const CONTROL_PLANE: [&str; 2] = [keys::CONTROL_PLANE, "node-role.kubernetes.io/master"];

/// Whether the node carries the control plane.
fn is_control_plane(labels: &Labels) -> bool {
    CONTROL_PLANE.iter().any(|key| labels.contains_key(*key))
}

/// Whether a taint with this effect keeps pods off (SC-1).
fn keeps_off(effect: &TaintEffect) -> bool {
    matches!(effect, TaintEffect::NoSchedule | TaintEffect::NoExecute)
}

/// Labels of this domain, and of those below it, are kept from kubelets by the admission plugin NodeRestriction.
const RESTRICTED: &str = "node-restriction.kubernetes.io";

fn is_restricted(domain: &str) -> bool {
    domain.strip_suffix(RESTRICTED).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Whether a kubelet may set a label of its own node that a pool may have.
fn is_for_kubelets(key: &str) -> bool {
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    !is_restricted(domain) && domain != "node-role.kubernetes.io"
}

/// Whether a key is Kubernetes' own to set, on nodes: a pool that took it would fight with a controller. Labels that
/// kubelets may not set (`node-restriction.kubernetes.io/`) and roles other than the control plane's are for people.
fn is_reserved(key: &str) -> bool {
    let Some((domain, _)) = key.split_once('/') else { return false };
    let of_kubernetes = ["kubernetes.io", "k8s.io"]
        .iter()
        .any(|own| domain.strip_suffix(own).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')));
    let for_people =
        is_restricted(domain) || (domain == "node-role.kubernetes.io" && !CONTROL_PLANE.contains(&key));
    of_kubernetes && !for_people
}

impl fmt::Display for ServiceAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
