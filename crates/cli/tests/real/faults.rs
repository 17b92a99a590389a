//! Tests API servers that reject, hang, crash and come back (D3, L2, L4, L6, S9).

use super::accounts::leading_to;
use super::harness::{
    ActionTime, AuditExceptions, LATE_MAX, RealPod, ScenarioHarness, let_controllers_observe,
    let_seconds_pass, let_time_pass_until, seconds,
};
use super::program::{Taintward, free_port};
use super::proxy::ScenarioProxy;
use super::witness::Witness;
use jiff::Timestamp;
use serde_json::json;
use std::time::Duration;
use taintward_envtest::api::PatchType;
use taintward_envtest::fixtures::{self, delete_pod, no_execute, pod, set_taints};
use taintward_envtest::{Account, Cluster, TestApi, access, wait};

const ALONE: [&str; 1] = ["--leader-elect=false"];
const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const BINDINGS: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";

/// From now on, deletions of pods with the label `keep` are rejected.
async fn deny_deletions(harness: &ScenarioHarness<'_>) {
    let policy = json!({
        "metadata": {"name": "keep"},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["pods"],
            }]},
            "validations": [{
                "expression": "!has(oldObject.metadata.labels) || !('keep' in oldObject.metadata.labels)",
                "message": "this pod is kept",
            }],
        },
    });
    harness.admin.create(POLICIES, &policy).await.unwrap();
    let spec = json!({"policyName": "keep", "validationActions": ["Deny"]});
    let binding = json!({"metadata": {"name": "keep"}, "spec": spec});
    harness.admin.create(BINDINGS, &binding).await.unwrap();
    harness.create_pod(pod("keep-probe", "").with("/metadata", "labels", json!({"keep": "yes"}))).await;
    wait::until("the policy to count", Duration::from_secs(30), async || {
        let dry = json!({"dryRun": ["All"]});
        let requested = harness.admin.delete("/api/v1/namespaces/default/pods/keep-probe", &dry).await;
        Ok(requested.is_err().then_some(()))
    })
    .await
    .unwrap();
}

async fn allow_deletions(harness: &ScenarioHarness<'_>) {
    harness.admin.delete(&format!("{BINDINGS}/keep"), &json!({})).await.unwrap();
    harness.admin.delete(&format!("{POLICIES}/keep"), &json!({})).await.unwrap();
}

fn tries(witness: &Witness, pod: &RealPod) -> usize {
    witness.writes_on_pod(&pod.name).iter().filter(|entry| entry.verb == "delete").count()
}

/// Whether the pod has the condition.
async fn is_marked(harness: &ScenarioHarness<'_>, pod: &RealPod) -> bool {
    let found = harness.find(pod).await.unwrap();
    let conditions = found["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.iter().any(|one| one["type"] == "DisruptionTarget" && one["status"] == "True")
}

/// D3, L2, L6, S9 (TE-33 today): a DELETE that admission rejects is retried until it is allowed; fifty hopeless pods
/// delay no other pod; a pod that may stay after all loses the mark.
pub(crate) async fn a_denied_deletion_is_never_forgotten(
    cluster: &mut Cluster,
    witness: &Witness,
) -> AuditExceptions {
    let harness = ScenarioHarness::of(cluster, witness).await;
    let taintward = Taintward::acting(cluster, &ALONE).await;
    deny_deletions(&harness).await;
    for node in ["deny", "deny-other"] {
        harness.create_node(node).await;
    }
    let kept = |name: String| pod(&name, "deny").with("/metadata", "labels", json!({"keep": "yes"}));
    let mut hopeless = Vec::new();
    for number in 0..50 {
        hopeless.push(harness.create_pod(kept(format!("deny-{number}"))).await);
    }
    let (a_while, other) = (
        harness.create_pod(kept("deny-while".into())).await,
        harness.create_pod(pod("deny-other", "deny-other")).await,
    );
    let_controllers_observe().await;
    harness.set_taints("deny", &[no_execute("deny", "v")]).await;
    wait::until("all to be refused", Duration::from_secs(10), async || {
        Ok(hopeless.iter().chain([&a_while]).all(|pod| tries(witness, pod) > 1).then_some(()))
    })
    .await
    .unwrap();
    let done = harness.set_taints("deny-other", &[no_execute("deny", "v")]).await;
    harness.goes(&other, done, 0.0).await;

    let_seconds_pass(5.0, "rejected deletions are repeated for a while").await;
    assert!(taintward.metric("taintward_retrying_pods") >= 51.0);
    assert!(!taintward.message("this pod is kept").is_empty());
    assert_eq!(witness.deleted(&a_while.uid), None);
    let lifted = ActionTime::during(async {
        let patch = r#"{"metadata":{"labels":{"keep":null}}}"#;
        harness
            .admin
            .patch("/api/v1/namespaces/default/pods/deny-while", PatchType::Merge, patch)
            .await
            .map(drop)
    });
    let lifted = lifted.await;
    // The pauses double: the next try comes no later than about the elapsed time once more.
    harness.goes_within(&a_while, lifted.after, lifted.before + seconds(12.0)).await;
    for pod in &hopeless {
        let tries = tries(witness, pod);
        assert!((3..=20).contains(&tries), "{}: tried {tries} times", pod.name);
    }

    assert!(is_marked(&harness, &hopeless[0]).await);
    harness.set_taints("deny", &[]).await;
    wait::until("the mark to be withdrawn", Duration::from_secs(60), async || {
        Ok((!is_marked(&harness, &hopeless[0]).await).then_some(()))
    })
    .await
    .unwrap();
    allow_deletions(&harness).await;
    let_seconds_pass(2.0, "the pods that are no longer due must stay").await;
    for pod in &hopeless {
        assert!(harness.find(pod).await.is_some_and(|pod| pod["metadata"]["deletionTimestamp"].is_null()));
    }
    AuditExceptions::default()
}

/// D3: a revoked permission is named, and waited for.
pub(crate) async fn a_restored_permission_is_used(
    cluster: &mut Cluster,
    witness: &Witness,
) -> AuditExceptions {
    let harness = ScenarioHarness::of(cluster, witness).await;
    let taintward = Taintward::acting(cluster, &ALONE).await;
    harness.create_node("right").await;
    let pod = harness.create_pod(pod("right", "right")).await;
    let ours = cluster.api(Account::Taintward).await.unwrap();
    access::revoke(&harness.admin, "delete", "pods").await.unwrap();
    let rejected = async || {
        let code = delete_pod(&ours, "none").await.unwrap_err().code();
        Ok((code == Some(403)).then_some(()))
    };
    wait::until("the permission to be removed", Duration::from_secs(10), rejected).await.unwrap();
    harness.set_taints("right", &[no_execute("right", "v")]).await;
    taintward.contains(r#"grant the verb delete on pods in API group \"\""#).await;
    let_seconds_pass(3.0, "the pod must stay while the permission is missing").await;
    assert_eq!(witness.deleted(&pod.uid), None);
    let granted = ActionTime::during(access::grant(&harness.admin)).await;
    harness.goes_within(&pod, granted.after, granted.before + seconds(10.0)).await;
    AuditExceptions { forbidden: true, ..AuditExceptions::default() }
}

/// L4, P21, S5: a server that does not respond for a while causes a delay; then all due pods leave, and no others.
pub(crate) async fn a_silent_server_only_delays(cluster: &mut Cluster, witness: &Witness) -> AuditExceptions {
    // Other requests go to the other server, because this one will not respond.
    let other = TestApi::from_kubeconfig(&cluster.kubeconfig(Account::Admin, 1)).await.unwrap();
    let mut taintward = Taintward::acting(cluster, &[]).await;
    fixtures::create_node(&other, "silent", &[]).await.unwrap();
    let uid = pod("silent-due", "silent").bearing("silent", Some(3)).create(&other).await.unwrap();
    let due = RealPod { name: "silent-due".into(), uid };
    let uid = pod("silent-long", "silent").bearing("silent", Some(120)).create(&other).await.unwrap();
    let long = RealPod { name: "silent-long".into(), uid };
    let_controllers_observe().await;
    let done = ActionTime::during(set_taints(&other, "silent", &[no_execute("silent", "v")])).await;
    let_time_pass_until(done.before + seconds(1.0), "the countdown is under way").await;
    cluster.server(0).pause().unwrap();
    let_time_pass_until(done.before + seconds(9.0), "the outage outlasts the deadline").await;
    assert_eq!(witness.deleted(&due.uid), None);
    assert_eq!(
        taintward.get("/livez").map(|(status, _)| status),
        Some(200),
        "a waiting process must be alive"
    );
    let resumed = Timestamp::now();
    cluster.server(0).resume().unwrap();
    let harness = ScenarioHarness::of(cluster, witness).await;
    harness.goes_within(&due, resumed, resumed + seconds(8.0)).await;
    harness.stays_until(&long, Timestamp::now() + seconds(1.0)).await;
    // The next scenario must not wait for the lease.
    assert_eq!(taintward.stop().code(), Some(0));
    AuditExceptions::default()
}

/// SIGTERM ends it with 0 within 5 s, though requests are in flight and the server does not respond.
pub(crate) async fn a_silent_server_cannot_hold_up_the_end(
    cluster: &mut Cluster,
    witness: &Witness,
) -> AuditExceptions {
    let mut taintward = Taintward::acting(cluster, &[]).await;
    let harness = ScenarioHarness::of(cluster, witness).await;
    harness.create_node("end").await;
    let pod = harness.create_pod(pod("end", "end").bearing("end", Some(2))).await;
    let_controllers_observe().await;
    let done = harness.set_taints("end", &[no_execute("end", "v")]).await;
    let_seconds_pass(1.0, "the countdown is under way").await;
    drop(harness);
    cluster.server(0).pause().unwrap();
    let_time_pass_until(done.before + seconds(2.2), "the pod is due while the server is paused").await;
    assert!(taintward.metric("taintward_inflight_effects") >= 1.0, "a request is in flight");
    assert_eq!(taintward.stop().code(), Some(0));
    cluster.server(0).resume().unwrap();
    let harness = ScenarioHarness::of(cluster, witness).await;
    harness.stays_until(&pod, Timestamp::now() + seconds(3.0)).await;
    AuditExceptions::default()
}

/// L4, D4, P22, P23: the server dies, and its history continues without us and is compacted. After its return
/// everything is listed again, and only the present state counts.
pub(crate) async fn what_happened_while_the_server_was_away_counts(
    cluster: &mut Cluster,
    witness: &Witness,
) -> AuditExceptions {
    let other = TestApi::from_kubeconfig(&cluster.kubeconfig(Account::Admin, 1)).await.unwrap();
    let taintward = Taintward::acting(cluster, &ALONE).await;
    let make = async |name: &str, node: &str, bears: i64| {
        let uid = pod(name, node).bearing("away", Some(bears)).create(&other).await.unwrap();
        RealPod { name: name.into(), uid }
    };
    for node in ["away-goes", "away-untainted", "away-tainted"] {
        fixtures::create_node(&other, node, &[]).await.unwrap();
    }
    let goes = make("away-goes", "away-goes", 25).await;
    let first = make("away-again", "away-goes", 8).await;
    let saved = make("away-saved", "away-untainted", 12).await;
    let tainted = make("away-tainted", "away-tainted", 1).await;
    let_controllers_observe().await;
    let taint = [no_execute("away", "v")];
    let done = ActionTime::during(set_taints(&other, "away-goes", &taint)).await;
    set_taints(&other, "away-untainted", &taint).await.unwrap();
    let_seconds_pass(0.5, "the countdowns are under way").await;
    cluster.server(0).kill().unwrap();
    let killed = Timestamp::now();

    delete_pod(&other, "away-again").await.unwrap();
    let second = make("away-again", "away-goes", 60).await;
    set_taints(&other, "away-untainted", &[]).await.unwrap();
    let late = ActionTime::during(set_taints(&other, "away-tainted", &taint)).await;
    cluster.compact().unwrap();
    cluster.restart(0).await.unwrap();
    let back = Timestamp::now();
    eprintln!("the server was away for {:#}", back.duration_since(killed));

    let harness = ScenarioHarness::of(cluster, witness).await;
    harness
        .goes_within(
            &tainted,
            late.after + seconds(1.0),
            back.max(late.before + seconds(2.0)) + seconds(12.0),
        )
        .await;
    harness.goes(&goes, done, 25.0).await;
    for pod in [&second, &saved] {
        harness.stays_until(pod, Timestamp::now()).await;
    }
    assert_eq!(witness.deleted(&first.uid), None);
    assert!(taintward.metric_with("taintward_watch_restarts_total", "expired") >= 1.0, "it received 410");
    // A server that has just started rejects all requests until it has read the roles.
    AuditExceptions { forbidden: true, ..AuditExceptions::default() }
}

/// L4: behind a load balancer one of two servers may die during a countdown: no deadline moves.
pub(crate) async fn one_of_two_servers_may_die(cluster: &mut Cluster, witness: &Witness) -> AuditExceptions {
    let (port, first, second) = (free_port(), cluster.port(0), cluster.port(1));
    let balancer = ScenarioProxy::on(port, first);
    let mut taintward = Taintward::start(cluster, &leading_to(cluster, Account::Taintward, port), &ALONE);
    taintward.ready().await;
    let other = TestApi::from_kubeconfig(&cluster.kubeconfig(Account::Admin, 1)).await.unwrap();
    for node in ["two", "two-later"] {
        fixtures::create_node(&other, node, &[]).await.unwrap();
    }
    let make = async |name: &str, node: &str, bears: i64| {
        let uid = pod(name, node).bearing("two", Some(bears)).create(&other).await.unwrap();
        RealPod { name: name.into(), uid }
    };
    let (counting, later) = (make("two", "two", 7).await, make("two-later", "two-later", 0).await);
    let_controllers_observe().await;
    let done = ActionTime::during(set_taints(&other, "two", &[no_execute("two", "v")])).await;
    let_seconds_pass(1.0, "the countdown is under way").await;
    cluster.server(0).kill().unwrap();
    balancer.lead_to(second);
    let_time_pass_until(done.before + seconds(4.0), "the other server serves in the middle of the countdown")
        .await;
    let tainted = ActionTime::during(set_taints(&other, "two-later", &[no_execute("two", "v")])).await;
    let deleted = async |pod: &RealPod| {
        let found = async || Ok(witness.deleted(&pod.uid));
        wait::until("the pod to be deleted", Duration::from_secs(20), found).await.unwrap()
    };
    assert!(deleted(&later).await <= tainted.before + LATE_MAX);
    let at = deleted(&counting).await;
    assert!(at >= done.after + seconds(7.0) && at <= done.before + seconds(7.0) + LATE_MAX, "{at}, {done:?}");
    cluster.restart(0).await.unwrap();
    AuditExceptions { forbidden: true, ..AuditExceptions::default() }
}
