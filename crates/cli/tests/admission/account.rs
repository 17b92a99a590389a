//! Creates the webhook's service account with the rights and limits that `taintward install` grants.

use super::hook::STARTUP_TIMEOUT;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;
use taintward_envtest::api::PatchType;
use taintward_envtest::{Account, Cluster, TestApi, wait};

/// The namespace of the webhook.
pub(crate) const NAMESPACE: &str = "taintward-system";
/// The name of its account.
const NAME: &str = "taintward-webhook";
/// The Secret of its certificate.
pub(crate) const SECRET: &str = "taintward-webhook-certificate";

/// Kinds of the objects that make up an account, limit it, and configure webhooks, with their paths.
const PLACES: [(&str, &str, &str); 11] = [
    ("Namespace", "/api/v1", "namespaces"),
    ("ServiceAccount", "/api/v1", "serviceaccounts"),
    ("Secret", "/api/v1", "secrets"),
    ("ValidatingAdmissionPolicy", "/apis/admissionregistration.k8s.io/v1", "validatingadmissionpolicies"),
    (
        "ValidatingAdmissionPolicyBinding",
        "/apis/admissionregistration.k8s.io/v1",
        "validatingadmissionpolicybindings",
    ),
    ("ClusterRole", "/apis/rbac.authorization.k8s.io/v1", "clusterroles"),
    ("ClusterRoleBinding", "/apis/rbac.authorization.k8s.io/v1", "clusterrolebindings"),
    ("Role", "/apis/rbac.authorization.k8s.io/v1", "roles"),
    ("RoleBinding", "/apis/rbac.authorization.k8s.io/v1", "rolebindings"),
    (
        "MutatingWebhookConfiguration",
        "/apis/admissionregistration.k8s.io/v1",
        "mutatingwebhookconfigurations",
    ),
    (
        "ValidatingWebhookConfiguration",
        "/apis/admissionregistration.k8s.io/v1",
        "validatingwebhookconfigurations",
    ),
];

/// The number of objects that make up an account.
const OF_AN_ACCOUNT: usize = 9;

/// What `taintward install` prints.
pub(crate) fn manifests(flags: &[&str]) -> Vec<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
    let output = command.env_clear().args(["install", "-o", "json"]).args(flags).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    list["items"].as_array().unwrap().clone()
}

/// The path of such objects.
pub(crate) fn collection(object: &Value) -> String {
    let place = PLACES.iter().find(|(kind, _, _)| object["kind"] == *kind);
    let (_, group, plural) = place.unwrap_or_else(|| panic!("no place for {}", object["kind"]));
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("{group}/namespaces/{namespace}/{plural}"),
        None => format!("{group}/{plural}"),
    }
}

async fn apply(admin: &TestApi, object: &Value) {
    let name = object["metadata"]["name"].as_str().unwrap();
    let path = format!("{}/{name}?fieldManager=tests&force=true", collection(object));
    admin.patch(&path, PatchType::Apply, &object.to_string()).await.unwrap();
}

/// Recreates the Secret as a new installation would; the webhook's account cannot.
pub(crate) async fn make_secret(admin: &TestApi) {
    let all = manifests(&["--parts=webhook"]);
    apply(admin, all.iter().find(|object| object["kind"] == "Secret").unwrap()).await;
}

/// Creates the namespace and the account.
pub(crate) async fn make(cluster: &Cluster) -> PathBuf {
    let admin = cluster.api(Account::Admin).await.unwrap();
    // The policies of pools judge pods before the webhook is called; here its own responses matter.
    let of_pools = |spec: &Value| spec.get("paramKind").is_some() || spec.get("paramRef").is_some();
    let of_account = |object: &Value| {
        PLACES[..OF_AN_ACCOUNT].iter().any(|(kind, _, _)| object["kind"] == *kind)
            && !of_pools(&object["spec"])
    };
    for object in manifests(&["--parts=webhook"]).iter().filter(|object| of_account(object)) {
        apply(&admin, object).await;
    }
    let requested = json!({"spec": {"expirationSeconds": 3600}});
    let token = format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{NAME}/token");
    let token = admin.create(&token, &requested).await.unwrap();
    let kubeconfig = cluster.folder().join("webhook.kubeconfig");
    std::fs::write(&kubeconfig, with_token(cluster, token["status"]["token"].as_str().unwrap())).unwrap();
    let own = TestApi::from_kubeconfig(&kubeconfig).await.unwrap();
    let knows = async || Ok(own.get("/api/v1/nodes").await.ok());
    wait::until("the webhook's account to be known", STARTUP_TIMEOUT, knows).await.unwrap();
    kubeconfig
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
