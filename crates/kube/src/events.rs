//! Builds Kubernetes Events in events.k8s.io/v1 and core/v1.

use crate::api_time::{micro_time, second_time};
use serde_json::{Value, json};
use taintward_core::identity::{NodeName, PodName, Uid};
use taintward_core::node_lifecycle::{NodeRef, event_messages};
use taintward_core::time::Wall;

/// The longest note the events API accepts, in bytes.
const NOTE_MAX: usize = 1024;

/// The longest name of an object.
const NAME_MAX: usize = 253;

/// The longest action and reporting instance the events API accepts.
const WORD_MAX: usize = 128;

/// The reporter and the reason of events: upstream's, so that a search for these finds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventReporter {
    /// The reporting controller.
    pub controller: &'static str,
    /// The reason, as one word.
    pub reason: &'static str,
}

impl EventReporter {
    /// For evictions (TE-34).
    pub const EVICTION: Self =
        Self { controller: "taint-eviction-controller", reason: "TaintManagerEviction" };

    /// For dedicated pools; the reason is that of the pool's condition `Ready`.
    pub const fn pools(reason: &'static str) -> Self {
        Self { controller: "dedicated-pool-controller", reason }
    }

    /// For holds.
    pub const fn holds(reason: &'static str) -> Self {
        Self { controller: "toleration-hold-controller", reason }
    }

    /// For node health (NL-1).
    const fn health(reason: &'static str) -> Self {
        Self { controller: event_messages::COMPONENT, reason }
    }
}

/// The object of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Regarding {
    /// A pod, by identity (D8).
    Pod(PodName, Uid),
    /// A node, by identity.
    Node(NodeName, Uid),
    /// A `DedicatedPool`, by identity.
    Pool(Box<str>, Uid),
}

/// One event to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The reporter, and the reason.
    pub reporter: EventReporter,
    /// What it is about.
    pub regarding: Regarding,
    /// What was done, as one word: the events API requires it.
    pub action: String,
    /// The message for people; truncated to what the API accepts.
    pub note: String,
    /// `Warning` instead of `Normal`.
    pub warning: bool,
    /// A related node.
    pub related: Option<NodeName>,
    /// When it happened; the last time, if several.
    pub at: Wall,
    /// How often it happened; more than once makes it a series.
    pub count: u32,
}

/// The API that an event is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventsApiGroup {
    /// `events.k8s.io/v1`.
    Events,
    /// `v1`, for older servers.
    Core,
}

impl Event {
    /// A node is observed for the first time (NL-19).
    pub fn registered(node: &NodeRef, at: Wall) -> Self {
        Self::of_node(
            event_messages::REGISTERED,
            "Registering",
            node,
            event_messages::registered(&node.name),
            at,
        )
    }

    /// A node is gone (NL-19).
    pub fn removing(node: &NodeRef, at: Wall) -> Self {
        Self::of_node(event_messages::REMOVING, "Removing", node, event_messages::removing(&node.name), at)
    }

    /// A node is no longer ready (NL-17).
    pub fn node_not_ready(node: &NodeRef, at: Wall) -> Self {
        Self::of_node(event_messages::NOT_READY, "Observing", node, event_messages::not_ready(&node.name), at)
    }

    /// A pod's condition Ready was set to False, because its node is not ready (NL-17).
    pub fn pod_not_ready(pod: &PodName, uid: &Uid, node: &NodeName, at: Wall) -> Self {
        Self {
            reporter: EventReporter::health(event_messages::NOT_READY),
            regarding: Regarding::Pod(pod.clone(), uid.clone()),
            action: "Marking".into(),
            note: event_messages::POD_NOT_READY.into(),
            warning: true,
            related: Some(node.clone()),
            at,
            count: 1,
        }
    }

    fn of_node(reason: &'static str, action: &str, node: &NodeRef, note: String, at: Wall) -> Self {
        Self {
            reporter: EventReporter::health(reason),
            regarding: Regarding::Node(node.name.clone(), node.uid.clone()),
            action: action.into(),
            note,
            warning: false,
            related: None,
            at,
            count: 1,
        }
    }

    /// The namespace of the event: the pod's; `default` for cluster-scoped objects.
    pub(crate) fn namespace(&self) -> &str {
        match &self.regarding {
            Regarding::Pod(pod, _) => pod.namespace(),
            Regarding::Node(..) | Regarding::Pool(..) => "default",
        }
    }

    /// The event as JSON. `serial` distinguishes two events of one microsecond.
    pub(crate) fn body(&self, api: EventsApiGroup, instance: &str, serial: u64) -> String {
        let (subject, about) = match &self.regarding {
            Regarding::Pod(pod, uid) => (pod.name(), object("Pod", pod.namespace(), pod.name(), uid)),
            Regarding::Node(node, uid) => (node.as_str(), object("Node", "", node.as_str(), uid)),
            Regarding::Pool(pool, uid) => {
                let mut reference = object("DedicatedPool", "", pool, uid);
                reference["apiVersion"] = json!("taintward.io/v1alpha1");
                (&**pool, reference)
            }
        };
        let metadata = json!({ "name": event_name(subject, self.at, serial), "namespace": self.namespace() });
        let related = self
            .related
            .as_ref()
            .map(|node| json!({ "apiVersion": "v1", "kind": "Node", "name": node.as_str() }));
        let (note, instance) = (cut(&self.note, NOTE_MAX), cut(instance, WORD_MAX));
        let action = cut(if self.action.is_empty() { "Evicting" } else { &self.action }, WORD_MAX);
        let kind = if self.warning { "Warning" } else { "Normal" };
        let series =
            (self.count > 1).then(|| json!({ "count": self.count, "lastObservedTime": micro_time(self.at) }));
        let mut event = match api {
            EventsApiGroup::Events => json!({
                "apiVersion": "events.k8s.io/v1",
                "eventTime": micro_time(self.at),
                "regarding": about,
                "note": note,
                "reportingController": self.reporter.controller,
            }),
            EventsApiGroup::Core => json!({
                "apiVersion": "v1",
                "firstTimestamp": second_time(self.at),
                "lastTimestamp": second_time(self.at),
                "count": self.count.max(1),
                "involvedObject": about,
                "message": note,
                "source": { "component": self.reporter.controller, "host": instance },
                "reportingComponent": self.reporter.controller,
            }),
        };
        let rest = [
            ("kind", json!("Event")),
            ("metadata", metadata),
            ("type", json!(kind)),
            ("reason", json!(self.reporter.reason)),
            ("action", json!(action)),
            ("reportingInstance", json!(instance)),
        ];
        for (field, value) in rest {
            event[field] = value;
        }
        if let Some(related) = related {
            event["related"] = related;
        }
        if let (Some(series), EventsApiGroup::Events) = (series, api) {
            event["series"] = series;
        }
        event.to_string()
    }
}

fn object(kind: &str, namespace: &str, name: &str, uid: &Uid) -> Value {
    let mut reference = json!({ "apiVersion": "v1", "kind": kind, "name": name, "uid": uid.to_string() });
    if !namespace.is_empty() {
        reference["namespace"] = json!(namespace);
    }
    reference
}

/// `<subject>.<hex nanoseconds>`, as usual, truncated to the length of a name.
fn event_name(subject: &str, at: Wall, serial: u64) -> String {
    let nanos = at.as_micros().unsigned_abs().wrapping_mul(1000).wrapping_add(serial % 1000);
    let suffix = format!(".{nanos:x}");
    let subject = cut(subject, NAME_MAX - suffix.len()).trim_end_matches(['-', '.']);
    format!("{subject}{suffix}")
}

/// The longest prefix of a text that fits, ending at a character boundary.
fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note() -> Event {
        Event {
            reporter: EventReporter::EVICTION,
            regarding: Regarding::Pod(PodName::new("shop", "web-0"), Uid::new("u1")),
            action: "Evicting".into(),
            note: "Marking for deletion Pod shop/web-0: k:NoExecute".into(),
            warning: false,
            related: Some(NodeName::new("n1")),
            at: Wall::from_micros(1_800_000_000_123_456),
            count: 1,
        }
    }

    fn body(note: &Event, api: EventsApiGroup) -> Value {
        serde_json::from_str(&note.body(api, "host-1", 7)).unwrap()
    }

    #[test]
    fn an_event_of_the_events_api() {
        assert_eq!(
            body(&note(), EventsApiGroup::Events),
            json!({
                "apiVersion": "events.k8s.io/v1", "kind": "Event",
                "metadata": { "name": "web-0.18fae2769b0fca07", "namespace": "shop" },
                "eventTime": "2027-01-15T08:00:00.123456Z",
                "reason": "TaintManagerEviction", "action": "Evicting", "type": "Normal",
                "note": "Marking for deletion Pod shop/web-0: k:NoExecute",
                "regarding": { "apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "web-0", "uid": "u1" },
                "related": { "apiVersion": "v1", "kind": "Node", "name": "n1" },
                "reportingController": "taint-eviction-controller", "reportingInstance": "host-1",
            })
        );
    }

    #[test]
    fn an_event_of_the_core_api() {
        let mut node = note();
        node.regarding = Regarding::Node(NodeName::new("n1"), Uid::new("u2"));
        (node.related, node.warning, node.count) = (None, true, 3);
        assert_eq!(
            body(&node, EventsApiGroup::Core),
            json!({
                "apiVersion": "v1", "kind": "Event",
                "metadata": { "name": "n1.18fae2769b0fca07", "namespace": "default" },
                "firstTimestamp": "2027-01-15T08:00:00Z", "lastTimestamp": "2027-01-15T08:00:00Z", "count": 3,
                "reason": "TaintManagerEviction", "action": "Evicting", "type": "Warning",
                "message": "Marking for deletion Pod shop/web-0: k:NoExecute",
                "involvedObject": { "apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u2" },
                "source": { "component": "taint-eviction-controller", "host": "host-1" },
                "reportingComponent": "taint-eviction-controller", "reportingInstance": "host-1",
            })
        );
        let series = &body(&node, EventsApiGroup::Events)["series"];
        assert_eq!(*series, json!({ "count": 3, "lastObservedTime": "2027-01-15T08:00:00.123456Z" }));
    }

    /// NL-17 and NL-19: reason, message and type to the letter; the node's UID; the namespace `default`.
    #[test]
    fn events_of_node_health_have_upstreams_texts() {
        let (node, at) = (NodeRef { name: NodeName::new("n1"), uid: Uid::new("u2") }, note().at);
        for (note, reason, words) in [
            (
                Event::registered(&node, at),
                "RegisteredNode",
                "Node n1 event: Registered Node n1 in Controller",
            ),
            (Event::removing(&node, at), "RemovingNode", "Node n1 event: Removing Node n1 from Controller"),
            (Event::node_not_ready(&node, at), "NodeNotReady", "Node n1 status is now: NodeNotReady"),
        ] {
            let event = body(&note, EventsApiGroup::Core);
            assert_eq!((&event["reason"], &event["message"]), (&json!(reason), &json!(words)));
            assert_eq!(
                (&event["type"], &event["metadata"]["namespace"]),
                (&json!("Normal"), &json!("default"))
            );
            assert_eq!(event["source"], json!({ "component": "node-controller", "host": "host-1" }));
            assert_eq!(event["reportingComponent"], "node-controller");
            let about = json!({ "apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u2" });
            assert_eq!((&event["involvedObject"], event.get("related")), (&about, None));
            let event = body(&note, EventsApiGroup::Events);
            assert_eq!((&event["regarding"], &event["note"]), (&about, &json!(words)));
            assert_eq!(event["reportingController"], "node-controller");
            assert_ne!(event["action"], "Evicting");
        }
    }

    #[test]
    fn a_pod_is_warned_that_its_node_is_not_ready() {
        let (pod, node) = (PodName::new("shop", "web-0"), NodeName::new("n1"));
        let event =
            body(&Event::pod_not_ready(&pod, &Uid::new("u1"), &node, note().at), EventsApiGroup::Events);
        assert_eq!((&event["reason"], &event["note"]), (&json!("NodeNotReady"), &json!("Node is not ready")));
        assert_eq!((&event["type"], &event["metadata"]["namespace"]), (&json!("Warning"), &json!("shop")));
        assert_eq!((&event["regarding"]["uid"], &event["related"]["name"]), (&json!("u1"), &json!("n1")));
        assert_eq!(event["reportingController"], "node-controller");
    }

    #[test]
    fn too_long_text_is_truncated_at_a_character() {
        let mut long = note();
        long.note = "é".repeat(600) + "x";
        long.regarding =
            Regarding::Pod(PodName::new("shop", &format!("{}-z", "a".repeat(235))), Uid::new("u"));
        let event = body(&long, EventsApiGroup::Events);
        assert_eq!(event["note"].as_str().unwrap(), "é".repeat(512));
        let name = event["metadata"]["name"].as_str().unwrap();
        assert!(name.len() <= 253 && name.contains("a.18fae"), "{name}");
    }
}
