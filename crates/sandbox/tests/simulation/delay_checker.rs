//! Checks on the server's commit log, independently of the core, that no eviction is earlier than a hold, a budget or a
//! rate allows.
//!
//! - hold: nothing that is held is evicted. deadline: before its deadline, a pod under the policy leaves only by the eviction API.
//!   rate: the policy's evictions are no more than it allows in a minute.

use super::delays::{HOLD, SELECTED};
use super::log::{LogKind, LoggedCommit};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};

/// How long a controller may not know of a change of an object, while its watch is broken. A live read shows the hold of a
/// node sooner.
const UNKNOWN: SignedDuration = SignedDuration::from_secs(60);
const UNREAD: SignedDuration = SignedDuration::from_secs(5);

/// How much earlier than its commit a start may be: times in objects have seconds.
const EARLIER: SignedDuration = SignedDuration::from_secs(2);

/// A minute, less the time that requests are under way.
const NEARLY_A_MINUTE: SignedDuration = SignedDuration::from_secs(54);

/// A hold: its annotation, since when that exists, and its end.
#[derive(Clone, Debug)]
struct CheckedHold {
    text: String,
    known: Timestamp,
    until: Timestamp,
}

/// The node of evictions.
#[derive(Clone, Debug, Default)]
struct DelayedNode {
    /// When each NoExecute taint was added.
    taints: BTreeMap<String, Timestamp>,
    /// When it last had a taint that the policy does not select.
    ungoverned: Option<Timestamp>,
    hold: Option<CheckedHold>,
}

#[derive(Clone, Debug, Default)]
struct DelayedPod {
    is_over: bool,
    bound: Option<Timestamp>,
    hold: Option<CheckedHold>,
}

#[derive(Default)]
pub(crate) struct DelayChecker {
    /// The spec of the policy, and since when it exists.
    policy: Option<(Value, Timestamp)>,
    nodes: BTreeMap<String, DelayedNode>,
    pods: BTreeMap<String, DelayedPod>,
    /// The last evictions under the policy.
    evicted: VecDeque<Timestamp>,
    pub(crate) faults: Vec<String>,
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// The hold that an object has; it keeps the time of one that it has already.
fn hold(object: &Value, known: Option<CheckedHold>, at: Timestamp) -> Option<CheckedHold> {
    let text = object["metadata"]["annotations"][HOLD].as_str()?;
    if let Some(hold) = known.filter(|hold| hold.text == text) {
        return Some(hold);
    }
    let order: Value = serde_json::from_str(text).ok().filter(|order: &Value| order["action"] == "hold")?;
    let until = order["until"].as_str()?.parse().ok()?;
    Some(CheckedHold { text: text.to_owned(), known: at, until })
}

impl DelayChecker {
    pub(crate) fn receive(&mut self, commit: &LoggedCommit) {
        match commit.kind {
            LogKind::Node => self.observe_node(commit),
            LogKind::Pod => self.observe_pod(commit),
            LogKind::Policy => self.observe_policy(commit),
            LogKind::Lease | LogKind::Other => {}
        }
    }

    fn observe_policy(&mut self, commit: &LoggedCommit) {
        let before = self.policy.take().filter(|_| !commit.gone);
        let spec = commit.object["spec"].clone();
        self.policy = (!commit.gone).then(|| before.unwrap_or((spec, commit.at)));
    }

    fn observe_node(&mut self, commit: &LoggedCommit) {
        let name = text(&commit.object["metadata"], "name").to_owned();
        let before = self.nodes.remove(&name).unwrap_or_default();
        if commit.gone {
            return;
        }
        let is_selected = |key: &String| SELECTED.contains(&key.as_str());
        let had_other = before.taints.keys().any(|key| !is_selected(key));
        let present = commit.object["spec"]["taints"].as_array().into_iter().flatten();
        let keys = present.filter(|taint| taint["effect"] == "NoExecute").map(|taint| text(taint, "key"));
        let taints: BTreeMap<String, Timestamp> =
            keys.map(|key| (key.to_owned(), before.taints.get(key).copied().unwrap_or(commit.at))).collect();
        let ungoverned = if had_other { Some(commit.at) } else { before.ungoverned };
        let hold = hold(&commit.object, before.hold, commit.at);
        self.nodes.insert(name, DelayedNode { taints, ungoverned, hold });
    }

    fn observe_pod(&mut self, commit: &LoggedCommit) {
        let uid = text(&commit.object["metadata"], "uid").to_owned();
        let before = self.pods.get(&uid).cloned().unwrap_or_default();
        let ends = commit.gone || !commit.object["metadata"]["deletionTimestamp"].is_null();
        if ends && !before.is_over && !commit.ours {
            self.judge(&before, commit);
        }
        let is_bound = !text(&commit.object["spec"], "nodeName").is_empty();
        let pod = DelayedPod {
            is_over: before.is_over || ends,
            bound: before.bound.or(is_bound.then_some(commit.at)),
            hold: hold(&commit.object, before.hold, commit.at),
        };
        self.pods.insert(uid, pod);
    }

    /// A pod is evicted.
    fn judge(&mut self, pod: &DelayedPod, commit: &LoggedCommit) {
        let (at, name) = (commit.at, text(&commit.object["metadata"], "name"));
        let node = self.nodes.get(text(&commit.object["spec"], "nodeName")).cloned().unwrap_or_default();
        for (hold, unknown) in [(&node.hold, UNREAD), (&pod.hold, UNKNOWN)] {
            if hold.as_ref().is_some_and(|hold| hold.known + unknown <= at && at < hold.until) {
                self.faults.push(format!("hold: {name} was evicted at {at:.3} though held: {hold:?}"));
            }
        }
        let Some(spec) = self.governing(&node, at) else { return };
        self.judge_budget(&spec, &node, pod, commit);
        self.judge_rate(&spec, at);
    }

    /// The policy, if every controller knows that it governs evictions from the node.
    fn governing(&self, node: &DelayedNode, at: Timestamp) -> Option<Value> {
        let (spec, since) = self.policy.as_ref()?;
        let is_selected = node.taints.keys().all(|key| SELECTED.contains(&key.as_str()));
        let is_known = |since: Timestamp| since + UNKNOWN <= at;
        let governs = is_selected && is_known(*since) && node.ungoverned.is_none_or(is_known);
        governs.then(|| spec.clone())
    }

    fn judge_budget(&mut self, spec: &Value, node: &DelayedNode, pod: &DelayedPod, commit: &LoggedCommit) {
        let Some(respect) = spec["respectBudgets"].as_object() else { return };
        let conditions = commit.object["status"]["conditions"].as_array().into_iter().flatten();
        if conditions.into_iter().any(|one| one["reason"] == "EvictionByEvictionAPI") {
            return;
        }
        let deadline = respect.get("deadlineSeconds").and_then(Value::as_i64);
        let first = node.taints.values().min().copied().max(pod.bound);
        let forced = first.zip(deadline).map(|(due, deadline)| due + SignedDuration::from_secs(deadline));
        if forced.is_none_or(|forced| commit.at + EARLIER < forced) {
            let name = text(&commit.object["metadata"], "name");
            self.faults.push(format!(
                "deadline: {name} was deleted at {:.3}, not before {forced:?}, in spite of its budget: {node:?}",
                commit.at
            ));
        }
    }

    fn judge_rate(&mut self, spec: &Value, at: Timestamp) {
        let Some(most) = spec["maxPodsPerMinute"].as_u64() else { return };
        self.evicted.push_back(at);
        self.evicted.retain(|before| at < *before + NEARLY_A_MINUTE);
        if self.evicted.len() as u64 > most {
            self.faults
                .push(format!("rate: {} pods were evicted in a minute at {at:.3}", self.evicted.len()));
        }
    }
}
