//! Classifies why an attempt to list or watch failed.

use super::stream_health::MissingAccess;
use crate::decode::ApiStatus;
use std::time::Duration;
use thiserror::Error;

/// Why an attempt failed.
#[derive(Debug, Error)]
pub(super) enum WatchError {
    #[error("the server has not kept the history since the last event, so everything is listed again: {0}")]
    Expired(ApiStatus),
    #[error(
        "the server went back from version {from} to {to}, so everything is listed again: was it restored?"
    )]
    ResourceVersionWentBack { from: u64, to: u64 },
    #[error("the server refuses the request: {0}")]
    Refused(ApiStatus),
    #[error(
        "the server does not accept our credentials for {verb} {resource}: {status}; check the account or its token",
        verb = .0.verb, resource = .0.resource, status = .1
    )]
    Unauthenticated(MissingAccess, ApiStatus),
    #[error(
        "permission to {verb} {resource} is missing: {status}; grant it in a ClusterRole: \
         apiGroups: [\"{group}\"], resources: [\"{resource}\"], verbs: [\"list\", \"watch\"]",
        verb = .0.verb, group = .0.group, resource = .0.resource, status = .1
    )]
    Forbidden(MissingAccess, ApiStatus),
    #[error(
        "somebody answers for the API server that there are no {resource} ({status}), and the API server does not say \
         so: a proxy in between, without a server to ask?",
        resource = .0, status = .1
    )]
    Foreign(&'static str, ApiStatus),
    #[error("the server asks for patience: {0}")]
    Throttled(ApiStatus),
    #[error("the server can't answer: {0}")]
    Unavailable(ApiStatus),
    #[error("nothing was heard for {} s, so the connection is given up", .0.as_secs())]
    IdleTimeout(Duration),
    #[error("the server's answer makes no sense: {0}")]
    Malformed(String),
    #[error("the connection failed: {0}")]
    ConnectionLost(String),
}

impl WatchError {
    /// What a status means, whether it came as the answer or as an ERROR event.
    pub(super) fn of_status(status: ApiStatus, missing: MissingAccess) -> Self {
        match (status.code, status.reason.as_str()) {
            (410, _) | (_, "Expired" | "Gone") => Self::Expired(status),
            // Our position lies in the server's future: its store was replaced by an older one.
            (504, _) if status.message.starts_with("Too large resource version") => Self::Expired(status),
            (401, _) => Self::Unauthenticated(missing, status),
            (403, _) => Self::Forbidden(missing, status),
            (429, _) => Self::Throttled(status),
            (500.., _) => Self::Unavailable(status),
            _ => Self::Refused(status),
        }
    }

    /// Whether the server knows no such resource.
    pub(super) fn is_absence(&self) -> bool {
        matches!(self, Self::Refused(status) if status.code == 404)
    }

    /// Whether there was no API server to agree to a request, or none that could; it may be back in a moment. One that
    /// names a time is there. Credentials that are not accepted are on their way as a rule.
    pub(super) fn is_away(&self) -> bool {
        match self {
            Self::ConnectionLost(_) | Self::IdleTimeout(_) | Self::Malformed(_) | Self::Foreign(..) => true,
            Self::Unauthenticated(..) => true,
            Self::Unavailable(status) => status.retry_after_seconds.is_none(),
            _ => false,
        }
    }

    /// How long the server asks to wait.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Throttled(status) => {
                Some(Duration::from_secs(status.retry_after_seconds.unwrap_or(1).into()))
            }
            Self::Unavailable(status) | Self::Expired(status) | Self::Refused(status) => {
                status.retry_after_seconds.map(|seconds| Duration::from_secs(seconds.into()))
            }
            _ => None,
        }
    }
}
