//! Decodes the protobuf and JSON of an API server to facts: single objects, watch events, list items.
//!
//! - Invariant: both encodings give equal facts; no input panics; memory is bounded by what has arrived and by stated
//!   limits (S12).
//! - An undecodable object is a value that names it ([`UndecodableObject`], D11, S11).

use taintward_core::identity::{NodeName, ResourceVersion, Uid};

mod api_status;
mod byte_buffer;
mod decode_error;
mod decoded_objects;
mod eviction_policy_objects;
mod format;
pub(crate) mod frames;
mod fuzz_entry;
mod labels;
pub(crate) mod list;
mod node_and_pod;
mod object_body;
mod pool_objects;
#[cfg(test)]
mod tests;
mod tolerations;
pub(crate) mod watch_event;

pub use api_status::ApiStatus;
pub use decode_error::DecodeError;
pub use decoded_objects::{DecodedNode, DecodedPod};
pub use eviction_policy_objects::{DeploymentObject, ReplicaSetObject, StatefulSetObject, TemplatedPod};
pub use format::FIELD_MANAGER;
pub(crate) use format::{NodeJson, decoded_node, decoded_pod, disruption_budget, read_json, taints_changed};
pub use fuzz_entry::fuzz_entry;
pub(crate) use labels::SelectedLabels;
pub(crate) use node_and_pod::TerminatingPod;
pub use node_and_pod::{NODE_LEASES, NodeForAllControllers};
pub(crate) use object_body::foreign_type;
pub use object_body::{ObjectBody, object_from_body, status_from_body};
pub use pool_objects::{NamespaceObject, PolicyObject};

/// The encoding of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Kubernetes' protobuf, after its four magic bytes.
    Protobuf,
    /// JSON.
    Json,
}

impl Encoding {
    /// Parses a `Content-Type`; parameters such as `stream=watch` do not matter. `None` for any other type.
    pub fn of(content_type: &str) -> Option<Self> {
        match content_type.split(';').next().unwrap_or_default().trim() {
            "application/vnd.kubernetes.protobuf" => Some(Self::Protobuf),
            "application/json" => Some(Self::Json),
            _ => None,
        }
    }
}

/// The identity of an object, as far as its bytes show it.
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

/// An object that exists but could not be understood. It is a fact of its own: no pod is evicted for it, and the pod it
/// describes is skipped (D11, S11).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndecodableObject {
    /// Its identity, if that much could be read.
    pub identity: Option<ObjectIdentity>,
    /// Why it could not be read, with the path of the field; short, free of control characters.
    pub why: String,
}

/// The result of decoding one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decoded<F> {
    /// A fact.
    Object(F),
    /// A pod without a node, or a ReplicaSet of a Deployment: nothing to decide.
    Unbound(ObjectIdentity),
    /// Not understood.
    Undecodable(UndecodableObject),
}

/// A kind of object that is listed and watched.
///
/// ```
/// use taintward_core::fact::NodeFact;
/// use taintward_kube::decode::{Decoded, WatchedObject as _};
///
/// let node = br#"{"metadata": {"name": "n1", "uid": "node-uid"},
///                 "spec": {"taints": [{"key": "maintenance", "effect": "NoExecute"}]}}"#;
/// let Decoded::Object(node) = NodeFact::from_json(node) else { panic!("a node") };
/// assert_eq!(node.taints[0].to_string(), "maintenance:NoExecute");
/// assert!(matches!(NodeFact::from_json(b"{]"), Decoded::Undecodable(_)));
/// ```
pub trait WatchedObject: Sized + Send + 'static {
    /// The collection on the server.
    const RESOURCE: ApiResource;
    /// Whether only JSON is requested, never protobuf: for fields that only the mirrors in `wire` have.
    const JSON_ONLY: bool = false;

    /// Decodes one object, without envelope.
    fn decode(encoding: Encoding, bytes: &[u8]) -> Decoded<Self>;

    /// Returns the identity of this object.
    fn identity(&self) -> ObjectIdentity;

    /// `metadata.resourceVersion`, if it is an integer.
    fn version(&self) -> Option<ResourceVersion>;

    /// Decodes one protobuf message.
    fn from_protobuf(bytes: &[u8]) -> Decoded<Self> {
        Self::decode(Encoding::Protobuf, bytes)
    }

    /// Decodes one JSON object.
    fn from_json(bytes: &[u8]) -> Decoded<Self> {
        Self::decode(Encoding::Json, bytes)
    }
}

/// A collection of objects, as the server names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiResource {
    /// The API group; empty is core.
    pub group: &'static str,
    /// The path of the collection.
    pub path: &'static str,
    /// The resource, as in RBAC and messages.
    pub plural: &'static str,
    /// The kind in bodies.
    pub kind: &'static str,
    /// Whether a server may lack this kind: its definition has to be installed.
    pub is_optional: bool,
    /// The server's filter.
    pub field_selector: Option<&'static str>,
}

/// The group of the custom resources.
pub const GROUP: &str = "taintward.io";

impl ApiResource {
    /// Nodes.
    pub const NODES: Self = Self::new("", "/api/v1/nodes", "nodes", "Node");
    /// Pods that are bound to a node.
    pub const PODS: Self =
        Self { field_selector: Some("spec.nodeName!="), ..Self::new("", "/api/v1/pods", "pods", "Pod") };
    /// The leases of nodes.
    pub const NODE_LEASES: Self = Self::new(
        "coordination.k8s.io",
        "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
        "leases",
        "Lease",
    );
    /// Namespaces.
    pub const NAMESPACES: Self = Self::new("", "/api/v1/namespaces", "namespaces", "Namespace");
    /// Dedicated pools.
    pub const DEDICATED_POOLS: Self =
        Self::custom("/apis/taintward.io/v1alpha1/dedicatedpools", "dedicatedpools", "DedicatedPool");
    /// Policies for the seconds of tolerations.
    pub const POLICIES: Self = Self::custom(
        "/apis/taintward.io/v1alpha1/tolerationpolicies",
        "tolerationpolicies",
        "TolerationPolicy",
    );

    /// Policies for evictions.
    pub const EVICTION_POLICIES: Self =
        Self::custom("/apis/taintward.io/v1alpha1/evictionpolicies", "evictionpolicies", "EvictionPolicy");
    /// Disruption budgets.
    pub const DISRUPTION_BUDGETS: Self = Self::new(
        "policy",
        "/apis/policy/v1/poddisruptionbudgets",
        "poddisruptionbudgets",
        "PodDisruptionBudget",
    );

    /// All objects of a kind that every server has.
    pub const fn new(
        group: &'static str,
        path: &'static str,
        plural: &'static str,
        kind: &'static str,
    ) -> Self {
        Self { group, path, plural, kind, is_optional: false, field_selector: None }
    }

    const fn custom(path: &'static str, plural: &'static str, kind: &'static str) -> Self {
        Self { is_optional: true, ..Self::new(GROUP, path, plural, kind) }
    }
}
