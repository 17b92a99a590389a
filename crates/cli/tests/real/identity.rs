//! Tests reused names, exempt pods, deleted nodes and late pods (D4, D6, D10).

use super::harness::{
    ActionTime, BEYOND, Goes, LATE_MAX, ScenarioHarness, Stays, let_controllers_observe, let_seconds_pass,
    seconds,
};
use serde_json::json;
use taintward_envtest::api::PatchType;
use taintward_envtest::fixtures::{create_node, delete_node, delete_pod, no_execute, pod, set_phase};

/// D4 (TE-26, TE-40 today): a pod recreated under the same name gets its own full time, here and elsewhere.
pub(crate) async fn a_successor_gets_its_own_time(harness: &ScenarioHarness<'_>) {
    for node in ["id-again", "id-elsewhere"] {
        harness.create_node(node).await;
    }
    let again = || pod("id-again", "id-again").bearing("id", Some(5));
    let first = harness.create_pod(again()).await;
    let moved = harness.create_pod(pod("id-moved", "id-again").bearing("id", Some(5))).await;
    let_controllers_observe().await;
    let done = harness.set_taints("id-again", &[no_execute("id", "v")]).await;
    let_seconds_pass(2.5, "half of the countdown is over").await;
    for pod in [&first, &moved] {
        delete_pod(&harness.admin, &pod.name).await.unwrap();
    }
    let mut second = None;
    let came = ActionTime::during(async {
        second = Some(harness.create_pod(again()).await);
        Ok::<_, ()>(())
    });
    let came = came.await;
    let (second, elsewhere) = (second.unwrap(), harness.create_pod(pod("id-moved", "id-elsewhere")).await);
    harness.stays_until(&second, done.before + seconds(5.0) + LATE_MAX).await;
    harness.goes(&second, came, 5.0).await;
    harness.stays_until(&elsewhere, done.before + seconds(5.0) + BEYOND).await;
    for pod in [&first, &moved] {
        assert_eq!(harness.witness.deleted(&pod.uid), None, "{} was gone before its time", pod.name);
    }
}

/// D6 (TE-23 today): finished, terminating and mirror pods are exempt.
pub(crate) async fn exempt_pods_are_not_evicted(harness: &ScenarioHarness<'_>) {
    harness.create_node("id-alone").await;
    let named = |name: &str| pod(&format!("id-alone-{name}"), "id-alone");
    let (done, failed) =
        (harness.create_pod(named("succeeded")).await, harness.create_pod(named("failed")).await);
    set_phase(&harness.admin, &done.name, "Succeeded").await.unwrap();
    set_phase(&harness.admin, &failed.name, "Failed").await.unwrap();
    let mirror =
        named("mirror").with("/metadata", "annotations", json!({"kubernetes.io/config.mirror": "hash"}));
    let mirror = harness.create_pod(mirror).await;
    let held = named("terminating").with("/metadata", "finalizers", json!(["taintward.example/hold"]));
    let held = harness.create_pod(held).await;
    delete_pod(&harness.admin, &held.name).await.unwrap();
    let slow = harness.create_pod(named("grace").grace(60)).await;
    delete_pod(&harness.admin, &slow.name).await.unwrap();
    let ordinary = harness.create_pod(named("ordinary")).await;
    let_controllers_observe().await;
    let tainted = harness.set_taints("id-alone", &[no_execute("id", "v")]).await;
    let fates = [(ordinary, Goes(0.0)), (done, Stays), (failed, Stays), (mirror, Stays)];
    harness.meet(tainted, &fates, 0.0).await;
    for pod in [&held, &slow] {
        let found = harness.find(pod).await.unwrap();
        assert!(found["metadata"]["deletionTimestamp"].is_string(), "{} still terminates", pod.name);
        assert!(harness.witness.writes_on_pod(&pod.name).is_empty(), "{}", pod.name);
    }
    let path = format!("/api/v1/namespaces/default/pods/{}", held.name);
    harness.admin.patch(&path, PatchType::Merge, r#"{"metadata":{"finalizers":null}}"#).await.unwrap();
}

/// D10 (TE-11 today): the countdowns of a deleted node end; a node recreated under its name starts new ones.
pub(crate) async fn a_deleted_node_takes_its_countdowns_along(harness: &ScenarioHarness<'_>) {
    harness.create_node("id-gone").await;
    let pod = harness.create_pod(pod("id-gone", "id-gone").bearing("id", Some(4))).await;
    let_controllers_observe().await;
    let done = harness.set_taints("id-gone", &[no_execute("id", "v")]).await;
    let_seconds_pass(1.5, "the countdown is under way").await;
    delete_node(&harness.admin, "id-gone").await.unwrap();
    harness.stays_until(&pod, done.before + seconds(4.0) + BEYOND).await;
    assert!(harness.witness.writes_on_pod("id-gone").is_empty());
    let taints = [no_execute("id", "v")];
    let anew =
        ActionTime::during(async { create_node(&harness.admin, "id-gone", &taints).await.map(drop) }).await;
    harness.goes(&pod, anew, 4.0).await;
}

/// TE-47, D1: a pod that is bound to a tainted node later gets its full time from then on; one without a toleration
/// goes immediately.
pub(crate) async fn a_pod_bound_later_has_its_full_time(harness: &ScenarioHarness<'_>) {
    create_node(&harness.admin, "id-later", &[no_execute("id", "v")]).await.unwrap();
    let bound = harness.create_pod(pod("id-later-bound", "").bearing("id", Some(4))).await;
    let unbound = harness.create_pod(pod("id-later-unbound", "")).await;
    let_seconds_pass(3.0, "a pod without a node must not count down").await;
    let came = harness.bind(&bound, "id-later").await;
    let mut created = None;
    let at_once = ActionTime::during(async {
        created = Some(harness.create_pod(pod("id-later-created", "id-later")).await);
        Ok::<_, ()>(())
    });
    let at_once = at_once.await;
    harness.goes(&created.unwrap(), at_once, 0.0).await;
    harness.goes(&bound, came, 4.0).await;
    assert!(
        harness.find(&unbound).await.is_some() && harness.witness.writes_on_pod(&unbound.name).is_empty()
    );
}
