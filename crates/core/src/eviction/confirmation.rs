//! Tracks the live read of a node that a deletion needs: requested, received or failed, and how old it is.

use crate::identity::ResourceVersion;
use crate::time::{Mono, Span};

/// The live confirmation of a node's taints (D5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum NodeConfirmation {
    /// None worth anything.
    #[default]
    None,
    /// Asked for; pods that need it are parked. Never asked twice at once, so an answer is always the answer to the
    /// last question.
    InFlight {
        /// How often it failed before.
        tries: u32,
        /// The node asked about is not the one that is here now: the answer says nothing.
        void: bool,
        /// What was known of the node when it was asked for: an answer that is older comes from another history (S2).
        known: Option<ResourceVersion>,
    },
    /// The read was sent at this moment and succeeded.
    At(Mono),
    /// It failed.
    Failed {
        /// When it failed.
        at: Mono,
        /// When it may be asked for again.
        retry_at: Mono,
        /// How often it has failed.
        tries: u32,
    },
}

impl NodeConfirmation {
    /// What remains of it when the node is another one, gone, or told of as it was before.
    pub(super) fn of_another_node(self) -> Self {
        match self {
            Self::InFlight { tries, known, .. } => Self::InFlight { tries, void: true, known },
            _ => Self::None,
        }
    }

    /// A read that failed may be asked for again now.
    pub(super) fn without_pause(self, now: Mono) -> Self {
        match self {
            Self::Failed { at, retry_at, tries } => Self::Failed { at, retry_at: retry_at.min(now), tries },
            check => check,
        }
    }

    /// When the confirming read was sent, if a pod that has been due since `since`, and known to be, may be deleted by
    /// it: recent enough, and not from before. A pod that came or changed after the read may have done so because the
    /// taint had gone (S2).
    pub(super) fn fresh(self, since: Mono, now: Mono, age_max: Span) -> Option<Mono> {
        match self {
            Self::At(at) if since <= at && now <= at.plus(age_max) => Some(at),
            _ => None,
        }
    }
}
