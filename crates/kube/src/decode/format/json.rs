//! Decodes the needed fields of objects from JSON, in one pass.
//!
//! - See the files of the folder `json` for single kinds.

use super::{Json, ListHead, ObjectFormat};
use crate::api_time::time_from_text;
use crate::decode::{ApiStatus, DecodeError, Encoding, ObjectIdentity};
use crate::error_text::sanitize;
use crate::wire::{
    CappedList, Fields, KindJson, KnownAnnotations, ListMetaJson, ManagedFieldsJson, MetaJson, ObjectJson,
    Text, TextMap, WatchLineJson, member_at, members, object_from_slice,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use taintward_core::identity::{NodeName, ResourceVersion, Uid};
use taintward_core::time::Wall;

mod disruption_budget;
mod eviction_policy;
mod json_path;
mod lease;
mod namespace;
mod node;
mod pod_json;
mod policy;
mod pool;
mod status_condition;
mod workload;

pub(crate) use disruption_budget::disruption_budget;
pub(crate) use node::{NodeJson, decoded_node, taints_changed};
pub(crate) use pod_json::decoded_pod;

/// `ObjectMeta` with both its maps.
type MetaWithMaps<'a> = MetaJson<'a, TextMap<'a>, TextMap<'a>>;

impl ObjectFormat for Json {
    const ENCODING: Encoding = Encoding::Json;

    fn body(bytes: &[u8]) -> Result<(Cow<'_, str>, &[u8]), DecodeError> {
        Ok((read::<KindJson<'_>>(bytes)?.kind.0, bytes))
    }

    fn event(frame: &[u8]) -> Result<(Cow<'_, str>, &[u8]), DecodeError> {
        let line: WatchLineJson<'_> = read(frame)?;
        Ok((line.kind.0, line.object.get().as_bytes()))
    }

    fn event_object<'a>(body: &'a [u8], _: &str) -> Result<&'a [u8], DecodeError> {
        Ok(body)
    }

    fn bookmark(object: &[u8]) -> Result<(String, bool), DecodeError> {
        let Fields(meta) = read::<ObjectJson<MetaJson<'_>>>(object)?.metadata;
        let ends =
            meta.annotations.is_some_and(|annotations: KnownAnnotations<'_>| annotations.initial_events_end);
        Ok((meta.resource_version.to_string(), ends))
    }

    fn list_head(metadata: &[u8]) -> Result<ListHead, DecodeError> {
        let head: ListMetaJson<'_> = read(metadata)?;
        let (version, onward) = (head.resource_version.to_string(), head.continue_token.to_string());
        Ok(ListHead { version, onward })
    }

    fn status(object: &[u8]) -> Result<ApiStatus, DecodeError> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct StatusJson<'a> {
            #[serde(borrow)]
            message: Text<'a>,
            #[serde(borrow)]
            reason: Text<'a>,
            details: Fields<StatusDetailsJson>,
            code: Option<i32>,
        }

        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct StatusDetailsJson {
            retry_after_seconds: Option<i32>,
        }

        let status: StatusJson<'_> = read(object)?;
        let wait = status.details.retry_after_seconds.unwrap_or_default();
        Ok(ApiStatus::new(status.code.unwrap_or_default(), &status.reason, &status.message, wait))
    }

    fn identity(object: &[u8]) -> ObjectIdentity {
        let text = |member: Option<&RawValue>| {
            member
                .and_then(|raw| serde_json::from_str::<String>(raw.get()).ok())
                .filter(|text| !text.is_empty())
        };
        let parts = members(object, ["metadata", "spec"]);
        let [meta, spec] = parts.map(|part| part.map_or(&b""[..], |raw| raw.get().as_bytes()));
        let [uid, namespace, name, version] =
            members(meta, ["uid", "namespace", "name", "resourceVersion"]).map(text);
        let [node] = members(spec, ["nodeName"]).map(text);
        ObjectIdentity {
            uid: uid.map(|uid| Uid::new(&uid)),
            namespace: namespace.unwrap_or_default(),
            name: name.unwrap_or_default(),
            node: node.map(|node| NodeName::new(&node)),
            version: version.and_then(|version| ResourceVersion::parse(&version)),
        }
    }

    fn waits_for_nothing(object: &[u8]) -> bool {
        let Some(meta) = member_at(object, &["metadata"]) else { return false };
        let [grace, finalizers] =
            members(meta.get().as_bytes(), ["deletionGracePeriodSeconds", "finalizers"]);
        grace.is_none_or(|grace| matches!(grace.get(), "0" | "null"))
            && finalizers.is_none_or(|finalizers| {
                serde_json::from_str::<Option<Vec<String>>>(finalizers.get())
                    .is_ok_and(|finalizers| finalizers.unwrap_or_default().is_empty())
            })
    }
}

/// Decodes an object into its mirror; an error has the path of the place where serde stopped.
pub(crate) fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, DecodeError> {
    object_from_slice(bytes).map_err(|error| {
        let path = json_path::path_to(bytes, error.line(), error.column());
        let error = DecodeError::new(sanitize(&error.to_string(), 120));
        if path.is_empty() { error } else { error.at(&sanitize(&path, 120)) }
    })
}

fn uid<L, A>(meta: &MetaJson<'_, L, A>) -> Result<Uid, DecodeError> {
    match (&*meta.name, &*meta.uid) {
        ("", _) => Err(DecodeError::new("missing").at("metadata.name")),
        (_, "") => Err(DecodeError::new("missing").at("metadata.uid")),
        (_, uid) => Ok(Uid::new(uid)),
    }
}

fn version<L, A>(meta: &MetaJson<'_, L, A>) -> Option<ResourceVersion> {
    ResourceVersion::parse(&meta.resource_version)
}

fn time(text: Option<&Text<'_>>, path: &str) -> Result<Option<Wall>, DecodeError> {
    text.map_or(Ok(None), |text| time_from_text(text).map_err(|error| DecodeError::from(error).at(path)))
}

/// Returns an object's managed fields, in a second pass over it: few objects need it. None if they cannot be read.
fn managed(bytes: &[u8]) -> Vec<ManagedFieldsJson<'_>> {
    let entries = member_at(bytes, &["metadata", "managedFields"]);
    let entries = entries.map(|raw| serde_json::from_str::<CappedList<ManagedFieldsJson<'_>>>(raw.get()));
    entries.and_then(Result::ok).unwrap_or_default().0
}
