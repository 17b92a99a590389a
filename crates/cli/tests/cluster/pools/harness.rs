//! Builds the nodes, pools and expectations of the scenarios.

use crate::pools_live::OURS;
use crate::real::program::Taintward;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;
use taintward_envtest::api::PatchType;
use taintward_envtest::{Account, Cluster, TestApi, access, wait};
use testkit::{ObjectExt as _, node};

pub(crate) const POOLS: &str = "/apis/taintward.io/v1alpha1/dedicatedpools";

/// On a busy machine, everything arrives within this if it arrives at all.
pub(crate) const STARTUP_TIMEOUT: Duration = Duration::from_secs(30);

/// The flags of every run.
pub(crate) const FLAGS: [&str; 2] =
    ["--controllers=*,dedicated-pool-controller", "--exempt-namespaces=monitoring"];

pub(crate) struct PoolHarness<'c> {
    pub(crate) cluster: &'c Cluster,
    pub(crate) admin: TestApi,
}

impl<'c> PoolHarness<'c> {
    pub(crate) async fn new(cluster: &'c Cluster) -> Self {
        let admin = cluster.api(Account::Admin).await.unwrap();
        access::grant_dedicated_pools(&admin).await.unwrap();
        Self { cluster, admin }
    }

    /// Starts the program without waiting.
    pub(crate) fn start(&self, flags: &[&str]) -> Taintward {
        let flags: Vec<&str> = FLAGS.iter().chain(flags).copied().collect();
        Taintward::start(self.cluster, &self.cluster.kubeconfig(OURS, 0), &flags)
    }

    pub(crate) fn kubectl(&self, args: &[&str]) -> String {
        self.cluster.kubectl(args.iter().copied().chain(["--request-timeout=30s"])).unwrap()
    }

    /// Installs the shipped definitions of pools.
    pub(crate) async fn define(&self) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/crds");
        self.kubectl(&["apply", "-f", folder.to_str().unwrap()]);
        self.until("pools to be served", async || self.admin.get(POOLS).await.ok()).await;
    }

    pub(crate) async fn until<T>(&self, what: &str, question: impl AsyncFn() -> Option<T>) -> T {
        wait::until(what, STARTUP_TIMEOUT, async || Ok(question().await)).await.unwrap()
    }

    /// Creates a node with these labels, besides those of every kubelet, and taints.
    pub(crate) async fn create_node(&self, name: &str, labels: Value, taints: Value) {
        let node = node(name).with("metadata.labels", json!({"kubernetes.io/os": "linux"}));
        let node = node.with_all("metadata.labels", &labels).with("spec.taints", taints);
        self.admin.create("/api/v1/nodes", &node).await.unwrap();
    }

    pub(crate) async fn read(&self, node: &str) -> Value {
        self.admin.get(&format!("/api/v1/nodes/{node}")).await.unwrap()
    }

    /// Everything of a node that a pool could change.
    pub(crate) async fn mine(&self, node: &str) -> String {
        outside(&self.read(node).await)
    }

    pub(crate) async fn change_node(&self, node: &str, change: Value) {
        self.admin
            .patch(&format!("/api/v1/nodes/{node}"), PatchType::Merge, &change.to_string())
            .await
            .unwrap();
    }

    pub(crate) async fn change_pool(&self, pool: &str, change: Value) {
        self.admin.patch(&format!("{POOLS}/{pool}"), PatchType::Merge, &change.to_string()).await.unwrap();
    }

    /// Creates a pool whose taint is `example.com/pool=NAME`, with the default label, used by the namespaces of that
    /// team.
    pub(crate) async fn pool(&self, name: &str, nodes: Value) {
        let pool = json!({
            "apiVersion": "taintward.io/v1alpha1", "kind": "DedicatedPool", "metadata": {"name": name},
            "spec": {
                "taint": {"key": "example.com/pool", "value": name},
                "nodes": nodes,
                "users": {"namespaceSelector": {"matchLabels": {"team": name}}},
            },
        });
        self.admin.create(POOLS, &pool).await.unwrap();
    }

    pub(crate) async fn read_pool(&self, name: &str) -> Option<Value> {
        self.admin.find(&format!("{POOLS}/{name}")).await.unwrap()
    }

    /// Waits until the pool's condition `Ready` has this reason for the latest generation.
    pub(crate) async fn ready(&self, pool: &str, reason: &str) -> Value {
        self.until(&format!("{pool} to be {reason}"), async || {
            let object = self.read_pool(pool).await?;
            let ready = condition(&object, "Ready");
            let current = object["status"]["observedGeneration"] == object["metadata"]["generation"];
            (current && ready["reason"] == reason).then_some(object)
        })
        .await
    }

    /// Waits until a count in the pool's status has this value.
    pub(crate) async fn counts(&self, pool: &str, count: &str, value: u64) -> Value {
        self.until(&format!("{count} of {pool} to be {value}"), async || {
            self.read_pool(pool).await.filter(|object| object["status"][count] == value)
        })
        .await
    }

    /// Waits until a node has everything that a pool adds to it, or none of it.
    pub(crate) async fn dedicated(&self, node: &str, pool: &str, is: bool) {
        self.until(&format!("{node} to be {pool}'s: {is}"), async || {
            (belongs(&self.read(node).await, pool) == is).then_some(())
        })
        .await;
    }

    pub(crate) async fn delete_pool(&self, pool: &str) {
        self.admin.delete(&format!("{POOLS}/{pool}"), &json!({})).await.unwrap();
    }

    pub(crate) async fn pool_is_gone(&self, pool: &str) {
        self.until(&format!("{pool} to be gone"), async || {
            self.read_pool(pool).await.is_none().then_some(())
        })
        .await;
    }

    /// The number of the program's open watches.
    pub(crate) fn streams(&self, resource: &str) -> usize {
        let all = self.cluster.audit().unwrap().into_iter();
        let ours = all.filter(|entry| {
            (entry.verb.as_str(), entry.code) == ("watch", 200)
                && entry.user == OURS.user()
                && entry.resource == resource
        });
        let (begun, ended): (Vec<_>, Vec<_>) = ours.partition(|entry| entry.stage == "ResponseStarted");
        begun.len() - ended.len().min(begun.len())
    }

    /// Checks that the permissions in deploy/ were sufficient, and that all writes to nodes were patches with tests.
    pub(crate) fn checks_the_record(&self) {
        let ours: Vec<_> =
            self.cluster.audit().unwrap().into_iter().filter(|entry| entry.user == OURS.user()).collect();
        let rejected: Vec<_> = ours.iter().filter(|entry| matches!(entry.code, 401 | 403)).collect();
        assert!(rejected.is_empty(), "{rejected:?}");
        let nodes: Vec<_> =
            ours.iter().filter(|entry| entry.is_write() && entry.resource == "nodes").collect();
        assert!(nodes.len() > 50, "{}", nodes.len());
        for entry in nodes {
            let first = &entry.request[0];
            assert_eq!(
                (&first["op"], &first["path"]),
                (&json!("test"), &json!("/metadata/uid")),
                "{entry:?}"
            );
        }
    }
}

/// Labels, annotations and taints, as text.
pub(crate) fn outside(node: &Value) -> String {
    json!([node["metadata"]["labels"], node["metadata"]["annotations"], node["spec"]["taints"]]).to_string()
}

pub(crate) fn condition(pool: &Value, kind: &str) -> Value {
    let conditions = pool["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.into_iter().find(|one| one["type"] == kind).unwrap_or_default()
}

/// The key of the label that leads a pool's pods to its nodes.
pub(crate) fn label(pool: &str) -> String {
    format!("node-restriction.kubernetes.io/pool.{pool}")
}

/// Whether a node has everything that a pool adds to it; half of it must never be seen.
pub(crate) fn belongs(node: &Value, pool: &str) -> bool {
    let taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
    let taint = taints.iter().any(|one| one["key"] == "example.com/pool" && one["value"] == pool);
    let labelled = node["metadata"]["labels"][label(pool)] == "true";
    let record = node["metadata"]["annotations"]["taintward.io/pool"].as_str().unwrap_or_default();
    let record = record.split(' ').next() == Some(pool);
    assert!(taint == labelled && labelled == record, "half of {pool}: {node:#}");
    taint
}
