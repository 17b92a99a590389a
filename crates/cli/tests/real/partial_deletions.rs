//! Tests DELETEs that an API server has carried out only in part when etcd is killed (P31).

use super::harness::{AuditExceptions, ScenarioHarness, let_controllers_observe, let_seconds_pass};
use super::program::Taintward;
use super::witness::Witness;
use serde_json::Value;
use std::time::Duration;
use taintward_envtest::fixtures::{no_execute, pod};
use taintward_envtest::{Cluster, wait};

/// The number of pods that leave a node at the same time.
const PODS: usize = 90;

/// The maximum number of tries to interrupt a DELETE: about every other one succeeds, with a few pods.
const TRIES: usize = 30;

/// The names of a node's pods: the terminating ones, and the others.
async fn pods_of(harness: &ScenarioHarness<'_>, node: &str) -> (Vec<String>, Vec<String>) {
    let list = harness.admin.get("/api/v1/namespaces/default/pods").await.unwrap();
    let items = list["items"].as_array().cloned().unwrap_or_default();
    let name = |one: &Value| one["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let here = items.iter().filter(|one| one["spec"]["nodeName"] == node);
    let (going, staying): (Vec<_>, Vec<_>) =
        here.partition(|one| one["metadata"]["deletionTimestamp"].is_string());
    (going.into_iter().map(name).collect(), staying.into_iter().map(name).collect())
}

/// P31: the same process finds its own partial deletions, and completes them.
pub(crate) async fn a_deletion_cut_in_two_is_brought_to_its_end(
    cluster: &mut Cluster,
    witness: &Witness,
) -> AuditExceptions {
    let taintward = Taintward::acting(cluster, &["--leader-elect=false"]).await;
    for number in 0..TRIES {
        let node = format!("halves-{number}");
        let harness = ScenarioHarness::of(cluster, witness).await;
        harness.create_node(&node).await;
        for one in 0..PODS {
            harness.create_pod(pod(&format!("{node}-{one}"), &node)).await;
        }
        let_controllers_observe().await;
        let before = witness.deletions();
        harness.set_taints(&node, &[no_execute("halves", "v")]).await;
        let begun = async || Ok((witness.deletions() > before + 5).then_some(()));
        wait::until("deletions", Duration::from_secs(20), begun).await.unwrap();
        drop(harness);
        cluster.etcd().kill().unwrap();
        let_seconds_pass(0.2, "requests fail while etcd is away").await;
        taintward.program().pause().unwrap();
        cluster.restart_etcd().await.unwrap();
        cluster.ready(0).await.unwrap();
        let harness = ScenarioHarness::of(cluster, witness).await;
        let (going, staying) = pods_of(&harness, &node).await;
        println!("{} cut in two, {} not yet deleted", going.len(), staying.len());
        let halves = going.len();
        taintward.program().resume().unwrap();
        let none = async || {
            let (going, staying) = pods_of(&harness, &node).await;
            Ok((going.is_empty() && staying.is_empty()).then_some(()))
        };
        wait::until("the last pod to be gone", Duration::from_secs(60), none).await.unwrap();
        if halves > 0 {
            return AuditExceptions { forbidden: true, ..AuditExceptions::default() };
        }
    }
    panic!("no DELETE was cut in two in {TRIES} tries");
}
