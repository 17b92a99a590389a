//! Holds one request: method, path, query, headers, body.

use super::accept::Accept;
use super::query::Query;
use crate::api::{FieldValidation, RequestUser, WriteOptions};
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::request::Parts;
use http::{HeaderName, Method};

/// A request.
pub(super) struct HttpRequest {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) query: Query,
    pub(super) accept: Accept,
    /// Whether changes are wanted.
    pub(super) watches: bool,
    /// Without parameters, in lower case.
    pub(super) content_type: String,
    pub(super) agent: String,
    pub(super) body: Bytes,
    /// Whether it wants a document of OpenAPI v2 in protobuf, as kubectl does.
    pub(super) packed: bool,
    /// Who asks.
    pub(super) user: RequestUser,
}

impl HttpRequest {
    pub(super) fn new(head: &Parts, body: Bytes, user: &RequestUser) -> Self {
        let content_type = header(head, &CONTENT_TYPE);
        let query = Query::read(head.uri.query().unwrap_or_default());
        Self {
            watches: query.is_true("watch"),
            method: head.method.clone(),
            path: super::query::decoded(head.uri.path()),
            query,
            accept: super::accept::of(head),
            content_type: content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase(),
            agent: header(head, &USER_AGENT),
            body,
            packed: header(head, &ACCEPT).contains("com.github.proto-openapi.spec.v2"),
            user: user.acting(&head.headers),
        }
    }

    /// How a write is to be done; the options were judged before (`wished.rs`).
    pub(super) fn wish(&self) -> WriteOptions {
        let manager = match self.query.get("fieldManager") {
            "" => self.agent.split('/').next().unwrap_or_default(),
            manager => manager,
        };
        WriteOptions {
            dry_run: self.query.get("dryRun") == "All",
            manager: if manager.is_empty() { "unknown" } else { manager }.to_owned(),
            strictness: match self.query.get("fieldValidation") {
                "Strict" => FieldValidation::Strict,
                "Ignore" => FieldValidation::Ignore,
                _ => FieldValidation::Warn,
            },
            force: self.query.is_true("force"),
            user: self.user.clone(),
        }
    }
}

fn header(head: &Parts, name: &HeaderName) -> String {
    head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
}
