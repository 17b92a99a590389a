//! Decodes namespaces from protobuf.

use super::{LabelsAndAnnotations, ProtobufFields, ProtobufMeta, metadata};
use crate::decode::format::{DecodeFrom, Protobuf};
use crate::decode::tolerations::namespace_facts;
use crate::decode::{DecodeError, Decoded, NamespaceObject};
use taintward_core::identity::ResourceVersion;

impl DecodeFrom<Protobuf> for NamespaceObject {
    fn decode_from(message: &[u8]) -> Result<Decoded<Self>, DecodeError> {
        let (mut meta, mut maps) = (ProtobufMeta::default(), LabelsAndAnnotations::default());
        for field in ProtobufFields::of(message) {
            if let (1, part) = field? {
                metadata(part, &mut meta, &mut maps).map_err(|error| error.at("metadata"))?;
            }
        }
        let (uid, version, name) = (meta.uid()?, ResourceVersion::parse(meta.version), meta.name.into());
        let facts = namespace_facts(maps.labels, maps.annotations);
        Ok(Decoded::Object(Self { uid, version, name, facts }))
    }
}
