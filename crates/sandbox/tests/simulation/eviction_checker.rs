//! Checks S1-S5, S9, S10, L1 and L3 on the server's commit log, independently of the core.

use super::log::{LogKind, LoggedCommit};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// How old the facts behind a deletion may be: W of S2.
const WINDOW: f64 = 5.0;

/// The precision of times in objects.
const RESOLUTION: SignedDuration = SignedDuration::from_secs(1);

/// How much later than its deadline a pod may be deleted once everything works again: a start that is read from objects
/// is later than the real one (S4), and retries have pauses (L2).
const LATE: f64 = 60.0;

/// How long a change may be unknown that a silent stream hides: everything is listed again (L4), and starts are read from
/// objects.
const UNKNOWN_MAX: SignedDuration = SignedDuration::from_mins(5);

/// How much later, if nothing ever failed: B of L1.
const LATE_IN_PEACE: f64 = 1.0;

/// A DELETE of a pod that arrived.
#[derive(Clone, Debug)]
pub(crate) struct RequestedDeletion {
    pub(crate) at: Timestamp,
    pub(crate) path: String,
    /// The UID that it demanded.
    pub(crate) uid: Option<String>,
    pub(crate) accepted: bool,
    pub(crate) graceless: bool,
    /// Whether the requester held the lease at this time; `None` if there is no election.
    pub(crate) led: Option<bool>,
}

/// A present NoExecute taint and its start.
#[derive(Clone, Debug)]
struct Instance {
    key: String,
    value: String,
    since: Timestamp,
    /// The earliest start that a controller may read from the object.
    reported: Timestamp,
    /// The latest start that it may read: `timeAdded`, which a user may renew, or the last write of the taints (D1).
    latest: Timestamp,
}

impl Instance {
    const fn since(&self) -> Timestamp {
        self.since
    }

    const fn reported(&self) -> Timestamp {
        self.reported
    }

    const fn latest(&self) -> Timestamp {
        self.latest
    }

    fn is_of_health(&self) -> bool {
        self.key.starts_with("node.kubernetes.io/")
    }
}

#[derive(Clone, Debug, Default)]
struct CheckedPod {
    name: String,
    node: String,
    bound: Option<Timestamp>,
    /// The latest moment that a controller may read as that: the kubelet reports it, and may do so late (D1).
    reported: Option<Timestamp>,
    tolerations: Value,
    /// Succeeded, failed, terminating or gone: exempt from eviction (D6).
    over: bool,
    deleted: bool,
    /// When it is due by the present state, and since when that state exists: no controller can know it earlier.
    due: Option<(Timestamp, Timestamp)>,
    /// The last time at which its deletion was justified.
    justified: Option<Timestamp>,
    marked: bool,
}

#[derive(Default)]
pub(crate) struct EvictionChecker {
    /// By the node's name; a recreated node has new taints.
    taints: BTreeMap<String, Vec<Instance>>,
    pods: BTreeMap<String, CheckedPod>,
    /// Nothing fails in this world: due pods leave immediately.
    peaceful: bool,
    /// From when on nothing fails and nothing changes, unless other things delay evictions in this world.
    undelayed_from: Option<Timestamp>,
    /// A stream fell silent in this world, and may stay so for good.
    pub(crate) has_silent_streams: bool,
    /// When the controllers were suspended.
    suspended: Vec<(Timestamp, Timestamp)>,
    pub(crate) faults: Vec<String>,
    pub(crate) deletions: u64,
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

fn seconds(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64()
}

/// When the pod was bound, by its status; both times are the kubelet's if the pod was created with its node.
fn binding_reported(status: &Value) -> Option<Timestamp> {
    let conditions = status["conditions"].as_array().into_iter().flatten();
    let scheduled = conditions.filter(|one| one["type"] == "PodScheduled");
    let scheduled = scheduled.map(|one| text(one, "lastTransitionTime"));
    scheduled.chain([text(status, "startTime")]).filter_map(|time| time.parse().ok()).max()
}

/// When a field manager that owns the taints last wrote the node.
fn taints_written(node: &Value) -> Option<Timestamp> {
    let managers = node["metadata"]["managedFields"].as_array().into_iter().flatten();
    let owners = managers.filter(|manager| !manager["fieldsV1"]["f:spec"]["f:taints"].is_null());
    owners.filter_map(|manager| text(manager, "time").parse().ok()).max()
}

impl EvictionChecker {
    pub(crate) fn new(peaceful: bool, undelayed_from: Option<Timestamp>) -> Self {
        Self { peaceful, undelayed_from, ..Self::default() }
    }

    /// The controllers continue at this moment, after they were suspended for so long.
    pub(crate) fn woke(&mut self, at: Timestamp, length: Duration) {
        self.suspended.push((at - length, at));
    }

    pub(crate) fn receive(&mut self, commit: &LoggedCommit) {
        match commit.kind {
            LogKind::Node => self.observe_node(commit),
            LogKind::Pod => self.observe_pod(commit),
            LogKind::Lease | LogKind::Policy | LogKind::Other => {}
        }
    }

    fn observe_node(&mut self, commit: &LoggedCommit) {
        let name = text(&commit.object["metadata"], "name").to_owned();
        let here: Vec<String> =
            self.pods.iter().filter(|(_, pod)| pod.node == name).map(|(uid, _)| uid.clone()).collect();
        here.iter().for_each(|uid| self.note(uid, commit.at));
        let present: Vec<&Value> = match commit.gone {
            true => Vec::new(),
            false => commit.object["spec"]["taints"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|taint| taint["effect"] == "NoExecute")
                .collect(),
        };
        let before = self.taints.remove(&name).unwrap_or_default();
        let (written, mut instances) = (taints_written(&commit.object), Vec::new());
        for taint in present {
            let (key, value) = (text(taint, "key").to_owned(), text(taint, "value").to_owned());
            // A changed value keeps the start.
            let known = before.iter().find(|instance| instance.key == key);
            let since = known.map_or(commit.at, Instance::since);
            let reported = known.map_or_else(|| self.reported(taint, commit.at), Instance::reported);
            let named = text(taint, "timeAdded").parse().ok().or(written);
            let latest = named.map_or(since, |named: Timestamp| named.max(since));
            instances.push(Instance { key, value, since, reported, latest });
        }
        self.taints.insert(name, instances);
        here.iter().for_each(|uid| self.settle(uid, commit.at));
    }

    /// A controller that did not see the taint appear uses its `timeAdded`, plus the rounding of one second (S4). The
    /// writer's clock set that time when it decided, so it may be too early by the clock's error and by the duration of
    /// the write. In a peaceful world, every controller saw the taint appear.
    fn reported(&self, taint: &Value, came: Timestamp) -> Timestamp {
        let earliest = came - SignedDuration::from_secs_f64(WINDOW);
        let message = text(taint, "timeAdded").parse::<Timestamp>().ok().filter(|_| !self.peaceful);
        message.map_or(came, |message| (message + RESOLUTION).clamp(earliest, came))
    }

    fn observe_pod(&mut self, commit: &LoggedCommit) {
        let (metadata, spec) = (&commit.object["metadata"], &commit.object["spec"]);
        let uid = text(metadata, "uid").to_owned();
        self.note(&uid, commit.at);
        let ends = commit.gone || !metadata["deletionTimestamp"].is_null();
        if ends && !self.pods.get(&uid).is_some_and(|pod| pod.deleted) && !commit.ours {
            self.deletions += 1;
            self.judge_deletion(&uid, commit.at);
            self.judge_lateness(&uid, commit.at);
        }
        let pod = self.pods.entry(uid.clone()).or_default();
        pod.name = text(metadata, "name").to_owned();
        let node = text(spec, "nodeName");
        if !node.is_empty() && pod.bound.is_none() {
            (pod.node, pod.bound) = (node.to_owned(), Some(commit.at));
        }
        pod.reported = binding_reported(&commit.object["status"]).max(pod.bound);
        pod.tolerations = spec["tolerations"].clone();
        pod.deleted |= ends;
        pod.over = pod.deleted || ["Succeeded", "Failed"].contains(&text(&commit.object["status"], "phase"));
        pod.marked = commit.object["status"]["conditions"].as_array().into_iter().flatten().any(|one| {
            one["type"] == "DisruptionTarget"
                && one["status"] == "True"
                && one["reason"] == "DeletionByTaintManager"
        });
        self.settle(&uid, commit.at);
    }

    /// Records, before a change, whether the pod was due by the state until now.
    fn note(&mut self, uid: &str, until: Timestamp) {
        let due = self.due(uid, Instance::reported).filter(|due| seconds(*due, until) >= 0.0);
        let Some(due) = due else { return };
        let Some(pod) = self.pods.get_mut(uid) else { return };
        pod.justified = Some(until);
        let Some(pod) = self.pods.get(uid) else { return };
        let knowable = pod.due.map_or(due, |(_, since)| since.max(due));
        if self.peaceful && !self.is_held(pod) && seconds(knowable, until) > LATE_IN_PEACE {
            let reported =
                format!("L1: {} on {} was due at {due:.3} and there at {until:.3}", pod.name, pod.node);
            self.faults.push(reported);
        }
    }

    /// Computes, after a change, when the pod is due.
    fn settle(&mut self, uid: &str, at: Timestamp) {
        let due = self.due(uid, Instance::since);
        let Some(pod) = self.pods.get_mut(uid) else { return };
        if pod.due.map(|(due, _)| due) != due {
            pod.due = due.map(|due| (due, at));
        }
    }

    /// S1-S4: within the window there is a time at which this incarnation of the pod was due.
    fn judge_deletion(&mut self, uid: &str, at: Timestamp) {
        let pod = self.pods.get(uid).cloned().unwrap_or_default();
        if pod.justified.is_some_and(|last| seconds(last, at) <= WINDOW) {
            return;
        }
        let due = self.due(uid, Instance::reported).map_or("never".to_owned(), |due| format!("{due:.3}"));
        self.faults.push(format!(
            "S2/S3: {} on {} was deleted at {at:.3} though due {due}, last justified {:?}; taints {:?}; tolerations {}{}",
            pod.name,
            pod.node,
            pod.justified,
            self.taints.get(&pod.node),
            pod.tolerations,
            if pod.over { "; it was over" } else { "" },
        ));
    }

    /// S4, L3: whatever happened to its controller before, a pod leaves when it is due by the starts of its taints. What has
    /// changed shortly before everything works again may still be unknown then (L4), and what has changed while the
    /// controllers were suspended begins for them when they continue.
    fn judge_lateness(&mut self, uid: &str, at: Timestamp) {
        let latest = self.due_from(uid, Instance::latest, |pod| pod.reported);
        let Some((calm, due)) = self.undelayed_from.zip(latest) else { return };
        let Some(pod) = self.pods.get(uid).filter(|pod| !self.is_held(pod)) else { return };
        let changed = pod.due.map_or(due, |(_, changed)| changed);
        let found = Some(changed + UNKNOWN_MAX).filter(|found| self.has_silent_streams && calm < *found);
        let unseen = self.suspended.iter().filter(|(from, to)| (*from..*to).contains(&changed));
        let unseen = unseen.map(|(_, to)| to.duration_since(changed)).max().unwrap_or_default();
        let late = seconds((due + unseen).max(calm).max(found.unwrap_or(calm)), at);
        if late > LATE {
            self.faults.push(format!(
                "L3: {} on {} was due at {due:.3} and was deleted at {at:.3}, {late:.1} s late; taints {:?}; tolerations {}",
                pod.name,
                pod.node,
                self.taints.get(&pod.node),
                pod.tolerations,
            ));
        }
    }

    /// Countdowns of taints of node lifecycle may be held (NL-48): later, never earlier.
    fn is_held(&self, pod: &CheckedPod) -> bool {
        self.taints.get(&pod.node).is_some_and(|all| all.iter().any(Instance::is_of_health))
    }

    /// S1, S5 and S10: each DELETE names the incarnation and comes from the holder of the lease, none has a grace
    /// period of zero, and there is only one.
    pub(crate) fn judge_requests(&mut self, requested: &[RequestedDeletion]) {
        let mut accepted: BTreeMap<&str, u64> = BTreeMap::new();
        for one in requested {
            let RequestedDeletion { at, path, .. } = one;
            match &one.uid {
                None => self.faults.push(format!("S1: DELETE {path} at {at:.3} demands no UID")),
                Some(uid) if one.accepted => *accepted.entry(uid).or_default() += 1,
                Some(_) => {}
            }
            if one.led == Some(false) {
                self.faults
                    .push(format!("S5: DELETE {path} at {at:.3} by a replica that does not hold the lease"));
            }
            if one.graceless {
                self.faults.push(format!("S10: DELETE {path} at {at:.3} grants no time"));
            }
        }
        for (uid, times) in accepted.into_iter().filter(|(_, times)| *times > 1) {
            let name = self.pods.get(uid).map_or("a pod", |pod| &pod.name);
            self.faults.push(format!("S10: {name} ({uid}) was deleted {times} times"));
        }
    }

    /// L1: every due pod was deleted. S9: pods that stay have no mark.
    pub(crate) fn judge_end(&mut self, now: Timestamp) {
        for (uid, pod) in self.pods.iter().filter(|(_, pod)| !pod.over) {
            let (name, node) = (&pod.name, &pod.node);
            match self.due(uid, Instance::since) {
                Some(due) if seconds(due, now) > LATE => {
                    self.faults.push(format!("L1: {name} on {node} was due at {due:.3} and is still there"));
                }
                _ if pod.marked => {
                    self.faults.push(format!("S9: {name} on {node} stays and is marked to go"))
                }
                _ => {}
            }
        }
    }

    /// When a pod is due by the present state and these starts; `None` is never.
    fn due(&self, uid: &str, start: impl Fn(&Instance) -> Timestamp) -> Option<Timestamp> {
        self.due_from(uid, start, |pod| pod.bound)
    }

    fn due_from(
        &self,
        uid: &str,
        start: impl Fn(&Instance) -> Timestamp,
        bound: impl Fn(&CheckedPod) -> Option<Timestamp>,
    ) -> Option<Timestamp> {
        let pod = self.pods.get(uid).filter(|pod| !pod.over)?;
        let bound = bound(pod)?;
        let due = |taint: &Instance| {
            let timeout = SignedDuration::from_secs(timeout(&pod.tolerations, taint)?.clamp(0, 1 << 30));
            Some(start(taint).max(bound) + timeout)
        };
        self.taints.get(&pod.node)?.iter().filter_map(due).min()
    }
}

/// How many seconds a pod tolerates a taint; `None` is indefinitely. The first matching toleration counts (MATCH-9).
fn timeout(tolerations: &Value, taint: &Instance) -> Option<i64> {
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
