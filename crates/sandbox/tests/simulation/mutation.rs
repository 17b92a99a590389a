//! Lists the faults that the checks must detect: safeguards that are disabled on purpose.

/// A world with a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ControllerMutation {
    None,
    /// Occasionally a pod is evicted without reason.
    EarlyEvictions,
    /// Occasionally all pods are evicted, whatever delays them.
    NoDelays,
    /// No pod is evicted.
    NoEvictions,
    /// Occasionally a pod is replaced under the same name before its DELETE arrives; no safeguard is disabled.
    Successors,
    /// The same, and the controller's DELETEs have no preconditions (D4, S1).
    NoPreconditions,
    /// The controller's DELETEs have no deadline: they are carried out long after it gave them up.
    LateDeletions,
    /// The watch of nodes is late; no safeguard is disabled.
    LateNodes,
    /// The same, and the controller's live reads of nodes return an old state (D5).
    OldNodes,
    /// The API server's time is unknown: its responses have no date (S4, L3).
    NoDates,
    /// Watches lose events and look healthy; no safeguard is disabled.
    LostEvents,
    /// The same, and there are no relists (L4).
    LostForGood,
    /// One of two controllers acts without the lease (S5, S6).
    NoLease,
    /// A node's taints are edited between a controller's read and its write; no safeguard is disabled.
    Edits,
    /// The same, and the controller's patches have no `test` operations (S8).
    NoTests,
    /// The watch of leases loses those of some nodes for a while and looks healthy; no safeguard is disabled.
    LostLeases,
    /// The same, and the controller's live reads of leases return an old state (S7).
    OldLeases,
    /// The controller declares nodes silent too soon (S7).
    ShortGrace,
    /// Its token buckets start full (S6).
    FullBuckets,
    /// Node lifecycle does not run (L7).
    NoNodeHealth,
}

impl ControllerMutation {
    /// Whether node lifecycle runs in such a world: always, never, or (`None`) randomly.
    pub(crate) const fn manages_node_health(self) -> Option<bool> {
        match self {
            Self::None | Self::NoLease | Self::LostEvents => None,
            Self::Edits
            | Self::NoTests
            | Self::LostLeases
            | Self::OldLeases
            | Self::ShortGrace
            | Self::FullBuckets
            | Self::NoNodeHealth => Some(true),
            _ => Some(false),
        }
    }

    /// Whether policies, budgets, holds and the brake delay evictions in such a world: always, never, or (`None`) in a
    /// third of them.
    pub(crate) const fn delays(self) -> Option<bool> {
        match self {
            Self::None => None,
            Self::NoDelays => Some(true),
            _ => Some(false),
        }
    }

    /// Whether a controller's requests are carried out faithfully if nothing fails.
    pub(crate) const fn is_undisturbed(self) -> bool {
        self.hears_all() && !matches!(self, Self::Edits | Self::NoTests)
    }

    /// Whether watches deliver all events.
    pub(crate) const fn hears_all(self) -> bool {
        !matches!(self, Self::LostEvents | Self::LostForGood | Self::LostLeases | Self::OldLeases)
    }
}
