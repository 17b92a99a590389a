//! Tests the brake on a real API server: `kubectl taint nodes --all` by mistake costs at most the pods of the first nodes,
//! also if the leader is killed in the middle. The audit log is the witness.

use crate::real::program::Taintward;
use crate::scale::{figure, sized};
use crate::turn;
use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use taintward_envtest::audit::AuditEntry;
use taintward_envtest::fixtures::{create_node, pod};
use taintward_envtest::{Account, Binaries, Cluster, ClusterConfig, TestApi, access, wait};

const NODES: [usize; 2] = [60, 1_000];

/// The limit, and the most nodes that may lose pods: one more becomes known just when its pods are evicted.
const LIMIT: &str = "--brake-limit=10";
const NODES_HIT_MAX: usize = 11;

/// How soon the leader's metric shows that the brake is on.
const METRIC_MAX: [Duration; 2] = [Duration::from_secs(15), Duration::from_secs(5)];

/// The timeout of all waits, and of the whole test.
const WAIT_MAX: [Duration; 2] = [Duration::from_secs(60), Duration::from_secs(300)];
const TEST_TIMEOUT: [Duration; 2] = [Duration::from_secs(180), Duration::from_secs(1_200)];

#[test]
fn a_mistake_costs_the_pods_of_the_first_nodes_also_if_the_leader_is_killed() {
    let Some(tools) = turn::for_test("a_mistake_costs_the_pods_of_the_first_nodes") else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let cluster = Cluster::start(&tools, ClusterConfig::default()).await.unwrap();
        let timeout = sized(TEST_TIMEOUT[0], TEST_TIMEOUT[1]);
        tokio::time::timeout(timeout, mistake(&cluster, &tools)).await.expect("done in time");
    });
}

async fn mistake(cluster: &Cluster, tools: &Binaries) {
    let nodes = sized(NODES[0], NODES[1]);
    let admin = cluster.api(Account::Admin).await.unwrap();
    access::grant(&admin).await.unwrap();
    for node in (0..nodes).map(|number| format!("n{number}")) {
        create_node(&admin, &node, &[]).await.unwrap();
        pod(&format!("on-{node}"), &node).grace(0).create(&admin).await.unwrap();
    }
    let mut replicas = [start(cluster).await, start(cluster).await];
    let leader = until("a process to lead", async || replicas.iter().position(Taintward::is_leading)).await;
    let mut tainting = taint_all(cluster, tools);
    until("the first pods to be evicted", async || (!nodes_hit(cluster).is_empty()).then_some(())).await;
    let began = Instant::now();
    until("the leader to brake", async || {
        (replicas[leader].metric("taintward_braked_keys") == 1.0).then_some(())
    })
    .await;
    let took = began.elapsed();
    let most = sized(METRIC_MAX[0], METRIC_MAX[1]);
    figure(
        "from the first eviction until taintward_braked_keys is 1",
        format!("{} ms", took.as_millis()),
        format!("at most {} ms", most.as_millis()),
    );
    assert!(took <= most, "{took:?}");
    let other = 1 - leader;
    let is_tainting = tainting.try_wait().unwrap().is_none();
    replicas[leader].kill();
    until("the other process to brake", async || {
        let is_braked =
            replicas[other].is_leading() && replicas[other].metric("taintward_braked_keys") == 1.0;
        is_braked.then_some(())
    })
    .await;
    assert!(tainting.wait().unwrap().success(), "kubectl taints every node");
    wait::let_time_pass(Duration::from_secs(10), "no further pod may be evicted").await;
    let hit = nodes_hit(cluster);
    figure(
        &format!(
            "nodes of {nodes} that lost pods, with the leader killed {} the taints were written",
            if is_tainting { "while" } else { "after" }
        ),
        hit.len(),
        format!("at most {NODES_HIT_MAX}"),
    );
    assert!((1..=NODES_HIT_MAX).contains(&hit.len()), "{hit:?}");
    assert!(replicas[other].metric_with("taintward_delayed_pods", "brake") >= (nodes - NODES_HIT_MAX) as f64);
    let events = cluster.kubectl(["get", "events", "-A", "-o", "wide"]).unwrap();
    assert!(
        events.contains("EvictionsBraked") && events.contains("kubectl taint nodes --all k-"),
        "{events}"
    );

    // One node is meant; then all are.
    let spared = (0..nodes).map(|number| format!("n{number}")).find(|node| !hit.contains(node)).unwrap();
    cluster.kubectl(["annotate", "node", &spared, "taintward.io/allow-no-execute=k"]).unwrap();
    until("its pod to be evicted", async || nodes_hit(cluster).contains(&spared).then_some(())).await;
    assert_eq!(nodes_hit(cluster).len(), hit.len() + 1);
    release(cluster, nodes);
    until("every pod to be evicted", async || (count_pods(&admin).await == 0).then_some(())).await;
    assert_eq!(nodes_hit(cluster).len(), nodes);
    figure("nodes that lost their pods after taintward release --taint k", nodes, nodes);
}

/// Releases the brake for all nodes.
fn release(cluster: &Cluster, nodes: usize) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
    command.args(["release", "--taint", "k"]).env("KUBECONFIG", cluster.kubeconfig(Account::Admin, 0));
    let done = command.output().unwrap();
    let shown = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && shown.starts_with(&format!("{nodes} nodes: ")), "{shown}{done:?}");
}

/// Begins to taint every node, one after the other.
fn taint_all(cluster: &Cluster, tools: &Binaries) -> Child {
    let mut command = Command::new(tools.path("kubectl").unwrap());
    command.args(["taint", "nodes", "--all", "k=v:NoExecute"]).stdout(Stdio::null());
    command.env("KUBECONFIG", cluster.kubeconfig(Account::Admin, 0)).spawn().unwrap()
}

async fn start(cluster: &Cluster) -> Taintward {
    let kubeconfig = cluster.kubeconfig(Account::Taintward, 0);
    let mut taintward = Taintward::start(cluster, &kubeconfig, &[LIMIT]);
    taintward.ready().await;
    taintward
}

async fn until<T>(what: &str, question: impl AsyncFn() -> Option<T>) -> T {
    wait::until(what, sized(WAIT_MAX[0], WAIT_MAX[1]), async || Ok(question().await)).await.unwrap()
}

async fn count_pods(admin: &TestApi) -> usize {
    admin.get("/api/v1/namespaces/default/pods").await.unwrap()["items"].as_array().unwrap().len()
}

/// The nodes whose pod was deleted.
fn nodes_hit(cluster: &Cluster) -> BTreeSet<String> {
    let is_deletion = |entry: &AuditEntry| {
        entry.resource == "pods"
            && entry.verb == "delete"
            && entry.code == 200
            && entry.name.starts_with("on-")
    };
    let deletions = cluster.audit().unwrap().into_iter().filter(|entry| is_deletion(entry));
    deletions.map(|entry| entry.name.trim_start_matches("on-").to_owned()).collect()
}
