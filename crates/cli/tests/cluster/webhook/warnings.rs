//! Tests warnings and rejections as kubectl prints them, and what a pod of a guarded namespace gets.

use super::super::admission::hook::{Hook, HookFiles, STARTUP_TIMEOUT, all};
use super::super::admission::register::{Registered, namespace, plain_pod, register_as, requests};
use super::WebhookHarness;
use serde_json::{Value, json};
use taintward_envtest::api::PatchType;
use taintward_envtest::wait;

pub(crate) async fn kubectl_shows_them(harness: &WebhookHarness) {
    let flags = HookFiles::new(&harness.cluster, "words", &harness.authority).flags();
    namespace(&harness.api, "words", "words", json!({})).await;
    let hook =
        Hook::start(&harness.cluster, &harness.account, &all(&flags, &["--rules=*,advice,toleration-guard"]))
            .ready()
            .await;
    let strict = Registered::strict(&hook, "words", &harness.authority.certificate);
    register_as(&harness.api, "words", &[strict]).await;
    requests(&harness.api, &hook, "words").await;
    a_slip_is_warned_about(harness);
    a_trespasser_is_refused(harness).await;
    a_pod_of_a_guarded_namespace_has_the_ceiling(harness).await;
}

/// kubectl's success, and its standard error.
fn create(harness: &WebhookHarness, name: &str, tolerations: &Value) -> (bool, String) {
    let mut pod = plain_pod(name);
    pod["spec"]["tolerations"] = tolerations.clone();
    let file = harness.cluster.folder().join(format!("{name}.json"));
    std::fs::write(&file, pod.to_string()).unwrap();
    let args = ["create", "--request-timeout=60s", "-n", "words", "-f", file.to_str().unwrap()];
    let output = harness.cluster.kubectl_output(args).unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn a_slip_is_warned_about(harness: &WebhookHarness) {
    let slip = json!([{"key": "node.kubernetes.io/not-redy", "operator": "Exists", "effect": "NoExecute"}]);
    let (created, message) = create(harness, "slip", &slip);
    assert!(
        created && message.contains("Warning: ") && message.contains("node.kubernetes.io/not-ready"),
        "{message}"
    );
    let fine = json!([{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}]);
    let (created, message) = create(harness, "fine", &fine);
    assert!(created && !message.contains("Warning"), "{message}");
}

async fn a_trespasser_is_refused(harness: &WebhookHarness) {
    let pool = json!({
        "apiVersion": "taintward.io/v1alpha1", "kind": "DedicatedPool", "metadata": {"name": "team-a"},
        "spec": {
            "taint": {"key": "example.com/pool", "value": "a"},
            "nodes": {"names": ["n1"]},
            "users": {"namespaceSelector": {"matchLabels": {"team": "a"}}},
            "enforcement": "Deny",
        },
    });
    harness.api.create("/apis/taintward.io/v1alpha1/dedicatedpools", &pool).await.unwrap();
    let smuggled = json!([{"key": "example.com/pool", "operator": "Exists"}]);
    let rejected = async || {
        let (created, message) = create(harness, "smuggler", &smuggled);
        if created {
            // The webhook has not observed the pool yet.
            harness.api.delete("/api/v1/namespaces/words/pods/smuggler", &json!({})).await?;
        }
        Ok((!created).then_some(message))
    };
    let message = wait::until("the pod to be refused", STARTUP_TIMEOUT, rejected).await.unwrap();
    assert!(message.contains("denied the request") && message.contains("team-a"), "{message}");
    assert!(message.contains("toleration 0") || message.contains("tolerations[0]"), "{message}");
    println!("    {}", message.trim());
}

async fn a_pod_of_a_guarded_namespace_has_the_ceiling(harness: &WebhookHarness) {
    const CREATION: &str = "/api/v1/namespaces/words/pods?dryRun=All";
    let seconds = |pod: &Value| pod["spec"]["tolerations"][0]["tolerationSeconds"].as_i64();
    let pod = harness.api.create(CREATION, &plain_pod("guarded")).await.unwrap();
    assert_eq!(
        (seconds(&pod), pod["metadata"]["annotations"]["taintward.io/guard"].as_str()),
        (Some(300), None)
    );
    let label = json!({"metadata": {"labels": {"taintward.io/guard-ceiling-seconds": "7200"}}}).to_string();
    harness.api.patch("/api/v1/namespaces/words", PatchType::Merge, &label).await.unwrap();
    let guarded = wait::until("a pod with the ceiling", STARTUP_TIMEOUT, async || {
        let pod = harness.api.create(CREATION, &plain_pod("guarded")).await?;
        Ok((seconds(&pod) == Some(7200)).then_some(pod))
    });
    let guarded = guarded.await.unwrap();
    let record = guarded["metadata"]["annotations"]["taintward.io/guard"].as_str().unwrap();
    let record: Value = serde_json::from_str(record).unwrap();
    let own = record["guarded"].as_array().unwrap().iter().map(|one| &one["tolerationSeconds"]);
    assert!(own.eq([&json!(300), &json!(300)]), "{record}");
}
