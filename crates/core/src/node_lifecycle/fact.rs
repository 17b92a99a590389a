//! Defines the fields of nodes, leases and pods that node lifecycle needs.
//!
//! - Invariant: times of heartbeats and renewals are compared with each other, never with a clock (NL-10).

use super::zone::ZoneKey;
use crate::identity::{NodeName, PodId, ResourceVersion, Uid};
use crate::taint::Taint;
use crate::time::Wall;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// The status of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ConditionStatus {
    /// `True`.
    True,
    /// `False`.
    False,
    /// `Unknown`.
    Unknown,
    /// Not one of the three, or contradictory: no taint is added or removed because of it (D11).
    Other,
}

impl ConditionStatus {
    /// Parses a status, case-sensitively.
    pub fn new(text: &str) -> Self {
        match text {
            "True" => Self::True,
            "False" => Self::False,
            "Unknown" => Self::Unknown,
            _ => Self::Other,
        }
    }
}

/// The conditions that matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ConditionKind {
    /// `Ready`.
    Ready,
    /// `MemoryPressure`.
    MemoryPressure,
    /// `DiskPressure`.
    DiskPressure,
    /// `PIDPressure`.
    PidPressure,
    /// `NetworkUnavailable`.
    NetworkUnavailable,
}

impl ConditionKind {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Ready, Self::MemoryPressure, Self::DiskPressure, Self::PidPressure, Self::NetworkUnavailable];

    /// The condition's type as the API writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "Ready",
            Self::MemoryPressure => "MemoryPressure",
            Self::DiskPressure => "DiskPressure",
            Self::PidPressure => "PIDPressure",
            Self::NetworkUnavailable => "NetworkUnavailable",
        }
    }

    /// Parses a condition's type; `None` for those that do not matter here.
    pub fn new(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// One element of `status.conditions`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NodeCondition {
    /// Its type.
    pub kind: ConditionKind,
    /// Its status.
    pub status: ConditionStatus,
    /// `lastHeartbeatTime`.
    pub heartbeat: Option<Wall>,
}

/// The status of each condition; one that occurs twice with different statuses is [`ConditionStatus::Other`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NodeConditions([Option<ConditionStatus>; 5]);

impl NodeConditions {
    /// Makes the statuses from a list of conditions.
    pub fn of(conditions: &[NodeCondition]) -> Self {
        let mut all = Self::default();
        for condition in conditions {
            let status = match all.get(condition.kind) {
                Some(before) if before != condition.status => ConditionStatus::Other,
                _ => condition.status,
            };
            all.set(condition.kind, status);
        }
        all
    }

    /// Returns the status of a condition; `None`: there is no such condition.
    pub const fn get(&self, kind: ConditionKind) -> Option<ConditionStatus> {
        self.0[kind as usize]
    }

    /// Returns the status of `Ready`.
    pub const fn ready(&self) -> Option<ConditionStatus> {
        self.get(ConditionKind::Ready)
    }

    const fn set(&mut self, kind: ConditionKind, status: ConditionStatus) {
        self.0[kind as usize] = Some(status);
    }

    /// Sets those that expire with the heartbeat to Unknown (NL-12).
    pub(super) fn expire(&mut self) {
        EXPIRING.into_iter().for_each(|kind| self.set(kind, ConditionStatus::Unknown));
    }

    /// Whether one of them is not understood.
    pub fn is_obscure(&self) -> bool {
        self.0.contains(&Some(ConditionStatus::Other))
    }
}

/// What happens to one condition of a node that has become silent (NL-12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ConditionExpiry {
    /// It becomes Unknown, with reason `NodeStatusUnknown`; the heartbeat stays.
    Stopped,
    /// It is missing: one with status Unknown is added, with reason `NodeStatusNeverUpdated`; the heartbeat is the
    /// node's creation.
    NeverPosted,
}

/// The conditions that expire with the heartbeat. NetworkUnavailable does not come from the kubelet (NL-12).
const EXPIRING: [ConditionKind; 4] = [
    ConditionKind::Ready,
    ConditionKind::MemoryPressure,
    ConditionKind::DiskPressure,
    ConditionKind::PidPressure,
];

/// Returns what has to be written into the conditions of a silent node; those that are Unknown already stay as they are
/// (NL-12).
pub fn expired(conditions: &NodeConditions) -> Vec<(ConditionKind, ConditionExpiry)> {
    let expiry = |kind| match conditions.get(kind) {
        Some(ConditionStatus::Unknown) => None,
        Some(_) => Some((kind, ConditionExpiry::Stopped)),
        None => Some((kind, ConditionExpiry::NeverPosted)),
    };
    EXPIRING.into_iter().filter_map(expiry).collect()
}

/// The labels of operating system and architecture, current and deprecated (NL-8).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PlatformLabels {
    /// `kubernetes.io/os`.
    pub os: Option<Box<str>>,
    /// `beta.kubernetes.io/os`.
    pub beta_os: Option<Box<str>>,
    /// `kubernetes.io/arch`.
    pub arch: Option<Box<str>>,
    /// `beta.kubernetes.io/arch`.
    pub beta_arch: Option<Box<str>>,
}

/// The fields of a node that node health needs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NodeHealthFact {
    /// `metadata.name`.
    pub name: NodeName,
    /// `metadata.uid`.
    pub uid: Uid,
    /// `metadata.resourceVersion`; `None` if it is not an integer.
    pub version: Option<ResourceVersion>,
    /// `metadata.creationTimestamp`.
    pub created: Option<Wall>,
    /// Its zone, from its labels ([`ZoneKey::of`]).
    pub zone: ZoneKey,
    /// Whether the label `node.kubernetes.io/exclude-disruption` exists, with any value (NL-25).
    pub excluded: bool,
    /// `spec.unschedulable`.
    pub unschedulable: bool,
    /// `spec.taints`.
    pub taints: Vec<Taint>,
    /// `status.conditions`, those that matter, in the node's order.
    pub conditions: Vec<NodeCondition>,
    /// Labels to keep in sync.
    pub platform: PlatformLabels,
}

/// A node's lease in `kube-node-lease`. Its holder does not matter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LeaseFact {
    /// `metadata.name`, which is the node's.
    pub node: NodeName,
    /// `metadata.resourceVersion`; `None` if it is not an integer.
    pub version: Option<ResourceVersion>,
    /// `spec.renewTime`.
    pub renewed: Option<Wall>,
}

/// The fields of a pod bound to a node that node health needs (NL-17).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PodReadinessFact {
    /// `metadata.uid`, `metadata.namespace` and `metadata.name`.
    pub id: PodId,
    /// `spec.nodeName`; never empty.
    pub node: NodeName,
    /// The status of its condition `Ready`; `None`: it has no such condition.
    pub ready: Option<ConditionStatus>,
}
