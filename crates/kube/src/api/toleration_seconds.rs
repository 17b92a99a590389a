//! Sends the patch of a pod's `tolerationSeconds` and of the annotation that records its own ones, the ceiling of a
//! namespace, and the progress of backfill in a policy's status.

use super::paged_list::{ListRequest, pages};
use super::{ApiClient, ErrorHints, JSON_PATCH, MANAGED, RequestError, RequestSpec, ResourcePath, bodies};
use crate::decode::{Decoded, DecodedPod, ObjectBody, WatchedObject as _, object_from_body};
use crate::guard_annotation::{GUARD, encode_guard};
use crate::hold_annotations::{HELD, encode_record};
use crate::json_patch;
use crate::toleration_writer::wrote_tolerations;
use crate::wire::{BackfillJson, PolicyStatusJson};
use bytes::Bytes;
use http::Method;
use serde_json::{Map, Value, json};
use std::time::Duration;
use taintward_core::api_error::ApiFailure;
use taintward_core::identity::PodRef;
use taintward_core::toleration::Toleration;
use taintward_core::toleration_guard::CEILING_LABEL;
use taintward_core::toleration_seconds::{
    BackfillProgress, HeldPodFact, PatchedRecord, PolicyStatusWrite, RecordState, SecondsPatch,
};

/// The maximum wait for a page of pods.
const PAGE_WAIT: Duration = Duration::from_secs(30);

impl ApiClient {
    /// Writes seconds and annotation in one write, if the pod has the observed UID and tolerations. Returns the pod
    /// afterwards.
    ///
    /// # Errors
    /// A [`RequestError`]; [`ApiFailure::Conflict`] if pod or tolerations have changed, [`ApiFailure::NotFound`] if
    /// there is no such pod, or it is terminating.
    pub async fn write_toleration_seconds(&self, patch: &SecondsPatch) -> Result<HeldPodFact, RequestError> {
        let resource = ResourcePath::pod(patch.pod.name(), "")?;
        let spec = RequestSpec {
            content: JSON_PATCH,
            body: body(patch),
            hints: ErrorHints::Tests,
            ..RequestSpec::default()
        };
        let response = self.send(Method::PATCH, &resource, MANAGED, spec).await?;
        let decoded = match object_from_body::<DecodedPod>(&response.content_type, &response.body) {
            ObjectBody::Object(Decoded::Object(pod)) => pod.for_holds(),
            ObjectBody::Object(Decoded::Unbound(_)) => None,
            ObjectBody::Object(Decoded::Undecodable(odd)) => {
                return Err(RequestError::unreadable(&resource, odd.why));
            }
            ObjectBody::Status(status) => return Err(RequestError::unreadable(&resource, status.message)),
            ObjectBody::Foreign(why) => return Err(RequestError::unreadable(&resource, why)),
        };
        decoded.ok_or_else(|| {
            RequestError::ours(ApiFailure::NotFound, format!("{resource} is about to be evicted"))
        })
    }
}

impl ApiClient {
    /// Lists the bound pods without a record whose tolerations Taintward was the last to write, page by page.
    ///
    /// # Errors
    /// Why a page could not be read.
    pub async fn pods_written_without_record(&self) -> Result<Vec<PodRef>, RequestError> {
        let fields = "spec.nodeName!=";
        let pods = ListRequest { group: "", plural: "pods", namespace: "", selector: "", fields };
        let mut found = Vec::new();
        pages(&self.client, pods, PAGE_WAIT, &mut |body| {
            if wrote_tolerations(body)
                && let Decoded::Object(pod) = DecodedPod::from_json(body)
                && let Some(pod) = pod.for_holds()
                && pod.record == RecordState::Absent
            {
                found.push(PodRef { node: pod.node, uid: pod.id.uid().clone() });
            }
            Ok(())
        })
        .await?;
        Ok(found)
    }

    /// Writes the ceiling of a namespace's pods into its label; `None` removes the label.
    ///
    /// # Errors
    /// A [`RequestError`]; [`ApiFailure::NotFound`] if there is no such namespace.
    pub async fn write_ceiling(&self, namespace: &str, seconds: Option<i64>) -> Result<(), RequestError> {
        let resource = ResourcePath::named("", "namespaces", "", namespace)?;
        let label = seconds.map(|seconds| seconds.to_string());
        let body = json!({ "metadata": { "labels": { CEILING_LABEL: label } } });
        let spec = RequestSpec {
            content: bodies::MERGE_PATCH,
            body: Bytes::from(body.to_string()),
            ..RequestSpec::default()
        };
        self.send(Method::PATCH, &resource, MANAGED, spec).await.map(drop)
    }

    /// Writes the progress of backfill to the status of a policy.
    ///
    /// # Errors
    /// A [`RequestError`]; [`ApiFailure::Conflict`] if the policy of this name has another UID now.
    pub async fn write_policy_status(&self, write: &PolicyStatusWrite) -> Result<(), RequestError> {
        let resource = ResourcePath::policy(&write.name, "status")?;
        let BackfillProgress { generation, current, pending, own } = write.progress;
        let backfill = BackfillJson { current, pending, own };
        let status = PolicyStatusJson { observed_generation: generation, backfill };
        let body = json!({ "metadata": { "uid": write.uid.to_string() }, "status": status });
        let spec = RequestSpec {
            content: bodies::MERGE_PATCH,
            body: Bytes::from(body.to_string()),
            ..RequestSpec::default()
        };
        self.send(Method::PATCH, &resource, MANAGED, spec).await.map(drop)
    }
}

/// Builds the patch. For an API server, an absent member equals `null`.
fn body(patch: &SecondsPatch) -> Bytes {
    let tolerations: Vec<Value> = patch.tolerations.iter().map(written).collect();
    let mut steps = vec![
        json_patch::test("/metadata/uid", &json!(patch.pod.uid().to_string())),
        json_patch::test("/spec/tolerations", &json!(tolerations)),
    ];
    for (at, seconds) in &patch.write.seconds {
        let path = format!("/spec/tolerations/{at}/tolerationSeconds");
        let had = patch.tolerations.get(*at).is_some_and(|toleration| toleration.seconds.is_some());
        match seconds {
            Some(seconds) => steps.push(json!({ "op": "add", "path": path, "value": seconds })),
            None if had => steps.push(json!({ "op": "remove", "path": path })),
            None => {}
        }
    }
    annotation_steps(patch, &mut steps);
    Bytes::from(Value::Array(steps).to_string())
}

/// The steps that leave the pod with the annotation of its record, and with no other one.
fn annotation_steps(patch: &SecondsPatch, steps: &mut Vec<Value>) {
    let (held, guard) = match &patch.write.record {
        PatchedRecord::None => (None, None),
        PatchedRecord::Hold(record) => (Some(encode_record(record)), None),
        PatchedRecord::Guard(record) => (None, Some(encode_guard(record))),
    };
    for (name, had, text) in [(HELD, patch.records.hold, held), (GUARD, patch.records.guard, guard)] {
        let path = format!("/metadata/annotations/{}", json_patch::escaped(name));
        match (text, had) {
            (Some(text), true) => steps.push(json!({ "op": "replace", "path": path, "value": text })),
            (Some(text), false) if patch.is_annotated => {
                steps.insert(1, json_patch::test(&path, &Value::Null));
                steps.push(json!({ "op": "add", "path": path, "value": text }));
            }
            (Some(text), false) => {
                steps.insert(1, json_patch::test("/metadata/annotations", &Value::Null));
                steps.push(json!({ "op": "add", "path": "/metadata/annotations", "value": { name: text } }));
            }
            (None, true) => steps.push(json!({ "op": "remove", "path": path })),
            (None, false) => {}
        }
    }
}

/// A toleration as the API server writes it.
fn written(toleration: &Toleration) -> Value {
    let Toleration { key, operator, value, effect, seconds } = toleration;
    let effect = effect.as_ref().map(|effect| effect.as_str()).unwrap_or_default();
    let texts = [("key", &**key), ("operator", operator.as_str()), ("value", &**value), ("effect", effect)];
    let texts = texts.into_iter().filter(|(_, text)| !text.is_empty());
    let mut object: Map<String, Value> = texts.map(|(name, text)| (name.to_owned(), json!(text))).collect();
    object.extend(seconds.map(|seconds| ("tolerationSeconds".to_owned(), json!(seconds))));
    Value::Object(object)
}
