//! Negotiates the format of responses from the `Accept` header, and encodes objects, lists and watch events in it.

use super::{HttpAnswer, JSON, PROTOBUF, ResponseContent};
use crate::api;
use crate::api_status::StatusError;
use crate::custom;
use crate::protobuf;
use crate::resource::ResourceType;
use crate::store::StoredObject;
use crate::table_columns::{self, TableInclude};
use bytes::{BufMut as _, Bytes, BytesMut};
use http::header::ACCEPT;
use http::request::Parts;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::sync::Arc;

/// How bytes are made of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResponseEncoding {
    Json,
    Protobuf,
}

/// What is told of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Representation {
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
    pub(super) encoding: ResponseEncoding,
    pub(super) view: Representation,
    /// What refusals are written in.
    refusals: ResponseEncoding,
    /// Nothing that is accepted can be had.
    refused: bool,
}

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
        let refusals = plain.map_or(ResponseEncoding::Json, |(encoding, _)| encoding);
        Self { encoding, view, refusals, refused: found.is_none() }
    }

    /// Refuses what cannot be had.
    pub(super) fn check(self) -> Result<Self, StatusError> {
        if self.refused { Err(StatusError::not_acceptable()) } else { Ok(self) }
    }
}

/// One form of the list.
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

    /// The form, if it can be had at this path.
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

/// A long list is written in pieces of about this size.
const PIECE: usize = 32 << 10;

/// How objects are to be told of.
#[derive(Clone, Copy)]
pub(super) struct ResponseFormat {
    pub(super) resource: &'static ResourceType,
    pub(super) accept: Accept,
    /// What a table's rows carry.
    pub(super) include: TableInclude,
    /// Whether a table names its columns.
    pub(super) headers: bool,
    pub(super) now: Timestamp,
}

impl HttpAnswer {
    /// A refusal in the form that was asked for.
    pub(super) fn refusal(failure: StatusError, accept: Accept) -> Self {
        let answer = Self::encoded(failure.code, &failure.status(), accept.refusals);
        answer.with_warnings(failure.warnings).with_retry_after(failure.retry_after)
    }

    /// An object that is not kept.
    pub(super) fn encoded(code: u16, value: &Value, encoding: ResponseEncoding) -> Self {
        Self::new(code, content_type(encoding), encoded(value, encoding))
    }
}

/// An object that is not kept, as bytes.
fn encoded(value: &Value, encoding: ResponseEncoding) -> Bytes {
    match encoding {
        ResponseEncoding::Json => Bytes::from(value.to_string() + "\n"),
        ResponseEncoding::Protobuf => {
            let text = |field: &str| value[field].as_str().unwrap_or_default();
            Bytes::from(protobuf::encode(text("apiVersion"), text("kind"), value))
        }
    }
}

const fn content_type(encoding: ResponseEncoding) -> &'static str {
    match encoding {
        ResponseEncoding::Json => JSON,
        ResponseEncoding::Protobuf => PROTOBUF,
    }
}

impl ResponseFormat {
    /// An answer with one object.
    pub(super) fn single(&self, code: u16, object: &StoredObject) -> HttpAnswer {
        let bytes = match (self.accept.view, self.accept.encoding) {
            (Representation::Whole, ResponseEncoding::Json) if self.is_home() => {
                Bytes::from([&object.json[..], b"\n"].concat())
            }
            _ => encoded(&self.value(object), self.accept.encoding),
        };
        HttpAnswer::new(code, content_type(self.accept.encoding), bytes)
    }

    /// One object, as a value.
    fn value(&self, object: &StoredObject) -> Value {
        let whole = self.whole(object);
        match self.accept.view {
            Representation::Whole | Representation::Aggregated => whole,
            Representation::Metadata => metadata_of(&whole),
            Representation::Table => {
                let version = whole["metadata"]["resourceVersion"].clone();
                let mut table = self.table(&[&whole]);
                table["metadata"] = json!({"resourceVersion": version});
                table
            }
        }
    }

    /// In the form of this resource: another group may show the same objects.
    fn whole(&self, object: &StoredObject) -> Value {
        api::shown(self.resource, object.value())
    }

    fn is_custom(&self) -> bool {
        custom::of(self.resource).is_some()
    }

    fn is_home(&self) -> bool {
        !api::is_shown_otherwise(self.resource)
    }

    fn table(&self, objects: &[&Value]) -> Value {
        let mut table = table_columns::table(self.resource, objects, self.now, self.include);
        if !self.headers {
            table["columnDefinitions"] = Value::Null;
        }
        table
    }

    /// An answer with a list and its metadata.
    pub(super) fn list(&self, metadata: &Value, objects: Vec<Arc<StoredObject>>) -> HttpAnswer {
        HttpAnswer::of(content_type(self.accept.encoding), self.list_content(metadata, objects))
    }

    fn list_content(&self, metadata: &Value, objects: Vec<Arc<StoredObject>>) -> ResponseContent {
        let mut metadata = metadata.clone();
        if self.is_custom() && self.accept.view == Representation::Whole && metadata.get("continue").is_none()
        {
            metadata["continue"] = "".into();
        }
        let metadata = &metadata;
        let bytes = match (self.accept.view, self.accept.encoding) {
            (Representation::Whole, ResponseEncoding::Json) if self.is_home() => {
                return self.plain_list(metadata, objects);
            }
            (Representation::Table, encoding) => {
                let values: Vec<Value> = objects.iter().map(|object| self.whole(object)).collect();
                let mut table = self.table(&values.iter().collect::<Vec<_>>());
                table["metadata"] = metadata.clone();
                encoded(&table, encoding)
            }
            (view, encoding) => {
                let (api_version, kind) = match view {
                    Representation::Metadata => {
                        ("meta.k8s.io/v1".to_owned(), "PartialObjectMetadataList".to_owned())
                    }
                    _ => (self.resource.api_version(), format!("{}List", self.resource.kind)),
                };
                let item = |object: &Arc<StoredObject>| {
                    let mut value = self.value(object);
                    if view == Representation::Whole
                        && !self.is_custom()
                        && let Some(map) = value.as_object_mut()
                    {
                        map.remove("kind");
                        map.remove("apiVersion");
                    }
                    value
                };
                let items: Vec<Value> = objects.iter().map(item).collect();
                let list =
                    json!({"kind": kind, "apiVersion": api_version, "metadata": metadata, "items": items});
                encoded(&list, encoding)
            }
        };
        ResponseContent::Whole(bytes)
    }

    /// A list of whole objects in JSON, whose items leave out what the list says already: no object is parsed, and of a
    /// long list only the piece that is being sent is written.
    fn plain_list(&self, metadata: &Value, objects: Vec<Arc<StoredObject>>) -> ResponseContent {
        let (api_version, kind) = (self.resource.api_version(), self.resource.kind);
        let head = format!(
            "{{\"kind\":\"{kind}List\",\"apiVersion\":\"{api_version}\",\"metadata\":{metadata},\"items\":["
        );
        let known = format!("{{\"apiVersion\":\"{api_version}\",\"kind\":\"{kind}\",");
        // Items of a custom kind say it each.
        let known = (!self.is_custom()).then_some(known);
        let mut left = objects.into_iter().peekable();
        let mut opening = Some(head);
        let mut pieces = std::iter::from_fn(move || {
            let mut bytes = BytesMut::with_capacity(2 * PIECE);
            match opening.take() {
                Some(head) => bytes.put_slice(head.as_bytes()),
                None => _ = left.peek()?,
            }
            while bytes.len() < PIECE
                && let Some(object) = left.next()
            {
                match &known {
                    Some(known) => put_item(&mut bytes, &object, known.as_bytes()),
                    None => bytes.put_slice(&object.json),
                }
                bytes.put_slice(if left.peek().is_some() { b"," } else { b"" });
            }
            if left.peek().is_none() {
                bytes.put_slice(b"]}\n");
            }
            Some(bytes.freeze())
        })
        .peekable();
        let first = pieces.next().unwrap_or_default();
        match pieces.peek() {
            None => ResponseContent::Whole(first),
            Some(_) => ResponseContent::Pieces(Box::new(std::iter::once(first).chain(pieces))),
        }
    }

    /// A watch event of an object.
    pub(super) fn event(&self, what: &str, object: &StoredObject) -> Bytes {
        match (self.accept.view, self.accept.encoding) {
            (Representation::Whole, ResponseEncoding::Json) if self.is_home() => {
                json_event(what, &object.json)
            }
            (_, encoding) => self.event_of(what, &self.value(object), encoding),
        }
    }

    /// The encoding, if whole objects in it are the same for everybody who watches.
    pub(super) fn shared(&self) -> Option<ResponseEncoding> {
        (self.accept.view == Representation::Whole && self.is_home()).then_some(self.accept.encoding)
    }

    /// A bookmark with this metadata.
    pub(super) fn bookmark(&self, metadata: Value) -> Bytes {
        let (api_version, kind) = (self.resource.api_version(), self.resource.kind);
        let value = match self.accept.view {
            Representation::Table => {
                let empty = json!({"kind": kind, "apiVersion": api_version, "metadata": metadata});
                let mut table = self.table(&[&empty]);
                table["metadata"] = json!({"resourceVersion": empty["metadata"]["resourceVersion"]});
                table
            }
            Representation::Metadata => metadata_of(&json!({"metadata": metadata})),
            Representation::Whole | Representation::Aggregated => {
                let bare = json!({"metadata": metadata});
                if self.is_custom() {
                    return self.event_of(
                        "BOOKMARK",
                        &json!({"kind": kind, "apiVersion": api_version, "metadata": bare["metadata"]}),
                        self.accept.encoding,
                    );
                }
                crate::canonicalize::normal(&api_version, kind, bare.clone()).map_or(bare, |zero| zero.value)
            }
        };
        self.event_of("BOOKMARK", &value, self.accept.encoding)
    }

    /// A watch event of something that is not kept: a bookmark, an error.
    pub(super) fn event_of(&self, what: &str, value: &Value, encoding: ResponseEncoding) -> Bytes {
        match encoding {
            ResponseEncoding::Protobuf => {
                Bytes::from(protobuf::encode_watch_event(what, &encoded(value, encoding)))
            }
            ResponseEncoding::Json => json_event(what, value.to_string().as_bytes()),
        }
    }
}

/// Only metadata.
fn metadata_of(whole: &Value) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": whole["metadata"]})
}

/// An item of a list, which says its kind for all of them.
fn put_item(bytes: &mut BytesMut, object: &StoredObject, known: &[u8]) {
    match object.json.strip_prefix(known) {
        Some(rest) => {
            bytes.put_u8(b'{');
            bytes.put_slice(rest);
        }
        None => {
            let mut value = object.value();
            if let Some(map) = value.as_object_mut() {
                map.remove("kind");
                map.remove("apiVersion");
            }
            bytes.put_slice(value.to_string().as_bytes());
        }
    }
}

fn json_event(what: &str, object: &[u8]) -> Bytes {
    let mut bytes = BytesMut::with_capacity(object.len() + 40);
    bytes.put_slice(b"{\"type\":\"");
    bytes.put_slice(what.as_bytes());
    bytes.put_slice(b"\",\"object\":");
    bytes.put_slice(object);
    bytes.put_slice(b"}\n");
    bytes.freeze()
}
