//! Tests each property both ways: with a history that holds it, and with one that violates it.

mod reordered;

use super::EvictionMonitor;
use super::monitored_pod::UidHash;
use crate::api_error::ApiFailure;
use crate::engine::LiveRead;
use crate::engine_monitor::{EngineMonitor as _, RequestProperty};
use crate::eviction::{EvictionEffect, EvictionInput};
use crate::fact::{NodeFact, PodFact, PodLifePhase};
use crate::identity::{NodeName, PodName, ResourceVersion};
use crate::object_event::{ObjectEvent, ObjectRef};
use crate::testkit::{node, pod, pod_ref, taint, toleration, toleration_of};
use crate::time::{Mono, Now, Wall};
use crate::toleration_matching::NumericOperators;

fn at(second: i64) -> Now {
    Now::exact(Mono::from_secs(second), Wall::from_secs(1_800_000_000 + second))
}

/// A history: node `n1` and pod `p`, whose toleration of taint `k` ends after 60 s, both listed in second 0.
#[derive(Clone)]
struct MonitorHarness {
    monitor: EvictionMonitor,
}

impl MonitorHarness {
    fn new() -> Self {
        let mut harness = Self { monitor: EvictionMonitor::of_new_engine(NumericOperators::Off) };
        harness.input(EvictionInput::Nodes(ObjectEvent::ListStarted { silent_since: None }), 0);
        harness.node(node("n1"), true, 0);
        harness.input(EvictionInput::Nodes(ObjectEvent::ListCompleted), 0);
        harness.input(EvictionInput::Pods(ObjectEvent::ListStarted { silent_since: None }), 0);
        harness.pod(counting(5), true, 0);
        harness.input(EvictionInput::Pods(ObjectEvent::ListCompleted), 0);
        harness
    }

    /// The same, with the taint from second 10 on, and a read of the node in second 70.
    fn due() -> Self {
        let mut harness = Self::new();
        harness.node(tainted(), false, 10);
        harness.read(tainted(), 70);
        harness
    }

    /// The same, with the condition set in second 70.
    fn marked() -> Self {
        let mut harness = Self::due();
        let mark = EvictionEffect::SetDisruptionTarget {
            pod: pod_ref("p"),
            name: PodName::new("default", "p"),
            version: Some(ResourceVersion(5)),
            generation: 1,
            slow: false,
        };
        assert_eq!(harness.monitor.effect(&mark, at(70)), Ok(()));
        assert_eq!(harness.clone().idle_until(70, 140), None, "the request has no response yet");
        harness.input(EvictionInput::Marked { pod: pod_ref("p"), result: Ok(Some(ResourceVersion(6))) }, 70);
        harness
    }

    fn input(&mut self, input: EvictionInput, second: i64) {
        self.monitor.input(&input, at(second));
    }

    fn node(&mut self, fact: NodeFact, listed: bool, second: i64) {
        self.input(EvictionInput::Nodes(ObjectEvent::Applied { fact, listed }), second);
    }

    fn pod(&mut self, fact: PodFact, listed: bool, second: i64) {
        self.input(EvictionInput::Pods(ObjectEvent::Applied { fact, listed }), second);
    }

    fn read(&mut self, fact: NodeFact, second: i64) {
        let (node, sent) = (fact.name.clone(), at(second).mono);
        self.input(EvictionInput::NodeConfirmed { node, sent, result: Ok(LiveRead::Found(fact)) }, second);
    }

    /// The property that is violated while the engine is called every five seconds, and has nothing to do.
    fn idle_until(&mut self, from: i64, until: i64) -> Option<&'static str> {
        let mut calls = (from..until).step_by(5).chain([until]);
        let violation = calls.find_map(|second| self.monitor.idle(at(second)).err());
        violation.map(|violation| violation.property.id())
    }

    /// The property that a deletion violates, which rests on the read of second 70.
    fn deletion(&self, second: i64) -> Option<RequestProperty> {
        self.violated(&deletion("default/p", Some(5)), second)
    }

    fn violated(&self, effect: &EvictionEffect, second: i64) -> Option<RequestProperty> {
        self.monitor.clone().effect(effect, at(second)).err().map(|violation| violation.property)
    }
}

fn counting(version: u64) -> PodFact {
    pod("p").at_version(version).tolerates([toleration("k", Some(60))])
}

fn tainted() -> NodeFact {
    node("n1").tainted([taint("k")])
}

fn deletion(name: &str, version: Option<u64>) -> EvictionEffect {
    let (namespace, name) = name.split_once('/').unwrap();
    EvictionEffect::DeletePod {
        pod: pod_ref("p"),
        name: PodName::new(namespace, name),
        version: version.map(ResourceVersion),
        confirmed: at(70).mono,
        slow: false,
        grace_seconds: None,
    }
}

#[test]
fn s1_the_right_pod_in_a_version_that_was_observed() {
    let mut harness = MonitorHarness::due();
    assert_eq!(harness.deletion(70), None);
    assert_eq!(harness.violated(&deletion("default/p", None), 70), None);
    for wrong in [deletion("default/p", Some(4)), deletion("default/q", Some(5))] {
        assert_eq!(harness.violated(&wrong, 70), Some(RequestProperty::RightPod));
    }
    // The version of the response to the condition counts as well.
    let result = Ok(Some(ResourceVersion(8)));
    harness.input(EvictionInput::Marked { pod: pod_ref("p"), result }, 70);
    assert_eq!(harness.violated(&deletion("default/p", Some(8)), 70), None);
    harness.input(EvictionInput::Pods(ObjectEvent::Deleted(ObjectRef::from(pod_ref("p")))), 70);
    assert_eq!(harness.deletion(70), Some(RequestProperty::RightPod));
}

#[test]
fn s2_a_recent_read_of_the_node_and_complete_lists() {
    let harness = MonitorHarness::due();
    assert_eq!((harness.deletion(75), harness.deletion(76)), (None, Some(RequestProperty::Confirmed)));
    let mut unread = MonitorHarness::new();
    unread.node(tainted(), false, 10);
    assert_eq!(unread.deletion(70), Some(RequestProperty::Confirmed));
    // The condition comes before the read.
    let (pod, name) = (pod_ref("p"), PodName::new("default", "p"));
    let mark = EvictionEffect::SetDisruptionTarget { pod, name, version: None, generation: 1, slow: false };
    assert_eq!(unread.violated(&mark, 70), None);
    let mut early = EvictionMonitor::of_new_engine(NumericOperators::Off);
    let violation = early.effect(&deletion("default/p", None), at(70)).unwrap_err();
    assert_eq!(
        alloc::string::ToString::to_string(&violation),
        "S2: pod default/p (UID p) on node n1: the first lists are not complete"
    );
    // A monitor that did not see the begin knows nothing of the pod.
    let mut late = EvictionMonitor::of_running_engine(NumericOperators::Off);
    assert_eq!(late.effect(&deletion("default/p", None), at(70)), Ok(()));
}

#[test]
fn s3_not_before_its_tolerations_end() {
    let mut harness = MonitorHarness::new();
    harness.node(tainted(), false, 11);
    harness.read(tainted(), 70);
    assert_eq!((harness.deletion(70), harness.deletion(71)), (Some(RequestProperty::NotEarly), None));
    // The read shows that the taint is gone, or the pod tolerates it.
    harness.read(node("n1"), 70);
    assert_eq!(harness.deletion(71), Some(RequestProperty::NotEarly));
    for tolerations in
        [toleration("k", None), toleration_of("k", "Near", "", "NoExecute"), toleration("k", Some(61))]
    {
        let mut harness = MonitorHarness::due();
        harness.pod(counting(5).tolerates([tolerations]), false, 20);
        assert_eq!(harness.deletion(70), Some(RequestProperty::NotEarly));
    }
    // A taint that was listed may be older than the list, but not than its timeAdded.
    for (added, violated) in [(10, None), (11, Some(RequestProperty::NotEarly))] {
        let mut harness = MonitorHarness::new();
        let listed = node("n1").tainted([taint("k").added(at(added).wall)]);
        harness.node(listed.clone(), true, 69);
        harness.read(listed, 70);
        assert_eq!(harness.deletion(70), violated);
    }
    // An engine that knew the taint before its timeAdded was changed counts from before.
    let mut running = EvictionMonitor::of_running_engine(NumericOperators::Off);
    let replaced = node("n1").tainted([taint("k").added(at(69).wall)]);
    running
        .input(&EvictionInput::Nodes(ObjectEvent::Applied { fact: replaced.clone(), listed: false }), at(69));
    running.input(&EvictionInput::Pods(ObjectEvent::Applied { fact: counting(5), listed: false }), at(69));
    let (node, sent) = (replaced.name.clone(), at(70).mono);
    let result = Ok(LiveRead::Found(replaced));
    running.input(&EvictionInput::NodeConfirmed { node, sent, result }, at(70));
    assert_eq!(running.effect(&deletion("default/p", Some(5)), at(70)), Ok(()));
    let mut unknown = MonitorHarness::new();
    unknown.node(tainted(), true, 69);
    unknown.read(tainted(), 70);
    assert_eq!(unknown.deletion(70), None);
}

#[test]
fn s10_one_deletion_of_a_live_pod() {
    let mut harness = MonitorHarness::due();
    harness.input(EvictionInput::Deleted { pod: pod_ref("p"), result: Ok(()) }, 70);
    assert_eq!(harness.deletion(71), Some(RequestProperty::Once));
    harness.pod(counting(6), false, 72);
    assert_eq!(harness.deletion(72), None, "it lives in a newer version");
    for fact in [
        PodFact { life_phase: PodLifePhase::Terminating, ..counting(6) },
        PodFact { life_phase: PodLifePhase::Finished, ..counting(6) },
        PodFact { mirror: true, ..counting(6) },
    ] {
        let mut harness = MonitorHarness::due();
        harness.pod(fact, false, 69);
        assert_eq!(harness.deletion(70), Some(RequestProperty::Once));
    }
    // A list that began after the deletion shows the pod: it was not carried out.
    let mut listed = MonitorHarness::due();
    listed.input(EvictionInput::Deleted { pod: pod_ref("p"), result: Ok(()) }, 70);
    listed.input(EvictionInput::Pods(ObjectEvent::ListStarted { silent_since: None }), 71);
    listed.pod(counting(5), true, 71);
    assert_eq!(listed.deletion(72), None);
}

#[test]
fn s11_nothing_that_cannot_be_decoded() {
    let mut harness = MonitorHarness::due();
    harness.input(EvictionInput::Pods(ObjectEvent::Undecodable(pod_ref("p").into())), 70);
    assert_eq!(harness.deletion(70), Some(RequestProperty::Decoded));
    harness.pod(counting(5), false, 70);
    assert_eq!(harness.deletion(70), None);
    let object = ObjectRef::node(&NodeName::new("n1"), None);
    harness.input(EvictionInput::Nodes(ObjectEvent::Undecodable(object)), 70);
    assert_eq!(harness.deletion(70), Some(RequestProperty::Decoded));
}

#[test]
fn s9_no_condition_stays_without_a_further_request() {
    let pod = || pod_ref("p");
    let idle_at = |inputs: &[(EvictionInput, i64)], second| {
        let mut harness = MonitorHarness::marked();
        let mut called = 70;
        for (input, second) in inputs {
            assert_eq!(harness.idle_until(called, *second), None);
            harness.input(input.clone(), *second);
            called = *second;
        }
        harness.idle_until(called, second)
    };
    assert_eq!((idle_at(&[], 130), idle_at(&[], 136)), (None, Some("S9")));
    let rejected = || [(EvictionInput::Deleted { pod: pod(), result: Err(ApiFailure::Forbidden) }, 100)];
    assert_eq!((idle_at(&rejected(), 160), idle_at(&rejected(), 166)), (None, Some("S9")));
    let unread = EvictionInput::NodeConfirmed {
        node: NodeName::new("n1"),
        sent: at(99).mono,
        result: Err(ApiFailure::Unavailable),
    };
    assert_eq!(idle_at(&[(unread, 100)], 150), None, "others wait for a request that fails");
    // The engine is not called from second 75 to 1000.
    let suspended = |second| {
        let mut harness = MonitorHarness::marked();
        assert_eq!(harness.idle_until(70, 75), None);
        harness.idle_until(1_000, second)
    };
    assert_eq!((suspended(1_045), suspended(1_055)), (None, Some("S9")));
    let gone = ObjectEvent::Deleted(pod().into());
    for end in [
        EvictionInput::Deleted { pod: pod(), result: Ok(()) },
        EvictionInput::Unmarked { pod: pod(), result: Ok(()) },
        EvictionInput::PodRead { pod: pod(), result: Ok(LiveRead::NotFound), half_deleted: false },
        EvictionInput::PodRead { pod: pod(), result: Err(ApiFailure::NotFound), half_deleted: false },
        EvictionInput::Pods(gone),
    ] {
        assert_eq!(idle_at(&[(end.clone(), 71)], 300), None, "{end:?}");
    }
}
