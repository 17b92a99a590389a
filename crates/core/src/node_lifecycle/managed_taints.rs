//! Defines the nine taints that node lifecycle adds and removes, and compact sets of them (S8).
//!
//! - Invariant: a taint with another key or effect is never touched (NL-6).

use crate::taint::{Taint, TaintEffect, keys};
use core::fmt;

/// A taint that node lifecycle owns (MATCH-10). There is no NoExecute taint for a cordoned node (NL-9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ManagedTaint {
    /// `node.kubernetes.io/not-ready:NoSchedule`.
    NotReady,
    /// `node.kubernetes.io/unreachable:NoSchedule`.
    Unreachable,
    /// `node.kubernetes.io/memory-pressure:NoSchedule`.
    MemoryPressure,
    /// `node.kubernetes.io/disk-pressure:NoSchedule`.
    DiskPressure,
    /// `node.kubernetes.io/pid-pressure:NoSchedule`.
    PidPressure,
    /// `node.kubernetes.io/network-unavailable:NoSchedule`.
    NetworkUnavailable,
    /// `node.kubernetes.io/unschedulable:NoSchedule`.
    Unschedulable,
    /// `node.kubernetes.io/not-ready:NoExecute`.
    NotReadyNoExecute,
    /// `node.kubernetes.io/unreachable:NoExecute`.
    UnreachableNoExecute,
}

impl ManagedTaint {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::NotReady,
        Self::Unreachable,
        Self::MemoryPressure,
        Self::DiskPressure,
        Self::PidPressure,
        Self::NetworkUnavailable,
        Self::Unschedulable,
        Self::NotReadyNoExecute,
        Self::UnreachableNoExecute,
    ];

    /// Its key.
    pub const fn key(self) -> &'static str {
        match self {
            Self::NotReady | Self::NotReadyNoExecute => keys::NOT_READY,
            Self::Unreachable | Self::UnreachableNoExecute => keys::UNREACHABLE,
            Self::MemoryPressure => keys::MEMORY_PRESSURE,
            Self::DiskPressure => keys::DISK_PRESSURE,
            Self::PidPressure => keys::PID_PRESSURE,
            Self::NetworkUnavailable => keys::NETWORK_UNAVAILABLE,
            Self::Unschedulable => keys::UNSCHEDULABLE,
        }
    }

    /// Its effect.
    pub const fn effect(self) -> TaintEffect {
        match self {
            Self::NotReadyNoExecute | Self::UnreachableNoExecute => TaintEffect::NoExecute,
            _ => TaintEffect::NoSchedule,
        }
    }

    /// Returns which managed taint this is; its value does not matter, and is kept (NL-6).
    pub fn of(taint: &Taint) -> Option<Self> {
        Self::ALL.into_iter().find(|own| *taint.key == *own.key() && taint.effect == own.effect())
    }

    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// `key:TaintEffect`.
impl fmt::Display for ManagedTaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.key(), self.effect().as_str())
    }
}

/// A set of managed taints.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ManagedTaints(u16);

impl ManagedTaints {
    /// The empty set.
    pub const NONE: Self = Self(0);
    /// The two NoExecute taints.
    pub const NO_EXECUTE: Self =
        Self::NONE.with(ManagedTaint::NotReadyNoExecute).with(ManagedTaint::UnreachableNoExecute);

    /// Returns the managed ones among a node's taints.
    pub fn of(taints: &[Taint]) -> Self {
        taints.iter().filter_map(ManagedTaint::of).fold(Self::NONE, Self::with)
    }

    /// Returns this set with one more.
    #[must_use]
    pub const fn with(self, taint: ManagedTaint) -> Self {
        Self(self.0 | taint.bit())
    }

    /// Returns the union with another set.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns this set without the elements of another.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns the NoExecute taints of this set.
    #[must_use]
    pub const fn no_execute(self) -> Self {
        Self(self.0 & Self::NO_EXECUTE.0)
    }

    /// Returns the NoSchedule taints of this set.
    #[must_use]
    pub const fn no_schedule(self) -> Self {
        Self(self.0 & !Self::NO_EXECUTE.0)
    }

    /// Whether the taint is in the set.
    pub const fn has(self, taint: ManagedTaint) -> bool {
        self.0 & taint.bit() != 0
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the taints of the set, in a fixed order.
    pub fn iter(self) -> impl Iterator<Item = ManagedTaint> {
        ManagedTaint::ALL.into_iter().filter(move |taint| self.has(*taint))
    }
}

impl FromIterator<ManagedTaint> for ManagedTaints {
    fn from_iter<T: IntoIterator<Item = ManagedTaint>>(taints: T) -> Self {
        taints.into_iter().fold(Self::NONE, Self::with)
    }
}

impl fmt::Debug for ManagedTaints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
