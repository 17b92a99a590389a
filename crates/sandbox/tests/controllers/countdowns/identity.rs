//! Tests reused names, exempt pods, and nodes that disappear (D4, D5, D6, D10, TE-47).

use crate::harness::{LATE, SandboxHarness, after, alone, no_execute, pods, sleep};
use fakekube::api::{DeleteOptions, ResourcePath, WriteOptions};
use fakekube::fault::InjectedFault;
use fakekube::resource::Subresource;
use http::Method;
use serde_json::json;
use taintward_sandbox::world;
use testkit::toleration;

/// D4 (TE-26, TE-40): a pod recreated under the same name gets its own full time, on the same node and on another.
#[tokio::test(start_paused = true)]
async fn a_successor_gets_its_own_time() {
    let harness = SandboxHarness::new(2);
    let _controller = harness.controller(alone()).await;
    let tolerations = [toleration("k", Some(600))];
    let first = ["again", "moved"].map(|name| harness.create_pod(name, "n1", &tolerations));
    harness.set_taints("n1", &[no_execute("k")]);
    sleep(590.0).await;
    first.iter().for_each(|pod| harness.delete_pod(pod));
    let (again, came) = (harness.create_pod("again", "n1", &tolerations), harness.now());
    let moved = harness.create_pod("moved", "n2", &tolerations);
    sleep(1_000.0).await;
    harness.went(&again, after(came, 600.0), LATE);
    harness.stays(&moved);
}

/// D6 (TE-23): finished, terminating and mirror pods are exempt: no request concerns them.
#[tokio::test(start_paused = true)]
async fn exempt_pods_are_not_evicted() {
    let harness = SandboxHarness::new(1);
    let _controller = harness.controller(alone()).await;
    let [succeeded, failed] = ["Succeeded", "Failed"].map(|phase| {
        let pod = harness.create_pod(&phase.to_lowercase(), "n1", &[]);
        let status = ResourcePath::object(pods(), "default", &pod.name).part(Subresource::Status);
        harness.server().change(&status, "kubelet", |pod| pod["status"]["phase"] = phase.into()).unwrap();
        pod
    });
    let mirror = harness.create_pod_with("mirror", "n1", &[], |pod| {
        pod["metadata"]["annotations"] = json!({"kubernetes.io/config.mirror": "hash"});
    });
    let held = harness.create_pod_with("held", "n1", &[], |pod| {
        pod["metadata"]["finalizers"] = json!(["taintward.example/hold"]);
    });
    let on = ResourcePath::object(pods(), "default", &held.name);
    harness.server().delete(&on, &DeleteOptions::default(), &WriteOptions::by("kubectl")).unwrap();
    let ordinary = harness.create_pod("ordinary", "n1", &[]);
    sleep(10.0).await;
    let tainted = harness.set_taints("n1", &[no_execute("k")]);
    sleep(3_600.0).await;
    harness.went(&ordinary, tainted, LATE);
    [&succeeded, &failed, &mirror].iter().for_each(|pod| harness.stays(pod));
    assert!(harness.server().get(pods(), "default", "held").is_some(), "it still terminates");
    for name in ["succeeded", "failed", "mirror", "held"] {
        assert!(harness.writes_on(name).is_empty(), "{name}: {:?}", harness.writes_on(name));
    }
}

/// D10 (TE-11, TE-42): the countdowns of a deleted node end; a node recreated under its name starts new ones.
#[tokio::test(start_paused = true)]
async fn a_deleted_node_takes_its_countdowns_along() {
    let harness = SandboxHarness::new(1);
    let _controller = harness.controller(alone()).await;
    let pod = harness.create_pod("p", "n1", &[toleration("k", Some(600))]);
    harness.set_taints("n1", &[no_execute("k")]);
    sleep(500.0).await;
    harness.delete_node("n1");
    sleep(3_600.0).await;
    harness.stays(&pod);
    assert!(harness.writes_on("p").iter().all(|sent| sent.path.contains("events")), "only an event about it");
    let mut again = world::node(0, 1);
    again["spec"]["taints"] = json!([no_execute("k")]);
    harness.world.create("", "nodes", "", again);
    let came = harness.now();
    sleep(599.9).await;
    harness.stays(&pod);
    sleep(1.0).await;
    harness.went(&pod, after(came, 600.0), LATE);
}

/// TE-47, D1: a pod that is bound to a node tainted long ago gets its full time; one without a toleration goes
/// immediately.
#[tokio::test(start_paused = true)]
async fn a_pod_bound_later_has_its_full_time() {
    let harness = SandboxHarness::new(1);
    let _controller = harness.controller(alone()).await;
    harness.set_taints("n1", &[no_execute("k")]);
    sleep(3_600.0).await;
    let (patient, came) = (harness.create_pod("patient", "n1", &[toleration("k", Some(600))]), harness.now());
    let hasty = harness.create_pod("hasty", "n1", &[]);
    sleep(700.0).await;
    harness.went(&hasty, came, LATE);
    harness.went(&patient, after(came, 600.0), LATE);
}

/// D5 (TE-41): a node is untainted while the watch is silent. The read before every eviction observes it, and no pod is
/// evicted. One read serves all pods of a node.
#[tokio::test(start_paused = true)]
async fn the_node_is_read_before_any_pod_is_evicted() {
    let harness = SandboxHarness::new(1);
    let _controller = harness.controller(alone()).await;
    let first = ["p", "q", "r"].map(|name| harness.create_pod(name, "n1", &[toleration("k", Some(60))]));
    let other = harness.create_pod("s", "n1", &[toleration("k", Some(90))]);
    let tainted = harness.set_taints("n1", &[no_execute("k")]);
    let read = |sent: &crate::wire::Sent| sent.path == "/api/v1/nodes/n1";
    sleep(59.9).await;
    assert!(!harness.sent().iter().any(read), "a countdown sends no requests");
    sleep(1.0).await;
    first.iter().for_each(|pod| harness.went(pod, after(tainted, 60.0), LATE));
    let reads: Vec<_> = harness.sent().into_iter().filter(read).collect();
    assert_eq!(reads.len(), 1);
    assert!(reads[0].at >= after(tainted, 60.0) && reads[0].at <= harness.deleted(&first[0]).unwrap());
    harness.stream_faults.outage(Some(InjectedFault::BlackHole));
    sleep(1.0).await;
    harness.set_taints("n1", &[]);
    sleep(60.0).await;
    let reads = harness.sent().into_iter().filter(read).count();
    assert_eq!(reads, 2, "the node was read");
    harness.stays(&other);
    assert!(harness.writes_on("s").iter().all(|sent| sent.method == Method::POST), "except an event");
}
