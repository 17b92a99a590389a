//! # Step: one attempt, before and after
//! Room:     what to ask for next, where a watch stands, how an attempt ended, what it received.
//! Comes in: versions and tokens of the server.
//! Goes out: values that the loop and its attempts hand each other.
//! Not here: the loop (`session.rs`), the attempts (`watching.rs`, `pages.rs`).

use super::outbox::HungUp;
use super::trouble::Trouble;
use std::fmt;
use taintward_core::identity::ResourceVersion;

/// Where a watch stands in the server's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Position {
    Number(ResourceVersion),
    Opaque(String),
}

impl Position {
    /// Reads a resourceVersion; `None` if there is none.
    pub(super) fn of(text: &str) -> Option<Self> {
        match ResourceVersion::parse(text) {
            Some(version) => Some(Self::Number(version)),
            None if matches!(text, "" | "0") => None,
            None => Some(Self::Opaque(text.to_owned())),
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(version) => version.fmt(f),
            Self::Opaque(text) => f.write_str(text),
        }
    }
}

/// What to ask for next.
#[derive(Clone, Debug)]
pub(super) enum Next {
    /// A list from its beginning.
    List,
    /// The page after this token, of the list that stands for `since`.
    Page { onward: String, since: Position },
    /// The changes after this position.
    Watch(Position),
}

/// How an attempt that met no trouble ended.
pub(super) enum Done {
    /// The server closed the stream.
    Closed,
    /// The last list has become old.
    Due,
    /// There is more to ask for at once.
    Onward,
}

/// How an attempt was stopped.
pub(super) enum Stop {
    Trouble(Trouble),
    HungUp,
}

impl From<Trouble> for Stop {
    fn from(trouble: Trouble) -> Self {
        Self::Trouble(trouble)
    }
}

impl From<HungUp> for Stop {
    fn from(_: HungUp) -> Self {
        Self::HungUp
    }
}

/// What was received: bytes; whole events or items in them, and how many of these made no sense.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) bytes: u64,
    pub(super) items: u64,
    pub(super) unreadable: u64,
}
