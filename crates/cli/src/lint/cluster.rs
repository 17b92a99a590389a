//! Reads nodes, workloads and pods without a workload from a running cluster; what cannot be read becomes a gap.

use super::collect::{CollectedObjects, Collector, PodFindings};
use super::object::{self, LintObjectKind};
use crate::args::kube_args::ClusterOptions;
use crate::cluster_state::{ClusterStateError, greeted};
use crate::manifest::{self, YamlNode};
use crate::runtime::Runtime;
use taintward_core::api_error::ApiFailure;
use taintward_core::lint::{LintInput, LintedWorkload, WorkloadRules};
use taintward_core::toleration_matching::NumericOperators;
use taintward_kube::api::RequestError;
use taintward_kube::api::paged_list::{ListRequest, pages};
use taintward_kube::config::Connected;
use taintward_kube::decode::{DecodeError, GROUP};

/// API group, plural name and kind.
type ListedKind = (&'static str, &'static str, &'static str);

/// Kinds with pods, owners before what they own.
const OWNERS: [ListedKind; 6] = [
    ("apps", DAEMONSETS, "DaemonSet"),
    ("apps", "deployments", "Deployment"),
    ("apps", "statefulsets", "StatefulSet"),
    ("batch", "cronjobs", "CronJob"),
    ("batch", "jobs", "Job"),
    ("apps", "replicasets", "ReplicaSet"),
];

const PODS: ListedKind = ("", "pods", "Pod");

const DAEMONSETS: &str = "daemonsets";

/// Fields of `metadata` and `spec` that no rule reads.
const UNUSED: [&str; 2] = ["managedFields", "volumes"];

/// Reads all objects of the selected cluster.
pub(super) fn read(
    cluster: &ClusterOptions,
    numeric: NumericOperators,
    pods: PodFindings,
) -> Result<CollectedObjects, ClusterStateError> {
    with(cluster, async |reader| reader.all(numeric, pods).await)
}

/// Adds the cluster's nodes and DaemonSets to objects from files.
pub(super) fn around(
    cluster: &ClusterOptions,
    mut files: CollectedObjects,
) -> Result<CollectedObjects, ClusterStateError> {
    let needs_budgets = files.policies.need_budgets();
    let around = with(cluster, async |reader| {
        let (mut basket, mut gaps) = (Collector::default(), Vec::new());
        reader.nodes(&mut basket, &mut gaps).await;
        let mut around = CollectedObjects { gaps, ..basket.into_gathered() };
        reader.all_daemons(&mut around).await;
        reader.policies(&mut around, needs_budgets).await;
        around
    })?;
    files.facts.nodes.extend(around.facts.nodes);
    files.nodes.extend(around.nodes);
    files.facts.other_daemons = around.facts.other_daemons;
    files.facts.daemons_known |= around.facts.daemons_known;
    files.policies.extend(around.policies);
    files.gaps.extend(around.gaps);
    files.unchecked.extend(around.unchecked);
    files.counts.nodes += around.counts.nodes;
    Ok(files)
}

fn with(
    cluster: &ClusterOptions,
    read: impl AsyncFnOnce(ClusterLint<'_>) -> CollectedObjects,
) -> Result<CollectedObjects, ClusterStateError> {
    Runtime::new()?.block_on(async {
        let (connected, _) = greeted(&cluster.server.settings, cluster.server.timeout).await?;
        Ok(read(ClusterLint { cluster, connected: &connected }).await)
    })
}

struct ClusterLint<'c> {
    cluster: &'c ClusterOptions,
    connected: &'c Connected,
}

impl ClusterLint<'_> {
    async fn all(&self, numeric: NumericOperators, findings: PodFindings) -> CollectedObjects {
        let (mut basket, mut gaps) = (Collector::default(), Vec::new());
        let mut room = self.nodes(&mut basket, &mut gaps).await;
        let listing = ListRequest::all("node.k8s.io", "runtimeclasses");
        // Without them, rules about the nodes of pods that name one are not applied.
        let put = &mut |tree: &YamlNode| basket.put_runtime_class(tree);
        let _ = self.each(listing, "RuntimeClass", put).await;
        let mut daemons_read = true;
        for owner in OWNERS {
            let put = &mut |tree: &YamlNode| room &= basket.put(None, tree);
            let read = self.selected(owner, put, &mut gaps).await;
            daemons_read &= read || owner.1 != DAEMONSETS;
        }
        let facts = LintInput { nodes: basket.nodes(), numeric, ..LintInput::default() };
        let rules = WorkloadRules::new(&facts);
        let put = &mut |tree: &YamlNode| room &= basket.put_pod(tree, &rules, findings);
        self.selected(PODS, put, &mut gaps).await;
        if !room {
            gaps.push(
                "this cluster has more objects than the command reads; choose a namespace with -n".to_owned(),
            );
        }
        let mut gathered = CollectedObjects { gaps, ..basket.into_gathered() };
        gathered.facts.daemons_known = daemons_read;
        let is_limited =
            !self.cluster.namespace(self.connected).is_empty() || !self.cluster.selector().is_empty();
        if daemons_read && is_limited {
            self.all_daemons(&mut gathered).await;
        }
        self.policies(&mut gathered, false).await;
        gathered
    }

    /// A cluster may lack their definition; without permission, it is not known whether it does. `needs_budgets`: policies
    /// of files do.
    async fn policies(&self, gathered: &mut CollectedObjects, needs_budgets: bool) {
        let listing = ListRequest::all(GROUP, "evictionpolicies");
        let put = &mut |tree: &YamlNode| _ = gathered.policies.put(None, tree);
        match self.each(listing, "EvictionPolicy", put).await {
            Ok(()) => {}
            Err(why) if why.failure == ApiFailure::NotFound => {}
            Err(why) if why.failure == ApiFailure::Forbidden => {
                gathered
                    .unchecked
                    .push(format!("eviction policies, if there are any, are not checked: {why}"));
            }
            Err(why) => {
                gathered.gaps.push(format!("{why}; the results of rules TL4 are missing or incomplete"))
            }
        }
        if needs_budgets || gathered.policies.need_budgets() {
            let listing = ListRequest::all("policy", "poddisruptionbudgets");
            let put = &mut |tree: &YamlNode| _ = gathered.policies.put(None, tree);
            if let Err(why) = self.each(listing, "PodDisruptionBudget", put).await {
                gathered.gaps.push(format!(
                    "{why}; the check for budgets that never allow an eviction (TL406) is skipped"
                ));
            }
        }
    }

    /// Reads the selected objects of a kind. Returns whether all could be read.
    async fn selected(
        &self,
        (group, plural, kind): ListedKind,
        put: &mut dyn FnMut(&YamlNode),
        gaps: &mut Vec<String>,
    ) -> bool {
        let (namespace, selector) = (self.cluster.namespace(self.connected), self.cluster.selector());
        let listing = ListRequest { group, plural, namespace, selector, fields: self.cluster.fields() };
        let read = self.each(listing, kind, put).await;
        if let Err(why) = &read {
            gaps.push(format!("{why}; {plural} are missing or incomplete"));
        }
        read.is_ok()
    }

    /// Nodes with any labels are needed to know which taints exist. Returns whether there was room for them all.
    async fn nodes(&self, basket: &mut Collector, gaps: &mut Vec<String>) -> bool {
        let mut room = true;
        let listing = ListRequest::all("", "nodes");
        let put = &mut |tree: &YamlNode| room &= basket.put(None, tree);
        if let Err(why) = self.each(listing, "Node", put).await {
            gaps.push(format!("{why}; the results of rules about nodes (TL3) are missing or incomplete"));
        }
        room
    }

    /// Node agents are mostly in a namespace of their own: to know that none of them tolerates a taint, all must be
    /// read.
    async fn all_daemons(&self, gathered: &mut CollectedObjects) {
        let mut all: Vec<LintedWorkload> = Vec::new();
        let listing = ListRequest::all("apps", DAEMONSETS);
        let put = &mut |tree: &YamlNode| {
            all.extend(object::read(tree).into_iter().filter_map(|object| match object.what {
                LintObjectKind::Workload(daemon) => Some(daemon),
                LintObjectKind::Node(_) => None,
            }));
        };
        let read = self.each(listing, "DaemonSet", put).await;
        gathered.facts.daemons_known = read.is_ok();
        gathered.facts.other_daemons = all;
        if let Err(why) = read {
            gathered.gaps.push(format!("{why}; the check whether agents tolerate taints (TL302) is skipped"));
        }
    }

    async fn each(
        &self,
        listing: ListRequest<'_>,
        kind: &str,
        put: &mut dyn FnMut(&YamlNode),
    ) -> Result<(), RequestError> {
        let version = match listing.group {
            "" => "v1".to_owned(),
            group @ GROUP => format!("{group}/v1alpha1"),
            group => format!("{group}/v1"),
        };
        let add = &mut |item: &[u8]| {
            let item =
                manifest::excerpt(item, |section, field| section != "status" && !UNUSED.contains(&field));
            let item = item.map_err(|why| DecodeError::new(why.to_string()))?;
            put(&item.called(&version, kind));
            Ok(())
        };
        pages(&self.connected.streams, listing, self.cluster.server.timeout, add).await
    }
}
