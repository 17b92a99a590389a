//! Creates kubeconfigs for accounts with chosen permissions, and for other addresses.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;
use taintward_envtest::{Account, Cluster, wait};

const ACCOUNTS: &str = "/api/v1/namespaces/kube-system/serviceaccounts";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// A service account in kube-system.
pub(crate) struct Other {
    pub(crate) user: String,
    pub(crate) kubeconfig: PathBuf,
}

/// Creates an account with these permissions.
pub(crate) async fn account(cluster: &Cluster, name: &str, rules: Value) -> Other {
    let admin = cluster.api(Account::Admin).await.unwrap();
    let metadata = json!({"name": name, "namespace": "kube-system"});
    admin.create(ACCOUNTS, &json!({"metadata": metadata})).await.unwrap();
    let role = json!({"metadata": {"name": name}, "rules": rules});
    admin.create(&format!("{RBAC}/clusterroles"), &role).await.unwrap();
    let binding = json!({
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "kube-system"}],
    });
    admin.create(&format!("{RBAC}/clusterrolebindings"), &binding).await.unwrap();
    let requested = json!({"spec": {"expirationSeconds": 3600}});
    let token = admin.create(&format!("{ACCOUNTS}/{name}/token"), &requested).await.unwrap();
    let token = token["status"]["token"].as_str().unwrap();
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
         clusters:\n- name: c\n  cluster:\n    server: https://127.0.0.1:{}\n    certificate-authority: {}\n\
         users:\n- name: c\n  user:\n    token: {token}\n\
         contexts:\n- name: c\n  context:\n    cluster: c\n    user: c\n",
        cluster.port(0),
        cluster.folder().join("ca.crt").display(),
    );
    let kubeconfig = cluster.folder().join(format!("{name}.kubeconfig"));
    std::fs::write(&kubeconfig, text).unwrap();
    let other = Other { user: format!("system:serviceaccount:kube-system:{name}"), kubeconfig };
    arrive(&other.kubeconfig).await;
    other
}

/// Waits until the account may at least read the version, because the authorizer learns of a new account within
/// moments.
async fn arrive(kubeconfig: &Path) {
    let api = taintward_envtest::TestApi::from_kubeconfig(kubeconfig).await.unwrap();
    wait::until("the new account to be known", Duration::from_secs(20), async || {
        Ok(api.text("/version").await.ok())
    })
    .await
    .unwrap();
}

/// The kubeconfig of an account with another port.
pub(crate) fn leading_to(cluster: &Cluster, account: Account, port: u16) -> PathBuf {
    let text = std::fs::read_to_string(cluster.kubeconfig(account, 0)).unwrap();
    let there = format!("https://127.0.0.1:{}", cluster.port(0));
    assert!(text.contains(&there));
    let file = cluster.folder().join(format!("port-{port}.kubeconfig"));
    std::fs::write(&file, text.replace(&there, &format!("https://127.0.0.1:{port}"))).unwrap();
    file
}
