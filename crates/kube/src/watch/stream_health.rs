//! Publishes the health of a watch for readiness, metrics and the log.

use std::time::Duration;
use tokio::time::Instant;

/// What a stream is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StreamPhase {
    /// A request was sent; no answer yet.
    #[default]
    Connecting,
    /// A list is being received.
    Listing,
    /// In step with the server.
    Watching,
    /// Pausing after trouble.
    Waiting {
        /// What the trouble was.
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
    /// Page by page, because the server refused or did not finish a streamed one.
    PagedList,
}

/// A permission the server says is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingAccess {
    /// The verb.
    pub verb: &'static str,
    /// The API group; empty is core.
    pub group: &'static str,
    /// The resource.
    pub resource: &'static str,
}

/// What was counted since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamCounters {
    /// Lists begun, of either mode.
    pub lists: u64,
    /// Lists completed, of either mode.
    pub syncs: u64,
    /// Pages received.
    pub pages: u64,
    /// Watches the server agreed to, streamed lists included.
    pub watches_started: u64,
    /// Watches the server ended in good order.
    pub watches_closed: u64,
    /// Lists made again because the server had lost the history: 410, or versions that went backwards.
    pub relists_410: u64,
    /// Lists made again because the last one had become old (L4), each attempt.
    pub relists_due: u64,
    /// Streamed lists the server refused or did not finish, three in a row.
    pub watch_lists_refused: u64,
    /// Objects that could not be read.
    pub undecodable: u64,
    /// Answers asking for patience (429).
    pub throttled: u64,
    /// Answers that said 401 or 403.
    pub forbidden: u64,
    /// Lists given up because nothing more came, and watches that were not ended in time.
    pub stalls: u64,
    /// Attempts that ended badly in any way, all of the above included.
    pub failures: u64,
    /// Of these, lists beside a watch that told of every change all the while.
    pub failures_beside: u64,
    /// Bytes received in bodies.
    pub bytes: u64,
    /// Events and list items received.
    pub items: u64,
}

/// How one stream is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamHealth {
    /// What it is doing.
    pub phase: StreamPhase,
    /// When the server last said something: a whole event or item, that it agrees to a list or a watch, that a list is
    /// complete. A watch of something that does not change is silent, for hours, and in good health: a server tells
    /// where it stands (bookmarks) only once it stands further on than where the watch began.
    pub last_heard: Option<Instant>,
    /// Since when changes are not told of; `None` while they are, and before the first list.
    pub interrupted_since: Option<Instant>,
    /// Whether a list was ever completed: only then is anything known.
    pub synced_once: bool,
    /// How lists are made.
    pub mode: ListMode,
    /// What was counted.
    pub counters: StreamCounters,
    /// What the latest trouble was; it may long be over.
    pub last_error: Option<String>,
    /// The permission that is missing at the moment.
    pub missing: Option<MissingAccess>,
    /// The server has no such resource: what defines it is not installed, or not served yet. It is looked for again at
    /// growing distances. Only of kinds that need not be there ([`crate::decode::WatchedObject::OPTIONAL`]).
    pub absent: bool,
}

impl StreamHealth {
    /// Whether everything was listed and every change is told of, an interruption of at most `grace` apart.
    pub fn is_in_step(&self, grace: Duration) -> bool {
        self.synced_once && self.interrupted_since.is_none_or(|since| since.elapsed() <= grace)
    }
}
