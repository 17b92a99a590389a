//! Defines the watched kinds of admission and pools, policies, namespaces, nodes.
//!
//! - Invariant: an unknown field or value in a spec makes the object undecodable; its author's intention is not
//!   guessed.

use super::format::{self, DecodeFrom, Json, ObjectFormat as _};
use super::{ApiResource, DecodeError, Decoded, Encoding, ObjectIdentity, UndecodableObject, WatchedObject};
use taintward_core::admission::policy::TolerationPolicy;
use taintward_core::admission::request::NamespaceFact;
use taintward_core::dedicated_pools::{PoolFact, PoolNodeFact};
use taintward_core::identity::{ResourceVersion, Uid};
use taintward_core::toleration_seconds::BackfillProgress;

/// A `TolerationPolicy`.
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

pub(super) fn identity(uid: &Uid, name: &str, version: Option<ResourceVersion>) -> ObjectIdentity {
    ObjectIdentity { uid: Some(uid.clone()), name: name.to_owned(), version, ..ObjectIdentity::default() }
}

/// Decodes a kind of which only JSON is requested, or that has no protobuf form.
pub(super) fn decode_json_only<F: WatchedObject + DecodeFrom<Json>>(
    encoding: Encoding,
    bytes: &[u8],
) -> Decoded<F> {
    match encoding {
        Encoding::Json => Json::decode(bytes),
        Encoding::Protobuf => {
            let error =
                DecodeError::new(format!("a {} in protobuf, which was not requested", F::RESOURCE.kind));
            Decoded::Undecodable(UndecodableObject { identity: None, why: error.to_string() })
        }
    }
}

impl WatchedObject for PoolFact {
    const RESOURCE: ApiResource = ApiResource::DEDICATED_POOLS;

    fn decode(encoding: Encoding, bytes: &[u8]) -> Decoded<Self> {
        decode_json_only(encoding, bytes)
    }

    fn identity(&self) -> ObjectIdentity {
        identity(&self.uid, &self.pool.name, self.version)
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.version
    }
}

impl WatchedObject for PolicyObject {
    const RESOURCE: ApiResource = ApiResource::POLICIES;

    fn decode(encoding: Encoding, bytes: &[u8]) -> Decoded<Self> {
        decode_json_only(encoding, bytes)
    }

    fn identity(&self) -> ObjectIdentity {
        identity(&self.uid, &self.policy.name, self.version)
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.version
    }
}

impl WatchedObject for NamespaceObject {
    const RESOURCE: ApiResource = ApiResource::NAMESPACES;

    fn decode(encoding: Encoding, bytes: &[u8]) -> Decoded<Self> {
        format::decode(encoding, bytes)
    }

    fn identity(&self) -> ObjectIdentity {
        identity(&self.uid, &self.name, self.version)
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.version
    }
}

impl WatchedObject for PoolNodeFact {
    const RESOURCE: ApiResource = ApiResource::NODES;

    fn decode(encoding: Encoding, bytes: &[u8]) -> Decoded<Self> {
        format::decode(encoding, bytes)
    }

    fn identity(&self) -> ObjectIdentity {
        identity(&self.uid, &self.node.name, self.version)
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.version
    }
}
