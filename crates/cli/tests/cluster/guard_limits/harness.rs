//! Sets up nodes, namespaces, users and pools, and waits for what the API server does with pods.

use serde_json::{Value, json};
use std::time::Duration;
use taintward_envtest::api::PatchType;
use taintward_envtest::fixtures::create_node;
use taintward_envtest::{Account, Cluster, TestApi, wait};

pub(crate) const STARTUP_TIMEOUT: Duration = Duration::from_secs(60);
pub(crate) const POOLS: &str = "/apis/taintward.io/v1alpha1/dedicatedpools";
pub(crate) const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
pub(crate) const BINDINGS: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
const PODS: &str = "/api/v1/namespaces/default/pods";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

pub(crate) struct GuardLimitsHarness {
    pub(crate) admin: TestApi,
    /// A user of no pool.
    pub(crate) outsider: TestApi,
    /// May create pools, and nothing else.
    pub(crate) maker: TestApi,
    /// The kubelet of node `n2`.
    pub(crate) kubelet: TestApi,
}

impl GuardLimitsHarness {
    pub(crate) async fn lay(cluster: &Cluster) -> Self {
        let admin = cluster.api(Account::Admin).await.unwrap();
        for name in ["n1", "n2", "open"] {
            create_node(&admin, name, &[]).await.unwrap();
        }
        grant(
            &admin,
            "maker",
            "User",
            json!([{"apiGroups": ["taintward.io"], "resources": ["dedicatedpools"], "verbs": ["create"]}]),
        )
        .await;
        let nodes = json!({"apiGroups": [""], "resources": ["nodes", "nodes/status", "pods/status"],
            "verbs": ["get", "create", "update", "patch"]});
        grant(&admin, "system:nodes", "Group", json!([nodes])).await;
        let user = async |name: &str, groups: &[&str]| {
            TestApi::from_kubeconfig(&cluster.kubeconfig_as(name, groups).unwrap()).await.unwrap()
        };
        Self {
            outsider: user("bob", &["system:masters"]).await,
            maker: user("maker", &[]).await,
            kubelet: user("system:node:n2", &["system:nodes"]).await,
            admin,
        }
    }

    /// Why a pod with these tolerations is rejected; `None` if it is admitted.
    pub(crate) async fn rejection(&self, tolerations: &Value) -> Option<String> {
        self.rejected(json!({"tolerations": tolerations})).await
    }

    /// Why a pod with these fields in its spec is rejected; `None` if it is admitted.
    pub(crate) async fn rejected(&self, more: Value) -> Option<String> {
        let mut pod =
            json!({"metadata": {"name": "probe"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
        pod["spec"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.outsider.create(&format!("{PODS}?dryRun=All"), &pod).await.err().map(|why| why.to_string())
    }

    pub(crate) async fn until_rejected(&self, key: &str) {
        wait::until(&format!("{key} to be refused"), STARTUP_TIMEOUT, async || {
            Ok(self.rejection(&only(key)).await.filter(|why| why.contains("are not for this pod")))
        })
        .await
        .unwrap();
    }

    pub(crate) async fn pool(&self, name: &str) -> Value {
        self.admin.get(&format!("{POOLS}/{name}")).await.unwrap()
    }

    pub(crate) async fn change(&self, pool: &str, spec: Value) {
        let body = json!({"spec": spec}).to_string();
        self.admin.patch(&format!("{POOLS}/{pool}"), PatchType::Merge, &body).await.unwrap();
    }

    pub(crate) async fn until_pool(&self, name: &str, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        wait::until(&format!("pool {name}: {what}"), STARTUP_TIMEOUT, async || {
            let pool = self.admin.get(&format!("{POOLS}/{name}")).await?;
            Ok(is(&pool).then_some(pool))
        })
        .await
        .unwrap()
    }

    pub(crate) async fn until_gone(&self, pools: &[String]) {
        for name in pools {
            self.admin.delete(&format!("{POOLS}/{name}"), &json!({})).await.unwrap();
        }
        wait::until("pools to be gone", STARTUP_TIMEOUT, async || {
            let all = self.admin.get(POOLS).await?;
            let is_left = |one: &Value| pools.iter().any(|name| one["metadata"]["name"] == *name.as_str());
            Ok((!all["items"].as_array().unwrap().iter().any(is_left)).then_some(()))
        })
        .await
        .unwrap();
    }
}

async fn grant(admin: &TestApi, name: &str, kind: &str, rules: Value) {
    let role = json!({"metadata": {"name": name}, "rules": rules});
    admin.create(&format!("{RBAC}/clusterroles"), &role).await.unwrap();
    let group = "rbac.authorization.k8s.io";
    let binding = json!({"metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": group, "kind": kind, "name": name}]});
    admin.create(&format!("{RBAC}/clusterrolebindings"), &binding).await.unwrap();
}

pub(crate) fn pool(name: &str, nodes: &[&str], users: Value) -> Value {
    json!({"apiVersion": "taintward.io/v1alpha1", "kind": "DedicatedPool", "metadata": {"name": name},
        "spec": {"taint": {"key": format!("example.com/{name}")}, "nodes": {"names": nodes}, "users": users}})
}

/// A toleration of every taint with this key.
pub(crate) fn only(key: &str) -> Value {
    json!([{"key": key, "operator": "Exists"}])
}

pub(crate) fn has_label(pool: &Value) -> bool {
    !pool["metadata"]["labels"]["taintward.io/pool-guard"].is_null()
}

/// Status and reason of the condition `Guarded`.
pub(crate) fn guarded(pool: &Value) -> (&str, &str) {
    let conditions = pool["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let found = conditions.iter().find(|one| one["type"] == "Guarded");
    let text = |field: &str| found.and_then(|one| one[field].as_str()).unwrap_or_default();
    (text("status"), text("reason"))
}
