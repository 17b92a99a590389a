//! Orders pods that are due at the same instant (TE-46).

/// The place of a pod among those due at the same instant; lower is evicted first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct EvictionOrder {
    /// Kind of pod.
    pub class: PriorityClass,
    /// `spec.priority`.
    pub priority: i32,
}

/// Kinds of pods in the order in which they are evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum PriorityClass {
    /// Any other pod.
    Ordinary,
    /// Owned by a DaemonSet.
    DaemonSet,
    /// Priority class `system-node-critical`, or a priority as high.
    NodeCritical,
}

impl EvictionOrder {
    /// Not after any other.
    pub(crate) const FIRST: Self = Self { class: PriorityClass::Ordinary, priority: i32::MIN };
}
