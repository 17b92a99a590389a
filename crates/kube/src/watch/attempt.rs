//! Defines the input and the result of one attempt to list or watch.

use super::batcher::ReceiverDropped;
use super::watch_error::WatchError;
use std::fmt;
use taintward_core::identity::ResourceVersion;

/// Where a watch stands in the server's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WatchPosition {
    Number(ResourceVersion),
    Opaque(String),
}

impl WatchPosition {
    /// Reads a resourceVersion; `None` if there is none.
    pub(super) fn of(text: &str) -> Option<Self> {
        match ResourceVersion::parse(text) {
            Some(version) => Some(Self::Number(version)),
            None if matches!(text, "" | "0") => None,
            None => Some(Self::Opaque(text.to_owned())),
        }
    }
}

impl fmt::Display for WatchPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(version) => version.fmt(f),
            Self::Opaque(text) => f.write_str(text),
        }
    }
}

/// What to ask for next.
#[derive(Clone, Debug)]
pub(super) enum NextRequest {
    /// A list from its beginning.
    List,
    /// The page after this token, of the list that stands for `since`.
    Page { onward: String, since: WatchPosition },
    /// The changes after this position.
    Watch(WatchPosition),
}

/// How an attempt that met no trouble ended.
pub(super) enum AttemptEnd {
    /// The server closed the stream.
    Closed,
    /// The last list has become old.
    Due,
    /// There is more to ask for at once.
    Onward,
}

/// How an attempt was stopped.
pub(super) enum AttemptError {
    Trouble(WatchError),
    HungUp,
}

impl From<WatchError> for AttemptError {
    fn from(trouble: WatchError) -> Self {
        Self::Trouble(trouble)
    }
}

impl From<ReceiverDropped> for AttemptError {
    fn from(_: ReceiverDropped) -> Self {
        Self::HungUp
    }
}

/// What was received: bytes; whole events or items in them, and how many of these made no sense.
#[derive(Default)]
pub(super) struct ReceivedCounts {
    pub(super) bytes: u64,
    pub(super) items: u64,
    pub(super) unreadable: u64,
}
