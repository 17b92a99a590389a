//! Tests `--mode=observe`, `--disruption-condition` and `--stamp-taints`.

use super::accounts;
use super::harness::{
    AuditExceptions, Goes, ScenarioHarness, Stays, let_controllers_observe, let_seconds_pass, seconds,
};
use super::program::Taintward;
use super::witness::{Witness, is_ours};
use serde_json::{Value, json};
use std::time::Duration;
use taintward_envtest::audit::AuditEntry;
use taintward_envtest::fixtures::{PodFixture, no_execute, pod};
use taintward_envtest::{Cluster, TestApiError, access, wait};

const ALONE: &str = "--leader-elect=false";

/// S14: with permission to read only, it predicts and counts, and never writes, not even the lease.
pub(crate) async fn observe_writes_nothing(cluster: &mut Cluster, witness: &Witness) -> AuditExceptions {
    let harness = ScenarioHarness::of(cluster, witness).await;
    let rules =
        json!([{"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["get", "list", "watch"]}]);
    let observer = accounts::account(cluster, "observer", rules).await;
    harness.create_node("observe").await;
    let mut pods = Vec::new();
    for (name, seconds) in [("now", Some(0)), ("later", Some(3)), ("never", None)] {
        pods.push(
            harness.create_pod(pod(&format!("observe-{name}"), "observe").bearing("ob", seconds)).await,
        );
    }
    let mut taintward = Taintward::start(cluster, &observer.kubeconfig, &["--mode=observe"]);
    taintward.ready().await;
    let done = harness.set_taints("observe", &[no_execute("ob", "v")]).await;
    let counts = async |name: &str, count: f64| {
        let reached = async || Ok((taintward.metric(name) == count).then_some(()));
        wait::until(&format!("{name} to be {count}"), Duration::from_secs(10), reached).await.unwrap();
    };
    counts("taintward_would_evict_total", 1.0).await;
    counts("taintward_pending_pods", 1.0).await;
    for pod in &pods {
        harness.stays_until(pod, done.before + seconds(5.0)).await;
    }
    counts("taintward_would_evict_total", 2.0).await;
    counts("taintward_pending_pods", 0.0).await;
    assert_eq!(taintward.metric("leader_election_master_status"), 0.0);
    assert_eq!(taintward.stop().code(), Some(0));
    let requested = witness.all(|entry| entry.user == observer.user);
    assert!(requested.iter().any(|entry| entry.verb == "watch" && entry.resource == "pods"));
    let bad = |entry: &&AuditEntry| entry.is_write() || (entry.code >= 400 && !entry.is_rejected_stream());
    let bad: Vec<_> = requested.iter().filter(bad).collect();
    assert!(bad.is_empty(), "{bad:?}");
    assert!(witness.all(is_ours).is_empty());
    AuditExceptions::default()
}

fn of_a_job(pod: PodFixture) -> PodFixture {
    let owner = json!([{
        "apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": "6b8b4567-327b-43c6-a643-c98600000001",
        "controller": true,
    }]);
    pod.with("/metadata", "ownerReferences", owner)
}

async fn marked_with(cluster: &Cluster, witness: &Witness, which: &str) -> [bool; 2] {
    let harness = ScenarioHarness::of(cluster, witness).await;
    let name = format!("mark-{which}");
    harness.create_node(&name).await;
    let plain = harness.create_pod(pod(&format!("{name}-plain"), &name)).await;
    let job = harness.create_pod(of_a_job(pod(&format!("{name}-job"), &name))).await;
    let flag = format!("--disruption-condition={which}");
    let taintward = Taintward::acting(cluster, &[ALONE, &flag]).await;
    let done = harness.set_taints(&name, &[no_execute("mark", "v")]).await;
    let mut marked = [false; 2];
    for (marked, pod) in marked.iter_mut().zip([plain, job]) {
        harness.goes(&pod, done, 0.0).await;
        let writes = witness.writes_on_pod(&pod.name);
        *marked = writes.iter().any(|entry| entry.resource == "pods/status" && entry.verb == "patch");
        assert_eq!(writes.len(), 1 + usize::from(*marked), "{writes:?}");
    }
    drop(taintward);
    marked
}

/// TE-31, NB-3: which pods get the condition before the DELETE; the others are deleted with one request.
pub(crate) async fn only_the_selected_pods_get_the_condition(
    cluster: &mut Cluster,
    witness: &Witness,
) -> AuditExceptions {
    assert_eq!(marked_with(cluster, witness, "jobs").await, [false, true]);
    assert_eq!(marked_with(cluster, witness, "never").await, [false, false]);
    assert_eq!(marked_with(cluster, witness, "always").await, [true, true]);
    AuditExceptions { marks: false, ..AuditExceptions::default() }
}

/// MATCH-6: with the gate on, numbers are compared, strictly; a value that is not a canonical number matches nothing.
pub(crate) async fn numbers_are_compared_with_the_gate_on(
    cluster: &mut Cluster,
    witness: &Witness,
) -> AuditExceptions {
    let test = "processes::numbers_are_compared_with_the_gate_on";
    if cluster.is_before(35, test, "older API servers refuse the operators Lt and Gt") {
        return AuditExceptions::default();
    }
    let harness = ScenarioHarness::of(cluster, witness).await;
    let gate = "--feature-gates=TaintTolerationComparisonOperators=true";
    let taintward = Taintward::acting(cluster, &[ALONE, gate]).await;
    for (node, value, cases) in [
        (
            "number",
            "5",
            [("Gt", "4", Stays), ("Gt", "5", Goes(0.0)), ("Lt", "6", Stays), ("Lt", "-5", Goes(0.0))],
        ),
        (
            "word",
            "05",
            [("Gt", "4", Goes(0.0)), ("Gt", "0", Goes(0.0)), ("Lt", "6", Goes(0.0)), ("Equal", "05", Stays)],
        ),
    ] {
        harness.create_node(node).await;
        let mut fates = Vec::new();
        for (number, (operator, bound, fate)) in cases.into_iter().enumerate() {
            let toleration = json!({"key": "k", "operator": operator, "value": bound, "effect": "NoExecute"});
            fates.push((
                harness.create_pod(pod(&format!("{node}-{number}"), node).tolerating(toleration)).await,
                fate,
            ));
        }
        let_controllers_observe().await;
        let done = harness.set_taints(node, &[no_execute("k", value)]).await;
        harness.meet(done, &fates, 0.0).await;
    }
    drop(taintward);
    AuditExceptions::default()
}

async fn times_added(harness: &ScenarioHarness<'_>, node: &str) -> Vec<(String, Option<String>)> {
    let node = harness.admin.get(&format!("/api/v1/nodes/{node}")).await.unwrap();
    let taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    taints.iter().map(|taint| (text(&taint["key"]).unwrap(), text(&taint["timeAdded"]))).collect()
}

fn node_patches(witness: &Witness, node: &str) -> usize {
    witness.ours(|entry| entry.is_write() && entry.resource == "nodes" && entry.name == node).len()
}

/// D1: without the permission, `--stamp-taints` warns once, and evictions continue.
pub(crate) async fn stamping_without_permission_warns_once(
    cluster: &mut Cluster,
    witness: &Witness,
) -> AuditExceptions {
    let harness = ScenarioHarness::of(cluster, witness).await;
    let taintward = Taintward::acting(cluster, &[ALONE, "--stamp-taints"]).await;
    for round in 0..3 {
        let name = format!("stamp-not-{round}");
        harness.create_node(&name).await;
        let pod = harness.create_pod(pod(&name, &name)).await;
        let_controllers_observe().await;
        let done = harness.set_taints(&name, &[no_execute("stamp", "v")]).await;
        harness.goes(&pod, done, 0.0).await;
        let_seconds_pass(0.5, "no write of timeAdded may follow").await;
        assert_eq!(times_added(&harness, &name).await, [("stamp".into(), None)]);
    }
    let rejected = witness.ours(|entry| entry.resource == "nodes" && entry.is_write());
    // The permission may be granted at any time: it is tried again after a second, and then more and more rarely.
    assert!((1..=3).contains(&rejected.len()), "{rejected:?}");
    assert!(rejected.iter().all(|entry| entry.code == 403), "{rejected:?}");
    let warnings = taintward.message("cannot stamp taints, because the permission is missing");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert_eq!(warnings[0]["level"], "warning");
    AuditExceptions { stamps: true, forbidden: true, ..AuditExceptions::default() }
}

/// D1, S8: with the permission, a taint that appears gets its time, once; a client that removes the time has the last
/// word.
pub(crate) async fn a_taint_is_stamped_once(cluster: &mut Cluster, witness: &Witness) -> AuditExceptions {
    let harness = ScenarioHarness::of(cluster, witness).await;
    access::grant_stamping(&harness.admin).await.unwrap();
    for node in ["stamp-old", "stamp-live", "stamp-own", "stamp-storm"] {
        harness.create_node(node).await;
    }
    harness.set_taints("stamp-old", &[no_execute("stamp", "v")]).await;
    let taintward = Taintward::acting(cluster, &[ALONE, "--stamp-taints"]).await;
    let soft = json!({"key": "soft", "effect": "NoSchedule"});
    let done = harness.set_taints("stamp-live", &[soft.clone(), no_execute("stamp", "v")]).await;
    let mut own = no_execute("stamp", "v");
    own["timeAdded"] = "2020-01-01T00:00:00Z".into();
    harness.set_taints("stamp-own", &[own]).await;

    wait::until("the stamp", Duration::from_secs(10), async || {
        Ok(times_added(&harness, "stamp-live").await[1].1.clone())
    })
    .await
    .unwrap();
    let times = times_added(&harness, "stamp-live").await;
    assert_eq!(times[0], ("soft".into(), None), "only NoExecute");
    let added: jiff::Timestamp = times[1].1.as_deref().unwrap().parse().unwrap();
    assert!(added >= done.after - seconds(1.0) && added <= done.before + seconds(1.5), "{added}, {done:?}");

    // kubectl drops the time when it writes the list again: the instance is the same, and is not stamped again.
    harness.set_taints("stamp-live", &[soft, no_execute("stamp", "v")]).await;
    let_seconds_pass(2.5, "no second write of timeAdded may follow").await;
    assert_eq!(times_added(&harness, "stamp-live").await[1].1, None);
    assert_eq!(node_patches(witness, "stamp-live"), 1);
    assert_eq!(times_added(&harness, "stamp-own").await[0].1.as_deref(), Some("2020-01-01T00:00:00Z"));
    assert_eq!((node_patches(witness, "stamp-own"), node_patches(witness, "stamp-old")), (0, 0));

    // Another instance is stamped again.
    harness.set_taints("stamp-live", &[]).await;
    let_controllers_observe().await;
    harness.set_taints("stamp-live", &[no_execute("stamp", "v")]).await;
    wait::until("the stamp of the next instance", Duration::from_secs(10), async || {
        Ok(times_added(&harness, "stamp-live").await[0].1.clone())
    })
    .await
    .unwrap();
    storm(&harness).await;
    drop(taintward);
    AuditExceptions { stamps: true, ..AuditExceptions::default() }
}

/// Concurrent writers that each keep adding their own taints without losing each other's.
async fn storm(harness: &ScenarioHarness<'_>) {
    const WRITERS: usize = 6;
    const ROUNDS: usize = 5;
    let writers = (0..WRITERS).map(|writer| async move {
        for round in 0..ROUNDS {
            add(harness, &format!("w{writer}-{round}")).await;
        }
    });
    futures::future::join_all(writers).await;
    let all = WRITERS * ROUNDS;
    let stamped = async || {
        let times = times_added(harness, "stamp-storm").await;
        assert_eq!(times.len(), all, "a concurrent edit was lost: {times:?}");
        Ok(times.iter().all(|(_, time)| time.is_some()).then_some(()))
    };
    wait::until("every taint to be stamped", Duration::from_secs(15), stamped).await.unwrap();
    assert!(node_patches(harness.witness, "stamp-storm") >= all);
}

async fn add(harness: &ScenarioHarness<'_>, key: &str) {
    const PATH: &str = "/api/v1/nodes/stamp-storm";
    loop {
        let mut node = harness.admin.get(PATH).await.unwrap();
        let mut taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
        taints.insert(0, no_execute(key, "v"));
        node["spec"]["taints"] = taints.into();
        node["metadata"]["labels"][key] = "here".into();
        match harness.admin.replace(PATH, &node).await {
            Ok(_) => return,
            Err(TestApiError::Rejected { code: 409, .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}
