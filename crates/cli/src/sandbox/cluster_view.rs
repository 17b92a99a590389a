//! Builds what the dashboard shows: nodes with taints, pods with verdicts of the core.

use crate::board::NodeHealth;
use fakekube::api::ApiServer;
use fakekube::resource::{ResourceId, known};
use serde_json::Value;
use std::collections::HashMap;
use taintward_core::taint::TaintEffect;
use taintward_core::taint_start::{BindingSource, PodBinding, TaintStart, TaintStartSource};
use taintward_core::time::{Mono, Now, Span, Wall};
use taintward_core::toleration_matching::NumericOperators;
use taintward_core::verdict::{Outcome, PodInput, TaintInstance, judge};
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
    /// Pods that will be evicted, with their namespaces and the time left; the next first.
    pub(crate) leaving: Vec<(String, Span)>,
}

/// The objects, and the start of each taint.
pub(crate) struct ClusterView {
    server: ApiServer,
    mirror: InformerCache,
    taints: HashMap<(String, String, String), Mono>,
    pods: HashMap<Box<str>, Mono>,
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
        Self { server, mirror, taints: HashMap::new(), pods: HashMap::new() }
    }

    /// The current rows: nodes with pods to evict first, then those with taints, then the others.
    pub(crate) fn rows(&mut self) -> Vec<NodeRow> {
        self.mirror.refresh(self.server.store());
        let now = self.now();
        self.remember(now.mono);
        let mut rows: Vec<NodeRow> = self.mirror.all(nodes()).map(|(_, node)| self.row(node, now)).collect();
        rows.sort_by_cached_key(|row| (row.leaving.is_empty(), row.taints.is_empty(), natural(&row.name)));
        rows
    }

    fn now(&self) -> Now {
        let at = self.server.clock().now().as_microsecond();
        Now::exact(Mono::from_micros(at), Wall::from_micros(at))
    }

    /// Records when taints and pods appeared, and forgets those that are gone.
    fn remember(&mut self, now: Mono) {
        let mut taints = HashMap::new();
        for (_, node) in self.mirror.all(nodes()) {
            for taint in core_types::taints(node) {
                let key = (text(node, "uid"), taint.key.to_string(), taint.effect.as_str().to_owned());
                let since = self.taints.get(&key).copied().unwrap_or(now);
                taints.insert(key, since);
            }
        }
        self.taints = taints;
        let bound = self.mirror.pods(None).filter(|(_, pod)| pod.node.is_some()).map(|(_, pod)| pod.uid());
        let mut before = std::mem::take(&mut self.pods);
        let since = |uid: &str| before.remove_entry(uid).unwrap_or_else(|| (uid.into(), now));
        self.pods = bound.map(since).collect();
    }

    fn row(&self, node: &Value, now: Now) -> NodeRow {
        let name = text(node, "name");
        let mut conditions = core_types::list(&node["status"]["conditions"]);
        let ready = conditions.find(|one| one["type"] == "Ready").and_then(|one| one["status"].as_str());
        let silenced = !node["metadata"]["annotations"][SILENCE].is_null();
        let state = NodeHealth::of(ready).in_words(node["spec"]["unschedulable"] == true, silenced);
        let instances = self.instances(node, now.mono);
        let (mut leaving, mut count) = (Vec::new(), 0);
        for (_, seen) in self.mirror.pods_on(&name) {
            count += 1;
            if instances.is_empty() {
                continue;
            }
            let pod = seen.value();
            let tolerations = core_types::tolerations(&pod["spec"]);
            let at = self.pods.get(seen.uid()).copied().unwrap_or(now.mono);
            let arrival = PodBinding { at, source: BindingSource::SeenLive };
            let subject = PodInput { tolerations: &tolerations, arrival, exemption: None };
            let due = match judge(&subject, &instances, NumericOperators::Off, now).outcome {
                Outcome::Stays(_) => continue,
                Outcome::StaysUntil(due) => due.since(now.mono),
                Outcome::Leaves { .. } => Span::ZERO,
            };
            leaving.push((format!("{}/{}", text(&pod, "namespace"), text(&pod, "name")), due));
        }
        leaving.sort_by_key(|(name, due)| (due.as_micros(), name.clone()));
        let zone =
            node["metadata"]["labels"]["topology.kubernetes.io/zone"].as_str().unwrap_or_default().to_owned();
        let taints = core_types::taints(node).iter().map(ToString::to_string).collect();
        NodeRow { name, zone, state, taints, pods: count, leaving }
    }

    fn instances(&self, node: &Value, now: Mono) -> Vec<TaintInstance> {
        let uid = text(node, "uid");
        let counted =
            core_types::taints(node).into_iter().filter(|taint| taint.effect == TaintEffect::NoExecute);
        let instance = |taint: taintward_core::taint::Taint| {
            let key = (uid.clone(), taint.key.to_string(), taint.effect.as_str().to_owned());
            let at = self.taints.get(&key).copied().unwrap_or(now);
            TaintInstance {
                start: TaintStart { at, source: TaintStartSource::SeenLive, clamped: false },
                taint,
            }
        };
        counted.map(instance).collect()
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
