//! # Admission's objects: pools, policies, and what they look at
//! Room:     where each kind is found, which reader reads it, and what it is read into.
//! Comes in: the bytes of one object.
//! Goes out: [`PoolObject`], [`PolicyObject`], [`NamespaceObject`], [`PoolNodeObject`].
//! Keeps:    a field of a spec that is not known, or says what is not known, makes the object unreadable: what its
//!           author wants is not guessed.
//! Not here: reading (`json/pool.rs` and its neighbours); whether what is wanted makes sense (the core says so).

use super::{
    DecodeError, Decoded, ObjectIdentity, UndecodableObject, WatchedObject, json, protobuf, settled,
};
use taintward_core::admission::policy::TolerationPolicy;
use taintward_core::admission::pool::{DedicatedPool, PoolNode, PoolStatus};
use taintward_core::admission::request::NamespaceFact;
use taintward_core::identity::{ResourceVersion, Uid};
use taintward_core::time::Wall;

/// The group of the custom resources.
pub const GROUP: &str = "taintward.io";

/// A `DedicatedPool`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolObject {
    /// Which incarnation.
    pub uid: Uid,
    /// `metadata.resourceVersion`.
    pub version: Option<ResourceVersion>,
    /// `metadata.generation`.
    pub generation: i64,
    /// `metadata.finalizers`.
    pub finalizers: Vec<Box<str>>,
    /// What it says; [`DedicatedPool::applied_marks`] is from its status.
    pub pool: DedicatedPool,
    /// What its status says; `None` where nothing is written there that can be understood, so that it is written anew.
    pub recorded: Option<RecordedStatus>,
}

/// What the status of a pool says of how it is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedStatus {
    /// The generation that this is about.
    pub observed: i64,
    /// Counts and offenders.
    pub status: PoolStatus,
    /// Conditions, in their order.
    pub conditions: Vec<PoolCondition>,
}

/// A condition of a custom resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolCondition {
    /// `Ready`
    pub kind: Box<str>,
    /// `True`, `False` or `Unknown`.
    pub status: Box<str>,
    /// One word.
    pub reason: Box<str>,
    /// A sentence.
    pub message: Box<str>,
    /// Since when it has this status.
    pub since: Wall,
    /// The generation that this is about.
    pub observed: i64,
}

/// A `TaintwardPolicy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyObject {
    /// Which incarnation.
    pub uid: Uid,
    /// `metadata.resourceVersion`.
    pub version: Option<ResourceVersion>,
    /// What it says.
    pub policy: TolerationPolicy,
}

/// A namespace, as admission wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceObject {
    /// Which incarnation.
    pub uid: Uid,
    /// `metadata.resourceVersion`.
    pub version: Option<ResourceVersion>,
    /// `metadata.name`.
    pub name: Box<str>,
    /// What it says.
    pub facts: NamespaceFact,
}

/// A node, as pools want it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolNodeObject {
    /// Which incarnation.
    pub uid: Uid,
    /// `metadata.resourceVersion`.
    pub version: Option<ResourceVersion>,
    /// What it says.
    pub node: PoolNode,
    /// Its condition `Ready` is true.
    pub ready: bool,
}

fn identity(uid: &Uid, name: &str, version: Option<ResourceVersion>) -> ObjectIdentity {
    ObjectIdentity { uid: Some(uid.clone()), name: name.to_owned(), version, ..ObjectIdentity::default() }
}

/// Custom resources have no protobuf form.
fn never_binary<F>(kind: &str) -> Decoded<F> {
    let fault = DecodeError::new(format!("a {kind} in protobuf, which no API server writes"));
    Decoded::Undecodable(UndecodableObject { identity: None, why: fault.to_string() })
}

impl WatchedObject for PoolObject {
    const GROUP: &'static str = GROUP;
    const OPTIONAL: bool = true;
    const PATH: &'static str = "/apis/taintward.io/v1alpha1/dedicatedpools";
    const RESOURCE: &'static str = "dedicatedpools";
    const KIND: &'static str = "DedicatedPool";
    const FIELD_SELECTOR: Option<&'static str> = None;

    fn from_protobuf(_: &[u8]) -> Decoded<Self> {
        never_binary(Self::KIND)
    }

    fn from_json(bytes: &[u8]) -> Decoded<Self> {
        settled(json::pool(bytes), || json::identity(bytes))
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
    const FIELD_SELECTOR: Option<&'static str> = None;

    fn from_protobuf(_: &[u8]) -> Decoded<Self> {
        never_binary(Self::KIND)
    }

    fn from_json(bytes: &[u8]) -> Decoded<Self> {
        settled(json::policy(bytes), || json::identity(bytes))
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
    const FIELD_SELECTOR: Option<&'static str> = None;

    fn from_protobuf(bytes: &[u8]) -> Decoded<Self> {
        settled(protobuf::namespace(bytes), || protobuf::identity(bytes))
    }

    fn from_json(bytes: &[u8]) -> Decoded<Self> {
        settled(json::namespace(bytes), || json::identity(bytes))
    }

    fn identity(&self) -> ObjectIdentity {
        identity(&self.uid, &self.name, self.version)
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.version
    }
}

impl WatchedObject for PoolNodeObject {
    const GROUP: &'static str = "";
    const PATH: &'static str = "/api/v1/nodes";
    const RESOURCE: &'static str = "nodes";
    const KIND: &'static str = "Node";
    const FIELD_SELECTOR: Option<&'static str> = None;

    fn from_protobuf(bytes: &[u8]) -> Decoded<Self> {
        settled(protobuf::member(bytes), || protobuf::identity(bytes))
    }

    fn from_json(bytes: &[u8]) -> Decoded<Self> {
        settled(json::member(bytes), || json::identity(bytes))
    }

    fn identity(&self) -> ObjectIdentity {
        identity(&self.uid, &self.node.name, self.version)
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.version
    }
}
