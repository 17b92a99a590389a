//! Reads and writes the Lease, and the election record in its JSON.
//!
//! - Invariant: all other fields of the object stay (S8). A lease whose version goes back tells that the server's store
//!   was restored from a backup: everything is listed again (L4).

use super::{ElectionAction, LeaseRecord, LeaseResponse, LeaseSettings};
use crate::api::{RequestError, RequestSpec, ResourcePath, send_request};
use crate::watch::RelistTrigger;
use crate::wire::{Fields, LeaseSpecJson, Whole};
use bytes::Bytes;
use http::Method;
use kube::Client;
use serde::Deserialize as _;
use serde_json::{Value, json};
use taintward_core::api_error::ApiFailure;
use taintward_core::identity::ResourceVersion;
use taintward_core::time::Span;
use thiserror::Error;

/// Why the lease could not be read or written; one sentence.
#[derive(Debug, Error)]
#[error("{0}")]
pub(super) struct LeaseError(String);

/// The Lease object on the API server, and its last known state.
pub(super) struct LeaseStore {
    client: Client,
    settings: LeaseSettings,
    object: Option<Value>,
    /// The version of the last response.
    version: Option<ResourceVersion>,
    relist_now: RelistTrigger,
}

impl LeaseStore {
    pub(super) fn new(client: Client, settings: LeaseSettings, relist_now: RelistTrigger) -> Self {
        Self { client, settings, object: None, version: None, relist_now }
    }

    /// Reads and writes only with GET, POST and PUT: the server's own priority for leases covers these but not PATCH
    /// (P28). Every PUT has the resourceVersion that it replaces.
    pub(super) async fn carry_out(&mut self, request: ElectionAction) -> Result<LeaseResponse, LeaseError> {
        let (method, body) = match request {
            ElectionAction::Read => (Method::GET, Bytes::new()),
            ElectionAction::Create(record) => {
                let lease = record.create(&self.settings.namespace, &self.settings.name);
                (Method::POST, lease.to_string().into())
            }
            ElectionAction::Replace(record) => {
                let Some(lease) = &mut self.object else { return Ok(LeaseResponse::Conflict) };
                record.put_into(lease);
                (Method::PUT, lease.to_string().into())
            }
            ElectionAction::Wait(_) | ElectionAction::Done => return Ok(LeaseResponse::Unknown),
        };
        let limit = self.settings.rules.request_max();
        let name = if method == Method::POST { "" } else { &self.settings.name };
        let resource =
            ResourcePath::lease(&self.settings.namespace, name).map_err(|why| LeaseError(why.to_string()))?;
        let spec = send_request(
            &self.client,
            &method,
            &resource,
            resource.path(),
            RequestSpec { body, ..RequestSpec::default() },
        );
        let result = match tokio::time::timeout(limit, spec).await {
            Ok(result) => result,
            Err(_) => Err(RequestError::silence(&method, &resource, limit)),
        };
        match result {
            Ok(response) => self.keep(&method, &response.body),
            Err(RequestError { failure: ApiFailure::NotFound, .. }) if method == Method::GET => {
                Ok(LeaseResponse::Absent)
            }
            // It was deleted since it was read.
            Err(RequestError { failure: ApiFailure::NotFound, .. }) if method == Method::PUT => {
                Ok(LeaseResponse::Conflict)
            }
            Err(RequestError { failure: ApiFailure::Conflict, .. }) => Ok(LeaseResponse::Conflict),
            Err(error) => Err(LeaseError(error.message)),
        }
    }

    /// Stores the object of a response: the next PUT replaces exactly that.
    fn keep(&mut self, method: &Method, body: &[u8]) -> Result<LeaseResponse, LeaseError> {
        let read = serde_json::from_slice::<Value>(body)
            .map_err(|why| LeaseError(format!("the lease cannot be read: {why}")));
        let record = read.and_then(|lease| {
            let record = LeaseRecord::of(&lease)?;
            self.compare_version(&lease);
            self.object = Some(lease);
            Ok(record)
        });
        match (method, record) {
            (&Method::GET, Ok(record)) => Ok(LeaseResponse::Found(record)),
            // The write was done. If its response cannot be decoded, its version is unknown: read before the next.
            (_, Ok(_)) => Ok(LeaseResponse::Written),
            (_, Err(why)) => Err(why),
        }
    }

    /// Requests and responses follow each other, and a server reads leases from its store: the version never goes back.
    fn compare_version(&mut self, lease: &Value) {
        let version = lease["metadata"]["resourceVersion"].as_str().and_then(ResourceVersion::parse);
        if let (Some(from), Some(to)) = (self.version, version)
            && to < from
        {
            tracing::warn!(
                from = from.0,
                to = to.0,
                reason = "the API server's store may have been restored from a backup",
                "the lease has an older version than before, listing all objects again"
            );
            self.relist_now.request();
        }
        self.version = version;
    }
}

impl LeaseRecord {
    /// Parses the record of a Lease object.
    fn of(lease: &Value) -> Result<Self, LeaseError> {
        let spec = lease.get("spec").unwrap_or(&Value::Null);
        let Fields(spec) = Fields::<LeaseSpecJson<'_, Whole>>::deserialize(spec)
            .map_err(|why| LeaseError(format!("the lease's spec: {why}")))?;
        Ok(Self {
            holder: spec.holder_identity.to_string(),
            duration: Span::from_secs(spec.lease_duration_seconds.unwrap_or_default().into()),
            acquired: spec.acquire_time.to_string(),
            renewed: spec.renew_time.as_deref().unwrap_or_default().to_owned(),
            transitions: spec.lease_transitions.unwrap_or_default(),
        })
    }

    /// Makes a new Lease object.
    fn create(&self, namespace: &str, name: &str) -> Value {
        let mut lease = json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": { "namespace": namespace, "name": name },
        });
        self.put_into(&mut lease);
        lease
    }

    /// Replaces the record in `lease`.
    fn put_into(&self, lease: &mut Value) {
        let Some(object) = lease.as_object_mut() else { return };
        let spec = object.entry("spec").or_insert_with(|| json!({}));
        if !spec.is_object() {
            *spec = json!({});
        }
        spec["holderIdentity"] = json!(self.holder);
        spec["leaseDurationSeconds"] = json!(self.duration.as_micros() / 1_000_000);
        spec["acquireTime"] = json!(self.acquired);
        spec["renewTime"] = json!(self.renewed);
        spec["leaseTransitions"] = json!(self.transitions);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_survives_a_round_trip() {
        let record = LeaseRecord {
            holder: "a".into(),
            duration: Span::from_secs(15),
            acquired: "2027-01-15T08:00:00.000000Z".into(),
            renewed: "2027-01-15T08:00:02.000000Z".into(),
            transitions: 3,
        };
        assert_eq!(LeaseRecord::of(&record.create("kube-system", "taintward")).unwrap(), record);
    }

    #[test]
    fn foreign_fields_stay() {
        let mut lease = json!({
            "metadata": { "labels": { "team": "x" }, "resourceVersion": "7" },
            "spec": { "holderIdentity": "b", "strategy": "OldestEmulationVersion" },
        });
        LeaseRecord { holder: "a".into(), ..LeaseRecord::default() }.put_into(&mut lease);
        assert_eq!(lease["metadata"], json!({ "labels": { "team": "x" }, "resourceVersion": "7" }));
        assert_eq!(lease["spec"]["strategy"], "OldestEmulationVersion");
        assert_eq!(lease["spec"]["holderIdentity"], "a");
    }

    #[test]
    fn an_empty_lease_is_free_and_a_broken_one_is_an_error() {
        for lease in [json!({}), json!({ "spec": null }), json!({ "spec": { "holderIdentity": null } })] {
            assert_eq!(LeaseRecord::of(&lease).unwrap(), LeaseRecord::default());
        }
        assert!(
            LeaseRecord::of(&json!({ "spec": { "holderIdentity": 5 } }))
                .unwrap_err()
                .to_string()
                .contains("the lease's spec")
        );
        assert!(LeaseRecord::of(&json!({ "spec": { "leaseTransitions": 99_999_999_999_i64 } })).is_err());
    }
}
