//! Keeps what happened to nodes and pods in etcd's order, as a watch showed it.
//!
//! - Pure: times are seconds since the begin of the campaign. A change that the campaign wrote has a number, and the time at which it was
//!   sent is the earliest at which it can have taken effect; the time at which the watch showed it is the latest.

use serde_json::Value;
use std::collections::BTreeMap;

/// The annotation with the number of the change that wrote an object.
pub(crate) const CHANGE: &str = "campaign.example.com/change";

/// When something took effect: not before it was sent, and not after it was observed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct EffectiveTime {
    pub(crate) earliest: f64,
    pub(crate) latest: f64,
}

/// A NoExecute taint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TaintRecord {
    pub(crate) start: EffectiveTime,
    /// Whether the taint says itself when it was added.
    pub(crate) has_time: bool,
}

/// A node from one change to the next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NodeVersion {
    pub(crate) change: u64,
    pub(crate) uid: String,
    pub(crate) since: EffectiveTime,
    /// By key. A node that is gone has none.
    pub(crate) taints: BTreeMap<String, TaintRecord>,
}

/// A version of a pod.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PodVersion {
    pub(crate) at: f64,
    pub(crate) version: String,
    /// The seconds that it tolerates a key; `None` is indefinitely.
    pub(crate) tolerations: BTreeMap<String, Option<u32>>,
    pub(crate) is_terminating: bool,
    /// Its grace period is over, and it is removed unless the API server was interrupted: whatever deletes it again, finishes that
    /// (P31).
    pub(crate) is_half_deleted: bool,
}

/// A pod and all its versions.
#[derive(Clone, Debug)]
pub(crate) struct ObservedPod {
    pub(crate) name: String,
    pub(crate) node: String,
    pub(crate) created: EffectiveTime,
    pub(crate) states: Vec<PodVersion>,
    /// When it was gone, unless it came back.
    pub(crate) gone: Option<f64>,
}

/// All nodes and pods.
#[derive(Debug, Default)]
pub(crate) struct CampaignHistory {
    nodes: BTreeMap<String, Vec<NodeVersion>>,
    pods: BTreeMap<String, ObservedPod>,
    sent: BTreeMap<u64, f64>,
    /// Each state by its change: a restored store brings it back with the times of its taints.
    written: BTreeMap<u64, NodeVersion>,
}

impl CampaignHistory {
    /// A change is about to be sent; returns its number.
    pub(crate) fn send(&mut self, at: f64) -> u64 {
        let change = self.sent.len() as u64 + 1;
        self.sent.insert(change, at);
        change
    }

    /// Forgets what later episodes do not need: the last state of each object stays.
    pub(crate) fn forget_past(&mut self) {
        for states in self.nodes.values_mut() {
            states.drain(..states.len().saturating_sub(1));
        }
        self.pods.retain(|_, pod| pod.gone.is_none());
        for pod in self.pods.values_mut() {
            pod.states.drain(..pod.states.len().saturating_sub(1));
        }
    }

    /// The states of a node in order.
    pub(crate) fn node(&self, name: &str) -> &[NodeVersion] {
        self.nodes.get(name).map_or(&[], Vec::as_slice)
    }

    /// All pods by UID.
    pub(crate) const fn pods(&self) -> &BTreeMap<String, ObservedPod> {
        &self.pods
    }

    /// A list of nodes is complete: those that it does not contain are gone.
    pub(crate) fn list_nodes(&mut self, items: &[Value], at: f64) {
        let listed = |name: &String| items.iter().any(|node| text(node, "/metadata/name") == *name);
        let gone: Vec<String> = self.nodes.keys().filter(|name| !listed(name)).cloned().collect();
        gone.iter().for_each(|name| self.node_gone(name, at));
        items.iter().for_each(|node| self.node_applied(node, at));
    }

    /// The same for pods.
    pub(crate) fn list_pods(&mut self, items: &[Value], at: f64) {
        let listed = |uid: &String| items.iter().any(|pod| text(pod, "/metadata/uid") == *uid);
        let gone = self.pods.iter().filter(|(uid, pod)| pod.gone.is_none() && !listed(uid));
        let gone: Vec<String> = gone.map(|(uid, _)| uid.clone()).collect();
        gone.iter().for_each(|uid| self.pod_gone(uid, at));
        items.iter().for_each(|pod| self.pod_applied(pod, at));
    }

    /// The watch shows a node.
    pub(crate) fn node_applied(&mut self, node: &Value, at: f64) {
        let (name, uid) = (text(node, "/metadata/name"), text(node, "/metadata/uid"));
        let change = change_of(node);
        let states = self.nodes.entry(name).or_default();
        let last = states.last();
        if last.is_some_and(|last| last.change == change && last.uid == uid) {
            return;
        }
        let since = EffectiveTime { earliest: self.sent.get(&change).copied().unwrap_or(0.0), latest: at };
        let kept = last.filter(|last| last.uid == uid);
        let items = node.pointer("/spec/taints").and_then(Value::as_array).into_iter().flatten();
        let taint = |taint: &Value| {
            let (key, has_time) = (text(taint, "/key"), taint.get("timeAdded").is_some());
            let kept = kept.and_then(|kept| kept.taints.get(&key)).copied();
            (key, kept.unwrap_or(TaintRecord { start: since, has_time }))
        };
        let taints = items.filter(|taint| taint["effect"] == "NoExecute").map(taint).collect();
        let new = NodeVersion { change, uid, since, taints };
        let state = match self.written.get(&change) {
            Some(before) => returned(before, kept, at),
            None => new,
        };
        self.written.entry(change).or_insert_with(|| state.clone());
        states.push(state);
    }

    /// The watch shows that a node is gone.
    pub(crate) fn node_gone(&mut self, name: &str, at: f64) {
        let Some(states) = self.nodes.get_mut(name) else { return };
        let earliest = states.last().map_or(at, |last| last.since.latest);
        let since = EffectiveTime { earliest, latest: at };
        states.push(NodeVersion { change: 0, uid: String::new(), since, taints: BTreeMap::new() });
    }

    /// The watch shows a pod.
    pub(crate) fn pod_applied(&mut self, pod: &Value, at: f64) {
        let (uid, version) = (text(pod, "/metadata/uid"), text(pod, "/metadata/resourceVersion"));
        let created =
            EffectiveTime { earliest: self.sent.get(&change_of(pod)).copied().unwrap_or(0.0), latest: at };
        let record = self.pods.entry(uid).or_insert_with(|| ObservedPod {
            name: text(pod, "/metadata/name"),
            node: text(pod, "/spec/nodeName"),
            created,
            states: Vec::new(),
            gone: None,
        });
        if record.gone.take().is_some() {
            // It comes a second time, and may have its whole time once more.
            record.created.latest = at;
        }
        let mut tolerations = BTreeMap::new();
        for toleration in pod.pointer("/spec/tolerations").and_then(Value::as_array).into_iter().flatten() {
            let seconds =
                toleration["tolerationSeconds"].as_u64().and_then(|seconds| u32::try_from(seconds).ok());
            // The first that matches counts.
            tolerations.entry(text(toleration, "/key")).or_insert(seconds);
        }
        let is_terminating = pod.pointer("/metadata/deletionTimestamp").is_some();
        let is_half_deleted = is_terminating && pod["metadata"]["deletionGracePeriodSeconds"] == 0;
        let state = PodVersion { at, version, tolerations, is_terminating, is_half_deleted };
        if record.states.last().is_none_or(|last| last.version != state.version) {
            record.states.push(state);
        }
    }

    /// The watch shows that a pod is gone.
    pub(crate) fn pod_gone(&mut self, uid: &str, at: f64) {
        if let Some(pod) = self.pods.get_mut(uid) {
            pod.gone = Some(at);
        }
    }
}

/// A state that a restored store brought back. A taint that had been removed begins with its return at the latest.
fn returned(before: &NodeVersion, last: Option<&NodeVersion>, at: f64) -> NodeVersion {
    let mut state = before.clone();
    state.since.latest = at;
    for (key, taint) in &mut state.taints {
        let latest = last.and_then(|last| last.taints.get(key)).map_or(at, |last| last.start.latest);
        taint.start.latest = taint.start.latest.max(latest);
    }
    state
}

fn text(object: &Value, pointer: &str) -> String {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The number of the change that wrote an object; 0 if another client created it.
fn change_of(object: &Value) -> u64 {
    let annotation = &object["metadata"]["annotations"][CHANGE];
    annotation.as_str().and_then(|number| number.parse().ok()).unwrap_or_default()
}
