//! Reads and patches nodes for interactive commands, with the server's own messages.
//!
//! - Nothing is retried. See `api.rs` for the controller's requests.

use crate::api::RequestBudget;
use crate::api::{
    InvalidPath, JSON_PATCH, RawResponse, RequestError, RequestSpec, ResourcePath, exchange, push_encoded,
};
use crate::config::response_date;
use crate::error_text::sanitized;
use bytes::Bytes;
use http::Method;
use kube::Client;
use serde::Deserialize;
use taintward_core::identity::NodeName;
use taintward_core::time::Wall;
use thiserror::Error;

mod editable_node;

pub use editable_node::{AnnotationEdit, EditableNode};

/// Reads and changes nodes. Each request is sent once.
#[derive(Clone)]
pub struct NodeClient {
    client: Client,
    limit: RequestBudget,
}

/// The options of a write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchOptions {
    /// The manager in `managedFields`.
    pub field_manager: String,
    /// `Strict`, `Warn` or `Ignore`; the server's default if empty.
    pub field_validation: &'static str,
    /// The server checks everything and stores nothing.
    pub dry_run: bool,
}

impl PatchOptions {
    pub(crate) fn uri(&self, resource: &ResourcePath<'_>) -> String {
        let mut uri = resource.path() + "?fieldManager=";
        push_encoded(&mut uri, &self.field_manager);
        if !self.field_validation.is_empty() {
            uri = uri + "&fieldValidation=" + self.field_validation;
        }
        if self.dry_run {
            uri += "&dryRun=All";
        }
        uri
    }
}

/// The server's response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchResponse {
    /// The object.
    pub body: Bytes,
    /// The server's warnings, safe to print.
    pub warnings: Vec<String>,
    /// When the server sent it, by its own clock, if it says so; truncated to whole seconds.
    pub date: Option<Wall>,
}

/// Why a node was not read or not changed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NodeRequestError {
    /// The server rejected the request.
    #[error("{}", .0.message)]
    Status(Box<ApiFailureStatus>),
    /// There is no response, or an invalid one; for a write it is then unknown whether it was carried out.
    #[error(transparent)]
    NoResponse(RequestError),
}

impl From<InvalidPath> for NodeRequestError {
    fn from(why: InvalidPath) -> Self {
        Self::NoResponse(why.into())
    }
}

/// The server's status, in parts; each is safe to print.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiFailureStatus {
    /// The HTTP status.
    pub code: u16,
    /// `NotFound`, `Forbidden` and so on; empty if absent.
    pub reason: String,
    /// The message for people.
    pub message: String,
    /// The kind of the invalid object, for `Invalid`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Fields, and the error of each.
    pub causes: Vec<(String, String)>,
}

impl NodeRequestError {
    /// Whether the node has changed since it was read, so that it can be read and changed again: 409, or a failed test
    /// of the patch, which a server reports as a 422 without details.
    pub fn is_conflict(&self) -> bool {
        match self {
            Self::Status(status) => status.code == 409 || status.code == 422 && status.causes.is_empty(),
            Self::NoResponse(_) => false,
        }
    }
}

#[derive(Default, Deserialize)]
struct NodeStatusBody {
    #[serde(default)]
    reason: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    details: Option<NodeStatusDetails>,
}

#[derive(Default, Deserialize)]
struct NodeStatusDetails {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    causes: Vec<NodeStatusCause>,
}

#[derive(Default, Deserialize)]
struct NodeStatusCause {
    #[serde(default)]
    field: String,
    #[serde(default)]
    message: String,
}

impl NodeClient {
    /// Waits at most `limit` for responses.
    pub fn new(client: Client, limit: impl Into<RequestBudget>) -> Self {
        Self { client, limit: limit.into() }
    }

    /// Reads the current node, never from a cache of the server.
    ///
    /// # Errors
    /// A [`NodeRequestError`].
    pub async fn read(&self, name: &str) -> Result<PatchResponse, NodeRequestError> {
        let name = NodeName::new(name);
        let resource = ResourcePath::node(&name, "")?;
        self.send(Method::GET, &resource, resource.path(), RequestSpec::default()).await
    }

    /// Changes a node with a patch from [`EditableNode::patch`]. The response has the node after the change.
    ///
    /// # Errors
    /// A [`NodeRequestError`]; [`NodeRequestError::is_conflict`] if the node has changed since it was read.
    pub async fn patch(
        &self,
        name: &str,
        body: Bytes,
        how: &PatchOptions,
    ) -> Result<PatchResponse, NodeRequestError> {
        let name = NodeName::new(name);
        let resource = ResourcePath::node(&name, "")?;
        let spec = RequestSpec { content: JSON_PATCH, body, ..RequestSpec::default() };
        self.send(Method::PATCH, &resource, how.uri(&resource), spec).await
    }

    async fn send(
        &self,
        method: Method,
        resource: &ResourcePath<'_>,
        uri: String,
        spec: RequestSpec,
    ) -> Result<PatchResponse, NodeRequestError> {
        let response = exchange(&self.client, &method, resource, uri, spec);
        successful(&method, resource, self.limit, response).await
    }
}

/// Waits at most `limit` for a response; one with a status of failure is an error.
pub(crate) async fn successful(
    method: &Method,
    resource: &ResourcePath<'_>,
    limit: RequestBudget,
    response: impl Future<Output = Result<RawResponse, RequestError>>,
) -> Result<PatchResponse, NodeRequestError> {
    let response = limit.bound(method, resource, response).await.map_err(NodeRequestError::NoResponse)?;
    match response.head.status.is_success() {
        true => {
            let date = response_date(&response.head.headers).ok();
            Ok(PatchResponse { warnings: warnings(&response), body: response.body, date })
        }
        false => Err(NodeRequestError::Status(Box::new(failure_status(&response)))),
    }
}

/// A response without a `NodeStatusBody` does not come from an API server.
fn failure_status(response: &RawResponse) -> ApiFailureStatus {
    let code = response.head.status.as_u16();
    let status: NodeStatusBody = serde_json::from_slice(&response.body).unwrap_or_default();
    let details = status.details.unwrap_or_default();
    let message = if status.message.is_empty() { response.head.status.to_string() } else { status.message };
    let causes = details.causes.iter().map(|cause| (sanitized(&cause.field), sanitized(&cause.message)));
    ApiFailureStatus {
        code,
        reason: sanitized(&status.reason),
        message: sanitized(&message),
        kind: sanitized(&details.kind),
        name: sanitized(&details.name),
        causes: causes.collect(),
    }
}

/// At most this many warnings are returned.
const WARNINGS_MAX: usize = 20;

/// `Warning: 299 - "text"`, as in RFC 7234; text may be quoted with backslashes.
fn warnings(response: &RawResponse) -> Vec<String> {
    let lines = response.head.headers.get_all(http::header::WARNING).iter().take(WARNINGS_MAX);
    lines
        .filter_map(|line| {
            let (_, text) = line.to_str().ok()?.split_once('"')?;
            let mut characters = text.chars();
            let mut text = String::new();
            loop {
                match characters.next()? {
                    '"' => return Some(sanitized(&text)),
                    '\\' => text.extend(characters.next()),
                    other => text.push(other),
                }
            }
        })
        .collect()
}
