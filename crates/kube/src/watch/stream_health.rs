//! Publishes the health of a watch for readiness, metrics and the log.

use crate::api::{MissingPermission, Permission};
use std::time::Duration;
use tokio::time::Instant;

/// The phase of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StreamPhase {
    /// A request was sent; no response yet.
    #[default]
    Connecting,
    /// A list is being received.
    Listing,
    /// In sync with the server.
    Watching,
    /// Pausing after an error.
    Waiting {
        /// The error.
        why: String,
        /// When the next attempt is made.
        until: Instant,
    },
}

/// How lists are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListMode {
    /// Streamed by a watch.
    #[default]
    WatchList,
    /// Page by page, because the server rejected or did not finish a streamed one.
    PagedList,
}

/// A permission that is missing according to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingAccess {
    /// The verb.
    pub verb: &'static str,
    /// The API group; empty is core.
    pub group: &'static str,
    /// The resource.
    pub resource: &'static str,
}

impl MissingAccess {
    /// The permission on all objects, which displays as the rejection and the rule to add.
    pub const fn permission(self) -> MissingPermission {
        MissingPermission(Permission::everywhere(self.verb, self.group, self.resource))
    }
}

/// Counters since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamCounters {
    /// Lists started, of either mode.
    pub lists: u64,
    /// Lists completed, of either mode.
    pub syncs: u64,
    /// Pages received.
    pub pages: u64,
    /// Watches that the server accepted, including streamed lists.
    pub watches_started: u64,
    /// Watches that the server ended cleanly.
    pub watches_closed: u64,
    /// Lists repeated because the server had lost the history: 410, or versions that went backwards.
    pub relists_410: u64,
    /// Lists repeated because the last one had become old (L4), each attempt.
    pub relists_due: u64,
    /// Streamed lists that the server rejected or did not finish, three in a row.
    pub watch_lists_rejected: u64,
    /// Objects that could not be decoded.
    pub undecodable: u64,
    /// Responses with 429.
    pub throttled: u64,
    /// Responses with 401 or 403.
    pub forbidden: u64,
    /// Lists aborted because nothing more arrived, and watches that were not ended in time.
    pub stalls: u64,
    /// Attempts that failed in any way, including all of the above.
    pub failures: u64,
    /// Of these, lists alongside a watch that delivered every change all the while.
    pub failures_beside: u64,
    /// Bytes received in bodies.
    pub bytes: u64,
    /// Events and list items received.
    pub items: u64,
}

/// The health of one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamHealth {
    /// The phase.
    pub phase: StreamPhase,
    /// When the server was last active: a whole event or item, accepting a list or a watch, completing a
    /// list. A watch of objects that do not change is silent for hours, and healthy: a server sends its position
    /// (bookmarks) only once it is beyond the start of the watch.
    pub last_active: Option<Instant>,
    /// Since when changes are not delivered; `None` while they are, and before the first list.
    pub interrupted_since: Option<Instant>,
    /// Whether a list was ever completed: only then is anything known.
    pub synced_once: bool,
    /// The mode of lists.
    pub mode: ListMode,
    /// The counters.
    pub counters: StreamCounters,
    /// The latest error; it may long be over.
    pub last_error: Option<String>,
    /// The permission that is currently missing.
    pub missing: Option<MissingAccess>,
    /// The server lacks the resource: its definition is not installed, or not served yet. It is requested again at
    /// growing intervals. Only for optional kinds ([`crate::decode::ApiResource::is_optional`]).
    pub absent: bool,
}

impl StreamHealth {
    /// Whether everything was listed and every change is delivered, apart from an interruption of at most `grace`.
    pub fn is_in_step(&self, grace: Duration) -> bool {
        self.synced_once && self.interrupted_since.is_none_or(|since| since.elapsed() <= grace)
    }
}
