//! Observes whether our own watches and requests work, and tells the engine (S7).
//!
//! - Invariant: checked before an effect is pulled; an interruption is reported at once.

use crate::write_permission::WritePermission;
use futures::future::BoxFuture;
use taintward_core::node_lifecycle::{NodeLifecycleInput, WatchedKind};
use taintward_core::time::{Mono, Span};
use taintward_kube::api::{ApiClient, RequestError};
use taintward_kube::watch::{StreamHealth, StreamPhase};
use tokio::sync::watch;
use tokio::time::Instant;

/// A question that failed is asked again after this, at the earliest.
const ASK_AGAIN: Span = Span::from_secs(1);

/// One stream.
#[derive(Debug)]
pub(super) struct StreamObserver {
    stream: WatchedKind,
    health: watch::Receiver<StreamHealth>,
    last_heard: Option<Instant>,
    /// When we noticed that something was heard.
    last_activity: Option<Mono>,
    failures: u64,
    lost: bool,
}

impl StreamObserver {
    pub(super) fn new(stream: WatchedKind, health: watch::Receiver<StreamHealth>) -> Self {
        Self { stream, health, last_heard: None, last_activity: None, failures: 0, lost: false }
    }

    /// What there is to tell of the stream. A watch that the server closed in good order, and that was opened again
    /// before anybody looked, has lost nothing; one that broke has been silent since the last word from it.
    pub(super) fn poll(&mut self, now: Mono) -> Vec<NodeLifecycleInput> {
        if !self.health.has_changed().unwrap_or(false) {
            return Vec::new();
        }
        let health = self.health.borrow_and_update();
        let (in_step, before) = (health.phase == StreamPhase::Watching, self.last_activity);
        // A list that failed beside the watch has cost nothing that the watch told.
        let failures = health.counters.failures - health.counters.failures_beside;
        let failed = std::mem::replace(&mut self.failures, failures) < failures;
        if health.last_heard != self.last_heard {
            (self.last_heard, self.last_activity) = (health.last_heard, Some(now));
        }
        let mut inputs = Vec::new();
        if failed || (!in_step && !self.lost) {
            let since = before.filter(|_| failed).unwrap_or(now);
            inputs.push(NodeLifecycleInput::StreamLost { stream: self.stream, since });
            self.lost = true;
        }
        if in_step && std::mem::take(&mut self.lost) {
            inputs.push(NodeLifecycleInput::StreamRecovered { stream: self.stream });
        }
        inputs
    }
}

/// The answer to a question, and when it was asked.
type ProbeResult = (Mono, Result<(), RequestError>);

/// Whether the API server takes our requests.
pub(super) struct ApiServerProbe {
    /// Without a success for this long, we ask.
    interval: Span,
    proof: Option<Mono>,
    sent_at: Option<Mono>,
    in_flight: Option<BoxFuture<'static, ProbeResult>>,
}

impl ApiServerProbe {
    /// One who must have something to show at least every `gap`.
    pub(super) const fn new(gap: Span) -> Self {
        let interval = Span::from_micros(gap.as_micros() / 2);
        Self { interval, proof: None, sent_at: None, in_flight: None }
    }

    /// Our lease was renewed; a proof only if it is news.
    pub(super) fn renewed(&mut self, permission: &WritePermission) -> Option<NodeLifecycleInput> {
        let sent = permission.renewed().filter(|sent| self.proof.is_none_or(|proof| *sent > proof))?;
        self.proof = Some(sent);
        Some(NodeLifecycleInput::OwnRequestSucceeded { sent })
    }

    /// Asks, if nothing else has proved it lately.
    pub(super) fn start(&mut self, api: &ApiClient, now: Mono) {
        if self.in_flight.is_none() && self.start_at().is_none_or(|at| at <= now) {
            let api = api.clone();
            self.sent_at = Some(now);
            self.in_flight = Some(Box::pin(async move { (now, api.look_alive().await) }));
        }
    }

    /// When it is time to ask; `None`: now.
    pub(super) fn start_at(&self) -> Option<Mono> {
        let due = self.proof.map(|proof| proof.plus(self.interval));
        let again = self.sent_at.map(|sent_at| sent_at.plus(ASK_AGAIN.min(self.interval)));
        due.max(again)
    }

    /// The next answer; waits for ever while there is no question.
    pub(super) async fn result(&mut self) -> ProbeResult {
        let Some(in_flight) = &mut self.in_flight else { return std::future::pending().await };
        let answer = in_flight.await;
        self.in_flight = None;
        answer
    }

    /// What an answer is worth.
    pub(super) fn on_result(&mut self, (sent, result): ProbeResult) -> Option<NodeLifecycleInput> {
        match result {
            Ok(()) => {
                self.proof = self.proof.max(Some(sent));
                Some(NodeLifecycleInput::OwnRequestSucceeded { sent })
            }
            Err(refusal) => {
                tracing::debug!(err = %refusal.message, "no sign of life from the API server");
                None
            }
        }
    }

    pub(super) const fn is_in_flight(&self) -> bool {
        self.in_flight.is_some()
    }
}

#[cfg(test)]
mod tests;
