//! Records Kubernetes events: a bounded queue, and the few events that are being written.
//!
//! - Invariant: no event is kept beyond fixed bounds, or after this process has lost the lease; dropped events are
//!   counted.
//! - Invariant: effects come first (TE-35: upstream's events share its request budget). While pods are evicted,
//!   events of evictions only trickle.

use crate::controller_context::ControllerContext;
use crate::metrics::{ControllerMetrics, Effect};
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use std::collections::{BTreeMap, VecDeque};
use taintward_core::identity::{NodeName, PodName, Uid};
use taintward_core::time::{Mono, Span, Wall};
use taintward_kube::api::RequestError;
use taintward_kube::events::{Event, EventReporter, Regarding};

/// The largest number of nodes with aggregated events. Events of further nodes are dropped and counted.
const AGGREGATED_MAX: usize = 1_000;

/// Limits of a recorder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecorderLimits {
    /// The largest number of waiting events.
    pub(crate) waiting: usize,
    /// The largest number of events that are written concurrently.
    pub(crate) in_flight: usize,
    /// The minimum interval between events while the controller is busy.
    pub(crate) trickle: Option<Span>,
}

/// An event about a pod of a node, of a kind that may occur thousands of times.
pub(crate) struct PodEvent {
    pub(crate) node: NodeName,
    pub(crate) pod: PodName,
    pub(crate) uid: Uid,
    pub(crate) action: &'static str,
    pub(crate) note: String,
    /// The start of the note about several pods.
    pub(crate) aggregated_note: &'static str,
    pub(crate) at: Wall,
}

/// When an event was sent, and the result.
pub(crate) type PublishResult = (Mono, Result<(), RequestError>);

/// Holds events that wait, and those being written.
pub(crate) struct EventRecorder {
    limits: RecorderLimits,
    waiting: VecDeque<Event>,
    /// By node and action.
    aggregated: BTreeMap<(NodeName, &'static str), AggregatedEvent>,
    trickled: Option<Mono>,
    in_flight: FuturesUnordered<BoxFuture<'static, PublishResult>>,
    dropped: u64,
}

struct AggregatedEvent {
    pods: u32,
    last: PodName,
    note: &'static str,
    at: Wall,
}

impl EventRecorder {
    pub(crate) fn new(limits: RecorderLimits) -> Self {
        Self {
            limits,
            waiting: VecDeque::new(),
            aggregated: BTreeMap::new(),
            trickled: None,
            in_flight: FuturesUnordered::new(),
            dropped: 0,
        }
    }

    /// Adds an event if there is room.
    pub(crate) fn record(&mut self, event: Event) {
        match self.waiting.len() < self.limits.waiting {
            true => self.waiting.push_back(event),
            false => self.dropped += 1,
        }
    }

    /// Adds an event about a pod. Without room, it is aggregated into one event about the node.
    pub(crate) fn record_pod(&mut self, event: PodEvent) {
        let PodEvent { node, pod, uid, action, note, aggregated_note, at } = event;
        if self.waiting.len() < self.limits.waiting {
            return self.waiting.push_back(Event {
                reporter: EventReporter::EVICTION,
                regarding: Regarding::Pod(pod, uid),
                action: action.into(),
                note,
                warning: false,
                related: Some(node),
                at,
                count: 1,
            });
        }
        let is_full = self.aggregated.len() >= AGGREGATED_MAX;
        let key = (node, action);
        if is_full && !self.aggregated.contains_key(&key) {
            self.dropped += 1;
            return;
        }
        let first = || AggregatedEvent { pods: 0, last: pod.clone(), note: aggregated_note, at };
        let aggregated = self.aggregated.entry(key).or_insert_with(first);
        aggregated.pods = aggregated.pods.saturating_add(1);
        (aggregated.last, aggregated.at) = (pod, at);
    }

    /// Starts writing events as long as there is room. `is_busy`: effects are in flight or waiting.
    pub(crate) fn send(&mut self, context: &ControllerContext, is_busy: bool, now: Mono) {
        while self.in_flight.len() < self.limits.in_flight {
            let Some(event) = self.next(is_busy, now) else { break };
            context.metrics.effects.began();
            let api = context.api.clone();
            self.in_flight.push(Box::pin(async move { (now, api.post_event(&event).await) }));
        }
    }

    fn next(&mut self, is_busy: bool, now: Mono) -> Option<Event> {
        let waits = |pause: Span| self.trickled.is_some_and(|last| now < last.plus(pause));
        if is_busy && self.limits.trickle.is_some_and(waits) {
            return None;
        }
        let event = self.waiting.pop_front().or_else(|| self.next_aggregated())?;
        self.trickled = Some(now);
        Some(event)
    }

    fn next_aggregated(&mut self) -> Option<Event> {
        let ((node, action), AggregatedEvent { pods, last, note, at }) = self.aggregated.pop_first()?;
        Some(Event {
            reporter: EventReporter::EVICTION,
            note: format!(
                "{note} {pods} more Pods of node {node}, Pod {last} the last of them (combined from similar events)"
            ),
            // As in kubelets' events, the UID of the node is its name, by which `kubectl describe` finds them.
            regarding: Regarding::Node(node.clone(), Uid::new(node.as_str())),
            action: action.into(),
            warning: false,
            related: None,
            at,
            count: pods,
        })
    }

    /// When the next trickling event is due. Other events wait for one that is being written.
    pub(crate) fn next_wakeup(&self, now: Mono) -> Option<Mono> {
        self.limits.trickle.filter(|_| !self.is_idle()).map(|pause| now.plus(pause))
    }

    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.aggregated.is_empty()
    }

    /// The next event whose write has ended; never returns while none is being written.
    pub(crate) async fn published(&mut self) -> PublishResult {
        match self.in_flight.next().await {
            Some(result) => result,
            None => std::future::pending().await,
        }
    }

    /// Counts an event whose write has ended.
    pub(crate) fn on_published(&self, (sent, result): PublishResult, context: &ControllerContext) {
        if let Err(error) = &result {
            tracing::debug!(err = %error.message, "event lost");
        }
        let outcome = result.map_err(|error| error.failure);
        context.metrics.effects.ended(Effect::Event, outcome, context.clock.now().mono.since(sent));
    }

    /// Waits for the events being written.
    pub(crate) async fn drain(&mut self, context: &ControllerContext) {
        while let Some(result) = self.in_flight.next().await {
            self.on_published(result, context);
        }
    }

    /// Counts dropped events. With `all`, because the lease is lost or the process is ending, drops the waiting ones
    /// too: they could contradict the next leader, or be outdated.
    pub(crate) fn count_dropped(&mut self, all: bool, metrics: &ControllerMetrics) {
        if all {
            let aggregated: u64 = self.aggregated.values().map(|event| u64::from(event.pods)).sum();
            self.dropped += self.waiting.len() as u64 + aggregated;
            self.waiting.clear();
            self.aggregated.clear();
        }
        metrics.effects.events_dropped.inc_by(std::mem::take(&mut self.dropped));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eviction::tests::metrics;
    use taintward_core::node_lifecycle::NodeRef;
    use taintward_kube::clock::Clock;

    const TRICKLE: Span = Span::from_millis(200);
    const WAITING_MAX: usize = 1_000;

    fn of_evictions() -> EventRecorder {
        EventRecorder::new(RecorderLimits { waiting: WAITING_MAX, in_flight: 4, trickle: Some(TRICKLE) })
    }

    fn evict(recorder: &mut EventRecorder, pods: usize, nodes: usize) {
        for at in 0..pods {
            recorder.record_pod(PodEvent {
                node: NodeName::new(&format!("n{:05}", at % nodes)),
                pod: PodName::new("shop", &format!("p{at}")),
                uid: Uid::new(&format!("u{at}")),
                action: "Evict",
                note: "gone".into(),
                aggregated_note: "Marking for deletion",
                at: Wall::from_secs(1),
            });
        }
    }

    /// The number of dropped events after `count_dropped`.
    fn dropped(recorder: &mut EventRecorder, all: bool, metrics: &ControllerMetrics) -> u64 {
        recorder.count_dropped(all, metrics);
        metrics.effects.events_dropped.get()
    }

    #[tokio::test(start_paused = true)]
    async fn what_finds_no_room_and_what_is_given_up_is_counted_once() {
        let metrics = metrics(&Clock::of_runtime(Wall::from_secs(0)));
        let mut recorder = EventRecorder::new(RecorderLimits { waiting: 2, in_flight: 1, trickle: None });
        for name in ["a", "b", "c", "d", "e"] {
            let node = NodeRef { name: NodeName::new(name), uid: Uid::new(name) };
            recorder.record(Event::registered(&node, Wall::from_secs(1)));
        }
        assert_eq!(recorder.waiting.len(), 2);
        for (all, waiting, count) in [(false, 2, 3), (false, 2, 3), (true, 0, 5), (true, 0, 5)] {
            assert_eq!((dropped(&mut recorder, all, &metrics), recorder.waiting.len()), (count, waiting));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_storm_is_aggregated_into_one_event_per_node_and_nothing_is_lost_of_the_count() {
        let metrics = metrics(&Clock::of_runtime(Wall::from_secs(0)));
        let mut recorder = of_evictions();
        evict(&mut recorder, 150_000, 500);
        let events: Vec<_> = std::iter::from_fn(|| recorder.next(false, Mono::from_secs(1))).collect();
        assert_eq!(events.len(), WAITING_MAX + 500);
        assert_eq!(events.iter().map(|event| event.count).sum::<u32>(), 150_000);
        assert_eq!(dropped(&mut recorder, false, &metrics), 0);
        assert!(recorder.is_idle());
    }

    #[tokio::test(start_paused = true)]
    async fn beyond_all_bounds_events_are_dropped_and_counted() {
        let metrics = metrics(&Clock::of_runtime(Wall::from_secs(0)));
        let mut recorder = of_evictions();
        evict(&mut recorder, 5_000, 5_000);
        assert_eq!(dropped(&mut recorder, false, &metrics), 5_000 - (WAITING_MAX + AGGREGATED_MAX) as u64);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_given_up_counts_every_pod() {
        let metrics = metrics(&Clock::of_runtime(Wall::from_secs(0)));
        let mut recorder = of_evictions();
        evict(&mut recorder, 150_000, 500);
        assert_eq!(dropped(&mut recorder, true, &metrics), 150_000);
        assert!(recorder.is_idle() && recorder.next(false, Mono::from_secs(1)).is_none());
        assert_eq!(dropped(&mut recorder, true, &metrics), 150_000);
    }

    #[test]
    fn while_pods_go_events_only_trickle() {
        let mut recorder = of_evictions();
        evict(&mut recorder, 3, 1);
        let at = Mono::from_secs(5);
        assert!(recorder.next(true, at).is_some());
        assert!(recorder.next(true, at).is_none());
        assert!(recorder.next(true, at.plus(TRICKLE)).is_some());
        assert!(recorder.next(false, at.plus(TRICKLE)).is_some());
        assert!(recorder.next(false, at).is_none());
    }
}
