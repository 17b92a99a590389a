//! Sets up a bare sandbox, or a real API server with KWOK.

use super::check::until;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use taintward_envtest::api::PatchType;
use taintward_envtest::{
    Account, Audit, Binaries, ChildProcess, Cluster, ClusterConfig, TestApi, binaries, fixtures, kwok,
};

/// The components that real programs replace here, and Taintward, whose work kube-controller-manager does.
const WITHOUT: &str =
    "taintward,nodes,scheduler,deployments,replicasets,daemonsets,jobs,budgets,garbage,namespaces";

const NODES: usize = 6;

pub(crate) struct Place {
    pub(crate) what: &'static str,
    pub(crate) api: TestApi,
    pub(crate) nodes: Vec<String>,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) folder: PathBuf,
    _held: PlaceOwner,
}

/// What ends with the place.
#[allow(dead_code, reason = "held, not looked at")]
enum PlaceOwner {
    Sandbox(Sandbox),
    Real(ChildProcess, Box<Cluster>),
}

struct Sandbox(Child);

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if kept().is_none() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

fn kept() -> Option<PathBuf> {
    std::env::var_os("TAINTWARD_PARTS_LOGS").map(PathBuf::from)
}

fn folder(what: &str) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("taintward-parts-{}-{number}", std::process::id());
    let folder = kept().map_or_else(|| std::env::temp_dir().join(name), |kept| kept.join(what));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

impl Place {
    pub(crate) async fn sandbox() -> Self {
        let what = "sandbox";
        let folder = folder(what);
        let kubeconfig = folder.join("kubeconfig");
        let sandbox = Command::new(env!("CARGO_BIN_EXE_taintward"))
            .args(["sandbox", "--plain", "--empty", "--listen", "127.0.0.1:0", "--without", WITHOUT])
            .args(["--nodes", &NODES.to_string(), "--kubeconfig-out"])
            .arg(&kubeconfig)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let held = PlaceOwner::Sandbox(Sandbox(sandbox));
        let api = until("the sandbox to answer", async || Ok(answering(&kubeconfig).await)).await;
        let nodes = (1..=NODES).map(|number| format!("n{number}")).collect();
        Self { what, api, nodes, kubeconfig, folder, _held: held }.with_ready_nodes().await
    }

    pub(crate) async fn real(tools: &Binaries) -> Self {
        let what = "real server";
        let folder = folder("real");
        let options = ClusterConfig { audit: Audit::Off, ..ClusterConfig::default() };
        let cluster = Cluster::start(tools, options).await.unwrap();
        let kubelets = cluster.kwok(&binaries::KWOK.find().unwrap()).await.unwrap();
        let api = cluster.api(Account::Admin).await.unwrap();
        let kubeconfig = cluster.kubeconfig(Account::Admin, 0);
        let nodes: Vec<String> = (1..=NODES).map(|number| format!("n{number}")).collect();
        let room = json!({"cpu": "8", "memory": "32Gi", "pods": "110"});
        let status = json!({"status": {"capacity": room, "allocatable": room}}).to_string();
        for node in &nodes {
            fixtures::create_node(&api, node, &[]).await.unwrap();
            let label = json!({"metadata": {"labels": {"kubernetes.io/hostname": node}}}).to_string();
            api.patch(&format!("/api/v1/nodes/{node}"), PatchType::Merge, &label).await.unwrap();
            api.patch(&format!("/api/v1/nodes/{node}/status"), PatchType::Merge, &status).await.unwrap();
            kwok::adopt(&api, node).await.unwrap();
        }
        let held = PlaceOwner::Real(kubelets, Box::new(cluster));
        Self { what, api, nodes, kubeconfig, folder, _held: held }.with_ready_nodes().await
    }

    async fn with_ready_nodes(self) -> Self {
        for node in &self.nodes {
            until(&format!("{node} to be ready"), async || {
                let node = self.api.get(&format!("/api/v1/nodes/{node}")).await?;
                let mut conditions = node["status"]["conditions"].as_array().into_iter().flatten();
                let ready = |one: &Value| one["type"] == "Ready" && one["status"] == "True";
                Ok(conditions.any(ready).then_some(()))
            })
            .await;
        }
        self
    }
}

async fn answering(kubeconfig: &Path) -> Option<TestApi> {
    let api = TestApi::from_kubeconfig(kubeconfig).await.ok()?;
    api.text("/readyz").await.ok()?;
    Some(api)
}
