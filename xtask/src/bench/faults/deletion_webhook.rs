//! Registers an admission webhook that denies or delays each deletion of a pod.

use super::tls_server::TlsServer;
use anyhow::Result;
use base64::Engine as _;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Either, Full};
use hyper::body::Incoming;
use hyper::{Request, Response};
use serde_json::{Value, json};
use std::time::Duration;
use taintward_envtest::TestApi;

const CONFIGURATIONS: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
const NAME: &str = "deletions";

/// What the webhook does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WebhookFault {
    Deny,
    Delay(Duration),
}

/// A registered webhook.
pub(crate) struct DeletionWebhook {
    _server: TlsServer,
}

impl DeletionWebhook {
    pub(crate) async fn register(api: &TestApi, fault: WebhookFault) -> Result<Self> {
        let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()])?;
        let certificate = made.cert.pem();
        let respond = move |request: Request<Incoming>| async move {
            let review: Value = serde_json::from_slice(&request.into_body().collect().await?.to_bytes())?;
            if let WebhookFault::Delay(delay) = fault {
                tokio::time::sleep(delay).await;
            }
            let response = json!({
                "uid": review["request"]["uid"], "allowed": !matches!(fault, WebhookFault::Deny),
                "status": {"code": 403, "message": "no pod may be deleted now"},
            });
            let body =
                json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
            let body = Either::Left(Full::new(Bytes::from(body.to_string())));
            anyhow::Ok(Response::builder().header("content-type", "application/json").body(body)?)
        };
        let server = TlsServer::start(&certificate, &made.signing_key.serialize_pem(), respond).await?;
        let bundle = base64::engine::general_purpose::STANDARD.encode(certificate);
        let webhook = json!({
            "name": "deletions.example.com",
            "clientConfig": {"url": format!("https://127.0.0.1:{}/", server.port), "caBundle": bundle},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["pods"]}],
            "failurePolicy": "Fail", "sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 10,
        });
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": NAME}, "webhooks": [webhook],
        });
        api.create(CONFIGURATIONS, &configuration).await?;
        Ok(Self { _server: server })
    }

    pub(crate) async fn unregister(self, api: &TestApi) -> Result<()> {
        match api.delete(&format!("{CONFIGURATIONS}/{NAME}"), &json!({})).await {
            // A store that was restored does not have it any more.
            Err(error) if error.code() != Some(404) => Err(error)?,
            _ => {}
        }
        // API servers observe configurations with a delay; calls in flight still get their answer.
        tokio::time::sleep(Duration::from_millis(500)).await;
        Ok(())
    }
}
