//! Finds out whether the server's store has reached the version from which an interrupted watch continues.
//!
//! - Invariant: a store that was restored from a backup is found as soon as it answers. A watch from a version that it
//!   has yet to reach is silent and looks healthy, also to the server (L4).
//! - Versions are compared within one resource: an API server may keep others in another store.

use crate::decode::WatchedObject;
use crate::watch::backoff::WatchBackoff;
use crate::watch::lister_watcher::ListerWatcher;
use crate::watch::{WatchError, WatchPosition};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use std::time::Duration;
use taintward_core::identity::ResourceVersion;
use tokio::time::{Instant, sleep};

/// Asks for the version of the store until it is known, alongside the watch.
pub(super) struct RevisionCheck {
    from: ResourceVersion,
    current: BoxFuture<'static, WatchPosition>,
}

impl RevisionCheck {
    /// Begins to ask; `None` if the position of the watch is not a number.
    pub(super) fn start<F: WatchedObject>(
        requests: &ListerWatcher,
        position: &WatchPosition,
        backoff: WatchBackoff,
    ) -> Option<Self> {
        let WatchPosition::Number(from) = *position else { return None };
        Some(Self { from, current: current_version::<F>(requests.clone(), backoff).boxed() })
    }

    /// Waits for the version; pends if there is no check. An error if the store is older than the watch. Cancel safe.
    pub(super) async fn finish(check: &mut Option<Self>) -> Result<(), WatchError> {
        let Some(Self { from, current }) = check else { return std::future::pending().await };
        let (from, current) = (*from, current.await);
        *check = None;
        match current {
            WatchPosition::Number(to) if to < from => {
                Err(WatchError::ResourceVersionWentBack { from: from.0, to: to.0 })
            }
            _ => Ok(()),
        }
    }
}

/// The version of the store. It does not give up: until it is known, the watch may be void.
async fn current_version<F: WatchedObject>(
    requests: ListerWatcher,
    mut backoff: WatchBackoff,
) -> WatchPosition {
    loop {
        let began = Instant::now();
        match requests.current_version::<F>().await {
            Ok(version) => return version,
            Err(error) => {
                tracing::debug!(
                    resource = F::RESOURCE.plural,
                    err = %error,
                    "cannot read the version of the store, retrying"
                );
                let (away, retry_after) = (error.retry_within(), error.retry_after());
                sleep(backoff.pause(began.elapsed(), Duration::ZERO, away, retry_after)).await;
            }
        }
    }
}
