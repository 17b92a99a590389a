//! Counts the held pods of the nodes, and lists the pods that no hold can cover.

use crate::toleration_seconds::each;
use std::collections::BTreeMap;
use taintward_core::taint::Taint;
use taintward_core::toleration_hold::{HoldCoverage, UncoveredReason};
use taintward_core::toleration_seconds::{HeldPodFact, RecordState};
use taintward_kube::api::paged_list::ListRequest;
use taintward_kube::api::{RequestBudget, RequestError};
use taintward_kube::decode::{DecodedNode, DecodedPod};

/// The pods of the selected nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PodCounts {
    /// Pods whose seconds a hold has cleared.
    pub(crate) held: usize,
    /// Pods with seconds that a hold would clear.
    pub(crate) not_held: usize,
    /// Pods whose countdown continues despite a hold.
    pub(crate) uncovered: Vec<(String, UncoveredReason)>,
}

/// The present state of the pods of these nodes.
pub(crate) async fn read(
    client: &kube::Client,
    nodes: &[String],
    limit: RequestBudget,
) -> Result<PodCounts, RequestError> {
    let taints = silent_nodes(client, nodes, limit).await?;
    let fields = match nodes {
        [one] => format!("spec.nodeName={one}"),
        _ => "spec.nodeName!=".to_owned(),
    };
    let pods = ListRequest { group: "", plural: "pods", namespace: "", selector: "", fields: &fields };
    let mut counts = PodCounts::default();
    each(client, pods, limit, |pod: DecodedPod, _| {
        if let Some(taints) = taints.get(pod.pod.node.as_str())
            && let Some(pod) = pod.for_holds()
        {
            counts.count(&pod, taints);
        }
    })
    .await?;
    Ok(counts)
}

/// The taints of those of these nodes that are silent; none for the others.
async fn silent_nodes(
    client: &kube::Client,
    nodes: &[String],
    limit: RequestBudget,
) -> Result<BTreeMap<String, Vec<Taint>>, RequestError> {
    let mut found: BTreeMap<String, Vec<Taint>> =
        nodes.iter().map(|name| (name.clone(), Vec::new())).collect();
    let fields = match nodes {
        [one] => format!("metadata.name={one}"),
        _ => String::new(),
    };
    let request = ListRequest { group: "", plural: "nodes", namespace: "", selector: "", fields: &fields };
    each(client, request, limit, |node: DecodedNode, _| {
        if node.for_holds().is_silent
            && let Some(taints) = found.get_mut(node.taints.name.as_str())
        {
            *taints = node.taints.taints;
        }
    })
    .await?;
    Ok(found)
}

impl PodCounts {
    fn count(&mut self, pod: &HeldPodFact, taints: &[Taint]) {
        if let RecordState::Known(record) = &pod.record
            && !record.is_released()
        {
            self.held += 1;
            // Held before its node became silent, it has no countdown that could continue.
            let beside = || HoldCoverage::default().beside(&pod.tolerations, taints).uncovered;
            let uncovered = record.counted_since().and_then(|_| beside());
            self.uncovered.extend(uncovered.map(|reason| (pod.id.name().to_string(), reason)));
            return;
        }
        let coverage = HoldCoverage::of(&pod.tolerations).beside(&pod.tolerations, taints);
        if pod.record != RecordState::Undecodable && !coverage.positions.is_empty() {
            self.not_held += 1;
        }
        self.uncovered.extend(coverage.uncovered.map(|reason| (pod.id.name().to_string(), reason)));
    }
}
