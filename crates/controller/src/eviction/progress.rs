//! Tells whether evictions get on: the readiness check `evictions`.
//!
//! - Invariant: only a process that may write, and has pods to evict, can fail the check; one success resets it. A
//!   rejected deletion alone does not fail it: deletions of other pods may succeed meanwhile.
//! - See `taintward_core::eviction::EvictionStall` for what counts as success.

use crate::effect_executor::EffectResult;
use taintward_core::api_error::ApiFailure;
use taintward_core::eviction::{EvictionInput, EvictionStall, StallReason};
use taintward_core::time::{Mono, Span};
use taintward_kube::clock::Clock;
use tokio::sync::watch;

/// Readiness fails if every request for due pods has failed for this long.
const STALLED_MAX: Span = Span::from_secs(10);

/// A response that took at least this long may have come too late.
const SLOW: Span = Span::from_secs(1);

/// Evictions that do not get on: since when, and why.
pub(crate) type StalledEvictions = Option<(Mono, String)>;

/// Publishes whether evictions get on.
pub(crate) struct ProgressReporter {
    out: watch::Sender<StalledEvictions>,
    /// When the first of the requests that failed or were slow in a row was sent, and when it ended.
    first_failure: Option<(Mono, Mono)>,
    /// When a read last failed or was slow.
    read_failed: Option<Mono>,
    /// Why the last request failed.
    error: String,
    /// How long the last response took.
    took: Span,
    is_logged: bool,
}

impl ProgressReporter {
    pub(crate) fn new(out: watch::Sender<StalledEvictions>) -> Self {
        Self {
            out,
            first_failure: None,
            read_failed: None,
            error: String::new(),
            took: Span::ZERO,
            is_logged: false,
        }
    }

    /// Records the result of a request, before the engine gets it at this moment.
    pub(super) fn on_result(&mut self, result: &EffectResult<EvictionInput>, now: Mono) {
        self.took = now.since(result.sent);
        match &result.error {
            Some(error) if !matches!(error.failure, ApiFailure::NotFound | ApiFailure::Conflict) => {
                self.error.clone_from(&error.message);
            }
            None if self.took >= SLOW => {}
            _ => {
                self.first_failure = None;
                return;
            }
        }
        self.first_failure.get_or_insert((result.sent, now));
        if matches!(result.input, EvictionInput::NodeConfirmed { .. } | EvictionInput::PodRead { .. }) {
            self.read_failed = Some(now);
        }
    }

    /// Publishes what the engine knows. While reads succeed, rejected writes are about single pods.
    pub(super) fn publish(&mut self, stall: Option<EvictionStall>, now: Mono) {
        let has_read = |stall: &EvictionStall| self.read_failed.is_some_and(|at| at >= stall.since);
        let stalled = stall.filter(has_read).map(|stall| {
            let since = match self.first_failure {
                // The time that the first request took counts, too.
                Some((sent, ended)) if ended == stall.since => sent,
                _ => stall.since,
            };
            let why = match stall.reason {
                StallReason::Failed(_) => self.error.clone(),
                StallReason::TooLate => format!(
                    "a response that took {:.1} s confirms no eviction any more",
                    self.took.as_secs_f64()
                ),
            };
            (since, why)
        });
        if stall.is_none() {
            self.first_failure = None;
        }
        let is_long = |(since, _): &(Mono, String)| now.since(*since) >= STALLED_MAX;
        match stalled.as_ref().filter(|stalled| is_long(stalled)) {
            Some((since, why)) if !self.is_logged => {
                self.is_logged = true;
                tracing::warn!(
                    seconds = now.since(*since).as_secs_f64(),
                    err = why,
                    "no read or write for a due pod succeeds, retrying until one does"
                );
            }
            None if std::mem::take(&mut self.is_logged) => {
                tracing::info!("requests for due pods succeed again")
            }
            _ => {}
        }
        self.out.send_if_modified(|out| std::mem::replace(out, stalled.clone()) != stalled);
    }
}

/// Ready unless every request for due pods has failed for ten seconds.
pub(crate) fn check(
    stalled: watch::Receiver<StalledEvictions>,
    clock: Clock,
) -> impl Fn() -> Result<(), String> + Send + Sync + 'static {
    move || match &*stalled.borrow() {
        Some((since, why)) if clock.now().mono.since(*since) >= STALLED_MAX => {
            let seconds = clock.now().mono.since(*since).as_secs_f64();
            Err(format!("no read or write for a due pod has succeeded for {seconds:.0} s: {why}"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
