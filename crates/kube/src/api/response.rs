//! Sends one request and reads its response with a size limit.

use super::bodies::ACCEPT_METADATA;
use super::path::ResourcePath;
use super::request_error::{ErrorHints, RequestError};
use crate::decode::Encoding;
use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName};
use http::response::Parts;
use http::{Method, Request};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;

/// The longest body of a successful response that is read: a node or pod as JSON with room to spare. etcd stores no
/// object over 1.5 MiB; escapes may make text in JSON six times as long.
const BODY_MAX: usize = 16 << 20;

/// The longest body of an error response that is read; nothing after that would be shown.
const ERROR_BODY_MAX: usize = 64 << 10;

/// The content of a request.
#[derive(Clone)]
pub(crate) struct RequestSpec {
    pub(crate) content: &'static str,
    pub(crate) accept: &'static str,
    pub(crate) body: Bytes,
    pub(crate) hints: ErrorHints,
    /// The longest response that is read.
    pub(crate) most: usize,
}

impl Default for RequestSpec {
    fn default() -> Self {
        Self { content: JSON, accept: JSON, body: Bytes::new(), hints: ErrorHints::None, most: BODY_MAX }
    }
}

impl RequestSpec {
    /// A patch whose response has only metadata.
    pub(crate) fn patch(content: &'static str, body: Bytes) -> Self {
        Self { content, accept: ACCEPT_METADATA, body, ..Self::default() }
    }
}

const JSON: &str = "application/json";

/// A successful response.
pub(crate) struct Response {
    pub(crate) content_type: String,
    pub(crate) body: Bytes,
}

/// Sends one request, once.
pub(crate) async fn send_request(
    client: &Client,
    method: &Method,
    resource: &ResourcePath<'_>,
    uri: String,
    spec: RequestSpec,
) -> Result<Response, RequestError> {
    let hints = spec.hints;
    let response = exchange(client, method, resource, uri, spec).await?;
    if response.head.status.is_success() {
        let content_type = response.header(CONTENT_TYPE);
        // A proxy's page with status 200: nothing was done (or read), or it is unknown what.
        if !content_type.is_empty() && Encoding::of(&content_type).is_none() {
            return Err(RequestError::foreign(method, resource, &content_type));
        }
        return Ok(Response { content_type, body: response.body });
    }
    Err(RequestError::from_response(
        method,
        resource,
        response.head.status,
        &response.head.headers,
        &response.body,
        hints,
    ))
}

/// A response with any status.
pub(crate) struct RawResponse {
    pub(crate) head: Parts,
    pub(crate) body: Bytes,
}

impl RawResponse {
    fn header(&self, name: HeaderName) -> String {
        self.head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
    }
}

/// Sends one request, once, and reads the response.
pub(crate) async fn exchange(
    client: &Client,
    method: &Method,
    resource: &ResourcePath<'_>,
    uri: String,
    spec: RequestSpec,
) -> Result<RawResponse, RequestError> {
    let mut request = Request::builder().method(method).uri(uri).header(ACCEPT, spec.accept);
    if !spec.body.is_empty() {
        request = request.header(CONTENT_TYPE, spec.content);
    }
    let request =
        request.body(Body::from(spec.body)).map_err(|why| RequestError::unsent(method, resource, &why))?;
    let response =
        client.send(request).await.map_err(|why| RequestError::unreachable(method, resource, &why))?;
    let (head, body) = response.into_parts();
    if !head.status.is_success() {
        let body = collect(body, ERROR_BODY_MAX).await.unwrap_or_default();
        return Ok(RawResponse { head, body });
    }
    match collect(body, spec.most).await {
        Ok(body) => Ok(RawResponse { head, body }),
        // The head says that a write was done: the rest of the response changes nothing.
        Err(_) if method != Method::GET => Ok(RawResponse { head, body: Bytes::new() }),
        Err(why) => Err(RequestError::unreachable(method, resource, &why)),
    }
}

/// Reads a body to its end, so that the connection can be reused, or up to `limit`: a longer one is truncated.
async fn collect(mut body: Body, limit: usize) -> Result<Bytes, kube::Error> {
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        if first.len() + rest.len() + data.len() > limit {
            break;
        }
        if first.is_empty() {
            first = data;
        } else {
            rest.extend_from_slice(&data);
        }
    }
    if rest.is_empty() {
        return Ok(first);
    }
    let mut whole = BytesMut::with_capacity(first.len() + rest.len());
    whole.extend_from_slice(&first);
    whole.extend_from_slice(&rest);
    Ok(whole.freeze())
}
