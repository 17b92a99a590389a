//! Defines what a watcher requests next: a list, a page of it, or the changes after a position.

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

/// The continue token of a page, and the position that its list stands for; `None` for the first page.
pub(super) type NextPage = Option<(String, WatchPosition)>;

/// What to request next.
#[derive(Clone, Debug)]
pub(super) enum NextRequest {
    /// A list from its beginning.
    List,
    /// The page after this token, of the list that stands for `since`.
    Page { token: String, since: WatchPosition },
    /// The changes after this position.
    Watch(WatchPosition),
}
