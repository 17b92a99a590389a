//! Says which objects a watcher watches, and how.
//!
//! - See `lister_watcher.rs` for the requests that follow from them.

use super::relist::RelistTrigger;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

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
