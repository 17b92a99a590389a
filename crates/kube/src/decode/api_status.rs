//! Decodes `metav1.Status` in both encodings, with short and harmless text.

use super::protobuf_wire::ProtobufFields;
use super::{DecodeError, Encoding, json};
use crate::error_text::sanitize;
use crate::wire::{Fields, Text};
use serde::Deserialize;
use std::fmt;

/// Longest message kept, in characters.
const LONGEST: usize = 512;

/// A `StatusJson` object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiStatus {
    /// The HTTP status code it stands for; 0 if it names none.
    pub code: u16,
    /// The reason in one word, such as `Expired`.
    pub reason: String,
    /// The message for people; control characters are escaped.
    pub message: String,
    /// How long the server asks to wait, in seconds.
    pub retry_after_seconds: Option<u32>,
}

impl ApiStatus {
    /// Reads a `StatusJson` message or object.
    pub(crate) fn read(encoding: Encoding, bytes: &[u8]) -> Result<Self, DecodeError> {
        match encoding {
            Encoding::Protobuf => Self::from_protobuf(bytes),
            Encoding::Json => Self::from_json(bytes),
        }
    }

    fn from_protobuf(message: &[u8]) -> Result<Self, DecodeError> {
        let (mut text, mut reason, mut code, mut wait) = ("", "", 0, 0);
        for field in ProtobufFields::of(message) {
            match field? {
                (3, value) => text = value.text().map_err(|fault| fault.at("message"))?,
                (4, value) => reason = value.text().map_err(|fault| fault.at("reason"))?,
                (5, value) => wait = retry_after(value.bytes()?).map_err(|fault| fault.at("details"))?,
                (6, value) => code = value.integer32().map_err(|fault| fault.at("code"))?,
                _ => {}
            }
        }
        Ok(Self::new(code, reason, text, wait))
    }

    fn from_json(bytes: &[u8]) -> Result<Self, DecodeError> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct StatusJson<'a> {
            #[serde(borrow)]
            message: Text<'a>,
            #[serde(borrow)]
            reason: Text<'a>,
            details: Fields<StatusDetailsJson>,
            code: Option<i32>,
        }

        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct StatusDetailsJson {
            retry_after_seconds: Option<i32>,
        }

        let status: StatusJson<'_> = json::read(bytes)?;
        let wait = status.details.retry_after_seconds.unwrap_or_default();
        Ok(Self::new(status.code.unwrap_or_default(), &status.reason, &status.message, wait))
    }

    fn new(code: i32, reason: &str, message: &str, wait: i32) -> Self {
        Self {
            code: u16::try_from(code).unwrap_or(0),
            reason: sanitize(reason, LONGEST),
            message: sanitize(message, LONGEST),
            retry_after_seconds: u32::try_from(wait).ok().filter(|&wait| wait > 0),
        }
    }
}

fn retry_after(details: &[u8]) -> Result<i32, DecodeError> {
    let mut wait = 0;
    for field in ProtobufFields::of(details) {
        if let (5, value) = field? {
            wait = value.integer32().map_err(|fault| fault.at("retryAfterSeconds"))?;
        }
    }
    Ok(wait)
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
