//! Tracks the pods that leave with an eviction engine that receives all watch events and is never pulled.
//!
//! - Invariant: a pod deleted within a few seconds of its deadline was never overdue.

use super::row::{PendingRow, toleration};
use std::collections::BTreeMap;
use taintward_core::engine::Engine;
use taintward_core::eviction::{EvictionConfig, EvictionEngine, EvictionInput};
use taintward_core::fact::{NodeFact, PodFact};
use taintward_core::identity::PodRef;
use taintward_core::identity::Uid;
use taintward_core::time::{Mono, Now, Span};
use taintward_core::toleration_matching::NumericOperators;
use taintward_core::verdict::{EvictionExemption, Outcome, StayReason};
use taintward_kube::watch::WatchEvent;

/// How late a pod is before that is news: those who evict need a moment.
const LATE: Span = Span::from_secs(5);

/// What has happened to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PendingEvent {
    /// It has a deadline now.
    Counting,
    /// Another deadline, or another taint.
    Changed,
    /// Its deadline is over, and it is there.
    Overdue,
    /// It stays after all.
    Cancelled,
    /// It is gone, or being deleted.
    Gone,
}

impl PendingEvent {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Counting => "Counting",
            Self::Changed => "Changed",
            Self::Overdue => "Overdue",
            Self::Cancelled => "Cancelled",
            Self::Gone => "Gone",
        }
    }
}

/// A row that was told, and whether it was told to be late.
#[derive(Clone, Debug)]
struct TrackedPod {
    pod: PodRef,
    row: PendingRow,
    late: bool,
}

/// The engine, and what was told.
pub(super) struct PendingTracker {
    engine: EvictionEngine,
    namespace: String,
    told: BTreeMap<Uid, TrackedPod>,
}

impl PendingTracker {
    /// For the pods of one namespace; all if empty.
    pub(super) fn new(numeric: NumericOperators, namespace: &str) -> Self {
        let engine = EvictionEngine::new(EvictionConfig { numeric, ..EvictionConfig::default() });
        Self { engine, namespace: namespace.to_owned(), told: BTreeMap::new() }
    }

    pub(super) fn nodes(&mut self, batch: Vec<WatchEvent<NodeFact>>, now: Now) {
        let events = batch.into_iter().filter_map(|event| event.into_object_event(now.mono));
        events.for_each(|event| self.engine.handle(EvictionInput::Nodes(event), now));
    }

    pub(super) fn pods(&mut self, batch: Vec<WatchEvent<PodFact>>, now: Now) {
        let events = batch.into_iter().filter_map(|event| event.into_object_event(now.mono));
        events.for_each(|event| self.engine.handle(EvictionInput::Pods(event), now));
    }

    /// Whether both lists were complete once: before, nobody is known to leave or to stay.
    pub(super) fn is_synced(&self) -> bool {
        self.engine.is_synced()
    }

    /// All rows, who is due next first.
    pub(super) fn rows(&mut self, now: Now) -> Vec<PendingRow> {
        let mut rows: Vec<PendingRow> = self.current(now).into_values().map(|told| told.row).collect();
        rows.sort_by(|a, b| a.order().cmp(&b.order()));
        rows
    }

    /// What has changed since this was last asked, in the order of names.
    pub(super) fn changes(&mut self, now: Now) -> Vec<(PendingEvent, PendingRow)> {
        let mut current = self.current(now);
        let before = std::mem::take(&mut self.told);
        let mut changes = Vec::new();
        for (uid, told) in &mut current {
            let late = told.row.at.plus(LATE) <= calendar(now).mono;
            match before.get(uid) {
                None => changes.push((PendingEvent::Counting, told.row.clone())),
                Some(known) if (known.row.at, &known.row.taint) != (told.row.at, &told.row.taint) => {
                    changes.push((PendingEvent::Changed, told.row.clone()));
                }
                Some(known) => told.late = known.late,
            }
            if late && !told.late {
                told.late = true;
                changes.push((PendingEvent::Overdue, told.row.clone()));
            }
        }
        let left = before.into_iter().filter(|(uid, _)| !current.contains_key(uid));
        changes.extend(left.map(|(_, told)| (self.end(&told.pod, now), told.row)));
        changes.sort_by(|(_, a), (_, b)| (&a.namespace, &a.pod).cmp(&(&b.namespace, &b.pod)));
        self.told = current;
        changes
    }

    /// Why a pod is no longer on the list.
    fn end(&self, pod: &PodRef, now: Now) -> PendingEvent {
        match self.engine.explain(pod, now) {
            None => PendingEvent::Gone,
            Some((_, verdict, _)) => match verdict.outcome {
                Outcome::Stays(StayReason::Exempt(
                    EvictionExemption::Terminating | EvictionExemption::Finished,
                )) => PendingEvent::Gone,
                _ => PendingEvent::Cancelled,
            },
        }
    }

    fn current(&mut self, now: Now) -> BTreeMap<Uid, TrackedPod> {
        self.engine.tick(now.mono);
        // Nobody reads them here.
        drop(self.engine.take_notices());
        self.engine.pods_with_eviction_state().filter_map(|pod| self.told(pod, now)).collect()
    }

    /// Nothing of a pod that stays.
    fn told(&self, pod: PodRef, now: Now) -> Option<(Uid, TrackedPod)> {
        let (name, verdict, taints) = self.engine.explain(&pod, now)?;
        if !self.namespace.is_empty() && name.namespace() != self.namespace {
            return None;
        }
        let (Outcome::StaysUntil(until) | Outcome::Leaves { due: until }) = verdict.outcome else {
            return None;
        };
        let decisive = verdict.decisive?;
        let reason = &verdict.reasons[decisive];
        let at = |moment| Mono::from_micros(now.wall_of(moment).as_micros());
        let row = PendingRow {
            namespace: name.namespace().to_owned(),
            pod: name.name().to_owned(),
            uid: pod.uid.to_string(),
            node: pod.node.to_string(),
            at: to_second(at(until)),
            taint: taints[decisive].taint.to_string(),
            toleration: toleration(reason),
            written: None,
            since: to_second(at(reason.counts_from)),
            workload: None,
            marked: None,
        };
        Some((pod.uid.clone(), TrackedPod { pod, row, late: false }))
    }
}

/// Both clocks wander a little against each other: a deadline that stays is shown as the same.
fn to_second(at: Mono) -> Mono {
    const SECOND: i64 = 1_000_000;
    Mono::from_micros(at.as_micros().saturating_add(SECOND / 2).div_euclid(SECOND).saturating_mul(SECOND))
}

/// The same moment, with the calendar in the place of the clock for waiting: what rows are compared with.
pub(super) const fn calendar(now: Now) -> Now {
    Now::exact(Mono::from_micros(now.wall.as_micros()), now.wall)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use taintward_core::time::Wall;
    use taintward_kube::decode::{Decoded, WatchedObject};

    /// This many seconds after the taint.
    fn after(seconds: f64) -> Now {
        #[allow(clippy::cast_possible_truncation, reason = "tenths of seconds")]
        let micros = (seconds * 1e6) as i64;
        let wall = Wall::from_micros(1_767_225_600_000_000).plus(Span::from_micros(micros));
        Now::exact(Mono::from_micros(micros), wall)
    }

    fn fact<F: WatchedObject>(object: &Value) -> F {
        let Decoded::Object(fact) = F::from_json(object.to_string().as_bytes()) else { panic!("{object}") };
        fact
    }

    fn listed<F>(fact: F) -> Vec<WatchEvent<F>> {
        vec![
            WatchEvent::ListStarted { silent_for: None },
            WatchEvent::Applied { fact, listed: true },
            WatchEvent::ListCompleted,
        ]
    }

    fn node(effect: Option<&str>) -> NodeFact {
        let taint =
            effect.map(|effect| json!({"key": "k", "effect": effect, "timeAdded": "2026-01-01T00:00:00Z"}));
        let taints: Vec<Value> = taint.into_iter().collect();
        fact(
            &json!({"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n", "uid": "n"}, "spec": {"taints": taints}}),
        )
    }

    /// It tolerates the taint for 20 seconds.
    fn pod(marked: bool, finished: bool) -> PodFact {
        let mark = json!({"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"});
        let conditions: Vec<Value> = marked.then_some(mark).into_iter().collect();
        fact(&json!({
            "kind": "Pod", "apiVersion": "v1",
            "metadata": {"name": "p", "namespace": "shop", "uid": "u", "creationTimestamp": "2025-12-31T00:00:00Z"},
            "spec": {"nodeName": "n", "tolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": 20}]},
            "status": {"phase": if finished { "Failed" } else { "Running" }, "conditions": conditions},
        }))
    }

    /// A ledger that knows one node and one pod that counts down, and has told of it.
    fn counting() -> PendingTracker {
        let mut ledger = PendingTracker::new(NumericOperators::Off, "");
        ledger.nodes(listed(node(Some("NoExecute"))), after(0.0));
        ledger.pods(listed(pod(false, false)), after(0.0));
        assert!(ledger.is_synced());
        assert_eq!(told(&mut ledger, 0.1), ["Counting"]);
        ledger
    }

    fn told(ledger: &mut PendingTracker, seconds: f64) -> Vec<&'static str> {
        ledger.changes(after(seconds)).into_iter().map(|(event, _)| event.as_str()).collect()
    }

    fn seen(ledger: &mut PendingTracker, pod: PodFact, seconds: f64) {
        ledger.pods(vec![WatchEvent::Applied { fact: pod, listed: false }], after(seconds));
    }

    fn gone(ledger: &mut PendingTracker, seconds: f64) {
        let identity = pod(true, false).identity();
        ledger.pods(vec![WatchEvent::Deleted { uid: Uid::new("u"), identity }], after(seconds));
    }

    #[test]
    fn a_pod_marked_by_a_clock_ahead_of_ours_counts_until_it_is_gone() {
        let mut ledger = counting();
        seen(&mut ledger, pod(true, false), 19.9);
        assert_eq!(told(&mut ledger, 19.95), [""; 0], "marked is not cancelled");
        assert_eq!(ledger.rows(after(19.95)).len(), 1);
        gone(&mut ledger, 19.97);
        assert_eq!(told(&mut ledger, 19.98), ["Gone"]);
    }

    #[test]
    fn a_marked_pod_that_nobody_deletes_is_overdue_and_may_yet_stay() {
        let mut ledger = counting();
        seen(&mut ledger, pod(true, false), 19.9);
        assert_eq!(told(&mut ledger, 24.0), [""; 0]);
        assert_eq!(told(&mut ledger, 26.0), ["Overdue"]);
        assert_eq!(told(&mut ledger, 90.0), [""; 0], "once");
        ledger.nodes(vec![WatchEvent::Applied { fact: node(None), listed: false }], after(91.0));
        assert_eq!(told(&mut ledger, 91.0), ["Cancelled"]);
    }

    #[test]
    fn what_ends_a_countdown_is_told_apart() {
        let mut ledger = counting();
        seen(&mut ledger, pod(false, true), 10.0);
        assert_eq!(told(&mut ledger, 10.0), ["Gone"], "finished");
        let mut ledger = counting();
        gone(&mut ledger, 25.0);
        assert_eq!(told(&mut ledger, 25.0), ["Gone"], "never overdue: it was gone when this was asked");
        let mut ledger = counting();
        ledger.nodes(vec![WatchEvent::Applied { fact: node(None), listed: false }], after(5.0));
        assert_eq!(told(&mut ledger, 5.0), ["Cancelled"]);
        ledger.nodes(vec![WatchEvent::Applied { fact: node(Some("NoExecute")), listed: false }], after(6.0));
        assert_eq!(told(&mut ledger, 6.0), ["Counting"]);
    }
}
