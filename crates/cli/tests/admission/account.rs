//! # Account: what the webhook may do
//! Room:     its service account, with the rights it needs and no others.
//! Comes in: the names of webhook configurations and of its Secret.
//! Goes out: a kubeconfig with a token.
//! Not here: what `taintward install` grants.

use super::hook::PATIENCE;
use serde_json::{Value, json};
use std::path::PathBuf;
use taintward_cluster::{Account, Api, Cluster, wait};

/// The namespace of the webhook.
pub(crate) const NAMESPACE: &str = "taintward-system";
/// Its account.
const NAME: &str = "taintward-webhook";
/// The Secret of its certificate.
pub(crate) const SECRET: &str = "taintward-webhook-certificate";

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// Makes the namespace and the account.
pub(crate) async fn make(cluster: &Cluster, configurations: &[&str]) -> PathBuf {
    let admin = cluster.api(Account::Admin).await.unwrap();
    let accounts = format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts");
    admin.create("/api/v1/namespaces", &json!({"metadata": {"name": NAMESPACE}})).await.unwrap();
    admin.create(&accounts, &json!({"metadata": {"name": NAME}})).await.unwrap();
    let reads = json!(["get", "list", "watch"]);
    let everywhere = json!([
        {"apiGroups": [""], "resources": ["nodes", "namespaces"], "verbs": reads},
        {"apiGroups": ["taintward.io"], "resources": ["dedicatedpools", "taintwardpolicies"], "verbs": reads},
        {"apiGroups": ["admissionregistration.k8s.io"], "verbs": ["get", "patch"],
            "resources": ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
            "resourceNames": configurations},
    ]);
    let at_home = json!([
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "update"], "resourceNames": [SECRET]},
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
    ]);
    grant(&admin, RBAC, "ClusterRole", everywhere).await;
    grant(&admin, &format!("{RBAC}/namespaces/{NAMESPACE}"), "Role", at_home).await;
    let asked = json!({"spec": {"expirationSeconds": 3600}});
    let token = admin.create(&format!("{accounts}/{NAME}/token"), &asked).await.unwrap();
    let kubeconfig = cluster.folder().join("webhook.kubeconfig");
    std::fs::write(&kubeconfig, with_token(cluster, token["status"]["token"].as_str().unwrap())).unwrap();
    let own = Api::from_kubeconfig(&kubeconfig).await.unwrap();
    let knows = async || Ok(own.get("/api/v1/nodes").await.ok());
    wait::until("the webhook's account to be known", PATIENCE, knows).await.unwrap();
    kubeconfig
}

async fn grant(admin: &Api, at: &str, kind: &str, rules: Value) {
    let plural = format!("{}s", kind.to_lowercase());
    let role = json!({"metadata": {"name": NAME}, "rules": rules});
    admin.create(&format!("{at}/{plural}"), &role).await.unwrap();
    let binding = json!({
        "metadata": {"name": NAME},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": NAME},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}],
    });
    let bindings = format!("{at}/{}bindings", kind.to_lowercase());
    admin.create(&bindings, &binding).await.unwrap();
}

fn with_token(cluster: &Cluster, token: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
         clusters:\n- name: c\n  cluster:\n    server: https://127.0.0.1:{}\n    certificate-authority: {}\n\
         users:\n- name: c\n  user:\n    token: {token}\n\
         contexts:\n- name: c\n  context:\n    cluster: c\n    user: c\n",
        cluster.port(0),
        cluster.folder().join("ca.crt").display(),
    )
}
