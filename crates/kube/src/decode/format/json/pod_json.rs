//! Decodes pods from JSON.

use super::{managed, read, time, uid, version};
use crate::decode::format::{DecodeFrom, Json, PodConditionSummary, PodFields, is_another, owns_mark};
use crate::decode::{DecodeError, Decoded, DecodedPod};
use crate::wire::{
    Essential, Extent, ObjectJson, OwnerReferenceJson, PodConditionJson, PodJson, PodTemplateJson,
};
use taintward_core::cluster_snapshot::Workload;
use taintward_core::eviction_policy::PodTemplateFact;
use taintward_core::toleration::Toleration;

impl DecodeFrom<Json> for DecodedPod {
    fn decode_from(object: &[u8]) -> Result<Decoded<Self>, DecodeError> {
        decoded_pod(&read::<PodJson<'_, Essential>>(object)?, object)
    }
}

impl DecodeFrom<Json> for PodTemplateFact {
    fn decode_from(object: &[u8]) -> Result<Decoded<Self>, DecodeError> {
        let PodTemplateJson { metadata: meta, spec, .. } = read(object)?;
        let labels = meta.labels.labels();
        let owner = meta.controller().map(OwnerReferenceJson::reference);
        let workload = owner.map(|owner| Workload::of(&meta.namespace, &meta.name, &labels, Some(owner)));
        let grace_seconds = spec.termination_grace_period_seconds;
        Ok(Decoded::Object(Self { labels, workload, grace_seconds }))
    }
}

/// Decodes a mirror; the bytes it was read from are needed for what it leaves out.
pub(crate) fn decoded_pod<E: Extent>(
    object: &PodJson<'_, E>,
    bytes: &[u8],
) -> Result<Decoded<DecodedPod>, DecodeError> {
    let ObjectJson { metadata: meta, spec, status } = object;
    let annotations = meta.annotations.as_ref();
    let fields = PodFields {
        uid: uid(meta)?,
        namespace: &meta.namespace,
        name: &meta.name,
        version: version(meta),
        generation: meta.generation.unwrap_or_default(),
        owner: meta.owner_kind(),
        mirror: annotations.is_some_and(|annotations| annotations.mirror),
        made_for: annotations.map(|annotations| &*annotations.made_for).unwrap_or_default(),
        held: annotations.and_then(|annotations| annotations.held.as_deref()),
        hold: annotations.and_then(|annotations| annotations.hold.as_deref()),
        guard: annotations.and_then(|annotations| annotations.guard.as_deref()),
        is_annotated: annotations.is_some_and(|annotations| annotations.any),
        not_ready_seconds: annotations.and_then(|annotations| annotations.not_ready.as_deref()),
        unreachable_seconds: annotations.and_then(|annotations| annotations.unreachable.as_deref()),
        deleting: meta.deletion_timestamp.is_some(),
        created: time(meta.creation_timestamp.as_ref(), "metadata.creationTimestamp")?,
        node: &spec.node_name,
        tolerations: spec.tolerations.iter().map(Toleration::from).collect(),
        priority: spec.priority.unwrap_or_default(),
        priority_class: &spec.priority_class_name,
        service_account: &spec.service_account_name,
        phase: &status.phase,
        started: time(status.start_time.as_ref(), "status.startTime")?,
        conditions: read_conditions(&status.conditions)?,
    };
    fields.decoded(|| marked_by_another(bytes))
}

fn read_conditions(conditions: &[PodConditionJson<'_>]) -> Result<PodConditionSummary, DecodeError> {
    let mut summary = PodConditionSummary::default();
    for (at, condition) in conditions.iter().enumerate() {
        let PodConditionJson { kind, status, reason, last_transition_time } = condition;
        let since = time(last_transition_time.as_ref(), "lastTransitionTime")
            .map_err(|error| error.index(at).at("status.conditions"))?;
        summary.put(kind, status, reason, since);
    }
    Ok(summary)
}

/// Whether another client has set the condition, by the managed fields (P39).
fn marked_by_another(bytes: &[u8]) -> bool {
    managed(bytes).iter().any(|entry| {
        is_another(&entry.manager) && entry.fields.is_some_and(|fields| owns_mark(fields.get().as_bytes()))
    })
}
