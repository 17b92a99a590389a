//! Tests that pools are decoded field by field, and that errors name the field.

use super::sample::{pool, seen, why};
use serde_json::{Value, json};
use taintward_core::admission::LabelSelector;
use taintward_core::admission::pool::{
    AppliedMark, DaemonSetPolicy, DedicatedPool, PoolEnforcement, PoolLabel, PoolMembers, PoolPlacement,
    PoolTaint, PoolUsers, PoolValidity, Reason, RecordTrust, ServiceAccount, assess,
};
use taintward_core::dedicated_pools::PoolFact;
use taintward_core::identity::{ResourceVersion, Uid};
use taintward_core::scheduling::{NodeOperator, NodeRequirement};
use taintward_core::taint::TaintEffect;
use taintward_core::time::Wall;
use taintward_kube::decode::{Decoded, ObjectBody, WatchedObject, object_from_body};

fn requirement(key: &str, operator: NodeOperator, values: &[&str]) -> NodeRequirement {
    NodeRequirement { key: key.into(), operator, values: values.iter().map(|&value| value.into()).collect() }
}

fn expected() -> DedicatedPool {
    DedicatedPool {
        name: "team-a".into(),
        uid: "uid-1".into(),
        created: Some(Wall::from_secs(1_800_000_000)),
        leaving: false,
        taint: PoolTaint {
            key: "example.com/pool".into(),
            value: "a".into(),
            effects: vec![TaintEffect::NoSchedule, TaintEffect::NoExecute],
        },
        label: Some(PoolLabel { key: "example.com/nodes".into(), value: "of-a".into() }),
        members: PoolMembers {
            names: vec!["n1".into(), "n2".into()],
            selector: Some(LabelSelector(vec![
                requirement("b", NodeOperator::In, &[""]),
                requirement("z", NodeOperator::In, &["1"]),
                requirement("disk", NodeOperator::NotIn, &["hdd", "tape"]),
                requirement("spot", NodeOperator::DoesNotExist, &[]),
            ])),
        },
        users: PoolUsers {
            namespaces: Some(LabelSelector::default()),
            service_accounts: vec![ServiceAccount { namespace: "ci".into(), name: "runner".into() }],
            users: vec!["jane".into()],
            groups: vec!["ops".into()],
        },
        placement: PoolPlacement::Allowed,
        enforcement: PoolEnforcement::Deny,
        daemon_sets: DaemonSetPolicy::Allow,
        applied_marks: Vec::new(),
    }
}

#[test]
fn every_field_is_decoded() {
    let read = seen(&pool());
    assert_eq!(read.pool, expected());
    assert_eq!(
        (read.uid.clone(), read.version, read.generation),
        (Uid::new("uid-1"), Some(ResourceVersion(41)), 3)
    );
    assert_eq!(read.finalizers, ["taintward.io/nodes".into()]);
    assert_eq!(read.recorded, None);
    let identity = read.identity();
    assert_eq!(
        (identity.name.as_str(), identity.uid, identity.version),
        ("team-a", Some(read.uid), read.version)
    );
}

#[test]
fn an_absent_field_has_its_default() {
    let mut least = pool();
    least["spec"] =
        json!({"taint": {"key": "a"}, "label": null, "nodes": {"names": null}, "placement": null});
    least["metadata"]["deletionTimestamp"] = json!("2027-01-15T09:00:00Z");
    let read = seen(&least).pool;
    let taint = PoolTaint { key: "a".into(), ..PoolTaint::default() };
    let created = expected().created;
    let (name, uid) = ("team-a".into(), "uid-1".into());
    assert_eq!(read, DedicatedPool { name, uid, created, leaving: true, taint, ..DedicatedPool::default() });
    assert_eq!((read.placement, read.enforcement), (PoolPlacement::Exclusive, PoolEnforcement::Deny));
}

#[test]
fn an_empty_selector_is_not_the_same_as_none() {
    let mut object = pool();
    object["spec"]["nodes"] = json!({"selector": {}});
    assert_eq!(seen(&object).pool.members.selector, Some(LabelSelector::default()));
    object["spec"]["nodes"] = json!({"selector": null});
    assert_eq!(seen(&object).pool.members.selector, None);
}

/// A decodable but invalid pool is the core's to report, so that the pool can have it in its status.
#[test]
fn the_core_reports_invalid_pools() {
    for (at, value, reason) in [
        ("/spec/taint", json!({}), Reason::BadTaint),
        ("/spec/taint", Value::Null, Reason::BadTaint),
        ("/spec/taint/effects", json!(["NoSchedul"]), Reason::BadTaint),
        ("/spec/taint/key", json!("node.kubernetes.io/x"), Reason::ReservedTaint),
        ("/spec/label", json!({}), Reason::BadLabel),
        ("/spec/nodes", json!({}), Reason::NoMembers),
        ("/spec/nodes", Value::Null, Reason::NoMembers),
        ("/spec/nodes/selector/matchExpressions/0/operator", json!("Near"), Reason::BadSelector),
        ("/spec/users/namespaceSelector", json!({"matchLabels": {"a": "b c"}}), Reason::BadSelector),
    ] {
        let mut object = pool();
        *object.pointer_mut(at).unwrap() = value;
        let assessed = assess(&[seen(&object).pool], None, RecordTrust::Pools);
        assert_eq!(assessed[0].validity, PoolValidity::Rejected, "{at}");
        assert!(assessed[0].findings.iter().any(|finding| finding.reason == reason), "{at}: {assessed:?}");
    }
}

#[test]
fn an_unknown_value_is_named() {
    for (at, value, message) in [
        ("/spec", json!(null), "spec: missing"),
        ("/spec", json!([]), "spec: "),
        (
            "/spec/placement",
            json!("Sometimes"),
            "spec.placement: \"Sometimes\" is none of Exclusive, Allowed",
        ),
        ("/spec/placement", json!(""), "spec.placement: "),
        ("/spec/enforcement", json!("off"), "spec.enforcement: \"off\" is none of Deny, Evict, Warn, Off"),
        ("/spec/enforcement", json!(false), "spec.enforcement: "),
        ("/spec/taint/key", json!(1), "spec.taint.key: "),
        ("/spec/taint/effects/1", json!(null), "spec.taint.effects[1]: "),
        ("/spec/nodes/names/0", json!({}), "spec.nodes.names"),
        ("/spec/nodes/selector/matchLabels", json!([]), "spec.nodes.selector.matchLabels: "),
        ("/spec/users/serviceAccounts/0", json!({"name": "x"}), "spec.users.serviceAccounts[0]"),
        ("/spec/users/groups", json!("ops"), "spec.users.groups: "),
        ("/metadata/uid", json!(""), "metadata.uid: missing"),
        ("/metadata/creationTimestamp", json!("soon"), "metadata.creationTimestamp: not an RFC 3339 time"),
        ("/metadata/generation", json!("3"), "metadata.generation: "),
    ] {
        let mut object = pool();
        *object.pointer_mut(at).unwrap() = value;
        let why = why(PoolFact::from_json(object.to_string().as_bytes()));
        assert!(why.starts_with(message), "{at}: {why}");
    }
}

/// It may restrict what would be done without it.
#[test]
fn an_unknown_field_is_not_ignored() {
    for at in
        ["", "/taint", "/label", "/nodes", "/nodes/selector", "/nodes/selector/matchExpressions/0", "/users"]
    {
        let mut object = pool();
        let part = object.pointer_mut(&format!("/spec{at}")).unwrap();
        part["newer"] = json!(1);
        let why = why(PoolFact::from_json(object.to_string().as_bytes()));
        assert!(why.contains("newer") && why.starts_with("spec"), "{at}: {why}");
    }
    let mut object = pool();
    object["metadata"]["newer"] = json!(1);
    object["newer"] = json!(1);
    assert_eq!(seen(&object).pool, expected(), "fields that Kubernetes adds do not matter");
}

#[test]
fn declared_marks_are_decoded_and_not_guessed() {
    let mut object = pool();
    object["status"] = json!({"past": [
        {"kind": "Taint", "key": "a", "value": "b", "effect": "NoExecute"}, {"kind": "Label", "key": "c"},
    ]});
    let taint = AppliedMark::Taint { key: "a".into(), value: "b".into(), effect: TaintEffect::NoExecute };
    let label = AppliedMark::Label { key: "c".into(), value: "".into() };
    assert_eq!(seen(&object).pool.applied_marks, [taint, label]);
    object["status"] = json!(null);
    assert_eq!(seen(&object).pool.applied_marks, []);
    for (status, message) in [
        (json!({"past": [{"kind": "Taint", "key": "a"}]}), "status.past[0].effect: missing"),
        (
            json!({"past": [{"kind": "Label"}, {"key": "a"}]}),
            "status.past[1].kind: \"\" is neither Taint nor Label",
        ),
        (json!({"past": "all"}), "status.past: "),
        (json!([]), "status"),
    ] {
        object["status"] = status;
        let why = why(PoolFact::from_json(object.to_string().as_bytes()));
        assert!(why.starts_with(message), "{why}");
    }
}

#[test]
fn nothing_is_decoded_from_what_no_server_writes() {
    assert!(matches!(PoolFact::from_protobuf(b""), Decoded::Undecodable(_)));
    let mut other = pool();
    other["kind"] = json!("TolerationPolicy");
    let body = object_from_body::<PoolFact>("application/json", other.to_string().as_bytes());
    assert!(matches!(body, ObjectBody::Foreign(_)), "{body:?}");
}
