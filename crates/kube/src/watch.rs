//! Lists and watches the objects of one kind and sends [`WatchEvent`]s to a consumer, whatever the server does.
//!
//! - Invariant: no object goes back in time; objects that a completed list lacks are gone; nothing is believed longer
//!   than the relist interval (L4); no object is stored (S12).
//! - See `watch/watch_loop.rs` for the loop, `watch/backoff.rs` for retries, `decode.rs` for bytes.

use crate::decode::WatchedObject;
use kube::Client;
use tokio::sync::{mpsc, watch};

mod background_list;
mod backoff;
mod body_stream;
mod delivered_objects;
mod event_sequence;
mod event_stream;
mod health_reporter;
mod list_page;
mod list_watch_state;
mod lister_watcher;
mod next_request;
mod relist;
mod stream_health;
mod watch_error;
mod watch_event;
mod watch_loop;
mod watch_settings;

pub use relist::RelistTrigger;
pub use stream_health::{ListMode, MissingAccess, StreamCounters, StreamHealth, StreamPhase};
pub use watch_event::WatchEvent;
use watch_loop::WatchLoop;
pub use watch_settings::{WatchScope, WatchSettings};

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
        let watch_loop = WatchLoop::new(self.client, &self.settings, out, health);
        tokio::select! {
            biased;
            () = closed.closed() => {}
            () = watch_loop.run() => {}
        }
    }
}
