//! Tests odd nodes and leases, in both encodings.

use super::bytes::{field, integer};
use serde_json::{Value, json};
use taintward_core::identity::Uid;
use taintward_core::node_lifecycle::{ConditionKind, ConditionStatus, LeaseFact, NodeHealthFact};
use taintward_core::time::Wall;
use taintward_kube::decode::{Decoded, DecodedNode, DecodedPod, UndecodableObject, WatchedObject};

fn fact<F: std::fmt::Debug>(decoded: Decoded<F>) -> F {
    match decoded {
        Decoded::Object(fact) => fact,
        other => panic!("{other:?}"),
    }
}

fn unreadable<F: std::fmt::Debug>(decoded: Decoded<F>) -> UndecodableObject {
    match decoded {
        Decoded::Undecodable(unreadable) => unreadable,
        other => panic!("{other:?}"),
    }
}

fn health_of(more: &Value) -> NodeHealthFact {
    fact(read(more)).health
}

fn read(more: &Value) -> Decoded<DecodedNode> {
    let mut node = json!({"metadata": {"name": "n1", "uid": "u1"}});
    for (part, members) in more.as_object().unwrap() {
        match members {
            Value::Object(members) if !node[part].is_null() => {
                node[part].as_object_mut().unwrap().extend(members.clone());
            }
            other => node[part] = other.clone(),
        }
    }
    DecodedNode::from_json(node.to_string().as_bytes())
}

fn protobuf(meta: &[u8], spec: &[u8], status: &[u8]) -> Decoded<DecodedNode> {
    let meta = [&field(1, b"n1")[..], &field(5, b"u1"), meta].concat();
    DecodedNode::from_protobuf(&[field(1, &meta), field(2, spec), field(3, status)].concat())
}

fn label(key: &str, value: &str) -> Vec<u8> {
    field(11, &[field(1, key.as_bytes()), field(2, value.as_bytes())].concat())
}

fn condition(kind: &str, status: &str, beat: Option<Vec<u8>>) -> Vec<u8> {
    let beat = beat.map_or_else(Vec::new, |beat| field(3, &beat));
    field(4, &[field(1, kind.as_bytes()), field(2, status.as_bytes()), beat].concat())
}

#[test]
fn a_node_without_fields_has_no_health() {
    for bare in [
        health_of(&json!({})),
        health_of(&json!({"spec": null, "status": null})),
        fact(protobuf(&[], &[], &[])).health,
    ] {
        assert_eq!((bare.name.as_str(), &bare.uid), ("n1", &Uid::new("u1")));
        assert_eq!((bare.zone.as_str(), bare.excluded, bare.unschedulable), ("", false, false));
        assert_eq!((bare.conditions.len(), bare.taints.len()), (0, 0));
        assert_eq!((bare.platform.os, bare.platform.beta_arch), (None, None));
    }
    for nothing in [json!({"metadata": {"labels": null}}), json!({"status": {"conditions": null}})] {
        assert_eq!(health_of(&nothing).conditions, []);
    }
}

#[test]
fn deprecated_labels_win_and_the_last_of_two_counts() {
    let (old, new) = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone");
    assert_eq!(health_of(&json!({"metadata": {"labels": {old: "a", new: "b"}}})).zone.parts(), ("", "a"));
    assert_eq!(health_of(&json!({"metadata": {"labels": {new: "b", "x": 7}}})).zone.parts(), ("", "b"));
    let twice = format!(r#"{{"metadata":{{"name":"n1","uid":"u1","labels":{{"{new}":"a","{new}":"b"}}}}}}"#);
    assert_eq!(fact(DecodedNode::from_json(twice.as_bytes())).health.zone.parts(), ("", "b"));
    let twice = [label(new, "a"), label(new, "b")].concat();
    assert_eq!(fact(protobuf(&twice, &[], &[])).health.zone.parts(), ("", "b"));
}

#[test]
fn a_label_without_a_value_exists() {
    let key = "node.kubernetes.io/exclude-disruption";
    for value in [json!(""), json!("false"), Value::Null] {
        assert!(health_of(&json!({"metadata": {"labels": {key: value}}})).excluded);
    }
    let bare = field(11, &field(1, key.as_bytes()));
    assert!(fact(protobuf(&bare, &[], &[])).health.excluded);
    let os = health_of(&json!({"metadata": {"labels": {"kubernetes.io/os": null}}})).platform.os;
    assert_eq!(os.as_deref(), Some(""));
}

#[test]
fn conditions_keep_their_order_and_odd_values() {
    let conditions = json!([
        {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-11-21T10:00:00Z"},
        {"type": "KernelDeadlock", "status": "True", "lastHeartbeatTime": "when it was"},
        {"type": "Ready", "status": "perhaps"},
        {"type": "PIDPressure", "lastHeartbeatTime": "0001-01-01T00:00:00Z"},
        {},
    ]);
    let reported = health_of(&json!({"status": {"conditions": conditions}})).conditions;
    let at = |seconds: i64| integer(1, seconds);
    let same = [
        condition("Ready", "True", Some(at(1_795_255_200))),
        condition("KernelDeadlock", "True", Some(at(i64::MAX))),
        condition("Ready", "perhaps", None),
        condition("PIDPressure", "", Some(at(-62_135_596_800))),
        field(4, &[]),
    ];
    assert_eq!(reported, fact(protobuf(&[], &[], &same.concat())).health.conditions);
    let all: Vec<_> = reported.iter().map(|one| (one.kind, one.status, one.heartbeat)).collect();
    assert_eq!(
        all,
        [
            (ConditionKind::Ready, ConditionStatus::True, Some(Wall::from_secs(1_795_255_200))),
            (ConditionKind::Ready, ConditionStatus::Other, None),
            (ConditionKind::PidPressure, ConditionStatus::Other, None),
        ]
    );
}

#[test]
fn a_wrong_form_is_reported_with_object_and_path() {
    let ready =
        |beat: Value| json!({"status": {"conditions": [{}, {"type": "Ready", "lastHeartbeatTime": beat}]}});
    for (odd, path) in [
        (json!({"metadata": {"labels": []}}), "metadata.labels: "),
        (json!({"metadata": {"labels": {"kubernetes.io/os": 7}}}), "metadata.labels.kubernetes.io/os: "),
        (json!({"spec": {"unschedulable": "yes"}}), "spec.unschedulable: "),
        (json!({"status": []}), "status: "),
        (json!({"status": {"conditions": {}}}), "status.conditions: "),
        (json!({"status": {"conditions": ["Ready"]}}), "status.conditions"),
        (ready(json!(7)), "status.conditions[1].lastHeartbeatTime: "),
        (ready(json!("soon")), "status.conditions[1].lastHeartbeatTime: "),
    ] {
        let unreadable = unreadable(read(&odd));
        assert!(unreadable.why.starts_with(path), "{path}: {}", unreadable.why);
        assert_eq!(unreadable.identity.unwrap().name, "n1");
    }
    let second = |bytes: Vec<u8>| [field(4, &[]), bytes].concat();
    for (decoded, path) in [
        (protobuf(&integer(11, 1), &[], &[]), "metadata.labels: "),
        (protobuf(&field(11, &field(2, &[0xff])), &[], &[]), "metadata.labels: "),
        (protobuf(&[], &field(4, b"yes"), &[]), "spec.unschedulable: "),
        (protobuf(&[], &[], &integer(4, 1)), "status.conditions[0]: "),
        (protobuf(&[], &[], &second(field(4, &field(1, &[0xff])))), "status.conditions[1].type: "),
        (protobuf(&[], &[], &second(field(4, &integer(2, 1)))), "status.conditions[1].status: "),
        (
            protobuf(&[], &[], &second(condition("Ready", "True", Some(integer(1, i64::MAX))))),
            "status.conditions[1].lastHeartbeatTime: ",
        ),
    ] {
        let unreadable = unreadable(decoded);
        assert!(unreadable.why.starts_with(path), "{path}: {}", unreadable.why);
        assert_eq!(unreadable.identity.unwrap().uid, Some(Uid::new("u1")));
    }
}

#[test]
fn absurdly_many_conditions_are_refused() {
    let many = condition("Ready", "True", None).repeat(200_001);
    assert!(unreadable(protobuf(&[], &[], &many)).why.contains("more than 200000 entries"));
    let text = format!(
        r#"{{"metadata":{{"name":"n1","uid":"u1"}},"status":{{"conditions":[{}{{}}]}}}}"#,
        "{},".repeat(200_000)
    );
    assert!(unreadable(DecodedNode::from_json(text.as_bytes())).why.contains("more than 200000 entries"));
}

#[test]
fn a_pod_is_ready_only_if_all_its_conditions_agree() {
    let ready = |conditions: Value| {
        let pod = json!({"metadata": {"name": "p", "namespace": "ns", "uid": "u"}, "spec": {"nodeName": "n1"},
                         "status": {"conditions": conditions}});
        let seen = fact(DecodedPod::from_json(pod.to_string().as_bytes()));
        assert_eq!(seen.health().ready, seen.ready);
        assert_eq!(
            (seen.health().id.uid().clone(), seen.health().node.as_str()),
            (seen.pod.id.uid().clone(), "n1")
        );
        seen.ready
    };
    let of = |status: &str| json!({"type": "Ready", "status": status});
    assert_eq!(ready(json!(null)), None);
    assert_eq!(ready(json!([{"type": "ContainersReady", "status": "True"}])), None);
    for (status, meaning) in [
        ("True", ConditionStatus::True),
        ("False", ConditionStatus::False),
        ("Unknown", ConditionStatus::Unknown),
        ("", ConditionStatus::Other),
    ] {
        assert_eq!(ready(json!([of(status)])), Some(meaning));
        assert_eq!(ready(json!([of(status), of(status)])), Some(meaning));
    }
    assert_eq!(ready(json!([of("True"), of("False"), of("True")])), Some(ConditionStatus::Other));
}

fn lease(spec: &Value) -> Decoded<LeaseFact> {
    let lease = json!({"metadata": {"name": "n1", "namespace": "kube-node-lease", "uid": "u1",
                                    "resourceVersion": "7"}, "spec": spec});
    LeaseFact::from_json(lease.to_string().as_bytes())
}

fn lease_protobuf(spec: &[u8]) -> Decoded<LeaseFact> {
    let meta = [field(1, b"n1"), field(3, b"kube-node-lease"), field(5, b"u1"), field(6, b"7")].concat();
    LeaseFact::from_protobuf(&[field(1, &meta), field(2, spec)].concat())
}

#[test]
fn a_lease_has_the_nodes_name_and_a_time_in_microseconds() {
    let at = [integer(1, 1_795_255_200), integer(2, 123_456_789)].concat();
    for read in [lease(&json!({"renewTime": "2026-11-21T10:00:00.123456Z"})), lease_protobuf(&field(4, &at))]
    {
        let read = fact(read);
        assert_eq!((read.node.as_str(), read.version.unwrap().0), ("n1", 7));
        assert_eq!(read.renewed, Some(Wall::from_micros(1_795_255_200_123_456)));
        let identity = read.identity();
        assert_eq!((identity.namespace.as_str(), identity.name.as_str()), ("kube-node-lease", "n1"));
    }
}

#[test]
fn a_lease_that_was_never_renewed_is_valid() {
    for never in [
        lease(&Value::Null),
        lease(&json!({})),
        lease(&json!({"renewTime": null, "holderIdentity": 7})),
        lease(&json!({"renewTime": "0001-01-01T00:00:00Z"})),
        lease_protobuf(&[]),
        lease_protobuf(&field(4, &[])),
        lease_protobuf(&[integer(1, 7), field(4, &integer(1, -62_135_596_800))].concat()),
    ] {
        assert_eq!(fact(never).renewed, None);
    }
}

#[test]
fn a_lease_of_the_wrong_form_is_reported_with_name_and_path() {
    for odd in [
        lease(&json!({"renewTime": 7})),
        lease(&json!({"renewTime": "soon"})),
        lease_protobuf(&integer(4, 7)),
        lease_protobuf(&field(4, &integer(1, i64::MAX))),
    ] {
        let unreadable = unreadable(odd);
        assert!(unreadable.why.starts_with("spec.renewTime: "), "{}", unreadable.why);
        assert_eq!(unreadable.identity.unwrap().name, "n1");
    }
    assert!(unreadable(lease(&json!([]))).why.starts_with("spec: "));
    assert_eq!(unreadable(LeaseFact::from_protobuf(b"")).identity, None);
    assert_eq!(unreadable(LeaseFact::from_json(b"{}")).identity, None);
}
