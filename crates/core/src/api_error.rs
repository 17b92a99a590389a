//! # Effects: what to do to the cluster, and how it went
//! Room:     the closed list of requests the engine may ask for, and of the answers it understands.
//! Comes in: decided by the engine.
//! Goes out: carried out by a shell, whose answer comes back as an input.
//! Not here: HTTP, retries, concurrency.

use crate::time::Span;

/// Why a request did not do what was asked, as far as the next decision depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ApiFailure {
    /// 404: there is no object of that name.
    NotFound,
    /// 409, or a UID or resourceVersion precondition that did not hold: look again before deciding.
    Conflict,
    /// 401 or 403: permission is missing.
    Forbidden,
    /// 429: the server asks for patience, for this long if it said so.
    Throttled(Option<Span>),
    /// Any other 4xx: an admission webhook or validation refuses.
    Rejected,
    /// 5xx, timeout, broken connection: whether the request was carried out is unknown.
    Unavailable,
}
