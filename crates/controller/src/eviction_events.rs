//! # Herald: events, after the fact and never in the way
//! Room:     a bounded queue of events to write, and the folding of what does not fit into one event per node.
//! Comes in: what happened to pods.
//! Goes out: event notes, when there is room for them.
//! Keeps:    evictions come first (TE-35: the original's events share its request budget): while pods go, events only
//!           trickle; nothing is kept beyond fixed bounds, nor beyond the lead of this process.
//! Not here: sending (`eviction.rs`), wording (`eviction_messages.rs`).

use std::collections::{BTreeMap, VecDeque};
use taintward_core::identity::{NodeName, PodName, Uid};
use taintward_core::time::{Mono, Span, Wall};
use taintward_kube::events::{Event, EventReporter, Regarding};

/// Events of single pods that wait at most. What comes on top is folded into one event per node.
const WAITING_MAX: usize = 1_000;

/// Nodes with folded events at most. What comes on top is dropped, and counted.
const FOLDED_MAX: usize = 1_000;

/// While pods go, at most one event in this time.
const TRICKLE: Span = Span::from_millis(200);

/// What happened to a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EvictionEventKind {
    /// It was deleted.
    Evicted,
    /// Its countdown ended without a deletion.
    Cancelled,
}

/// Events that wait.
#[derive(Debug, Default)]
pub(crate) struct EvictionEventRecorder {
    waiting: VecDeque<Event>,
    folded: BTreeMap<(NodeName, EvictionEventKind), AggregatedEvent>,
    trickled: Option<Mono>,
    dropped: u64,
}

#[derive(Debug)]
struct AggregatedEvent {
    pods: u32,
    last: PodName,
    at: Wall,
}

impl EvictionEventRecorder {
    /// Takes one story in; it is written, folded, or dropped and counted.
    pub(crate) fn tell(
        &mut self,
        story: EvictionEventKind,
        node: &NodeName,
        pod: (&PodName, &Uid),
        note: String,
        at: Wall,
    ) {
        if self.waiting.len() < WAITING_MAX {
            self.waiting.push_back(Event {
                reporter: EventReporter::EVICTION,
                regarding: Regarding::Pod(pod.0.clone(), pod.1.clone()),
                action: action(story).into(),
                note,
                warning: false,
                related: Some(node.clone()),
                at,
                count: 1,
            });
            return;
        }
        let known = self.folded.contains_key(&(node.clone(), story));
        if !known && self.folded.len() >= FOLDED_MAX {
            self.dropped += 1;
            return;
        }
        let folded = self.folded.entry((node.clone(), story));
        let folded = folded.or_insert_with(|| AggregatedEvent { pods: 0, last: pod.0.clone(), at });
        folded.pods = folded.pods.saturating_add(1);
        folded.last = pod.0.clone();
        folded.at = at;
    }

    /// The next event to write; `busy`: pods are going at this moment.
    pub(crate) fn next(&mut self, busy: bool, now: Mono) -> Option<Event> {
        if busy && self.trickled.is_some_and(|last| now < last.plus(TRICKLE)) {
            return None;
        }
        let note = self.waiting.pop_front().or_else(|| self.unfold())?;
        self.trickled = Some(now);
        Some(note)
    }

    fn unfold(&mut self) -> Option<Event> {
        let ((node, story), folded) = self.folded.pop_first()?;
        let words = match story {
            EvictionEventKind::Evicted => "Marking for deletion",
            EvictionEventKind::Cancelled => "Cancelling deletion of",
        };
        Some(Event {
            reporter: EventReporter::EVICTION,
            note: format!(
                "{words} {} more Pods of node {node}, Pod {} the last of them (combined from similar events)",
                folded.pods, folded.last
            ),
            // An event about a node carries the node's name as its UID, as kubelets write it: so describe finds it.
            regarding: Regarding::Node(node.clone(), Uid::new(node.as_str())),
            action: action(story).into(),
            warning: false,
            related: None,
            at: folded.at,
            count: folded.pods,
        })
    }

    /// Gives up all that waits, and counts it: nothing is written that whoever leads next may contradict, or that is
    /// old by then.
    pub(crate) fn clear(&mut self) {
        let folded: u64 = self.folded.values().map(|folded| u64::from(folded.pods)).sum();
        self.dropped += self.waiting.len() as u64 + folded;
        self.waiting.clear();
        self.folded.clear();
    }

    /// Whether anything waits.
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.folded.is_empty()
    }

    /// How many were given up since the last call.
    pub(crate) fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }
}

const fn action(story: EvictionEventKind) -> &'static str {
    match story {
        EvictionEventKind::Evicted => "Evict",
        EvictionEventKind::Cancelled => "CancelEviction",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(event_recorder: &mut EvictionEventRecorder, pods: usize, nodes: usize) {
        for at in 0..pods {
            let node = NodeName::new(&format!("n{:05}", at % nodes));
            let (name, uid) = (PodName::new("shop", &format!("p{at}")), Uid::new(&format!("u{at}")));
            event_recorder.tell(
                EvictionEventKind::Evicted,
                &node,
                (&name, &uid),
                "gone".into(),
                Wall::from_secs(1),
            );
        }
    }

    #[test]
    fn a_storm_is_folded_into_one_event_per_node_and_nothing_is_lost_of_the_count() {
        let mut event_recorder = EvictionEventRecorder::default();
        told(&mut event_recorder, 150_000, 500);
        let notes: Vec<_> = std::iter::from_fn(|| event_recorder.next(false, Mono::from_secs(1))).collect();
        assert_eq!(notes.len(), WAITING_MAX + 500);
        assert_eq!(notes.iter().map(|note| note.count).sum::<u32>(), 150_000);
        assert_eq!(event_recorder.take_dropped(), 0);
        assert!(event_recorder.is_idle());
    }

    #[test]
    fn beyond_all_bounds_events_are_dropped_and_counted() {
        let mut event_recorder = EvictionEventRecorder::default();
        told(&mut event_recorder, 5_000, 5_000);
        assert_eq!(event_recorder.take_dropped(), 5_000 - (WAITING_MAX + FOLDED_MAX) as u64);
    }

    #[test]
    fn what_is_given_up_counts_every_pod() {
        let mut event_recorder = EvictionEventRecorder::default();
        told(&mut event_recorder, 150_000, 500);
        event_recorder.clear();
        assert!(event_recorder.is_idle() && event_recorder.next(false, Mono::from_secs(1)).is_none());
        assert_eq!((event_recorder.take_dropped(), event_recorder.take_dropped()), (150_000, 0));
    }

    #[test]
    fn while_pods_go_events_only_trickle() {
        let mut event_recorder = EvictionEventRecorder::default();
        told(&mut event_recorder, 3, 1);
        let at = Mono::from_secs(5);
        assert!(event_recorder.next(true, at).is_some());
        assert!(event_recorder.next(true, at).is_none());
        assert!(event_recorder.next(true, at.plus(TRICKLE)).is_some());
        assert!(event_recorder.next(false, at.plus(TRICKLE)).is_some());
        assert!(event_recorder.next(false, at).is_none());
    }
}
