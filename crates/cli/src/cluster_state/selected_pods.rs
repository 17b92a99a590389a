//! Applies `-n`, `-l` and `--field-selector` to the pods of a snapshot, for commands that must know all pods.
//!
//! - Invariant: selectors are evaluated as an API server does, also for files.

use super::ClusterStateError;
use super::pod_fields::PodFieldSelector;
use crate::args::kube_args::ClusterOptions;
use serde_json::Value;
use std::collections::BTreeSet;
use taintward_core::cluster_snapshot::ClusterSnapshot;
use taintward_core::label_requirements::LabelRequirements;
use taintward_core::scheduling::Labels;

fn labels(pod: &Value) -> Labels {
    let entries = pod["metadata"]["labels"].as_object().into_iter().flatten();
    entries.map(|(key, value)| (key.as_str().into(), value.as_str().unwrap_or_default().into())).collect()
}

/// Which pods are meant.
#[derive(Clone, Debug, Default)]
pub(super) struct SelectedPods {
    /// All if empty.
    namespace: String,
    labels: LabelRequirements,
    fields: PodFieldSelector,
    /// Namespaces and names of those that the selector fits, where there is one.
    fitting: BTreeSet<(String, String)>,
}

impl SelectedPods {
    pub(super) fn of(cluster: &ClusterOptions) -> Result<Self, ClusterStateError> {
        let labels = LabelRequirements::parse(&cluster.selector).map_err(ClusterStateError::Selector)?;
        let fields = PodFieldSelector::parse(&cluster.fields).map_err(ClusterStateError::Selector)?;
        let namespace = cluster.named_namespace().to_owned();
        Ok(Self { namespace, labels, fields, fitting: BTreeSet::new() })
    }

    fn selects_all(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// A pod that is read. Who names no namespace is in `home`.
    pub(super) fn look(&mut self, json: &[u8], home: &str) {
        if self.selects_all() {
            return;
        }
        let Ok(mut pod) = serde_json::from_slice::<Value>(json) else { return };
        if pod["metadata"]["namespace"].as_str().unwrap_or_default().is_empty() {
            pod["metadata"]["namespace"] = home.into();
        }
        if self.labels.matches(&labels(&pod)) && self.fields.matches(&pod) {
            let text = |field: &str| pod["metadata"][field].as_str().unwrap_or_default().to_owned();
            self.fitting.insert((text("namespace"), text("name")));
        }
    }

    /// Of each pod, whether it is meant; empty: all are.
    pub(super) fn among(&self, snapshot: &ClusterSnapshot) -> Vec<bool> {
        if self.namespace.is_empty() && self.selects_all() {
            return Vec::new();
        }
        let is_meant = |name: &taintward_core::identity::PodName| {
            let (namespace, name) = (name.namespace(), name.name());
            (self.namespace.is_empty() || *self.namespace == *namespace)
                && (self.selects_all() || self.fitting.contains(&(namespace.to_owned(), name.to_owned())))
        };
        snapshot.pods().iter().map(|pod| is_meant(&pod.name)).collect()
    }

    /// The namespace that was named, where no pod is in it: a slip of the pen, perhaps.
    pub(super) fn empty_namespace(&self, snapshot: &ClusterSnapshot) -> Option<&str> {
        let is_there = snapshot.pods().iter().any(|pod| *pod.name.namespace() == *self.namespace);
        (!self.namespace.is_empty() && !is_there).then_some(self.namespace.as_str())
    }
}
