//! Negotiates the form of responses from the `Accept` header.

use super::{Accept, Representation, ResponseEncoding};
use crate::api_status::StatusError;
use crate::custom;
use http::header::ACCEPT;
use http::request::Parts;

impl Accept {
    /// What a request accepts.
    pub(super) fn of(head: &Parts) -> Self {
        let text = head.headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let text = if text.trim().is_empty() { "*/*" } else { text };
        let mut clauses: Vec<AcceptClause<'_>> = text.split(',').map(AcceptClause::read).collect();
        clauses.sort_by(|one, other| other.quality.total_cmp(&one.quality));
        let path = head.uri.path();
        let plain =
            clauses.iter().filter(|clause| clause.view.is_empty()).find_map(|clause| clause.form(path));
        let found = clauses.iter().find_map(|clause| clause.form(path));
        let (encoding, view) = found.unwrap_or((ResponseEncoding::Json, Representation::Whole));
        let error_encoding = plain.map_or(ResponseEncoding::Json, |(encoding, _)| encoding);
        Self { encoding, view, error_encoding, is_rejected: found.is_none() }
    }

    /// Rejects a request for forms that are not available.
    pub(super) fn check(self) -> Result<Self, StatusError> {
        if self.is_rejected { Err(StatusError::not_acceptable()) } else { Ok(self) }
    }
}

/// One clause of the header.
struct AcceptClause<'a> {
    kind: &'a str,
    quality: f32,
    view: &'a str,
    group: &'a str,
    version: &'a str,
}

impl<'a> AcceptClause<'a> {
    fn read(text: &'a str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default();
        let mut clause = Self { kind, quality: 1.0, view: "", group: "", version: "" };
        for part in parts {
            match part.split_once('=') {
                Some(("as", value)) => clause.view = value,
                Some(("g", value)) => clause.group = value,
                Some(("v", value)) => clause.version = value,
                Some(("q", value)) => clause.quality = value.parse().unwrap_or(1.0),
                _ => {}
            }
        }
        clause
    }

    /// The form, if it is available at this path.
    fn form(&self, path: &str) -> Option<(ResponseEncoding, Representation)> {
        let encoding = match self.kind {
            "application/json" | "*/*" => ResponseEncoding::Json,
            "application/vnd.kubernetes.protobuf" => ResponseEncoding::Protobuf,
            _ => return None,
        };
        let view = match (self.view, self.group, self.version) {
            // Whole objects of custom kinds have no form in protobuf.
            ("", ..) if encoding == ResponseEncoding::Protobuf && custom::is_path(path) => return None,
            ("", ..) => Representation::Whole,
            ("Table", "meta.k8s.io", "v1") if encoding == ResponseEncoding::Json => Representation::Table,
            ("PartialObjectMetadata" | "PartialObjectMetadataList", "meta.k8s.io", "v1") => {
                Representation::Metadata
            }
            ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2")
                if matches!(path.trim_end_matches('/'), "/api" | "/apis") =>
            {
                Representation::Aggregated
            }
            _ => return None,
        };
        Some((encoding, view))
    }
}
