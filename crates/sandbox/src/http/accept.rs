//! # Accept: the form in which an answer is wanted
//! Room:     reading `Accept` headers.
//! Comes in: a request's head.
//! Goes out: [`Accept`]: the form that is liked best among those that can be had, or why there is none.
//! Not here: making the form (`form.rs`).

use crate::custom;
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
    /// Only metadata of one object.
    Metadata,
    /// Only metadata of each object of a list.
    MetadataList,
}

/// Why there is no form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    /// Nobody writes such a type.
    Type,
    /// The type can be had, but not what is asked of it.
    Parameters,
}

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Accept {
    pub(super) encoding: Encoding,
    pub(super) view: View,
    /// Tables and metadata of the group's older version are wanted.
    pub(super) beta: bool,
    /// Whether discovery is wanted in one document.
    pub(super) aggregated: bool,
    /// What else would do where there is no such document.
    instead: Option<Encoding>,
    /// What refusals are written in.
    pub(super) refusals: Encoding,
    /// A human being reads it.
    pub(super) pretty: bool,
    refusal: Option<Refusal>,
    /// Objects of a custom kind are asked for.
    custom: bool,
}

const TYPES: [&str; 3] = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
const STREAMS: [&str; 2] =
    ["application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"];

impl Accept {
    const fn plain(encoding: Encoding) -> Self {
        Self {
            encoding,
            view: View::Whole,
            beta: false,
            aggregated: false,
            instead: None,
            refusals: Encoding::Json,
            pretty: false,
            refusal: None,
            custom: false,
        }
    }

    /// Refuses what cannot be had.
    pub(super) fn check(self) -> Result<Self, Failure> {
        self.offered(&[])
    }

    /// The same for a list, which may be watched as well.
    pub(super) fn check_many(self) -> Result<Self, Failure> {
        self.offered(&STREAMS)
    }

    fn offered(self, streams: &[&str]) -> Result<Self, Failure> {
        match self.refusal {
            Some(Refusal::Type) if self.custom => Err(Failure::not_acceptable(&TYPES)),
            None if !self.aggregated => Ok(self),
            None if let Some(encoding) = self.instead => {
                Ok(Self { pretty: self.pretty, refusals: self.refusals, ..Self::plain(encoding) })
            }
            None | Some(Refusal::Parameters) => Err(Failure::not_acceptable(&TYPES)),
            Some(Refusal::Type) => Err(Failure::no_representation(&[&TYPES, streams].concat())),
        }
    }

    /// The same for discovery, which may be had in one document.
    pub(super) fn check_discovery(self) -> Result<Self, Failure> {
        match self.refusal {
            None => Ok(self),
            Some(_) => Err(Failure::not_acceptable(&TYPES)),
        }
    }

    /// The same for watches, which are not written in YAML.
    pub(super) fn check_stream(self) -> Result<Self, Failure> {
        match self.check_many()?.encoding {
            Encoding::Yaml => Err(Failure::not_acceptable(&STREAMS)),
            Encoding::Json | Encoding::Protobuf => Ok(self),
        }
    }
}

/// What a request accepts.
pub(super) fn of(head: &Parts) -> Accept {
    let text = head.headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if text.trim().is_empty() {
        return Accept::plain(Encoding::Json);
    }
    let mut clauses: Vec<Clause<'_>> = text.split(',').map(Clause::read).collect();
    clauses.sort_by(|one, other| other.quality.total_cmp(&one.quality));
    // Whoever names no type that is written gets nothing; `application/*` is no such type.
    let typed = clauses.iter().any(|clause| clause.encoding.is_some() && clause.kind != "application/*");
    let found =
        clauses.iter().filter(|clause| clause.fits(&head.uri)).find_map(Clause::accept).filter(|_| typed);
    let refusal = if typed { Refusal::Parameters } else { Refusal::Type };
    let mut accept = found.unwrap_or(Accept { refusal: Some(refusal), ..Accept::plain(Encoding::Json) });
    let mut plain = clauses.iter().filter(|clause| clause.view.is_empty());
    let plain =
        plain.find(|clause| found.is_none() || clause.fits(&head.uri)).and_then(|clause| clause.encoding);
    accept.refusals = plain.unwrap_or(Encoding::Json);
    accept.instead = plain.filter(|_| accept.aggregated);
    accept.pretty |= found.is_none();
    accept.custom = custom::is_path(head.uri.path());
    accept
}

/// One form of the list.
struct Clause<'a> {
    kind: &'a str,
    encoding: Option<Encoding>,
    quality: f32,
    view: &'a str,
    group: &'a str,
    version: &'a str,
    pretty: bool,
}

impl<'a> Clause<'a> {
    fn read(text: &'a str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default();
        let encoding = match kind {
            "application/json" | "*/*" | "application/*" => Some(Encoding::Json),
            "application/yaml" => Some(Encoding::Yaml),
            "application/vnd.kubernetes.protobuf" => Some(Encoding::Protobuf),
            _ => None,
        };
        let mut clause =
            Self { kind, encoding, quality: 1.0, view: "", group: "", version: "", pretty: false };
        for part in parts {
            match part.split_once('=') {
                Some(("as", value)) => clause.view = value,
                Some(("g", value)) => clause.group = value,
                Some(("v", value)) => clause.version = value,
                Some(("q", value)) => clause.quality = value.parse().unwrap_or(1.0),
                Some(("pretty", value)) => clause.pretty = value == "1",
                _ => {}
            }
        }
        clause
    }

    /// Whole objects of custom kinds have no form in protobuf.
    fn fits(&self, uri: &http::Uri) -> bool {
        let whole = self.view.is_empty() && self.encoding == Some(Encoding::Protobuf);
        !(whole && custom::is_path(uri.path()))
    }

    /// The form, if it can be had.
    fn accept(&self) -> Option<Accept> {
        let encoding = self.encoding?;
        let mut accept = Accept { pretty: self.pretty, ..Accept::plain(encoding) };
        let meta = self.group == "meta.k8s.io" && matches!(self.version, "v1" | "v1beta1");
        accept.beta = meta && self.version == "v1beta1";
        match self.view {
            "" => {}
            "Table" if meta && encoding != Encoding::Protobuf => accept.view = View::Table,
            "PartialObjectMetadata" if meta => accept.view = View::Metadata,
            "PartialObjectMetadataList" if meta => accept.view = View::MetadataList,
            "APIGroupDiscoveryList" if self.group == "apidiscovery.k8s.io" && self.version == "v2" => {
                accept.aggregated = true;
            }
            _ => return None,
        }
        Some(accept)
    }
}
