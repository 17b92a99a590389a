//! Classifies why a request failed ([`RequestError`]) into the core's [`ApiFailure`] and a sentence for people.

use super::path::{InvalidPath, ResourcePath};
use crate::config::NoCredentials;
use crate::decode::{foreign_type, status_from_body};
use crate::error_text::{connection_error, find, sanitized};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, Method, StatusCode};
use serde::Deserialize;
use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::time::Duration;
use taintward_core::api_error::ApiFailure;
use taintward_core::text::error_chain;
use taintward_core::time::Span;

/// The longest `Retry-After` that is respected; after a longer one, such as a year, the request is repeated earlier.
const RETRY_AFTER_MAX: Span = Span::from_secs(30);

/// A request that was not carried out, or perhaps was.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{message}")]
pub struct RequestError {
    /// Its meaning for the next decision.
    pub failure: ApiFailure,
    /// What, why, and the remedy: one line, safe to print, bounded.
    pub message: String,
    /// Whether this shows that the server is overloaded: 429, unless a disruption budget is the reason; a 502, 503 or 504
    /// that is not from a webhook, nor about a deletion; no response at all. The failure of one webhook is not a reason
    /// to send fewer requests of other kinds.
    pub overload: bool,
    /// Whether disruption budgets are the reason that the pod was not evicted.
    pub budget: Option<BudgetRejection>,
}

/// How disruption budgets prevent an eviction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetRejection {
    /// The pod's budget allows no disruption now, or has not been counted since it changed.
    NoDisruptionAllowed,
    /// The pod has more than one budget. The eviction API evicts no such pod, however many disruptions they allow.
    SeveralBudgets,
}

/// What a rejection may mean beyond its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorHints {
    /// Nothing.
    None,
    /// The body is a JSON Patch with tests: a 422 without details means that one failed.
    Tests,
    /// A 404 has far-reaching consequences: only the API server's own counts, not that of a proxy before it.
    Absence,
}

/// The part of a status with the causes: of a 422 the rejected fields, of a 429 the disruption budget.
#[derive(Default, Deserialize)]
struct DetailedStatus<'a> {
    #[serde(borrow, default)]
    details: Option<StatusDetails<'a>>,
}

#[derive(Deserialize)]
struct StatusDetails<'a> {
    #[serde(borrow, default)]
    causes: Vec<StatusCause<'a>>,
}

#[derive(Deserialize)]
struct StatusCause<'a> {
    #[serde(borrow, default)]
    reason: Cow<'a, str>,
    #[serde(borrow, default)]
    field: Cow<'a, str>,
}

impl<'a> DetailedStatus<'a> {
    fn causes(body: &'a [u8]) -> Vec<StatusCause<'a>> {
        let status: Self = serde_json::from_slice(body).unwrap_or_default();
        status.details.map(|details| details.causes).unwrap_or_default()
    }
}

impl RequestError {
    /// The mapping: 404 gone; 409 and preconditions conflict; 401 and 403 forbidden; 429 throttled; other 4xx with a
    /// Status rejected; for everything else it is unknown whether it was carried out.
    pub(crate) fn from_response(
        method: &Method,
        resource: &ResourcePath<'_>,
        status: StatusCode,
        headers: &HeaderMap,
        body: &[u8],
        hints: ErrorHints,
    ) -> Self {
        let content_type =
            headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let status_object = status_from_body(content_type, body);
        let is_api_server = status_object.is_some();
        let api_status = status_object.unwrap_or_default();
        let failure = match status.as_u16() {
            404 if hints == ErrorHints::Absence && api_status.reason != "NotFound" => ApiFailure::Unavailable,
            404 => ApiFailure::NotFound,
            401 | 403 => ApiFailure::Forbidden,
            429 => ApiFailure::Throttled(retry_after(headers, api_status.retry_after_seconds)),
            // A proxy's answer does not say what the API server did.
            400..=499 if !is_api_server => ApiFailure::Unavailable,
            409 => ApiFailure::Conflict,
            422 if is_precondition(body, hints) => ApiFailure::Conflict,
            400..=499 => ApiFailure::Rejected,
            _ => ApiFailure::Unavailable,
        };
        let why = match who(&api_status.message) {
            // The remedy says the rest.
            Some(who) if status == StatusCode::FORBIDDEN => format!("{} may not", sanitized(who)),
            _ if api_status.message.is_empty() => "no reason given".to_owned(),
            _ => sanitized(&api_status.message),
        };
        let way_out = way_out(method, resource, status, &api_status.message);
        let budget = BudgetRejection::of(status, &api_status.message, body);
        Self {
            failure,
            message: format!("{} {resource}: {status}: {why}{way_out}", verb(method, resource)),
            overload: budget.is_none() && is_overload(method, status, &api_status.message),
            budget,
        }
    }

    /// The client could not send, or the connection broke.
    pub(crate) fn unreachable(
        method: &Method,
        resource: &ResourcePath<'_>,
        why: &(dyn Error + 'static),
    ) -> Self {
        if let Some(NoCredentials(why)) = find(why) {
            let message = format!(
                "{} {resource}: nothing was sent: no credentials: {}",
                verb(method, resource),
                sanitized(why)
            );
            return Self::ours(ApiFailure::Unavailable, message);
        }
        let why = connection_error(why);
        let message = format!("{} {resource}: no answer from the API server: {why}", verb(method, resource));
        Self { failure: ApiFailure::Unavailable, message, overload: true, budget: None }
    }

    /// No response in time: the server may have carried it out or not (P31).
    pub(crate) fn silence(method: &Method, resource: &ResourcePath<'_>, limit: Duration) -> Self {
        // A read leaves nothing unknown.
        let unknown =
            if *method == Method::GET { "" } else { "; it is unknown whether the API server executed it" };
        let message = format!(
            "{} {resource}: no answer from the API server within {limit:?}{unknown}",
            verb(method, resource)
        );
        Self { failure: ApiFailure::Unavailable, message, overload: true, budget: None }
    }

    /// The requests of a command took longer than all of them may.
    pub(crate) fn out_of_time(method: &Method, resource: &ResourcePath<'_>, limit: Duration) -> Self {
        let silence = Self::silence(method, resource, limit);
        let message = format!(
            "{} {resource}: the requests of this command have taken {limit:?} altogether; allow more with --request-timeout",
            verb(method, resource)
        );
        Self { message, ..silence }
    }

    /// A failure detected here, without a status from the server.
    pub const fn ours(failure: ApiFailure, message: String) -> Self {
        Self { failure, message, overload: false, budget: None }
    }

    /// The request could not be built.
    pub(crate) fn unsent(method: &Method, resource: &ResourcePath<'_>, why: &dyn Error) -> Self {
        let message = format!(
            "{} {resource}: nothing was sent: {}",
            verb(method, resource),
            sanitized(&error_chain(why))
        );
        Self::ours(ApiFailure::Rejected, message)
    }

    /// The client's own rate limit leaves no turn within the request's timeout: nothing was sent.
    pub(crate) fn paced(method: &Method, resource: &ResourcePath<'_>, wait: Span) -> Self {
        let message = format!(
            "{} {resource}: nothing was sent: --kube-api-qps allows the next request in {:.1} s",
            verb(method, resource),
            wait.as_secs_f64()
        );
        Self::ours(ApiFailure::Throttled(Some(wait)), message)
    }

    /// The response is not from an API server: whether the request was forwarded is unknown.
    pub(crate) fn foreign(method: &Method, resource: &ResourcePath<'_>, content_type: &str) -> Self {
        let message = format!("{} {resource}: {}", verb(method, resource), foreign_type(content_type));
        Self::ours(ApiFailure::Unavailable, message)
    }

    /// The response is not an object of the requested kind.
    pub(crate) fn unreadable(resource: &ResourcePath<'_>, why: impl fmt::Display) -> Self {
        let message = format!("get {resource}: the answer cannot be read: {}", sanitized(&why.to_string()));
        Self::ours(ApiFailure::Unavailable, message)
    }
}

impl BudgetRejection {
    /// The API server's response to an eviction is a 429 with a cause, or a 500 with a message only.
    fn of(status: StatusCode, message: &str, body: &[u8]) -> Option<Self> {
        match status.as_u16() {
            429 => {
                let causes = DetailedStatus::causes(body);
                let is_budget = causes.iter().any(|cause| cause.reason == "DisruptionBudget");
                is_budget.then_some(Self::NoDisruptionAllowed)
            }
            500 if message.contains("more than one PodDisruptionBudget") => Some(Self::SeveralBudgets),
            _ => None,
        }
    }
}

impl From<InvalidPath> for RequestError {
    fn from(why: InvalidPath) -> Self {
        Self::ours(ApiFailure::Rejected, why.to_string())
    }
}

/// If the server cannot call a webhook, that is a 500; a webhook that rejects chooses the status itself. etcd's own
/// errors are 500s, too. A deletion that used up its time limit may have waited for a webhook; whether the server is slow
/// for all, reads show.
fn is_overload(method: &Method, status: StatusCode, message: &str) -> bool {
    match status.as_u16() {
        504 if *method == Method::DELETE => false,
        429 | 502..=504 => !message.starts_with("admission webhook "),
        500 => message.contains("etcdserver: "),
        _ => false,
    }
}

/// Whether a precondition failed: another UID (`metadata.uid: field is immutable`), or a failed test of a JSON Patch,
/// which the server reports without any details.
fn is_precondition(body: &[u8], hints: ErrorHints) -> bool {
    let causes = DetailedStatus::causes(body);
    causes.iter().any(|cause| cause.field == "metadata.uid")
        || (hints == ErrorHints::Tests && causes.is_empty())
}

/// The server's `Retry-After` in seconds; a date is not understood, and an absent value is none.
fn retry_after(headers: &HeaderMap, from_body: Option<u32>) -> Option<Span> {
    let seconds = retry_after_seconds(headers).or(from_body)?;
    Some(Span::from_secs(seconds.into()).min(RETRY_AFTER_MAX))
}

/// `Retry-After` in seconds. Any number of digits is a number of seconds; too large numbers saturate.
pub(crate) fn retry_after_seconds(headers: &HeaderMap) -> Option<u32> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u32::MAX))
}

/// The user that RBAC rejects: `User "eve"` of
/// `pods is forbidden: User "eve" cannot list resource "pods" in API group ""`.
fn who(message: &str) -> Option<&str> {
    let (before, _) = message.split_once(" cannot ")?;
    before.rfind("User \"").map(|at| &before[at..])
}

/// What the reader can do.
fn way_out(method: &Method, resource: &ResourcePath<'_>, status: StatusCode, message: &str) -> String {
    match status.as_u16() {
        401 => "; the credentials are not accepted: renew them".to_owned(),
        // Admission rejects with 403, too; then no grant would help.
        403 if message.contains(" cannot ") => {
            let group = resource.group;
            format!(
                "; grant the verb {} on {} in API group \"{group}\"",
                verb(method, resource),
                resource.rbac()
            )
        }
        _ => String::new(),
    }
}

/// The request's verb in RBAC.
fn verb(method: &Method, resource: &ResourcePath<'_>) -> &'static str {
    match *method {
        Method::DELETE if resource.name.is_empty() => "deletecollection",
        Method::DELETE => "delete",
        Method::PATCH => "patch",
        Method::POST => "create",
        Method::PUT => "update",
        Method::GET if resource.name.is_empty() => "list",
        _ => "get",
    }
}
