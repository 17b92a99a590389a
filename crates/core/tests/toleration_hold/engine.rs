//! The engine in a world that withholds, beside kube-controller-manager's own countdowns.

use crate::world::{
    CEILING_MAX, CEILINGS, HOLD_FOR, NODES, OWN, PODS_PER_NODE, POLICIES, STALL, World, at, own_seconds,
};
use proptest::prelude::*;
use taintward_core::toleration::Toleration;
use taintward_core::toleration_guard::GuardRecord;
use taintward_core::toleration_hold::HeldToleration;
use taintward_core::toleration_hold::{REMAINDER_MIN, ReleaseMode};
use taintward_core::toleration_seconds::{NodeHoldRequest, RecordAnnotations, RecordState};

#[derive(Clone, Copy, Debug)]
enum Event {
    Silent(usize),
    Recovers(usize),
    Held(usize),
    Released(usize, ReleaseMode),
    Forgotten(usize),
    Crash,
    WatchStalls,
    /// The next patches get no answer: carried out or not.
    ResponsesLost {
        carried_out: bool,
    },
    RecordRemoved(usize),
    /// Another writer gives a guarded pod a record with more seconds of its own.
    RecordForged(usize),
    /// The namespace is guarded with this ceiling, or is not any more.
    CeilingChanges(Option<i64>),
    /// A policy gives new pods other seconds.
    PolicyChanges(i64),
    /// The policy cannot be decoded any more.
    PolicyGarbled,
    /// The clock steps back by a second, or forward again.
    ClockSteps,
    Nothing,
}

fn event() -> impl Strategy<Value = (Event, i64)> {
    let node = 0..NODES;
    let kind = prop_oneof![
        6 => node.clone().prop_map(Event::Silent),
        4 => node.clone().prop_map(Event::Recovers),
        2 => node.clone().prop_map(Event::Held),
        2 => (node.clone(), any::<bool>()).prop_map(|(node, full)| {
            Event::Released(node, if full { ReleaseMode::Full } else { ReleaseMode::Remainder })
        }),
        1 => node.prop_map(Event::Forgotten),
        2 => Just(Event::Crash),
        2 => Just(Event::WatchStalls),
        2 => any::<bool>().prop_map(|carried_out| Event::ResponsesLost { carried_out }),
        1 => (0..NODES * PODS_PER_NODE).prop_map(Event::RecordRemoved),
        1 => (0..NODES * PODS_PER_NODE).prop_map(Event::RecordForged),
        3 => prop::option::of(prop::sample::select(&CEILINGS[..])).prop_map(Event::CeilingChanges),
        2 => prop::sample::select(&POLICIES[..]).prop_map(Event::PolicyChanges),
        1 => Just(Event::PolicyGarbled),
        2 => Just(Event::ClockSteps),
        1 => Just(Event::Nothing),
    ];
    (kind, prop_oneof![3 => 0_i64..8, 1 => 8_i64..70])
}

impl World {
    fn forge_record(&mut self, pod: usize) {
        let fact = &mut self.pods[pod].fact;
        let RecordState::Guarded(record) = &fact.record else { return };
        let held = record.tolerations().iter().filter_map(|held| {
            let mut toleration = held.toleration();
            toleration.seconds = Some(held.own() + 20);
            HeldToleration::recorded(&toleration, held.given())
        });
        let Some(forged) = GuardRecord::recorded(held.collect()) else { return };
        fact.record = RecordState::Guarded(forged.into());
        self.pod_changed(pod);
        (self.stalled_until, self.lost) = (self.stalled_until.min(self.now), None);
        self.pass(35);
    }

    fn happen(&mut self, event: Event) {
        let now = self.now;
        match event {
            Event::Silent(node) => self.node_changes(node, |(since, _)| *since = since.or(Some(now))),
            Event::Recovers(node) => {
                self.node_changes(node, |(since, _)| *since = None);
                for pod in self.pods.iter_mut().skip(node * PODS_PER_NODE).take(PODS_PER_NODE) {
                    pod.original.look(false, &pod.fact.tolerations, now);
                    pod.own = own_seconds(&pod.fact);
                }
            }
            Event::Held(node) => self.node_changes(node, |(_, request)| {
                *request = NodeHoldRequest::Hold { since: at(now), until: at(now + HOLD_FOR) };
            }),
            Event::Released(node, mode) => self.node_changes(node, |(_, request)| {
                *request = NodeHoldRequest::Release { at: at(now), mode };
            }),
            Event::Forgotten(node) => {
                self.node_changes(node, |(_, request)| *request = NodeHoldRequest::None);
            }
            Event::PolicyChanges(seconds) => self.policy_becomes(Some(seconds)),
            Event::PolicyGarbled => self.policy_becomes(None),
            Event::Crash => self.crash(),
            Event::ClockSteps => {
                self.is_clock_behind ^= true;
                self.run_engine();
            }
            Event::WatchStalls if now > self.stalled_until => self.stalled_until = now + STALL,
            Event::ResponsesLost { carried_out } => self.lost = Some((carried_out, now + 3)),
            // The engine puts back a record that another writer takes away.
            Event::RecordRemoved(pod) if self.undelivered.is_empty() && self.pods[pod].gone_at.is_none() => {
                self.pods[pod].fact.record = RecordState::Absent;
                self.pods[pod].fact.records = RecordAnnotations::default();
                self.pod_changed(pod);
                (self.stalled_until, self.lost) = (self.stalled_until.min(now), None);
                // A process that ends before it has given the record back leaves none behind: a failed patch of the pod
                // delays that by its pause.
                self.pass(35);
            }
            Event::RecordForged(pod) if self.undelivered.is_empty() && self.pods[pod].gone_at.is_none() => {
                self.forge_record(pod);
            }
            Event::CeilingChanges(ceiling) => self.ceiling_becomes(ceiling),
            Event::WatchStalls | Event::RecordRemoved(_) | Event::RecordForged(_) | Event::Nothing => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_interleaving_sends_a_pod_early_or_keeps_it_for_ever(
        events in prop::collection::vec(event(), 1..30),
        recovers in any::<bool>(),
    ) {
        let mut world = World::new();
        for (event, seconds) in &events {
            world.happen(*event);
            world.pass(*seconds);
            prop_assert_eq!(&world.violation, &None);
        }
        for node in 0..NODES {
            world.happen(Event::Forgotten(node));
            world.happen(Event::CeilingChanges(None));
            world.happen(if recovers { Event::Recovers(node) } else { Event::Silent(node) });
        }
        let policy = world.policy;
        world.pass(STALL + HOLD_FOR + CEILING_MAX + REMAINDER_MIN + 60);
        prop_assert_eq!(&world.violation, &None);
        for pod in &world.pods {
            if recovers {
                prop_assert!(pod.gone_at.is_some() || pod.fact.record == RecordState::Absent, "{:?}", pod.fact);
                let fits = |seconds: i64| policy.is_none_or(|policy| seconds == policy);
                let has_own = |one: &Toleration| one.seconds.is_some_and(fits);
                prop_assert!(pod.gone_at.is_some() || pod.fact.tolerations.iter().all(has_own), "{:?}", pod.fact);
            } else {
                prop_assert!(pod.gone_at.is_some(), "{:?}", pod.fact);
            }
        }
        prop_assert_eq!(world.engine.stats().waiting, 0);
        prop_assert_eq!(world.engine.stats().held, 0);
        prop_assert_eq!(world.engine.stats().backfill_pending, 0);
        prop_assert_eq!((world.engine.stats().guarded, world.engine.stats().guard_pending), (0, 0));
    }
}

/// Two silent nodes of four: the limit holds their pods, and only those.
#[test]
fn a_limit_holds_the_pods_of_silent_nodes_until_it_is_kept_or_its_time_is_over() {
    let mut world = World::new();
    world.pass(10);
    for node in [1, 2] {
        world.happen(Event::Silent(node));
    }
    world.pass(2);
    let held: Vec<bool> =
        world.pods.iter().map(|pod| pod.fact.tolerations.iter().all(|one| one.seconds.is_none())).collect();
    assert_eq!(held, [false, false, true, true, true, true, false, false]);
    assert_eq!(world.engine.stats().held, 4);
    world.pass(HOLD_FOR - 2);
    assert!(world.pods.iter().all(|pod| pod.gone_at.is_none()), "held beyond their own seconds");
    world.pass(OWN + 2);
    let gone: Vec<bool> = world.pods.iter().map(|pod| pod.gone_at.is_some()).collect();
    assert_eq!(gone, held, "a hold ends by itself");
    assert_eq!(world.violation, None);
}
