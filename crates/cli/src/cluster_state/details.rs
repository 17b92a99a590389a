//! Extracts details of a pod, node or event that matter to users but do not affect verdicts: finalizers, conditions,
//! notes, managers.
//!
//! - Invariant: no verdict depends on it; an invalid field counts as absent.

mod related_details;

pub(crate) use related_details::{ObjectNames, RelatedDetails};

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use taintward_core::time::Wall;

/// A condition of a pod or node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConditionDetails {
    pub(crate) kind: String,
    pub(crate) status: String,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) since: Option<Wall>,
}

/// A kind of workload whose pods can be explained together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WorkloadOwner {
    Deployment,
    StatefulSet,
    DaemonSet,
    ReplicaSet,
    Job,
}

impl WorkloadOwner {
    /// Its kind, its API group and its name in paths.
    pub(crate) const fn of_api(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Deployment => ("Deployment", "apps", "deployments"),
            Self::StatefulSet => ("StatefulSet", "apps", "statefulsets"),
            Self::DaemonSet => ("DaemonSet", "apps", "daemonsets"),
            Self::ReplicaSet => ("ReplicaSet", "apps", "replicasets"),
            Self::Job => ("Job", "batch", "jobs"),
        }
    }

    /// Whether a pod of this name may belong to a workload of this kind: pods' names begin with their owners' names.
    pub(crate) fn may_own(self, workload: &str, pod: &str) -> bool {
        let Some(rest) = pod.strip_prefix(workload).and_then(|rest| rest.strip_prefix('-')) else {
            return false;
        };
        let mut parts = rest.split('-').filter(|part| !part.is_empty());
        match (self, parts.next(), parts.next(), parts.next()) {
            (Self::Deployment, Some(_), Some(_), None) => true,
            (Self::StatefulSet, Some(ordinal), None, None) => ordinal.bytes().all(|one| one.is_ascii_digit()),
            (Self::DaemonSet | Self::ReplicaSet | Self::Job, Some(_), None, None) => true,
            // The pods of an Indexed Job have their index before the suffix.
            (Self::Job, Some(index), Some(_), None) => index.bytes().all(|one| one.is_ascii_digit()),
            _ => false,
        }
    }
}

/// A pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PodDetails {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    /// `spec.nodeName`; empty: not bound yet.
    pub(crate) node: String,
    /// `spec.schedulingGates`: while it has any, no scheduler considers it.
    pub(crate) gates: Vec<String>,
    /// `spec.schedulerName`.
    pub(crate) scheduler: String,
    pub(crate) phase: String,
    /// `status.reason` and `status.message`: those of the kubelet that ended it, for example.
    pub(crate) reason: String,
    pub(crate) message: String,
    /// Kind and name of its controlling owner.
    pub(crate) owner: Option<(String, String)>,
    /// That owner's API group.
    pub(crate) owner_group: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) finalizers: Vec<String>,
    pub(crate) deletion: Option<DeletionDetails>,
    pub(crate) conditions: Vec<ConditionDetails>,
}

/// An accepted deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeletionDetails {
    /// `metadata.deletionTimestamp`: the end of its grace period.
    pub(crate) by: Option<Wall>,
    /// `metadata.deletionGracePeriodSeconds`.
    pub(crate) grace_seconds: i64,
}

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeDetails {
    pub(crate) name: String,
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) conditions: Vec<ConditionDetails>,
    /// The managers of `spec.taints` in `metadata.managedFields`, each with its time.
    pub(crate) writers: Vec<(String, Option<Wall>)>,
}

/// An event about a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventDetails {
    pub(crate) namespace: String,
    /// The pod's name.
    pub(crate) about: String,
    /// The pod's UID; empty if the event has none.
    pub(crate) uid: String,
    pub(crate) kind: String,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) by: String,
    /// The process that reported it; empty for kube-controller-manager.
    pub(crate) instance: String,
    pub(crate) count: i64,
    pub(crate) last: Option<Wall>,
}

fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn time(value: Option<&Value>) -> Option<Wall> {
    let at: Timestamp = value?.as_str()?.parse().ok()?;
    Some(Wall::from_micros(at.as_microsecond()))
}

fn texts(value: Option<&Value>) -> BTreeMap<String, String> {
    let fields = value.and_then(Value::as_object).into_iter().flatten();
    fields.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

fn list<'v>(value: &'v Value, pointer: &str) -> impl Iterator<Item = &'v Value> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

fn conditions(value: &Value) -> Vec<ConditionDetails> {
    let one = |condition: &Value| ConditionDetails {
        kind: text(condition, "/type"),
        status: text(condition, "/status"),
        reason: text(condition, "/reason"),
        message: text(condition, "/message"),
        since: time(condition.get("lastTransitionTime")),
    };
    list(value, "/status/conditions").map(one).collect()
}

/// Parses only the needed fields: the rest of a pod or node may be long.
fn parsed(json: &[u8]) -> Option<Value> {
    #[derive(Deserialize)]
    struct DetailsJson {
        metadata: Option<Value>,
        spec: Option<Value>,
        status: Option<Value>,
    }
    let DetailsJson { metadata, spec, status } = serde_json::from_slice(json).ok()?;
    Some(serde_json::json!({ "metadata": metadata, "spec": spec, "status": status }))
}

impl PodDetails {
    /// Pods without a namespace are placed in `home`.
    fn of(json: &[u8], home: &str) -> Option<Self> {
        let pod = parsed(json)?;
        let owner = list(&pod, "/metadata/ownerReferences")
            .find(|owner| owner.get("controller").and_then(Value::as_bool) == Some(true));
        let namespace = text(&pod, "/metadata/namespace");
        let deletion = pod.pointer("/metadata/deletionTimestamp").filter(|at| !at.is_null());
        let grace = pod.pointer("/metadata/deletionGracePeriodSeconds").and_then(Value::as_i64);
        let version = owner.map(|owner| text(owner, "/apiVersion")).unwrap_or_default();
        Some(Self {
            namespace: if namespace.is_empty() { home.to_owned() } else { namespace },
            name: text(&pod, "/metadata/name"),
            uid: text(&pod, "/metadata/uid"),
            node: text(&pod, "/spec/nodeName"),
            gates: list(&pod, "/spec/schedulingGates").map(|gate| text(gate, "/name")).collect(),
            scheduler: text(&pod, "/spec/schedulerName"),
            phase: text(&pod, "/status/phase"),
            reason: text(&pod, "/status/reason"),
            message: text(&pod, "/status/message"),
            owner: owner.map(|owner| (text(owner, "/kind"), text(owner, "/name"))),
            owner_group: version.split_once('/').map(|(group, _)| group.to_owned()).unwrap_or_default(),
            labels: texts(pod.pointer("/metadata/labels")),
            finalizers: list(&pod, "/metadata/finalizers")
                .filter_map(|one| one.as_str().map(str::to_owned))
                .collect(),
            deletion: deletion
                .map(|at| DeletionDetails { by: time(Some(at)), grace_seconds: grace.unwrap_or_default() }),
            conditions: conditions(&pod),
        })
    }

    /// Whether the pod belongs to this workload. A Deployment owns pods through ReplicaSets, whose names end with the
    /// pods' template hash.
    pub(crate) fn is_of(&self, maker: WorkloadOwner, name: &str) -> bool {
        let Some((kind, owner)) = &self.owner else { return false };
        let is_made_by = |maker: WorkloadOwner| {
            let (own, group, _) = maker.of_api();
            kind == own && self.owner_group == group
        };
        let of_deployment = || {
            let hash = self.labels.get("pod-template-hash")?;
            owner.strip_suffix(hash.as_str())?.strip_suffix('-')
        };
        match maker {
            WorkloadOwner::Deployment => {
                is_made_by(WorkloadOwner::ReplicaSet) && of_deployment() == Some(name)
            }
            other => is_made_by(other) && owner == name,
        }
    }

    pub(crate) fn condition(&self, kind: &str) -> Option<&ConditionDetails> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }

    /// Whether the owner of this pod probably owned the other one, too: pods' names begin with that of their owner, and
    /// ReplicaSets' names with that of the Deployment.
    pub(crate) fn may_follow(&self, gone: &str) -> bool {
        let Some((kind, owner)) = &self.owner else { return false };
        let base = |name: &str| name.rsplit_once('-').map(|(base, _)| base.to_owned());
        let Some(maker) = base(gone) else { return false };
        let of_deployment =
            || kind == "ReplicaSet" && base(owner).is_some_and(|name| base(&maker) == Some(name));
        *owner == maker || of_deployment()
    }

    /// Whether its containers have ended for good.
    pub(crate) fn has_finished(&self) -> bool {
        matches!(self.phase.as_str(), "Succeeded" | "Failed")
    }

    /// Whether it needs no node any more.
    pub(crate) fn is_over(&self) -> bool {
        self.has_finished() || self.deletion.is_some()
    }
}

impl NodeDetails {
    pub(crate) fn of(json: &[u8]) -> Option<Self> {
        let node = parsed(json)?;
        let mut writers: Vec<(String, Option<Wall>)> = list(&node, "/metadata/managedFields")
            .filter(|entry| text(entry, "/subresource").is_empty())
            .filter(|entry| entry.pointer("/fieldsV1/f:spec/f:taints").is_some())
            .map(|entry| (text(entry, "/manager"), time(entry.get("time"))))
            .collect();
        writers.sort_by_key(|(_, at)| std::cmp::Reverse(*at));
        Some(Self {
            name: text(&node, "/metadata/name"),
            annotations: texts(node.pointer("/metadata/annotations")),
            conditions: conditions(&node),
            writers,
        })
    }
}

impl EventDetails {
    /// An event of core or of `events.k8s.io`; `None` if it is not about a pod.
    fn of(json: &[u8]) -> Option<Self> {
        let event: Value = serde_json::from_slice(json).ok()?;
        let about = event.get("involvedObject").or_else(|| event.get("regarding"))?;
        if text(about, "/kind") != "Pod" {
            return None;
        }
        let first_of = |pointers: &[&str]| {
            pointers.iter().map(|at| text(&event, at)).find(|text| !text.is_empty()).unwrap_or_default()
        };
        let counts = ["/count", "/deprecatedCount", "/series/count"];
        let count = counts.iter().filter_map(|at| event.pointer(at).and_then(Value::as_i64)).max();
        let times = [
            "/lastTimestamp",
            "/deprecatedLastTimestamp",
            "/series/lastObservedTime",
            "/eventTime",
            "/firstTimestamp",
            "/metadata/creationTimestamp",
        ];
        Some(Self {
            namespace: text(about, "/namespace"),
            about: text(about, "/name"),
            uid: text(about, "/uid"),
            instance: first_of(&["/reportingInstance", "/source/host", "/deprecatedSource/host"]),
            kind: text(&event, "/type"),
            reason: text(&event, "/reason"),
            message: first_of(&["/message", "/note"]),
            by: first_of(&[
                "/reportingComponent",
                "/reportingController",
                "/source/component",
                "/deprecatedSource/component",
            ]),
            count: count.unwrap_or(1).max(1),
            last: times.iter().find_map(|at| time(event.pointer(at))),
        })
    }
}

/// The reasons of events that report an eviction by a taint (TE-34), or name the node of its pod.
pub(crate) const EVICTED: &str = "TaintManagerEviction";
pub(crate) const NODE_REASONS: [&str; 2] = ["Scheduled", "Killing"];

impl EventDetails {
    /// Whether it reports an eviction by a taint; a cancelled countdown has the same reason.
    pub(crate) fn is_eviction(&self) -> bool {
        self.reason == EVICTED && self.message.starts_with("Marking for deletion")
    }

    /// The pod's node, if the event names it: that of the scheduler, of a kubelet, or of Taintward.
    pub(crate) fn node(&self) -> Option<&str> {
        match self.reason.as_str() {
            "Scheduled" => self.message.rsplit_once(" to ").map(|(_, node)| node),
            EVICTED => {
                let (_, reason) = self.message.split_once(": node ")?;
                reason.split_once(" has taint ").map(|(node, _)| node)
            }
            _ => (self.by == "kubelet" && !self.instance.is_empty()).then_some(self.instance.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_both_apis_have_the_same_details() {
        let core = r#"{"involvedObject": {"kind": "Pod", "namespace": "shop", "name": "web"}, "type": "Normal", "reason": "R",
            "message": "m", "source": {"component": "c"}, "count": 3, "lastTimestamp": "2026-11-21T14:00:00Z"}"#;
        let new = r#"{"regarding": {"kind": "Pod", "namespace": "shop", "name": "web"}, "type": "Normal", "reason": "R",
            "note": "m", "reportingController": "c", "series": {"count": 3}, "eventTime": "2026-11-21T14:00:00.000000Z"}"#;
        let event = EventDetails::of(core.as_bytes());
        assert_eq!(event, EventDetails::of(new.as_bytes()));
        let event = event.unwrap();
        assert_eq!((event.by.as_str(), event.count, event.last.is_some()), ("c", 3, true));
        assert_eq!(EventDetails::of(br#"{"involvedObject": {"kind": "Node", "name": "n1"}}"#), None);
    }

    #[test]
    fn writers_of_taints_are_listed_last_first() {
        let node = br#"{"metadata": {"name": "n1", "managedFields": [
            {"manager": "kubectl", "time": "2026-11-21T13:00:00Z", "fieldsV1": {"f:spec": {"f:taints": {}}}},
            {"manager": "kubelet", "time": "2026-11-21T13:59:00Z", "fieldsV1": {"f:status": {}}},
            {"manager": "status", "subresource": "status", "fieldsV1": {"f:spec": {"f:taints": {}}}},
            {"manager": "taintward", "time": "2026-11-21T13:30:00Z", "fieldsV1": {"f:spec": {"f:taints": {}}}}]}}"#;
        let writers: Vec<String> =
            NodeDetails::of(node).unwrap().writers.into_iter().map(|(name, _)| name).collect();
        assert_eq!(writers, ["taintward", "kubectl"]);
    }

    #[test]
    fn invalid_fields_count_as_absent() {
        let odd = br#"{"metadata": {"name": 5, "finalizers": "x", "deletionTimestamp": "soon"}, "status": {"conditions": 7}}"#;
        let pod = PodDetails::of(odd, "default").unwrap();
        assert_eq!((pod.namespace.as_str(), pod.finalizers.len(), pod.conditions.len()), ("default", 0, 0));
        assert_eq!(
            pod.deletion,
            Some(DeletionDetails { by: None, grace_seconds: 0 }),
            "the pod is being deleted nevertheless"
        );
        assert_eq!(PodDetails::of(b"[]", ""), None);
    }

    #[test]
    fn replacements_of_a_pod_are_found_by_their_names() {
        let pod = |kind: &str, owner: &str| PodDetails {
            owner: Some((kind.to_owned(), owner.to_owned())),
            ..PodDetails::default()
        };
        for (kind, owner, gone, expected) in [
            ("ReplicaSet", "web-7d4b9c6f5d", "web-7d4b9c6f5d-2xkqp", true),
            ("ReplicaSet", "web-6c8bb4d5f7", "web-7d4b9c6f5d-2xkqp", true),
            ("ReplicaSet", "web-api-6c8bb4d5f7", "web-7d4b9c6f5d-2xkqp", false),
            ("StatefulSet", "cache", "cache-0", true),
            ("StatefulSet", "cache", "cache-2-0", false),
            ("DaemonSet", "logs", "logs-x2vkz", true),
            ("Job", "web-6c8bb4d5f7", "web-7d4b9c6f5d-2xkqp", false),
            ("StatefulSet", "cache", "cache", false),
        ] {
            assert_eq!(pod(kind, owner).may_follow(gone), expected, "{owner} {gone}");
        }
        assert!(!PodDetails::default().may_follow("debug-1"));
    }
}
