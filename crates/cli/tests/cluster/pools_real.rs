//! Tests the custom resources on a real API server: valid and invalid objects, and how the client reads and writes
//! them.

use crate::pools::cases::{EVICTION_POLICY, POLICY, POOL, Wrong, eviction_policies, policies, pools};
use crate::turn;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;
use taintward_core::admission::policy::TolerationDuration;
use taintward_core::admission::pool::{
    DedicatedPool, NodeEdits, PoolAssessment, PoolStatus, PoolValidity, RecordTrust, reconcile,
};
use taintward_core::dedicated_pools::{PoolFact, PoolNodeFact, observed_status};
use taintward_core::object_event::ObjectEvent;
use taintward_core::time::Wall;
use taintward_envtest::api::PatchType;
use taintward_envtest::fixtures::create_node;
use taintward_envtest::{Account, Cluster, ClusterConfig, TestApi, wait};
use taintward_kube::clock::Clock;
use taintward_kube::decode::{NamespaceObject, PolicyObject, WatchedObject};
use taintward_kube::pools::{PoolNodeBody, status_patch};
use taintward_kube::watch::{WatchSettings, Watcher};
use tokio::sync::{mpsc, watch};

/// The timeout of all waits.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(60);

const POOLS: &str = "/apis/taintward.io/v1alpha1/dedicatedpools";
const POLICIES: &str = "/apis/taintward.io/v1alpha1/tolerationpolicies";
const EVICTION_POLICIES: &str = "/apis/taintward.io/v1alpha1/evictionpolicies";

#[test]
fn pools_and_policies_on_a_real_server() {
    let Some(tools) = turn::for_test("pools_real") else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let cluster = Cluster::start(&tools, ClusterConfig::default()).await.unwrap();
        let api = cluster.api(Account::Admin).await.unwrap();
        tokio::time::timeout(STARTUP_TIMEOUT, all(&cluster, &api)).await.expect("done within a minute");
    });
}

async fn all(cluster: &Cluster, api: &TestApi) {
    define(cluster, api).await;
    invalid_objects_are_refused_with_the_remedy(api).await;
    api.create(POOLS, &serde_json::from_str(POOL).unwrap()).await.unwrap();
    api.create(POLICIES, &serde_json::from_str(POLICY).unwrap()).await.unwrap();
    create_node(api, "n1", &[json!({"key": "mine", "effect": "NoSchedule"})]).await.unwrap();
    let pool = existing_objects_are_delivered(cluster).await;
    a_status_is_written_once(api, &pool).await;
    columns_show_it(cluster);
    a_node_gets_what_the_pool_wants_and_loses_nothing(api, &pool.pool).await;
}

/// The output of kubectl, which times out after a minute.
fn kubectl(cluster: &Cluster, args: &[&str]) -> String {
    cluster.kubectl(args.iter().copied().chain(["--request-timeout=60s"])).unwrap()
}

async fn define(cluster: &Cluster, api: &TestApi) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/crds");
    kubectl(cluster, &["apply", "-f", folder.to_str().unwrap()]);
    for name in ["dedicatedpools", "evictionpolicies", "tolerationpolicies"] {
        let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}.taintward.io");
        wait::until("the definition to be established", STARTUP_TIMEOUT, async || {
            let object = api.get(&path).await?;
            let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let is = |kind: &str| conditions.iter().any(|one| one["type"] == kind && one["status"] == "True");
            assert!(!is("NonStructuralSchema"), "{object:#}");
            Ok((is("Established") && is("NamesAccepted")).then_some(()))
        })
        .await
        .unwrap();
        let path = format!("/apis/taintward.io/v1alpha1/{name}");
        // Until its storage is ready, a server responds with 404, then 429.
        wait::until("the resource to be served", STARTUP_TIMEOUT, async || Ok(api.get(&path).await.ok()))
            .await
            .unwrap();
    }
}

async fn invalid_objects_are_refused_with_the_remedy(api: &TestApi) {
    for (path, good, cases) in [
        (POOLS, POOL, pools()),
        (POLICIES, POLICY, policies()),
        (EVICTION_POLICIES, EVICTION_POLICY, eviction_policies()),
    ] {
        let path = format!("{path}?dryRun=All&fieldValidation=Strict");
        let good: Value = serde_json::from_str(good).unwrap();
        api.create(&path, &good).await.unwrap();
        for Wrong { at, value, message } in cases {
            let mut object = good.clone();
            let (parent, name) = at.rsplit_once('/').unwrap();
            object.pointer_mut(parent).unwrap()[name] = value;
            let rejected = api.create(&path, &object).await;
            let error = rejected.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains(message), "{at}: {error:?} does not say {message:?}");
        }
    }
}

/// The first object that a watcher delivers, by streamed lists and by pages.
async fn received<F: WatchedObject + PartialEq + std::fmt::Debug>(cluster: &Cluster, name: &str) -> F {
    let mut found = Vec::new();
    for watch_list in [true, false] {
        let config = kube::config::Kubeconfig::read_from(cluster.kubeconfig(Account::Admin, 0)).unwrap();
        let options = kube::config::KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(config, &options).await.unwrap();
        let client = kube::Client::try_from(config).unwrap();
        let (out, mut changes) = mpsc::channel(8);
        let (health, _kept) = watch::channel(taintward_kube::watch::StreamHealth::default());
        let listener = Watcher::<F>::new(
            client,
            Clock::system(),
            WatchSettings { watch_list, ..WatchSettings::default() },
        );
        let running = tokio::spawn(listener.run(out, health));
        found.push(loop {
            let batch = tokio::time::timeout(STARTUP_TIMEOUT, changes.recv()).await.unwrap().unwrap();
            let fact = batch.into_iter().find_map(|one| match one {
                ObjectEvent::Applied { fact, .. } if F::identity(&fact).name == name => Some(fact),
                ObjectEvent::Undecodable(odd) => panic!("{odd:?}"),
                _ => None,
            });
            if let Some(fact) = fact {
                break fact;
            }
        });
        running.abort();
    }
    let second = found.pop().unwrap();
    assert_eq!(found.pop().unwrap(), second);
    second
}

async fn existing_objects_are_delivered(cluster: &Cluster) -> PoolFact {
    let pool = received::<PoolFact>(cluster, "team-a").await;
    assert_eq!(pool.pool.taints().len(), 1, "the default is NoSchedule");
    assert_eq!(*pool.pool.label().key, *"node-restriction.kubernetes.io/pool.team-a");
    assert!(pool.pool.selects("n1", &Default::default()) && pool.recorded.is_none());
    let policy = received::<PolicyObject>(cluster, "web").await.policy;
    assert_eq!(
        (policy.not_ready, policy.unreachable),
        (Some(TolerationDuration::For(30)), Some(TolerationDuration::Forever))
    );
    let namespace = received::<NamespaceObject>(cluster, "default").await;
    assert_eq!(namespace.facts.labels.get("kubernetes.io/metadata.name").map(AsRef::as_ref), Some("default"));
    let node = received::<PoolNodeFact>(cluster, "n1").await.node;
    assert_eq!(node.taints.len(), 1);
    pool
}

async fn read_pool(api: &TestApi) -> PoolFact {
    let object = api.get(&format!("{POOLS}/team-a")).await.unwrap();
    match PoolFact::from_json(object.to_string().as_bytes()) {
        taintward_kube::decode::Decoded::Object(seen) => seen,
        other => panic!("{other:?}"),
    }
}

async fn a_status_is_written_once(api: &TestApi, seen: &PoolFact) {
    let status = PoolStatus { nodes: 3, pods: 17, ..PoolStatus::default() };
    let changes = observed_status(seen, &PoolAssessment::default(), status, Wall::from_secs(1_800_000_000));
    let past = seen.pool.marks();
    let patch = status_patch(seen, &changes, &past).unwrap();
    let body = std::str::from_utf8(&patch).unwrap();
    let path = format!("{POOLS}/team-a/status");
    api.patch(&path, PatchType::Merge, body).await.unwrap();
    let after = read_pool(api).await;
    assert_eq!((after.recorded.as_ref(), &after.pool.applied_marks), (Some(&changes), &past));
    assert_eq!(status_patch(&after, &changes, &past), None);
    let late = api.patch(&path, PatchType::Merge, body).await.unwrap_err();
    assert_eq!(late.code(), Some(409), "another version: {late}");
    assert_eq!((after.generation, after.pool.name), (seen.generation, seen.pool.name.clone()));
}

fn columns_show_it(cluster: &Cluster) {
    let table = |args: &[&str]| -> Vec<Vec<String>> {
        let text = kubectl(cluster, args);
        text.lines().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
    };
    let pools = table(&["get", "dedicatedpools"]);
    assert_eq!(pools[0], ["NAME", "TAINT", "VALUE", "NODES", "PODS", "OFFENDERS", "READY", "AGE"]);
    assert_eq!(pools[1][..7], ["team-a", "example.com/pool", "a", "3", "17", "0", "True"]);
    let policies = table(&["get", "tolpol"]);
    assert_eq!(
        policies[0],
        ["NAME", "PRIORITY", "NOTREADY", "UNREACHABLE", "LEAST", "MOST", "CURRENT", "PENDING", "AGE"]
    );
    assert_eq!(policies[1][..6], ["web", "0", "30", "forever", "5", "600"]);
    assert_eq!(table(&["get", "dpool", "--no-headers"]).len(), 1);
    assert_eq!(table(&["get", "taintward", "-o", "name"]).len(), 2, "the category names both");
    let words = kubectl(cluster, &["explain", "dedicatedpool.spec.placement"]);
    assert!(words.contains("Exclusive") && words.contains("Allowed"), "{words}");
}

async fn read_node(api: &TestApi) -> (PoolNodeBody, Value) {
    let object = api.get("/api/v1/nodes/n1").await.unwrap();
    (PoolNodeBody::read(object.to_string().as_bytes()).unwrap(), object)
}

fn edits(node: &PoolNodeBody, pool: &DedicatedPool) -> NodeEdits {
    reconcile(std::slice::from_ref(pool), &[PoolValidity::Applied], &node.seen().node, RecordTrust::Pools)
        .edits
}

/// Writes the pool's state when another client was faster, and then again.
async fn contested(api: &TestApi, pool: &DedicatedPool, faster: &str) -> Value {
    let node = read_node(api).await.0;
    let patch = node.patch(&edits(&node, pool)).unwrap().unwrap();
    api.patch("/api/v1/nodes/n1", PatchType::Merge, faster).await.unwrap();
    let late = api.patch("/api/v1/nodes/n1", PatchType::Json, std::str::from_utf8(&patch).unwrap()).await;
    assert!(
        matches!(late.as_ref().map_err(|error| error.code()), Err(Some(409 | 422))),
        "{faster}: {late:?}"
    );
    let node = read_node(api).await.0;
    let patch = node.patch(&edits(&node, pool)).unwrap().unwrap();
    api.patch("/api/v1/nodes/n1", PatchType::Json, std::str::from_utf8(&patch).unwrap()).await.unwrap();
    let (node, object) = read_node(api).await;
    assert_eq!(edits(&node, pool), NodeEdits::default());
    object
}

async fn a_node_gets_what_the_pool_wants_and_loses_nothing(api: &TestApi, pool: &DedicatedPool) {
    let before = read_node(api).await.1;
    let joined = contested(api, pool, r#"{"metadata":{"labels":{"theirs":"1"}}}"#).await;
    assert_eq!(joined["metadata"]["labels"]["theirs"], "1");
    assert_eq!(joined["metadata"]["labels"]["node-restriction.kubernetes.io/pool.team-a"], "true");
    let taint = json!({"key": "example.com/pool", "value": "a", "effect": "NoSchedule"});
    assert_eq!(joined["spec"]["taints"], json!([before["spec"]["taints"][0], taint]));
    let gone = DedicatedPool { leaving: true, ..pool.clone() };
    let foreign = json!([before["spec"]["taints"][0], taint, {"key": "theirs", "effect": "NoSchedule"}]);
    let left = contested(api, &gone, &json!({"spec": {"taints": foreign}}).to_string()).await;
    assert_eq!(left["spec"]["taints"], json!([foreign[0], foreign[2]]));
    assert_eq!(
        left["metadata"]["labels"],
        json!({"theirs": "1"})
            .as_object()
            .map(|own| {
                let mut all = before["metadata"]["labels"].as_object().cloned().unwrap_or_default();
                all.extend(own.clone());
                Value::Object(all)
            })
            .unwrap()
    );
    assert_eq!(left["metadata"]["annotations"]["taintward.io/pool"], Value::Null);
}
