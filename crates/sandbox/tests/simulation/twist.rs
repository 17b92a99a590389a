//! Lists the faults that the checks must detect: guards that are broken on purpose.

/// A world that is wrong on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Twist {
    None,
    /// Somebody evicts a pod now and then, for no reason.
    EarlyEvictions,
    /// Nobody evicts.
    NoEvictions,
    /// A pod's name is another's by the time its DELETE arrives, now and then; no guard is broken.
    Successors,
    /// It is, and the controller's DELETEs come without preconditions (D4, S1).
    NoPreconditions,
    /// The controller's DELETEs have no deadline: they are carried out long after it gave them up.
    LateDeletions,
    /// The watch of nodes is late; no guard is broken.
    LateNodes,
    /// It is late, and what the controller believes to be a live read of a node is an old one (D5).
    OldNodes,
    /// Watches lose events and look healthy; no guard is broken.
    LostEvents,
    /// They do, and nothing is ever listed again (L4).
    LostForGood,
    /// One of two controllers acts without the lease (S5, S6).
    NoLease,
    /// Somebody edits a node's taints between a controller's read and its write; no guard is broken.
    Edits,
    /// Somebody does, and the controller's patches come without their tests (S8).
    NoTests,
    /// The watch of leases loses those of some nodes for a while and looks healthy; no guard is broken.
    LostLeases,
    /// It does, and what the controller believes to be a live read of a lease is an old one (S7).
    OldLeases,
    /// The controller calls nodes silent too soon (S7).
    ShortGrace,
    /// Its buckets are full at once (S6).
    FullBuckets,
    /// Nobody looks after nodes (L7).
    NoNodeHealth,
}

impl Twist {
    /// Whether nodes are looked after in such a world: always, never, or (`None`) as it comes.
    pub(crate) const fn looks_after_nodes(self) -> Option<bool> {
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

    /// Whether a controller's requests do what they do where nothing fails.
    pub(crate) const fn is_undisturbed(self) -> bool {
        self.hears_all() && !matches!(self, Self::Edits | Self::NoTests)
    }

    /// Whether watches tell everything.
    pub(crate) const fn hears_all(self) -> bool {
        !matches!(self, Self::LostEvents | Self::LostForGood | Self::LostLeases | Self::OldLeases)
    }
}
