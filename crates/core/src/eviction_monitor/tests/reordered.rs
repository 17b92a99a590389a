//! Tests what a monitor takes from events that are old, repeated or missing: it must neither forget what it knows nor report
//! what is none.

use super::super::monitored_pod::MonitoredPod;
use super::*;
use crate::identity::{PodId, Uid};
use alloc::vec;
use alloc::vec::Vec;

/// The pod, with a toleration that lasts a second longer.
fn counting_longer(version: u64) -> PodFact {
    counting(version).tolerates([toleration("k", Some(61))])
}

fn early(harness: &MonitorHarness, version: u64) -> bool {
    harness.violated(&deletion("default/p", Some(version)), 70) == Some(RequestProperty::NotEarly)
}

#[test]
fn an_older_event_of_a_pod_changes_nothing_and_an_older_list_does() {
    let changed = |version, listed| {
        let mut harness = MonitorHarness::due();
        harness.pod(counting_longer(version), listed, 20);
        harness
    };
    assert!(!early(&changed(4, false), 5));
    assert!(early(&changed(4, true), 4), "the store was restored");
    assert!(early(&changed(5, false), 5));
}

#[test]
fn an_older_event_of_a_node_changes_nothing_and_an_older_list_does() {
    let tainted_at = |listed: (u64, bool), event: (NodeFact, u64), second| {
        let mut harness = MonitorHarness::new();
        harness.node(node("n1").at_version(listed.0), listed.1, 9);
        harness.node(event.0.at_version(event.1), false, second);
        harness
    };
    // The taint begins with the event, so the toleration lasts until second 71; with the read, it would be unknown.
    let mut harness = tainted_at((7, true), (tainted(), 7), 11);
    harness.read(tainted(), 70);
    assert!(early(&harness, 5), "an event of the same version counts");
    let mut harness = tainted_at((7, true), (tainted(), 6), 11);
    harness.read(tainted(), 70);
    assert!(!early(&harness, 5), "an older event does not");
    let mut harness = tainted_at((7, false), (tainted(), 7), 10);
    harness.node(node("n1").at_version(6), true, 20);
    harness.node(tainted().at_version(6), false, 30);
    harness.read(tainted(), 70);
    assert!(early(&harness, 5), "the list of a restored store ended the taint");
}

#[test]
fn a_pod_whose_deletion_was_accepted_lives_again_only_in_a_newer_version() {
    let deleted = || {
        let mut harness = MonitorHarness::due();
        harness.input(EvictionInput::Deleted { pod: pod_ref("p"), result: Ok(()) }, 70);
        harness
    };
    let mut same = deleted();
    same.pod(counting(5), false, 71);
    assert_eq!(same.deletion(72), Some(RequestProperty::Once));
    let mut read = deleted();
    let result = Ok(LiveRead::Found(counting(5)));
    read.input(EvictionInput::PodRead { pod: pod_ref("p"), result, half_deleted: false }, 71);
    assert_eq!(read.deletion(72), Some(RequestProperty::Once), "the read may be older than the deletion");
    let mut watched = deleted();
    watched.input(EvictionInput::Pods(ObjectEvent::ListStarted { silent_since: None }), 71);
    watched.pod(counting(5), false, 71);
    assert_eq!(watched.deletion(72), Some(RequestProperty::Once), "the list has not shown it");
}

#[test]
fn after_a_write_without_a_version_the_next_event_counts() {
    let mut harness = MonitorHarness::marked();
    harness.pod(counting_longer(5), false, 70);
    assert!(!early(&harness, 6), "version 6 is known");
    harness.input(EvictionInput::Unmarked { pod: pod_ref("p"), result: Ok(()) }, 70);
    harness.pod(counting_longer(5), false, 70);
    assert!(early(&harness, 5));
}

#[test]
fn a_list_ends_what_it_does_not_contain() {
    let mut pods = MonitorHarness::due();
    pods.input(EvictionInput::Pods(ObjectEvent::ListStarted { silent_since: None }), 70);
    assert_eq!(pods.deletion(70), None);
    pods.input(EvictionInput::Pods(ObjectEvent::ListCompleted), 70);
    assert_eq!(pods.deletion(70), Some(RequestProperty::RightPod));
    assert_eq!(pods.monitor.tolerations.values().count(), 0, "its tolerations take no memory");
    let counting_from_20 = || {
        let mut harness = MonitorHarness::new();
        harness.node(tainted(), false, 20);
        harness.read(tainted(), 70);
        assert_eq!(harness.deletion(70), Some(RequestProperty::NotEarly));
        harness
    };
    let mut nodes = counting_from_20();
    nodes.input(EvictionInput::Nodes(ObjectEvent::ListStarted { silent_since: None }), 70);
    nodes.input(EvictionInput::Nodes(ObjectEvent::ListCompleted), 70);
    assert_eq!(nodes.deletion(70), None, "of a node that is gone nothing is known");
    let mut deleted = counting_from_20();
    let object = ObjectRef::node(&NodeName::new("n1"), Some(Uid::new("uid-n1")));
    deleted.input(EvictionInput::Nodes(ObjectEvent::Deleted(object)), 70);
    assert_eq!(deleted.deletion(70), None);
    let mut one_list = EvictionMonitor::of_new_engine(NumericOperators::Off);
    one_list.input(&EvictionInput::Nodes(ObjectEvent::ListCompleted), at(70));
    let violation = one_list.effect(&deletion("default/p", None), at(70)).unwrap_err();
    assert_eq!(violation.property, RequestProperty::Confirmed);
}

#[test]
fn a_live_read_shows_a_successor_or_what_cannot_be_decoded() {
    let read = |result| {
        let mut harness = MonitorHarness::due();
        let input = EvictionInput::PodRead { pod: pod_ref("p"), result: Ok(result), half_deleted: true };
        harness.input(input, 70);
        harness.deletion(70)
    };
    let successor = PodFact { id: PodId::new(Uid::new("p2"), PodName::new("default", "p")), ..counting(6) };
    assert_eq!(read(LiveRead::Found(successor)), Some(RequestProperty::RightPod));
    let mut node = MonitorHarness::due();
    let (name, sent) = (NodeName::new("n1"), at(70).mono);
    let result = Ok(LiveRead::Undecodable);
    node.input(EvictionInput::NodeConfirmed { node: name, sent, result }, 70);
    assert_eq!(node.deletion(70), Some(RequestProperty::Decoded));
    let mut later = MonitorHarness::due();
    later.read(tainted(), 71);
    assert_eq!(later.deletion(71), None, "a request may rest on the read before the last");
}

#[test]
fn a_condition_ends_with_an_event_that_does_not_show_it() {
    let live = PodFact { marked: true, ..counting(7) };
    let terminating = PodFact { life_phase: PodLifePhase::Terminating, ..live.clone() };
    for (fact, violated) in [(live, Some("S9")), (terminating, None), (counting(7), None)] {
        let mut harness = MonitorHarness::marked();
        harness.pod(fact, false, 75);
        assert_eq!(harness.idle_until(75, 200), violated);
    }
    // A request that has no response yet is one.
    let mut reading = MonitorHarness::marked();
    let read = EvictionEffect::ReadPod { pod: pod_ref("p"), name: PodName::new("default", "p") };
    assert_eq!(reading.monitor.effect(&read, at(75)), Ok(()));
    assert_eq!(reading.idle_until(75, 200), None);
    let mut idle = MonitorHarness::marked().monitor;
    idle.idle(at(70)).unwrap();
    let violation = (75..200).step_by(5).find_map(|second| idle.idle(at(second)).err()).unwrap();
    assert!(violation.reason.ends_with("no request followed for 65 s"), "{violation}");
}

#[test]
fn a_toleration_that_compares_numbers_counts_only_with_the_gate() {
    let deletion_with = |mut monitor: EvictionMonitor| {
        let tainted = node("n1").tainted([taint("k=3")]);
        let below_5 = counting(5).tolerates([toleration_of("k", "Lt", "5", "NoExecute")]);
        for input in [
            EvictionInput::Nodes(ObjectEvent::Applied { fact: tainted.clone(), listed: true }),
            EvictionInput::Nodes(ObjectEvent::ListCompleted),
            EvictionInput::Pods(ObjectEvent::Applied { fact: below_5, listed: true }),
            EvictionInput::Pods(ObjectEvent::ListCompleted),
            EvictionInput::NodeConfirmed {
                node: NodeName::new("n1"),
                sent: at(70).mono,
                result: Ok(LiveRead::Found(tainted.clone())),
            },
        ] {
            monitor.input(&input, at(70));
        }
        monitor.effect(&deletion("default/p", Some(5)), at(70)).is_ok()
    };
    for of in [EvictionMonitor::of_new_engine, EvictionMonitor::of_running_engine] {
        assert!(!deletion_with(of(NumericOperators::On)), "3 is below 5");
        assert!(deletion_with(of(NumericOperators::Off)), "without the gate, it tolerates nothing");
    }
}

#[test]
fn names_and_uids_are_told_apart_by_their_hashes() {
    let uid = |high: u64, low: u64| {
        let bytes = (u128::from(high) << 64 | u128::from(low)).to_be_bytes();
        UidHash::of(&Uid::Uuid(bytes))
    };
    let all = [uid(1, 2), uid(1, 3), uid(4, 2), uid(u64::MAX, 2), uid(u64::MAX, 3), uid(8, u64::MAX)];
    let different: alloc::collections::BTreeSet<_> = all.into_iter().collect();
    assert_eq!(different.len(), all.len());
    // As many of 65,536 hashes as 4,000 random ones would be, which is 3,881.
    let hashes = (0..4_000).map(|number| MonitoredPod::names_hash("n1", &alloc::format!("web-{number}")));
    let different: alloc::collections::BTreeSet<u16> = hashes.collect();
    assert!(different.len() > 3_840, "{}", different.len());
}

#[test]
fn a_monitor_of_an_engine_knows_whether_it_has_missed_inputs() {
    use crate::engine::Engine as _;
    use crate::eviction::{EvictionConfig, EvictionEngine};
    let nodes = |events: Vec<ObjectEvent<NodeFact>>| events.into_iter().map(EvictionInput::Nodes);
    let pods = |events: Vec<ObjectEvent<PodFact>>| events.into_iter().map(EvictionInput::Pods);
    let started = || ObjectEvent::ListStarted { silent_since: None };
    let applied = || ObjectEvent::Applied { fact: node("n1"), listed: true };
    let listed: Vec<_> = nodes(vec![started(), ObjectEvent::ListCompleted])
        .chain(pods(vec![ObjectEvent::ListStarted { silent_since: None }, ObjectEvent::ListCompleted]))
        .collect();
    let one_pod = ObjectEvent::Applied { fact: counting(5), listed: true };
    for (inputs, is_new) in [
        (vec![], true),
        (listed, false),
        (nodes(vec![started(), applied()]).collect(), false),
        (pods(vec![ObjectEvent::ListStarted { silent_since: None }, one_pod]).collect(), false),
    ] {
        let numeric = NumericOperators::On;
        let mut engine = EvictionEngine::new(EvictionConfig { numeric, ..EvictionConfig::default() });
        inputs.into_iter().for_each(|input: EvictionInput| engine.handle(input, at(1)));
        let mut monitor = EvictionMonitor::of(&engine);
        let result = monitor.effect(&deletion("default/p", None), at(70));
        assert_eq!(result.is_err(), is_new, "a monitor that has missed inputs does not know the pod");
        assert_eq!(monitor.numeric, numeric);
    }
}
