//! Builds responses with complete or streamed bodies.

use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt as _};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WARNING};
use http::{HeaderValue, Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use serde_json::Value;
use std::convert::Infallible;

/// The body of an answer.
pub type ResponseBody = UnsyncBoxBody<Bytes, Infallible>;

/// An answer.
pub struct HttpAnswer {
    code: u16,
    content_type: &'static str,
    body: ResponseContent,
    retry_after: Option<u32>,
    warnings: Vec<String>,
}

/// A body.
pub(super) enum ResponseContent {
    Whole(Bytes),
    /// It ends, and is only written as fast as it is read.
    Pieces(Box<dyn Iterator<Item = Bytes> + Send>),
    Stream(BoxStream<'static, Bytes>),
}

const TEXT: &str = "text/plain; charset=utf-8";
pub(super) const JSON: &str = "application/json";
pub(super) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
pub(super) const PROTOBUF_STREAM: &str = "application/vnd.kubernetes.protobuf;stream=watch";
/// OpenAPI v2 in protobuf.
pub(super) const PACKED: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
pub(super) const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

impl HttpAnswer {
    pub(super) fn new(code: u16, content_type: &'static str, body: Bytes) -> Self {
        Self {
            code,
            content_type,
            body: ResponseContent::Whole(body),
            retry_after: None,
            warnings: Vec::new(),
        }
    }

    pub(super) fn text(text: String) -> Self {
        Self::new(200, TEXT, Bytes::from(text))
    }

    /// 204.
    pub(super) fn nothing() -> Self {
        Self::new(204, "", Bytes::new())
    }

    /// 404, where nobody knows of an API.
    pub(super) fn no_page() -> Self {
        let text = Bytes::from_static(b"404 page not found\n");
        Self::new(404, TEXT, text)
    }

    pub(super) fn json(value: &Value) -> Self {
        Self::new(200, JSON, Bytes::from(value.to_string()))
    }

    pub(super) fn of(content_type: &'static str, body: ResponseContent) -> Self {
        Self { body, ..Self::new(200, content_type, Bytes::new()) }
    }

    pub(super) fn stream(content_type: &'static str, body: BoxStream<'static, Bytes>) -> Self {
        let body = ResponseContent::Stream(body);
        Self { code: 200, content_type, body, retry_after: None, warnings: Vec::new() }
    }

    pub(super) fn with_warnings(mut self, warnings: Vec<String>) -> Self {
        self.warnings = warnings;
        self
    }

    pub(super) fn with_retry_after(mut self, seconds: Option<u32>) -> Self {
        self.retry_after = seconds;
        self
    }

    pub(super) fn into_response(self) -> Response<ResponseBody> {
        let body = match self.body {
            ResponseContent::Whole(bytes) => Full::new(bytes).boxed_unsync(),
            ResponseContent::Pieces(pieces) => {
                StreamBody::new(stream::iter(pieces.map(|bytes| Ok(Frame::data(bytes))))).boxed_unsync()
            }
            ResponseContent::Stream(stream) => {
                StreamBody::new(stream.map(|bytes| Ok(Frame::data(bytes)))).boxed_unsync()
            }
        };
        let mut response = Response::new(body);
        *response.status_mut() = StatusCode::from_u16(self.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        if !self.content_type.is_empty() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        }
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        for warning in &self.warnings {
            let text = warning.replace('\\', "\\\\").replace('"', "\\\"");
            if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{text}\"")) {
                headers.append(WARNING, value);
            }
        }
        response
    }
}
