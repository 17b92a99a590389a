//! Reads and writes the Secret of the webhook's certificate, and the `caBundle` of its configurations.
//!
//! - Invariant: no version is overwritten that was not read; of a configuration only `caBundle` is written.

use crate::api::{ErrorHints, JSON_PATCH, RequestError, RequestSpec, ResourcePath, send_request};
use bytes::Bytes;
use http::Method;
use k8s_openapi::ByteString;
use kube::Client;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use taintward_core::api_error::ApiFailure;

/// The timeout of a request.
const LIMIT: Duration = Duration::from_secs(5);

const ADMISSION: &str = "admissionregistration.k8s.io";

/// A Secret as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSecret {
    version: String,
    /// Its `data`, decoded from base64.
    pub data: BTreeMap<String, Vec<u8>>,
}

/// The two kinds of webhook configurations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhookKind {
    /// `MutatingWebhookConfiguration`
    Mutating,
    /// `ValidatingWebhookConfiguration`
    Validating,
}

impl WebhookKind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Mutating, Self::Validating];

    /// The resource, as in RBAC.
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Mutating => "mutatingwebhookconfigurations",
            Self::Validating => "validatingwebhookconfigurations",
        }
    }
}

/// A webhook configuration as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookConfiguration {
    /// Which of the two.
    pub kind: WebhookKind,
    version: String,
    /// For each of its webhooks, the CAs that API servers trust: PEM, decoded from base64; empty if absent.
    pub bundles: Vec<Vec<u8>>,
}

/// Reads and writes them.
#[derive(Clone)]
pub struct WebhookConfigClient {
    client: Client,
}

#[derive(Deserialize)]
struct ConfigurationObject {
    metadata: ConfigurationMeta,
    #[serde(default)]
    data: BTreeMap<String, ByteString>,
    #[serde(default)]
    webhooks: Vec<WebhookEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConfigurationMeta {
    resource_version: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WebhookEntry {
    client_config: WebhookClientConfig,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WebhookClientConfig {
    #[serde(default)]
    ca_bundle: Option<ByteString>,
}

impl WebhookConfigClient {
    /// Uses this client.
    pub const fn new(client: Client) -> Self {
        Self { client }
    }

    /// Reads a Secret; `None` if there is none of that name.
    ///
    /// # Errors
    /// A [`RequestError`].
    pub async fn secret(&self, namespace: &str, name: &str) -> Result<Option<StoredSecret>, RequestError> {
        let resource = ResourcePath::named("", "secrets", namespace, name)?;
        let Some(object) = self.read(&resource).await? else { return Ok(None) };
        let data = object.data.into_iter().map(|(key, value)| (key, value.0)).collect();
        Ok(Some(StoredSecret { version: object.metadata.resource_version, data }))
    }

    /// Writes the data of a Secret over the version that was read, and nothing else of it; or a new one, of type
    /// `kubernetes.io/tls`.
    ///
    /// # Errors
    /// A [`RequestError`]; [`ApiFailure::Conflict`] if another writer has changed it since.
    pub async fn write_secret(
        &self,
        (namespace, name): (&str, &str),
        over: Option<&StoredSecret>,
        data: &BTreeMap<&'static str, String>,
    ) -> Result<(), RequestError> {
        let data: BTreeMap<&str, ByteString> =
            data.iter().map(|(key, text)| (*key, ByteString(text.as_bytes().to_vec()))).collect();
        let Some(read) = over else {
            let object = json!({
                "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
                "metadata": {
                    "name": name, "namespace": namespace,
                    "labels": { "app.kubernetes.io/name": "taintward", "app.kubernetes.io/component": "webhook" },
                },
                "data": data,
            });
            let resource = ResourcePath::collection("", "secrets", namespace)?;
            return self
                .write(&Method::POST, &resource, Bytes::from(object.to_string()), "application/json")
                .await;
        };
        let resource = ResourcePath::named("", "secrets", namespace, name)?;
        let steps = json!([
            { "op": "test", "path": "/metadata/resourceVersion", "value": read.version },
            { "op": "add", "path": "/data", "value": data },
        ]);
        self.write(&Method::PATCH, &resource, Bytes::from(steps.to_string()), JSON_PATCH).await
    }

    /// Reads the configurations of a name, those of the two that exist.
    ///
    /// # Errors
    /// A [`RequestError`].
    pub async fn configurations(&self, name: &str) -> Result<Vec<WebhookConfiguration>, RequestError> {
        let mut found = Vec::new();
        for kind in WebhookKind::ALL {
            let resource = ResourcePath::named(ADMISSION, kind.plural(), "", name)?;
            let Some(object) = self.read(&resource).await? else { continue };
            let bundle = |webhook: WebhookEntry| webhook.client_config.ca_bundle.unwrap_or_default().0;
            let bundles = object.webhooks.into_iter().map(bundle).collect();
            found.push(WebhookConfiguration { kind, version: object.metadata.resource_version, bundles });
        }
        Ok(found)
    }

    /// Makes API servers trust `pem` for every webhook of a configuration, over the version that was read.
    ///
    /// # Errors
    /// A [`RequestError`]; [`ApiFailure::Conflict`] if another writer has changed it since.
    pub async fn trust(
        &self,
        name: &str,
        read: &WebhookConfiguration,
        pem: &str,
    ) -> Result<(), RequestError> {
        let resource = ResourcePath::named(ADMISSION, read.kind.plural(), "", name)?;
        let bundle = ByteString(pem.as_bytes().to_vec());
        let mut steps =
            vec![json!({ "op": "test", "path": "/metadata/resourceVersion", "value": read.version })];
        steps.extend((0..read.bundles.len()).map(|at| add(at, &bundle)));
        self.write(&Method::PATCH, &resource, Bytes::from(Value::Array(steps).to_string()), JSON_PATCH).await
    }

    async fn read(&self, resource: &ResourcePath<'_>) -> Result<Option<ConfigurationObject>, RequestError> {
        let spec = RequestSpec { hints: ErrorHints::Absence, ..RequestSpec::default() };
        match self.within(&Method::GET, resource, spec).await {
            Ok(body) => match serde_json::from_slice(&body) {
                Ok(object) => Ok(Some(object)),
                Err(why) => Err(RequestError::unreadable(resource, why)),
            },
            Err(error) if error.failure == ApiFailure::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn write(
        &self,
        method: &Method,
        resource: &ResourcePath<'_>,
        body: Bytes,
        content: &'static str,
    ) -> Result<(), RequestError> {
        let hints = if *method == Method::PATCH { ErrorHints::Tests } else { ErrorHints::None };
        let spec = RequestSpec { content, body, hints, ..RequestSpec::default() };
        self.within(method, resource, spec).await.map(drop)
    }

    async fn within(
        &self,
        method: &Method,
        resource: &ResourcePath<'_>,
        spec: RequestSpec,
    ) -> Result<Bytes, RequestError> {
        match tokio::time::timeout(LIMIT, send_request(&self.client, method, resource, resource.path(), spec))
            .await
        {
            Ok(response) => Ok(response?.body),
            Err(_) => Err(RequestError::silence(method, resource, LIMIT)),
        }
    }
}

fn add(at: usize, bundle: &(impl Serialize + ?Sized)) -> Value {
    json!({ "op": "add", "path": format!("/webhooks/{at}/clientConfig/caBundle"), "value": bundle })
}
