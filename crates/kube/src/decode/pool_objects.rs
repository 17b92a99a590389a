//! Defines the watched kinds of admission and pools, policies, namespaces, nodes.
//!
//! - Invariant: an unknown field or value in a spec makes the object undecodable; its author's intention is not
//!   guessed.

use super::format::{Json, ObjectFormat as _, Protobuf};
use super::{DecodeError, Decoded, ObjectIdentity, UndecodableObject, WatchedObject};
use taintward_core::admission::policy::TolerationPolicy;
use taintward_core::admission::request::NamespaceFact;
use taintward_core::dedicated_pools::{PoolFact, PoolNodeFact};
use taintward_core::identity::{ResourceVersion, Uid};
use taintward_core::toleration_seconds::BackfillProgress;

/// The group of the custom resources.
pub const GROUP: &str = "taintward.io";

/// A `TaintwardPolicy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyObject {
    /// `metadata.uid`.
    pub uid: Uid,
    /// `metadata.resourceVersion`.
    pub version: Option<ResourceVersion>,
    /// `metadata.generation`.
    pub generation: i64,
    /// Its content.
    pub policy: TolerationPolicy,
    /// `status.backfill`; `None` if it is absent or cannot be decoded.
    pub progress: Option<BackfillProgress>,
}

/// The fields of a namespace that admission needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceObject {
    /// `metadata.uid`.
    pub uid: Uid,
    /// `metadata.resourceVersion`.
    pub version: Option<ResourceVersion>,
    /// `metadata.name`.
    pub name: Box<str>,
    /// Its content.
    pub facts: NamespaceFact,
}

fn identity(uid: &Uid, name: &str, version: Option<ResourceVersion>) -> ObjectIdentity {
    ObjectIdentity { uid: Some(uid.clone()), name: name.to_owned(), version, ..ObjectIdentity::default() }
}

/// Custom resources have no protobuf form.
fn never_binary<F>(kind: &str) -> Decoded<F> {
    let error = DecodeError::new(format!("a {kind} in protobuf, which no API server writes"));
    Decoded::Undecodable(UndecodableObject { identity: None, why: error.to_string() })
}

impl WatchedObject for PoolFact {
    const GROUP: &'static str = GROUP;
    const OPTIONAL: bool = true;
    const PATH: &'static str = "/apis/taintward.io/v1alpha1/dedicatedpools";
    const RESOURCE: &'static str = "dedicatedpools";
    const KIND: &'static str = "DedicatedPool";

    fn from_protobuf(_: &[u8]) -> Decoded<Self> {
        never_binary(Self::KIND)
    }

    fn from_json(bytes: &[u8]) -> Decoded<Self> {
        Json::decode(bytes)
    }

    fn identity(&self) -> ObjectIdentity {
        identity(&self.uid, &self.pool.name, self.version)
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.version
    }
}

impl WatchedObject for PolicyObject {
    const GROUP: &'static str = GROUP;
    const OPTIONAL: bool = true;
    const PATH: &'static str = "/apis/taintward.io/v1alpha1/taintwardpolicies";
    const RESOURCE: &'static str = "taintwardpolicies";
    const KIND: &'static str = "TaintwardPolicy";

    fn from_protobuf(_: &[u8]) -> Decoded<Self> {
        never_binary(Self::KIND)
    }

    fn from_json(bytes: &[u8]) -> Decoded<Self> {
        Json::decode(bytes)
    }

    fn identity(&self) -> ObjectIdentity {
        identity(&self.uid, &self.policy.name, self.version)
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.version
    }
}

impl WatchedObject for NamespaceObject {
    const GROUP: &'static str = "";
    const PATH: &'static str = "/api/v1/namespaces";
    const RESOURCE: &'static str = "namespaces";
    const KIND: &'static str = "Namespace";

    fn from_protobuf(bytes: &[u8]) -> Decoded<Self> {
        Protobuf::decode(bytes)
    }

    fn from_json(bytes: &[u8]) -> Decoded<Self> {
        Json::decode(bytes)
    }

    fn identity(&self) -> ObjectIdentity {
        identity(&self.uid, &self.name, self.version)
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.version
    }
}

impl WatchedObject for PoolNodeFact {
    const GROUP: &'static str = "";
    const PATH: &'static str = "/api/v1/nodes";
    const RESOURCE: &'static str = "nodes";
    const KIND: &'static str = "Node";

    fn from_protobuf(bytes: &[u8]) -> Decoded<Self> {
        Protobuf::decode(bytes)
    }

    fn from_json(bytes: &[u8]) -> Decoded<Self> {
        Json::decode(bytes)
    }

    fn identity(&self) -> ObjectIdentity {
        identity(&self.uid, &self.node.name, self.version)
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.version
    }
}
