//! Splits lists into pages with `continue` tokens.

use super::list_options::ListOptions;
use super::request::HttpRequest;
use crate::api_status::StatusError;
use crate::select::ObjectSelector;
use crate::store::{ListResult, StoredObject};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use std::sync::Arc;

/// Which part of a list. Keys within it leave out the namespace if there is one.
pub(super) struct ListContinuation {
    limit: usize,
    prefix: String,
    /// The key this page begins after.
    pub(super) after: Option<String>,
    /// The version of the whole list; `None` is now.
    pub(super) at: Option<u64>,
}

impl ListContinuation {
    pub(super) fn of(
        asked: &HttpRequest,
        options: &ListOptions,
        namespace: &str,
    ) -> Result<Self, StatusError> {
        let prefix = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
        // What a cache answers is not cut.
        let limit = if options.version == "0" { 0 } else { options.limit };
        let token = asked.query.get("continue");
        if token.is_empty() {
            return Ok(Self { limit, prefix, after: None, at: None });
        }
        let (version, start) =
            read(token).ok_or_else(|| StatusError::bad_request("continue is no token of this server"))?;
        if !matches!(options.version.as_str(), "" | "0") {
            let why = "specifying resource version is not allowed when using continue";
            return Err(StatusError::bad_request(why));
        }
        let after = Some(format!("{prefix}{}", start.trim_end_matches('\0')));
        Ok(Self { limit, prefix, after, at: u64::try_from(version).ok() })
    }

    /// The token for going on here, in a list of now.
    pub(super) fn onward(&self) -> String {
        self.token(-1, self.after.as_deref().unwrap_or_default())
    }

    /// Cuts the page out of what matches. It is full as soon as so many match; whether any of those behind it does
    /// is not looked at.
    pub(super) fn turn(
        &self,
        listed: ListResult,
        selector: &ObjectSelector,
    ) -> (Value, Vec<Arc<StoredObject>>) {
        let mut metadata = json!({"resourceVersion": listed.version.to_string()});
        let (mut kept, mut left) = (Vec::new(), listed.objects.len());
        for (key, object) in listed.objects {
            left -= 1;
            if !selector.matches(&object) {
                continue;
            }
            kept.push(object);
            if self.limit > 0 && kept.len() == self.limit && left > 0 {
                let version = i64::try_from(listed.version).unwrap_or(i64::MAX);
                metadata["continue"] = json!(self.token(version, &key));
                if selector.is_all() {
                    metadata["remainingItemCount"] = json!(left);
                }
                break;
            }
        }
        (metadata, kept)
    }

    /// Where the next page begins.
    fn token(&self, version: i64, last: &str) -> String {
        let last = last.strip_prefix(&self.prefix).unwrap_or(last);
        let token = json!({"v": "meta.k8s.io/v1", "rv": version, "start": format!("{last}\0")});
        URL_SAFE_NO_PAD.encode(token.to_string())
    }
}

/// The version and the key of a token.
fn read(token: &str) -> Option<(i64, String)> {
    let bytes = URL_SAFE_NO_PAD.decode(token.trim_end_matches('=')).ok()?;
    let value: Value = serde_json::from_slice(&bytes).ok()?;
    let (version, start) = (value["rv"].as_i64()?, value["start"].as_str()?);
    let named = start.split('/').all(|part| !matches!(part, "." | ".." | ""));
    (value["v"] == "meta.k8s.io/v1" && version != 0 && named).then(|| (version, start.to_owned()))
}
