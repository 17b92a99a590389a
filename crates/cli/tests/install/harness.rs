//! Sets up an installation and sends the requests of an account, none of which is kept.

use super::attempts::{InstallAttempt, RequestVerb};
use super::objects::install;
use serde_json::{Value, json};
use std::time::Duration;
use taintward_envtest::api::{PatchType, TestApiError};
use taintward_envtest::{Account, Binaries, Cluster, ClusterConfig, TestApi, wait};

pub(crate) const CONTROLLER: &str = "taintward";
pub(crate) const WEBHOOK: &str = "taintward-webhook";
pub(crate) const NAMESPACE: &str = "taintward-system";

/// A policy holds a moment after it was written; on a busy machine, longer.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(60);
const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";

pub(crate) struct InstallHarness {
    cluster: Cluster,
    admin: TestApi,
}

impl InstallHarness {
    /// Everything is installed and switched on; there are a node, a pod, a pool, and Secrets.
    pub(crate) async fn set(tools: &Binaries) -> Self {
        let cluster = Cluster::start(tools, ClusterConfig::default()).await.unwrap();
        let admin = cluster.api(Account::Admin).await.unwrap();
        let harness = Self { cluster, admin };
        harness.apply(&[
            "--controllers=*,node-lifecycle-controller,dedicated-pool-controller",
            "--stamp-taints",
            "--rules=*,brake",
        ]);
        let objects = [
            (
                "/api/v1/nodes",
                json!({"metadata": {"name": "n1",
                "labels": {"kubernetes.io/hostname": "n1", "example.com/gpu": "", "theirs": "1"},
                "annotations": {"theirs": "1"}},
                "spec": {"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24"], "taints": [
                    {"key": "example.com/out", "effect": "NoExecute"},
                    {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"},
                    {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"},
                    {"key": "node.kubernetes.io/out-of-service", "value": "down", "effect": "NoExecute"}]}}),
            ),
            (
                "/api/v1/namespaces/default/pods",
                json!({"metadata": {"name": "p1", "labels": {"app": "p"}},
                "spec": {"nodeName": "n1", "containers": [{"name": "main", "image": "registry.invalid/main"}],
                    "tolerations": [{"key": "example.com/a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 9}]}}),
            ),
            (
                "/apis/taintward.io/v1alpha1/dedicatedpools",
                json!({
                "apiVersion": "taintward.io/v1alpha1", "kind": "DedicatedPool",
                "metadata": {"name": "gpu", "finalizers": ["example.com/theirs"]},
                "spec": {"taint": {"key": "example.com/gpu"}, "nodes": {"names": ["n1"]},
                    "users": {"groups": ["a"]}, "enforcement": "Deny"}}),
            ),
            ("/api/v1/namespaces/kube-system/secrets", json!({"metadata": {"name": "theirs"}, "data": {}})),
        ];
        for (path, object) in &objects {
            wait::until("the kind to be served", STARTUP_TIMEOUT, async || {
                match harness.admin.create(path, object).await {
                    Ok(_) => Ok(Some(())),
                    Err(error) if matches!(error.code(), Some(403 | 404 | 429)) => Ok(None),
                    // A policy's binding exists before the server has begun to watch what it refers to.
                    Err(error) if error.is_policy_starting() => Ok(None),
                    Err(error) => Err(error.into()),
                }
            })
            .await
            .unwrap();
        }
        let node = json!({"status": {"conditions": [
            {"type": "Ready", "status": "True", "reason": "KubeletReady"},
            {"type": "NetworkUnavailable", "status": "False", "reason": "RouteCreated"}],
            "addresses": [{"type": "InternalIP", "address": "192.0.2.1"}]}});
        let pod = json!({"status": {"phase": "Running", "podIP": "10.1.0.9", "podIPs": [{"ip": "10.1.0.9"}],
            "conditions": [{"type": "Ready", "status": "True"}, {"type": "Initialized", "status": "True"}]}});
        for (path, status) in [("/api/v1/nodes/n1", node), ("/api/v1/namespaces/default/pods/p1", pod)] {
            harness
                .admin
                .patch(&format!("{path}/status"), PatchType::Strategic, &status.to_string())
                .await
                .unwrap();
        }
        harness
    }

    pub(crate) fn apply(&self, flags: &[&str]) {
        let mut command =
            install(&["--apply", "--image=registry.example.com/taintward:1", "--force-conflicts"]);
        command.args(flags).env("KUBECONFIG", self.cluster.kubeconfig(Account::Admin, 0));
        let done = command.output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    /// An API client with the account's stolen token.
    pub(crate) async fn account(&self, name: &str) -> TestApi {
        let path = format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{name}/token");
        let token = self.admin.create(&path, &json!({"spec": {"expirationSeconds": 3600}})).await.unwrap();
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {
                "server": format!("https://127.0.0.1:{}", self.cluster.port(0)),
                "certificate-authority": self.cluster.folder().join("ca.crt"),
            }}],
            "users": [{"name": "c", "user": {"token": token["status"]["token"]}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
        });
        let file = self.cluster.folder().join(format!("{name}.kubeconfig"));
        std::fs::write(&file, config.to_string()).unwrap();
        TestApi::from_kubeconfig(&file).await.unwrap()
    }

    /// Tries it; nothing is kept.
    async fn tried(
        &self,
        who: &TestApi,
        InstallAttempt { verb, path, body, .. }: &InstallAttempt,
    ) -> Result<Value, TestApiError> {
        let path = format!("{path}?dryRun=All");
        match verb {
            RequestVerb::Patch(patch) => who.patch(&path, *patch, &body.to_string()).await,
            RequestVerb::Create => who.create(&path, body).await,
            RequestVerb::Delete => who.delete(&path, body).await,
        }
    }

    fn by_policy(response: &Result<Value, TestApiError>) -> bool {
        matches!(response, Err(TestApiError::Rejected { code: 403, message, .. })
            if message.contains("ValidatingAdmissionPolicy 'taintward-"))
    }

    /// Until the policy rejects it, or no longer does.
    pub(crate) async fn until(&self, who: &TestApi, one: &InstallAttempt, passes: bool) {
        let what = format!("{}: {}", one.what, if passes { "taken" } else { "refused by a policy" });
        wait::until(&what, STARTUP_TIMEOUT, async || {
            let response = self.tried(who, one).await;
            Ok((response.is_ok() == passes && Self::by_policy(&response) != passes).then_some(()))
        })
        .await
        .unwrap();
    }

    pub(crate) async fn until_it_holds(&self, who: &TestApi, one: &InstallAttempt) {
        self.until(who, one, false).await;
    }

    pub(crate) async fn rejected(&self, who: &TestApi, all: &[InstallAttempt]) {
        for one in all {
            let response = self.tried(who, one).await;
            let message = response.as_ref().err().map(ToString::to_string).unwrap_or_default();
            assert!(
                Self::by_policy(&response) && message.contains(one.message),
                "{}: {response:?}",
                one.what
            );
            assert!(!message.contains("resulted in error"), "{}: {message}", one.what);
        }
    }

    pub(crate) async fn taken(&self, who: &TestApi, all: &[InstallAttempt]) {
        for one in all {
            self.tried(who, one).await.unwrap_or_else(|why| panic!("{}: {why}", one.what));
        }
    }

    /// An administrator succeeds with the same requests.
    pub(crate) async fn others_are_not_hindered<'a>(&self, all: impl Iterator<Item = &'a InstallAttempt>) {
        for one in all {
            self.tried(&self.admin, one).await.unwrap_or_else(|why| panic!("{}: {why}", one.what));
        }
    }

    /// Both accounts may do everything, as far as roles say.
    pub(crate) async fn everything_is_granted(&self) {
        let subject = |name| json!({"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE});
        let binding = json!({
            "metadata": {"name": "too-much"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [subject(CONTROLLER), subject(WEBHOOK)],
        });
        let path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
        self.admin.create(path, &binding).await.unwrap();
    }

    /// Each attempt of the controller, then of the webhook.
    pub(crate) async fn whatever_roles_grant(
        &self,
        controller: &TestApi,
        webhook: &TestApi,
        all: &[(&'static str, InstallAttempt)],
    ) {
        for (account, one) in all {
            let who = if *account == CONTROLLER { controller } else { webhook };
            let message = self.tried(who, one).await.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(
                message.contains("is forbidden: User"),
                "{account}: {}: roles do not grant it: {message}",
                one.what
            );
        }
        self.everything_is_granted().await;
        for (account, one) in all {
            self.until(if *account == CONTROLLER { controller } else { webhook }, one, false).await;
        }
    }

    /// The opposite: without the bindings the account could.
    pub(crate) async fn without_policies_it_would_pass(&self, who: &TestApi, all: &[InstallAttempt]) {
        let list = self
            .admin
            .get(&format!("{POLICIES}?labelSelector=app.kubernetes.io/name%3Dtaintward"))
            .await
            .unwrap();
        for binding in list["items"].as_array().unwrap() {
            let name = binding["metadata"]["name"].as_str().unwrap();
            self.admin.delete(&format!("{POLICIES}/{name}"), &json!({})).await.unwrap();
        }
        for one in all {
            self.until(who, one, true).await;
        }
    }
}
