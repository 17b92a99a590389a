//! Counts the held pods of the nodes, and lists the pods that no hold can cover.

use std::collections::BTreeSet;
use taintward_core::toleration_hold::{HoldCoverage, UncoveredReason};
use taintward_core::toleration_seconds::{HeldPodFact, RecordState};
use taintward_kube::RequestBudget;
use taintward_kube::api::RequestError;
use taintward_kube::decode::{Decoded, DecodedPod, WatchedObject as _};
use taintward_kube::paged_list::{ListRequest, pages};

/// The pods of the selected nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PodCounts {
    /// Pods whose seconds a hold has cleared.
    pub(super) held: usize,
    /// Pods with seconds that a hold would clear.
    pub(super) not_held: usize,
    /// Pods whose countdown continues despite a hold.
    pub(super) uncovered: Vec<(String, UncoveredReason)>,
}

/// The present state of the pods of these nodes.
pub(super) async fn look(
    client: &kube::Client,
    nodes: &[String],
    limit: RequestBudget,
) -> Result<PodCounts, RequestError> {
    let names: BTreeSet<&str> = nodes.iter().map(String::as_str).collect();
    let fields = match nodes {
        [one] => format!("spec.nodeName={one}"),
        _ => "spec.nodeName!=".to_owned(),
    };
    let pods = ListRequest { group: "", plural: "pods", namespace: "", selector: "", fields: &fields };
    let mut counts = PodCounts::default();
    pages(client, pods, limit, &mut |body| {
        if let Decoded::Object(pod) = DecodedPod::from_json(body)
            && names.contains(pod.pod.node.as_str())
            && let Some(pod) = pod.for_holds()
        {
            counts.count(&pod);
        }
        Ok(())
    })
    .await?;
    Ok(counts)
}

impl PodCounts {
    fn count(&mut self, pod: &HeldPodFact) {
        if let RecordState::Known(record) = &pod.record
            && !record.is_released()
        {
            self.held += 1;
            return;
        }
        let coverage = HoldCoverage::of(&pod.tolerations);
        if pod.record != RecordState::Undecodable && !coverage.positions.is_empty() {
            self.not_held += 1;
        }
        self.uncovered.extend(coverage.uncovered.map(|reason| (pod.id.name().to_string(), reason)));
    }
}
