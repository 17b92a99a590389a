//! Sends the cases to a real API server.

use super::cases::{ValidationCase, ValidationVerdict, path};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use serde_json::Value;
use taintward_envtest::{Account, Cluster};

pub(crate) struct RealServer {
    client: Client,
}

impl RealServer {
    pub(crate) async fn of(cluster: &Cluster) -> Self {
        let kubeconfig = Kubeconfig::read_from(cluster.kubeconfig(Account::Admin, 0)).unwrap();
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        Self { client: Client::try_from(config).unwrap() }
    }

    /// What the server says, without keeping what the case is about.
    pub(crate) async fn judge(&self, case: &ValidationCase, index: usize) -> ValidationVerdict {
        let name = format!("case-{index}");
        let (path, object) = (path(&case.resource), case.first(&name));
        if case.edits.is_none() {
            let (code, body) = self.send("POST", &format!("{path}?dryRun=All"), &object).await;
            return ValidationVerdict::of(code, body, &name, "no uid");
        }
        let (code, mut created) = self.send("POST", &path, &object).await;
        assert!(code < 300, "{}: {code} {created}", case.line);
        if case.deleted {
            created = self.send("DELETE", &format!("{path}/{name}"), &serde_json::json!({})).await.1;
        }
        let sub = if case.subresource.is_empty() { String::new() } else { format!("/{}", case.subresource) };
        let uid = created["metadata"]["uid"].as_str().unwrap().to_owned();
        let (code, body) =
            self.send("PUT", &format!("{path}/{name}{sub}?dryRun=All"), &case.second(created)).await;
        ValidationVerdict::of(code, body, &name, &uid)
    }

    async fn send(&self, verb: &str, path: &str, object: &Value) -> (u16, Value) {
        let request = http::Request::builder()
            .method(verb)
            .uri(path)
            .header("content-type", "application/json")
            .body(Body::from(object.to_string().into_bytes()))
            .unwrap();
        let response = self.client.send(request).await.unwrap();
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap())
    }
}
