//! Applies what `taintward install` prints and runs its controller and webhook as processes.

use crate::admission::hook::{Hook, free_port};
use crate::real::program::Taintward;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use std::path::PathBuf;
use std::process::Command;
use taintward_envtest::api::PatchType;
use taintward_envtest::{Account, Cluster, TestApi};

const NAMESPACE: &str = "taintward-system";
const CONFIGURATIONS: &str = "/apis/admissionregistration.k8s.io/v1";

pub(crate) struct Installation<'c> {
    cluster: &'c Cluster,
    admin: TestApi,
    /// The port that API servers call.
    pub(crate) port: u16,
}

impl<'c> Installation<'c> {
    /// Applies everything. `authority` (PEM) signed the webhook's certificate; if it is empty, the webhook sets the CA
    /// bundle.
    pub(crate) async fn apply(cluster: &'c Cluster, authority: &str) -> Self {
        let mut install = Command::new(env!("CARGO_BIN_EXE_taintward"));
        install.args(["install", "--apply", "--image=none"]);
        let done = install.env("KUBECONFIG", cluster.kubeconfig(Account::Admin, 0)).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let admin = cluster.api(Account::Admin).await.unwrap();
        let installed = Self { cluster, admin, port: free_port() };
        // Before anything runs, because this removes the CA bundle next to the address.
        installed.redirect(authority).await;
        installed
    }

    /// Replaces the Service, which leads to no pods here, by an address. Everything else stays as shipped.
    async fn redirect(&self, authority: &str) {
        for (plural, half) in
            [("mutatingwebhookconfigurations", "mutate"), ("validatingwebhookconfigurations", "validate")]
        {
            let path = format!("{CONFIGURATIONS}/{plural}/taintward");
            let shipped = self.admin.get(&path).await.unwrap();
            let webhooks = shipped["webhooks"].as_array().unwrap();
            assert!(webhooks.len() == 1 && webhooks[0]["failurePolicy"] == "Ignore", "{shipped}");
            let mut to = json!({"url": format!("https://127.0.0.1:{}/{half}", self.port)});
            if !authority.is_empty() {
                to["caBundle"] = json!(STANDARD.encode(authority));
            }
            let edit = json!([{"op": "replace", "path": "/webhooks/0/clientConfig", "value": to}]);
            self.admin.patch(&path, PatchType::Json, &edit.to_string()).await.unwrap();
        }
    }

    pub(crate) async fn controller(&self) -> Taintward {
        let (account, flags) = self.deployed("taintward").await;
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let mut controller = Taintward::start(self.cluster, &account, &flags);
        controller.ready().await;
        controller
    }

    pub(crate) async fn webhook(&self) -> Hook {
        let (account, mut flags) = self.deployed("taintward-webhook").await;
        flags.push("--certificate-names=127.0.0.1".into());
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        Hook::on(self.cluster, &account, self.port, &flags).ready().await
    }

    /// How often the API server has admitted an object because a webhook did not respond.
    pub(crate) async fn times_missed(&self) -> f64 {
        let text = self.admin.text("/metrics").await.unwrap();
        let series =
            text.lines().filter(|line| line.starts_with("apiserver_admission_webhook_fail_open_count{"));
        series.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
    }

    /// The account and the flags of a Deployment, without addresses.
    async fn deployed(&self, name: &str) -> (PathBuf, Vec<String>) {
        let path = format!("/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{name}");
        let deployment = self.admin.get(&path).await.unwrap();
        let spec = &deployment["spec"]["template"]["spec"];
        let account = spec["serviceAccountName"].as_str().unwrap();
        let account = format!("system:serviceaccount:{NAMESPACE}:{account}");
        let flags =
            spec["containers"][0]["args"].as_array().unwrap().iter().map(|flag| flag.as_str().unwrap());
        let addresses = ["--bind-address", "--metrics-port", "--secure-port"];
        let others = flags.skip(1).filter(|flag| !addresses.iter().any(|one| flag.starts_with(one)));
        (self.cluster.kubeconfig_as(&account, &[]).unwrap(), others.map(Into::into).collect())
    }
}
