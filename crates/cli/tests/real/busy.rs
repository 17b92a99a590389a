//! Tests preconditions of deletions against continuous writes to the same pods (P45).

use super::harness::{AuditExceptions, RealPod, ScenarioHarness, let_controllers_observe, seconds};
use super::program::Taintward;
use super::witness::Witness;
use serde_json::json;
use taintward_envtest::Cluster;
use taintward_envtest::api::PatchType;
use taintward_envtest::fixtures::{no_execute, pod};

/// P45, S1: pods that change faster than they can be read are evicted anyway, and only these incarnations.
pub(crate) async fn busy_pods_are_evicted_anyway(
    cluster: &mut Cluster,
    witness: &Witness,
) -> AuditExceptions {
    let harness = ScenarioHarness::of(cluster, witness).await;
    let mut taintward = Taintward::acting(cluster, &["--leader-elect=false"]).await;
    for round in 0..5 {
        if busy_pods_go(&harness, &format!("busy-{round}")).await > 0 {
            assert_eq!(taintward.stop().code(), Some(0));
            return AuditExceptions::default();
        }
    }
    panic!("they were not busy enough for a conclusion");
}

/// How often a write was rejected because the pod had changed.
async fn busy_pods_go(harness: &ScenarioHarness<'_>, node: &str) -> usize {
    const PODS: usize = 5;
    const WRITERS: usize = 6;
    harness.create_node(node).await;
    let mut pods = Vec::new();
    for number in 0..PODS {
        pods.push(harness.create_pod(pod(&format!("{node}-{number}"), node).grace(30)).await);
    }
    let go = async {
        let_controllers_observe().await;
        let done = harness.set_taints(node, &[no_execute("busy", "v")]).await;
        for pod in &pods {
            harness.goes_within(pod, done.after, done.before + seconds(10.0)).await;
        }
    };
    let busy = pods.iter().cycle().take(PODS * WRITERS).enumerate().map(|(writer, pod)| async move {
        let path = format!("/api/v1/namespaces/default/pods/{}", pod.name);
        for turn in 0.. {
            let patch = json!({"metadata": {"annotations": {format!("w{writer}"): format!("{turn}")}}});
            harness.admin.patch(&path, PatchType::Merge, &patch.to_string()).await.unwrap();
        }
    });
    tokio::select! {
        () = go => {}
        _ = futures::future::join_all(busy) => unreachable!("they never end"),
    }
    let writes = |pod: &RealPod| harness.witness.writes_on_pod(&pod.name);
    pods.iter().flat_map(writes).filter(|entry| entry.code == 409).count()
}
