//! Sets up six nodes, the real components, and Taintward as `taintward install --eviction-policies` installs it.

use crate::install::objects::install;
use crate::real::program::Taintward;
use crate::scale::sized;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use taintward_envtest::api::PatchType;
use taintward_envtest::audit::AuditEntry;
use taintward_envtest::{Account, Binaries, ChildProcess, Cluster, TestApi, fixtures, kwok, wait};

const NODES: [&str; 6] = ["n1", "n2", "n3", "n4", "n5", "n6"];

const POLICIES: &str = "/apis/taintward.io/v1alpha1/evictionpolicies";

const CONTROLLERS: &str = "deployment-controller,replicaset-controller,disruption-controller";

const ACCOUNT: &str = "system:serviceaccount:taintward-system:taintward";

/// The timeout of all waits.
const WAIT_MAX: [Duration; 2] = [Duration::from_secs(120), Duration::from_secs(600)];

pub(super) struct PolicyHarness<'c> {
    cluster: &'c Cluster,
    admin: TestApi,
    kubeconfig: PathBuf,
    _components: [ChildProcess; 3],
}

/// The number of requests.
pub(super) fn count(requests: &[Arc<AuditEntry>]) -> usize {
    requests.len()
}

impl<'c> PolicyHarness<'c> {
    pub(super) async fn set(cluster: &'c Cluster, tools: &Binaries, kwok: &Path) -> Self {
        let kubelets = cluster.kwok(kwok).await.unwrap();
        let manager = cluster.controller_manager(CONTROLLERS, &[]).await.unwrap();
        let mut scheduler = Command::new(tools.path("kube-scheduler").unwrap());
        scheduler.args(["--secure-port=0", "--leader-elect=false"]);
        scheduler.arg(format!("--kubeconfig={}", cluster.kubeconfig(Account::Admin, 0).display()));
        let scheduler = cluster.run("kube-scheduler", scheduler).unwrap();
        let admin = cluster.api(Account::Admin).await.unwrap();
        let room = json!({"cpu": "8", "memory": "32Gi", "pods": "110"});
        let status = json!({"status": {"capacity": room, "allocatable": room}}).to_string();
        for node in NODES {
            fixtures::create_node(&admin, node, &[]).await.unwrap();
            let path = format!("/api/v1/nodes/{node}/status");
            admin.patch(&path, PatchType::Merge, &status).await.unwrap();
            kwok::adopt(&admin, node).await.unwrap();
        }
        let mut installed =
            install(&["--apply", "--image=registry.example.com/taintward:1", "--parts=controller"]);
        installed.arg("--eviction-policies").env("KUBECONFIG", cluster.kubeconfig(Account::Admin, 0));
        let installed = installed.output().unwrap();
        assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
        let kubeconfig = kubeconfig(cluster, &admin).await;
        Self { cluster, admin, kubeconfig, _components: [kubelets, manager, scheduler] }
    }

    /// Starts a process with the installed permissions, and waits until it is ready.
    pub(super) async fn start(&self) -> Taintward {
        let flags = ["--eviction-policies", "--leader-elect-resource-namespace=taintward-system"];
        let mut taintward = Taintward::start(self.cluster, &self.kubeconfig, &flags);
        taintward.ready().await;
        taintward
    }

    /// The process that leads.
    pub(super) async fn leader(&self, replicas: &[Taintward]) -> usize {
        self.until("a process to lead", async || replicas.iter().position(Taintward::is_leading)).await
    }

    pub(super) async fn until<T>(&self, what: &str, question: impl AsyncFn() -> Option<T>) -> T {
        wait::until(what, sized(WAIT_MAX[0], WAIT_MAX[1]), async || Ok(question().await)).await.unwrap()
    }

    /// Creates a policy for the taint `maintenance`, as soon as the kind is served.
    pub(super) async fn policy(&self, name: &str, mut spec: Value) {
        spec["taints"] = json!([{"key": "maintenance"}]);
        let version = "taintward.io/v1alpha1";
        let policy = json!({"apiVersion": version, "kind": "EvictionPolicy", "metadata": {"name": name}, "spec": spec});
        self.until("the kind to be served", async || self.admin.create(POLICIES, &policy).await.ok()).await;
    }

    /// Creates a pod that no controller recreates, on a node.
    pub(super) async fn pod(&self, name: &str, node: &str) {
        fixtures::pod(name, node).grace(0).create(&self.admin).await.unwrap();
    }

    /// What the program prints for an administrator.
    pub(super) fn run(&self, words: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
        command.args(words).env("KUBECONFIG", self.cluster.kubeconfig(Account::Admin, 0)).env("TZ", "UTC");
        let done = command.output().unwrap();
        assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).into_owned()
    }

    /// Creates a Deployment and its budget, and waits until every pod is ready and counted.
    pub(super) async fn app(&self, name: &str, replicas: u64, limit: Value) {
        let labels = json!({"app": name});
        let pod = json!({
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "main", "image": "registry.invalid/main"}],
                "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname",
                    "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {"matchLabels": labels}}]},
        });
        let spec = json!({"replicas": replicas, "selector": {"matchLabels": labels}, "template": pod});
        let deployment = json!({"metadata": {"name": name}, "spec": spec});
        self.admin.create("/apis/apps/v1/namespaces/default/deployments", &deployment).await.unwrap();
        let mut budget = json!({"metadata": {"name": name}, "spec": limit});
        budget["spec"]["selector"] = json!({"matchLabels": labels});
        self.admin.create(BUDGETS, &budget).await.unwrap();
        self.until("the budget to count every pod", async || {
            let budget = self.admin.get(&format!("{BUDGETS}/{name}")).await.unwrap();
            (budget["status"]["currentHealthy"] == replicas).then_some(())
        })
        .await;
    }

    /// Taints the nodes, and returns when the first of them was written, at the earliest, and the last, at the latest.
    pub(super) fn taint(&self, nodes: &[&str], taint: &str) -> (Timestamp, Timestamp) {
        let words = ["taint", "nodes"].into_iter().chain(nodes.iter().copied()).chain([taint]);
        self.timed(|| _ = self.cluster.kubectl(words).unwrap())
    }

    /// The same by `taintward taint node`.
    pub(super) fn taint_by_taintward(&self, node: &str, words: &[&str]) -> (Timestamp, Timestamp) {
        let words: Vec<&str> = ["taint", "node", node].iter().chain(words).copied().collect();
        self.timed(|| _ = self.run(&words))
    }

    /// When the nodes were written that something writes.
    fn timed(&self, write: impl FnOnce()) -> (Timestamp, Timestamp) {
        let before = self.cluster.audit().unwrap().len();
        write();
        let all = self.cluster.audit().unwrap();
        let writes = all[before..].iter().filter(|entry| entry.resource == "nodes" && entry.is_write());
        let times =
            |time: fn(&AuditEntry) -> Timestamp| writes.clone().map(|entry| time(entry)).collect::<Vec<_>>();
        let first = times(|entry| entry.received).into_iter().min().unwrap();
        (first, times(|entry| entry.completed).into_iter().max().unwrap())
    }

    pub(super) fn untaint(&self, nodes: &[&str], key: &str) {
        self.taint(nodes, &format!("{key}-"));
    }

    async fn pods(&self, app: &str) -> Vec<Value> {
        let path = format!("/api/v1/namespaces/default/pods?labelSelector=app={app}");
        self.admin.get(&path).await.unwrap()["items"].as_array().unwrap().clone()
    }

    /// How many pods of the app are on these nodes.
    pub(super) async fn pods_on(&self, app: &str, nodes: &[&str]) -> usize {
        let pods = self.pods(app).await;
        pods.iter().filter(|pod| nodes.iter().any(|node| pod["spec"]["nodeName"] == *node)).count()
    }

    pub(super) async fn nodes_of(&self, app: &str) -> Vec<String> {
        let pods = self.pods(app).await;
        let mut nodes: Vec<String> =
            pods.iter().map(|pod| pod["spec"]["nodeName"].as_str().unwrap().to_owned()).collect();
        nodes.sort();
        nodes.dedup();
        nodes
    }

    pub(super) async fn uids(&self, app: &str) -> Vec<String> {
        let pods = self.pods(app).await;
        pods.iter().map(|pod| pod["metadata"]["uid"].as_str().unwrap().to_owned()).collect()
    }

    pub(super) async fn ready(&self, app: &str) -> u64 {
        let path = format!("/apis/apps/v1/namespaces/default/deployments/{app}");
        self.admin.get(&path).await.unwrap()["status"]["readyReplicas"].as_u64().unwrap_or_default()
    }

    /// The status of a policy, when it is as expected.
    pub(super) async fn status_when(&self, name: &str, is: impl Fn(&Value) -> bool) -> Value {
        self.until("the status of the policy", async || {
            let policy = self.admin.get(&format!("{POLICIES}/{name}")).await.unwrap();
            Some(policy["status"].clone()).filter(|status| status.is_object() && is(status))
        })
        .await
    }

    /// Status and reason of a condition.
    pub(super) fn condition(&self, status: &Value, kind: &str) -> (String, String) {
        let conditions = status["conditions"].as_array().unwrap();
        let found = conditions.iter().find(|one| one["type"] == kind).unwrap();
        let text = |field: &str| found[field].as_str().unwrap().to_owned();
        (text("status"), text("reason"))
    }

    /// Every write of pods so far, of the app or by an unknown name.
    pub(super) fn record(&self, app: &str) -> Vec<Arc<AuditEntry>> {
        let all = self.cluster.audit().unwrap().into_iter();
        let prefix = format!("{app}-");
        all.filter(|entry| entry.is_write() && entry.resource.starts_with("pods"))
            .filter(|entry| entry.name.starts_with(&prefix))
            .collect()
    }

    /// The requests of the installed account.
    pub(super) fn requests(&self, is: impl Fn(&AuditEntry) -> bool) -> Vec<Arc<AuditEntry>> {
        let all = self.cluster.audit().unwrap().into_iter();
        all.filter(|entry| entry.user == ACCOUNT && entry.stage == "ResponseComplete" && is(entry)).collect()
    }

    /// The evictions that Taintward requested.
    pub(super) fn evictions(&self) -> Vec<Arc<AuditEntry>> {
        self.requests(|entry| entry.resource == "pods/eviction")
    }

    /// The pods that Taintward deleted.
    pub(super) fn deletions(&self) -> Vec<Arc<AuditEntry>> {
        self.requests(|entry| entry.resource == "pods" && entry.verb == "delete" && entry.code == 200)
    }
}

const BUDGETS: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

/// A kubeconfig with a token of the installed account.
async fn kubeconfig(cluster: &Cluster, admin: &TestApi) -> PathBuf {
    let path = "/api/v1/namespaces/taintward-system/serviceaccounts/taintward/token";
    let token = admin.create(path, &json!({"spec": {"expirationSeconds": 3600}})).await.unwrap();
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {
            "server": format!("https://127.0.0.1:{}", cluster.port(0)),
            "certificate-authority": cluster.folder().join("ca.crt"),
        }}],
        "users": [{"name": "c", "user": {"token": token["status"]["token"]}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
    });
    let file = cluster.folder().join("installed.kubeconfig");
    std::fs::write(&file, config.to_string()).unwrap();
    file
}
