//! Reads the needed parts of `ObjectMeta` from protobuf.

use super::{ProtobufFields, entry, owner, time};
use crate::decode::{DecodeError, ObjectIdentity, SelectedLabels};
use crate::guard_annotation::GUARD;
use crate::hold_annotations::HELD;
use crate::hold_request::HOLD;
use crate::wire::MIRROR;
use std::borrow::Cow;
use taintward_core::admission::no_execute_guard::ALLOW;
use taintward_core::admission::policy::{NOT_READY_SECONDS, UNREACHABLE_SECONDS};
use taintward_core::admission::pool::MADE_FOR;
use taintward_core::cluster_snapshot::OwnerReference;
use taintward_core::fact::RESPECT_BUDGETS;
use taintward_core::identity::{NodeName, ResourceVersion, Uid};
use taintward_core::time::Wall;

/// The needed parts of `ObjectMeta`.
#[derive(Default)]
pub(crate) struct ProtobufMeta<'a> {
    pub(crate) name: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) uid: &'a str,
    pub(crate) version: &'a str,
    pub(crate) generation: i64,
    pub(crate) created: Option<Wall>,
    pub(crate) deleting: bool,
    pub(crate) owner: Option<OwnerReference<'a>>,
    pub(crate) mirror: bool,
    pub(crate) made_for: &'a str,
    pub(crate) held: Option<&'a str>,
    pub(crate) guard: Option<&'a str>,
    pub(crate) hold: Option<&'a str>,
    pub(crate) allow: Option<&'a str>,
    pub(crate) respect: Option<&'a str>,
    pub(crate) not_ready_seconds: Option<&'a str>,
    pub(crate) unreachable_seconds: Option<&'a str>,
    pub(crate) is_annotated: bool,
}

impl<'a> ProtobufMeta<'a> {
    /// Reads it, and the labels if requested.
    pub(crate) fn read(
        &mut self,
        message: &'a [u8],
        mut labels: Option<&mut SelectedLabels<'a>>,
    ) -> Result<(), DecodeError> {
        let mut owners = 0;
        for field in ProtobufFields::of(message) {
            let (number, value) = field?;
            match number {
                1 => self.name = value.text().map_err(|error| error.at("name"))?,
                3 => self.namespace = value.text().map_err(|error| error.at("namespace"))?,
                5 => self.uid = value.text().map_err(|error| error.at("uid"))?,
                6 => self.version = value.text().map_err(|error| error.at("resourceVersion"))?,
                7 => self.generation = value.integer().map_err(|error| error.at("generation"))?,
                8 => self.created = time(value).map_err(|error| error.at("creationTimestamp"))?,
                9 => {
                    self.deleting =
                        value.bytes().map(|_| true).map_err(|error| error.at("deletionTimestamp"))?
                }
                11 => {
                    if let Some(labels) = &mut labels {
                        let (key, value) = entry(value).map_err(|error| error.at("labels"))?;
                        labels.extend([(key, Cow::Borrowed(value))]);
                    }
                }
                12 => {
                    self.is_annotated = true;
                    match entry(value).map_err(|error| error.at("annotations"))? {
                        (MIRROR, _) => self.mirror = true,
                        (MADE_FOR, value) => self.made_for = value,
                        (HELD, value) => self.held = Some(value),
                        (GUARD, value) => self.guard = Some(value),
                        (HOLD, value) => self.hold = Some(value),
                        (ALLOW, value) => self.allow = Some(value),
                        (RESPECT_BUDGETS, value) => self.respect = Some(value),
                        (NOT_READY_SECONDS, value) => self.not_ready_seconds = Some(value),
                        (UNREACHABLE_SECONDS, value) => self.unreachable_seconds = Some(value),
                        _ => {}
                    }
                }
                13 => {
                    let owner = owner(value).map_err(|error| error.index(owners).at("ownerReferences"))?;
                    self.owner = self.owner.or(owner);
                    owners += 1;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The UID, without which an object has no identity.
    pub(crate) fn uid(&self) -> Result<Uid, DecodeError> {
        match (self.name, self.uid) {
            ("", _) => Err(DecodeError::new("missing").at("metadata.name")),
            (_, "") => Err(DecodeError::new("missing").at("metadata.uid")),
            (_, uid) => Ok(Uid::new(uid)),
        }
    }

    pub(crate) fn identity(&self, node: Option<&str>) -> ObjectIdentity {
        ObjectIdentity {
            uid: Some(self.uid).filter(|uid| !uid.is_empty()).map(Uid::new),
            namespace: self.namespace.to_owned(),
            name: self.name.to_owned(),
            node: node.map(NodeName::new),
            version: ResourceVersion::parse(self.version),
        }
    }
}
