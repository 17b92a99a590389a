//! # JSON residents
//! Room:     pods that have a node, as pools count them: whose they are and what they tolerate.
//! Comes in: the bytes of one pod.
//! Goes out: a [`SeenResident`] equal to that of `protobuf/resident.rs`, or that the pod is on no node or over.
//! Not here: pods as taint eviction wants them (`json.rs`).

use super::shape::{Object, PodObject, Text};
use super::{owner, read, toleration, uid, version};
use crate::decode::{Decoded, Fault, Identity, SeenResident, meaning};
use taintward_core::admission::request;
use taintward_core::fact::Standing;
use taintward_core::names::{NodeName, PodName};

/// Reads a `Pod`, for pools.
pub(in crate::decode) fn resident(bytes: &[u8]) -> Result<Decoded<SeenResident>, Fault> {
    let object: PodObject<'_> = read(bytes)?;
    let Object(meta) = object.metadata.unwrap_or_default();
    let Object(spec) = object.spec.unwrap_or_default();
    let Object(status) = object.status.unwrap_or_default();
    let uid = uid(&meta)?;
    let (namespace, name) = (Text::or_empty(meta.namespace.as_ref()), Text::or_empty(meta.name.as_ref()));
    if namespace.is_empty() {
        return Err(Fault::new("missing").at("metadata.namespace"));
    }
    let node = Text::or_empty(spec.node_name.as_ref());
    let phase = Text::or_empty(status.phase.as_ref());
    if node.is_empty() || meaning::standing(false, phase) == Standing::Finished {
        let node = Some(node).filter(|node| !node.is_empty()).map(NodeName::new);
        let (namespace, name, version) = (namespace.to_owned(), name.to_owned(), version(&meta));
        return Ok(Decoded::Unbound(Identity { uid: Some(uid), namespace, name, node, version }));
    }
    let identity = request::Identity {
        namespace: namespace.into(),
        service_account: Text::or_empty(spec.service_account_name.as_ref()).into(),
        priority_class: Text::or_empty(spec.priority_class_name.as_ref()).into(),
        owner: owner(meta.owner_references.as_ref()),
        mirror: meta.annotations.as_ref().is_some_and(|annotations| annotations.mirror),
    };
    Ok(Decoded::Fact(SeenResident {
        uid,
        version: version(&meta),
        name: PodName::new(namespace, name),
        identity,
        node: node.into(),
        tolerations: spec.tolerations.unwrap_or_default().0.iter().map(toleration).collect(),
    }))
}
