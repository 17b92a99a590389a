//! Decides whether a request may read the metrics, if the operator wants it checked ([`AccessCheck`]).
//!
//! - Invariant: a check without a response rejects; health endpoints need no token.

use super::AdminResponse;
use super::response::{PLAIN, is_metrics, respond};
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderValue, Request, StatusCode};
use std::pin::Pin;
use std::sync::Arc;

/// Why a client may not read the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessDenied {
    /// The token belongs to no user.
    Stranger,
    /// Its user may not.
    Forbidden,
    /// The permission is unknown at the moment.
    Unknown,
}

/// The future decision of a guard.
pub type AccessDecision<'g> = Pin<Box<dyn Future<Output = Result<(), AccessDenied>> + Send + 'g>>;

/// Decides which tokens may read the metrics.
pub trait AccessCheck: Send + Sync {
    /// Whether the bearer of this token may.
    fn admit<'g>(&'g self, token: &'g str) -> AccessDecision<'g>;
}

/// Which clients may read the metrics of a port.
#[derive(Clone)]
pub(super) enum MetricsAccess {
    /// Any client that can reach it.
    Anyone,
    /// None: tokens are not accepted over unencrypted connections.
    NoClient,
    /// Clients that a guard admits.
    Guarded(Arc<dyn AccessCheck>),
}

impl MetricsAccess {
    /// Returns the rejection, if there is one.
    pub(super) async fn rejection<Body>(&self, request: &Request<Body>) -> Option<AdminResponse> {
        if !is_metrics(request.uri().path()) {
            return None;
        }
        let denied = match self {
            Self::Anyone => return None,
            Self::NoClient => {
                let text = "metrics are on the secure port only, and need a token\n";
                return Some(respond(StatusCode::FORBIDDEN, PLAIN, text.into()));
            }
            Self::Guarded(guard) => match bearer(request) {
                Some(token) => guard.admit(token).await.err()?,
                None => AccessDenied::Stranger,
            },
        };
        Some(match denied {
            AccessDenied::Stranger => {
                let mut rejection = respond(StatusCode::UNAUTHORIZED, PLAIN, "Unauthorized\n".into());
                rejection.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
                rejection
            }
            AccessDenied::Forbidden => {
                let text = "Forbidden: the rule is {nonResourceURLs: [\"/metrics\"], verbs: [\"get\"]}\n";
                respond(StatusCode::FORBIDDEN, PLAIN, text.into())
            }
            AccessDenied::Unknown => {
                let text = "the permission to read this cannot be checked now; the log says why\n";
                respond(StatusCode::INTERNAL_SERVER_ERROR, PLAIN, text.into())
            }
        })
    }
}

/// Returns the bearer token of a request, if it has one.
fn bearer<Body>(request: &Request<Body>) -> Option<&str> {
    let mut all = request.headers().get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (all.next(), all.next()) else { return None };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    Some(token.trim()).filter(|token| scheme.eq_ignore_ascii_case("bearer") && !token.is_empty())
}
