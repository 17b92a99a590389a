//! Decodes Deployments, ReplicaSets and StatefulSets from JSON.

use super::{read, uid, version};
use crate::decode::eviction_policy_objects::ReplicatedObject;
use crate::decode::format::{DecodeFrom, Json};
use crate::decode::{DecodeError, Decoded};
use crate::wire::{OwnerReferenceJson, WorkloadJson};

impl DecodeFrom<Json> for ReplicatedObject {
    fn decode_from(object: &[u8]) -> Result<Decoded<Self>, DecodeError> {
        let WorkloadJson { metadata: meta, spec, .. } = read(object)?;
        let owner = meta.controller().map(OwnerReferenceJson::reference);
        Ok(Decoded::Object(Self {
            uid: uid(&meta)?,
            version: version(&meta),
            namespace: (&meta.namespace).into(),
            name: (&meta.name).into(),
            is_of_deployment: Self::is_deployment(owner),
            replicas: Self::replicas(spec.replicas),
        }))
    }
}
