//! Tests that kube-controller-manager's taint eviction alongside Taintward's is detected, and nothing else is mistaken
//! for it (P39).

use super::harness::{
    AuditExceptions, Goes, ScenarioHarness, Stays, let_controllers_observe, let_seconds_pass,
};
use super::program::Taintward;
use super::witness::Witness;
use std::time::Duration;
use taintward_envtest::fixtures::{no_execute, pod, set_taints};
use taintward_envtest::{Cluster, wait};

const SEEN: &str = "taintward_other_controller_seen_total";

const REPORTED: &str = "another taint eviction controller also evicts pods";

/// Evicts one untolerated pod on a node of its own, by the quicker of the two controllers.
async fn evict_one(harness: &ScenarioHarness<'_>, name: &str) {
    harness.create_node(name).await;
    let one = harness.create_pod(pod(name, name)).await;
    let_seconds_pass(0.2, "no controller reports that it has observed the pod").await;
    harness.set_taints(name, &[no_execute("beside", "v")]).await;
    let gone = async || Ok(harness.find(&one).await.is_none().then_some(()));
    wait::until("the pod to be gone", Duration::from_secs(30), gone).await.unwrap();
}

/// P39: the other controller is detected, logged and counted, though its evictions come one by one and most of them
/// after Taintward's. Taintward's own are not counted.
pub(crate) async fn upstreams_controller_is_noticed_pod_by_pod(
    cluster: &mut Cluster,
    witness: &Witness,
) -> AuditExceptions {
    let harness = ScenarioHarness::of(cluster, witness).await;
    let taintward = Taintward::acting(cluster, &["--leader-elect=false"]).await;
    for number in 0..20 {
        evict_one(&harness, &format!("alone-{number}")).await;
    }
    assert_eq!(taintward.metric(SEEN), 0.0, "there is no other controller yet");
    let original = cluster.taint_eviction().await.unwrap();
    let mut evicted = 0;
    while taintward.message(REPORTED).is_empty() {
        assert!(evicted < 240, "240 evictions alongside kube-controller-manager, and no log line");
        evict_one(&harness, &format!("both-{evicted}")).await;
        evicted += 1;
    }
    println!("noticed after {evicted} evictions");
    let [message] = &taintward.message(REPORTED)[..] else { panic!("logged repeatedly") };
    assert!(message.to_string().contains("-taint-eviction-controller"), "without a remedy: {message}");
    assert!(taintward.metric(SEEN) > 0.0);
    drop(original);
    AuditExceptions { marks: false, ..AuditExceptions::default() }
}

/// P39: the same for pods that leave at the same moment; pods that should stay do.
pub(crate) async fn upstreams_controller_alongside_taintward_is_noticed(
    cluster: &mut Cluster,
    witness: &Witness,
) -> AuditExceptions {
    let harness = ScenarioHarness::of(cluster, witness).await;
    let taintward = Taintward::acting(cluster, &["--leader-elect=false"]).await;
    harness.create_node("beside").await;
    let alone = harness.create_pod(pod("beside-alone", "beside")).await;
    let_controllers_observe().await;
    let done = harness.set_taints("beside", &[no_execute("beside", "v")]).await;
    harness.meet(done, &[(alone, Goes(0.0))], 0.0).await;
    set_taints(&harness.admin, "beside", &[]).await.unwrap();
    assert_eq!(taintward.metric(SEEN), 0.0, "there is no other controller yet");

    let original = cluster.taint_eviction().await.unwrap();
    for number in 0..60 {
        harness.create_pod(pod(&format!("beside-{number}"), "beside").bearing("beside", Some(1))).await;
    }
    let stays = harness.create_pod(pod("beside-stays", "beside").bearing("beside", None)).await;
    let_controllers_observe().await;
    let done = harness.set_taints("beside", &[no_execute("beside", "v")]).await;
    taintward.contains(REPORTED).await;
    assert!(taintward.metric(SEEN) > 0.0);
    harness.meet(done, &[(stays, Stays)], 1.0).await;
    drop(original);
    AuditExceptions { marks: false, ..AuditExceptions::default() }
}
