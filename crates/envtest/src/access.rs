//! Applies the shipped rights (deploy/rbac.yaml and deploy/bounds.yaml) to the account `taintward`, and revokes single
//! verbs for tests.

use crate::api::{PatchType, TestApi, TestApiError};
use crate::wait;
use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use std::time::Duration;

const MANIFEST: &str = include_str!("../../../deploy/rbac.yaml");
const STAMP_TAINTS_MANIFEST: &str = include_str!("../../../deploy/rbac-stamp-taints.yaml");
const NODE_LIFECYCLE_MANIFEST: &str = include_str!("../../../deploy/rbac-node-lifecycle.yaml");

/// Limits which fields of an object Taintward's account may change, whatever it is granted.
const BOUNDS_MANIFEST: &str = include_str!("../../../deploy/bounds.yaml");

const DEDICATED_POOLS_MANIFEST: &str = include_str!("../../../deploy/rbac-dedicated-pools.yaml");

/// The ClusterRole that deploy/rbac.yaml grants to Taintward's account.
const ROLE: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles/taintward";

/// Grants what deploy/rbac.yaml grants, within deploy/bounds.yaml, and nothing else; also after [`revoke`].
pub async fn grant(admin: &TestApi) -> Result<()> {
    apply(admin, BOUNDS_MANIFEST).await?;
    apply(admin, MANIFEST).await
}

/// Additionally grants what `--stamp-taints` needs (deploy/rbac-stamp-taints.yaml).
pub async fn grant_stamping(admin: &TestApi) -> Result<()> {
    apply(admin, STAMP_TAINTS_MANIFEST).await
}

/// Additionally grants what node-lifecycle-controller needs (deploy/rbac-node-lifecycle.yaml).
pub async fn grant_node_lifecycle(admin: &TestApi) -> Result<()> {
    apply(admin, NODE_LIFECYCLE_MANIFEST).await
}

/// Additionally grants what dedicated-pool-controller needs (deploy/rbac-dedicated-pools.yaml).
pub async fn grant_dedicated_pools(admin: &TestApi) -> Result<()> {
    apply(admin, DEDICATED_POOLS_MANIFEST).await
}

/// Revokes a verb on a resource (`pods`, `pods/status` …) from Taintward's account. Authorizers observe it within moments.
pub async fn revoke(admin: &TestApi, verb: &str, resource: &str) -> Result<()> {
    let mut role = admin.get(ROLE).await?;
    let mut found = false;
    for rule in role["rules"].as_array_mut().into_iter().flatten() {
        let concerns = rule["resources"].as_array().is_some_and(|all| all.iter().any(|one| one == resource));
        if let (true, Some(verbs)) = (concerns, rule["verbs"].as_array_mut()) {
            found |= verbs.iter().any(|one| one == verb);
            verbs.retain(|one| one != verb);
        }
    }
    if !found {
        bail!("deploy/rbac.yaml does not grant {verb} on {resource} in its ClusterRole");
    }
    // A rule without verbs is invalid.
    if let Some(rules) = role["rules"].as_array_mut() {
        rules.retain(|rule| rule["verbs"] != Value::Array(Vec::new()));
    }
    admin.replace(ROLE, &role).await?;
    Ok(())
}

/// Applies every document server-side. The namespace may be created a moment after the server is ready.
async fn apply(admin: &TestApi, manifest: &str) -> Result<()> {
    for document in manifest.split("\n---\n") {
        let path = format!("{}?fieldManager=taintward-cluster&force=true", path_of(document)?);
        wait::until("the namespace kube-system", Duration::from_secs(30), async || {
            match admin.patch(&path, PatchType::Apply, document).await {
                Ok(_) => Ok(Some(())),
                Err(TestApiError::Rejected { code: 404, .. }) => Ok(None),
                Err(error) => Err(error).context(path.clone()),
            }
        })
        .await?;
    }
    Ok(())
}

/// The path of an object of Taintward's manifests. They have one field per line, with `metadata` before everything else.
fn path_of(document: &str) -> Result<String> {
    let field = |label: &str| document.lines().find_map(|line| line.strip_prefix(label)).map(str::trim);
    let kind = field("kind:").context("a manifest without kind")?;
    let name = field("  name:").context("a manifest without name")?;
    let (group, plural) = match kind {
        "ServiceAccount" => ("/api/v1", "serviceaccounts"),
        "ClusterRole" => ("/apis/rbac.authorization.k8s.io/v1", "clusterroles"),
        "ClusterRoleBinding" => ("/apis/rbac.authorization.k8s.io/v1", "clusterrolebindings"),
        "Role" => ("/apis/rbac.authorization.k8s.io/v1", "roles"),
        "RoleBinding" => ("/apis/rbac.authorization.k8s.io/v1", "rolebindings"),
        "ValidatingAdmissionPolicy" => {
            ("/apis/admissionregistration.k8s.io/v1", "validatingadmissionpolicies")
        }
        "ValidatingAdmissionPolicyBinding" => {
            ("/apis/admissionregistration.k8s.io/v1", "validatingadmissionpolicybindings")
        }
        other => bail!("no way known to apply a {other}"),
    };
    Ok(match field("  namespace:") {
        Some(namespace) if !kind.starts_with("Cluster") => {
            format!("{group}/namespaces/{namespace}/{plural}/{name}")
        }
        _ => format!("{group}/{plural}/{name}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_document_has_a_place() {
        let paths: Vec<String> =
            MANIFEST.split("\n---\n").map(|document| path_of(document).unwrap()).collect();
        assert_eq!(
            paths,
            [
                "/api/v1/namespaces/kube-system/serviceaccounts/taintward",
                "/apis/rbac.authorization.k8s.io/v1/clusterroles/taintward",
                "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/taintward",
                "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/roles/taintward",
                "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/rolebindings/taintward",
            ]
        );
    }
}
