//! Tests what an eviction writes and in which order (TE-30, TE-31, TE-32, TE-34, D4, D8, S1, S10, S14).

use crate::harness::{LATE, SandboxHarness, after, alone, no_execute, pods, sleep};
use http::Method;
use serde_json::json;
use taintward_controller::settings::{ControllerSettings, Marking, WriteMode};
use testkit::toleration;

/// TE-30, TE-31, TE-32, D4, D8: the pod has the condition before its DELETE. The DELETE names the UID, demands the
/// version of the mark, and uses the pod's own grace period. The event follows the deletion.
#[tokio::test(start_paused = true)]
async fn condition_deletion_event() {
    let harness = SandboxHarness::new(1);
    let _controller = harness.controller(alone()).await;
    let pod = harness.create_pod("p", "n1", &[toleration("k", Some(3_600))]);
    let tainted = harness.set_taints("n1", &[no_execute("k")]);
    sleep(3_599.9).await;
    assert!(harness.writes().is_empty(), "a countdown writes nothing");
    sleep(10.0).await;
    harness.went(&pod, after(tainted, 3_600.0), LATE);

    let writes = harness.writes_on("p");
    let steps: Vec<(&Method, u16)> = writes.iter().map(|sent| (&sent.method, sent.code)).collect();
    assert_eq!(steps, [(&Method::PATCH, 200), (&Method::DELETE, 200), (&Method::POST, 201)]);
    let [mark, deletion, event] = &writes[..] else { panic!("{writes:?}") };
    assert_eq!(mark.body["metadata"]["uid"], pod.uid.as_str());
    let condition = &mark.body["status"]["conditions"][0];
    assert_eq!(condition["type"], "DisruptionTarget");
    assert_eq!(condition["reason"], "DeletionByTaintManager");
    assert_eq!(event.body["regarding"]["uid"], pod.uid.as_str());
    assert_eq!(event.body["reason"], "TaintManagerEviction");

    let commits = harness.commits();
    let mut own = commits.iter().filter(|one| one.object["metadata"]["uid"] == pod.uid.as_str());
    let marked = own.find(|one| {
        let conditions = one.object["status"]["conditions"].as_array();
        conditions.is_some_and(|all| all.iter().any(|one| one["type"] == "DisruptionTarget"))
    });
    let marked = marked.unwrap();
    assert!(marked.number == pods() && marked.object["metadata"]["deletionTimestamp"].is_null());
    let version = &marked.object["metadata"]["resourceVersion"];
    let demanded = json!({"uid": pod.uid, "resourceVersion": version});
    assert_eq!(deletion.body["preconditions"], demanded, "S1");
    assert!(deletion.body["gracePeriodSeconds"].is_null(), "S10");
}

/// With `Marking::Jobs`, only pods of Jobs get the condition; the others are deleted with one request.
#[tokio::test(start_paused = true)]
async fn marks_for_jobs() {
    let harness = SandboxHarness::new(1);
    let _controller = harness.controller(ControllerSettings { marking: Marking::Jobs, ..alone() }).await;
    let plain = harness.create_pod("plain", "n1", &[]);
    let job = harness.create_pod_with("job", "n1", &[], |pod| {
        pod["metadata"]["ownerReferences"] =
            json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j", "controller": true}]);
    });
    sleep(1.0).await;
    let tainted = harness.set_taints("n1", &[no_execute("k")]);
    sleep(5.0).await;
    for (pod, marks) in [(&plain, 0), (&job, 1)] {
        harness.went(pod, tainted, LATE);
        let writes = harness.writes_on(&pod.name);
        assert_eq!(writes.iter().filter(|sent| sent.method == Method::PATCH).count(), marks, "{}", pod.name);
    }
}

/// S14: a controller in observe mode writes nothing and evicts no pod.
#[tokio::test(start_paused = true)]
async fn observing_writes_nothing() {
    let harness = SandboxHarness::new(2);
    let _controller = harness
        .controller(ControllerSettings { mode: WriteMode::Observe, stamp_taints: true, ..alone() })
        .await;
    let all = [("now", None), ("soon", Some(10)), ("late", Some(1_800))].map(|(name, seconds)| {
        harness.create_pod(name, "n1", seconds.map(|s| toleration("k", Some(s))).as_slice())
    });
    harness.set_taints("n1", &[no_execute("k")]);
    sleep(3_600.0).await;
    all.iter().for_each(|pod| harness.stays(pod));
    assert!(!harness.sent().is_empty(), "it reads");
    assert!(harness.writes().is_empty(), "{:?}", harness.writes());
}
