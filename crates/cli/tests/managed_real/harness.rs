//! Sets up a real control plane whose own taint eviction is on, and Taintward alongside it with the account of
//! `install`.

use jiff::Timestamp;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use taintward_envtest::fixtures::set_taints;
use taintward_envtest::{Account, Audit, Binaries, ChildProcess, Cluster, ClusterConfig, TestApi, wait};

pub(crate) const STARTUP_TIMEOUT: Duration = Duration::from_secs(60);
pub(crate) const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
pub(crate) const HELD: &str = "taintward.io/held";
pub(crate) const NOT_READY: &str = "node.kubernetes.io/not-ready";

pub(crate) struct ManagedHarness {
    pub(crate) cluster: Cluster,
    pub(crate) admin: TestApi,
    /// A kubeconfig with the account of an installation.
    pub(crate) account: PathBuf,
    pub(crate) original: Option<ChildProcess>,
    pub(crate) ours: Option<ChildProcess>,
    /// The flags of `taintward run`, as are those that follow.
    controllers: String,
    flags: &'static [&'static str],
}

impl ManagedHarness {
    pub(crate) async fn set(tools: &Binaries, controllers: &str, flags: &'static [&'static str]) -> Self {
        Self::with_audit(tools, controllers, flags, Audit::Off).await
    }

    pub(crate) async fn with_audit(
        tools: &Binaries,
        controllers: &str,
        flags: &'static [&'static str],
        audit: Audit,
    ) -> Self {
        let options = ClusterConfig { audit, ..ClusterConfig::default() };
        let cluster = Cluster::start(tools, options).await.unwrap();
        let admin = cluster.api(Account::Admin).await.unwrap();
        let account = installed_account(&cluster, &admin, controllers).await;
        let mut harness = Self {
            cluster,
            admin,
            account,
            original: None,
            ours: None,
            controllers: controllers.to_owned(),
            flags,
        };
        harness.start_both().await;
        harness
    }

    pub(crate) async fn start_both(&mut self) {
        self.start_ours();
        let original = self.cluster.taint_eviction().await.unwrap();
        let ours = self.ours.as_ref().unwrap();
        wait::until("taintward to act", STARTUP_TIMEOUT, async || {
            Ok(ours.output().contains("toleration seconds synced").then_some(()))
        })
        .await
        .unwrap();
        self.original = Some(original);
    }

    fn start_ours(&mut self) {
        self.ours = Some(self.replica(&["--leader-elect=false"]));
    }

    pub(crate) fn replica(&self, election: &[&str]) -> ChildProcess {
        let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
        command.args(["run", "--metrics-port=0", "--secure-port=0"]).args(election);
        command.arg(format!("--controllers={}", self.controllers)).args(self.flags);
        command.arg("--kubeconfig").arg(&self.account);
        self.cluster.run("taintward", command).unwrap()
    }

    /// Restarts it with other controllers.
    pub(crate) fn restart_ours(&mut self, controllers: &str) {
        self.ours.take().unwrap().kill().unwrap();
        self.controllers = controllers.to_owned();
        self.start_ours();
    }

    pub(crate) fn kill_both(&mut self) {
        self.ours.take().unwrap().kill().unwrap();
        self.original.take().unwrap().kill().unwrap();
    }

    /// The output of `taintward run`.
    pub(crate) fn ours(&self) -> String {
        self.ours.as_ref().unwrap().output()
    }

    pub(crate) async fn pods(&self) -> Vec<Value> {
        let list = self.admin.get("/api/v1/namespaces/default/pods").await.unwrap();
        list["items"].as_array().unwrap().clone()
    }

    pub(crate) async fn on(&self, node: &str) -> Vec<Value> {
        self.pods().await.into_iter().filter(|pod| pod["spec"]["nodeName"] == node).collect()
    }

    pub(crate) async fn until(&self, what: &str, is: impl AsyncFn(&Self) -> bool) {
        let done = wait::until(what, STARTUP_TIMEOUT, async || Ok(is(self).await.then_some(()))).await;
        let message = |program: &Option<ChildProcess>| program.as_ref().unwrap().last_words();
        if let Err(why) = done {
            let pods = json!(
                self.pods()
                    .await
                    .iter()
                    .take(20)
                    .map(|pod| (name(pod), &pod["spec"]["tolerations"]))
                    .collect::<Vec<_>>()
            );
            panic!("{why}: {pods}\n{}\n{}", message(&self.ours), message(&self.original));
        }
    }

    pub(crate) async fn silence(&self, node: &str) {
        let taint = json!({"key": UNREACHABLE, "effect": "NoExecute"});
        set_taints(&self.admin, node, &[taint]).await.unwrap();
    }

    /// Runs `taintward hold` or `release`. Returns the exit code and the whole output.
    pub(crate) async fn command(&self, words: &[&str]) -> (Option<i32>, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
        command.args(words).arg("--kubeconfig").arg(self.cluster.kubeconfig(Account::Admin, 0));
        let done = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        let message = [done.stdout, done.stderr].concat();
        (done.status.code(), String::from_utf8_lossy(&message).into_owned())
    }
}

/// Installs the objects of the account's permissions and limits, and creates a token.
async fn installed_account(cluster: &Cluster, admin: &TestApi, controllers: &str) -> PathBuf {
    let mut install = Command::new(env!("CARGO_BIN_EXE_taintward"));
    install.args(["install", "--apply", "--image=registry.example.com/taintward:1", "--parts=controller"]);
    install.arg(format!("--controllers={controllers}"));
    let done = install.env("KUBECONFIG", cluster.kubeconfig(Account::Admin, 0)).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
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
    let file = cluster.folder().join("taintward.kubeconfig");
    std::fs::write(&file, config.to_string()).unwrap();
    file
}

pub(crate) fn seconds(pod: &Value) -> Option<i64> {
    let all = pod["spec"]["tolerations"].as_array().unwrap();
    all.iter().find(|one| one["key"] == UNREACHABLE).unwrap()["tolerationSeconds"].as_i64()
}

/// The annotation of a held or released pod.
pub(crate) fn record(pod: &Value) -> Option<Value> {
    let text = pod["metadata"]["annotations"][HELD].as_str()?;
    Some(serde_json::from_str(text).unwrap())
}

pub(crate) fn is_held(pod: &Value) -> bool {
    seconds(pod).is_none() && record(pod).is_some()
}

/// When a released pod leaves: its seconds count from their restoration.
pub(crate) fn due(pod: &Value) -> Option<Timestamp> {
    let changed: Timestamp = record(pod)?["changed"].as_str()?.parse().ok()?;
    Some(changed + Duration::from_secs(seconds(pod)?.try_into().ok()?))
}

pub(crate) fn name(pod: &Value) -> String {
    pod["metadata"]["name"].as_str().unwrap().to_owned()
}
