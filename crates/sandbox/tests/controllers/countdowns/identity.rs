//! Tests reused names, exempt pods, and nodes that disappear (D4, D5, D6, D10, TE-47).

use crate::stage::{LATE, Stage, after, alone, bears, no_execute, pods, sleep};
use fakekube::api::{DeleteOptions, ResourcePath, WriteOptions};
use fakekube::fault::InjectedFault;
use fakekube::resource::Subresource;
use http::Method;
use serde_json::json;
use taintward_sandbox::world;

/// D4 (TE-26, TE-40): a pod recreated under the same name gets its own full time, on the same node and on another.
#[tokio::test(start_paused = true)]
async fn a_successor_gets_its_own_time() {
    let stage = Stage::new(2);
    let _controller = stage.controller(alone()).await;
    let tolerations = [bears("k", Some(600))];
    let first = ["again", "moved"].map(|name| stage.pod(name, "n1", &tolerations));
    stage.taint("n1", &[no_execute("k")]);
    sleep(590.0).await;
    first.iter().for_each(|pod| stage.delete_pod(pod));
    let (again, came) = (stage.pod("again", "n1", &tolerations), stage.now());
    let moved = stage.pod("moved", "n2", &tolerations);
    sleep(1_000.0).await;
    stage.went(&again, after(came, 600.0), LATE);
    stage.stays(&moved);
}

/// D6 (TE-23): finished, terminating and mirror pods are exempt: no request concerns them.
#[tokio::test(start_paused = true)]
async fn exempt_pods_are_not_evicted() {
    let stage = Stage::new(1);
    let _controller = stage.controller(alone()).await;
    let [succeeded, failed] = ["Succeeded", "Failed"].map(|phase| {
        let pod = stage.pod(&phase.to_lowercase(), "n1", &[]);
        let status = ResourcePath::object(pods(), "default", &pod.name).part(Subresource::Status);
        stage.server().change(&status, "kubelet", |pod| pod["status"]["phase"] = phase.into()).unwrap();
        pod
    });
    let mirror = stage.pod_with("mirror", "n1", &[], |pod| {
        pod["metadata"]["annotations"] = json!({"kubernetes.io/config.mirror": "hash"});
    });
    let held = stage.pod_with("held", "n1", &[], |pod| {
        pod["metadata"]["finalizers"] = json!(["taintward.example/hold"]);
    });
    let on = ResourcePath::object(pods(), "default", &held.name);
    stage.server().delete(&on, &DeleteOptions::default(), &WriteOptions::by("kubectl")).unwrap();
    let ordinary = stage.pod("ordinary", "n1", &[]);
    sleep(10.0).await;
    let tainted = stage.taint("n1", &[no_execute("k")]);
    sleep(3_600.0).await;
    stage.went(&ordinary, tainted, LATE);
    [&succeeded, &failed, &mirror].iter().for_each(|pod| stage.stays(pod));
    assert!(stage.server().get(pods(), "default", "held").is_some(), "it still terminates");
    for name in ["succeeded", "failed", "mirror", "held"] {
        assert!(stage.writes_on(name).is_empty(), "{name}: {:?}", stage.writes_on(name));
    }
}

/// D10 (TE-11, TE-42): the countdowns of a deleted node end; a node recreated under its name starts new ones.
#[tokio::test(start_paused = true)]
async fn a_deleted_node_takes_its_countdowns_along() {
    let stage = Stage::new(1);
    let _controller = stage.controller(alone()).await;
    let pod = stage.pod("p", "n1", &[bears("k", Some(600))]);
    stage.taint("n1", &[no_execute("k")]);
    sleep(500.0).await;
    stage.delete_node("n1");
    sleep(3_600.0).await;
    stage.stays(&pod);
    assert!(stage.writes_on("p").iter().all(|sent| sent.path.contains("events")), "only an event about it");
    let mut again = world::node(0, 1);
    again["spec"]["taints"] = json!([no_execute("k")]);
    stage.world.create("", "nodes", "", again);
    let came = stage.now();
    sleep(599.9).await;
    stage.stays(&pod);
    sleep(1.0).await;
    stage.went(&pod, after(came, 600.0), LATE);
}

/// TE-47, D1: a pod that is bound to a node tainted long ago gets its full time; one without a toleration goes
/// immediately.
#[tokio::test(start_paused = true)]
async fn a_pod_bound_later_has_its_full_time() {
    let stage = Stage::new(1);
    let _controller = stage.controller(alone()).await;
    stage.taint("n1", &[no_execute("k")]);
    sleep(3_600.0).await;
    let (patient, came) = (stage.pod("patient", "n1", &[bears("k", Some(600))]), stage.now());
    let hasty = stage.pod("hasty", "n1", &[]);
    sleep(700.0).await;
    stage.went(&hasty, came, LATE);
    stage.went(&patient, after(came, 600.0), LATE);
}

/// D5 (TE-41): a node is untainted while the watch is silent. The read before every eviction observes it, and no pod is
/// evicted. One read serves all pods of a node.
#[tokio::test(start_paused = true)]
async fn the_node_is_read_before_any_pod_is_evicted() {
    let stage = Stage::new(1);
    let _controller = stage.controller(alone()).await;
    let first = ["p", "q", "r"].map(|name| stage.pod(name, "n1", &[bears("k", Some(60))]));
    let other = stage.pod("s", "n1", &[bears("k", Some(90))]);
    let tainted = stage.taint("n1", &[no_execute("k")]);
    let read = |sent: &crate::wire::Sent| sent.path == "/api/v1/nodes/n1";
    sleep(59.9).await;
    assert!(!stage.sent().iter().any(read), "a countdown sends no requests");
    sleep(1.0).await;
    first.iter().for_each(|pod| stage.went(pod, after(tainted, 60.0), LATE));
    let reads: Vec<_> = stage.sent().into_iter().filter(read).collect();
    assert_eq!(reads.len(), 1);
    assert!(reads[0].at >= after(tainted, 60.0) && reads[0].at <= stage.deleted(&first[0]).unwrap());
    stage.stream_faults.outage(Some(InjectedFault::BlackHole));
    sleep(1.0).await;
    stage.taint("n1", &[]);
    sleep(60.0).await;
    let reads = stage.sent().into_iter().filter(read).count();
    assert_eq!(reads, 2, "the node was read");
    stage.stays(&other);
    assert!(stage.writes_on("s").iter().all(|sent| sent.method == Method::POST), "except an event");
}
