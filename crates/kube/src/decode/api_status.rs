//! Holds the needed parts of a `metav1.Status`, with short and harmless text.

use crate::error_text::sanitize;
use std::fmt;

/// Longest message kept, in characters.
const LONGEST: usize = 512;

/// A `Status`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiStatus {
    /// Its HTTP status code; 0 if it has none.
    pub code: u16,
    /// The reason in one word, such as `Expired`.
    pub reason: String,
    /// The message for people; control characters are escaped.
    pub message: String,
    /// The server's `retryAfterSeconds`.
    pub retry_after_seconds: Option<u32>,
}

impl ApiStatus {
    /// `wait`: how many seconds the server wants the client to wait.
    pub(super) fn new(code: i32, reason: &str, message: &str, wait: i32) -> Self {
        Self {
            code: u16::try_from(code).unwrap_or(0),
            reason: sanitize(reason, LONGEST),
            message: sanitize(message, LONGEST),
            retry_after_seconds: u32::try_from(wait).ok().filter(|&wait| wait > 0),
        }
    }
}

impl fmt::Display for ApiStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.message.as_str(), self.reason.as_str()) {
            ("", "") => write!(f, "status {}", self.code),
            ("", reason) => write!(f, "{reason} (status {})", self.code),
            (message, _) => write!(f, "{message} (status {})", self.code),
        }
    }
}
