//! Generates leases in both encodings with the expected fact.

use super::{SampleMeta, Timestamp, meta, moment, option, pbmeta, sample_meta, text};
use k8s_openapi::api::coordination::v1 as api;
use k8s_pb::api::coordination::v1 as pb;
use proptest::prelude::*;
use prost::Message;
use taintward_core::identity::{NodeName, ResourceVersion};
use taintward_core::node_lifecycle::LeaseFact;
use taintward_core::time::Wall;

#[derive(Clone, Debug)]
pub(crate) struct SampleLease {
    meta: SampleMeta,
    holder: Option<String>,
    /// Seconds and microseconds.
    renewed: Option<(i64, i32)>,
}

pub(crate) fn sample_lease() -> impl Strategy<Value = SampleLease> {
    let holder = option::of(text(&["n1", ""]));
    let renewed = option::of((moment(), 0..1_000_000));
    (sample_meta(), holder, renewed).prop_map(|(meta, holder, renewed)| SampleLease { meta, holder, renewed })
}

impl SampleLease {
    pub(crate) fn protobuf(&self) -> Vec<u8> {
        let time = |(seconds, micros): (i64, i32)| pbmeta::MicroTime {
            seconds: Some(seconds),
            nanos: Some(micros * 1000),
        };
        pb::Lease {
            metadata: Some(self.meta.pb()),
            spec: Some(pb::LeaseSpec {
                holder_identity: self.holder.clone(),
                lease_duration_seconds: Some(40),
                acquire_time: Some(pbmeta::MicroTime { seconds: Some(7), nanos: Some(0) }),
                renew_time: self.renewed.map(time),
                ..pb::LeaseSpec::default()
            }),
        }
        .encode_to_vec()
    }

    pub(crate) fn json(&self) -> Vec<u8> {
        let time = |(seconds, micros): (i64, i32)| {
            meta::MicroTime(Timestamp::from_microsecond(seconds * 1_000_000 + i64::from(micros)).unwrap())
        };
        let lease = api::Lease {
            metadata: self.meta.api(),
            spec: Some(api::LeaseSpec {
                holder_identity: self.holder.clone(),
                lease_duration_seconds: Some(40),
                acquire_time: Some(time((7, 0))),
                renew_time: self.renewed.map(time),
                ..api::LeaseSpec::default()
            }),
        };
        serde_json::to_vec(&lease).unwrap()
    }

    pub(crate) fn fact(&self) -> LeaseFact {
        let micros =
            |(seconds, micros): (i64, i32)| Wall::from_micros(seconds * 1_000_000 + i64::from(micros));
        LeaseFact {
            node: NodeName::new(&self.meta.name),
            version: ResourceVersion::parse(&self.meta.version),
            renewed: self.renewed.map(micros),
        }
    }
}
