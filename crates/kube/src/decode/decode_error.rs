//! Describes why bytes could not be decoded, with the path of the field.

use crate::api_time::InvalidTime;
use std::borrow::Cow;
use std::fmt;

/// A reason and a field path, such as `spec.tolerations[3].effect: not UTF-8`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    what: Cow<'static, str>,
    path: String,
}

impl DecodeError {
    /// An error of the whole object; one sentence.
    pub fn new(what: impl Into<Cow<'static, str>>) -> Self {
        Self { what: what.into(), path: String::new() }
    }

    /// The same error, inside this field.
    #[cold]
    pub(crate) fn at(mut self, field: &str) -> Self {
        let joint = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{field}{joint}{}", self.path);
        self
    }

    /// The same error, inside this element of a list.
    #[cold]
    pub(crate) fn index(self, position: usize) -> Self {
        self.at(&format!("[{position}]"))
    }
}

impl From<serde_json::Error> for DecodeError {
    fn from(why: serde_json::Error) -> Self {
        Self::new(why.to_string())
    }
}

impl From<InvalidTime> for DecodeError {
    fn from(why: InvalidTime) -> Self {
        Self::new(why.to_string())
    }
}

impl std::error::Error for DecodeError {}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.what)
    }
}
