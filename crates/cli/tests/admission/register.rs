//! Registers a webhook at API servers: configurations, custom resources, and waiting until they apply.

use super::hook::{Hook, STARTUP_TIMEOUT};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::path::Path;
use taintward_envtest::api::PatchType;
use taintward_envtest::{Account, Cluster, TestApi, TestApiError, wait};
use testkit::{ObjectExt as _, pod};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";

/// The name of both configurations, if there is only one of each.
pub(crate) const CONFIGURATION: &str = "taintward";

/// The label of namespaces for whose objects API servers call a webhook; its value names the webhook.
pub(crate) const REQUESTED: &str = "asked";

/// A webhook to register at API servers.
pub(crate) struct Registered<'a> {
    pub(crate) port: u16,
    /// The value of [`REQUESTED`].
    pub(crate) requested: &'a str,
    /// The CA bundle, PEM; empty if the webhook fills it in.
    pub(crate) authorities: &'a str,
    /// `Fail` or `Ignore`.
    pub(crate) policy: &'a str,
    pub(crate) seconds: u32,
    /// Whether it is also called for nodes.
    pub(crate) nodes: bool,
}

impl<'a> Registered<'a> {
    /// A webhook whose failure rejects requests.
    pub(crate) fn strict(hook: &Hook, requested: &'a str, authorities: &'a str) -> Self {
        Self { port: hook.port, requested, authorities, policy: "Fail", seconds: 20, nodes: false }
    }

    fn webhook(&self, phase: &str) -> Value {
        let on = |resource: &str| {
            json!({"apiGroups": [""], "apiVersions": ["v1"], "resources": [resource], "scope": "*",
                "operations": ["CREATE", "UPDATE"]})
        };
        let mut rules = vec![on("pods")];
        if self.nodes && phase == "validate" {
            rules.push(on("nodes"));
        }
        let mut webhook = json!({
            "name": format!("{}.{phase}.taintward.io", self.requested),
            "clientConfig": {"url": format!("https://127.0.0.1:{}/{phase}", self.port)},
            "rules": rules,
            "failurePolicy": self.policy,
            "timeoutSeconds": self.seconds,
            "sideEffects": "None",
            "matchPolicy": "Equivalent",
            "admissionReviewVersions": ["v1"],
            "namespaceSelector": {"matchLabels": {REQUESTED: self.requested}},
        });
        if !self.authorities.is_empty() {
            webhook["clientConfig"]["caBundle"] = json!(STANDARD.encode(self.authorities));
        }
        if phase == "mutate" {
            webhook["reinvocationPolicy"] = json!("IfNeeded");
        }
        webhook
    }
}

/// Registers these webhooks at API servers.
pub(crate) async fn register(api: &TestApi, hooks: &[Registered<'_>]) {
    register_as(api, CONFIGURATION, hooks).await;
}

/// Replaces all webhooks under another configuration name by these.
pub(crate) async fn register_as(api: &TestApi, name: &str, hooks: &[Registered<'_>]) {
    for (plural, kind, phase) in [
        ("mutatingwebhookconfigurations", "MutatingWebhookConfiguration", "mutate"),
        ("validatingwebhookconfigurations", "ValidatingWebhookConfiguration", "validate"),
    ] {
        let webhooks: Vec<Value> = hooks.iter().map(|hook| hook.webhook(phase)).collect();
        let object = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
            "metadata": {"name": name}, "webhooks": webhooks,
        });
        let path = format!("{GROUP}/{plural}/{name}?fieldManager=tests&force=true");
        api.patch(&path, PatchType::Apply, &object.to_string()).await.unwrap();
    }
}

/// The `caBundle` of every webhook in both configurations, PEM.
pub(crate) async fn bundles(api: &TestApi, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    for plural in ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"] {
        let object = api.get(&format!("{GROUP}/{plural}/{name}")).await.unwrap();
        for webhook in object["webhooks"].as_array().unwrap() {
            let text = webhook["clientConfig"]["caBundle"].as_str().unwrap_or_default();
            found.push(String::from_utf8(STANDARD.decode(text).unwrap()).unwrap());
        }
    }
    found
}

/// Creates a namespace for whose pods a webhook is called; if `requested` is empty, no webhook is.
pub(crate) async fn namespace(api: &TestApi, name: &str, requested: &str, annotations: Value) {
    let labels = if requested.is_empty() { json!({}) } else { json!({REQUESTED: requested}) };
    let metadata = json!({"name": name, "labels": labels, "annotations": annotations});
    api.create("/api/v1/namespaces", &json!({"metadata": metadata})).await.unwrap();
}

/// A pod without special fields.
pub(crate) fn plain_pod(name: &str) -> Value {
    pod(name).with("spec.terminationGracePeriodSeconds", 0)
}

/// The path of a namespace's pods.
pub(crate) fn pods(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/pods")
}

/// Waits until an API server calls this webhook for pods of a namespace, at both paths.
pub(crate) async fn requests(api: &TestApi, hook: &Hook, namespace: &str) {
    let path = format!("{}?dryRun=All", pods(namespace));
    for phase in ["mutate", "validate"] {
        let label = format!("path=\"{phase}\"");
        let before = hook.metric("taintward_webhook_reviews_total", &label);
        wait::until(&format!("the API server to ask at /{phase}"), STARTUP_TIMEOUT, async || {
            let _ = api.create(&path, &plain_pod("probe")).await;
            Ok((hook.metric("taintward_webhook_reviews_total", &label) > before).then_some(()))
        })
        .await
        .unwrap_or_else(|why| panic!("{why}; the webhook says:\n{}", hook.output()));
    }
}

/// Defines pools and policies, and waits until they are served.
pub(crate) async fn define(cluster: &Cluster) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/crds");
    cluster.kubectl(["apply", "--request-timeout=60s", "-f", folder.to_str().unwrap()]).unwrap();
    let api = cluster.api(Account::Admin).await.unwrap();
    for name in ["dedicatedpools", "tolerationpolicies"] {
        let path = format!("/apis/taintward.io/v1alpha1/{name}");
        // Until its storage is there, a server answers 404, then 429.
        let served = async || Ok(api.get(&path).await.ok());
        wait::until("the resource to be served", STARTUP_TIMEOUT, served).await.unwrap();
    }
}

/// The tolerations of a pod, in order.
pub(crate) fn tolerations(pod: &Value) -> Vec<Value> {
    pod["spec"]["tolerations"].as_array().cloned().unwrap_or_default()
}

/// The code and the message of a rejection.
pub(crate) fn rejection(error: TestApiError) -> (u16, String) {
    match error {
        TestApiError::Rejected { code, message, .. } => (code, message),
        TestApiError::Unanswered(why) => panic!("{why}"),
    }
}
