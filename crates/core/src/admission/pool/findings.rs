//! Validates one pool by itself and returns [`PoolFinding`]s: a condition reason and a message that says how to correct
//! it.
//!
//! - See `assess.rs` for conflicts with other pools and for nodes.

use super::{DedicatedPool, is_for_kubelets, is_reserved, keeps_off};
use crate::admission::messages::text_of;
use crate::label::{is_key, is_value};
use crate::taint::TaintEffect;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

macro_rules! reasons {
    ($($reason:ident $rejects:literal $summary:literal;)*) => {
        /// Why a pool may not do what its author expects; the name is the reason of a condition.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Reason {
            $(#[doc = $summary] $reason,)*
        }

        impl Reason {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$reason,)*];

            /// `BadTaint`
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$reason => stringify!($reason),)* }
            }

            /// Whether the pool does nothing until it is corrected.
            pub const fn rejects(self) -> bool {
                match self { $(Self::$reason => $rejects,)* }
            }
        }
    };
}

reasons! {
    BadTaint true "An API server would refuse the taint.";
    ReservedTaint true "The taint's key is Kubernetes' own.";
    BadLabel true "An API server would refuse the label.";
    ReservedLabel true "The label's key is Kubernetes' own.";
    BadSelector true "A selector is invalid and selects nothing.";
    NoMembers true "spec.nodes has neither names nor a selector.";
    TaintOverlaps true "An older pool has the same taint.";
    LabelOverlaps true "An older pool has the same label.";
    LocksOutSystem false "The pool would get the last nodes that are open to all pods, so it gets no more \
     nodes.";
    NodesOverlap false "Selected nodes belong to another pool.";
    ControlPlaneNodes false "Selected nodes run the control plane and are left out.";
    NodeConflict false "Another writer's taint or label on nodes conflicts with the pool's.";
    SelectsNothing false "No node is selected.";
    LabelOfKubelets false "A kubelet may set the label on its own node.";
    StrayLabel false "Nodes outside of the pool have its label.";
    TaintRepelsNoPods false "No effect of the taint keeps pods off.";
    NoUsers false "No pod may use it.";
    AllNamespacesMayUse false "Pods of all namespaces may use it.";
}

/// Something that the pool's author should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolFinding {
    /// In one word.
    pub reason: Reason,
    /// In a sentence, with the remedy.
    pub message: String,
}

impl PoolFinding {
    pub(super) fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}

/// Returns what is wrong with a pool by itself.
pub(super) fn errors(pool: &DedicatedPool) -> Vec<PoolFinding> {
    let mut found = Vec::new();
    taint(pool, &mut found);
    label(pool, &mut found);
    members(pool, &mut found);
    users(pool, &mut found);
    found
}

fn taint(pool: &DedicatedPool, found: &mut Vec<PoolFinding>) {
    let (key, value) = (&pool.taint.key, &pool.taint.value);
    if !is_key(key) {
        let message = format!("\"{}\" cannot be the key of a taint: write a label's name", text_of(key));
        found.push(PoolFinding::new(Reason::BadTaint, message));
    } else if is_reserved(key) {
        let message =
            format!("{key} belongs to Kubernetes: write a key of your own, such as example.com/pool");
        found.push(PoolFinding::new(Reason::ReservedTaint, message));
    }
    if !is_value(value) {
        let message = format!("\"{}\" cannot be the value of a taint: write a label's value", text_of(value));
        found.push(PoolFinding::new(Reason::BadTaint, message));
    }
    if let Some(TaintEffect::Unknown(odd)) =
        pool.taint.effects.iter().find(|one| matches!(one, TaintEffect::Unknown(_)))
    {
        let message = format!(
            "\"{}\" is not an effect of a taint: write NoSchedule, PreferNoSchedule or NoExecute",
            text_of(odd)
        );
        found.push(PoolFinding::new(Reason::BadTaint, message));
    } else if !pool.taints().iter().any(|taint| keeps_off(&taint.effect)) {
        let message = "PreferNoSchedule keeps no pod off: add NoSchedule, if the nodes must be dedicated";
        found.push(PoolFinding::new(Reason::TaintRepelsNoPods, message));
    }
}

fn label(pool: &DedicatedPool, found: &mut Vec<PoolFinding>) {
    let label = &pool.label();
    if pool.label.is_none() && !is_key(&label.key) {
        let message =
            "its name is too long to be a part of a label: set spec.label, or give the pool a shorter name";
        found.push(PoolFinding::new(Reason::BadLabel, message));
    } else if !is_key(&label.key) || !is_value(&label.value) {
        let (key, value) = (text_of(&label.key), text_of(&label.value));
        let message = format!("\"{key}={value}\" cannot be a label: write a label's name and value");
        found.push(PoolFinding::new(Reason::BadLabel, message));
    } else if is_reserved(&label.key) {
        let message = format!(
            "the label {} belongs to Kubernetes: write a key of your own, or one under node-restriction.kubernetes.io, \
             which kubelets cannot set",
            label.key
        );
        found.push(PoolFinding::new(Reason::ReservedLabel, message));
    } else if is_for_kubelets(&label.key) {
        let message = format!(
            "a kubelet can set the label {} on its own node and so attract the pool's pods until the label \
             is removed: leave the label out, or use one under node-restriction.kubernetes.io",
            label.key
        );
        found.push(PoolFinding::new(Reason::LabelOfKubelets, message));
    }
}

fn members(pool: &DedicatedPool, found: &mut Vec<PoolFinding>) {
    if pool.members.names.is_empty() && pool.members.selector.is_none() {
        let message = "it has neither names nor a selector of nodes: write one of them";
        found.push(PoolFinding::new(Reason::NoMembers, message));
    }
    for (of, selector) in [("nodes", &pool.members.selector), ("namespaces", &pool.users.namespaces)] {
        if let Some(error) = selector.as_ref().and_then(|selector| selector.errors().into_iter().next()) {
            let message = format!("the selector of {of} selects nothing ({error}): correct it");
            found.push(PoolFinding::new(Reason::BadSelector, message));
        }
    }
}

fn users(pool: &DedicatedPool, found: &mut Vec<PoolFinding>) {
    let users = &pool.users;
    let listed = !users.service_accounts.is_empty() || !users.users.is_empty() || !users.groups.is_empty();
    match &users.namespaces {
        None if !listed => {
            let message = "no pod may use it: name namespaces, service accounts, users or groups";
            found.push(PoolFinding::new(Reason::NoUsers, message));
        }
        Some(selector) if selector.0.is_empty() => {
            let message = "an empty selector means the pods of all namespaces: write labels of the namespaces that you \
                           need";
            found.push(PoolFinding::new(Reason::AllNamespacesMayUse, message));
        }
        _ => {}
    }
}
