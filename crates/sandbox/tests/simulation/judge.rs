//! # Judge: what the commit log says
//! Room:     S1-S4, S10 and L1 on the server's own log, computed anew and naively; nothing of the core decides here.
//! Comes in: commits in order, each with its time.
//! Goes out: sentences about what must not be.
//! Not here: playing.

use jiff::Timestamp;
use serde_json::Value;
use std::collections::HashMap;

/// How old the facts behind a deletion may be: W of S2.
const WINDOW: f64 = 5.0;

/// How much later than due a pod may be told to go once everything works again: L1.
const LATE: f64 = 60.0;

/// One commit.
#[derive(Clone, Debug)]
pub(crate) struct Commit {
    pub(crate) at: Timestamp,
    pub(crate) node: bool,
    pub(crate) gone: bool,
    pub(crate) object: Value,
    /// Whether the script did it, not the controller.
    pub(crate) ours: bool,
}

/// A taint while it is there.
#[derive(Clone, Debug)]
struct Instance {
    key: String,
    value: String,
    since: Timestamp,
    until: Option<Timestamp>,
}

#[derive(Clone, Debug, Default)]
struct Pod {
    node: String,
    bound: Option<Timestamp>,
    /// Tolerations as they were, from this time on.
    tolerations: Vec<(Timestamp, Value)>,
    deleted: Option<Timestamp>,
    name: String,
}

#[derive(Default)]
pub(crate) struct Judge {
    taints: HashMap<String, Vec<Instance>>,
    pods: HashMap<String, Pod>,
    pub(crate) faults: Vec<String>,
    pub(crate) deletions: u64,
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

fn seconds(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64()
}

impl Judge {
    pub(crate) fn hear(&mut self, commit: &Commit) {
        match commit.node {
            true => self.node(commit),
            false => self.pod(commit),
        }
    }

    fn node(&mut self, commit: &Commit) {
        let name = text(&commit.object["metadata"], "name").to_owned();
        let instances = self.taints.entry(name).or_default();
        let present: Vec<(String, String)> = match commit.gone {
            true => Vec::new(),
            false => commit.object["spec"]["taints"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|taint| taint["effect"] == "NoExecute")
                .map(|taint| (text(taint, "key").to_owned(), text(taint, "value").to_owned()))
                .collect(),
        };
        for instance in instances.iter_mut().filter(|instance| instance.until.is_none()) {
            match present.iter().find(|(key, _)| *key == instance.key) {
                Some((_, value)) => instance.value.clone_from(value),
                None => instance.until = Some(commit.at),
            }
        }
        for (key, value) in present {
            if !instances.iter().any(|instance| instance.until.is_none() && instance.key == key) {
                instances.push(Instance { key, value, since: commit.at, until: None });
            }
        }
    }

    fn pod(&mut self, commit: &Commit) {
        let metadata = &commit.object["metadata"];
        let uid = text(metadata, "uid").to_owned();
        let pod = self.pods.entry(uid.clone()).or_default();
        pod.name = text(metadata, "name").to_owned();
        let node = text(&commit.object["spec"], "nodeName");
        if !node.is_empty() && pod.bound.is_none() {
            (pod.node, pod.bound) = (node.to_owned(), Some(commit.at));
        }
        let tolerations = commit.object["spec"]["tolerations"].clone();
        if pod.tolerations.last().is_none_or(|(_, last)| *last != tolerations) {
            pod.tolerations.push((commit.at, tolerations));
        }
        let ends = commit.gone || !metadata["deletionTimestamp"].is_null();
        if ends && pod.deleted.is_none() {
            pod.deleted = Some(commit.at);
            if !commit.ours {
                self.deletions += 1;
                self.judge_deletion(&uid, commit.at);
            }
        }
    }

    /// S1-S4: at some moment within the window the pod was due.
    fn judge_deletion(&mut self, uid: &str, at: Timestamp) {
        let pod = self.pods[uid].clone();
        let instances = self.taints.get(&pod.node).cloned().unwrap_or_default();
        // Facts change at commits: the moments that count are the deletion itself and just before each change.
        let mut moments = vec![at];
        let changes = instances
            .iter()
            .filter_map(|one| one.until)
            .chain(pod.tolerations.iter().map(|(since, _)| *since));
        moments.extend(changes.filter(|change| *change <= at && seconds(*change, at) <= WINDOW));
        let justified = moments
            .iter()
            .any(|moment| due(&pod, &instances, *moment, true).is_some_and(|due| due <= *moment));
        if !justified {
            let due = due(&pod, &instances, at, false);
            self.faults.push(format!(
                "S2/S3: {} on {} was deleted at {at} though it was not due (due {due:?}; taints {instances:?}; {:?})",
                pod.name, pod.node, pod.tolerations
            ));
        }
    }

    /// L1: whoever is due has been told to go.
    pub(crate) fn judge_end(&mut self, now: Timestamp) {
        for pod in self.pods.values().filter(|pod| pod.deleted.is_none()) {
            let instances = self.taints.get(&pod.node).cloned().unwrap_or_default();
            if let Some(due) = due(pod, &instances, now, false)
                && seconds(due, now) > LATE
            {
                self.faults.push(format!(
                    "L1: {} on {} was due at {due} and is still there at {now}",
                    pod.name, pod.node
                ));
            }
        }
    }
}

/// When a pod is due, by what was so at a moment; with `just_before`, by what was so up to it.
fn due(pod: &Pod, instances: &[Instance], moment: Timestamp, just_before: bool) -> Option<Timestamp> {
    let bound = pod.bound?;
    let then = pod.tolerations.iter().filter(|(since, _)| *since <= moment);
    let versions: Vec<&Value> = then.map(|(_, tolerations)| tolerations).collect();
    // Just before a change, the version before it counts as well.
    let recent = versions.iter().rev().take(if just_before { 2 } else { 1 });
    let mut earliest = None;
    for tolerations in recent {
        for instance in instances {
            let there = instance.since <= moment
                && instance
                    .until
                    .is_none_or(|until| if just_before { until >= moment } else { until > moment });
            if !there {
                continue;
            }
            let start = instance.since.max(bound);
            if let Some(patience) = patience(tolerations, instance) {
                let due = start + jiff::SignedDuration::from_secs(patience.clamp(0, 1 << 30));
                earliest = Some(earliest.map_or(due, |known: Timestamp| known.min(due)));
            }
        }
    }
    earliest
}

/// Seconds that a pod bears a taint; `None` is for ever. The first toleration that matches counts (MATCH-9).
fn patience(tolerations: &Value, taint: &Instance) -> Option<i64> {
    for one in tolerations.as_array().into_iter().flatten() {
        let (key, effect, operator) = (text(one, "key"), text(one, "effect"), text(one, "operator"));
        let key_fits = key == taint.key || (key.is_empty() && operator == "Exists");
        let effect_fits = effect.is_empty() || effect == "NoExecute";
        let value_fits = operator == "Exists" || text(one, "value") == taint.value;
        if key_fits && effect_fits && value_fits {
            return one["tolerationSeconds"].as_i64();
        }
    }
    Some(0)
}
