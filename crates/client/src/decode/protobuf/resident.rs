//! # Protobuf residents
//! Room:     pods that have a node, as pools count them: whose they are and what they tolerate.
//! Comes in: the bytes of one pod.
//! Goes out: a [`SeenResident`] equal to that of `json/resident.rs`, or that the pod is on no node or over.
//! Not here: pods as taint eviction wants them (`protobuf/pod.rs`).

use super::Meta;
use super::pod::Spec;
use crate::decode::wire::Fields;
use crate::decode::{Decoded, Fault, SeenResident, meaning};
use taintward_core::admission::request::Identity;
use taintward_core::fact::Standing;
use taintward_core::names::{PodName, Version};

/// Reads a `Pod`, for pools.
pub(in crate::decode) fn resident(message: &[u8]) -> Result<Decoded<SeenResident>, Fault> {
    let (mut meta, mut spec, mut phase) = (Meta::default(), Spec::default(), "");
    for field in Fields::of(message) {
        let (number, part) = field?;
        let (name, read) = match number {
            1 => ("metadata", part.bytes().and_then(|part| meta.read(part, None))),
            2 => ("spec", part.bytes().and_then(|part| spec.read(part))),
            3 => ("status", part.bytes().and_then(|part| status(part, &mut phase))),
            _ => continue,
        };
        read.map_err(|fault| fault.at(name))?;
    }
    let uid = meta.uid()?;
    if meta.namespace.is_empty() {
        return Err(Fault::new("missing").at("metadata.namespace"));
    }
    if spec.node.is_empty() || meaning::standing(false, phase) == Standing::Finished {
        return Ok(Decoded::Unbound(meta.identity(Some(spec.node).filter(|node| !node.is_empty()))));
    }
    let identity = Identity {
        namespace: meta.namespace.into(),
        service_account: spec.service_account.into(),
        priority_class: spec.priority_class.into(),
        owner: meta.owner.unwrap_or_default(),
        mirror: meta.mirror,
    };
    Ok(Decoded::Fact(SeenResident {
        uid,
        version: Version::parse(meta.version),
        name: PodName::new(meta.namespace, meta.name),
        identity,
        node: spec.node.into(),
        tolerations: spec.tolerations,
    }))
}

fn status<'a>(message: &'a [u8], phase: &mut &'a str) -> Result<(), Fault> {
    for field in Fields::of(message) {
        if let (1, value) = field? {
            *phase = value.text().map_err(|fault| fault.at("phase"))?;
        }
    }
    Ok(())
}
