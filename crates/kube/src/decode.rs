//! Decodes the protobuf and JSON of an API server to facts: single objects, watch events, list items.
//!
//! - Invariant: both encodings give equal facts; no input panics; memory is bounded by what has arrived and by stated
//!   limits (S12).
//! - An undecodable object is a value that names it ([`UndecodableObject`], D11, S11).

use crate::error_text::sanitize;
use taintward_core::identity::{NodeName, ResourceVersion, Uid};
use taintward_core::node_lifecycle::LeaseFact;
use taintward_core::time::Wall;

mod api_status;
mod byte_buffer;
mod decode_error;
mod decoded_objects;
mod field_semantics;
pub(crate) mod frames;
mod json;
mod labels;
pub(crate) mod list;
mod node_and_pod;
mod pool_objects;
mod protobuf;
mod protobuf_wire;
#[cfg(test)]
mod tests;
mod timestamps;
mod tolerations;
pub(crate) mod watch_event;

pub use api_status::ApiStatus;
pub(crate) use decode_error::DecodeError;
pub use decoded_objects::{DecodedNode, DecodedPod};
pub use field_semantics::FIELD_MANAGER;
pub(crate) use json::{NodeJson, decoded_node, decoded_pod, read as read_json};
pub(crate) use labels::SelectedLabels;
pub(crate) use node_and_pod::TerminatingPod;
pub use node_and_pod::{NODE_LEASES, NodeForAllControllers};
pub use pool_objects::{GROUP, NamespaceObject, PolicyObject};
pub(crate) use timestamps::from_http as http_date;

/// How a body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Kubernetes' protobuf, behind its four magic bytes.
    Protobuf,
    /// JSON.
    Json,
}

impl Encoding {
    /// Reads a `Content-Type`; parameters such as `stream=watch` don't matter. `None` for any other type.
    pub fn of(content_type: &str) -> Option<Self> {
        match content_type.split(';').next().unwrap_or_default().trim() {
            "application/vnd.kubernetes.protobuf" => Some(Self::Protobuf),
            "application/json" => Some(Self::Json),
            _ => None,
        }
    }
}

/// Who an object is, as far as its bytes tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectIdentity {
    /// `metadata.uid`.
    pub uid: Option<Uid>,
    /// `metadata.namespace`; empty for nodes.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `spec.nodeName` of a pod.
    pub node: Option<NodeName>,
    /// `metadata.resourceVersion`.
    pub version: Option<ResourceVersion>,
}

impl ObjectIdentity {
    fn is_empty(&self) -> bool {
        self.uid.is_none() && self.name.is_empty()
    }
}

/// An object that was there but could not be understood. It is a fact of its own: nobody is evicted for it, and the
/// pod it describes is left alone (D11, S11).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndecodableObject {
    /// Who it is, if that much could be read.
    pub identity: Option<ObjectIdentity>,
    /// Why it could not be read, with the path of the field; short, free of control characters.
    pub why: String,
}

/// What the bytes of one object turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decoded<F> {
    /// A fact.
    Object(F),
    /// A pod that is on no node: nothing to decide about.
    Unbound(ObjectIdentity),
    /// Not understood.
    Undecodable(UndecodableObject),
}

/// A kind of object that is listed and watched.
pub trait WatchedObject: Sized + Send + 'static {
    /// The API group; empty is core.
    const GROUP: &'static str;
    /// Where its collection is found.
    const PATH: &'static str;
    /// The resource, as RBAC and messages name it.
    const RESOURCE: &'static str;
    /// The kind in bodies.
    const KIND: &'static str;
    /// Whether a server may do without this kind: what defines it has to be installed.
    const OPTIONAL: bool = false;
    /// What the server filters by.
    const FIELD_SELECTOR: Option<&'static str>;

    /// Reads one message, without envelope.
    fn from_protobuf(bytes: &[u8]) -> Decoded<Self>;

    /// Reads one JSON object.
    fn from_json(bytes: &[u8]) -> Decoded<Self>;

    /// Who this is.
    fn identity(&self) -> ObjectIdentity;

    /// `metadata.resourceVersion`, if it is an integer.
    fn version(&self) -> Option<ResourceVersion>;
}

fn settled<F>(
    read: Result<Decoded<F>, DecodeError>,
    identity: impl FnOnce() -> ObjectIdentity,
) -> Decoded<F> {
    read.unwrap_or_else(|fault| {
        let identity = Some(identity()).filter(|identity| !identity.is_empty());
        Decoded::Undecodable(UndecodableObject { identity, why: fault.to_string() })
    })
}

/// What a body that holds one object turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectBody<F> {
    /// The object asked for.
    Object(Decoded<F>),
    /// The server's word on why there is none.
    Status(ApiStatus),
    /// Neither; the reason is one sentence.
    Foreign(String),
}

/// Reads a body that holds one object: the answer to a GET, or an error.
pub fn object_from_body<F: WatchedObject>(content_type: &str, bytes: &[u8]) -> ObjectBody<F> {
    let Some(encoding) = Encoding::of(content_type) else {
        return ObjectBody::Foreign(foreign_type(content_type));
    };
    match object(encoding, bytes) {
        Ok(body) => body,
        Err(fault) => ObjectBody::Foreign(format!("the answer is no Kubernetes object: {fault}")),
    }
}

fn object<F: WatchedObject>(encoding: Encoding, bytes: &[u8]) -> Result<ObjectBody<F>, DecodeError> {
    let (kind, object) = match encoding {
        Encoding::Protobuf => {
            let envelope = protobuf::envelope(bytes)?;
            (envelope.kind.to_owned(), envelope.raw)
        }
        Encoding::Json => (json::kind(bytes)?, bytes),
    };
    if kind == "Status" {
        return ApiStatus::read(encoding, object).map(ObjectBody::Status);
    }
    if kind != F::KIND {
        return Err(DecodeError::new(format!("a {} where a {} was expected", sanitize(&kind, 64), F::KIND)));
    }
    Ok(ObjectBody::Object(decoded(encoding, object)))
}

/// Reads a body that holds an error; `None` if it is no `Status`.
pub fn status_from_body(content_type: &str, bytes: &[u8]) -> Option<ApiStatus> {
    let encoding = Encoding::of(content_type)?;
    let is_status = |kind: &str| kind == "Status";
    match encoding {
        Encoding::Protobuf => {
            let envelope = protobuf::envelope(bytes).ok().filter(|envelope| is_status(envelope.kind))?;
            ApiStatus::read(encoding, envelope.raw).ok()
        }
        Encoding::Json => {
            json::kind(bytes).ok().filter(|kind| is_status(kind))?;
            ApiStatus::read(encoding, bytes).ok()
        }
    }
}

/// When a node's `spec.taints` last changed, by its managed fields (D1), whichever taints it has. JSON.
pub(crate) fn taints_changed(bytes: &[u8]) -> Option<Wall> {
    json::taints_changed(bytes)
}

pub(crate) fn foreign_type(content_type: &str) -> String {
    format!(
        "the answer's content type is {:?}, not Kubernetes protobuf or JSON: is something other than an API server \
         answering?",
        sanitize(content_type, 64)
    )
}

/// Reads one object, without envelope.
pub(crate) fn decoded<F: WatchedObject>(encoding: Encoding, bytes: &[u8]) -> Decoded<F> {
    match encoding {
        Encoding::Protobuf => F::from_protobuf(bytes),
        Encoding::Json => F::from_json(bytes),
    }
}

/// Runs every decoder and splitter of this room over `bytes`, whole and cut at two places. Returns how many pieces were
/// understood, so that no call can be optimised away. For fuzzing: it must return, whatever the bytes.
pub fn fuzz_entry(bytes: &[u8]) -> usize {
    const LIMIT: usize = 1 << 16;
    let mut understood = 0;
    for encoding in [Encoding::Protobuf, Encoding::Json] {
        let content_type = match encoding {
            Encoding::Protobuf => "application/vnd.kubernetes.protobuf",
            Encoding::Json => "application/json",
        };
        understood += usize::from(matches!(decoded::<DecodedPod>(encoding, bytes), Decoded::Object(_)));
        understood +=
            usize::from(matches!(decoded::<NodeForAllControllers>(encoding, bytes), Decoded::Object(_)));
        understood += usize::from(matches!(decoded::<TerminatingPod>(encoding, bytes), Decoded::Object(_)));
        understood += usize::from(matches!(decoded::<LeaseFact>(encoding, bytes), Decoded::Object(_)));
        understood += usize::from(matches!(
            decoded::<taintward_core::dedicated_pools::PoolFact>(encoding, bytes),
            Decoded::Object(_)
        ));
        understood += usize::from(matches!(decoded::<PolicyObject>(encoding, bytes), Decoded::Object(_)));
        understood += usize::from(matches!(decoded::<NamespaceObject>(encoding, bytes), Decoded::Object(_)));
        understood += usize::from(matches!(
            decoded::<taintward_core::dedicated_pools::PoolNodeFact>(encoding, bytes),
            Decoded::Object(_)
        ));
        understood +=
            usize::from(matches!(object_from_body::<DecodedPod>(content_type, bytes), ObjectBody::Object(_)));
        understood += usize::from(status_from_body(content_type, bytes).is_some());
        let first = bytes.first().map_or(0, |&byte| usize::from(byte)).min(bytes.len());
        for cut in [0, first, bytes.len() / 2] {
            let (head, tail) = bytes.split_at(cut);
            understood += frames::count(encoding, LIMIT, &[head, tail]);
            understood += list::count(encoding, LIMIT, &[head, tail]);
        }
    }
    understood
}
