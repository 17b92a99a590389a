//! # Webhooks: where a webhook's certificate is kept, and who is told to believe it
//! Room:     one Secret, and the webhook configurations of one name.
//! Comes in: names; what is to be written, and over which version.
//! Goes out: what they say, with their versions; a [`Refusal`] where a request failed.
//! Keeps:    nothing is written over a version that was not read; of a configuration only `caBundle` is.
//! Not here: what they ought to say (the webhook's rotation); retries.

use crate::act::{Ask, Caution, JSON_PATCH, Refusal, Resource, ask};
use bytes::Bytes;
use http::Method;
use k8s_openapi::ByteString;
use kube::Client;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use taintward_core::api_error::ApiFailure;

/// How long a request may take.
const LIMIT: Duration = Duration::from_secs(5);

const ADMISSION: &str = "admissionregistration.k8s.io";

/// A Secret as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSecret {
    version: String,
    /// Its `data`, out of base64.
    pub data: BTreeMap<String, Vec<u8>>,
}

/// The two kinds of webhook configurations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `MutatingWebhookConfiguration`
    Mutating,
    /// `ValidatingWebhookConfiguration`
    Validating,
}

impl Kind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Mutating, Self::Validating];

    /// The resource, as RBAC names it.
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Mutating => "mutatingwebhookconfigurations",
            Self::Validating => "validatingwebhookconfigurations",
        }
    }
}

/// A webhook configuration as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// Which of the two.
    pub kind: Kind,
    version: String,
    /// Of each of its webhooks, whom API servers believe: PEM, out of base64; empty where nothing is said.
    pub bundles: Vec<Vec<u8>>,
}

/// Reads and writes them.
#[derive(Clone)]
pub struct Webhooks {
    client: Client,
}

#[derive(Deserialize)]
struct Object {
    metadata: Metadata,
    #[serde(default)]
    data: BTreeMap<String, ByteString>,
    #[serde(default)]
    webhooks: Vec<Webhook>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    resource_version: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Webhook {
    client_config: ClientConfig,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClientConfig {
    #[serde(default)]
    ca_bundle: Option<ByteString>,
}

impl Webhooks {
    /// Through this client.
    pub const fn new(client: Client) -> Self {
        Self { client }
    }

    /// Reads a Secret; `None` if there is none of that name.
    ///
    /// # Errors
    /// A [`Refusal`].
    pub async fn secret(&self, namespace: &str, name: &str) -> Result<Option<StoredSecret>, Refusal> {
        let on = Resource::named("", "secrets", namespace, name)?;
        let Some(object) = self.read(&on).await? else { return Ok(None) };
        let data = object.data.into_iter().map(|(key, value)| (key, value.0)).collect();
        Ok(Some(StoredSecret { version: object.metadata.resource_version, data }))
    }

    /// Writes the data of a Secret over what was read, and nothing else of it; or a new one, of type `kubernetes.io/tls`.
    ///
    /// # Errors
    /// A [`Refusal`]; [`ApiFailure::Conflict`] if somebody else has written it since.
    pub async fn write_secret(
        &self,
        (namespace, name): (&str, &str),
        over: Option<&StoredSecret>,
        data: &BTreeMap<&'static str, String>,
    ) -> Result<(), Refusal> {
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
            let on = Resource::collection("", "secrets", namespace)?;
            return self.write(&Method::POST, &on, Bytes::from(object.to_string()), "application/json").await;
        };
        let on = Resource::named("", "secrets", namespace, name)?;
        let steps = json!([
            { "op": "test", "path": "/metadata/resourceVersion", "value": read.version },
            { "op": "add", "path": "/data", "value": data },
        ]);
        self.write(&Method::PATCH, &on, Bytes::from(steps.to_string()), JSON_PATCH).await
    }

    /// Reads the configurations of a name, those of the two that exist.
    ///
    /// # Errors
    /// A [`Refusal`].
    pub async fn configurations(&self, name: &str) -> Result<Vec<Configuration>, Refusal> {
        let mut found = Vec::new();
        for kind in Kind::ALL {
            let on = Resource::named(ADMISSION, kind.plural(), "", name)?;
            let Some(object) = self.read(&on).await? else { continue };
            let bundle = |webhook: Webhook| webhook.client_config.ca_bundle.unwrap_or_default().0;
            let bundles = object.webhooks.into_iter().map(bundle).collect();
            found.push(Configuration { kind, version: object.metadata.resource_version, bundles });
        }
        Ok(found)
    }

    /// Makes API servers believe `pem` in every webhook of a configuration, over what was read.
    ///
    /// # Errors
    /// A [`Refusal`]; [`ApiFailure::Conflict`] if somebody else has written it since.
    pub async fn trust(&self, name: &str, read: &Configuration, pem: &str) -> Result<(), Refusal> {
        let on = Resource::named(ADMISSION, read.kind.plural(), "", name)?;
        let bundle = ByteString(pem.as_bytes().to_vec());
        let mut steps =
            vec![json!({ "op": "test", "path": "/metadata/resourceVersion", "value": read.version })];
        steps.extend((0..read.bundles.len()).map(|at| add(at, &bundle)));
        self.write(&Method::PATCH, &on, Bytes::from(Value::Array(steps).to_string()), JSON_PATCH).await
    }

    async fn read(&self, on: &Resource<'_>) -> Result<Option<Object>, Refusal> {
        let what = Ask { caution: Caution::Absence, ..Ask::default() };
        match self.within(&Method::GET, on, what).await {
            Ok(body) => match serde_json::from_slice(&body) {
                Ok(object) => Ok(Some(object)),
                Err(why) => Err(Refusal::unreadable(on, &why.to_string())),
            },
            Err(refusal) if refusal.failure == ApiFailure::NotFound => Ok(None),
            Err(refusal) => Err(refusal),
        }
    }

    async fn write(
        &self,
        method: &Method,
        on: &Resource<'_>,
        body: Bytes,
        content: &'static str,
    ) -> Result<(), Refusal> {
        let caution = if *method == Method::PATCH { Caution::Tests } else { Caution::None };
        let what = Ask { content, body, caution, ..Ask::default() };
        self.within(method, on, what).await.map(drop)
    }

    async fn within(&self, method: &Method, on: &Resource<'_>, what: Ask) -> Result<Bytes, Refusal> {
        match tokio::time::timeout(LIMIT, ask(&self.client, method, on, on.path(), what)).await {
            Ok(answer) => Ok(answer?.body),
            Err(_) => Err(Refusal::silence(method, on, LIMIT)),
        }
    }
}

fn add(at: usize, bundle: &(impl Serialize + ?Sized)) -> Value {
    json!({ "op": "add", "path": format!("/webhooks/{at}/clientConfig/caBundle"), "value": bundle })
}
