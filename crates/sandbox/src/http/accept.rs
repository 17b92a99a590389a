//! # Accept: the form in which an answer is wanted
//! Room:     reading `Accept` headers.
//! Comes in: a request's head.
//! Goes out: [`Accept`]: the first form of the list that can be had.
//! Not here: making the form (`form.rs`).

use crate::failure::Failure;
use http::header::ACCEPT;
use http::request::Parts;

/// How bytes are made of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Json,
    Yaml,
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
}

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Accept {
    pub(super) encoding: Encoding,
    pub(super) view: View,
    /// Whether discovery is wanted in one document.
    pub(super) aggregated: bool,
    /// Whether there was a form at all that can be had.
    pub(super) possible: bool,
}

impl Accept {
    const fn plain(encoding: Encoding) -> Self {
        Self { encoding, view: View::Whole, aggregated: false, possible: true }
    }

    /// Refuses what cannot be had.
    pub(super) fn check(self) -> Result<Self, Failure> {
        if self.possible {
            return Ok(self);
        }
        Err(Failure::not_acceptable(&[
            "application/json",
            "application/yaml",
            "application/vnd.kubernetes.protobuf",
            "application/cbor",
        ]))
    }
}

/// What a request accepts.
pub(super) fn of(head: &Parts) -> Accept {
    let text = head.headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if text.trim().is_empty() {
        return Accept::plain(Encoding::Json);
    }
    let impossible = Accept { possible: false, ..Accept::plain(Encoding::Json) };
    text.split(',').find_map(one).unwrap_or(impossible)
}

/// One form, if it can be had.
fn one(text: &str) -> Option<Accept> {
    let mut parts = text.split(';').map(str::trim);
    let encoding = match parts.next()? {
        "application/json" | "*/*" | "application/*" => Encoding::Json,
        "application/yaml" => Encoding::Yaml,
        "application/vnd.kubernetes.protobuf" => Encoding::Protobuf,
        _ => return None,
    };
    let mut accept = Accept::plain(encoding);
    let (mut kind, mut group, mut version) = ("", "", "");
    for part in parts {
        match part.split_once('=') {
            Some(("as", value)) => kind = value,
            Some(("g", value)) => group = value,
            Some(("v", value)) => version = value,
            _ => {}
        }
    }
    match (kind, group, version) {
        ("", _, _) => {}
        ("Table", "meta.k8s.io", "v1") if encoding != Encoding::Protobuf => accept.view = View::Table,
        ("PartialObjectMetadata" | "PartialObjectMetadataList", "meta.k8s.io", "v1") => {
            accept.view = View::Metadata;
        }
        ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2" | "v2beta1") if encoding == Encoding::Json => {
            accept.aggregated = true;
        }
        _ => return None,
    }
    Some(accept)
}
