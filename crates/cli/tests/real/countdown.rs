//! Tests changes during a countdown: taints removed or added, tolerations changed (D2).

use super::harness::{
    BEYOND, Goes, LATE_MAX, ScenarioHarness, Stays, let_controllers_observe, let_seconds_pass,
    let_time_pass_until, seconds,
};
use serde_json::json;
use taintward_envtest::api::PatchType;
use taintward_envtest::fixtures::{add_toleration, no_execute, pod, set_seconds};

/// TE-13, TE-34, P6: a pod whose node is untainted in time stays, with an event; when the node is tainted again, the
/// pod gets its full time.
pub(crate) async fn untainted_in_time_stays(harness: &ScenarioHarness<'_>) {
    harness.create_node("cd-untaint").await;
    let counting = harness.create_pod(pod("cd-untaint", "cd-untaint").bearing("cd", Some(4))).await;
    let patient = harness.create_pod(pod("cd-untaint-patient", "cd-untaint").bearing("cd", None)).await;
    let_controllers_observe().await;
    let done = harness.set_taints("cd-untaint", &[no_execute("cd", "v")]).await;
    let_seconds_pass(1.5, "the countdown is under way").await;
    let untainted = harness.set_taints("cd-untaint", &[]).await;
    assert!(untainted.before < done.after + seconds(4.0), "this machine is too slow for this scenario");
    harness.meet(done, &[(counting.clone(), Stays), (patient.clone(), Stays)], 4.0).await;

    let events = harness.witness.events_on(&counting.uid);
    assert_eq!(events.len(), 1);
    let note = events[0].request["note"].as_str().unwrap();
    assert!(note.starts_with("Cancelling deletion of Pod default/cd-untaint"), "{note}");
    assert_eq!(events[0].request["reason"], "TaintManagerEviction");
    assert!(harness.witness.events_on(&patient.uid).is_empty(), "no countdown, no event");

    let done = harness.set_taints("cd-untaint", &[no_execute("cd", "v")]).await;
    harness.goes(&counting, done, 4.0).await;
}

/// D2, MATCH-9, VAL-6: a toleration added in time before the deciding one makes the pod stay; one added after it
/// changes nothing.
pub(crate) async fn a_toleration_added_in_time_counts_where_it_stands(harness: &ScenarioHarness<'_>) {
    harness.create_node("cd-add").await;
    let first = harness.create_pod(pod("cd-add-first", "cd-add").bearing("cd", Some(4))).await;
    let last = harness.create_pod(pod("cd-add-last", "cd-add").bearing("cd", Some(4))).await;
    let_controllers_observe().await;
    let done = harness.set_taints("cd-add", &[no_execute("cd", "v")]).await;
    let_seconds_pass(1.0, "the countdown is under way").await;
    let toleration = json!({"key": "cd", "operator": "Equal", "value": "v", "effect": "NoExecute"});
    let patch = json!([{"op": "add", "path": "/spec/tolerations/0", "value": toleration}]).to_string();
    harness.kubectl(&["patch", "pod", "cd-add-first", "--type=json", "-p", &patch]).await;
    add_toleration(&harness.admin, "cd-add-last", toleration).await.unwrap();
    harness.meet(done, &[(last, Goes(4.0)), (first, Stays)], 4.0).await;
}

/// D2 (TE-18 today): with more seconds a pod leaves later, with fewer earlier, with less than the elapsed time
/// immediately; without any (indefinitely) it stays.
pub(crate) async fn changed_seconds_change_the_deadline(harness: &ScenarioHarness<'_>) {
    harness.create_node("cd-seconds").await;
    let named = |name: &str, seconds| {
        let pod = pod(&format!("cd-seconds-{name}"), "cd-seconds").bearing("cd", Some(seconds));
        harness.create_pod(pod)
    };
    let (longer, shorter) = (named("longer", 4).await, named("shorter", 60).await);
    let (passed, for_ever) = (named("passed", 60).await, named("for-ever", 4).await);
    let_controllers_observe().await;
    let done = harness.set_taints("cd-seconds", &[no_execute("cd", "v")]).await;
    let_seconds_pass(1.5, "the countdowns are under way").await;
    set_seconds(&harness.admin, &longer.name, 0, 8).await.unwrap();
    set_seconds(&harness.admin, &shorter.name, 0, 5).await.unwrap();
    let cut = super::harness::ActionTime::during(set_seconds(&harness.admin, &passed.name, 0, 1)).await;
    let path = format!("/api/v1/namespaces/default/pods/{}", for_ever.name);
    let patch = json!([{"op": "remove", "path": "/spec/tolerations/0/tolerationSeconds"}]).to_string();
    harness.admin.patch(&path, PatchType::Json, &patch).await.unwrap();
    harness.goes(&passed, cut, 0.0).await;
    harness.meet(done, &[(shorter, Goes(5.0)), (longer, Goes(8.0)), (for_ever, Stays)], 8.0).await;
}

/// D2, D1: a second, shorter taint brings the deadline forward; its removal restores the deadline of the first. Each
/// taint counts from its own start.
pub(crate) async fn a_second_taint_moves_the_deadline_and_its_end_moves_it_back(
    harness: &ScenarioHarness<'_>,
) {
    for node in ["cd-second", "cd-back"] {
        harness.create_node(node).await;
    }
    let both = |name: &str, first, second| {
        let pod = pod(name, name).bearing("cd", Some(first)).bearing("cd2", Some(second));
        harness.create_pod(pod)
    };
    let (sooner, back) = (both("cd-second", 60, 3).await, both("cd-back", 7, 3).await);
    let_controllers_observe().await;
    let (first, second) = (no_execute("cd", "v"), no_execute("cd2", "v"));
    harness.set_taints("cd-second", std::slice::from_ref(&first)).await;
    let started = harness.set_taints("cd-back", std::slice::from_ref(&first)).await;
    let_seconds_pass(1.0, "the first countdowns are under way").await;
    let shortened = harness.set_taints("cd-second", &[first.clone(), second.clone()]).await;
    let shorter = harness.set_taints("cd-back", &[first.clone(), second]).await;
    let_seconds_pass(1.0, "the shorter countdown is under way").await;
    let lengthened = harness.set_taints("cd-back", std::slice::from_ref(&first)).await;
    assert!(lengthened.before < shorter.after + seconds(3.0), "this machine is too slow for this scenario");
    harness.goes(&sooner, shortened, 3.0).await;
    harness.stays_until(&back, shorter.before + seconds(3.0) + BEYOND).await;
    harness.goes(&back, started, 7.0).await;
}

/// MATCH-1, D1, D2: a changed value does not start a new instance, so the deadline stays. A pod that does not tolerate
/// the new value goes immediately, and one that was going to leave may stay.
pub(crate) async fn another_value_is_the_same_taint(harness: &ScenarioHarness<'_>) {
    harness.create_node("cd-value").await;
    let equal = |name: &str, value: &str, seconds: Option<i64>| {
        let mut toleration = json!({"key": "cd", "operator": "Equal", "value": value, "effect": "NoExecute"});
        if let Some(seconds) = seconds {
            toleration["tolerationSeconds"] = seconds.into();
        }
        pod(&format!("cd-value-{name}"), "cd-value").tolerating(toleration)
    };
    let any = harness.create_pod(pod("cd-value-any", "cd-value").bearing("cd", Some(6))).await;
    let only_old = harness.create_pod(equal("old", "one", None)).await;
    let saved = equal("saved", "one", Some(4)).tolerating(json!({
        "key": "cd", "operator": "Equal", "value": "two", "effect": "NoExecute",
    }));
    let saved = harness.create_pod(saved).await;
    let_controllers_observe().await;
    let done = harness.kubectl(&["taint", "nodes", "cd-value", "cd=one:NoExecute"]).await;
    let_time_pass_until(done.before + seconds(1.5), "the countdowns are under way").await;
    let changed = harness.kubectl(&["taint", "--overwrite", "nodes", "cd-value", "cd=two:NoExecute"]).await;
    assert!(changed.before < done.after + seconds(4.0), "this machine is too slow for this scenario");
    harness.goes(&only_old, changed, 0.0).await;
    harness.goes(&any, done, 6.0).await;
    harness.stays_until(&saved, changed.before + seconds(4.0) + LATE_MAX).await;
}
