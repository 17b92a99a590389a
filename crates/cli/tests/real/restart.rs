//! Tests that countdowns survive `kill -9`, SIGTERM and a change of leader (D1, L3, L8, S4).

use super::harness::{
    ActionTime, AuditExceptions, LATE_MAX, RealPod, ScenarioHarness, let_controllers_observe,
    let_time_pass_until, seconds,
};
use super::program::{STARTUP_TIMEOUT, Taintward};
use super::witness::Witness;
use jiff::Timestamp;
use serde_json::{Value, json};
use taintward_envtest::fixtures::{create_node, no_execute, pod};
use taintward_envtest::{Cluster, wait};

/// By how much a start that is read from objects may be later than the real one (D1): times have whole seconds, the
/// server's own is known to half a second at first, and a second is allowed for differences between the clocks of the
/// control plane.
const LATER_MAX: f64 = 2.5;

/// A process without election, which starts to act immediately.
const ALONE: [&str; 1] = ["--leader-elect=false"];

/// Pods that count down while the process dies, twice.
struct Counting {
    stamped: (RealPod, ActionTime),
    by_kubectl: (RealPod, ActionTime),
    created_later: (RealPod, ActionTime),
    bound_later: (RealPod, ActionTime),
    overdue: RealPod,
    reprieved: RealPod,
}

async fn creating(
    harness: &ScenarioHarness<'_>,
    name: &str,
    node: &str,
    bears: i64,
) -> (RealPod, ActionTime) {
    let mut created = None;
    let done = ActionTime::during(async {
        created = Some(harness.create_pod(pod(name, node).bearing("re", Some(bears))).await);
        Ok::<_, ()>(())
    });
    let done = done.await;
    (created.unwrap(), done)
}

async fn count_down(harness: &ScenarioHarness<'_>) -> Counting {
    for node in ["re-stamped", "re-kubectl", "re-reprieved"] {
        harness.create_node(node).await;
    }
    create_node(&harness.admin, "re-old", &[no_execute("re", "v")]).await.unwrap();
    let bearing =
        |name: &str, node: &str, bears| harness.create_pod(pod(name, node).bearing("re", Some(bears)));
    let stamped = bearing("re-stamped", "re-stamped", 10).await;
    let by_kubectl = bearing("re-kubectl", "re-kubectl", 10).await;
    let overdue = bearing("re-overdue", "re-kubectl", 5).await;
    let reprieved = bearing("re-reprieved", "re-reprieved", 10).await;
    let unbound = bearing("re-bound", "", 10).await;
    let_controllers_observe().await;
    let mut taint = no_execute("re", "v");
    taint["timeAdded"] = format!("{:.0}", Timestamp::now()).into();
    harness.set_taints("re-reprieved", &[no_execute("re", "v")]).await;
    let bound = harness.bind(&unbound, "re-old").await;
    let created = creating(harness, "re-created", "re-old", 10).await;
    let added = harness.set_taints("re-stamped", &[taint]).await;
    let kubectl = harness.kubectl(&["taint", "nodes", "re-kubectl", "re=v:NoExecute"]).await;
    Counting {
        stamped: (stamped, added),
        by_kubectl: (by_kubectl, kubectl),
        created_later: created,
        bound_later: (unbound, bound),
        overdue,
        reprieved,
    }
}

/// D1, S4, L3 (TE-24 today): killed and restarted twice during a countdown, it moves no deadline: not with `timeAdded`,
/// not with kubectl's taint, not for pods that were bound to a tainted node later. Changes meanwhile count.
pub(crate) async fn kill_9_in_mid_countdown_moves_no_deadline(
    cluster: &mut Cluster,
    witness: &Witness,
) -> AuditExceptions {
    let harness = ScenarioHarness::of(cluster, witness).await;
    let mut taintward = Taintward::acting(cluster, &ALONE).await;
    let counting = count_down(&harness).await;
    let last = counting.by_kubectl.1;
    let_time_pass_until(last.before + seconds(2.0), "the countdowns are under way").await;
    taintward.kill();

    harness.set_taints("re-reprieved", &[]).await;
    let meanwhile = harness.create_pod(pod("re-meanwhile", "re-old")).await;
    let_time_pass_until(last.before + seconds(5.5), "a pod is due while no controller runs").await;
    assert_eq!(harness.witness.deleted(&counting.overdue.uid), None, "there is no controller to delete it");
    let returns = Timestamp::now();
    let mut taintward = Taintward::acting(cluster, &ALONE).await;
    let back = Timestamp::now();
    harness.goes_within(&meanwhile, returns, back + LATE_MAX).await;
    // Overdue, or nearly so as far as it can be known.
    let due = last.after + seconds(5.0);
    let known = last.before + seconds(5.0 + LATER_MAX);
    harness.goes_within(&counting.overdue, due, known.max(back) + LATE_MAX).await;
    taintward.kill();
    let again = Taintward::acting(cluster, &ALONE).await;

    for (pod, done) in
        [&counting.stamped, &counting.by_kubectl, &counting.created_later, &counting.bound_later]
    {
        let latest = done.before + seconds(10.0 + LATER_MAX) + LATE_MAX;
        assert!(returns + seconds(10.0) > latest, "a new countdown would end too early for a conclusion");
        harness.goes_within(pod, done.after + seconds(10.0), latest).await;
    }
    harness.stays_until(&counting.reprieved, back + seconds(10.0)).await;
    drop(again);
    AuditExceptions::default()
}

/// Short timings, for a quick takeover.
const QUICK: [&str; 3] = [
    "--leader-elect-lease-duration=6s",
    "--leader-elect-renew-deadline=4s",
    "--leader-elect-retry-period=1s",
];

/// The number of requests by which a process lists everything.
fn learning(witness: &Witness, since: Timestamp) -> usize {
    let is_learning = |verb: &str| matches!(verb, "list" | "watch");
    let all = witness.ours(|entry| {
        is_learning(&entry.verb)
            && matches!(entry.resource.as_str(), "pods" | "nodes")
            && entry.stage != "ResponseComplete"
            && entry.received >= since
    });
    all.len()
}

/// D1, L8, S5, P34: a follower takes over a killed leader's countdowns without a list, moves no deadline, and evicts
/// pods that became due meanwhile immediately. It does not mistake the leader's marks for another controller's (P39).
pub(crate) async fn a_follower_takes_over_warm(cluster: &mut Cluster, witness: &Witness) -> AuditExceptions {
    let harness = ScenarioHarness::of(cluster, witness).await;
    let began = Timestamp::now();
    let mut leader = Taintward::acting(cluster, &QUICK).await;
    let mut follower =
        Taintward::start(cluster, &cluster.kubeconfig(taintward_envtest::Account::Taintward, 0), &QUICK);
    follower.ready().await;
    assert!(!follower.is_leading());
    harness.create_node("lead").await;
    let now = harness.create_pod(pod("lead-now", "lead")).await;
    let soon = harness.create_pod(pod("lead-soon", "lead").bearing("lead", Some(3))).await;
    let late = harness.create_pod(pod("lead-late", "lead").bearing("lead", Some(14))).await;
    let_controllers_observe().await;
    let done = harness.kubectl(&["taint", "nodes", "lead", "lead=v:NoExecute"]).await;
    harness.goes(&now, done, 0.0).await;
    assert!(learning(witness, began) >= 4, "both have listed everything");
    let killed = Timestamp::now();
    leader.kill();
    follower.leads().await;
    let took_over = Timestamp::now();
    assert!(took_over <= killed + seconds(6.0 + 2.5), "L8: {killed} to {took_over}");
    assert!(took_over < done.after + seconds(14.0), "this machine is too slow for this scenario");
    harness.goes_within(&soon, done.after + seconds(3.0), took_over + LATE_MAX).await;
    let deleted = witness.deleted(&soon.uid).unwrap();
    assert!(deleted > killed + seconds(2.0), "S5: not before the lease has run out: {deleted}");
    harness.goes(&late, done, 14.0).await;
    assert_eq!(learning(witness, killed), 0, "a takeover needs no list");
    assert_eq!(follower.metric("taintward_other_controller_seen_total"), 0.0);
    AuditExceptions::default()
}

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/taintward";

/// L8: SIGTERM ends the leader within 5 s with 0; the lease is released, and the next leader follows immediately.
pub(crate) async fn sigterm_hands_over(cluster: &mut Cluster, witness: &Witness) -> AuditExceptions {
    let harness = ScenarioHarness::of(cluster, witness).await;
    // The lease of a killed leader, if there is one, must expire first.
    let mut leader = Taintward::acting(cluster, &[]).await;
    let mut follower =
        Taintward::start(cluster, &cluster.kubeconfig(taintward_envtest::Account::Taintward, 0), &[]);
    follower.ready().await;
    harness.create_node("term").await;
    let counting = harness.create_pod(pod("term", "term").bearing("term", Some(7))).await;
    let_controllers_observe().await;
    let done = harness.set_taints("term", &[no_execute("term", "v")]).await;
    let holder = |lease: &Value| lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned();
    let first = holder(&harness.admin.get(LEASE).await.unwrap());
    assert!(!first.is_empty());
    let requested = Timestamp::now();
    assert_eq!(leader.stop().code(), Some(0));
    let ended = Timestamp::now();
    assert!(ended < requested + seconds(5.0));
    let released = witness.ours(|entry| {
        entry.resource == "leases" && entry.verb == "update" && holder(&entry.request).is_empty()
    });
    assert_eq!(released.len(), 1);
    assert_eq!(released[0].code, 200);
    follower.leads().await;
    assert!(Timestamp::now() <= ended + seconds(2.0 * 1.2 + 2.0), "L8");
    let next = holder(&harness.admin.get(LEASE).await.unwrap());
    assert!(!next.is_empty() && next != first);
    harness.goes(&counting, done, 7.0).await;

    // There is no other replica: it ends as well, and releases the lease.
    assert_eq!(follower.stop().code(), Some(0));
    wait::until("the lease to be free", STARTUP_TIMEOUT, async || {
        Ok(holder(&harness.admin.get(LEASE).await?).is_empty().then_some(()))
    })
    .await
    .unwrap();
    let after = harness.create_pod(pod("term-after", "term")).await;
    harness.stays_until(&after, Timestamp::now() + seconds(2.0)).await;
    let spec = harness.admin.get(LEASE).await.unwrap()["spec"].clone();
    assert_eq!(spec["holderIdentity"], json!(""));
    AuditExceptions::default()
}
