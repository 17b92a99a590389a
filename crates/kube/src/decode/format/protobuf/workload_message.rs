//! Decodes Deployments, ReplicaSets and StatefulSets from protobuf.

use super::{ProtobufFields, ProtobufMeta};
use crate::decode::eviction_policy_objects::ReplicatedObject;
use crate::decode::format::{DecodeFrom, Protobuf};
use crate::decode::{DecodeError, Decoded};
use taintward_core::identity::ResourceVersion;

impl DecodeFrom<Protobuf> for ReplicatedObject {
    fn decode_from(message: &[u8]) -> Result<Decoded<Self>, DecodeError> {
        let (mut meta, mut replicas) = (ProtobufMeta::default(), None);
        for field in ProtobufFields::of(message) {
            let (number, part) = field?;
            let (name, read) = match number {
                1 => ("metadata", part.bytes().and_then(|part| meta.read(part, None))),
                2 => ("spec", part.bytes().and_then(|part| read_replicas(part, &mut replicas))),
                _ => continue,
            };
            read.map_err(|error| error.at(name))?;
        }
        Ok(Decoded::Object(Self {
            uid: meta.uid()?,
            version: ResourceVersion::parse(meta.version),
            namespace: meta.namespace.into(),
            name: meta.name.into(),
            is_of_deployment: Self::is_deployment(meta.owner),
            replicas: Self::replicas(replicas),
        }))
    }
}

/// The first field of the spec of each of these kinds.
fn read_replicas(message: &[u8], replicas: &mut Option<i32>) -> Result<(), DecodeError> {
    for field in ProtobufFields::of(message) {
        if let (1, value) = field? {
            *replicas = Some(value.integer32().map_err(|error| error.at("replicas"))?);
        }
    }
    Ok(())
}
