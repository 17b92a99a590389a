//! Tells whether a process holds a Lease, from the Lease alone.
//!
//! - Invariant: a lease counts as abandoned only after several of its own durations, because clocks differ.

use crate::api::RequestBudget;
use crate::api::RequestError;
use crate::api::paged_list::{self, ListRequest};
use crate::wire::{Fields, LeaseSpecJson, MetaJson, ObjectJson, Whole, object_from_slice};
use jiff::Timestamp;
use kube::Client;
use taintward_core::time::Wall;

/// A lease older than this many of its own durations counts as abandoned.
const LENGTHS: i64 = 4;

type LeaseJson<'a> = ObjectJson<MetaJson<'a>, Fields<LeaseSpecJson<'a, Whole>>>;

/// The state of a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseHolder {
    /// A process renews it.
    Held {
        /// The process.
        holder: String,
        /// Since when, if the lease says so.
        since: Option<Wall>,
    },
    /// It has not been renewed for this many seconds.
    Stale(i64),
    /// It exists but has no holder.
    Free,
    /// It does not exist.
    Absent,
    /// It could not be read.
    Unread(String),
}

impl LeaseHolder {
    /// The state of the Lease with this JSON.
    pub fn of(json: &[u8], now: Wall) -> Self {
        match object_from_slice(json) {
            Ok(lease) => Self::of_lease(&lease, now),
            Err(why) => Self::Unread(why.to_string()),
        }
    }

    fn of_lease(LeaseJson { spec, .. }: &LeaseJson<'_>, now: Wall) -> Self {
        if spec.holder_identity.is_empty() {
            return Self::Free;
        }
        let renewed = spec.renew_time.as_ref().and_then(|time| time.parse::<Timestamp>().ok());
        let Some(renewed) = renewed else { return Self::Free };
        let age = now.as_micros().saturating_sub(renewed.as_microsecond()) / 1_000_000;
        match age > i64::from(spec.lease_duration_seconds.unwrap_or(15)).saturating_mul(LENGTHS) {
            true => Self::Stale(age),
            false => {
                let acquired = spec.acquire_time.parse::<Timestamp>().ok();
                let since = acquired.map(|at| Wall::from_micros(at.as_microsecond()));
                Self::Held { holder: spec.holder_identity.to_string(), since }
            }
        }
    }
}

/// The namespaces in which a lease of this name is held, each with the holder.
///
/// # Errors
/// Why leases of all namespaces cannot be listed.
pub async fn holders(
    client: &Client,
    name: &str,
    now: Wall,
    limit: impl Into<RequestBudget>,
) -> Result<Vec<(String, String)>, RequestError> {
    let fields = format!("metadata.name={name}");
    let (group, plural) = ("coordination.k8s.io", "leases");
    let listing = ListRequest { group, plural, namespace: "", selector: "", fields: &fields };
    let mut holders = Vec::new();
    paged_list::pages(client, listing, limit, &mut |json| {
        let lease: LeaseJson<'_> = object_from_slice(json)?;
        if let LeaseHolder::Held { holder, .. } = LeaseHolder::of_lease(&lease, now) {
            holders.push((lease.metadata.namespace.to_string(), holder));
        }
        Ok(())
    })
    .await?;
    Ok(holders)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_held_stale_or_free() {
        let lease = |spec: &str| {
            let now: Timestamp = "2026-11-21T14:00:00Z".parse().unwrap();
            let json = format!(r#"{{"spec": {{{spec}}}}}"#);
            LeaseHolder::of(json.as_bytes(), Wall::from_micros(now.as_microsecond()))
        };
        let spec =
            |time| format!(r#""holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": "{time}""#);
        let held = LeaseHolder::Held { holder: "a".into(), since: None };
        assert_eq!(lease(&spec("2026-11-21T13:59:59.000000Z")), held);
        assert_eq!(lease(&spec("2026-11-21T14:00:05.000000Z")), held, "clocks may differ");
        assert_eq!(lease(&spec("2026-11-21T13:59:00.000000Z")), held);
        assert_eq!(lease(&spec("2026-11-21T13:58:59.000000Z")), LeaseHolder::Stale(61));
        assert_eq!(lease(r#""holderIdentity": """#), LeaseHolder::Free);
        assert_eq!(lease(""), LeaseHolder::Free);
    }
}
