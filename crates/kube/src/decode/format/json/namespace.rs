//! Decodes namespaces from JSON.

use super::{MetaWithMaps, read, uid, version};
use crate::decode::format::{DecodeFrom, Json};
use crate::decode::tolerations::namespace_facts;
use crate::decode::{DecodeError, Decoded, NamespaceObject};
use crate::wire::{Fields, ObjectJson, TextMap};

impl DecodeFrom<Json> for NamespaceObject {
    fn decode_from(object: &[u8]) -> Result<Decoded<Self>, DecodeError> {
        let Fields(meta) = read::<ObjectJson<MetaWithMaps<'_>>>(object)?.metadata;
        let facts = namespace_facts(
            meta.labels.labels(),
            meta.annotations.as_ref().map(TextMap::labels).unwrap_or_default(),
        );
        let (uid, version, name) = (uid(&meta)?, version(&meta), (&meta.name).into());
        Ok(Decoded::Object(Self { uid, version, name, facts }))
    }
}
