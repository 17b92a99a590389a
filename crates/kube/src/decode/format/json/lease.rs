//! Decodes leases of nodes from JSON.

use super::{read, time, uid, version};
use crate::decode::format::{DecodeFrom, Json};
use crate::decode::{DecodeError, Decoded};
use crate::wire::{Fields, LeaseSpecJson, MetaJson, ObjectJson};
use taintward_core::identity::NodeName;
use taintward_core::node_lifecycle::LeaseFact;

impl DecodeFrom<Json> for LeaseFact {
    fn decode_from(object: &[u8]) -> Result<Decoded<Self>, DecodeError> {
        let ObjectJson { metadata: meta, spec, .. }: ObjectJson<MetaJson<'_>, Fields<LeaseSpecJson<'_>>> =
            read(object)?;
        uid(&meta)?;
        Ok(Decoded::Object(Self {
            node: NodeName::new(&meta.name),
            version: version(&meta),
            renewed: time(spec.renew_time.as_ref(), "spec.renewTime")?,
        }))
    }
}
