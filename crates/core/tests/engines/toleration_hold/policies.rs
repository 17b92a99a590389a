//! Tests which pods backfill checks again when namespaces and policies change, and when it writes the progress of a policy.

use crate::common::monitored::MonitoredEngine;
use crate::toleration_hold::script::{
    DEFAULT, HoldScript, ScriptInput, Settings, held_pod, hold_node, list, namespace, policies, policy,
};
use taintward_core::admission::LabelSelector;
use taintward_core::admission::pod_toleration_restriction::{
    NamespaceTolerationLists, TolerationListAnnotation,
};
use taintward_core::admission::policy::TolerationPolicy;
use taintward_core::admission::request::NamespaceFact;
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::{Engine as _, Lane};
use taintward_core::identity::{PodId, PodName, ResourceVersion, Uid};
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::testkit::{node_health_tolerations, toleration};
use taintward_core::time::Mono;
use taintward_core::toleration_seconds::{
    BackfillPolicyFact, BackfillProgress, HeldPodFact, NodeHoldRequest, SecondsNamespaceFact,
    TolerationSecondsEffect, TolerationSecondsEngine,
};

const BACKFILL: Settings = Settings { hold: None, backfill: Some(1_000), guard: None };

fn pod_of(namespace: &str, name: &str, seconds: i64) -> HeldPodFact {
    HeldPodFact {
        id: PodId::new(Uid::new(name), PodName::new(namespace, name)),
        tolerations: node_health_tolerations(Some(seconds), Some(seconds)),
        ..held_pod(name, "a1", 1)
    }
}

fn script(pods: Vec<HeldPodFact>) -> HoldScript {
    HoldScript::new(BACKFILL, vec![hold_node("a1", 1, None, NodeHoldRequest::None)], pods)
}

fn namespace_of(name: &str, team: &str) -> SecondsNamespaceFact {
    let labels = [("team".into(), team.into())].into();
    SecondsNamespaceFact { name: name.into(), facts: NamespaceFact { labels, ..NamespaceFact::default() } }
}

/// A policy for the namespaces of a team.
fn policy_of(team: &str, seconds: i64, version: u64) -> BackfillPolicyFact {
    let fact = policy(seconds, version);
    let namespaces = LabelSelector::of_labels([("team", team)]);
    let policy = TolerationPolicy { name: team.into(), namespaces, ..fact.policy };
    BackfillPolicyFact { uid: Uid::new(team), policy, ..fact }
}

fn observe_namespace(script: &mut HoldScript, fact: SecondsNamespaceFact) {
    script.receive(ScriptInput::Namespaces(ObjectEvent::Applied { fact, listed: false }));
}

fn observe_policy(script: &mut HoldScript, fact: BackfillPolicyFact) {
    script.receive(policies(ObjectEvent::Applied { fact, listed: false }));
}

fn named(name: &str) -> ObjectRef {
    ObjectRef { name: name.into(), ..ObjectRef::default() }
}

/// The seconds of the pods, in the order of their names, once each patch is carried out.
fn seconds(script: &mut HoldScript) -> Vec<(String, i64)> {
    for _ in 0..10 {
        script.settle();
        script.pass(1_000);
    }
    let own = |pod: &HeldPodFact| {
        (pod.id.name().name().to_owned(), pod.tolerations[0].seconds.expect("it has seconds"))
    };
    let mut all: Vec<_> = script.pods.iter().map(own).collect();
    all.sort_unstable();
    all
}

fn pods(expected: &[(&str, i64)]) -> Vec<(String, i64)> {
    expected.iter().map(|&(name, seconds)| (name.to_owned(), seconds)).collect()
}

/// Two teams with policies of their own, and one without.
fn teams() -> HoldScript {
    let all = [("red", "a"), ("blue", "b"), ("grey", "c")]
        .map(|(namespace, name)| pod_of(namespace, name, DEFAULT));
    let mut script = script(all.to_vec());
    let namespaces = ["red", "blue", "grey"].map(|name| namespace_of(name, name));
    script.receive_all(list(namespaces, ScriptInput::Namespaces));
    script.receive_all(list([policy_of("blue", 60, 1), policy_of("red", 90, 1)], policies));
    script
}

#[test]
fn each_namespace_has_the_policy_that_selects_it() {
    let mut script = teams();
    assert_eq!(seconds(&mut script), pods(&[("a", 90), ("b", 60), ("c", DEFAULT)]));
    observe_namespace(&mut script, namespace_of("red", "blue"));
    assert_eq!(
        seconds(&mut script),
        pods(&[("a", 60), ("b", 60), ("c", DEFAULT)]),
        "its labels have changed"
    );
    observe_namespace(&mut script, namespace_of("grey", "red"));
    assert_eq!(seconds(&mut script), pods(&[("a", 60), ("b", 60), ("c", 90)]));
}

#[test]
fn pods_of_an_unknown_namespace_wait() {
    let gone: [fn(&mut HoldScript); 3] = [
        |script| script.receive(ScriptInput::Namespaces(ObjectEvent::Deleted(named("red")))),
        |script| script.receive(ScriptInput::Namespaces(ObjectEvent::Undecodable(named("red")))),
        |script| {
            let others = ["blue", "grey"].map(|name| namespace_of(name, name));
            script.receive_all(list(others, ScriptInput::Namespaces));
        },
    ];
    for (case, gone) in gone.into_iter().enumerate() {
        let mut script = teams();
        seconds(&mut script);
        gone(&mut script);
        let version = script.next_version();
        let late = HeldPodFact { version: Some(ResourceVersion(version)), ..pod_of("red", "d", DEFAULT) };
        script.observe_pod(late);
        let expected = [("a", 90), ("b", 60), ("c", DEFAULT), ("d", DEFAULT)];
        assert_eq!(seconds(&mut script), pods(&expected), "case {case}");
        observe_namespace(&mut script, namespace_of("red", "red"));
        let expected = [("a", 90), ("b", 60), ("c", DEFAULT), ("d", 90)];
        assert_eq!(seconds(&mut script), pods(&expected), "case {case}");
    }
}

#[test]
fn pods_get_other_seconds_when_their_policy_changes_or_is_gone() {
    let mut script = teams();
    seconds(&mut script);
    observe_policy(&mut script, policy_of("red", 60, 5));
    assert_eq!(seconds(&mut script), pods(&[("a", 60), ("b", 60), ("c", DEFAULT)]));
    observe_policy(&mut script, policy_of("red", 90, 4));
    assert_eq!(seconds(&mut script), pods(&[("a", 60), ("b", 60), ("c", DEFAULT)]), "an older version");
    script.receive(policies(ObjectEvent::Deleted(named("red"))));
    assert_eq!(seconds(&mut script), pods(&[("a", DEFAULT), ("b", 60), ("c", DEFAULT)]));
    // A list with an older version is one of a restored store; the other policy is gone.
    script.receive_all(list([policy_of("red", 90, 1)], policies));
    assert_eq!(seconds(&mut script), pods(&[("a", 90), ("b", DEFAULT), ("c", DEFAULT)]));
    script.receive_all(list([policy_of("red", 60, 0)], policies));
    assert_eq!(seconds(&mut script), pods(&[("a", 60), ("b", DEFAULT), ("c", DEFAULT)]));
}

#[test]
fn backfill_goes_on_when_the_policy_that_cannot_be_decoded_is_deleted() {
    for name in ["other", "red"] {
        let mut script = teams();
        script.receive(policies(ObjectEvent::Undecodable(named(name))));
        let unchanged = pods(&[("a", DEFAULT), ("b", DEFAULT), ("c", DEFAULT)]);
        assert_eq!(seconds(&mut script), unchanged);
        script.receive(policies(ObjectEvent::Deleted(named(name))));
        let a = if name == "red" { DEFAULT } else { 90 };
        assert_eq!(seconds(&mut script), pods(&[("a", a), ("b", 60), ("c", DEFAULT)]), "{name}");
    }
    let mut script = teams();
    script.receive(policies(ObjectEvent::Undecodable(named("red"))));
    observe_policy(&mut script, policy_of("red", 60, 2));
    assert_eq!(seconds(&mut script), pods(&[("a", 60), ("b", 60), ("c", DEFAULT)]), "it is corrected");
}

/// AD-8: the namespace's own tolerations follow the defaults of a new pod.
#[test]
fn default_tolerations_before_those_of_the_namespace_are_replaced() {
    let own = toleration("team", None);
    let lists = NamespaceTolerationLists {
        defaults: TolerationListAnnotation::Present(vec![own.clone()]),
        ..NamespaceTolerationLists::default()
    };
    let mut pod = held_pod("p", "a1", 1);
    pod.tolerations.push(own);
    let mut script = script(vec![pod]);
    assert_eq!(seconds(&mut script), pods(&[("p", DEFAULT)]), "it looks as if its author had written them");
    let with_defaults = NamespaceFact { lists, ..NamespaceFact::default() };
    observe_namespace(&mut script, SecondsNamespaceFact { name: "shop".into(), facts: with_defaults });
    assert_eq!(seconds(&mut script), pods(&[("p", 600)]));
}

#[test]
fn the_guard_needs_namespaces_and_backfill_also_needs_policies() {
    for (settings, with_namespaces, with_policies, expected) in [
        (BACKFILL, true, false, false),
        (BACKFILL, false, true, false),
        (BACKFILL, true, true, true),
        (Settings { guard: Some(10), ..Settings::default() }, true, false, true),
        (Settings { guard: Some(10), ..Settings::default() }, false, true, false),
    ] {
        let mut script = HoldScript::new(settings, Vec::new(), Vec::new());
        let backfill = settings.backfill.map(|per_second| {
            taintward_core::toleration_seconds::BackfillSettings { replaced: Vec::new(), per_second }
        });
        let guard =
            settings.guard.map(|per_second| taintward_core::toleration_seconds::GuardSettings { per_second });
        script.engine = MonitoredEngine::new(TolerationSecondsEngine::new(None, backfill, guard));
        script.receive_all(list([hold_node("a1", 1, None, NodeHoldRequest::None)], ScriptInput::Nodes));
        script.receive_all(list([held_pod("p", "a1", 1)], ScriptInput::Pods));
        if with_namespaces {
            script.receive_all(list([namespace(None)], ScriptInput::Namespaces));
        }
        if with_policies {
            script.receive_all(list([policy(600, 1)], policies));
        }
        assert_eq!(script.engine.is_synced(), expected, "{settings:?}: {with_namespaces}, {with_policies}");
    }
}

/// Pulls until there is nothing, and returns the progress that was written, with its result.
fn progress(script: &mut HoldScript, result: Result<(), ApiFailure>) -> Vec<BackfillProgress> {
    let mut written = Vec::new();
    // A check of a pod is counted with the next tick.
    for _ in 0..2 {
        while let Some(effect) = script.engine.next_effect(Lane::All, script.now()) {
            let TolerationSecondsEffect::WriteStatus(write) = effect else { panic!("{effect:?}") };
            written.push(write.progress);
            script.receive(ScriptInput::StatusDone { write, result });
        }
        script.pass(0);
    }
    written
}

const fn all_current(generation: i64) -> BackfillProgress {
    BackfillProgress { generation, current: 1, pending: 0, own: 0 }
}

/// One pod, which has the seconds of its policy, and its progress written at zero.
fn counted() -> HoldScript {
    let mut script = script(vec![pod_of("shop", "p", 600)]);
    assert_eq!(progress(&mut script, Ok(())), [all_current(1)]);
    script
}

#[test]
fn progress_is_written_once_and_again_when_another_writer_changes_it() {
    let mut script = counted();
    for _ in 0..20 {
        script.pass(1_000);
        assert_eq!(progress(&mut script, Ok(())), []);
        assert_eq!(script.engine.next_wakeup(), None, "nothing has progressed");
    }
    // The watch delivers what was written.
    let own = BackfillPolicyFact { progress: Some(all_current(1)), ..policy(600, 2_000) };
    observe_policy(&mut script, own.clone());
    script.pass(10_000);
    assert_eq!(progress(&mut script, Ok(())), []);
    observe_policy(&mut script, BackfillPolicyFact { progress: None, ..policy(600, 2_001) });
    assert_eq!(progress(&mut script, Ok(())), [all_current(1)]);
    script.pass(10_000);
    observe_policy(&mut script, BackfillPolicyFact { generation: 2, ..own });
    assert_eq!(progress(&mut script, Ok(())), []);
    let next = BackfillPolicyFact { generation: 2, progress: Some(all_current(1)), ..policy(600, 2_002) };
    observe_policy(&mut script, next);
    script.pass(10_000);
    assert_eq!(progress(&mut script, Ok(())), [all_current(2)], "the policy has another generation");
}

#[test]
fn progress_is_written_after_five_seconds_at_the_earliest_and_then_without_delay() {
    let mut script = counted();
    script.pass(1_000);
    observe_policy(&mut script, BackfillPolicyFact { generation: 2, ..policy(600, 2_000) });
    for _ in 0..4 {
        assert_eq!(progress(&mut script, Ok(())), []);
        assert_eq!(script.engine.next_wakeup(), Some(Mono::from_secs(5)));
        script.pass(1_000);
    }
    assert_eq!(progress(&mut script, Ok(())), [all_current(2)]);
    assert_eq!(script.engine.next_wakeup(), None);
    // A policy that cannot be decoded stops the count, too.
    observe_policy(&mut script, BackfillPolicyFact { generation: 3, ..policy(600, 2_001) });
    script.receive(policies(ObjectEvent::Undecodable(named("other"))));
    assert_eq!(script.engine.next_wakeup(), None);
    script.pass(10_000);
    assert_eq!(progress(&mut script, Ok(())), []);
}

#[test]
fn progress_that_was_not_written_is_written_again() {
    let mut script = script(vec![pod_of("shop", "p", 600)]);
    for _ in 0..3 {
        assert_eq!(progress(&mut script, Err(ApiFailure::Unavailable)), [all_current(1)]);
        script.pass(5_000);
    }
    assert_eq!(progress(&mut script, Ok(())), [all_current(1)]);
    script.pass(5_000);
    assert_eq!(progress(&mut script, Ok(())), []);
}
