//! Builds the response of a metrics or health request, with the texts of upstream's components.

use super::{Admin, Check, Scope};
use crate::escape::escaped;
use crate::metrics::Exposition;
use http::header::{ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Bytes;

/// A complete response.
pub type AdminResponse = Response<Full<Bytes>>;

pub(super) const PLAIN: &str = "text/plain; charset=utf-8";
const BINARY: &str = "application/octet-stream";
const PATHS: &str =
    "not found: there are /metrics, /record, /healthz, /livez and /readyz (add ?verbose, or /<check>)\n";

/// A path that needs a permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProtectedPath {
    Metrics,
    Record,
}

impl ProtectedPath {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Metrics => "/metrics",
            Self::Record => "/record",
        }
    }
}

/// The endpoint of a path.
enum Endpoint<'path> {
    Metrics,
    Record,
    Health { endpoint: &'static str, scope: Scope, check: Option<&'path str> },
}

impl Admin {
    /// Responds to one request; its body does not matter.
    pub fn respond_to<Body>(&self, request: &Request<Body>) -> AdminResponse {
        let Some(endpoint_of) = endpoint_of(request.uri().path()) else {
            return respond(StatusCode::NOT_FOUND, PLAIN, PATHS);
        };
        self.respond_to_endpoint(&endpoint_of, request)
    }

    /// The same on a port that serves other paths as well; `None` if the path is unknown.
    pub fn respond_if_known<Body>(&self, request: &Request<Body>) -> Option<AdminResponse> {
        let endpoint_of = endpoint_of(request.uri().path())?;
        Some(self.respond_to_endpoint(&endpoint_of, request))
    }

    fn respond_to_endpoint<Body>(
        &self,
        endpoint_of: &Endpoint<'_>,
        request: &Request<Body>,
    ) -> AdminResponse {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut response = respond(StatusCode::METHOD_NOT_ALLOWED, PLAIN, "only GET and HEAD\n");
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        match *endpoint_of {
            Endpoint::Metrics => {
                let accept =
                    request.headers().get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
                let exposition = Exposition::accepted(accept);
                respond(StatusCode::OK, exposition.media_type(), self.metrics.render(exposition))
            }
            Endpoint::Record => match &self.record {
                Some(record) => respond(StatusCode::OK, BINARY, record()),
                None => respond(StatusCode::NOT_FOUND, PLAIN, "there is no record\n"),
            },
            Endpoint::Health { scope, check: Some(name), .. } => self.one_check(scope, name),
            Endpoint::Health { endpoint, scope, check: None } => {
                self.all_checks(endpoint, scope, is_verbose(request.uri().query()))
            }
        }
    }

    fn checks_for(&self, scope: Scope) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(move |check| scope == Scope::Ready || check.scope == Scope::Live)
    }

    fn one_check(&self, scope: Scope, name: &str) -> AdminResponse {
        match self.checks_for(scope).find(|check| check.name == name).map(|check| (check.run)()) {
            Some(Ok(())) => respond(StatusCode::OK, PLAIN, "ok"),
            Some(Err(reason)) => {
                respond(StatusCode::INTERNAL_SERVER_ERROR, PLAIN, format!("{}\n", escaped(&reason)))
            }
            None => {
                let names: Vec<&str> = self.checks_for(scope).map(|check| check.name).collect();
                respond(
                    StatusCode::NOT_FOUND,
                    PLAIN,
                    format!("no such check: there are {}\n", names.join(", ")),
                )
            }
        }
    }

    fn all_checks(&self, endpoint: &str, scope: Scope, verbose: bool) -> AdminResponse {
        let mut all_fine = true;
        let mut text = String::new();
        for check in self.checks_for(scope) {
            match (check.run)() {
                Ok(()) => text.push_str(&format!("[+]{} ok\n", check.name)),
                Err(reason) => {
                    all_fine = false;
                    text.push_str(&format!("[-]{} failed: {}\n", check.name, escaped(&reason)));
                }
            }
        }
        if !all_fine {
            text.push_str(&format!("{endpoint} check failed\n"));
            return respond(StatusCode::INTERNAL_SERVER_ERROR, PLAIN, text);
        }
        if verbose {
            text.push_str(&format!("{endpoint} check passed\n"));
            return respond(StatusCode::OK, PLAIN, text);
        }
        respond(StatusCode::OK, PLAIN, "ok")
    }
}

/// The path of an endpoint that needs a permission, with any method; `None` for health.
pub(super) fn protected(path: &str) -> Option<ProtectedPath> {
    match endpoint_of(path)? {
        Endpoint::Metrics => Some(ProtectedPath::Metrics),
        Endpoint::Record => Some(ProtectedPath::Record),
        Endpoint::Health { .. } => None,
    }
}

/// Parses Kubernetes' paths and the shorter ones of other controllers.
fn endpoint_of(path: &str) -> Option<Endpoint<'_>> {
    match path {
        "/metrics" => return Some(Endpoint::Metrics),
        "/record" => return Some(Endpoint::Record),
        _ => {}
    }
    let (name, check) = match path.strip_prefix('/')?.split_once('/') {
        Some((name, check)) => (name, Some(check).filter(|check| !check.is_empty())),
        None => (&path[1..], None),
    };
    let (endpoint, scope) = match name {
        "healthz" => ("healthz", Scope::Live),
        "livez" | "live" => ("livez", Scope::Live),
        "readyz" | "ready" => ("readyz", Scope::Ready),
        _ => return None,
    };
    Some(Endpoint::Health { endpoint, scope, check })
}

fn is_verbose(query: Option<&str>) -> bool {
    query.is_some_and(|query| query.split('&').any(|pair| pair.split('=').next() == Some("verbose")))
}

/// A complete response of this type, which proxies must not cache.
pub fn respond(status: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> AdminResponse {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
