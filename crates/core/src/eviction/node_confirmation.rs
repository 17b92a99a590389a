//! Remembers the live read that confirms a node's taints before a DELETE (D5).

use super::EvictionConfig;
use crate::identity::ResourceVersion;
use crate::time::{Mono, Span};

/// The live confirmation of a node's taints (D5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum NodeConfirmation {
    /// No valid confirmation.
    #[default]
    None,
    /// Requested; pods that need it are parked. Only one read is in flight at a time, so a response always belongs to
    /// the last request.
    InFlight {
        /// How often it failed before.
        tries: u32,
        /// The node that was read is no longer the current one: the response is void.
        void: bool,
        /// The version that was known when the read was sent: an older response comes from another history (S2).
        known: Option<ResourceVersion>,
        /// The read before, which still confirms what it did.
        last: Option<ReadTimes>,
    },
    /// The read succeeded.
    At(ReadTimes),
    /// It failed.
    Failed {
        /// When it failed.
        at: Mono,
        /// When it may be read again.
        retry_at: Mono,
        /// How often it has failed.
        tries: u32,
    },
}

/// The times of a read that succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct ReadTimes {
    pub(crate) sent: Mono,
    pub(crate) received: Mono,
}

/// How old the response of a read is at most when it has just arrived.
const NEW_CONFIRMATION: Span = Span::from_millis(250);

impl NodeConfirmation {
    /// What remains of it if the node was replaced, is gone, or went back to an earlier state.
    pub(crate) fn of_another_node(self) -> Self {
        match self {
            Self::InFlight { tries, known, .. } => Self::InFlight { tries, void: true, known, last: None },
            _ => Self::None,
        }
    }

    /// Allows a failed read to be repeated now.
    pub(crate) fn without_pause(self, now: Mono) -> Self {
        match self {
            Self::Failed { at, retry_at, tries } => Self::Failed { at, retry_at: retry_at.min(now), tries },
            check => check,
        }
    }

    /// When the confirming read was sent, if it confirms the deletion of a pod that has been due, and known to be due,
    /// since `since`: the read must be recent enough, and not from before. A pod that appeared or changed after the
    /// read may have done so because the taint had been removed (S2).
    pub(crate) fn fresh(self, since: Mono, now: Mono, config: &EvictionConfig) -> Option<Mono> {
        let ReadTimes { sent, received } = self.last_read()?;
        (since <= sent && now <= config.confirmed_until(sent, received)).then_some(sent)
    }

    /// The last read that succeeded, if none has failed since.
    pub(crate) const fn last_read(self) -> Option<ReadTimes> {
        match self {
            Self::At(times) => Some(times),
            Self::InFlight { last, .. } => last,
            Self::None | Self::Failed { .. } => None,
        }
    }

    /// The same without any read that succeeded.
    pub(crate) const fn unconfirmed(self) -> Self {
        match self {
            Self::At(_) => Self::None,
            Self::InFlight { tries, void, known, .. } => Self::InFlight { tries, void, known, last: None },
            other => other,
        }
    }

    /// Whether the response has just arrived.
    pub(crate) fn is_new(self, now: Mono) -> bool {
        self.last_read().is_some_and(|times| now <= times.received.plus(NEW_CONFIRMATION))
    }
}
