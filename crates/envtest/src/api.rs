//! Sends plain JSON requests to one API server as one account.
//!
//! - Nothing is retried: tests want to see the server's response.

use anyhow::Context as _;
use futures::io::AsyncBufReadExt as _;
use futures::stream::Stream;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kube::Client;
use kube::client::ConfigExt as _;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use serde_json::Value;
use std::path::Path;
use tower::{BoxError, ServiceBuilder};

/// Why a request returned no object.
#[derive(Debug, thiserror::Error)]
pub enum TestApiError {
    /// The server answered with an error status.
    #[error("{code} {reason}: {message}")]
    Rejected {
        /// The HTTP status.
        code: u16,
        /// The machine-readable reason.
        reason: String,
        /// The server's message.
        message: String,
    },
    /// There was no usable response.
    #[error("no answer: {0}")]
    Unanswered(String),
}

impl TestApiError {
    /// The HTTP status, if the server responded.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Rejected { code, .. } => Some(*code),
            Self::Unanswered(_) => None,
        }
    }

    /// Whether an admission policy rejected the request only because the API server does not yet watch the kind of the
    /// policy's parameters. The same request gets a verdict a moment later.
    pub fn is_policy_starting(&self) -> bool {
        matches!(self, Self::Rejected { message, .. } if message.contains("not yet synced"))
    }
}

impl From<kube::Error> for TestApiError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => {
                Self::Rejected { code: status.code, reason: status.reason, message: status.message }
            }
            other => Self::Unanswered(format!("{:#}", anyhow::Error::from(other))),
        }
    }
}

/// The type of a patch.
#[derive(Clone, Copy, Debug)]
pub enum PatchType {
    /// RFC 7386.
    Merge,
    /// Kubernetes' own.
    Strategic,
    /// RFC 6902.
    Json,
    /// Server-side apply; the body may be YAML.
    Apply,
}

/// Sends requests to one server as one account.
#[derive(Clone)]
pub struct TestApi {
    client: Client,
}

impl TestApi {
    /// Connects with a kubeconfig. Belongs to the async runtime in which it is created.
    pub async fn from_kubeconfig(path: &Path) -> anyhow::Result<Self> {
        let kubeconfig = Kubeconfig::read_from(path)?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        Ok(Self { client: client(&config).context("connecting")? })
    }

    /// Reads an object or a list.
    pub async fn get(&self, path: &str) -> Result<Value, TestApiError> {
        self.send("GET", path, None, Vec::new()).await
    }

    /// Reads an object that may not exist.
    pub async fn find(&self, path: &str) -> Result<Option<Value>, TestApiError> {
        match self.get(path).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.code() == Some(404) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads text (`/readyz`, `/metrics`).
    pub async fn text(&self, path: &str) -> Result<String, TestApiError> {
        Ok(self.client.request_text(request("GET", path, None, Vec::new())?).await?)
    }

    /// Creates an object from text, without reading the response: for load that must be cheap on this side.
    pub async fn create_text(&self, path: &str, object: String) -> Result<(), TestApiError> {
        let request = request("POST", path, Some("application/json"), object.into_bytes())?;
        self.client.request_text(request).await.map(drop).map_err(TestApiError::from)
    }

    /// Sends a merge patch without reading the response.
    pub async fn patch_text(&self, path: &str, body: &str) -> Result<(), TestApiError> {
        let request = request("PATCH", path, Some("application/merge-patch+json"), body.into())?;
        self.client.request_text(request).await.map(drop).map_err(TestApiError::from)
    }

    /// Creates an object.
    pub async fn create(&self, path: &str, object: &Value) -> Result<Value, TestApiError> {
        self.send("POST", path, Some("application/json"), object.to_string().into_bytes()).await
    }

    /// Replaces an object.
    pub async fn replace(&self, path: &str, object: &Value) -> Result<Value, TestApiError> {
        self.send("PUT", path, Some("application/json"), object.to_string().into_bytes()).await
    }

    /// Patches an object.
    pub async fn patch(&self, path: &str, patch: PatchType, body: &str) -> Result<Value, TestApiError> {
        let content = match patch {
            PatchType::Merge => "application/merge-patch+json",
            PatchType::Strategic => "application/strategic-merge-patch+json",
            PatchType::Json => "application/json-patch+json",
            PatchType::Apply => "application/apply-patch+yaml",
        };
        self.send("PATCH", path, Some(content), body.into()).await
    }

    /// Deletes an object; `options` is a DeleteOptions object.
    pub async fn delete(&self, path: &str, options: &Value) -> Result<Value, TestApiError> {
        self.send("DELETE", path, Some("application/json"), options.to_string().into_bytes()).await
    }

    /// Watches: lines as they arrive, each one event as the server wrote it.
    pub async fn watch(
        &self,
        path: &str,
    ) -> Result<impl Stream<Item = std::io::Result<String>> + Unpin + use<>, TestApiError> {
        let body = self.client.request_stream(request("GET", path, None, Vec::new())?).await?;
        Ok(Box::pin(body).lines())
    }

    async fn send(
        &self,
        verb: &str,
        path: &str,
        kind: Option<&str>,
        body: Vec<u8>,
    ) -> Result<Value, TestApiError> {
        Ok(self.client.request(request(verb, path, kind, body)?).await?)
    }
}

/// A client that sends small requests immediately. The default client leaves them to Nagle's algorithm, which delays
/// some by 40 ms: too long for measurements in milliseconds.
fn client(config: &Config) -> Result<Client, kube::Error> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    let https = config.rustls_https_connector_with_connector(tcp)?;
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build(https));
    Ok(Client::new(service, "default"))
}

fn request(
    verb: &str,
    path: &str,
    kind: Option<&str>,
    body: Vec<u8>,
) -> Result<http::Request<Vec<u8>>, TestApiError> {
    let mut request = http::Request::builder().method(verb).uri(path);
    if let Some(kind) = kind {
        request = request.header(http::header::CONTENT_TYPE, kind);
    }
    request
        .body(body)
        .map_err(|error| TestApiError::Unanswered(format!("{verb} {path} is not a request: {error}")))
}
