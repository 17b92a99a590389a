//! Extracts taints and conditions of one node from its object.

use super::super::log::LoggedCommit;
use jiff::Timestamp;
use serde_json::Value;

/// A NoExecute taint of node health.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sign {
    NotReady,
    Unreachable,
}

/// The taint for each condition and status (NL-5).
const MEANT: [(&str, &str, &str); 6] = [
    ("Ready", "False", "not-ready"),
    ("Ready", "Unknown", "unreachable"),
    ("MemoryPressure", "True", "memory-pressure"),
    ("DiskPressure", "True", "disk-pressure"),
    ("PIDPressure", "True", "pid-pressure"),
    ("NetworkUnavailable", "True", "network-unavailable"),
];

/// The conditions that become Unknown when a node falls silent (NL-12).
const EXPIRING: [&str; 4] = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/// A node.
#[derive(Clone, Debug)]
pub(super) struct CheckedNode {
    uid: String,
    pub(super) born: Timestamp,
    pub(super) zone: String,
    /// The status of its condition Ready.
    pub(super) ready: String,
    /// Since when it has that status.
    pub(super) since: Timestamp,
    /// Until when the status was other than True; it may be so still.
    was_down_until: Option<Timestamp>,
    /// The heartbeat in its status, and when it last changed.
    beat: String,
    pub(super) posted: Option<Timestamp>,
    /// Its own NoExecute taints, its own NoSchedule ones, and those that it should have, each in order.
    pub(super) away: Vec<Sign>,
    pub(super) keeping: Vec<String>,
    pub(super) wanted: Vec<String>,
    /// Since when it is ready but has a taint for the opposite.
    pub(super) freed_since: Option<Timestamp>,
    /// Everything that a controller may not change.
    pub(super) others: String,
}

impl CheckedNode {
    pub(super) fn new(commit: &LoggedCommit, before: Option<&Self>) -> Self {
        let (node, at) = (&commit.object, commit.at);
        let taints = own_taints(node);
        let of = |effect: &str| -> Vec<String> {
            let mut keys: Vec<String> =
                taints.iter().filter(|(_, own)| own == effect).map(|(key, _)| key.clone()).collect();
            keys.sort_unstable();
            keys
        };
        let (keeping, away) = (of("NoSchedule"), of("NoExecute"));
        let sign = |key: &String| if key == "unreachable" { Sign::Unreachable } else { Sign::NotReady };
        let ready = status(node, "Ready");
        let beat = field(node, "Ready", "lastHeartbeatTime");
        let watch_faults = |key: &String| key == "unreachable" || key == "not-ready";
        let is_belied = ready == "True" && (keeping.iter().any(watch_faults) || !away.is_empty());
        // A write by a controller is not a heartbeat of the node.
        let spoke =
            before.is_none_or(|before| before.beat != beat && !beat.is_empty() && commit.by.is_none());
        Self {
            uid: node["metadata"]["uid"].as_str().unwrap_or_default().to_owned(),
            born: before.map_or(at, |before| before.born),
            zone: node["metadata"]["labels"]["topology.kubernetes.io/zone"].to_string(),
            since: before.filter(|before| before.ready == ready).map_or(at, |before| before.since),
            was_down_until: before.and_then(|before| before.down_until(at)),
            posted: if spoke { Some(at) } else { before.and_then(|before| before.posted) },
            away: away.iter().map(sign).collect(),
            wanted: wanted(node, &keeping),
            freed_since: is_belied.then(|| before.and_then(|before| before.freed_since).unwrap_or(at)),
            others: others(node),
            ready,
            beat,
            keeping,
        }
    }

    /// The last time up to now at which it was not ready.
    pub(super) fn down_until(&self, now: Timestamp) -> Option<Timestamp> {
        if self.ready == "True" { self.was_down_until } else { Some(now) }
    }

    /// Whether this is the same node, not another of its name.
    pub(super) fn is_same(&self, node: &Value) -> bool {
        node["metadata"]["uid"] == self.uid.as_str()
    }
}

/// Key and effect of node lifecycle's own taints.
fn own_taints(node: &Value) -> Vec<(String, String)> {
    let all = node["spec"]["taints"].as_array().into_iter().flatten();
    all.filter_map(own).collect()
}

fn own(taint: &Value) -> Option<(String, String)> {
    let key = taint["key"].as_str()?.strip_prefix("node.kubernetes.io/")?;
    let keeps_off = MEANT.iter().any(|(.., meant)| *meant == key) || key == "unschedulable";
    let sends_away = ["not-ready", "unreachable"].contains(&key);
    let is_own = match taint["effect"].as_str()? {
        "NoSchedule" => keeps_off,
        "NoExecute" => sends_away,
        _ => false,
    };
    is_own.then(|| (key.to_owned(), taint["effect"].as_str().unwrap_or_default().to_owned()))
}

fn field(node: &Value, kind: &str, field: &str) -> String {
    let conditions = node["status"]["conditions"].as_array();
    let found = conditions.into_iter().flatten().find(|one| one["type"] == kind);
    found.and_then(|one| one[field].as_str()).unwrap_or_default().to_owned()
}

fn status(node: &Value, kind: &str) -> String {
    field(node, kind, "status")
}

/// The NoSchedule taints that it should have; a node without any heartbeat keeps those it was created with.
fn wanted(node: &Value, keeping: &[String]) -> Vec<String> {
    let holds = |kind: &str, wanted: &str| status(node, kind) == wanted;
    let meant =
        MEANT.iter().filter(|(kind, status, _)| holds(kind, status)).map(|(.., key)| (*key).to_owned());
    let mut wanted: Vec<String> = meant.collect();
    if node["spec"]["unschedulable"] == true {
        wanted.push("unschedulable".to_owned());
    }
    if status(node, "Ready").is_empty() && keeping.iter().any(|key| key == "not-ready") {
        wanted.push("not-ready".to_owned());
    }
    wanted.sort_unstable();
    wanted
}

/// Everything except what node lifecycle may write: own taints, four conditions, two labels.
fn others(node: &Value) -> String {
    let mut node = node.clone();
    for gone in ["resourceVersion", "managedFields"] {
        node["metadata"].as_object_mut().map(|fields| fields.remove(gone));
    }
    if let Some(labels) = node["metadata"]["labels"].as_object_mut() {
        labels.retain(|key, _| !key.starts_with("beta.kubernetes.io/"));
    }
    let taints: Vec<Value> = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
    node["spec"]["taints"] = taints.into_iter().filter(|taint| own(taint).is_none()).collect();
    let conditions: Vec<Value> = node["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let kept = |one: &Value| !EXPIRING.iter().any(|kind| one["type"] == *kind);
    node["status"]["conditions"] = conditions.into_iter().filter(kept).collect();
    node.to_string()
}
