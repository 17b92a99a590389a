//! Tests eviction policies on a real control plane, under the installed account: kube-controller-manager counts for
//! budgets and recreates pods, kube-scheduler binds them, KWOK runs them, and the audit log is the witness.

mod harness;
mod holds;
mod slowness;
mod witness;

use crate::scale::{figure, sized};
use crate::turn;
use harness::{PolicyHarness, count};
use jiff::Timestamp;
use serde_json::json;
use slowness::Slowness;
use std::sync::Arc;
use std::time::Duration;
use taintward_envtest::audit::AuditEntry;
use taintward_envtest::{Binaries, Cluster, ClusterConfig, binaries};
use testkit::wait;

/// The timeout of each test.
const TEST_TIMEOUT: [Duration; 2] = [Duration::from_secs(240), Duration::from_secs(1_800)];

/// Replicas of the app of which 90 % must stay healthy, and of the app whose budget never allows a disruption.
const REPLICAS: [u64; 2] = [30, 100];
const STUCK_REPLICAS: [u64; 2] = [6, 100];

fn on_a_cluster(test: &str, story: impl AsyncFnOnce(&PolicyHarness<'_>)) {
    let Some(tools) = turn::for_test(test) else { return };
    let Some(kwok) = binaries::KWOK.for_test(test) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let tools: &Binaries = &tools;
        let config = ClusterConfig { gogc: 400, ..ClusterConfig::default() };
        let cluster = Cluster::start(tools, config).await.unwrap();
        let harness = PolicyHarness::set(&cluster, tools, &kwok).await;
        let timeout = sized(TEST_TIMEOUT[0], TEST_TIMEOUT[1]);
        tokio::time::timeout(timeout, story(&harness)).await.expect("done in time");
    });
}

/// Five of six nodes are drained of an app, of which 90 % must stay healthy. The leader is killed in the middle, and the
/// other process goes on.
#[test]
fn an_app_never_falls_below_its_budget_and_leaves_tainted_nodes() {
    on_a_cluster("an_app_never_falls_below_its_budget_and_leaves_tainted_nodes", async |harness| {
        harness.policy("gentle", json!({"respectBudgets": {"deadlineSeconds": 600}})).await;
        let replicas_wanted = sized(REPLICAS[0], REPLICAS[1]);
        harness.app("web", replicas_wanted, json!({"minAvailable": "90%"})).await;
        let mut replicas = [harness.start().await, harness.start().await];
        let leader = harness.leader(&replicas).await;
        let tainted = ["n1", "n2", "n3", "n4", "n5"];
        harness.taint(&tainted, "maintenance=now:NoExecute");
        harness
            .until("a few pods to be evicted", async || (count(&harness.evictions()) >= 5).then_some(()))
            .await;
        replicas[leader].kill();
        harness
            .until("every pod to run elsewhere", async || {
                (harness.pods_on("web", &tainted).await == 0).then_some(())
            })
            .await;
        harness
            .until("every replica to be ready", async || {
                (harness.ready("web").await == replicas_wanted).then_some(())
            })
            .await;
        let lowest = witness::lowest_healthy(&harness.record("web"));
        let required = replicas_wanted * 9 / 10;
        figure(
            "the fewest healthy pods by the audit log, with the leader killed in the middle",
            format!("{lowest} of {replicas_wanted}"),
            format!("at least {required}"),
        );
        assert!(lowest >= required, "{lowest} healthy pods at some moment");
        assert_eq!(count(&harness.deletions()), 0, "the budget allowed each of them");
        let status = harness.status_when("gentle", |status| status["governed"] == 0).await;
        assert_eq!((&status["forced"], &status["waiting"]["budget"]), (&json!(0), &json!(0)), "{status}");
        assert_eq!(harness.condition(&status, "Ready"), ("True".into(), "Applied".into()));
    });
}

/// A budget that never allows a disruption holds pods back until the deadline, and says so at once; without the taint
/// no request follows.
#[test]
fn a_budget_holds_pods_back_until_the_deadline_and_no_longer() {
    const DEADLINE: i64 = 15;

    on_a_cluster("a_budget_holds_pods_back_until_the_deadline_and_no_longer", async |harness| {
        harness.policy("strict", json!({"respectBudgets": {"deadlineSeconds": DEADLINE}})).await;
        let replicas = sized(STUCK_REPLICAS[0], STUCK_REPLICAS[1]);
        harness.app("db", replicas, json!({"maxUnavailable": 0})).await;
        let _taintward = harness.start().await;
        let nodes: Vec<String> = harness.nodes_of("db").await;
        let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();

        harness.taint(&nodes, "maintenance=now:NoExecute");
        let status = harness.status_when("strict", |status| status["waiting"]["budget"] == replicas).await;
        assert_eq!(harness.condition(&status, "Blocked"), ("False".into(), "WaitsForDeadline".into()));
        let message = status["oldest"]["message"].as_str().unwrap();
        assert!(
            message.starts_with("waits for budget default/db, which never allows a disruption"),
            "{message}"
        );
        let named = usize::try_from(replicas.min(10)).unwrap();
        assert_eq!(status["names"].as_array().map(Vec::len), Some(named));
        harness.untaint(&nodes, "maintenance");
        harness.status_when("strict", |status| status["governed"] == 0).await;
        let requested = count(&harness.evictions());
        let past_the_deadline = Duration::from_secs(2 + DEADLINE.unsigned_abs());
        wait::let_time_pass(past_the_deadline, "no request may follow, also not at the deadline").await;
        assert_eq!((count(&harness.evictions()), count(&harness.deletions())), (requested, 0));
        figure("requests after the taint was removed in the middle", 0, 0);

        let uids = harness.uids("db").await;
        let slowness = Slowness::measure();
        let (first, last) = harness.taint(&nodes, "maintenance=again:NoExecute");
        wait::let_time_pass(
            past_the_deadline,
            "reading the audit log takes processor time from what is measured",
        )
        .await;
        harness
            .until("every pod to be deleted", async || {
                (count(&harness.deletions()) >= uids.len()).then_some(())
            })
            .await;
        at_the_deadline(&harness.deletions(), (first, last), DEADLINE, slowness.millis(harness));
        let status = harness.status_when("strict", |status| status["forced"] == replicas).await;
        assert_eq!(status["forced"], replicas, "{status}");
    });
}

/// Without any policy, the annotation that `--respect-budgets` writes holds pods back until its deadline; the same taint by
/// kubectl evicts at once.
#[test]
fn a_taint_may_respect_budgets_without_a_policy() {
    const DEADLINE: i64 = 10;

    on_a_cluster("a_taint_may_respect_budgets_without_a_policy", async |harness| {
        harness.app("db", 6, json!({"maxUnavailable": 0})).await;
        let _taintward = harness.start().await;
        let nodes: Vec<String> = harness.nodes_of("db").await;
        let (gentle, other) = nodes.split_at(1);
        let waiting = harness.pods_on("db", &[&gentle[0]]).await;
        let words = ["maintenance:NoExecute", "--respect-budgets", "--deadline=10s", "--no-preview"];
        let slowness = Slowness::measure();
        let times = harness.taint_by_taintward(&gentle[0], &words);
        harness.taint(&[&other[0]], "maintenance:NoExecute");
        harness
            .until("the other node to be empty", async || {
                (harness.pods_on("db", &[&other[0]]).await == 0).then_some(())
            })
            .await;
        assert_eq!(harness.pods_on("db", &[&gentle[0]]).await, waiting);
        let before = count(&harness.deletions());
        harness
            .until("the node to be empty", async || {
                (harness.pods_on("db", &[&gentle[0]]).await == 0).then_some(())
            })
            .await;
        at_the_deadline(&harness.deletions()[before..], times, DEADLINE, slowness.millis(harness));
    });
}

/// Each pod was deleted when its deadline had passed, and at most a second later, besides `slowness` milliseconds. `first`,
/// `last`: when the first node was written at the earliest, and the last at the latest.
fn at_the_deadline(
    deletions: &[Arc<AuditEntry>],
    (first, last): (Timestamp, Timestamp),
    deadline: i64,
    slowness: i128,
) {
    let latest = deletions.iter().map(|deletion| deletion.received.duration_since(last).as_millis()).max();
    figure(
        &format!("the last of {} deletions after the deadline of {deadline} s", deletions.len()),
        format!("{} ms", latest.unwrap_or_default() - i128::from(deadline) * 1_000),
        format!("at most 1000 ms, besides {slowness} ms that the machine and the API server stalled"),
    );
    for deletion in deletions {
        let after = |tainted| deletion.received.duration_since(tainted).as_millis();
        let is_late = after(last) > i128::from(deadline + 1) * 1_000 + slowness;
        assert!(
            !is_late,
            "{} was deleted {} ms after the taint, slowness {slowness} ms",
            deletion.name,
            after(last)
        );
        assert!(after(first) >= i128::from(deadline) * 1_000, "{}: {} ms", deletion.name, after(first));
    }
}
