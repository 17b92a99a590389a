//! Tests reused names, exempt pods, deleted nodes and late pods (D4, D6, D10).

use super::stage::{
    BEYOND, Done, Goes, LATE_MAX, Scene, Stays, let_controllers_observe, let_seconds_pass, seconds,
};
use serde_json::json;
use taintward_envtest::api::PatchType;
use taintward_envtest::fixtures::{create_node, delete_node, delete_pod, no_execute, pod, set_phase};

/// D4 (TE-26, TE-40 today): a pod recreated under the same name gets its own full time, here and elsewhere.
pub(crate) async fn a_successor_gets_its_own_time(scene: &Scene<'_>) {
    for node in ["id-again", "id-elsewhere"] {
        scene.create_node(node).await;
    }
    let again = || pod("id-again", "id-again").bearing("id", Some(5));
    let first = scene.create_pod(again()).await;
    let moved = scene.create_pod(pod("id-moved", "id-again").bearing("id", Some(5))).await;
    let_controllers_observe().await;
    let done = scene.set_taints("id-again", &[no_execute("id", "v")]).await;
    let_seconds_pass(2.5, "half of the countdown is over").await;
    for pod in [&first, &moved] {
        delete_pod(&scene.admin, &pod.name).await.unwrap();
    }
    let mut second = None;
    let came = Done::during(async {
        second = Some(scene.create_pod(again()).await);
        Ok::<_, ()>(())
    });
    let came = came.await;
    let (second, elsewhere) = (second.unwrap(), scene.create_pod(pod("id-moved", "id-elsewhere")).await);
    scene.stays_until(&second, done.before + seconds(5.0) + LATE_MAX).await;
    scene.goes(&second, came, 5.0).await;
    scene.stays_until(&elsewhere, done.before + seconds(5.0) + BEYOND).await;
    for pod in [&first, &moved] {
        assert_eq!(scene.witness.deleted(&pod.uid), None, "{} was gone before its time", pod.name);
    }
}

/// D6 (TE-23 today): finished, terminating and mirror pods are exempt.
pub(crate) async fn exempt_pods_are_not_evicted(scene: &Scene<'_>) {
    scene.create_node("id-alone").await;
    let named = |name: &str| pod(&format!("id-alone-{name}"), "id-alone");
    let (done, failed) =
        (scene.create_pod(named("succeeded")).await, scene.create_pod(named("failed")).await);
    set_phase(&scene.admin, &done.name, "Succeeded").await.unwrap();
    set_phase(&scene.admin, &failed.name, "Failed").await.unwrap();
    let mirror =
        named("mirror").with("/metadata", "annotations", json!({"kubernetes.io/config.mirror": "hash"}));
    let mirror = scene.create_pod(mirror).await;
    let held = named("terminating").with("/metadata", "finalizers", json!(["taintward.example/hold"]));
    let held = scene.create_pod(held).await;
    delete_pod(&scene.admin, &held.name).await.unwrap();
    let slow = scene.create_pod(named("grace").grace(60)).await;
    delete_pod(&scene.admin, &slow.name).await.unwrap();
    let ordinary = scene.create_pod(named("ordinary")).await;
    let_controllers_observe().await;
    let tainted = scene.set_taints("id-alone", &[no_execute("id", "v")]).await;
    let fates = [(ordinary, Goes(0.0)), (done, Stays), (failed, Stays), (mirror, Stays)];
    scene.meet(tainted, &fates, 0.0).await;
    for pod in [&held, &slow] {
        let found = scene.find(pod).await.unwrap();
        assert!(found["metadata"]["deletionTimestamp"].is_string(), "{} still terminates", pod.name);
        assert!(scene.witness.writes_on_pod(&pod.name).is_empty(), "{}", pod.name);
    }
    let path = format!("/api/v1/namespaces/default/pods/{}", held.name);
    scene.admin.patch(&path, PatchType::Merge, r#"{"metadata":{"finalizers":null}}"#).await.unwrap();
}

/// D10 (TE-11 today): the countdowns of a deleted node end; a node recreated under its name starts new ones.
pub(crate) async fn a_deleted_node_takes_its_countdowns_along(scene: &Scene<'_>) {
    scene.create_node("id-gone").await;
    let pod = scene.create_pod(pod("id-gone", "id-gone").bearing("id", Some(4))).await;
    let_controllers_observe().await;
    let done = scene.set_taints("id-gone", &[no_execute("id", "v")]).await;
    let_seconds_pass(1.5, "the countdown is under way").await;
    delete_node(&scene.admin, "id-gone").await.unwrap();
    scene.stays_until(&pod, done.before + seconds(4.0) + BEYOND).await;
    assert!(scene.witness.writes_on_pod("id-gone").is_empty());
    let taints = [no_execute("id", "v")];
    let anew = Done::during(async { create_node(&scene.admin, "id-gone", &taints).await.map(drop) }).await;
    scene.goes(&pod, anew, 4.0).await;
}

/// TE-47, D1: a pod that is bound to a tainted node later gets its full time from then on; one without a toleration
/// goes immediately.
pub(crate) async fn a_pod_bound_later_has_its_full_time(scene: &Scene<'_>) {
    create_node(&scene.admin, "id-later", &[no_execute("id", "v")]).await.unwrap();
    let bound = scene.create_pod(pod("id-later-bound", "").bearing("id", Some(4))).await;
    let unbound = scene.create_pod(pod("id-later-unbound", "")).await;
    let_seconds_pass(3.0, "a pod without a node must not count down").await;
    let came = scene.bind(&bound, "id-later").await;
    let mut created = None;
    let at_once = Done::during(async {
        created = Some(scene.create_pod(pod("id-later-created", "id-later")).await);
        Ok::<_, ()>(())
    });
    let at_once = at_once.await;
    scene.goes(&created.unwrap(), at_once, 0.0).await;
    scene.goes(&bound, came, 4.0).await;
    assert!(scene.find(&unbound).await.is_some() && scene.witness.writes_on_pod(&unbound.name).is_empty());
}
