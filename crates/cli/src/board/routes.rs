//! Answers the requests of the board's page.

use super::access::{Admission, BoardAccess};
use super::board_state::{BoardState, EventId};
use super::{BoardSource, SandboxAction};
use futures::stream;
use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION,
    REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
};
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, Limited, StreamBody};
use hyper::body::{Body, Bytes, Frame};
use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;
use taintward_core::taint_edit::parse;

/// A response.
pub(super) type BoardResponse = Response<BoxBody<Bytes, Infallible>>;

const HTML: &[u8] = include_bytes!("page/index.html");
const STYLE: &[u8] = include_bytes!("page/board.css");
const SCRIPT: &[u8] = include_bytes!("page/board.js");

/// Headers of every response: the page loads nothing from other sites, and no other site may embed or read it.
const HEADERS: [(HeaderName, &str); 6] = [
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

const PLAIN: &str = "text/plain; charset=utf-8";

/// The largest body of a request: a file of objects.
const BODY_MAX: usize = 32 << 20;

/// The interval of comments that keep an idle stream open.
const ALIVE_EVERY: Duration = Duration::from_secs(15);

/// The state from which responses are built.
pub(super) struct BoardServer {
    pub(super) source: Arc<BoardSource>,
    pub(super) state: Arc<BoardState>,
    pub(super) access: BoardAccess,
}

impl BoardServer {
    /// Answers one request.
    pub(super) async fn respond<B>(self: &Arc<Self>, request: Request<B>) -> BoardResponse
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let page = match self.access.check(&request) {
            Admission::Granted(page) => page,
            Admission::Entered { location, cookie } => return entered(&location, &cookie),
            Admission::Rejected(status, why) => return text(status, why),
        };
        let query = request.uri().query().unwrap_or_default();
        match (request.method(), page) {
            (&Method::GET, "") => bytes("text/html; charset=utf-8", HTML),
            (&Method::GET, "board.css") => bytes("text/css; charset=utf-8", STYLE),
            (&Method::GET, "board.js") => bytes("text/javascript; charset=utf-8", SCRIPT),
            // Without it, browsers log an error.
            (&Method::GET, "icon") => text(StatusCode::NO_CONTENT, ""),
            (&Method::GET, "events") => self.events(&request),
            (&Method::GET, "explain") => self.explain(query).await,
            (&Method::GET, "plan") => self.plan(query).await,
            (&Method::POST, "action") => self.act(request).await,
            (_, "" | "board.css" | "board.js" | "events" | "explain" | "plan") => {
                let mut response =
                    text(StatusCode::METHOD_NOT_ALLOWED, "this method is not supported; use GET");
                response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET"));
                response
            }
            _ => text(
                StatusCode::NOT_FOUND,
                "the board does not have this page; open the address that it printed",
            ),
        }
    }

    /// A stream of events that begins after the last one that the viewer has.
    fn events<B>(self: &Arc<Self>, request: &Request<B>) -> BoardResponse {
        let header = request.headers().get("last-event-id").and_then(|id| EventId::parse(id.to_str().ok()?));
        // The page sends it in the address: only a browser that reconnects adds the header; scripts cannot set it.
        let query = request.uri().query().and_then(parameter).filter(|(name, _)| *name == "last");
        let last = header.or_else(|| query.and_then(|(_, id)| EventId::parse(&id)));
        let viewer = self.state.viewer(last);
        let events = stream::unfold((Arc::clone(self), viewer), async |(server, mut viewer)| {
            let next = viewer.next(&server.state, || server.source.clock.now());
            let message = tokio::time::timeout(ALIVE_EVERY, next).await;
            let message = message.unwrap_or_else(|_| Bytes::from_static(b": alive\n\n"));
            Some((Ok(Frame::data(message)), (server, viewer)))
        });
        response(StatusCode::OK, "text/event-stream", StreamBody::new(Box::pin(events)).boxed())
    }

    async fn explain(&self, query: &str) -> BoardResponse {
        let words: Vec<String> = match parameter(query) {
            Some(("pod", name)) => match name.split_once('/') {
                Some((namespace, name)) => {
                    [&format!("pod/{name}"), "-n", namespace].map(str::to_owned).into()
                }
                None => return text(StatusCode::BAD_REQUEST, "expected a pod as NAMESPACE/NAME"),
            },
            Some(("node", name)) => vec![format!("node/{name}")],
            Some(("workload", name)) => match *name.splitn(3, '/').collect::<Vec<_>>() {
                [kind, namespace, name] => {
                    vec![
                        format!("{}/{name}", kind.to_ascii_lowercase()),
                        "-n".to_owned(),
                        namespace.to_owned(),
                    ]
                }
                _ => return text(StatusCode::BAD_REQUEST, "expected a workload as KIND/NAMESPACE/NAME"),
            },
            _ => return text(StatusCode::BAD_REQUEST, "expected a pod, a node or a workload"),
        };
        let words: Vec<&str> = ["explain"].into_iter().chain(words.iter().map(String::as_str)).collect();
        let (explained, past) = tokio::join!(self.source.commands.run(&words), self.past(&words[1..]));
        match explained {
            Ok(output) => text(StatusCode::OK, &format!("{output}{past}")),
            Err(why) if past.is_empty() => failed(&why.to_string()),
            // A pod that is gone has a history.
            Err(why) => text(StatusCode::OK, &format!("{why}\n{past}")),
        }
    }

    /// What the record says about an object, if there is one; a record has no workloads.
    async fn past(&self, object: &[&str]) -> String {
        let is_recorded = object[0].starts_with("pod/") || object[0].starts_with("node/");
        let Some((record, _)) = self.source.record.as_ref().filter(|_| is_recorded) else {
            return String::new();
        };
        let flag = record.flag();
        let words: Vec<&str> = ["history"].iter().chain(object).copied().chain([flag.as_str()]).collect();
        let recorded = match self.source.commands.run(&words).await {
            Ok(output) => output,
            Err(why) => why.to_string(),
        };
        format!("\nHistory: taintward {}\n\n{recorded}", words.join(" "))
    }

    async fn plan(&self, query: &str) -> BoardResponse {
        let parameters: Vec<(&str, String)> = query.split('&').filter_map(parameter_owned).collect();
        let value =
            |name: &str| parameters.iter().find(|(key, _)| *key == name).map(|(_, value)| value.as_str());
        match (value("node"), value("taint")) {
            (Some(node), Some(taint)) if !node.is_empty() && !taint.is_empty() => match taint_fault(taint) {
                Some(fault) => failed(&fault),
                None => self.command(&["plan", "--taint", node, taint]).await,
            },
            _ => text(
                StatusCode::BAD_REQUEST,
                "expected a node and a taint, such as maintenance=now:NoExecute",
            ),
        }
    }

    async fn command(&self, words: &[&str]) -> BoardResponse {
        match self.source.commands.run(words).await {
            Ok(output) => text(StatusCode::OK, &output),
            // The page shows it. With another status, a browser also logs an error.
            Err(why) => failed(&why.to_string()),
        }
    }

    async fn act<B>(&self, request: Request<B>) -> BoardResponse
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let Some(sandbox) = &self.source.sandbox else {
            return text(
                StatusCode::NOT_FOUND,
                "this board only reads the cluster; use kubectl or taintward taint",
            );
        };
        let body = match Limited::new(request.into_body(), BODY_MAX).collect().await {
            Ok(body) => body.to_bytes(),
            Err(why) => {
                return text(StatusCode::PAYLOAD_TOO_LARGE, &format!("cannot read the request: {why}"));
            }
        };
        let action: SandboxAction = match serde_json::from_slice(&body) {
            Ok(action) => action,
            Err(why) => {
                return text(StatusCode::BAD_REQUEST, &format!("cannot parse the request: {why}"));
            }
        };
        match sandbox.act(action).await {
            Ok(message) => {
                let json = serde_json::json!({ "message": message }).to_string();
                response(StatusCode::OK, "application/json", Full::from(json).boxed())
            }
            Err(why) => text(StatusCode::UNPROCESSABLE_ENTITY, &why),
        }
    }
}

/// What is wrong with a taint, and what to write.
pub(crate) fn taint_fault(taint: &str) -> Option<String> {
    let fault = parse(&[taint]).err()?;
    Some(format!("{}; write KEY=VALUE:EFFECT, for example maintenance=now:NoExecute", fault.hint()))
}

/// The only parameter.
fn parameter(query: &str) -> Option<(&str, String)> {
    if query.contains('&') { None } else { parameter_owned(query) }
}

fn parameter_owned(pair: &str) -> Option<(&str, String)> {
    let (name, value) = pair.split_once('=')?;
    let value = value.replace('+', " ");
    let value = percent_encoding::percent_decode_str(&value).decode_utf8().ok()?.into_owned();
    // A name cannot begin as a flag.
    (!value.starts_with('-')).then_some((name, value))
}

fn entered(location: &str, cookie: &str) -> BoardResponse {
    let mut response = text(StatusCode::SEE_OTHER, "");
    for (name, value) in [(LOCATION, location), (SET_COOKIE, cookie)] {
        if let Ok(value) = HeaderValue::from_str(value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

fn text(status: StatusCode, text: &str) -> BoardResponse {
    response(status, PLAIN, Full::from(text.to_owned()).boxed())
}

/// A failure that the page shows in place of an answer.
fn failed(why: &str) -> BoardResponse {
    let mut response = text(StatusCode::OK, why);
    response.headers_mut().insert("failed", HeaderValue::from_static("1"));
    response
}

fn bytes(kind: &'static str, bytes: &'static [u8]) -> BoardResponse {
    response(StatusCode::OK, kind, Full::from(Bytes::from_static(bytes)).boxed())
}

fn response(status: StatusCode, kind: &'static str, body: BoxBody<Bytes, Infallible>) -> BoardResponse {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.extend(HEADERS.map(|(name, value)| (name, HeaderValue::from_static(value))));
    response
}
