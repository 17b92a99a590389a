//! # Outbox: a loop's events on their way out
//! Room:     a bounded queue of events, and the few that are being written.
//! Comes in: event notes, in the order of what happened.
//! Goes out: requests; log lines and metrics about those that failed.
//! Keeps:    nothing beyond fixed bounds, nor beyond the lead of this process; what is dropped is counted.
//! Not here: wording (the tellers of the loops); events of evictions, which are folded and only trickle (`eviction_events.rs`).

use crate::metrics::{ControllerMetrics, Effect};
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use std::collections::VecDeque;
use taintward_core::time::Mono;
use taintward_kube::api::{ApiClient, RequestError};
use taintward_kube::clock::Clock;
use taintward_kube::events::Event;

/// How much an outbox holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecorderLimits {
    /// Events that wait at most.
    pub(crate) waiting: usize,
    /// Events being written at once, at most.
    pub(crate) at_once: usize,
}

/// When an event was sent, and what became of it.
pub(crate) type PublishResult = (Mono, Result<(), RequestError>);

/// Events that wait, and those under way.
pub(crate) struct EventRecorder {
    bounds: RecorderLimits,
    waiting: VecDeque<Event>,
    sending: FuturesUnordered<BoxFuture<'static, PublishResult>>,
    dropped: u64,
}

impl EventRecorder {
    pub(crate) fn new(bounds: RecorderLimits) -> Self {
        Self { bounds, waiting: VecDeque::new(), sending: FuturesUnordered::new(), dropped: 0 }
    }

    /// Takes one in, if there is room.
    pub(crate) fn put(&mut self, note: Event) {
        match self.waiting.len() < self.bounds.waiting {
            true => self.waiting.push_back(note),
            false => self.dropped += 1,
        }
    }

    /// Starts writing events, as long as there is room.
    pub(crate) fn send(&mut self, api: &ApiClient, now: Mono, metrics: &ControllerMetrics) {
        while self.sending.len() < self.bounds.at_once {
            let Some(note) = self.waiting.pop_front() else { break };
            metrics.effects.began();
            let api = api.clone();
            self.sending.push(Box::pin(async move { (now, api.post_event(&note).await) }));
        }
    }

    /// The next event that was written, or was not; waits for ever while none is under way.
    pub(crate) async fn sent(&mut self) -> PublishResult {
        match self.sending.next().await {
            Some(sent) => sent,
            None => std::future::pending().await,
        }
    }

    /// Notes what became of one.
    pub(crate) fn was_sent(&self, (sent, result): PublishResult, clock: &Clock, metrics: &ControllerMetrics) {
        if let Err(refusal) = &result {
            tracing::debug!(err = %refusal.message, "event lost");
        }
        let outcome = result.map_err(|refusal| refusal.failure);
        metrics.effects.ended(Effect::Event, outcome, clock.now().mono.since(sent));
    }

    /// Waits for those under way.
    pub(crate) async fn finish(&mut self) {
        while self.sending.next().await.is_some() {}
    }

    /// Counts what was given up; with `all`, because the lead is lost or the process ends, gives up what waits.
    pub(crate) fn count_dropped(&mut self, all: bool, metrics: &ControllerMetrics) {
        if all {
            self.dropped += self.waiting.len() as u64;
            self.waiting.clear();
        }
        metrics.effects.events_dropped.inc_by(std::mem::take(&mut self.dropped));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::BuildInfo;
    use std::sync::Arc;
    use taintward_core::identity::{NodeName, Uid};
    use taintward_core::node_lifecycle::NodeRef;
    use taintward_core::time::Wall;

    #[test]
    fn what_finds_no_room_and_what_is_given_up_is_counted_once() {
        let about = BuildInfo {
            version: "",
            mode: "",
            lease: String::new(),
            started: Wall::from_secs(0),
            host: String::new(),
        };
        let metrics = ControllerMetrics::new(Arc::new(|| Mono::from_secs(0)), &about);
        let mut recorder = EventRecorder::new(RecorderLimits { waiting: 2, at_once: 1 });
        for name in ["a", "b", "c", "d", "e"] {
            let node = NodeRef { name: NodeName::new(name), uid: Uid::new(name) };
            recorder.put(Event::registered(&node, Wall::from_secs(1)));
        }
        assert_eq!(recorder.waiting.len(), 2);
        for (all, waiting, dropped) in [(false, 2, 3), (false, 2, 3), (true, 0, 5), (true, 0, 5)] {
            recorder.count_dropped(all, &metrics);
            assert_eq!((recorder.waiting.len(), metrics.effects.events_dropped.get()), (waiting, dropped));
        }
    }
}
