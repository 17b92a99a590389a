//! Encodes objects, lists and watch events in the requested form.
//!
//! - See `accept.rs` for the forms that exist.

use super::{Accept, HttpResponse, JSON, PROTOBUF, Representation, ResponseContent, ResponseEncoding};
use crate::api;
use crate::api_status::StatusError;
use crate::custom;
use crate::protobuf;
use crate::resource::ResourceType;
use crate::store::StoredObject;
use crate::table_columns::{self, TableInclude};
use bytes::{BufMut as _, Bytes, BytesMut};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::sync::Arc;

/// The approximate size of the pieces of a long list.
const PIECE: usize = 32 << 10;

/// The form in which objects are encoded.
#[derive(Clone, Copy)]
pub(crate) struct ResponseFormat {
    resource: &'static ResourceType,
    accept: Accept,
    /// What the rows of a table include of their objects.
    include: TableInclude,
    /// Whether a table includes its column definitions.
    headers: bool,
    now: Timestamp,
}

impl HttpResponse {
    /// An error in the requested form.
    pub(super) fn error(failure: StatusError, accept: Accept) -> Self {
        let respond_to = Self::encoded(failure.code, &failure.status(), accept.error_encoding);
        respond_to.with_warnings(failure.warnings).with_retry_after(failure.retry_after)
    }

    /// A value that is not a stored object.
    pub(super) fn encoded(code: u16, value: &Value, encoding: ResponseEncoding) -> Self {
        Self::new(code, content_type(encoding), encoded(value, encoding))
    }
}

/// A value that is not a stored object, as bytes.
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
    /// The form that a request accepts; for a table, also what its rows include and whether it has `headers`.
    pub(crate) const fn new(
        resource: &'static ResourceType,
        accept: Accept,
        (include, headers): (TableInclude, bool),
        now: Timestamp,
    ) -> Self {
        Self { resource, accept, include, headers, now }
    }

    /// Leaves out the column definitions of all further tables.
    pub(crate) const fn omit_headers(&mut self) {
        self.headers = false;
    }

    pub(crate) const fn encoding(&self) -> ResponseEncoding {
        self.accept.encoding
    }

    /// A response with one object.
    pub(crate) fn single(&self, code: u16, object: &StoredObject) -> HttpResponse {
        let bytes = match (self.accept.view, self.accept.encoding) {
            (Representation::Whole, ResponseEncoding::Json) if self.is_home() => {
                Bytes::from([&object.json[..], b"\n"].concat())
            }
            _ => encoded(&self.value(object), self.accept.encoding),
        };
        HttpResponse::new(code, content_type(self.accept.encoding), bytes)
    }

    /// One object, as a value.
    fn value(&self, object: &StoredObject) -> Value {
        match self.accept.view {
            Representation::Whole | Representation::Aggregated => self.whole(object),
            Representation::Metadata => metadata_of(&self.whole(object)),
            Representation::Table => {
                let stored = object.value();
                let version = stored["metadata"]["resourceVersion"].clone();
                let mut table = self.table(&[&stored]);
                table["metadata"] = json!({"resourceVersion": version});
                table
            }
        }
    }

    /// The object as this resource shows it: two groups may serve the same objects.
    fn whole(&self, object: &StoredObject) -> Value {
        api::shown(self.resource, object.value())
    }

    fn is_custom(&self) -> bool {
        custom::of(self.resource).is_some()
    }

    fn is_home(&self) -> bool {
        !api::is_shown_otherwise(self.resource)
    }

    /// The table of stored objects; the columns are the same in all versions.
    fn table(&self, objects: &[&Value]) -> Value {
        let mut table = table_columns::table(self.resource.home(), objects, self.now, self.include);
        if self.include == TableInclude::Object && !self.is_home() {
            for row in table["rows"].as_array_mut().into_iter().flatten() {
                row["object"] = api::shown(self.resource, row["object"].take());
            }
        }
        if !self.headers {
            table["columnDefinitions"] = Value::Null;
        }
        table
    }

    /// A response with a list and its metadata.
    pub(crate) fn list(&self, metadata: &Value, objects: Vec<Arc<StoredObject>>) -> HttpResponse {
        HttpResponse::of(content_type(self.accept.encoding), self.list_content(metadata, objects))
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
                let values: Vec<Value> = objects.iter().map(|object| object.value()).collect();
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

    /// A list of whole objects in JSON. Its items leave out `apiVersion` and `kind`. It parses no object, and produces
    /// a long list in pieces as they are sent.
    fn plain_list(&self, metadata: &Value, objects: Vec<Arc<StoredObject>>) -> ResponseContent {
        let (api_version, kind) = (self.resource.api_version(), self.resource.kind);
        let head = format!(
            "{{\"kind\":\"{kind}List\",\"apiVersion\":\"{api_version}\",\"metadata\":{metadata},\"items\":["
        );
        let known = format!("{{\"apiVersion\":\"{api_version}\",\"kind\":\"{kind}\",");
        // Items of custom kinds repeat `apiVersion` and `kind`.
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
    pub(crate) fn event(&self, what: &str, object: &StoredObject) -> Bytes {
        match (self.accept.view, self.accept.encoding) {
            (Representation::Whole, ResponseEncoding::Json) if self.is_home() => {
                json_event(what, &object.json)
            }
            (_, encoding) => self.event_of(what, &self.value(object), encoding),
        }
    }

    /// The encoding, if whole objects in it are the same for all watches.
    pub(crate) fn shared(&self) -> Option<ResponseEncoding> {
        (self.accept.view == Representation::Whole && self.is_home()).then_some(self.accept.encoding)
    }

    /// A bookmark with this metadata.
    pub(crate) fn bookmark(&self, metadata: Value) -> Bytes {
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

    /// A watch event of something that is not stored: a bookmark, an error.
    pub(crate) fn event_of(&self, what: &str, value: &Value, encoding: ResponseEncoding) -> Bytes {
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

/// Writes an item of a list, without the `apiVersion` and `kind` that the list implies.
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
