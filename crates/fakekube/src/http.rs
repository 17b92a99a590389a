//! Serves the Kubernetes API as a tower service: paths, queries, encodings, streams.
//!
//! - See `api.rs` for the verbs, `serve.rs` for sockets.

mod accept;
mod discovery;
mod openapi;
mod read;
mod response_format;
mod route;
mod write;

#[cfg(test)]
mod tests;

use crate::api::{ApiServer, FieldValidation, RequestUser, WriteOptions};
use crate::api_status::StatusError;
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream, StreamExt as _};
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, DATE, RETRY_AFTER, USER_AGENT, WARNING};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, Limited, StreamBody};
use jiff::fmt::rfc2822::DateTimePrinter;
use percent_encoding::percent_decode_str;
use route::Route;
use serde_json::Value;
use std::convert::Infallible;
use std::error::Error;
use std::task::{Context, Poll};
use std::time::Duration;

/// The longest body that is read, as a real server has it.
pub const BODY_MAX: usize = 3 << 20;

/// The encoding of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResponseEncoding {
    Json,
    Protobuf,
}

/// How much of an object a response shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Representation {
    /// All of it.
    Whole,
    /// Rows with columns for people.
    Table,
    /// Only metadata.
    Metadata,
    /// All resources in one document, for discovery.
    Aggregated,
}

/// The form of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Accept {
    encoding: ResponseEncoding,
    view: Representation,
    /// The encoding of errors.
    error_encoding: ResponseEncoding,
    /// Whether none of the accepted forms is available.
    is_rejected: bool,
}

impl<B> tower::Service<Request<B>> for ApiServer
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let writes = !matches!(head.method, Method::GET | Method::HEAD);
            let respond_to = match Limited::new(body, BODY_MAX).collect().await {
                Ok(body) => server.respond_to(HttpRequest::new(&head, body.to_bytes(), server.user())),
                Err(why) if why.is::<http_body_util::LengthLimitError>() => {
                    Err(StatusError::too_large(BODY_MAX))
                }
                Err(why) if why.is::<BodyTimeout>() => {
                    Err(StatusError::new(504, "Timeout", format!("Timeout: {why}")))
                }
                Err(why) => Err(StatusError::bad_request(format!("the body could not be read: {why}"))),
            };
            if writes {
                // Watch events go first: controllers wait, and say so, while they have the response to a write but not
                // its event.
                tokio::task::yield_now().await;
            }
            Ok(server.respond(&head, respond_to))
        })
    }
}

impl ApiServer {
    /// The cluster's time for the `Date` header of every response.
    fn date(&self) -> HeaderValue {
        let text = DateTimePrinter::new().timestamp_to_rfc9110_string(&self.clock().now());
        // A year that the format cannot write must not prevent a response, and its text is always a valid header.
        let text = text.unwrap_or_default();
        HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
    }

    /// The response to a request whose body is not read.
    pub(crate) fn reject(&self, head: &Parts, failure: StatusError) -> Response<ResponseBody> {
        self.respond(head, Err(failure))
    }

    /// A response in the requested form.
    fn respond(&self, head: &Parts, respond_to: Result<HttpResponse, StatusError>) -> Response<ResponseBody> {
        let accept = Accept::of(head);
        let respond_to = respond_to.unwrap_or_else(|failure| HttpResponse::error(failure, accept));
        let mut respond_to = respond_to.into_response();
        respond_to.headers_mut().insert(DATE, self.date());
        respond_to
    }

    /// Answers a request whose body has arrived.
    fn respond_to(&self, request: HttpRequest) -> Result<HttpResponse, StatusError> {
        let route = Route::of(&request.path);
        if matches!(route, Some(Route::Object(_) | Route::Collection(_))) && request.method == Method::HEAD {
            return Err(StatusError::not_allowed());
        }
        match route {
            Some(Route::Object(on)) => self.on_object(&request, &on),
            Some(Route::Collection(on)) => self.on_collection(&request, &on),
            Some(Route::Nothing(why)) => Err(why),
            Some(Route::Fixed) => self.fixed(&request),
            None if discovery::is_known(&request.path) => Err(StatusError::no_such_path()),
            None => Ok(HttpResponse::no_page()),
        }
    }

    /// Paths that are not resources.
    fn fixed(&self, request: &HttpRequest) -> Result<HttpResponse, StatusError> {
        let path = request.path.as_str();
        if let Some(respond_to) = discovery::health(path, &request.query) {
            return Ok(respond_to);
        }
        if path.starts_with("/openapi/") {
            return Ok(openapi::respond_to(path, request.packed).unwrap_or_else(HttpResponse::no_page));
        }
        let short = path.strip_suffix('/').unwrap_or(path);
        let found = match short {
            "/version" => Some(HttpResponse::json(&discovery::version(self.version_suffix()))),
            short => discovery::respond_to(short, request)?,
        };
        match found {
            Some(_) if request.method != Method::GET => Err(StatusError::not_allowed()),
            Some(respond_to) => Ok(respond_to),
            None if discovery::is_known(path) => Err(StatusError::no_such_path()),
            None => Ok(HttpResponse::no_page()),
        }
    }
}

/// A request.
struct HttpRequest {
    method: Method,
    path: String,
    query: Query,
    accept: Accept,
    /// Whether the request is a watch.
    watches: bool,
    /// Without parameters, in lower case.
    content_type: String,
    agent: String,
    body: Bytes,
    /// Whether it accepts OpenAPI v2 in protobuf, as kubectl does.
    packed: bool,
    /// The user.
    user: RequestUser,
}

impl HttpRequest {
    fn new(head: &Parts, body: Bytes, user: &RequestUser) -> Self {
        let content_type = header(head, &CONTENT_TYPE);
        let query = Query::read(head.uri.query().unwrap_or_default());
        Self {
            watches: query.is_true("watch"),
            method: head.method.clone(),
            path: decoded(head.uri.path()),
            query,
            accept: Accept::of(head),
            content_type: content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase(),
            agent: header(head, &USER_AGENT),
            body,
            packed: header(head, &ACCEPT).contains("com.github.proto-openapi.spec.v2"),
            user: user.acting(&head.headers),
        }
    }

    /// The options of a write; they have been validated (`write.rs`).
    fn write_options(&self) -> WriteOptions {
        let manager = match self.query.get("fieldManager") {
            "" => self.agent.split('/').next().unwrap_or_default(),
            manager => manager,
        };
        WriteOptions {
            dry_run: self.query.get("dryRun") == "All",
            manager: if manager.is_empty() { "unknown" } else { manager }.to_owned(),
            strictness: match self.query.get("fieldValidation") {
                "Strict" => FieldValidation::Strict,
                "Ignore" => FieldValidation::Ignore,
                _ => FieldValidation::Warn,
            },
            force: self.query.is_true("force"),
            user: self.user.clone(),
        }
    }
}

fn header(head: &Parts, name: &HeaderName) -> String {
    head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
}

/// Names and values, decoded.
#[derive(Debug, Default)]
struct Query(Vec<(String, String)>);

impl Query {
    fn read(text: &str) -> Self {
        let pair = |part: &str| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            // Go's parser skips parts that it cannot read, and parts with semicolons.
            (!part.is_empty() && !part.contains(';') && is_escaped(part))
                .then(|| (decoded(&name.replace('+', " ")), decoded(&value.replace('+', " "))))
        };
        Self(text.split('&').filter_map(pair).collect())
    }

    /// The first value of a name, if present.
    fn find(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(one, _)| one == name).map(|(_, value)| value.as_str())
    }

    /// The first value of a name; empty if there is none.
    fn get(&self, name: &str) -> &str {
        self.find(name).unwrap_or_default()
    }

    /// All values of a name.
    fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(one, _)| one == name).map(|(_, value)| value.as_str())
    }

    /// Whether a boolean parameter is true.
    fn is_true(&self, name: &str) -> bool {
        self.find(name).is_some_and(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// A number, if there is one.
    fn number(&self, name: &str) -> Option<i64> {
        self.get(name).parse().ok()
    }
}

/// Whether every percent sign begins a valid escape.
fn is_escaped(text: &str) -> bool {
    text.split('%').skip(1).all(|rest| {
        rest.as_bytes().first_chunk::<2>().is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}

/// Decodes percent escapes; invalid UTF-8 becomes question marks.
fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// The body of an answer.
pub type ResponseBody = UnsyncBoxBody<Bytes, Infallible>;

/// An answer.
struct HttpResponse {
    code: u16,
    content_type: &'static str,
    body: ResponseContent,
    retry_after: Option<u32>,
    warnings: Vec<String>,
}

/// A body.
enum ResponseContent {
    Whole(Bytes),
    /// Pieces that are produced only as fast as the client reads them.
    Pieces(Box<dyn Iterator<Item = Bytes> + Send>),
    Stream(BoxStream<'static, Bytes>),
}

/// A body did not arrive in time.
#[derive(Debug, thiserror::Error)]
#[error("the body did not arrive within {0:?}")]
pub struct BodyTimeout(pub Duration);

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const PROTOBUF_STREAM: &str = "application/vnd.kubernetes.protobuf;stream=watch";
/// OpenAPI v2 in protobuf.
const PACKED: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

impl HttpResponse {
    fn new(code: u16, content_type: &'static str, body: Bytes) -> Self {
        Self {
            code,
            content_type,
            body: ResponseContent::Whole(body),
            retry_after: None,
            warnings: Vec::new(),
        }
    }

    fn text(text: String) -> Self {
        Self::new(200, TEXT, Bytes::from(text))
    }

    /// 204.
    fn nothing() -> Self {
        Self::new(204, "", Bytes::new())
    }

    /// 404 for a path outside of every API.
    fn no_page() -> Self {
        let text = Bytes::from_static(b"404 page not found\n");
        Self::new(404, TEXT, text)
    }

    fn json(value: &Value) -> Self {
        Self::new(200, JSON, Bytes::from(value.to_string()))
    }

    fn of(content_type: &'static str, body: ResponseContent) -> Self {
        Self { body, ..Self::new(200, content_type, Bytes::new()) }
    }

    fn stream(content_type: &'static str, body: BoxStream<'static, Bytes>) -> Self {
        Self::of(content_type, ResponseContent::Stream(body))
    }

    fn with_warnings(mut self, warnings: Vec<String>) -> Self {
        self.warnings = warnings;
        self
    }

    fn with_retry_after(mut self, seconds: Option<u32>) -> Self {
        self.retry_after = seconds;
        self
    }

    fn into_response(self) -> Response<ResponseBody> {
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
