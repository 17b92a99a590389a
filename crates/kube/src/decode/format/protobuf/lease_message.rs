//! Decodes leases of nodes from protobuf.

use super::{ProtobufFields, ProtobufMeta, time};
use crate::decode::format::{DecodeFrom, Protobuf};
use crate::decode::{DecodeError, Decoded};
use taintward_core::identity::{NodeName, ResourceVersion};
use taintward_core::node_lifecycle::LeaseFact;
use taintward_core::time::Wall;

impl DecodeFrom<Protobuf> for LeaseFact {
    fn decode_from(message: &[u8]) -> Result<Decoded<Self>, DecodeError> {
        let (mut meta, mut renewed) = (ProtobufMeta::default(), None);
        for field in ProtobufFields::of(message) {
            let (number, part) = field?;
            let (name, read) = match number {
                1 => ("metadata", part.bytes().and_then(|part| meta.read(part, None))),
                2 => ("spec", part.bytes().and_then(|part| lease_spec(part, &mut renewed))),
                _ => continue,
            };
            read.map_err(|error| error.at(name))?;
        }
        meta.uid()?;
        Ok(Decoded::Object(Self {
            node: NodeName::new(meta.name),
            version: ResourceVersion::parse(meta.version),
            renewed,
        }))
    }
}

fn lease_spec(message: &[u8], renewed: &mut Option<Wall>) -> Result<(), DecodeError> {
    for field in ProtobufFields::of(message) {
        if let (4, value) = field? {
            *renewed = time(value).map_err(|error| error.at("renewTime"))?;
        }
    }
    Ok(())
}
