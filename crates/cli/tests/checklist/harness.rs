//! Sets up what all items need: an API server with client certificates for webhooks, and a webhook with all rules.

use crate::admission::account;
use crate::admission::client::{WebhookClient, believing};
use crate::admission::hook::{Hook, HookFiles, all};
use crate::admission::register::{Registered, define, namespace, register_as, requests};
use serde_json::json;
use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use taintward_envtest::certificates::TestAuthority;
use taintward_envtest::{Account, AdmissionConfig, Audit, Binaries, Cluster, ClusterConfig, TestApi};

/// The result, or why the item fails.
pub(crate) type ItemResult = Result<Shown, String>;

/// The result that is the same in each run, and the part that differs.
pub(crate) struct Shown {
    pub(crate) result: String,
    pub(crate) figures: String,
}

impl Shown {
    pub(crate) fn with(result: impl fmt::Display, figures: impl fmt::Display) -> Self {
        Self { result: format!("ok: {result}"), figures: figures.to_string() }
    }

    /// A result without a live part.
    pub(crate) fn as_it_is(result: String) -> Self {
        Self { result, figures: String::new() }
    }
}

impl From<&str> for Shown {
    fn from(result: &str) -> Self {
        Self::with(result, "")
    }
}

/// Fails with this message unless the condition holds.
pub(crate) fn demand(so: bool, otherwise: impl fmt::Display) -> Result<(), String> {
    if so { Ok(()) } else { Err(otherwise.to_string()) }
}

/// The cluster and the webhook of all items.
pub(crate) struct ChecklistHarness {
    pub(crate) cluster: Cluster,
    pub(crate) api: TestApi,
    /// The kubeconfig of the webhook's own account.
    pub(crate) account: PathBuf,
    /// The authority of the webhook's certificate.
    pub(crate) authority: TestAuthority,
    /// The authority of the API server's client certificate.
    pub(crate) clients: TestAuthority,
    pub(crate) files: HookFiles,
    pub(crate) hook: Hook,
    own: OwnFolder,
}

/// The folder of files that the API server reads before there is a cluster.
struct OwnFolder(PathBuf);

impl Drop for OwnFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl OwnFolder {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("taintward-security-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn write(&self, name: &str, text: &str) -> String {
        let file = self.0.join(name);
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    }
}

/// The configuration with which an API server presents a client certificate to webhooks.
fn configuration(own: &OwnFolder, clients: &TestAuthority) -> String {
    let identity = clients.client("kube-apiserver", "webhooks").unwrap();
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config",
        "users": [{"name": "*", "user": {
            "client-certificate": own.write("api.crt", &identity.certificate),
            "client-key": own.write("api.key", &identity.key),
        }}],
    });
    let file = own.write("webhooks.kubeconfig", &kubeconfig.to_string());
    let plugin = |name: &str| {
        json!({"name": name, "configuration": {
            "apiVersion": "apiserver.config.k8s.io/v1", "kind": "WebhookAdmissionConfiguration",
            "kubeConfigFile": file,
        }})
    };
    json!({
        "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration",
        "plugins": [plugin("MutatingAdmissionWebhook"), plugin("ValidatingAdmissionWebhook")],
    })
    .to_string()
}

impl ChecklistHarness {
    pub(crate) async fn lay(tools: &Binaries) -> Self {
        let (own, clients) = (OwnFolder::new(), TestAuthority::new().unwrap());
        let admission = AdmissionConfig {
            off: vec!["DefaultTolerationSeconds"],
            configuration: configuration(&own, &clients),
            ..AdmissionConfig::default()
        };
        let options =
            ClusterConfig { audit: Audit::Full, admission: vec![admission], ..ClusterConfig::default() };
        let cluster = Cluster::start(tools, options).await.unwrap();
        define(&cluster).await;
        let api = cluster.api(Account::Admin).await.unwrap();
        let account = account::make(&cluster).await;
        let authority = TestAuthority::new().unwrap();
        let files = HookFiles::new(&cluster, "main", &authority);
        let rules = "--rules=*,advice,brake,extended-resources,toleration-restriction";
        let hook = Hook::start(&cluster, &account, &all(&files.flags(), &[rules])).ready().await;
        let harness = Self { cluster, api, account, authority, clients, files, hook, own };
        namespace(&harness.api, "main", "main", json!({})).await;
        let reported = Registered::strict(&harness.hook, "main", &harness.authority.certificate);
        register_as(&harness.api, "main", &[reported]).await;
        requests(&harness.api, &harness.hook, "main").await;
        harness
    }

    /// A new connection to the webhook.
    pub(crate) async fn client(&self) -> WebhookClient {
        WebhookClient::connect(self.hook.port, &believing(&self.authority.certificate, None)).await.unwrap()
    }

    /// Writes a file that is removed after the test.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        self.own.write(name, text)
    }

    /// The webhook's memory, in KiB.
    pub(crate) fn resident(&self) -> u64 {
        self.hook.usage().resident >> 10
    }
}

/// Measures how long the machine delays a task that only sleeps briefly, again and again: other latencies cannot be
/// better than that.
pub(crate) struct Yardstick {
    stop: std::sync::mpsc::Sender<()>,
    worst: std::thread::JoinHandle<Duration>,
}

impl Yardstick {
    pub(crate) fn lay() -> Self {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let worst = std::thread::spawn(move || {
            let (moment, mut worst) = (Duration::from_millis(1), Duration::ZERO);
            loop {
                let began = Instant::now();
                let reported = stopped.recv_timeout(moment);
                worst = worst.max(began.elapsed().saturating_sub(moment));
                if reported != Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                    return worst;
                }
            }
        });
        Self { stop, worst }
    }

    /// The longest delay.
    pub(crate) fn worst(self) -> Duration {
        drop(self.stop);
        self.worst.join().unwrap()
    }
}

/// The value that this many of a thousand do not exceed.
pub(crate) fn at_most(mut took: Vec<Duration>, of_a_thousand: usize) -> Duration {
    took.sort();
    let at = (took.len() * of_a_thousand).div_ceil(1000).clamp(1, took.len().max(1));
    took.get(at - 1).copied().unwrap_or(Duration::MAX)
}
