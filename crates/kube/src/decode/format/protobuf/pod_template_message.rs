//! Decodes from protobuf what the pods of a template have in common.

use super::{ProtobufFields, ProtobufMeta, entry};
use crate::decode::format::{DecodeFrom, Protobuf};
use crate::decode::{DecodeError, Decoded};
use taintward_core::cluster_snapshot::Workload;
use taintward_core::eviction_policy::PodTemplateFact;
use taintward_core::scheduling::Labels;

impl DecodeFrom<Protobuf> for PodTemplateFact {
    fn decode_from(message: &[u8]) -> Result<Decoded<Self>, DecodeError> {
        let (mut meta, mut labels, mut grace_seconds) = (ProtobufMeta::default(), Labels::new(), None);
        for field in ProtobufFields::of(message) {
            match field? {
                (1, part) => {
                    let part = part.bytes()?;
                    let read = meta.read(part, None).and_then(|()| read_labels(part, &mut labels));
                    read.map_err(|error| error.at("metadata"))?;
                }
                (2, part) => {
                    read_grace(part.bytes()?, &mut grace_seconds).map_err(|error| error.at("spec"))?;
                }
                _ => {}
            }
        }
        let owner = meta.owner;
        let workload = owner.map(|owner| Workload::of(meta.namespace, meta.name, &labels, Some(owner)));
        Ok(Decoded::Object(Self { labels, workload, grace_seconds }))
    }
}

fn read_labels(message: &[u8], labels: &mut Labels) -> Result<(), DecodeError> {
    for field in ProtobufFields::of(message) {
        if let (11, value) = field? {
            let (key, value) = entry(value).map_err(|error| error.at("labels"))?;
            labels.insert(key.into(), value.into());
        }
    }
    Ok(())
}

fn read_grace(message: &[u8], seconds: &mut Option<i64>) -> Result<(), DecodeError> {
    for field in ProtobufFields::of(message) {
        if let (4, value) = field? {
            *seconds = Some(value.integer().map_err(|error| error.at("terminationGracePeriodSeconds"))?);
        }
    }
    Ok(())
}
