//! Tests that no pod passes a pool that denies by being hard to parse: deep nesting, long bodies.

use super::super::admission::hook::{Hook, HookFiles, STARTUP_TIMEOUT, all};
use super::super::admission::register::{
    Registered, namespace, plain_pod, pods, register_as, rejection, requests,
};
use super::WebhookHarness;
use serde_json::{Value, json};
use taintward_envtest::api::PatchType;
use taintward_envtest::wait;

const POOLS: &str = "/apis/taintward.io/v1alpha1/dedicatedpools";
const PLACE: &str = "hidden";
/// Of these characters an API server escapes each to six: a pod that can be stored, and a review of more than 8 MiB.
const ESCAPED: usize = 1_420_000;

fn pool() -> Value {
    json!({
        "apiVersion": "taintward.io/v1alpha1", "kind": "DedicatedPool", "metadata": {"name": "hidden"},
        "spec": {
            "taint": {"key": "example.com/hidden", "value": "pool"}, "nodes": {"names": ["nobody"]},
            "users": {"namespaceSelector": {"matchLabels": {"team": "hidden"}}}, "enforcement": "Deny",
        },
    })
}

/// A pod that would be admitted to the nodes of every pool.
fn smuggler(name: &str) -> Value {
    let mut pod = plain_pod(name);
    pod["spec"]["tolerations"] = json!([{"operator": "Exists"}]);
    pod
}

fn deep(mut pod: Value, depth: usize) -> Value {
    let fields = (0..depth).fold(json!({}), |fields, level| json!({format!("f:a{level}"): fields}));
    pod["metadata"]["managedFields"] = json!([{
        "manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields,
    }]);
    pod
}

fn escaped(mut pod: Value) -> Value {
    pod["spec"]["containers"][0]["args"] = json!(["<".repeat(ESCAPED)]);
    pod
}

pub(crate) async fn no_pod_gets_past_by_being_hard_to_parse(harness: &WebhookHarness) {
    let api = &harness.api;
    let files = HookFiles::new(&harness.cluster, PLACE, &harness.authority).flags();
    let hook = Hook::start(&harness.cluster, &harness.account, &all(&files, &[])).ready().await;
    namespace(api, PLACE, PLACE, json!({})).await;
    let reported =
        Registered { policy: "Ignore", ..Registered::strict(&hook, PLACE, &harness.authority.certificate) };
    register_as(api, PLACE, &[reported]).await;
    requests(api, &hook, PLACE).await;
    api.create(POOLS, &pool()).await.unwrap();
    let path = pods(PLACE);
    let rejected = async |what: &str, pod: &Value| match api.create(&path, pod).await {
        Ok(_) => panic!("{what}: it was admitted; the webhook says {}", hook.output()),
        Err(error) => {
            let (code, message) = rejection(error);
            assert!(code == 403 && message.contains("hidden"), "{what}: {code} {message}");
        }
    };
    let dry = format!("{path}?dryRun=All");
    let known = async || Ok(api.create(&dry, &smuggler("probe")).await.is_err().then_some(()));
    wait::until("the pool to be observed", STARTUP_TIMEOUT, known).await.unwrap();
    rejected("plain", &smuggler("plain")).await;
    for depth in [110, 300, 1000] {
        rejected(&format!("{depth} deep"), &deep(smuggler("deep"), depth)).await;
    }
    rejected("escaped", &escaped(smuggler("escaped"))).await;
    // A toleration that is added later, to a pod that is as long and deep already.
    let ordinary = deep(escaped(plain_pod("ordinary")), 110);
    api.create(&path, &ordinary).await.unwrap_or_else(|why| panic!("an ordinary pod is rejected: {why:?}"));
    let more =
        json!([{"op": "add", "path": "/spec/tolerations/-", "value": {"operator": "Exists"}}]).to_string();
    let patched = api.patch(&format!("{path}/ordinary"), PatchType::Json, &more).await;
    assert_eq!(patched.map_err(rejection).unwrap_err().0, 403);
    assert_eq!(hook.metric("taintward_webhook_reviews_total", "outcome=\"malformed\""), 0.0);
    api.delete(&format!("{POOLS}/hidden"), &json!({})).await.unwrap();
}
