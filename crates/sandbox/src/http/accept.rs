//! # Accept: the form in which an answer is wanted
//! Room:     reading `Accept` headers.
//! Comes in: a request's head.
//! Goes out: [`Accept`]: the form that is liked best among those that can be had, or that there is none.
//! Not here: making the form (`form.rs`).

use crate::custom;
use crate::failure::Failure;
use http::header::ACCEPT;
use http::request::Parts;

/// How bytes are made of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Json,
    Protobuf,
}

/// What is told of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// All of it.
    Whole,
    /// Rows with columns for people.
    Table,
    /// Only metadata.
    Metadata,
    /// All resources in one document: of discovery.
    Aggregated,
}

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Accept {
    pub(super) encoding: Encoding,
    pub(super) view: View,
    /// What refusals are written in.
    pub(super) refusals: Encoding,
    /// Nothing that is accepted can be had.
    refused: bool,
}

impl Accept {
    /// Refuses what cannot be had.
    pub(super) fn check(self) -> Result<Self, Failure> {
        if self.refused { Err(Failure::not_acceptable()) } else { Ok(self) }
    }
}

/// What a request accepts.
pub(super) fn of(head: &Parts) -> Accept {
    let text = head.headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let text = if text.trim().is_empty() { "*/*" } else { text };
    let mut clauses: Vec<Clause<'_>> = text.split(',').map(Clause::read).collect();
    clauses.sort_by(|one, other| other.quality.total_cmp(&one.quality));
    let path = head.uri.path();
    let plain = clauses.iter().filter(|clause| clause.view.is_empty()).find_map(|clause| clause.form(path));
    let found = clauses.iter().find_map(|clause| clause.form(path));
    let (encoding, view) = found.unwrap_or((Encoding::Json, View::Whole));
    let refusals = plain.map_or(Encoding::Json, |(encoding, _)| encoding);
    Accept { encoding, view, refusals, refused: found.is_none() }
}

/// One form of the list.
struct Clause<'a> {
    kind: &'a str,
    quality: f32,
    view: &'a str,
    group: &'a str,
    version: &'a str,
}

impl<'a> Clause<'a> {
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

    /// The form, if it can be had at this path.
    fn form(&self, path: &str) -> Option<(Encoding, View)> {
        let encoding = match self.kind {
            "application/json" | "*/*" => Encoding::Json,
            "application/vnd.kubernetes.protobuf" => Encoding::Protobuf,
            _ => return None,
        };
        let view = match (self.view, self.group, self.version) {
            // Whole objects of custom kinds have no form in protobuf.
            ("", ..) if encoding == Encoding::Protobuf && custom::is_path(path) => return None,
            ("", ..) => View::Whole,
            ("Table", "meta.k8s.io", "v1") if encoding == Encoding::Json => View::Table,
            ("PartialObjectMetadata" | "PartialObjectMetadataList", "meta.k8s.io", "v1") => View::Metadata,
            ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2")
                if matches!(path.trim_end_matches('/'), "/api" | "/apis") =>
            {
                View::Aggregated
            }
            _ => return None,
        };
        Some((encoding, view))
    }
}
