//! Defines which objects a watcher watches, and how.
//!
//! - See `lister_watcher.rs` for the requests that follow from them.

use super::relist::RelistTrigger;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// A part of all objects. An object that leaves it is reported as gone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchScope {
    /// Only of this namespace; of all if empty. Only this restriction needs fewer permissions.
    pub namespace: String,
    /// Only with these labels, as in `app=web,tier!=cache`; with any if empty.
    pub labels: String,
    /// Only with these fields, as in `spec.nodeName=n1`; with any if empty.
    pub fields: String,
}

/// The settings of a watcher; the defaults are for real servers.
#[derive(Clone, Debug)]
pub struct WatchSettings {
    /// The objects to watch.
    pub scope: WatchScope,
    /// Whether to try a streamed list before a paged one.
    pub watch_list: bool,
    /// Objects on a page of a paged list.
    pub page_limit: u32,
    /// When the server should end a watch.
    pub watch_timeout: Duration,
    /// The maximum age of the last complete list before everything is listed again: an event that was lost on the way
    /// is found within this time (L4). `None`: never.
    pub relist_every: Option<Duration>,
    /// Triggers a relist.
    pub relist_now: RelistTrigger,
    /// Without a whole item for this long, a list is aborted (L4). A watch is not: there may be no changes.
    pub silence: Duration,
    /// The longest single event or item, in bytes.
    pub frame_limit: usize,
    /// The maximum number of events in one batch.
    pub batch_limit: usize,
    /// The first pause between failing attempts.
    pub pause_first: Duration,
    /// The longest pause, also if the server asks for a longer one.
    pub pause_longest: Duration,
    /// The seed for the jitter of pauses and lists; equal seeds give equal jitter.
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
