//! Builds what the dashboard shows: nodes with taints, and the pods that will be evicted from them.

use crate::board::NodeHealth;
use crate::pending::PendingRow;
use fakekube::api::ApiServer;
use fakekube::resource::{ResourceId, known};
use serde_json::Value;
use std::collections::HashMap;
use taintward_core::time::Mono;
use taintward_sandbox::controllers::{InformerCache, SILENCE};
use taintward_sandbox::core_types;

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeRow {
    pub(crate) name: String,
    pub(crate) zone: String,
    /// The state in words.
    pub(crate) state: String,
    pub(crate) taints: Vec<String>,
    pub(crate) pods: usize,
    /// Pods that will be evicted, with their namespaces and deadlines; the next first.
    pub(crate) evictions: Vec<(String, Mono)>,
}

/// The objects of nodes and pods.
pub(crate) struct ClusterView {
    server: ApiServer,
    mirror: InformerCache,
}

fn nodes() -> ResourceId {
    known("", "nodes")
}

fn pods() -> ResourceId {
    known("", "pods")
}

impl ClusterView {
    pub(crate) fn new(server: ApiServer) -> Self {
        let mirror = InformerCache::new(&[nodes(), pods()]);
        Self { server, mirror }
    }

    /// The current rows: nodes with pods to evict first, the next eviction first, then those with taints, then the others.
    pub(crate) fn rows(&mut self, pending: Vec<PendingRow>) -> Vec<NodeRow> {
        self.mirror.refresh(self.server.store());
        let mut evictions: HashMap<String, Vec<(String, Mono)>> = HashMap::new();
        for PendingRow { namespace, pod, node, evicted_at, .. } in pending {
            evictions.entry(node).or_default().push((format!("{namespace}/{pod}"), evicted_at));
        }
        let all = self.mirror.all(nodes());
        let mut rows: Vec<NodeRow> = all.map(|(_, node)| self.row(node, &mut evictions)).collect();
        rows.sort_by_cached_key(|row| {
            let next = row.evictions.first().map_or(Mono::NEVER, |(_, at)| *at);
            (next, row.taints.is_empty(), natural(&row.name))
        });
        rows
    }

    fn row(&self, node: &Value, evictions: &mut HashMap<String, Vec<(String, Mono)>>) -> NodeRow {
        let name = text(node, "name");
        let mut conditions = core_types::list(&node["status"]["conditions"]);
        let ready = conditions.find(|one| one["type"] == "Ready").and_then(|one| one["status"].as_str());
        let silenced = !node["metadata"]["annotations"][SILENCE].is_null();
        let state = NodeHealth::of(ready).in_words(node["spec"]["unschedulable"] == true, silenced);
        let zone =
            node["metadata"]["labels"]["topology.kubernetes.io/zone"].as_str().unwrap_or_default().to_owned();
        let taints = core_types::taints(node).iter().map(ToString::to_string).collect();
        let (pods, evictions) =
            (self.mirror.pods_on(&name).count(), evictions.remove(&name).unwrap_or_default());
        NodeRow { name, zone, state, taints, pods, evictions }
    }
}

/// A sort key by which n2 precedes n10.
fn natural(name: &str) -> (String, u64) {
    let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    (stem.to_owned(), name[stem.len()..].parse().unwrap_or(0))
}

fn text(object: &Value, field: &str) -> String {
    object["metadata"][field].as_str().unwrap_or_default().to_owned()
}
