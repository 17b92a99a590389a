//! Lists and watches the objects of one kind and sends [`WatchEvent`]s to a consumer, whatever the server does.
//!
//! - Invariant: no object goes back in time; objects that a completed list lacks are gone; nothing is believed longer
//!   than the relist interval (L4); no object is stored (S12).
//! - See `watch/watch_loop.rs` for the loop, `watch/backoff.rs` for retries, `decode.rs` for bytes.

use crate::decode::{ObjectIdentity, UndecodableObject, WatchedObject};
use kube::Client;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;
use taintward_core::identity::Uid;
use tokio::sync::{mpsc, watch};

mod attempt;
mod background_list;
mod backoff;
mod batcher;
mod body_stream;
mod delivered_objects;
mod list_pages;
mod relist;
mod served_resources;
mod stream_health;
mod watch_error;
mod watch_loop;
mod watch_query;
mod watch_stream;

pub use relist::RelistTrigger;
pub use stream_health::{ListMode, MissingAccess, StreamCounters, StreamHealth, StreamPhase};
use watch_loop::WatchLoop;

/// One thing that was heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchEvent<F> {
    /// A list starts, from nothing or again. One that only checks is made beside the watch: what that tells meanwhile is
    /// not `listed`, and comes between the items.
    ListStarted {
        /// How long ago the stream was last known to be complete, on a clock that may stand still while the machine
        /// sleeps; `None` the first time.
        silent_for: Option<Duration>,
    },
    /// An object as it is.
    Applied {
        /// The object.
        fact: F,
        /// It is part of a list, so what it says was not seen happening.
        listed: bool,
    },
    /// An object was deleted, or is a pod on no node.
    Deleted {
        /// Which incarnation.
        uid: Uid,
        /// What else the last word on it said.
        identity: ObjectIdentity,
    },
    /// An object that can't be understood; the others go on (D11, S11). If it is known who it is, it exists: a sweep
    /// must not take it for vanished, and what was known of it before is not to be acted on.
    Undecodable(UndecodableObject),
    /// The list is complete: what was neither `Seen` nor `UndecodableObject` since [`WatchEvent::ListStarted`], listed or not, has
    /// vanished.
    ListCompleted,
    /// The list was given up, and nothing was swept: every change since the watch stopped, if it did, follows in order.
    ListAborted,
    /// Proof of life without news: every change up to this moment has been delivered.
    Bookmark,
}

/// A part of all objects. One that leaves it is heard of as gone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchScope {
    /// Only of this namespace; of all if empty. It is the only part that needs fewer permissions.
    pub namespace: String,
    /// Only with these labels, as in `app=web,tier!=cache`; with any if empty.
    pub labels: String,
    /// Only with these fields, as in `spec.nodeName=n1`; with any if empty.
    pub fields: String,
}

/// How a listener behaves; the default is meant for real servers.
#[derive(Clone, Debug)]
pub struct WatchSettings {
    /// Which of the objects.
    pub scope: WatchScope,
    /// Whether to try a streamed list before a paged one.
    pub watch_list: bool,
    /// Objects on a page of a paged list.
    pub page_limit: u32,
    /// When the server is to end a watch.
    pub watch_timeout: Duration,
    /// How old the last complete list may become before everything is listed again: an event that was lost on the way
    /// is found within this time (L4). `None`: never.
    pub relist_every: Option<Duration>,
    /// With this, everything is listed again whenever somebody asks for it.
    pub relist_now: RelistTrigger,
    /// Without a whole item for this long, a list is given up (L4). A watch is not: it may have nothing to tell.
    pub silence: Duration,
    /// The longest single event or item, in bytes.
    pub frame_limit: usize,
    /// The most things in one batch.
    pub batch_limit: usize,
    /// The first pause between failing attempts.
    pub pause_first: Duration,
    /// The longest pause, also if the server asks for a longer one.
    pub pause_longest: Duration,
    /// Where the jitter of pauses and lists starts from; equal seeds give equal ones.
    pub seed: u64,
}

impl Default for WatchSettings {
    fn default() -> Self {
        Self {
            scope: WatchScope::default(),
            watch_list: true,
            page_limit: 500,
            watch_timeout: Duration::from_secs(290),
            relist_every: Some(Duration::from_secs(300)),
            relist_now: RelistTrigger::default(),
            silence: Duration::from_secs(75),
            frame_limit: 16 << 20,
            batch_limit: 256,
            pause_first: Duration::from_millis(200),
            pause_longest: Duration::from_secs(30),
            seed: RandomState::new().hash_one("pauses"),
        }
    }
}

/// Listens to all objects of one kind.
///
/// Lists are streamed by a watch (WatchList) where the server supports that, else paged; both are consistent reads,
/// never `resourceVersion=0`. Between [`WatchEvent::ListStarted`] and [`WatchEvent::ListCompleted`] every object that
/// exists is sent at least once, so all others are gone; outside of a list every change is sent in order. No object
/// goes back in time, unless the server's store does. A list that breaks off is never completed: what it sent holds,
/// and the next list starts again. If changes follow in between, [`WatchEvent::ListAborted`] is sent before them.
///
/// A healthy watch may be silent for hours. HTTP/2 pings detect a dead connection (`config`). The server's promise to
/// end a watch in time ([`WatchSettings::watch_timeout`]) detects one that leads nowhere. A server or proxy may still
/// lose an event: so everything is listed again at intervals (L4), beside the watch, which goes on meanwhile
/// (`background_list.rs`).
pub struct Watcher<F> {
    client: Client,
    settings: WatchSettings,
    kind: std::marker::PhantomData<fn() -> F>,
}

impl<F: WatchedObject> Watcher<F> {
    /// A listener; nothing is sent before [`Watcher::run`]. The client must not retry on its own (P20).
    pub fn new(client: Client, settings: WatchSettings) -> Self {
        Self { client, settings, kind: std::marker::PhantomData }
    }

    /// Lists and watches for ever; returns once the receiver of `out` is gone. Dropping the future ends all requests.
    ///
    /// A slow consumer slows the reading down; nothing is dropped.
    pub async fn run(self, out: mpsc::Sender<Vec<WatchEvent<F>>>, health: watch::Sender<StreamHealth>) {
        let closed = out.clone();
        let session = WatchLoop::new(self.client, self.settings, out, health);
        tokio::select! {
            biased;
            () = closed.closed() => {}
            () = session.run() => {}
        }
    }
}
