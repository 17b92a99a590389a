//! Defines [`ApiFailure`]: how a request to the API server failed, as far as the engines distinguish it.

use crate::time::Span;

/// Why a request failed, as far as the next decision depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ApiFailure {
    /// 404: there is no object of that name.
    NotFound,
    /// 409, or a UID or resourceVersion precondition that did not hold: read again before deciding.
    Conflict,
    /// 401 or 403: permission is missing.
    Forbidden,
    /// 429: the server throttles requests, for this long if it said so.
    Throttled(Option<Span>),
    /// 429: a disruption budget does not allow this eviction now.
    Budget,
    /// Any other 4xx: an admission webhook or validation rejects.
    Rejected,
    /// 5xx, timeout, broken connection: whether the request was carried out is unknown.
    Unavailable,
}
