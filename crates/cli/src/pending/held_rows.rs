//! Lists the pods whose countdowns are paused: they have no deadline, and do not stay either.

use crate::cluster_state::NAMED_MAX;
use crate::held_pod;
use crate::messages::{self, counted};
use crate::output::enumerated;
use serde_json::{Value, json};
use taintward_core::cluster_snapshot::{ClusterSnapshot, CountdownRecord};
use taintward_core::forecast::{NodeForecast, PodForecast};
use taintward_core::time::Now;
use taintward_core::verdict::{Outcome, StayReason};

/// A held pod.
#[derive(Debug)]
pub(super) struct HeldRow {
    pub(super) namespace: String,
    pod: String,
    node: String,
    record: CountdownRecord,
}

impl HeldRow {
    /// `None` for a pod that is not held.
    pub(super) fn of(snapshot: &ClusterSnapshot, node: &NodeForecast, fate: &PodForecast) -> Option<Self> {
        let pod = &snapshot.pods()[fate.pod as usize];
        (fate.after == Outcome::Stays(StayReason::OnHold)).then(|| Self {
            namespace: pod.name.namespace().to_owned(),
            pod: pod.name.name().to_owned(),
            node: snapshot.nodes()[node.node].fact.name.to_string(),
            record: pod.record.clone(),
        })
    }

    /// The remark about held pods, if there are any. `offline`: the flags with which another command reads the same files.
    pub(super) fn remark(rows: &[Self], now: Now, offline: &str) -> Option<String> {
        let first = rows.first()?;
        let be = if rows.len() == 1 { "is" } else { "are" };
        let names: Vec<String> = rows.iter().map(|row| format!("{}/{}", row.namespace, row.pod)).collect();
        Some(format!(
            "{} {be} held and without a deadline: {}. The first {}; taintward explain pod/{} -n {}{offline} shows why",
            counted(rows.len(), "pod"),
            enumerated(&names, NAMED_MAX),
            messages::held(&first.record, now),
            first.pod,
            first.namespace
        ))
    }

    /// The JSON for programs.
    pub(super) fn object(&self) -> Value {
        json!({
            "namespace": self.namespace,
            "pod": self.pod,
            "node": self.node,
            "hold": held_pod::object(&self.record, None),
        })
    }
}
