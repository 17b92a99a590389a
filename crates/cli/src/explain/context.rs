//! Reads what explanations are made from: the objects, the controllers that act, and the namespace.

use super::explain_args::ExplainOptions;
use super::target::TargetKind;
use crate::active_controllers::ActiveControllers;
use crate::cluster_state::details::EventDetails;
use crate::cluster_state::related::{RelatedObjects, in_cluster, in_files};
use crate::cluster_state::related_details::ObjectNames;
use crate::cluster_state::{ClusterReader, ClusterStateError, no_nodes};
use crate::runtime::Runtime;
use crate::taint_note::TaintNote;
use taintward_core::cluster_snapshot::ClusterSnapshot;
use taintward_core::taint::Taint;

/// What the explanations are made from.
pub(super) struct ExplainContext {
    related: RelatedObjects,
    /// `None` for files, which cannot tell.
    controllers: Option<ActiveControllers>,
    /// The namespace of pods; `None`: any.
    namespace: Option<String>,
}

impl ExplainContext {
    pub(super) const fn new(
        related: RelatedObjects,
        controllers: Option<ActiveControllers>,
        namespace: Option<String>,
    ) -> Self {
        Self { related, controllers, namespace }
    }

    /// Reads the files or the cluster that the options name.
    pub(super) fn read(options: &ExplainOptions) -> Result<Self, ClusterStateError> {
        let names = |kind| {
            let those = options.targets.iter().filter(move |target| target.kind == kind);
            those.map(|target| target.name.clone()).collect()
        };
        let (pods, nodes) = (names(TargetKind::Pod), names(TargetKind::Node));
        let workloads = options.targets.iter().filter_map(|target| match target.kind {
            TargetKind::Workload(owner) => Some((owner, target.name.clone())),
            TargetKind::Pod | TargetKind::Node => None,
        });
        let workloads = workloads.collect();
        if !options.files.is_empty() {
            let named = options.cluster.named_namespace();
            let namespace = (!named.is_empty()).then(|| named.to_owned());
            let wanted = ObjectNames { pods, nodes, workloads, namespace: namespace.clone() };
            let related = in_files(&options.files, wanted, options.as_of, options.numeric);
            if related.state.snapshot.nodes().is_empty() {
                return Err(no_nodes(related.state));
            }
            return Ok(Self::new(related, None, namespace));
        }
        let runtime = Runtime::new()?;
        runtime.block_on(async {
            let cluster = ClusterReader::of(&options.cluster).await?;
            let namespace = Some(options.cluster.namespace(&cluster.connected).to_owned());
            let wanted = ObjectNames { pods, nodes, workloads, namespace: namespace.clone() };
            let related = in_cluster(&cluster, wanted, options.as_of, options.numeric).await;
            let now = related.state.snapshot.now().wall;
            let controllers = ActiveControllers::of(&cluster, now).await;
            Ok(Self::new(related, Some(controllers), namespace))
        })
    }

    pub(super) const fn related(&self) -> &RelatedObjects {
        &self.related
    }

    pub(super) const fn snapshot(&self) -> &ClusterSnapshot {
        &self.related.state.snapshot
    }

    /// The controllers that act; `None` for files, which cannot tell.
    pub(super) const fn controllers(&self) -> Option<&ActiveControllers> {
        self.controllers.as_ref()
    }

    /// The namespace of pods; `None`: any.
    pub(super) fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Events about a pod, the newest last.
    pub(super) fn events(&self, namespace: Option<&str>, name: &str) -> Vec<&EventDetails> {
        let is_about = |event: &&EventDetails| {
            event.about == name && namespace.is_none_or(|namespace| event.namespace == namespace)
        };
        let mut events: Vec<&EventDetails> = self.related.details.events.iter().filter(is_about).collect();
        events.sort_by_key(|event| event.last);
        events
    }

    /// The note about a taint of a node.
    pub(super) fn note(&self, node: &str, taint: &Taint) -> Option<TaintNote> {
        let annotations = &self.related.details.nodes.get(node)?.annotations;
        TaintNote::about(taint, |key| annotations.get(key).map(String::as_str))
    }
}
