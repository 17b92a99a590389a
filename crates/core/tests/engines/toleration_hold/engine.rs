//! Tests the engine in an unreliable harness, alongside kube-controller-manager's own countdowns.

use crate::cases::cases;
use crate::toleration_hold::harness::{
    CEILING_MAX, CEILINGS, HOLD_FOR, NODES, OWN, PODS_PER_NODE, POLICIES, STALL, TolerationSecondsHarness,
    at, guarded_seconds, own_seconds,
};
use proptest::prelude::*;
use taintward_core::engine::Engine as _;
use taintward_core::toleration::Toleration;
use taintward_core::toleration_guard::GuardRecord;
use taintward_core::toleration_hold::{HeldToleration, HoldRecord, REMAINDER_MIN, ReleaseMode};
use taintward_core::toleration_seconds::{
    NodeHoldRequest, RecordAnnotations, RecordState, TolerationSecondsNotice,
};

#[derive(Clone, Copy, Debug)]
enum EngineEvent {
    Silent(usize),
    Recovers(usize),
    Held(usize),
    Released(usize, ReleaseMode),
    Forgotten(usize),
    Crash,
    WatchStalls,
    /// The next patches get no response: carried out or not.
    ResponsesLost {
        carried_out: bool,
    },
    RecordRemoved(usize),
    /// Another writer replaces a pod's record by another annotation.
    RecordForged(usize, Forgery),
    /// Another writer restores a pod's earlier seconds.
    SecondsWrittenBack(usize),
    /// The namespace is guarded with this ceiling, or is no longer guarded.
    CeilingChanges(Option<i64>),
    /// A policy gives new pods other seconds.
    PolicyChanges(i64),
    /// The policy can no longer be decoded.
    PolicyGarbled,
    /// The clock steps back by a second, or forward again.
    ClockSteps,
    Nothing,
}

#[derive(Clone, Copy, Debug)]
enum Forgery {
    /// It cannot be decoded.
    Garbled,
    /// It has fewer of the pod's own seconds.
    FewerSeconds,
    /// It names only tolerations that the pod does not have.
    OtherTolerations,
}

fn event() -> impl Strategy<Value = (EngineEvent, i64)> {
    let (node, pod) = (0..NODES, 0..NODES * PODS_PER_NODE);
    let forgery =
        prop_oneof![Just(Forgery::Garbled), Just(Forgery::FewerSeconds), Just(Forgery::OtherTolerations)];
    let kind = prop_oneof![
        6 => node.clone().prop_map(EngineEvent::Silent),
        4 => node.clone().prop_map(EngineEvent::Recovers),
        2 => node.clone().prop_map(EngineEvent::Held),
        2 => (node.clone(), any::<bool>()).prop_map(|(node, full)| {
            EngineEvent::Released(node, if full { ReleaseMode::Full } else { ReleaseMode::Remainder })
        }),
        1 => node.prop_map(EngineEvent::Forgotten),
        2 => Just(EngineEvent::Crash),
        2 => Just(EngineEvent::WatchStalls),
        2 => any::<bool>().prop_map(|carried_out| EngineEvent::ResponsesLost { carried_out }),
        1 => pod.clone().prop_map(EngineEvent::RecordRemoved),
        1 => (pod.clone(), forgery).prop_map(|(pod, forgery)| EngineEvent::RecordForged(pod, forgery)),
        2 => pod.prop_map(EngineEvent::SecondsWrittenBack),
        3 => prop::option::of(prop::sample::select(&CEILINGS[..])).prop_map(EngineEvent::CeilingChanges),
        2 => prop::sample::select(&POLICIES[..]).prop_map(EngineEvent::PolicyChanges),
        1 => Just(EngineEvent::PolicyGarbled),
        2 => Just(EngineEvent::ClockSteps),
        1 => Just(EngineEvent::Nothing),
    ];
    (kind, prop_oneof![3 => 0_i64..8, 1 => 8_i64..70])
}

impl Forgery {
    fn held(self, held: &[HeldToleration]) -> Vec<HeldToleration> {
        let held = held.iter().filter_map(|held| {
            let mut toleration = held.toleration();
            match self {
                Self::Garbled => return None,
                Self::FewerSeconds => toleration.seconds = Some(1),
                Self::OtherTolerations => toleration.key = "example.com/other".into(),
            }
            HeldToleration::recorded(&toleration, held.given())
        });
        held.collect()
    }

    fn of(self, record: &HoldRecord) -> RecordState {
        let held = self.held(record.tolerations());
        if held.is_empty() {
            return RecordState::Undecodable;
        }
        let (order, changed, ran) = (record.order(), record.changed(), record.ran());
        RecordState::Known(HoldRecord::recorded(held, order, changed, ran, record.counted_since()).into())
    }

    /// Fewer seconds are not among them: an admission policy rejects a record that another writer makes, and taint
    /// eviction does not wait until it is restored.
    fn of_guard(self, record: &GuardRecord) -> RecordState {
        let forgery = if matches!(self, Self::FewerSeconds) { Self::OtherTolerations } else { self };
        let forged = GuardRecord::recorded(forgery.held(record.tolerations()));
        forged.map_or(RecordState::Undecodable, |record| RecordState::Guarded(record.into()))
    }
}

impl TolerationSecondsHarness {
    fn happen(&mut self, event: EngineEvent) {
        let now = self.now;
        match event {
            EngineEvent::Silent(node) => self.node_changes(node, |(since, _)| *since = since.or(Some(now))),
            EngineEvent::Recovers(node) => {
                self.node_changes(node, |(since, _)| *since = None);
                for pod in self.pods.iter_mut().skip(node * PODS_PER_NODE).take(PODS_PER_NODE) {
                    pod.original.check(false, &pod.fact.tolerations, now);
                    pod.own = own_seconds(&pod.fact);
                }
            }
            EngineEvent::Held(node) => self.node_changes(node, |(_, request)| {
                *request = NodeHoldRequest::Hold { since: at(now), until: at(now + HOLD_FOR) };
            }),
            EngineEvent::Released(node, mode) => self.node_changes(node, |(_, request)| {
                *request = NodeHoldRequest::Release { at: at(now), mode };
            }),
            EngineEvent::Forgotten(node) => {
                self.node_changes(node, |(_, request)| *request = NodeHoldRequest::None);
            }
            EngineEvent::PolicyChanges(seconds) => self.policy_becomes(Some(seconds)),
            EngineEvent::PolicyGarbled => self.policy_becomes(None),
            EngineEvent::Crash => self.crash(),
            EngineEvent::ClockSteps => {
                self.is_clock_behind ^= true;
                self.run_engine();
            }
            EngineEvent::WatchStalls if now > self.stalled_until => self.stalled_until = now + STALL,
            EngineEvent::ResponsesLost { carried_out } => self.lost = Some((carried_out, now + 3)),
            EngineEvent::RecordRemoved(pod) => self.another_writer_sets(pod, RecordState::Absent),
            EngineEvent::RecordForged(pod, forgery) => {
                let forged = match &self.pods[pod].fact.record {
                    RecordState::Known(record) => forgery.of(record),
                    // The pod has its own seconds again: nothing is restored, and what cannot be decoded stays (D11).
                    RecordState::Guarded(_)
                        if matches!(forgery, Forgery::Garbled)
                            && guarded_seconds(&self.pods[pod].fact).is_none() =>
                    {
                        return;
                    }
                    RecordState::Guarded(record) => forgery.of_guard(record),
                    RecordState::Absent | RecordState::Undecodable => return,
                };
                self.another_writer_sets(pod, forged);
            }
            EngineEvent::SecondsWrittenBack(pod) => self.another_writer_restores(pod),
            EngineEvent::CeilingChanges(ceiling) => self.ceiling_becomes(ceiling),
            EngineEvent::WatchStalls | EngineEvent::Nothing => {}
        }
    }

    /// The engine restores a record that another writer removes or replaces.
    fn another_writer_sets(&mut self, pod: usize, record: RecordState) {
        if !self.undelivered.is_empty() || self.pods[pod].gone_at.is_some() {
            return;
        }
        let records = match (&record, self.pods[pod].fact.records) {
            (RecordState::Absent, _) => RecordAnnotations::default(),
            (_, records) => records,
        };
        (self.pods[pod].fact.record, self.pods[pod].fact.records) = (record, records);
        self.pod_changed(pod);
        (self.stalled_until, self.lost) = (self.stalled_until.min(self.now), None);
        // A process that ends before it has restored the record leaves none behind: a failed patch of the pod, or
        // another writer's last change, delays that by its pause.
        self.pass(38);
    }

    fn another_writer_restores(&mut self, pod: usize) {
        let (own, gone_at) = (own_seconds(&self.pods[pod].fact), self.pods[pod].gone_at);
        let tolerations = &mut self.pods[pod].fact.tolerations;
        if gone_at.is_none() && tolerations.iter().any(|one| one.seconds != Some(own)) {
            tolerations.iter_mut().for_each(|one| one.seconds = Some(own));
            self.pod_changed(pod);
        }
    }
}

proptest! {
    #![proptest_config(cases(1_500))]

    #[test]
    fn no_interleaving_evicts_a_pod_early_or_keeps_it_indefinitely(
        events in prop::collection::vec(event(), 1..30),
        recovers in any::<bool>(),
    ) {
        let mut harness = TolerationSecondsHarness::new();
        for (event, seconds) in &events {
            harness.happen(*event);
            harness.pass(*seconds);
            prop_assert_eq!(&harness.violation, &None);
        }
        for node in 0..NODES {
            harness.happen(EngineEvent::Forgotten(node));
            harness.happen(EngineEvent::CeilingChanges(None));
            harness.happen(if recovers { EngineEvent::Recovers(node) } else { EngineEvent::Silent(node) });
        }
        let policy = harness.policy;
        harness.pass(STALL + HOLD_FOR + CEILING_MAX + REMAINDER_MIN + 60);
        prop_assert_eq!(&harness.violation, &None);
        for pod in &harness.pods {
            if recovers {
                prop_assert!(pod.gone_at.is_some() || pod.fact.record == RecordState::Absent, "{:?}", pod.fact);
                let fits = |seconds: i64| policy.is_none_or(|policy| seconds == policy);
                let has_own = |one: &Toleration| one.seconds.is_some_and(fits);
                prop_assert!(pod.gone_at.is_some() || pod.fact.tolerations.iter().all(has_own), "{:?}", pod.fact);
            } else {
                prop_assert!(pod.gone_at.is_some(), "{:?}", pod.fact);
            }
        }
        prop_assert_eq!(harness.engine.stats().waiting, 0);
        prop_assert_eq!(harness.engine.stats().held, 0);
        prop_assert_eq!(harness.engine.stats().backfill_pending, 0);
        prop_assert_eq!((harness.engine.stats().guarded, harness.engine.stats().guard_pending), (0, 0));
    }
}

/// Two silent nodes of four: the limit holds their pods, and no others.
#[test]
fn a_limit_holds_the_pods_of_silent_nodes_until_it_is_no_longer_exceeded_or_expires() {
    let mut harness = TolerationSecondsHarness::new();
    harness.pass(10);
    for node in [1, 2] {
        harness.happen(EngineEvent::Silent(node));
    }
    harness.pass(2);
    let held: Vec<bool> =
        harness.pods.iter().map(|pod| pod.fact.tolerations.iter().all(|one| one.seconds.is_none())).collect();
    assert_eq!(held, [false, false, true, true, true, true, false, false]);
    assert_eq!(harness.engine.stats().held, 4);
    harness.pass(HOLD_FOR - 2);
    assert!(harness.pods.iter().all(|pod| pod.gone_at.is_none()), "held beyond their own seconds");
    harness.pass(OWN + 2);
    let gone: Vec<bool> = harness.pods.iter().map(|pod| pod.gone_at.is_some()).collect();
    assert_eq!(gone, held, "a hold ends by itself");
    assert_eq!(harness.violation, None);
}

/// A writer that restores the seconds of a held pod each second.
#[test]
fn a_conflict_with_another_writer_has_pauses_and_is_reported() {
    let mut harness = TolerationSecondsHarness::new();
    harness.happen(EngineEvent::Silent(0));
    harness.happen(EngineEvent::Held(0));
    let mut reported = 0;
    for _ in 0..HOLD_FOR - 5 {
        harness.pass(1);
        harness.happen(EngineEvent::SecondsWrittenBack(0));
        let is_reported = |notice: &TolerationSecondsNotice| match notice {
            TolerationSecondsNotice::SecondsContested { pod, .. } => *pod == harness.pods[0].fact.id,
            _ => false,
        };
        reported += harness.engine.take_notices().iter().filter(|notice| is_reported(notice)).count();
    }
    assert!((4..12).contains(&reported), "held again {reported} times");
    assert_eq!((&harness.violation, harness.pods[0].gone_at), (&None, None));
    assert_ne!(harness.pods[0].fact.record, RecordState::Absent);
    // It stops.
    harness.happen(EngineEvent::Held(0));
    harness.pass(38);
    assert!(harness.pods[0].fact.tolerations.iter().all(|one| one.seconds.is_none()));
    harness.engine.take_notices();
    harness.pass(38);
    assert_eq!(harness.engine.take_notices(), [], "nothing is left to report");
}
