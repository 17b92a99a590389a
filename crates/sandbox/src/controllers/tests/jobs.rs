//! Tests Jobs: completion, counting, failure.

use super::super::endings::RUNS_FOR;
use super::{alive, all, sleep};
use crate::world::World;
use fakekube::api::{DeleteOptions, ResourcePath, WriteOptions, set_condition};
use fakekube::resource::{Subresource, known};
use serde_json::{Value, json};

fn create(world: &World, spec: &Value, annotations: &Value) {
    let mut job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "sums"},
        "spec": {"template": {
            "metadata": {"annotations": annotations},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
        }},
    });
    for (field, value) in spec.as_object().into_iter().flatten() {
        job["spec"][field] = value.clone();
    }
    world
        .server()
        .create(&ResourcePath::object(known("batch", "jobs"), "default", ""), job, &WriteOptions::by("test"))
        .unwrap();
}

fn job(world: &World) -> Value {
    world.server().get(known("batch", "jobs"), "default", "sums").unwrap_or_default()
}

fn counts(world: &World) -> [i64; 3] {
    ["active", "succeeded", "failed"].map(|field| job(world)["status"][field].as_i64().unwrap_or(0))
}

fn is(world: &World, condition: &str) -> bool {
    let conditions = job(world)["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.iter().any(|one| one["type"] == condition && one["status"] == "True")
}

fn running(world: &World) -> Vec<String> {
    let pods = all(world, "", "pods").into_iter().filter(|pod| pod["status"]["phase"] == "Running");
    pods.filter_map(|pod| pod["metadata"]["name"].as_str().map(String::from)).collect()
}

fn change(world: &World, change: impl FnOnce(&mut Value)) {
    world
        .server()
        .change(&ResourcePath::object(known("batch", "jobs"), "default", "sums"), "test", change)
        .unwrap();
}

/// Evicts a pod as Taintward does: first the condition, then the deletion.
fn evict(world: &World, pod: &str) {
    let on = ResourcePath::object(known("", "pods"), "default", pod);
    let condition = json!({"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"});
    world
        .server()
        .change(&on.clone().part(Subresource::Status), "test", |pod| set_condition(pod, condition))
        .unwrap();
    world.server().delete(&on, &DeleteOptions::default(), &WriteOptions::by("test")).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_job_is_complete_when_enough_pods_have_done_their_work() {
    let world = alive(2);
    create(&world, &json!({"completions": 3, "parallelism": 2}), &json!({}));
    sleep(5).await;
    assert_eq!((counts(&world), running(&world).len()), ([2, 0, 0], 2));
    sleep(8).await;
    assert_eq!((counts(&world), running(&world).len()), ([1, 2, 0], 1));
    assert!(!is(&world, "Complete"));
    sleep(12).await;
    assert_eq!((counts(&world), is(&world, "Complete")), ([0, 3, 0], true));
    let pods = all(&world, "", "pods");
    assert!(pods.len() == 3 && pods.iter().all(|pod| pod["status"]["phase"] == "Succeeded"), "{pods:?}");
    assert!(all(&world, "", "events").iter().any(|event| event["message"] == "Job completed"));
    // A pod that is deleted after it has succeeded still counts as succeeded.
    let before = job(&world);
    for pod in pods {
        evict(&world, pod["metadata"]["name"].as_str().unwrap());
    }
    sleep(60).await;
    assert_eq!((job(&world)["status"].clone(), all(&world, "", "pods").len()), (before["status"].clone(), 0));
}

#[tokio::test(start_paused = true)]
async fn an_evicted_pod_is_replaced_and_counts_unless_the_policy_ignores_it() {
    let ignored = json!({"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]});
    for (policy, failed) in [(Value::Null, 1), (ignored, 0)] {
        let world = alive(2);
        let spec = json!({"podFailurePolicy": policy, "podReplacementPolicy": "Failed"});
        create(&world, &spec, &json!({RUNS_FOR: "1m"}));
        sleep(5).await;
        let before = running(&world);
        evict(&world, &before[0]);
        sleep(5).await;
        let after = running(&world);
        assert_eq!((after.len(), counts(&world)), (1, [1, 0, failed]));
        assert_ne!(before, after);
        sleep(50).await;
        assert_eq!(running(&world).len(), 1, "its minute starts again");
        sleep(15).await;
        assert_eq!((counts(&world), is(&world, "Complete")), ([0, 1, failed], true));
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_gives_up_at_its_limits() {
    for (spec, wait) in [(json!({"backoffLimit": 0}), None), (json!({"activeDeadlineSeconds": 20}), Some(20))]
    {
        let world = alive(2);
        create(&world, &spec, &json!({RUNS_FOR: "1h"}));
        sleep(5).await;
        assert_eq!((counts(&world), is(&world, "Failed")), ([1, 0, 0], false));
        match wait {
            None => evict(&world, &running(&world)[0]),
            Some(seconds) => sleep(seconds).await,
        }
        sleep(5).await;
        assert!(is(&world, "Failed") && is(&world, "FailureTarget"), "{}", job(&world));
        sleep(60).await;
        assert!(running(&world).is_empty(), "{spec}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_can_be_suspended_and_goes_when_its_time_has_come() {
    let world = alive(2);
    create(&world, &json!({"suspend": true, "ttlSecondsAfterFinished": 30}), &json!({}));
    sleep(30).await;
    assert!(is(&world, "Suspended") && running(&world).is_empty());
    change(&world, |job| job["spec"]["suspend"] = json!(false));
    sleep(5).await;
    assert!(!is(&world, "Suspended") && running(&world).len() == 1);
    change(&world, |job| job["spec"]["suspend"] = json!(true));
    sleep(5).await;
    assert_eq!((running(&world).len(), counts(&world)[1]), (0, 0));
    change(&world, |job| job["spec"]["suspend"] = json!(false));
    sleep(20).await;
    assert!(is(&world, "Complete"), "{}", job(&world));
    sleep(15).await;
    assert_eq!(all(&world, "", "pods").iter().filter(|pod| pod["status"]["phase"] == "Succeeded").count(), 1);
    sleep(60).await;
    assert!(job(&world).is_null() && all(&world, "", "pods").is_empty());
}
