//! Makes an API server reject a taint with an admission policy.

use serde_json::json;
use std::time::Duration;
use taintward_envtest::api::PatchType;
use taintward_envtest::{TestApi, wait};

const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const BINDINGS: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";

/// The rejected taint.
const KEY: &str = "node.kubernetes.io/memory-pressure";

/// From now on the taint is rejected; `probe` is a node without it.
pub(super) async fn begin(admin: &TestApi, probe: &str) {
    let policy = json!({
        "metadata": {"name": "no-memory-pressure"},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["nodes"],
            }]},
            "validations": [{
                "expression": format!("!has(object.spec.taints) || !object.spec.taints.exists(t, t.key == '{KEY}')"),
                "message": "not today",
            }],
        },
    });
    admin.create(POLICIES, &policy).await.unwrap();
    let spec = json!({"policyName": "no-memory-pressure", "validationActions": ["Deny"]});
    let binding = json!({"metadata": {"name": "no-memory-pressure"}, "spec": spec});
    admin.create(BINDINGS, &binding).await.unwrap();
    wait::until("the policy to count", Duration::from_secs(30), async || {
        Ok(passes(admin, probe).await.is_err().then_some(()))
    })
    .await
    .unwrap();
}

/// From now on it is accepted again.
pub(super) async fn end(admin: &TestApi, probe: &str) {
    admin.delete(&format!("{BINDINGS}/no-memory-pressure"), &json!({})).await.unwrap();
    admin.delete(&format!("{POLICIES}/no-memory-pressure"), &json!({})).await.unwrap();
    wait::until("the policy to be forgotten", Duration::from_secs(30), async || {
        Ok(passes(admin, probe).await.ok())
    })
    .await
    .unwrap();
}

/// Tries whether the taint would be accepted, as a dry run.
async fn passes(admin: &TestApi, probe: &str) -> Result<(), taintward_envtest::TestApiError> {
    let body = json!({"spec": {"taints": [{"key": KEY, "effect": "NoSchedule"}]}}).to_string();
    admin.patch(&format!("/api/v1/nodes/{probe}?dryRun=All"), PatchType::Strategic, &body).await.map(drop)
}
