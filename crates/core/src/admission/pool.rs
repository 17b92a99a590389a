//! Defines [`DedicatedPool`]: nodes on which only the pods of some users may run.
//!
//! - The folder validates pools ([`assess`]), changes or rejects pods ([`mutation`], [`violation`]), plans the edits of
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
    NAMED_MAX, NamedPod, PodOnNode, PoolStatus, UnauthorizedPod, is_unauthorized, remembered, status,
};
pub use validity::PoolValidity;
pub use violations::{PoolMutation, PoolViolation, mutation, violation};

/// What repels other pods: one taint of this key and value for each effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolTaint {
    /// The key.
    pub key: Box<str>,
    /// The value; may be empty.
    pub value: Box<str>,
    /// The effects; none means `NoSchedule`, which evicts no running pod.
    pub effects: Vec<TaintEffect>,
}

/// What attracts the pool's own pods to its nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolLabel {
    /// The key.
    pub key: Box<str>,
    /// The value.
    pub value: Box<str>,
}

/// Which nodes belong to the pool: those that are named and those that are selected. Nodes of the control plane never
/// do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolMembers {
    /// By name.
    pub names: Vec<Box<str>>,
    /// By labels, not counting those that a pool itself has added. `None` selects no node, an empty selector every one.
    /// A kubelet may set most labels of its own node, and so join; not those under `node-restriction.kubernetes.io/`.
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

/// Which pods may use the pool; one match is enough. [`membership`] says how each field is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolUsers {
    /// Pods in these namespaces. `None` selects none, an empty selector all.
    pub namespaces: Option<LabelSelector>,
    /// Pods that run as one of these.
    pub service_accounts: Vec<ServiceAccount>,
    /// Pods that one of these users creates directly.
    pub users: Vec<Box<str>>,
    /// Pods that a user of one of these groups creates directly.
    pub groups: Vec<Box<str>>,
}

/// Where the pool's own pods may run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PoolPlacement {
    /// Only on its nodes: they get the toleration and the node affinity.
    #[default]
    Exclusive,
    /// Also on its nodes: they get the toleration.
    Allowed,
}

/// What happens to other pods that could get onto the pool's nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PoolEnforcement {
    /// They are rejected.
    #[default]
    Deny,
    /// They are rejected, and those that run there already are evicted.
    Evict,
    /// Their authors are warned.
    Warn,
    /// Nothing.
    Off,
}

/// How the pool treats pods of the DaemonSet controller outside of exempt namespaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DaemonSetPolicy {
    /// Like other pods: kept off its nodes, unless they belong to the pool.
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
    /// `metadata.uid`; empty where it is unknown.
    pub uid: Box<str>,
    /// `metadata.creationTimestamp`: if two pools claim the same, the older one gets it.
    pub created: Option<Wall>,
    /// `metadata.deletionTimestamp` is set: the pool claims nothing any more.
    pub leaving: bool,
    /// What repels other pods.
    pub taint: PoolTaint,
    /// What attracts its own pods; `None` means a label of its own ([`DedicatedPool::label`]).
    pub label: Option<PoolLabel>,
    /// Its nodes.
    pub members: PoolMembers,
    /// Its pods.
    pub users: PoolUsers,
    /// Where its pods may run.
    pub placement: PoolPlacement,
    /// What happens to other pods.
    pub enforcement: PoolEnforcement,
    /// How DaemonSets' pods are treated.
    pub daemon_sets: DaemonSetPolicy,
    /// The marks that it has declared and that may be on nodes, as its status remembers them ([`remembered`]); see
    /// [`RecordTrust::Pools`].
    pub applied_marks: Vec<AppliedMark>,
}

impl DedicatedPool {
    /// Returns the taints that it adds to its nodes, in the order of its effects.
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

    /// Returns those of its taints that repel pods; `PreferNoSchedule` does not.
    pub fn barrier(&self) -> Vec<Taint> {
        let mut taints = self.taints();
        taints.retain(|taint| keeps_off(&taint.effect));
        taints
    }

    /// Returns the label that it adds to its nodes: its own choice, or one that no kubelet may set, so that no node can
    /// attract the pool's pods to itself.
    pub fn label(&self) -> PoolLabel {
        let own =
            || PoolLabel { key: format!("{RESTRICTED}/pool.{}", self.name).into(), value: "true".into() };
        self.label.clone().unwrap_or_else(own)
    }

    /// Returns the toleration of its own pods: one for every effect, so that a later change of the pool's effects does
    /// not evict its own pods.
    pub fn toleration(&self) -> Toleration {
        let (key, value) = (self.taint.key.clone(), self.taint.value.clone());
        Toleration { key, operator: TolerationOperator::Equal, value, effect: None, seconds: None }
    }

    /// Returns what its own pods require of a node if they may run nowhere else.
    pub fn requirement(&self) -> NodeRequirement {
        let label = self.label();
        is_in(&label.key, vec![label.value])
    }

    /// Returns everything that it adds to a node.
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

    /// Whether it rejects other pods.
    pub fn denial_if_unjudged(&self) -> bool {
        !self.leaving && matches!(self.enforcement, PoolEnforcement::Deny | PoolEnforcement::Evict)
    }

    /// Whether it evicts other pods from its nodes.
    pub fn evicts(&self) -> bool {
        !self.leaving && self.enforcement == PoolEnforcement::Evict
    }

    /// Whether it selects a node with this name and these labels, from which the labels that pools have added are
    /// removed.
    pub fn selects(&self, name: &str, labels: &Labels) -> bool {
        !self.leaving && !is_control_plane(labels) && self.names_or_matches(name, labels)
    }

    fn names_or_matches(&self, name: &str, labels: &Labels) -> bool {
        self.members.names.iter().any(|own| **own == *name)
            || self.members.selector.as_ref().is_some_and(|selector| selector.selects(labels))
    }

    /// The order of pools that claim the same: the older one first, then by name.
    fn rank(&self) -> (Wall, &str) {
        (self.created.unwrap_or(Wall::from_micros(i64::MAX)), &self.name)
    }
}

/// Labels of nodes of the control plane; the second is from old releases.
const CONTROL_PLANE: [&str; 2] = [keys::CONTROL_PLANE, "node-role.kubernetes.io/master"];

/// Whether the node belongs to the control plane.
fn is_control_plane(labels: &Labels) -> bool {
    CONTROL_PLANE.iter().any(|key| labels.contains_key(*key))
}

/// Whether a taint with this effect repels pods (SC-1).
fn keeps_off(effect: &TaintEffect) -> bool {
    matches!(effect, TaintEffect::NoSchedule | TaintEffect::NoExecute)
}

/// The admission plugin NodeRestriction keeps kubelets from setting labels of this domain and its subdomains.
const RESTRICTED: &str = "node-restriction.kubernetes.io";

fn is_restricted(domain: &str) -> bool {
    domain.strip_suffix(RESTRICTED).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Whether a kubelet may set this label of its own node, and a pool may have it.
fn is_for_kubelets(key: &str) -> bool {
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    !is_restricted(domain) && domain != "node-role.kubernetes.io"
}

/// Whether only Kubernetes may set this key on nodes: a pool that took it would fight with a controller. Labels that
/// kubelets may not set (`node-restriction.kubernetes.io/`), and roles other than the control plane's, are for users.
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
