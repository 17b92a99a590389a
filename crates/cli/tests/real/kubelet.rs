//! Tests evictions to their end, with KWOK completing graceful deletions.

use super::harness::{AuditExceptions, RealPod, ScenarioHarness, let_time_pass_until, seconds};
use super::program::Taintward;
use super::witness::{Witness, is_ours};
use jiff::Timestamp;
use serde_json::Value;
use std::time::Duration;
use taintward_envtest::Cluster;
use taintward_envtest::fixtures::{no_execute, pod};
use taintward_envtest::{binaries, kwok};
use testkit::wait::until_true;

/// Longer than the scenario: no pod is removed because its grace period has ended.
const GRACE: i64 = 120;

/// TE-13, TE-17, TE-19, TE-32: on a node with a kubelet all pods run. Evicted pods, immediately and after their
/// seconds, are ended and removed, each with one DELETE; pods that tolerate the taint, or were saved in time, keep
/// running. On a node without a kubelet the same eviction leaves the pod terminating.
pub(crate) async fn evicted_pods_are_ended_and_removed(
    cluster: &mut Cluster,
    witness: &Witness,
) -> AuditExceptions {
    let kubelets = cluster.kwok(&binaries::KWOK.find().unwrap()).await.unwrap();
    let harness = ScenarioHarness::of(cluster, witness).await;
    let mut taintward = Taintward::acting(cluster, &["--leader-elect=false"]).await;
    for node in ["kubelet", "kubelet-none"] {
        harness.create_node(node).await;
    }
    kwok::adopt(&harness.admin, "kubelet").await.unwrap();
    let on = async |name: &str, node: &str, seconds: Option<Option<i64>>| {
        let pod = pod(name, node).grace(GRACE);
        harness.create_pod(seconds.into_iter().fold(pod, |pod, seconds| pod.bearing("k", seconds))).await
    };
    let now = on("kubelet-now", "kubelet", None).await;
    let later = on("kubelet-later", "kubelet", Some(Some(3))).await;
    let saved = on("kubelet-saved", "kubelet", Some(Some(7))).await;
    let patient = on("kubelet-patient", "kubelet", Some(None)).await;
    let alone = on("kubelet-none", "kubelet-none", None).await;
    for pod in [&now, &later, &saved, &patient] {
        runs(&harness, pod).await;
    }
    let node = harness.admin.get("/api/v1/nodes/kubelet").await.unwrap();
    assert_eq!(condition(&node, "Ready"), Some("True"));
    assert_eq!(phase(&harness, &alone).await.as_deref(), Some("Pending"), "no kubelet runs it");

    let done = harness.set_taints("kubelet", &[no_execute("k", "v")]).await;
    let elsewhere = harness.set_taints("kubelet-none", &[no_execute("k", "v")]).await;
    harness.goes(&now, done, 0.0).await;
    gone(&harness, &now).await;
    harness.stays_until(&later, done.after + seconds(2.0)).await;
    harness.goes(&later, done, 3.0).await;
    gone(&harness, &later).await;
    let untainted = harness.set_taints("kubelet", &[]).await;
    assert!(untainted.before < done.after + seconds(7.0), "this machine is too slow for this scenario");
    harness.goes(&alone, elsewhere, 0.0).await;
    let_time_pass_until(done.before + seconds(9.0), "the pods must outlive their countdowns").await;
    for pod in [&saved, &patient] {
        harness.stays_until(pod, Timestamp::now()).await;
        assert_eq!(phase(&harness, pod).await.as_deref(), Some("Running"), "{}", pod.name);
    }
    let left = harness.find(&alone).await.expect("no kubelet ended it");
    assert!(left["metadata"]["deletionTimestamp"].is_string());

    // Taintward's controller deleted each evicted pod once, and the kubelet removed it.
    for pod in [&now, &later] {
        let deletions =
            witness.all(|entry| entry.verb == "delete" && entry.resource == "pods" && entry.name == pod.name);
        let ours = deletions.iter().filter(|entry| is_ours(entry)).count();
        let theirs = deletions.iter().filter(|entry| entry.agent.starts_with("kwok")).count();
        assert_eq!((ours, theirs > 0), (1, true), "{}: {deletions:?}", pod.name);
    }
    assert_eq!(taintward.stop().code(), Some(0));
    drop(kubelets);
    AuditExceptions::default()
}

fn condition<'o>(object: &'o Value, kind: &str) -> Option<&'o str> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions.iter().find(|one| one["type"] == kind)?["status"].as_str()
}

async fn phase(harness: &ScenarioHarness<'_>, pod: &RealPod) -> Option<String> {
    Some(harness.find(pod).await?["status"]["phase"].as_str()?.to_owned())
}

/// Waits until it runs.
async fn runs(harness: &ScenarioHarness<'_>, pod: &RealPod) {
    let runs = async || phase(harness, pod).await.as_deref() == Some("Running");
    until_true(&format!("{} to run", pod.name), Duration::from_secs(30), runs).await;
}

/// Waits until it is removed, which its grace period alone cannot cause.
async fn gone(harness: &ScenarioHarness<'_>, pod: &RealPod) {
    let gone = async || harness.find(pod).await.is_none();
    until_true(&format!("{} to be gone", pod.name), Duration::from_secs(10), gone).await;
}
