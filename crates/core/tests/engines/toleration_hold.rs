//! Tests holds and releases against a model of kube-controller-manager's own taint eviction.
//!
//! kube-controller-manager may observe a change of the pod immediately or seconds later, either side may crash, the
//! node may become silent and recover, holds may begin and end. In each history no pod is evicted before its own
//! seconds, none stays without a limit, and nothing is left once the node has recovered.

mod backfill;
mod engine;
mod harness;
mod limits;
mod original;
mod policies;
mod records;
mod reordered;
mod requests;
mod script;
mod unrecorded;

use crate::cases::cases;
use original::OriginalController;
use proptest::prelude::*;
use taintward_core::testkit::node_health_tolerations;
use taintward_core::time::Wall;
use taintward_core::toleration::Toleration;
use taintward_core::toleration_hold::{
    HoldIntent, HoldOrder, HoldOrigin, HoldRecord, HoldStep, REMAINDER_MIN, ReleaseMode, next_step,
};

/// A pod's own seconds: more than the minimum that a release gives.
const OWN: i64 = 60;
/// Its hold ends by itself after this.
const HOLD_FOR: i64 = 90;
/// kube-controller-manager observes a change of the pod within this many seconds: fewer than the pause between two
/// writes.
const LAG_MAX: i64 = 4;

#[derive(Clone, Copy, Debug)]
enum HoldEvent {
    NodeFallsSilent,
    NodeRecovers,
    PersonHolds,
    LimitHolds,
    Released(ReleaseMode),
    OriginalRestarts,
    OriginalIsLate,
    NothingHappens,
}

fn event() -> impl Strategy<Value = (HoldEvent, i64)> {
    let kind = prop_oneof![
        4 => Just(HoldEvent::NodeFallsSilent),
        4 => Just(HoldEvent::NodeRecovers),
        2 => Just(HoldEvent::PersonHolds),
        2 => Just(HoldEvent::LimitHolds),
        2 => Just(HoldEvent::Released(ReleaseMode::Remainder)),
        1 => Just(HoldEvent::Released(ReleaseMode::Full)),
        1 => Just(HoldEvent::OriginalRestarts),
        4 => Just(HoldEvent::OriginalIsLate),
        2 => Just(HoldEvent::NothingHappens),
    ];
    (kind, prop_oneof![4 => 0_i64..6, 1 => 6_i64..60])
}

/// Histories that start with a release, and others: what may go wrong then takes too many steps to be found by chance.
fn events() -> impl Strategy<Value = Vec<(HoldEvent, i64)>> {
    let released = vec![
        (HoldEvent::NodeFallsSilent, OWN - 10),
        (HoldEvent::PersonHolds, 6),
        (HoldEvent::Released(ReleaseMode::Remainder), 2),
    ];
    let beginning = prop_oneof![Just(Vec::new()), Just(released)];
    let rest = prop::collection::vec(event(), 1..20);
    (beginning, rest).prop_map(|(beginning, rest)| [beginning, rest].concat())
}

fn at(second: i64) -> Wall {
    Wall::from_secs(1_800_000_000 + second)
}

struct HoldTimeline {
    now: i64,
    tolerations: Vec<Toleration>,
    record: Option<HoldRecord>,
    silent_since: Option<i64>,
    intent: HoldIntent,
    original: OriginalController,
    /// The tolerations that kube-controller-manager knows.
    seen: Vec<Toleration>,
    /// Until then it observes no change of the pod.
    late_until: i64,
    /// When its seconds were last written.
    written_at: Option<i64>,
    /// The second in which the pod was deleted.
    gone_at: Option<i64>,
    /// For how long its node had been silent then.
    silent_for: Option<i64>,
}

impl HoldTimeline {
    fn new() -> Self {
        let tolerations = node_health_tolerations(Some(OWN), Some(OWN));
        Self {
            now: 0,
            seen: tolerations.clone(),
            tolerations,
            record: None,
            silent_since: None,
            intent: HoldIntent::Release(ReleaseMode::Remainder),
            original: OriginalController::default(),
            late_until: 0,
            written_at: None,
            gone_at: None,
            silent_for: None,
        }
    }

    fn hold(&mut self, origin: HoldOrigin) {
        let (since, until) = (at(self.now), at(self.now + HOLD_FOR));
        self.intent = HoldIntent::Hold(HoldOrder { origin, since, until });
    }

    fn happen(&mut self, event: HoldEvent) {
        match event {
            HoldEvent::NodeFallsSilent => self.silent_since = self.silent_since.or(Some(self.now)),
            HoldEvent::NodeRecovers => {
                self.silent_since = None;
                self.original.check(false, &self.seen, self.now);
            }
            HoldEvent::PersonHolds => self.hold(HoldOrigin::Person),
            HoldEvent::LimitHolds => self.hold(HoldOrigin::Limit),
            HoldEvent::Released(mode) => self.intent = HoldIntent::Release(mode),
            HoldEvent::OriginalRestarts => self.original = OriginalController::default(),
            HoldEvent::OriginalIsLate if self.now > self.late_until => self.late_until = self.now + LAG_MAX,
            HoldEvent::OriginalIsLate => {}
            HoldEvent::NothingHappens => {}
        }
    }

    /// One step of the engine, based only on the objects: each step may be a new process.
    fn reconcile(&mut self) -> bool {
        let since = self.silent_since.map(at);
        match next_step(&self.tolerations, self.record.as_ref(), since, self.intent, at(self.now)) {
            HoldStep::Wait(_) => false,
            HoldStep::Write(write) => {
                if !write.seconds.is_empty() {
                    self.written_at = Some(self.now);
                }
                for (position, seconds) in write.seconds {
                    self.tolerations[position].seconds = seconds;
                }
                self.record = write.record;
                true
            }
        }
    }

    fn pass(&mut self, seconds: i64) {
        for _ in 0..seconds {
            if self.gone_at.is_some() {
                return;
            }
            self.reconcile();
            if self.now >= self.late_until {
                self.seen.clone_from(&self.tolerations);
            }
            self.original.check(self.silent_since.is_some(), &self.seen, self.now);
            if self.original.evicts(self.now) {
                self.gone_at = Some(self.now);
                self.silent_for = self.silent_since.map(|since| self.now - since);
            }
            self.now += 1;
        }
    }
}

proptest! {
    #![proptest_config(cases(4_000))]

    #[test]
    fn no_pod_is_evicted_early_or_stays_indefinitely_and_nothing_is_left(
        events in events(),
    ) {
        let mut history = HoldTimeline::new();
        for (event, seconds) in &events {
            history.happen(*event);
            history.pass(*seconds);
        }
        if let Some(gone_at) = history.gone_at {
            prop_assert!(history.silent_for.is_some_and(|silent| silent >= OWN), "{gone_at}: {:?}", history.silent_for);
            let since_written = history.written_at.map(|written| gone_at - written);
            let least = if history.tolerations.iter().all(|one| one.seconds.is_some()) {
                REMAINDER_MIN
            } else {
                0
            };
            prop_assert!(since_written.is_none_or(|since| since >= least), "{gone_at}: {since_written:?} after a release");
            prop_assert!(least > 0 || since_written.is_none_or(|since| since <= LAG_MAX), "{gone_at}: it was held");
            return Ok(());
        }
        // Whatever happened: a node that stays silent loses its pod within its seconds and the maximum length of a
        // hold.
        let mut silent = history;
        let mut recovers = HoldTimeline { tolerations: silent.tolerations.clone(), record: silent.record.clone(), ..HoldTimeline::new() };
        recovers.now = silent.now;
        silent.happen(HoldEvent::NodeFallsSilent);
        silent.pass(HOLD_FOR + OWN + 20);
        prop_assert!(silent.gone_at.is_some(), "{:?} {:?}", silent.tolerations, silent.record);
        // One that recovers keeps it, with its own seconds and without a trace.
        recovers.pass(20);
        prop_assert!(recovers.tolerations.iter().all(|one| one.seconds == Some(OWN)));
        prop_assert_eq!(recovers.record, None);
        prop_assert_eq!(recovers.gone_at, None);
    }
}

/// Each second of the countdown in which a hold may begin, and each length of it.
#[test]
fn a_held_pod_outlives_its_seconds_and_is_then_evicted() {
    for hold_at in 0..OWN {
        for held_for in 5..HOLD_FOR {
            let mut history = HoldTimeline::new();
            history.happen(HoldEvent::NodeFallsSilent);
            history.pass(hold_at);
            history.happen(HoldEvent::PersonHolds);
            history.pass(held_for);
            assert_eq!(history.gone_at, None, "held at {hold_at} for {held_for}");
            let released_at = history.now;
            history.happen(HoldEvent::Released(ReleaseMode::Remainder));
            history.pass(OWN + 10);
            let left = (OWN - hold_at + 1).clamp(REMAINDER_MIN, OWN);
            assert_eq!(history.gone_at, Some(released_at + left), "held at {hold_at} for {held_for}");
        }
    }
}
