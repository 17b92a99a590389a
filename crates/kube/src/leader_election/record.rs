//! Reads and writes the election record in the JSON of a Lease.
//!
//! - Invariant: all other fields of the object stay (S8).

use crate::wire::{Fields, LeaseSpecJson, Whole};
use serde::Deserialize as _;
use serde_json::{Value, json};
use taintward_core::time::Span;

/// What a lease says. The two times are kept as the text they are: they are other clocks' times, and nothing but
/// equality is ever asked of them (P28).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LeaseRecord {
    /// `holderIdentity`; empty if the lease is free.
    pub(super) holder: String,
    /// `leaseDurationSeconds`.
    pub(super) duration: Span,
    /// `acquireTime`.
    pub(super) acquired: String,
    /// `renewTime`.
    pub(super) renewed: String,
    /// `leaseTransitions`.
    pub(super) transitions: i32,
}

impl LeaseRecord {
    /// Reads the record of a Lease object.
    pub(super) fn of(lease: &Value) -> Result<Self, String> {
        let spec = lease.get("spec").unwrap_or(&Value::Null);
        let Fields(spec) = Fields::<LeaseSpecJson<'_, Whole>>::deserialize(spec)
            .map_err(|why| format!("the lease's spec: {why}"))?;
        Ok(Self {
            holder: spec.holder_identity.to_string(),
            duration: Span::from_secs(spec.lease_duration_seconds.unwrap_or_default().into()),
            acquired: spec.acquire_time.to_string(),
            renewed: spec.renew_time.as_deref().unwrap_or_default().to_owned(),
            transitions: spec.lease_transitions.unwrap_or_default(),
        })
    }

    /// A new Lease object.
    pub(super) fn create(&self, namespace: &str, name: &str) -> Value {
        let mut lease = json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": { "namespace": namespace, "name": name },
        });
        self.put_into(&mut lease);
        lease
    }

    /// Puts the record in the place of the one in `lease`.
    pub(super) fn put_into(&self, lease: &mut Value) {
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
    fn a_record_survives_the_way_there_and_back() {
        let record = LeaseRecord {
            holder: "a".into(),
            duration: Span::from_secs(15),
            acquired: "2027-01-15T08:00:00.000000Z".into(),
            renewed: "2027-01-15T08:00:02.000000Z".into(),
            transitions: 3,
        };
        assert_eq!(LeaseRecord::of(&record.create("kube-system", "taintward")), Ok(record));
    }

    #[test]
    fn what_is_not_ours_stays() {
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
    fn an_empty_lease_is_free_and_a_broken_one_says_so() {
        for lease in [json!({}), json!({ "spec": null }), json!({ "spec": { "holderIdentity": null } })] {
            assert_eq!(LeaseRecord::of(&lease), Ok(LeaseRecord::default()));
        }
        assert!(
            LeaseRecord::of(&json!({ "spec": { "holderIdentity": 5 } }))
                .unwrap_err()
                .contains("the lease's spec")
        );
        assert!(LeaseRecord::of(&json!({ "spec": { "leaseTransitions": 99_999_999_999_i64 } })).is_err());
    }
}
