//! Lists and watches the objects of one kind and sends [`ObjectEvent`]s to a consumer, whatever the server does.
//!
//! - Invariant: no object goes back in time; objects that a completed list lacks are gone; no watch is trusted longer
//!   than the relist interval (L4); no object is stored (S12).
//! - See `watch/list_watch/watch_loop.rs` for the loop, `watch/backoff.rs` for retries, `decode.rs` for bytes.

use crate::clock::Clock;
use crate::decode::{ApiStatus, WatchedObject};
use backoff::{AWAY_LONGEST, UNREACHABLE_LONGEST};
use kube::Client;
use std::fmt;
use std::time::Duration;
use taintward_core::identity::ResourceVersion;
use taintward_core::object_event::ObjectEvent;
use thiserror::Error;
use tokio::sync::{mpsc, watch};

mod backoff;
mod body_stream;
mod delivered_objects;
mod event_sequence;
mod event_stream;
mod health_reporter;
mod list_page;
mod list_watch;
mod lister_watcher;
mod relist;
mod stream_health;
mod watch_settings;

pub use relist::RelistTrigger;
pub use stream_health::{ListMode, MissingAccess, StreamCounters, StreamHealth, StreamPhase};
pub use watch_settings::{WatchScope, WatchSettings};

/// Watches all objects of one kind.
///
/// Lists are streamed by a watch (WatchList) if the server supports that, else paged; both are consistent reads, never
/// `resourceVersion=0`. Between [`ObjectEvent::ListStarted`] and [`ObjectEvent::ListCompleted`] every object that exists
/// is sent at least once, so all others are gone; outside of a list every change is sent in order. No object goes back
/// in time, unless the server's store does. An aborted list is never completed: the objects it sent count, and the next
/// list starts again. If changes follow in between, [`ObjectEvent::ListAborted`] is sent before them.
///
/// A healthy watch may be silent for hours. HTTP/2 pings detect a dead connection (`config`). The server's promise to
/// end a watch in time ([`WatchSettings::watch_timeout`]) detects one that leads nowhere. A server or proxy may still
/// lose an event: so everything is listed again at intervals (L4), alongside the watch, which continues meanwhile
/// (`background_list.rs`). A store that was restored from a backup has not reached the version from which an interrupted
/// watch continues: so that version is checked (`revision_check.rs`), and everything is listed again.
///
/// ```no_run
/// use taintward_core::fact::NodeFact;
/// use taintward_core::object_event::ObjectEvent;
/// use taintward_kube::clock::Clock;
/// use taintward_kube::watch::{StreamHealth, WatchSettings, Watcher};
/// use tokio::sync::{mpsc, watch};
///
/// # async fn print_nodes(client: kube::Client) {
/// let (sender, mut events) = mpsc::channel(16);
/// let (health, _) = watch::channel(StreamHealth::default());
/// let watcher = Watcher::<NodeFact>::new(client, Clock::system(), WatchSettings::default());
/// tokio::spawn(watcher.run(sender, health));
/// while let Some(batch) = events.recv().await {
///     for event in batch {
///         if let ObjectEvent::Applied { fact, listed } = event {
///             println!("{} has {} taints (listed: {listed})", fact.name.as_str(), fact.taints.len());
///         }
///     }
/// }
/// # }
/// ```
pub struct Watcher<F> {
    client: Client,
    clock: Clock,
    settings: WatchSettings,
    kind: std::marker::PhantomData<fn() -> F>,
}

impl<F: WatchedObject> Watcher<F> {
    /// Makes a watcher; nothing is sent before [`Watcher::run`]. The client must not retry on its own (P20).
    /// The moments in events are those of `clock`.
    pub fn new(client: Client, clock: Clock, settings: WatchSettings) -> Self {
        Self { client, clock, settings, kind: std::marker::PhantomData }
    }

    /// Lists and watches without end; returns once the receiver of `out` is gone. Dropping the future aborts all
    /// requests.
    ///
    /// A slow consumer slows the reading down; nothing is dropped.
    pub async fn run(self, out: mpsc::Sender<Vec<ObjectEvent<F>>>, health: watch::Sender<StreamHealth>) {
        let closed = out.clone();
        let list_watch = list_watch::run(self.client, self.clock, &self.settings, out, health);
        tokio::select! {
            biased;
            () = closed.closed() => {}
            () = list_watch => {}
        }
    }
}

/// The position of a watch in the server's history.
#[derive(Clone, Debug, PartialEq, Eq)]
enum WatchPosition {
    Number(ResourceVersion),
    Opaque(String),
}

impl WatchPosition {
    /// Parses a resourceVersion; `None` if there is none.
    fn of(text: &str) -> Option<Self> {
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

/// The continue token of a page, and the position of its list; `None` for the first page.
type NextPage = Option<(String, WatchPosition)>;

/// What to request next.
#[derive(Clone, Debug)]
enum NextRequest {
    /// A list from its beginning.
    List,
    /// The page after this token, of the list at `since`.
    Page { token: String, since: WatchPosition },
    /// The changes after this position.
    Watch(WatchPosition),
}

/// Why an attempt failed.
#[derive(Debug, Error)]
enum WatchError {
    #[error(
        "the server no longer has the changes since the last event, so Taintward lists all objects again: {0}"
    )]
    Expired(ApiStatus),
    #[error(
        "the server went back from version {from} to {to}, as after a restore from a backup, so Taintward lists all \
         objects again"
    )]
    ResourceVersionWentBack { from: u64, to: u64 },
    #[error("the server refuses the request: {0}")]
    Rejected(ApiStatus),
    #[error(
        "the server does not accept the credentials for {verb} {resource}: {status}; check the account or its token",
        verb = .0.verb, resource = .0.resource, status = .1
    )]
    Unauthenticated(MissingAccess, ApiStatus),
    #[error(
        "permission to {verb} {resource} is missing: {status}; grant it in a ClusterRole: \
         apiGroups: [\"{group}\"], resources: [\"{resource}\"], verbs: [\"list\", \"watch\"]",
        verb = .0.verb, group = .0.group, resource = .0.resource, status = .1
    )]
    Forbidden(MissingAccess, ApiStatus),
    #[error(
        "the response that there are no {resource} ({status}) does not come from the API server; check for a proxy \
         between Taintward and the API server that responds because it cannot reach the API server",
        resource = .0, status = .1
    )]
    Foreign(&'static str, ApiStatus),
    #[error("the API server throttles the request: {0}")]
    Throttled(ApiStatus),
    #[error("the API server cannot serve the request: {0}")]
    Unavailable(ApiStatus),
    #[error("no data for {} s, so the connection is closed", .0.as_secs())]
    IdleTimeout(Duration),
    #[error("invalid response from the API server: {0}")]
    Malformed(String),
    #[error("the connection failed: {0}")]
    ConnectionLost(String),
}

impl WatchError {
    /// Classifies a status, which came as the response to a request with this verb or as an ERROR event.
    fn of_status<F: WatchedObject>(status: ApiStatus, verb: &'static str) -> Self {
        let missing = MissingAccess { verb, group: F::RESOURCE.group, resource: F::RESOURCE.plural };
        match (status.code, status.reason.as_str()) {
            (410, _) | (_, "Expired" | "Gone") => Self::Expired(status),
            // The position is in the server's future: its store was replaced by an older one.
            (504, _) if status.message.starts_with("Too large resource version") => Self::Expired(status),
            (401, _) => Self::Unauthenticated(missing, status),
            (403, _) => Self::Forbidden(missing, status),
            (429, _) => Self::Throttled(status),
            (500.., _) => Self::Unavailable(status),
            _ => Self::Rejected(status),
        }
    }

    /// Whether the server does not know the resource.
    fn is_absence(&self) -> bool {
        matches!(self, Self::Rejected(status) if status.code == 404)
    }

    /// The longest interval between attempts if no API server accepted the request, or none that could; one may be
    /// back in a moment. A server that names a time is available. Credentials that are not accepted are usually about to
    /// be renewed.
    fn retry_within(&self) -> Option<Duration> {
        match self {
            Self::ConnectionLost(_) | Self::IdleTimeout(_) => Some(UNREACHABLE_LONGEST),
            Self::Malformed(_) | Self::Foreign(..) | Self::Unauthenticated(..) => Some(AWAY_LONGEST),
            Self::Unavailable(status) if status.retry_after_seconds.is_none() => Some(AWAY_LONGEST),
            _ => None,
        }
    }

    /// The server's `Retry-After`.
    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Throttled(status) => {
                Some(Duration::from_secs(status.retry_after_seconds.unwrap_or(1).into()))
            }
            Self::Unavailable(status) | Self::Expired(status) | Self::Rejected(status) => {
                status.retry_after_seconds.map(|seconds| Duration::from_secs(seconds.into()))
            }
            _ => None,
        }
    }
}
