//! Tests well-known fields of the schema.

use super::{MergeStrategy, Omit, Schema, Shape};

#[test]
fn a_pod_is_what_it_is() {
    let schema = Schema::get();
    let pod = schema.kind("v1", "Pod").unwrap();
    assert_eq!(schema.at(pod).name, "core/v1.Pod");
    let Shape::Object(spec) = schema.field(pod, "spec").unwrap().shape else {
        panic!("spec is not an object")
    };
    let containers = schema.field(spec, "containers").unwrap();
    assert_eq!((containers.number, containers.omit), (2, Omit::Never));
    assert_eq!(containers.merge, MergeStrategy { merge: true, retain_keys: false, key: Some("name".into()) });
    let tolerations = schema.field(spec, "tolerations").unwrap();
    assert_eq!((tolerations.number, tolerations.merge.merge), (22, false));
    let Shape::List(toleration) = &tolerations.shape else { panic!("tolerations are not a list") };
    let Shape::Object(toleration) = **toleration else { panic!("a toleration is not an object") };
    let seconds = schema.field(toleration, "tolerationSeconds").unwrap();
    assert_eq!((seconds.number, &seconds.shape, seconds.pointer), (5, &Shape::Int64, true));
    assert!(schema.field(spec, "tolerance").is_none());
}

#[test]
fn inlined_fields_are_found_where_json_has_them() {
    let schema = Schema::get();
    let volume = schema.named("core/v1.Volume").unwrap();
    assert!(schema.field(volume, "emptyDir").is_some());
    assert!(schema.field(volume, "VolumeSource").is_none());
}

#[test]
fn kinds_of_all_groups_are_there() {
    for (version, kind) in [
        ("v1", "Node"),
        ("v1", "NodeList"),
        ("apps/v1", "DaemonSet"),
        ("policy/v1", "Eviction"),
        ("coordination.k8s.io/v1", "Lease"),
        ("events.k8s.io/v1", "Event"),
        ("meta.k8s.io/v1", "Status"),
        ("meta.k8s.io/v1", "DeleteOptions"),
    ] {
        assert!(Schema::get().kind(version, kind).is_some(), "{version} {kind}");
    }
}
