//! Deletes pods that are bound to nodes which do not exist.
//!
//! - Invariant: it waits for [`QUARANTINE`], as upstream does, because the node may come back.

use super::pods::{is_over, on, pods};
use super::{Controller, ReconcileContext};
use fakekube::api::{self, DeleteOptions, WriteOptions};
use fakekube::resource::{Subresource, known};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use std::collections::BTreeMap;

const NAME: &str = "pod-garbage-collector";

/// How long a node must be gone.
const QUARANTINE: SignedDuration = SignedDuration::from_secs(40);

/// Since when each missing node of a pod is gone.
#[derive(Default)]
pub(super) struct PodGarbageCollector {
    gone: BTreeMap<String, Timestamp>,
}

impl Controller for PodGarbageCollector {
    fn step(&mut self, view: &ReconcileContext<'_>) -> Option<Timestamp> {
        let nodes = known("", "nodes");
        if view.changed.any(nodes) || view.changed.any(pods()) {
            let mut gone = BTreeMap::new();
            for node in view.mirror.nodes_of_pods() {
                if view.mirror.one(nodes, node).is_none() {
                    let since = self.gone.get(node).copied().unwrap_or(view.now);
                    gone.insert(node.to_owned(), since);
                }
            }
            self.gone = gone;
        }
        for (node, _) in self.gone.iter().filter(|(_, since)| **since + QUARANTINE <= view.now) {
            delete_all(view, node);
        }
        let due = self.gone.values().map(|since| *since + QUARANTINE);
        due.filter(|due| *due > view.now).min()
    }
}

fn delete_all(view: &ReconcileContext<'_>, node: &str) {
    for (_, pod) in view.mirror.pods_on(node) {
        let value = pod.value();
        let message = "PodGC: node no longer exists";
        let condition = json!({
            "type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC", "message": message,
            "observedGeneration": value["metadata"]["generation"],
            "lastProbeTime": null, "lastTransitionTime": view.server.clock().time_text(),
        });
        let _ = view.server.change(&on(pods(), &value).part(Subresource::Status), NAME, |pod| {
            api::set_condition(pod, condition);
            if !is_over(pod) {
                pod["status"]["phase"] = json!("Failed");
            }
        });
        let how =
            DeleteOptions { uid: Some(pod.uid().to_owned()), grace: Some(0), ..DeleteOptions::default() };
        let _ = view.server.delete(&on(pods(), &value), &how, &WriteOptions::by(NAME));
    }
}
