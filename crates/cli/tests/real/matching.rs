//! Tests which pods leave and which stay: matching, effects, seconds.

use super::harness::{Goes, PodFate, RealPod, ScenarioHarness, Stays, let_controllers_observe, seconds};
use serde_json::{Value, json};
use std::time::Duration;
use taintward_envtest::Release;
use taintward_envtest::fixtures::{create_node, no_execute, pod};
use testkit::toleration_row;
use testkit::wait::until_true;

/// On a busy machine, an event arrives within this if it arrives at all.
const EVENT_MAX: Duration = Duration::from_secs(10);

/// TE-17a, TE-30, TE-31, TE-34, D4, D5, D8, S1, S10: an untolerated taint evicts immediately: condition, DELETE with
/// preconditions, event. One read of the node serves all its pods.
pub(crate) async fn an_untolerated_pod_is_marked_deleted_and_reported(harness: &ScenarioHarness<'_>) {
    harness.create_node("who-plain").await;
    let plain = harness.create_pod(pod("who-plain", "who-plain").grace(30)).await;
    let mut crowd = Vec::new();
    for number in 0..20 {
        crowd.push(harness.create_pod(pod(&format!("who-crowd-{number}"), "who-plain")).await);
    }
    let_controllers_observe().await;
    let generation = harness.find(&plain).await.unwrap()["metadata"]["generation"].clone();
    assert!(harness.witness.writes_on_pod("who-plain").is_empty(), "no pod leaves without a taint");

    let done = harness.set_taints("who-plain", &[no_execute("who", "now")]).await;
    harness.goes(&plain, done, 0.0).await;
    for pod in &crowd {
        harness.goes(pod, done, 0.0).await;
    }

    let object = harness.find(&plain).await.unwrap();
    let conditions = object["status"]["conditions"].as_array().unwrap();
    let condition = conditions.iter().find(|one| one["type"] == "DisruptionTarget").unwrap();
    assert_eq!(condition["status"], "True");
    assert_eq!(condition["reason"], "DeletionByTaintManager");
    assert_eq!(condition["message"], "Taint manager: deleting due to NoExecute taint");
    // 1.33 counts the generations of pods, but does not store them in conditions: its gate
    // PodObservedGenerationTracking is off.
    let is_kept = Release::chosen().unwrap().name() != "1.33";
    assert_eq!(condition["observedGeneration"], if is_kept { generation } else { Value::Null });
    assert!(condition["lastTransitionTime"].is_string());
    assert_eq!(object["metadata"]["deletionGracePeriodSeconds"], 30, "S10: the pod's own grace period");

    let writes = harness.witness.writes_on_pod("who-plain");
    let steps: Vec<_> =
        writes.iter().map(|one| (one.verb.as_str(), one.resource.as_str(), one.code)).collect();
    assert_eq!(steps, [("patch", "pods/status", 200), ("delete", "pods", 200)]);
    assert_eq!(writes[0].request["metadata"]["uid"], plain.uid.as_str());
    let demanded = &writes[1].request["preconditions"];
    assert_eq!(demanded["uid"], plain.uid.as_str());
    assert_eq!(demanded["resourceVersion"], writes[0].response["metadata"]["resourceVersion"]);
    one_event(harness, &plain).await;

    let checks =
        harness.witness.ours(|one| one.verb == "get" && one.resource == "nodes" && one.name == "who-plain");
    assert_eq!(checks.len(), 1, "D5: one read for all pods of a node");
}

async fn one_event(harness: &ScenarioHarness<'_>, pod: &RealPod) {
    let reported = async || !harness.witness.events_on(&pod.uid).is_empty();
    until_true("an event", EVENT_MAX, reported).await;
    let events = harness.witness.events_on(&pod.uid);
    assert_eq!(events.len(), 1);
    let event = &events[0].request;
    assert!(events[0].uri.starts_with("/apis/events.k8s.io/v1/"), "{}", events[0].uri);
    assert_eq!((&event["type"], &event["reason"]), (&json!("Normal"), &json!("TaintManagerEviction")));
    assert_eq!(event["reportingController"], "taint-eviction-controller");
    let about = &event["regarding"];
    let expected = json!({
        "apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": pod.name, "uid": pod.uid,
    });
    assert_eq!(*about, expected);
    let note = event["note"].as_str().unwrap();
    assert!(note.starts_with(&format!("Marking for deletion Pod default/{}", pod.name)), "{note}");
    assert!(note.contains("who=now:NoExecute") && note.contains("who-plain"), "{note}");
    assert!(events[0].received > harness.witness.deleted(&pod.uid).unwrap(), "D8: after the fact");
}

/// TE-22: only NoExecute evicts running pods.
pub(crate) async fn other_effects_evict_no_pod(harness: &ScenarioHarness<'_>) {
    harness.create_node("who-effects").await;
    let pod = harness.create_pod(pod("who-effects", "who-effects")).await;
    let effects = ["NoSchedule", "PreferNoSchedule"];
    let taints = effects.map(|effect| json!({"key": "who", "value": "v", "effect": effect}));
    let done = harness.set_taints("who-effects", &taints).await;
    harness.meet(done, &[(pod.clone(), Stays)], 0.0).await;
    let done = harness.set_taints("who-effects", &[no_execute("who", "v")]).await;
    harness.goes(&pod, done, 0.0).await;
}

/// TE-17b, TE-19, TE-20, TE-25, D7: no seconds mean indefinitely, none left means now, N means N, and very many mean
/// very long.
pub(crate) async fn seconds_count_from_the_taint_and_saturate(harness: &ScenarioHarness<'_>) {
    harness.create_node("who-seconds").await;
    let mut fates = Vec::new();
    for (number, (seconds, fate)) in [
        (Some(0), Goes(0.0)),
        (Some(-1), Goes(0.0)),
        (Some(i64::MIN), Goes(0.0)),
        (Some(2), Goes(2.0)),
        (Some(5), Goes(5.0)),
        (None, Stays),
        (Some(9_223_372_036), Stays),
        (Some(9_223_372_037), Stays),
        (Some(18_446_744_073), Stays),
        (Some(18_446_744_074), Stays),
        (Some(18_446_744_075), Stays),
        (Some(i64::MAX), Stays),
    ]
    .into_iter()
    .enumerate()
    {
        let pod = pod(&format!("who-seconds-{number}"), "who-seconds").bearing("who", seconds);
        fates.push((harness.create_pod(pod).await, fate));
    }
    let_controllers_observe().await;
    let done = harness.set_taints("who-seconds", &[no_execute("who", "v")]).await;
    harness.meet(done, &fates, 5.0).await;
}

/// MATCH-4, MATCH-6, MATCH-9, TE-17b: which toleration matches which taint. The first match counts, not the longest;
/// the shortest over all taints decides; numeric operators match nothing while their gate is off.
pub(crate) async fn the_first_matching_toleration_decides(harness: &ScenarioHarness<'_>) {
    harness.create_node("who-match").await;
    let cases: [(&str, &[&str], PodFate); 15] = [
        ("equal", &["k Equal 5 NoExecute"], Stays),
        ("other-value", &["k Equal 6 NoExecute"], Goes(0.0)),
        ("no-operator", &["k - 5 NoExecute"], Stays),
        ("no-operator-other", &["k - 6 NoExecute"], Goes(0.0)),
        ("exists", &["k Exists - NoExecute"], Stays),
        ("every-key", &["- Exists - NoExecute"], Stays),
        ("every-effect", &["k Exists"], Stays),
        ("everything", &["- Exists"], Stays),
        ("other-effect", &["k Exists - NoSchedule"], Goes(0.0)),
        ("other-key", &["l Exists - NoExecute"], Goes(0.0)),
        ("longer-key", &["kk Exists - NoExecute"], Goes(0.0)),
        ("hasty-first", &["k Exists - NoExecute 3", "k Equal 5 NoExecute"], Goes(3.0)),
        ("patient-first", &["k Equal 5 NoExecute", "k Exists - NoExecute 3"], Stays),
        ("greater", &["k Gt 1 NoExecute"], Goes(0.0)),
        ("less", &["k Lt 9 NoExecute"], Goes(0.0)),
    ];
    let mut fates = Vec::new();
    let known = |name: &str| harness.cluster.comparison_operators() || !["greater", "less"].contains(&name);
    for (name, tolerations, fate) in cases.into_iter().filter(|(name, ..)| known(name)) {
        let pod = pod(&format!("who-match-{name}"), "who-match");
        let pod = tolerations.iter().fold(pod, |pod, row| pod.tolerating(toleration_row(row)));
        fates.push((harness.create_pod(pod).await, fate));
    }
    let_controllers_observe().await;
    let done = harness.set_taints("who-match", &[no_execute("k", "5")]).await;
    harness.meet(done, &fates, 3.0).await;
}

/// Names as odd as the server accepts them; a taint is matched by its whole key.
pub(crate) async fn odd_names_are_names(harness: &ScenarioHarness<'_>) {
    let node = format!("who-odd.{}", "n".repeat(55) + ".x-1");
    let key = format!("{}.example/{}", "a".repeat(60), "K_.-k".repeat(12) + "z");
    let value = "V_.-v".repeat(12) + "z";
    harness.create_node(&node).await;
    let long = format!("who-odd.{}", "p.".repeat(122) + "q");
    assert_eq!(long.len(), 253);
    let same = toleration_row(&format!("{key} Equal {value} NoExecute"));
    let stays = harness.create_pod(pod("who-odd-stays", &node).tolerating(same)).await;
    let goes = harness.create_pod(pod(&long, &node).bearing(&key, Some(2))).await;
    let close = harness.create_pod(pod("who-odd-close", &node).bearing(&key[1..], None)).await;
    let_controllers_observe().await;
    let taint = format!("{key}={value}:NoExecute");
    let done = harness.kubectl(&["taint", "nodes", &node, &taint]).await;
    harness.meet(done, &[(close, Goes(0.0)), (goes.clone(), Goes(2.0)), (stays, Stays)], 2.0).await;
    one_odd_event(harness, &goes).await;
}

async fn one_odd_event(harness: &ScenarioHarness<'_>, pod: &RealPod) {
    let created = async || harness.witness.events_on(&pod.uid).iter().any(|event| event.code == 201);
    until_true(&format!("an event about {}", pod.name), EVENT_MAX, created).await;
}

/// Thousands of taints and tolerations.
pub(crate) async fn a_thousand_taints_are_answered_each(harness: &ScenarioHarness<'_>) {
    const MANY: usize = 1_000;
    let key = |number: usize| format!("who.example/{number:04}");
    let taints: Vec<Value> = (0..MANY).map(|number| no_execute(&key(number), "v")).collect();
    let bearing = |name: &str, all: &dyn Fn(usize) -> Option<Option<i64>>| {
        let mut pod = pod(name, "who-many");
        for (number, seconds) in (0..MANY).filter_map(|number| Some((number, all(number)?))) {
            pod = pod.bearing(&key(number), seconds);
        }
        pod
    };
    create_node(&harness.admin, "who-many", &[]).await.unwrap();
    let all = harness.create_pod(bearing("who-many-all", &|_| Some(None))).await;
    let every =
        harness.create_pod(pod("who-many-every", "who-many").tolerating(json!({"operator": "Exists"}))).await;
    let but_one =
        harness.create_pod(bearing("who-many-but-one", &|number| (number != 777).then_some(None))).await;
    let one_short =
        harness.create_pod(bearing("who-many-short", &|number| Some((number == 500).then_some(4)))).await;
    let_controllers_observe().await;
    let done = harness.set_taints("who-many", &taints).await;
    let fates = [(but_one, Goes(0.0)), (one_short, Goes(4.0)), (all, Stays), (every.clone(), Stays)];
    harness.meet(done, &fates, 4.0).await;
    harness.stays_until(&every, done.before + seconds(6.0)).await;
}
