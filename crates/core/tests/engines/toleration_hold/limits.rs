//! Tests which pods the limit of silent nodes holds, since when and until when: zones, nodes that have been dead for
//! long, taints without a time, replaced nodes.

use crate::toleration_hold::harness::at;
use crate::toleration_hold::script::{
    BY_PERSON, HoldScript, Settings, by_limit, held_pod, hold, hold_node, list,
};
use taintward_core::engine::{Engine as _, Lane};
use taintward_core::identity::Uid;
use taintward_core::node_limit::NodeLimit;
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::time::{Span, Wall};
use taintward_core::toleration_hold::ReleaseMode;
use taintward_core::toleration_seconds::{
    HoldLimit, HoldNodeFact, HoldSettings, NodeHoldRequest, RecordState, TolerationSecondsInput,
};

const NONE: NodeHoldRequest = NodeHoldRequest::None;

/// One pod on each of these nodes; all nodes are ready.
fn script_of(settings: Settings, names: &[&str]) -> HoldScript {
    let nodes = names.iter().map(|name| hold_node(name, 1, None, NONE)).collect();
    let pods = names.iter().map(|name| held_pod(&format!("on-{name}"), name, 1)).collect();
    HoldScript::new(settings, nodes, pods)
}

fn limited(allowed: u32, names: &[&str]) -> HoldScript {
    script_of(Settings { hold: by_limit(allowed), ..Settings::default() }, names)
}

/// The end of a pod's hold by its record.
fn until(script: &HoldScript, uid: &str) -> Option<Wall> {
    let pod = script.pods.iter().find(|pod| *pod.id.uid() == Uid::new(uid))?;
    let RecordState::Known(record) = &pod.record else { return None };
    record.order().map(|order| order.ends_at())
}

/// Pods of nodes that became silent before the limit was exceeded are held too, as soon as it is.
#[test]
fn nodes_that_were_silent_before_are_held_too() {
    let mut script = limited(1, &["a1", "a2", "a3"]);
    script.pass(10_000);
    script.observe_node("a1", Some(Some(10)), NONE);
    assert_eq!(script.settle(), 0, "one silent node is allowed");
    script.pass(10_000);
    script.observe_node("a2", Some(Some(20)), NONE);
    script.settle();
    assert_eq!(script.held(), ["on-a1", "on-a2"]);
    // It is kept again: the node that is still silent gets its seconds back, after the pause.
    script.pass(10_000);
    script.observe_node("a2", None, NONE);
    script.settle();
    assert_eq!(script.held(), [""; 0]);
}

/// The hold counts from the node that exceeds the limit; each node's from its own silence, if that began later.
#[test]
fn a_hold_counts_from_the_silence_that_exceeds_the_limit_or_from_the_nodes_own() {
    let mut script = limited(1, &["a1", "a2", "a3"]);
    script.pass(200_000);
    script.observe_node("a1", Some(Some(10)), NONE);
    script.observe_node("a2", Some(Some(100)), NONE);
    script.observe_node("a3", Some(Some(150)), NONE);
    let exceeded: Vec<_> = script.engine.limits_exceeded().map(|one| (one.since, one.until)).collect();
    assert_eq!(exceeded, [(at(100), at(750)); 2], "of the cluster and of the zone");
    script.settle();
    let ends = ["on-a1", "on-a2", "on-a3"].map(|uid| until(&script, uid));
    assert_eq!(ends, [Some(at(700)), Some(at(700)), Some(at(750))]);
    script.millis = 699_999;
    script.pass(0);
    assert_eq!((script.settle(), script.held().len()), (0, 3));
    script.pass(1);
    script.settle();
    assert_eq!(script.held(), ["on-a3"]);
    script.pass(50_000);
    script.settle();
    assert_eq!(script.held(), [""; 0]);
}

/// A rack that has been dead for longer than a hold lasts does not use up the limit for a later outage.
#[test]
fn nodes_that_have_been_dead_for_long_do_not_switch_the_limit_off() {
    let hold_for = Span::from_secs(3_600);
    let limit = HoldLimit { silent: NodeLimit { nodes: Some(10), percent: Some(30) }, hold_for };
    let hold = Some(HoldSettings { limit: Some(limit) });
    let name = |at: usize| format!("a{at:03}");
    let names: Vec<String> = (0..200).map(name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut script = script_of(Settings { hold, ..Settings::default() }, &names);
    for name in &names[..11] {
        script.observe_node(name, Some(Some(0)), NONE);
    }
    script.pass(10_000);
    script.settle();
    assert_eq!(script.held().len(), 11);
    script.millis = 7_200_000;
    script.pass(0);
    script.settle();
    assert_eq!(script.held().len(), 0, "their holds are over");
    for name in &names[100..150] {
        script.observe_node(name, Some(Some(7_200)), NONE);
    }
    script.settle();
    assert_eq!(script.held().len(), 50);
    script.millis = 7_200_000 + 3_599_000;
    script.pass(0);
    assert_eq!((script.settle(), script.held().len()), (0, 50));
    script.pass(1_000);
    script.settle();
    assert_eq!(script.held().len(), 0);
}

/// Of the zone and the cluster, the limit counts whose hold lasts longer.
#[test]
fn the_longer_hold_of_zone_and_cluster_counts() {
    let mut script = limited(1, &["a1", "a2", "b1"]);
    script.pass(200_000);
    script.observe_node("b1", Some(Some(0)), NONE);
    script.observe_node("a1", Some(Some(50)), NONE);
    script.observe_node("a2", Some(Some(100)), NONE);
    script.settle();
    // The cluster's limit is exceeded since 50, that of zone a since 100, that of zone b never.
    let ends = ["on-a1", "on-a2", "on-b1"].map(|uid| until(&script, uid));
    assert_eq!(ends, [Some(at(700)), Some(at(700)), Some(at(650))]);
}

/// A zone in which one node is silent holds nothing by itself, and the other zone's silent nodes do not change that.
#[test]
fn each_zone_has_its_own_limit() {
    let hold_for = Span::from_secs(600);
    let limit = HoldLimit { silent: NodeLimit { nodes: None, percent: Some(50) }, hold_for };
    let hold = Some(HoldSettings { limit: Some(limit) });
    let mut script = script_of(
        Settings { hold, ..Settings::default() },
        &["a1", "a2", "b1", "b2", "b3", "b4", "b5", "b6"],
    );
    script.pass(10_000);
    for name in ["a1", "a2", "b1"] {
        script.observe_node(name, Some(Some(10)), NONE);
    }
    script.settle();
    assert_eq!(
        script.held(),
        ["on-a1", "on-a2"],
        "three of eight nodes, two of two in zone a, one of six in b"
    );
}

/// A release covers the silence that it was given in: also one that began in the same second.
#[test]
fn a_release_covers_a_silence_that_began_at_its_moment_and_no_later_one() {
    for (silent_since, is_held) in [(9, false), (10, false), (11, true)] {
        let mut script = limited(0, &["a1"]);
        script.pass(20_000);
        let release = NodeHoldRequest::Release { at: at(10), mode: ReleaseMode::Remainder };
        script.observe_node("a1", Some(Some(silent_since)), release);
        script.settle();
        assert_eq!(script.held().len(), usize::from(is_held), "silent since {silent_since}");
    }
}

/// A person's order that has ended, or is from the future, leaves the node to the limit.
#[test]
fn a_persons_order_that_does_not_apply_leaves_the_node_to_the_limit() {
    for (since, until_second, expected) in
        [(0, 15, Some(610)), (0, 900, Some(900)), (500, 900, Some(610)), (-90_000, 900, Some(610))]
    {
        let mut script = limited(0, &["a1"]);
        script.pass(20_000);
        script.observe_node("a1", Some(Some(10)), hold(since, until_second));
        script.settle();
        assert_eq!(until(&script, "on-a1"), expected.map(at), "from {since} to {until_second}");
    }
}

/// An order whose time has not come begins then, without any event.
#[test]
fn an_order_from_the_future_begins_when_its_time_has_come() {
    let mut script = script_of(Settings { hold: BY_PERSON, ..Settings::default() }, &["a1"]);
    script.observe_node("a1", None, hold(1_000, 2_000));
    assert_eq!(script.settle(), 0);
    let next = script.engine.next_wakeup().expect("it waits");
    assert!((970_000_000..=1_001_000_000).contains(&next.as_micros()), "{next:?}");
    script.millis = 1_001_000;
    script.pass(0);
    script.settle();
    assert_eq!((script.held(), until(&script, "on-a1")), (vec!["on-a1"], Some(at(2_000))));
}

/// A taint's time that is ahead of the API server's clock delays no hold.
#[test]
fn a_silence_from_the_future_is_held_now() {
    let mut script = limited(0, &["a1"]);
    script.pass(20_000);
    script.observe_node("a1", Some(Some(500)), NONE);
    script.settle();
    assert_eq!((script.held(), until(&script, "on-a1")), (vec!["on-a1"], Some(at(1_100))));
    for _ in 0..100 {
        script.pass(1_000);
        assert_eq!(script.settle(), 0, "one patch is enough");
    }
}

fn untimed(uid: &str, version: u64) -> TolerationSecondsInput {
    let fact = HoldNodeFact { uid: Uid::new(uid), ..hold_node("a1", version, Some(None), NONE) };
    TolerationSecondsInput::Nodes(ObjectEvent::Applied { fact, listed: false })
}

/// A taint without a time counts from when it was first observed; another node of the same name has its own silence, and
/// a late event of its predecessor does not end it.
#[test]
fn a_taint_without_a_time_counts_from_its_first_observation_on_this_node() {
    let mut script = limited(0, &[]);
    let since = |script: &HoldScript| script.engine.limits_exceeded().next().map(|one| one.since);
    script.pass(50_000);
    script.receive(untimed("one", 2));
    assert_eq!(since(&script), Some(at(50)));
    script.pass(10_000);
    script.receive(untimed("one", 3));
    assert_eq!(since(&script), Some(at(50)));
    script.pass(10_000);
    script.receive(untimed("two", 4));
    assert_eq!(since(&script), Some(at(70)));
    let gone = |uid: &str| ObjectRef::node(&hold_node("a1", 1, None, NONE).name, Some(Uid::new(uid)));
    script.receive(TolerationSecondsInput::Nodes(ObjectEvent::Deleted(gone("one"))));
    assert_eq!(since(&script), Some(at(70)));
    script.receive(TolerationSecondsInput::Nodes(ObjectEvent::Deleted(gone("two"))));
    assert_eq!(since(&script), None);
}

/// Backfill and the guard leave the pods of a silent node alone: kube-controller-manager would ignore new seconds.
#[test]
fn pods_of_silent_nodes_get_no_other_seconds_until_the_node_has_recovered() {
    for settings in [
        Settings { backfill: Some(1_000), ..Settings::default() },
        Settings { guard: Some(1_000), ..Settings::default() },
    ] {
        let nodes = vec![hold_node("a1", 1, Some(Some(0)), NONE)];
        let mut script = HoldScript::new(settings, nodes, vec![held_pod("p", "a1", 1)]);
        for _ in 0..10 {
            script.pass(1_000);
            assert_eq!(script.settle(), 0);
        }
        script.observe_node("a1", None, NONE);
        assert_eq!(script.settle(), 1);
    }
}

/// If both run, the guard's rate counts: it is the one that keeps pods from leaving.
#[test]
fn the_rate_of_the_guard_counts_for_backfill_too() {
    let nodes = || vec![hold_node("a1", 1, None, NONE)];
    let pods = || (0..100).map(|at| held_pod(&format!("p{at}"), "a1", 1)).collect();
    for (backfill, guard, expected) in
        [(Some(50), Some(10), 10), (Some(10), Some(50), 50), (Some(5), None, 5), (None, Some(5), 5)]
    {
        let settings = Settings { backfill, guard, ..Settings::default() };
        let mut script = HoldScript::new(settings, nodes(), pods());
        let mut patches = 0;
        for _ in 0..100 {
            patches += script.settle();
            script.pass(10);
        }
        assert_eq!(patches, expected, "{settings:?}");
    }
}

/// A pod that a list lacks, or that the API server does not know, is forgotten.
#[test]
fn pods_that_are_gone_are_forgotten() {
    let nodes = vec![hold_node("a1", 1, None, hold(0, 3_600))];
    let settings = Settings { hold: BY_PERSON, ..Settings::default() };
    let mut script = HoldScript::new(settings, nodes, vec![held_pod("pa", "a1", 1), held_pod("pb", "a1", 1)]);
    let patch = script.pull(Lane::All).expect("a hold");
    let gone = patch.pod.clone();
    script.response(patch, Err(taintward_core::api_error::ApiFailure::NotFound));
    let other = script.pull(Lane::All).expect("the other hold");
    assert_ne!(other.pod, gone);
    script.response(other, Err(taintward_core::api_error::ApiFailure::Rejected));
    assert_eq!(script.pull(Lane::All), None);
    script.receive_all(list([], TolerationSecondsInput::Pods));
    for _ in 0..20 {
        script.pass(10_000);
        assert_eq!(script.pull(Lane::All), None);
    }
}

/// A list counts even if it shows an older version: the store was restored. An event of an older version does not.
#[test]
fn a_list_with_an_older_version_of_a_pod_counts_and_an_event_does_not() {
    for listed in [true, false] {
        let nodes = vec![hold_node("a1", 1, None, hold(0, 3_600))];
        let settings = Settings { hold: BY_PERSON, ..Settings::default() };
        let mut script = HoldScript::new(settings, nodes, vec![held_pod("p", "a1", 20)]);
        assert_eq!((script.settle(), script.held().len()), (1, 1));
        // The store has the pod from before the hold.
        let before = held_pod("p", "a1", 10);
        script.pods = vec![before.clone()];
        if listed {
            script.receive_all(list([before], TolerationSecondsInput::Pods));
        } else {
            script.receive(TolerationSecondsInput::Pods(ObjectEvent::Applied { fact: before, listed }));
        }
        script.pass(60_000);
        script.settle();
        assert_eq!(script.held().len(), usize::from(listed));
    }
}
