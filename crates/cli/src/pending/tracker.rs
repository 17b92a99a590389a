//! Tracks the pods with a deadline, and what changed since the last look.
//!
//! - Invariant: a pod deleted within a few seconds of its deadline was never overdue.

use super::{PendingRow, counting_toleration};
use crate::cluster_change::{ClusterChange, OVERDUE_AFTER};
use crate::eviction_delays::DueDelays;
use crate::live_verdicts::LiveVerdicts;
use std::collections::BTreeMap;
use taintward_core::engine::Engine as _;
use taintward_core::fact::NodeFact;
use taintward_core::identity::{NodeName, PodRef, Uid};
use taintward_core::object_event::ObjectEvent;
use taintward_core::time::{Mono, Now};
use taintward_core::toleration_matching::NumericOperators;
use taintward_core::verdict::{EvictionExemption, Outcome, StayReason};
use taintward_kube::decode::DecodedPod;

/// A row that was shown, and whether it was shown as overdue.
#[derive(Clone, Debug)]
struct TrackedPod {
    pod: PodRef,
    row: PendingRow,
    late: bool,
}

/// The verdicts, and the rows that were shown last.
pub(crate) struct PendingTracker {
    verdicts: LiveVerdicts,
    namespace: String,
    shown: BTreeMap<NodeName, BTreeMap<Uid, TrackedPod>>,
    delays: DueDelays,
}

impl PendingTracker {
    /// Tracks the pods of one namespace; all if empty.
    pub(crate) fn new(numeric: NumericOperators, namespace: &str) -> Self {
        let verdicts = LiveVerdicts::new(numeric);
        let (namespace, delays) = (namespace.to_owned(), DueDelays::default());
        Self { verdicts, namespace, shown: BTreeMap::new(), delays }
    }

    pub(crate) fn nodes(&mut self, batch: Vec<ObjectEvent<NodeFact>>, now: Now) {
        batch.into_iter().for_each(|event| self.verdicts.handle_node(event, now));
    }

    pub(crate) fn pods(&mut self, batch: Vec<ObjectEvent<DecodedPod>>, now: Now) {
        batch.into_iter().for_each(|event| self.verdicts.handle_pod(event, now));
    }

    /// What delays due pods was read again.
    pub(crate) fn set_delays(&mut self, delays: DueDelays, now: Now) {
        self.verdicts.set_forbidden_holds(delays.forbidden_holds(), now);
        self.delays = delays;
    }

    /// What delays due pods, as it was read last.
    pub(crate) const fn delays(&self) -> &DueDelays {
        &self.delays
    }

    /// Whether a pod is due or held, and the number of pods of the cluster.
    pub(crate) fn due_or_held(&self, now: Now) -> (bool, usize) {
        let mut rows = self.shown.values().flat_map(BTreeMap::values);
        let is_due = rows.any(|tracked| tracked.row.is_overdue(Now::of_wall(now.wall)));
        (is_due || self.verdicts.has_held_pods(), self.verdicts.engine().stats().pods)
    }

    /// Whether both lists were complete once; before, the verdicts are incomplete.
    pub(crate) fn is_synced(&self) -> bool {
        self.verdicts.engine().is_synced()
    }

    /// All rows as of the last call of [`Self::changes`], the next one due first.
    pub(crate) fn rows(&self) -> Vec<PendingRow> {
        let shown = self.shown.values().flat_map(BTreeMap::values);
        let mut rows: Vec<PendingRow> = shown.map(|tracked| tracked.row.clone()).collect();
        rows.sort_by(|a, b| a.order().cmp(&b.order()));
        rows
    }

    /// The changes since the last call, in the order of names.
    pub(crate) fn changes(&mut self, now: Now) -> Vec<(ClusterChange, PendingRow)> {
        self.verdicts.tick(now.mono);
        let mut changes = Vec::new();
        for node in self.verdicts.take_stale(self.shown.keys()) {
            self.judge(node, now, &mut changes);
        }
        for tracked in self.shown.values_mut().flat_map(BTreeMap::values_mut) {
            let delay =
                self.delays.of(&tracked.row.uid).filter(|_| tracked.row.is_overdue(Now::of_wall(now.wall)));
            let before = std::mem::replace(&mut tracked.row.delay, delay.cloned());
            if delay.is_some() {
                tracked.late = false;
                if before.map(|delay| delay.category) != delay.map(|delay| delay.category) {
                    changes.push((ClusterChange::Delayed, tracked.row.clone()));
                }
            } else if !tracked.late
                && tracked.row.evicted_at.plus(OVERDUE_AFTER) <= Now::of_wall(now.wall).mono
            {
                tracked.late = true;
                changes.push((ClusterChange::Overdue, tracked.row.clone()));
            }
        }
        changes.sort_by(|(_, a), (_, b)| (&a.namespace, &a.pod).cmp(&(&b.namespace, &b.pod)));
        changes
    }

    /// Adds the changes of a node's pods.
    fn judge(&mut self, node: NodeName, now: Now, changes: &mut Vec<(ClusterChange, PendingRow)>) {
        let before = self.shown.remove(&node).unwrap_or_default();
        let pods = self.verdicts.engine().pods_on(&node).filter_map(|pod| self.tracked(pod, now));
        let mut current: BTreeMap<Uid, TrackedPod> = pods.collect();
        for (uid, tracked) in &mut current {
            match before.get(uid) {
                None => changes.push((ClusterChange::CountingDown, tracked.row.clone())),
                Some(known) if !has_same_deadline(&known.row, &tracked.row) => {
                    changes.push((ClusterChange::Changed, tracked.row.clone()));
                }
                Some(known) => {
                    tracked.late = known.late;
                    tracked.row.delay.clone_from(&known.row.delay);
                }
            }
        }
        let left = before.into_iter().filter(|(uid, _)| !current.contains_key(uid));
        changes.extend(left.map(|(_, tracked)| (self.end(&tracked.pod, now), tracked.row)));
        if !current.is_empty() {
            self.shown.insert(node, current);
        }
    }

    /// Why a pod is no longer on the list.
    fn end(&self, pod: &PodRef, now: Now) -> ClusterChange {
        match self.verdicts.engine().explain(pod, now) {
            None => ClusterChange::Deleted,
            Some((_, verdict, _)) => match verdict.outcome {
                Outcome::Stays(StayReason::Exempt(EvictionExemption::Terminating)) => ClusterChange::Deleted,
                Outcome::Stays(StayReason::Exempt(EvictionExemption::Finished)) => ClusterChange::Finished,
                _ => ClusterChange::Cancelled,
            },
        }
    }

    /// `None` for a pod that stays.
    fn tracked(&self, pod: PodRef, now: Now) -> Option<(Uid, TrackedPod)> {
        let (name, verdict, taints) = self.verdicts.engine().explain(&pod, now)?;
        if !self.namespace.is_empty() && name.namespace() != self.namespace {
            return None;
        }
        let (Outcome::StaysUntil(until) | Outcome::Leaves { due: until }) = verdict.outcome else {
            return None;
        };
        let decisive = verdict.decisive?;
        let reason = &verdict.reasons[decisive];
        let at = |moment| Mono::from_micros(now.wall_of(moment).as_micros());
        // The engine has neither the pod's owner nor the text of its tolerations.
        let row = PendingRow {
            delay: None,
            namespace: name.namespace().to_owned(),
            pod: name.name().to_owned(),
            uid: pod.uid.to_string(),
            node: pod.node.to_string(),
            evicted_at: to_second(at(until)),
            ceiling_at: None,
            taint: taints[decisive].taint.to_string(),
            toleration: counting_toleration(reason),
            written: None,
            countdown_started_at: to_second(at(reason.counts_from)),
            workload: None,
            disruption_target: None,
        };
        Some((pod.uid.clone(), TrackedPod { pod, row, late: false }))
    }
}

/// Whether both rows have the same deadline and the same taint.
fn has_same_deadline(one: &PendingRow, other: &PendingRow) -> bool {
    (one.evicted_at, &one.taint) == (other.evicted_at, &other.taint)
}

/// Whether two deadlines are equal, apart from the small differences between the two clocks.
fn to_second(at: Mono) -> Mono {
    const SECOND: i64 = 1_000_000;
    Mono::from_micros(at.as_micros().saturating_add(SECOND / 2).div_euclid(SECOND).saturating_mul(SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use taintward_core::taint::keys::UNREACHABLE;
    use taintward_core::time::{Span, Wall};
    use taintward_kube::decode::{Decoded, WatchedObject};
    use taintward_kube::hold_request::HOLD;
    use testkit::{ObjectExt as _, node, pod, taint, toleration, toleration_row};

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

    fn listed<F>(fact: F) -> Vec<ObjectEvent<F>> {
        vec![
            ObjectEvent::ListStarted { silent_since: None },
            ObjectEvent::Applied { fact, listed: true },
            ObjectEvent::ListCompleted,
        ]
    }

    fn node_with(taint: Option<Value>) -> NodeFact {
        fact(&node("n").uid("n").tainted(taint))
    }

    /// The taint that the pod tolerates for 20 seconds.
    fn tolerated() -> Option<Value> {
        Some(taint("k").with("timeAdded", "2026-01-01T00:00:00Z"))
    }

    fn shop_pod(toleration: Value) -> Value {
        let pod = pod("p").namespace("shop").uid("u").on("n").tolerates([toleration]);
        pod.with("metadata.creationTimestamp", "2025-12-31T00:00:00Z")
    }

    fn pod_with(marked: bool, finished: bool) -> DecodedPod {
        let mark = json!({"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"});
        let conditions: Vec<Value> = marked.then_some(mark).into_iter().collect();
        let phase = if finished { "Failed" } else { "Running" };
        let pod = shop_pod(toleration("k", Some(20)));
        fact(&pod.with("status.phase", phase).with("status.conditions", conditions))
    }

    /// A tracker with one node and one pod that counts down, which it has reported.
    fn counting() -> PendingTracker {
        let mut tracker = PendingTracker::new(NumericOperators::Off, "");
        tracker.nodes(listed(node_with(tolerated())), after(0.0));
        tracker.pods(listed(pod_with(false, false)), after(0.0));
        assert!(tracker.is_synced());
        assert_eq!(events(&mut tracker, 0.1), ["CountingDown"]);
        tracker
    }

    fn events(tracker: &mut PendingTracker, seconds: f64) -> Vec<&'static str> {
        tracker.changes(after(seconds)).into_iter().map(|(event, _)| event.as_str()).collect()
    }

    fn apply(tracker: &mut PendingTracker, pod: DecodedPod, seconds: f64) {
        tracker.pods(vec![ObjectEvent::Applied { fact: pod, listed: false }], after(seconds));
    }

    fn delete(tracker: &mut PendingTracker, seconds: f64) {
        let identity = pod_with(true, false).identity();
        tracker.pods(vec![ObjectEvent::Deleted(identity.into())], after(seconds));
    }

    #[test]
    fn a_pod_marked_by_a_fast_clock_counts_until_it_is_gone() {
        let mut tracker = counting();
        apply(&mut tracker, pod_with(true, false), 19.9);
        assert_eq!(events(&mut tracker, 19.95), [""; 0], "marked is not cancelled");
        assert_eq!(tracker.rows().len(), 1);
        delete(&mut tracker, 19.97);
        assert_eq!(events(&mut tracker, 19.98), ["Deleted"]);
    }

    #[test]
    fn a_marked_pod_that_is_not_deleted_becomes_overdue_and_can_still_stay() {
        let mut tracker = counting();
        apply(&mut tracker, pod_with(true, false), 19.9);
        assert_eq!(events(&mut tracker, 24.0), [""; 0]);
        assert_eq!(events(&mut tracker, 26.0), ["Overdue"]);
        assert_eq!(events(&mut tracker, 90.0), [""; 0], "once");
        tracker.nodes(vec![ObjectEvent::Applied { fact: node_with(None), listed: false }], after(91.0));
        assert_eq!(events(&mut tracker, 91.0), ["Cancelled"]);
    }

    #[test]
    fn the_end_of_a_countdown_has_a_reason() {
        let mut tracker = counting();
        apply(&mut tracker, pod_with(false, true), 10.0);
        assert_eq!(events(&mut tracker, 10.0), ["Finished"]);
        let mut tracker = counting();
        delete(&mut tracker, 25.0);
        assert_eq!(events(&mut tracker, 25.0), ["Deleted"], "never overdue: it was gone when this was asked");
        let mut tracker = counting();
        tracker.nodes(vec![ObjectEvent::Applied { fact: node_with(None), listed: false }], after(5.0));
        assert_eq!(events(&mut tracker, 5.0), ["Cancelled"]);
        tracker.nodes(vec![ObjectEvent::Applied { fact: node_with(tolerated()), listed: false }], after(6.0));
        assert_eq!(events(&mut tracker, 6.0), ["CountingDown"]);
    }

    #[test]
    fn a_hold_that_a_policy_forbids_does_not_count() {
        let mut tracker = PendingTracker::new(NumericOperators::Off, "");
        tracker.nodes(listed(node_with(tolerated())), after(10.0));
        let hold = r#"{"action":"hold","since":"2026-01-01T00:00:05Z","until":"2026-01-01T00:01:05Z"}"#;
        let held = shop_pod(toleration("k", Some(20))).with("metadata.annotations", json!({HOLD: hold}));
        tracker.pods(listed(fact(&held)), after(10.0));
        assert_eq!(events(&mut tracker, 10.0), ["CountingDown"]);
        let deadline =
            |tracker: &PendingTracker| tracker.rows()[0].evicted_at.as_micros() / 1_000_000 - 1_767_225_600;
        assert!(tracker.due_or_held(after(10.0)).0);
        assert_eq!(deadline(&tracker), 80);
        let forbidden = DueDelays::with_forbidden_holds("u");
        tracker.set_delays(forbidden.clone(), after(11.0));
        assert_eq!(events(&mut tracker, 11.0), ["Changed"]);
        assert_eq!(deadline(&tracker), 20);
        tracker.pods(vec![ObjectEvent::Applied { fact: fact(&held), listed: false }], after(11.5));
        assert_eq!(events(&mut tracker, 11.5), [""; 0]);
        tracker.set_delays(DueDelays::default(), after(12.0));
        assert_eq!(events(&mut tracker, 12.0), ["Changed"]);
        assert_eq!(deadline(&tracker), 80);
        delete(&mut tracker, 13.0);
        assert_eq!(events(&mut tracker, 13.0), ["Deleted"]);
        tracker.set_delays(forbidden, after(14.0));
        assert_eq!(events(&mut tracker, 14.0), [""; 0], "a deleted pod does not come back");
        assert!(!tracker.due_or_held(after(14.0)).0);
    }

    /// It got 20 seconds back, 5 seconds after its countdown began.
    #[test]
    fn a_released_pod_counts_from_its_release_and_a_guarded_one_by_its_own_seconds() {
        let deadline = |annotation: &str, value: &str, seconds: i64| {
            let mut tracker = PendingTracker::new(NumericOperators::Off, "");
            let silent = taint(UNREACHABLE).with("timeAdded", "2026-01-01T00:00:00Z");
            tracker.nodes(listed(node_with(Some(silent))), after(10.0));
            let pod = shop_pod(toleration_row(&format!("{UNREACHABLE} Exists - - {seconds}")));
            let pod = fact(&pod.with("metadata.annotations", json!({annotation: value})));
            tracker.pods(listed(pod), after(10.0));
            tracker.changes(after(10.0));
            let at = tracker.rows()[0].evicted_at;
            at.as_micros() / 1_000_000 - 1_767_225_600
        };
        let held = |given: &str| {
            format!(
                r#"{{"key":"node.kubernetes.io/unreachable","operator":"Exists","tolerationSeconds":20,"given":{given}}}"#
            )
        };
        let released = format!(
            r#"{{"changed":"2026-01-01T00:00:05.000000Z","ranMicroseconds":0,"countedSince":"2026-01-01T00:00:00.000000Z",
               "held":[{}]}}"#,
            held("20")
        );
        assert_eq!(deadline("taintward.io/held", &released, 20), 25);
        assert_eq!(
            deadline("taintward.io/held", &released, 19),
            19,
            "its author gave it other seconds since"
        );
        let guarded = format!(r#"{{"guarded":[{}]}}"#, held("3600"));
        assert_eq!(deadline("taintward.io/guard", &guarded, 3_600), 20);
        assert_eq!(deadline("example.com/none", "", 3_600), 3_600);
    }
}
