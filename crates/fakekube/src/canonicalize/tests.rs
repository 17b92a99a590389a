//! Tests which fields are kept, dropped and rejected.

mod texts;

use serde_json::{Value, json};
use testkit::{ObjectExt as _, pod};

use super::{Canonical, normal, yaml_to_json};

fn specified(spec: Value) -> Value {
    pod("p").with("spec", spec)
}

fn container(fields: Value) -> Value {
    let mut container = json!({"name": "c", "image": "i"});
    container.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    specified(json!({"containers": [container]}))
}

fn of_pod(object: Value) -> Value {
    normal("v1", "Pod", object).unwrap().value
}

fn rejected(object: Value) -> String {
    normal("v1", "Pod", object).unwrap_err().0
}

#[test]
fn zero_values_are_written_where_go_writes_them() {
    assert_eq!(
        of_pod(json!({"metadata": {"name": "p", "creationTimestamp": null}})),
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": null}, "status": {}})
    );
    assert_eq!(
        normal("v1", "Event", json!({})).unwrap().value,
        json!({"apiVersion": "v1", "kind": "Event", "metadata": {}, "involvedObject": {}, "source": {},
               "firstTimestamp": null, "lastTimestamp": null, "eventTime": null,
               "reportingComponent": "", "reportingInstance": ""})
    );
}

#[test]
fn empty_values_go_unless_a_pointer_holds_them() {
    let spec = of_pod(specified(json!({
        "containers": [{"name": "c", "args": [], "workingDir": "", "stdin": false, "securityContext": {}, "env": null}],
        "nodeSelector": {}, "hostNetwork": false, "terminationGracePeriodSeconds": 0, "automountServiceAccountToken": false,
        "priority": null, "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "emptyDir": null}],
    })))["spec"]
        .clone();
    assert_eq!(
        spec,
        json!({"containers": [{"name": "c", "resources": {}, "securityContext": {}}],
               "terminationGracePeriodSeconds": 0, "automountServiceAccountToken": false,
               "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w"}]})
    );
}

#[test]
fn null_is_the_zero_value() {
    let spec = of_pod(specified(json!({
        "containers": [{"name": null, "env": [null], "resources": {"limits": {"cpu": null}},
                        "livenessProbe": {"httpGet": {"port": null}}}],
        "nodeSelector": {"a": null},
    })))["spec"]
        .clone();
    assert_eq!(
        spec,
        json!({"containers": [{"name": "", "env": [{"name": ""}], "resources": {"limits": {"cpu": "0"}},
                               "livenessProbe": {"httpGet": {"port": 0}}}],
               "nodeSelector": {"a": ""}})
    );
    let secret = normal("v1", "Secret", json!({"data": {"a": null, "b": "", "c": "YW\nI="}})).unwrap().value;
    assert_eq!(secret["data"], json!({"a": "", "b": "", "c": "YWI="}));
}

#[test]
fn lists_the_store_does_not_tell_from_none_become_null() {
    let role = normal("rbac.authorization.k8s.io/v1", "ClusterRole", json!({"rules": []})).unwrap().value;
    assert_eq!(role["rules"], Value::Null);
    let list = normal("v1", "PodList", json!({})).unwrap().value;
    assert_eq!(list["items"], json!([]));
}

#[test]
fn unknown_fields_are_dropped_and_named() {
    let mut object = container(json!({"foo": {"bar": 1}, "resources": {"limit": {}, "limits": {"any": 1}}}));
    object["spec"]["tolerance"] = json!(1);
    object["Kind"] = json!("x");
    object["metadata"]["labels"] = json!({"any.thing/at-all": "x"});
    let Canonical { value, unknown } = normal("v1", "Pod", object).unwrap();
    assert_eq!(
        unknown,
        [
            r#"unknown field "Kind""#,
            r#"unknown field "spec.containers[0].foo""#,
            r#"unknown field "spec.containers[0].resources.limit""#,
            r#"unknown field "spec.tolerance""#,
        ]
    );
    assert_eq!(
        value["spec"],
        json!({"containers": [{"name": "c", "image": "i", "resources": {"limits": {"any": "1"}}}]})
    );
    assert_eq!(value["metadata"]["labels"], json!({"any.thing/at-all": "x"}));
    assert!(normal("v1", "Pod", container(json!({}))).unwrap().unknown.is_empty());
}

#[test]
fn kinds_of_their_own_stand_within_lists() {
    let item = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {}});
    let list = normal("v1", "PodList", json!({"items": [item]})).unwrap();
    assert!(list.unknown.is_empty());
    assert_eq!(list.value["items"][0]["kind"], "Pod");
    let template = specified(json!({"volumes": [{"kind": "x"}], "containers": []}));
    assert_eq!(normal("v1", "Pod", template).unwrap().unknown, [r#"unknown field "spec.volumes[0].kind""#]);
}

#[test]
fn wrong_types_are_refused_with_their_place() {
    for (spec, message) in [
        (
            json!({"terminationGracePeriodSeconds": "x"}),
            "spec.terminationGracePeriodSeconds: text cannot stand where a whole number of 64 bits is expected",
        ),
        (
            json!({"terminationGracePeriodSeconds": 1.5}),
            "spec.terminationGracePeriodSeconds: the number 1.5 cannot stand where a whole number of 64 bits is expected",
        ),
        (
            json!({"priority": 3_000_000_000_u32}),
            "spec.priority: the number 3000000000 cannot stand where a whole number of 32 bits is expected",
        ),
        (json!({"containers": {}}), "spec.containers: an object cannot stand where a list is expected"),
        (json!({"containers": ["x"]}), "spec.containers[0]: text cannot stand where an object is expected"),
        (
            json!({"tolerations": [{"effect": 5}]}),
            "spec.tolerations[0].effect: the number 5 cannot stand where text is expected",
        ),
        (
            json!({"nodeSelector": {"a": 1}}),
            "spec.nodeSelector.a: the number 1 cannot stand where text is expected",
        ),
        (
            json!({"containers": [{"livenessProbe": {"httpGet": {"port": true}}}]}),
            "spec.containers[0].livenessProbe.httpGet.port: a boolean cannot stand where text or a whole number of 32 \
             bits is expected",
        ),
        (
            json!({"volumes": [{"configMap": {"name": 5}}]}),
            "spec.volumes[0].configMap.name: the number 5 cannot stand where text is expected",
        ),
    ] {
        assert_eq!(rejected(specified(spec)), message);
    }
    assert_eq!(rejected(json!([])), "a list cannot stand where an object is expected");
    assert!(normal("v1", "Nothing", json!({})).is_err());
    for wrong in [json!("abc"), json!(true)] {
        let message = rejected(container(json!({"resources": {"limits": {"cpu": wrong}}})));
        assert!(
            message.starts_with("spec.containers[0].resources.limits.cpu: quantities must match"),
            "{message}"
        );
    }
}

#[test]
fn bytes_are_base64() {
    let secret = |text: &str| normal("v1", "Secret", json!({"data": {"a": text}}));
    for text in ["!!!!", "YWJj\nYQ=", "abc", "abcde"] {
        let message = secret(text).unwrap_err().0;
        assert!(message.starts_with("data.a: no base64: "), "{message}");
    }
    assert_eq!(secret("YWJjYQ==").unwrap().value["data"]["a"], "YWJjYQ==");
    assert!(normal("v1", "Secret", json!({"data": {"a": 5}})).is_err());
}

#[test]
fn yaml_is_json() {
    let yaml = b"apiVersion: v1\nkind: Pod\nspec:\n  hostNetwork: true\n  containers:\n  - &c {name: \"5\", image: i}\n  - *c\n  grace: 30\n  half: 0.5\n  none: ~\n  text: |\n    a\n    b\n";
    assert_eq!(
        yaml_to_json(yaml),
        Ok(json!({"apiVersion": "v1", "kind": "Pod", "spec": {"hostNetwork": true, "grace": 30, "half": 0.5,
            "none": null, "text": "a\nb\n",
            "containers": [{"name": "5", "image": "i"}, {"name": "5", "image": "i"}]}}))
    );
    for (yaml, value) in [
        ("a: 0644", json!({"a": 420})),
        ("a: 1.0", json!({"a": 1})),
        ("a: yes", json!({"a": true})),
        ("a: 'yes'", json!({"a": "yes"})),
        ("a: 1_000", json!({"a": 1000})),
        ("a: 2024-01-01", json!({"a": "2024-01-01"})),
        ("1: b", json!({"1": "b"})),
        ("a: b\na: c", json!({"a": "c"})),
        ("# first\n---\na: b\n--- # second\nc: d", json!({"a": "b"})),
        ("a: |\n  ---\n  b\n", json!({"a": "---\nb\n"})),
    ] {
        assert_eq!(yaml_to_json(yaml.as_bytes()), Ok(value), "{yaml}");
    }
    assert_eq!(yaml_to_json(br#"{"a": [1, "x", null]}"#), Ok(json!({"a": [1, "x", null]})));
}

#[test]
fn yaml_is_bounded() {
    let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for level in 1..9 {
        let before = format!("*a{}", level - 1);
        bomb.push_str(&format!("a{level}: &a{level} [{}]\n", vec![before; 10].join(",")));
    }
    assert!(yaml_to_json(bomb.as_bytes()).is_err());
    assert!(yaml_to_json("[".repeat(100_000).as_bytes()).is_err());
    assert!(yaml_to_json(&vec![b' '; 4 << 20]).is_err());
    assert!(yaml_to_json(b"a: [").is_err());
    assert!(yaml_to_json(b"\xff\xfe").is_err());
    let deep = "{\"a\":".repeat(60) + "1" + &"}".repeat(60);
    assert!(yaml_to_json(deep.as_bytes()).is_ok());
}
