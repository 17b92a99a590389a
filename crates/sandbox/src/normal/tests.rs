//! Both directions: what is kept, what is dropped, what is refused, in the words of a real server (v1.36.3).

mod texts;

use serde_json::{Value, json};

use super::{Normal, complaints, duplicates, normal, yaml_to_json};

fn pod(spec: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
}

fn container(fields: Value) -> Value {
    let mut container = json!({"name": "c", "image": "i"});
    container.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    pod(json!({"containers": [container]}))
}

fn of_pod(object: Value) -> Value {
    normal("v1", "Pod", object).unwrap().value
}

fn refused(object: Value) -> String {
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
    let spec = of_pod(pod(json!({
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
    let spec = of_pod(pod(json!({
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
    let Normal { value, unknown } = normal("v1", "Pod", object).unwrap();
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
    let template = pod(json!({"volumes": [{"kind": "x"}], "containers": []}));
    assert_eq!(normal("v1", "Pod", template).unwrap().unknown, [r#"unknown field "spec.volumes[0].kind""#]);
}

/// A pod's spec, what is wrong in it, where, and what belongs there.
fn misfits() -> Vec<(Value, &'static str, &'static str, &'static str)> {
    vec![
        (
            json!({"terminationGracePeriodSeconds": "x"}),
            "string",
            "PodSpec.spec.terminationGracePeriodSeconds",
            "int64",
        ),
        (
            json!({"terminationGracePeriodSeconds": 1.5}),
            "number 1.5",
            "PodSpec.spec.terminationGracePeriodSeconds",
            "int64",
        ),
        (
            json!({"terminationGracePeriodSeconds": 1.0}),
            "number 1.0",
            "PodSpec.spec.terminationGracePeriodSeconds",
            "int64",
        ),
        (json!({"containers": {}}), "object", "PodSpec.spec.containers", "[]v1.Container"),
        (json!({"containers": ["x"]}), "string", "PodSpec.spec.containers", "v1.Container"),
        (json!({"containers": [{"name": 5}]}), "number", "Container.spec.containers.name", "string"),
        (
            json!({"tolerations": [{"effect": 5}]}),
            "number",
            "Toleration.spec.tolerations.effect",
            "v1.TaintEffect",
        ),
        (json!({"nodeSelector": {"a": 1}}), "number", "PodSpec.spec.nodeSelector", "string"),
        (json!({"nodeSelector": []}), "array", "PodSpec.spec.nodeSelector", "map[string]string"),
        (
            json!({"containers": [{"resources": {"limits": []}}]}),
            "array",
            "ResourceRequirements.spec.containers.resources.limits",
            "v1.ResourceList",
        ),
        (
            json!({"containers": [{"resources": []}]}),
            "array",
            "Container.spec.containers.resources",
            "v1.ResourceRequirements",
        ),
        (
            json!({"containers": [{"livenessProbe": {"httpGet": {"port": true}}}]}),
            "bool",
            "HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port",
            "int32",
        ),
        (
            json!({"volumes": [{"emptyDir": 5}]}),
            "number",
            "Volume.spec.volumes.VolumeSource.emptyDir",
            "v1.EmptyDirVolumeSource",
        ),
        (
            json!({"volumes": [{"emptyDir": {"medium": 5}}]}),
            "number",
            "EmptyDirVolumeSource.spec.volumes.VolumeSource.emptyDir.medium",
            "v1.StorageMedium",
        ),
        (
            json!({"volumes": [{"configMap": {"name": 5}}]}),
            "number",
            "ConfigMapVolumeSource.spec.volumes.VolumeSource.configMap.LocalObjectReference.name",
            "string",
        ),
    ]
}

#[test]
fn wrong_types_are_refused_in_gos_words() {
    let whole = "json: cannot unmarshal ";
    for (spec, found, place, named) in misfits() {
        assert_eq!(
            refused(pod(spec)),
            format!("{whole}{found} into Go struct field {place} of type {named}")
        );
    }
    assert_eq!(
        refused(json!({"spec": "x"})),
        format!("{whole}string into Go struct field Pod.spec of type v1.PodSpec")
    );
    assert_eq!(
        refused(json!({"metadata": {"creationTimestamp": 5}})),
        format!("{whole}number into Go struct field ObjectMeta.metadata.creationTimestamp of type string")
    );
    assert_eq!(refused(json!([])), format!("{whole}array into Go value of type v1.Pod"));
    assert!(normal("v1", "Nothing", json!({})).is_err());
    let quantity =
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    assert_eq!(refused(container(json!({"resources": {"limits": {"cpu": "abc"}}}))), quantity);
    assert_eq!(refused(container(json!({"resources": {"limits": {"cpu": true}}}))), quantity);
}

#[test]
fn bytes_are_base64() {
    let secret = |text: &str| normal("v1", "Secret", json!({"data": {"a": text}}));
    for (text, at) in [("!!!!", 0), ("YWJj\nYQ=", 8), ("abc", 0), ("abcde", 4)] {
        assert_eq!(secret(text).unwrap_err().0, format!("illegal base64 data at input byte {at}"), "{text}");
    }
    assert_eq!(secret("YWJjYQ==").unwrap().value["data"]["a"], "YWJjYQ==");
    assert_eq!(
        normal("v1", "Secret", json!({"data": {"a": 5}})).unwrap_err().0,
        "json: cannot unmarshal number into Go struct field Secret.data of type []uint8"
    );
}

#[test]
fn duplicates_are_found_in_the_order_of_the_text() {
    let body = br#"{"metadata":{"labels":{"a":"b","a":"c"}},
        "spec":{"dnsPolicy":"D","dnsPolicy":"D","dnsPolicy":"D","unk":{"a":1,"a":2},
        "containers":[{"name":"c"},{"image":"i","image":"i"}]}}"#;
    let strict = [
        r#"duplicate field "metadata.labels.a""#,
        r#"duplicate field "spec.dnsPolicy""#,
        r#"unknown field "spec.unk""#,
        r#"duplicate field "spec.containers[1].image""#,
    ];
    let object = serde_json::from_slice(body).unwrap();
    assert_eq!(complaints(body, &normal("v1", "Pod", object).unwrap().unknown), strict);
    assert!(duplicates(body).contains(&r#"duplicate field "spec.unk.a""#.to_owned()));
    assert!(duplicates(br#"{"a":{"x":1},"b":{"x":1},"c":[{"x":null},{"x":1.5}]}"#).is_empty());
    assert_eq!(duplicates(br#"{"a":1,"a":2"#).len(), 1);
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
