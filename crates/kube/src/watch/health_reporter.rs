//! Updates the health of a watch as requests succeed and fail.

use super::WatchError;
use super::stream_health::{StreamCounters, StreamHealth, StreamPhase};
use crate::decode::WatchedObject;
use tokio::sync::watch;
use tokio::time::Instant;

/// Updates the published health of one watch; clones update the same.
#[derive(Clone)]
pub(super) struct HealthReporter {
    health: watch::Sender<StreamHealth>,
    resource: &'static str,
    is_optional: bool,
}

impl HealthReporter {
    pub(super) fn new<F: WatchedObject>(health: watch::Sender<StreamHealth>) -> Self {
        Self { health, resource: F::RESOURCE.plural, is_optional: F::RESOURCE.is_optional }
    }

    pub(super) fn update(&self, change: impl FnOnce(&mut StreamHealth)) {
        self.health.send_modify(change);
    }

    /// Whether the server is known to lack the resource.
    pub(super) fn is_absent(&self) -> bool {
        self.health.borrow().absent
    }

    /// The server accepted a request.
    pub(super) fn agreed(&self, phase: StreamPhase) {
        self.update(|health| {
            health.last_active = Some(Instant::now());
            if phase == StreamPhase::Watching {
                health.interrupted_since = None;
            }
            health.phase = phase;
            health.missing = None;
            health.absent = false;
        });
    }

    /// A list is complete.
    pub(super) fn list_completed(&self) {
        self.update(|health| {
            health.last_active = Some(Instant::now());
            health.synced_once = true;
            health.counters.syncs += 1;
        });
    }

    /// Bytes and items were received.
    pub(super) fn received(&self, received: &StreamCounters) {
        self.update(|health| {
            health.counters.bytes += received.bytes;
            health.counters.items += received.items;
            if received.items > 0 {
                health.last_active = Some(Instant::now());
            }
        });
    }

    /// A request failed; `beside` if it was that of a list alongside a watch that continues.
    pub(super) fn failed(&self, error: &WatchError, beside: bool) {
        let text = error.to_string();
        tracing::debug!(resource = self.resource, err = text, "a list or watch request failed");
        self.update(|health| {
            health.last_error = Some(text);
            health.counters.failures += 1;
            match beside {
                true => health.counters.failures_beside += 1,
                false => {
                    health.missing = None;
                    health.absent = self.is_optional && error.is_absence();
                }
            }
            match error {
                WatchError::Throttled(_) => health.counters.throttled += 1,
                WatchError::IdleTimeout(_) => health.counters.stalls += 1,
                WatchError::Forbidden(missing, _) | WatchError::Unauthenticated(missing, _) => {
                    health.counters.forbidden += 1;
                    health.missing = Some(*missing).filter(|_| !beside).or(health.missing);
                }
                _ => {}
            }
        });
    }
}
