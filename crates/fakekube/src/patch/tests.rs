//! Tests patches rule by rule.
//!
//! - See `server/patches.rs` in the tests of the sandbox for the comparison with a real API server.

mod ownership;

use super::{FieldWriter, apply, json_patch, merge_patch, strategic, track};
use crate::schema::{Schema, TypeId};
use proptest::prelude::*;
use serde_json::{Value, json};

fn of(version: &str, kind: &str) -> TypeId {
    Schema::get().kind(version, kind).unwrap()
}

fn at<'a>(manager: &'a str, now: &'a str) -> FieldWriter<'a> {
    FieldWriter { manager, subresource: "", version: "v1", now }
}

#[test]
fn json_patches() {
    let document = json!({"a": {"b": [1, 2]}, "n": null});
    let cases = [
        (
            json!([{"op": "add", "path": "/a/b/-", "value": 3}]),
            Some(json!({"a": {"b": [1, 2, 3]}, "n": null})),
        ),
        (
            json!([{"op": "add", "path": "/a/b/0", "value": 3}]),
            Some(json!({"a": {"b": [3, 1, 2]}, "n": null})),
        ),
        (json!([{"op": "add", "path": "/a/b/3", "value": 3}]), None),
        (json!([{"op": "remove", "path": "/a/b/2"}]), None),
        (json!([{"op": "remove", "path": "/x"}]), None),
        (json!([{"op": "replace", "path": "", "value": {}}]), Some(json!({}))),
        (
            json!([{"op": "move", "from": "/a/b", "path": "/c~0d"}]),
            Some(json!({"a": {}, "c~d": [1, 2], "n": null})),
        ),
        (
            json!([{"op": "copy", "from": "/a/b/0", "path": "/c"}]),
            Some(json!({"a": {"b": [1, 2]}, "c": 1, "n": null})),
        ),
        (json!([{"op": "test", "path": "/a/b", "value": [1, 2]}]), Some(document.clone())),
        (json!([{"op": "test", "path": "/a/b", "value": [2, 1]}]), None),
        (json!([{"op": "test", "path": "/absent", "value": 1}]), None),
        (json!([{"op": "test", "path": "/absent", "value": null}]), Some(document.clone())),
        (json!([{"op": "test", "path": "/absent/b", "value": null}]), None),
        (json!([{"op": "test", "path": "/a", "value": null}]), None),
        (json!([{"op": "add", "path": "/n/x", "value": 1}]), None),
        (json!([]), Some(document.clone())),
    ];
    for (patch, expected) in cases {
        let result = json_patch(&document, &patch);
        match expected {
            Some(expected) => assert_eq!(result, Ok(expected), "{patch}"),
            None => assert_eq!(result.unwrap_err().code, 422, "{patch}"),
        }
    }
    assert_eq!(json_patch(&document, &json!({})).unwrap_err().code, 400);
}

#[test]
fn json_patches_have_limits() {
    let operation = json!({"op": "test", "path": "", "value": {}});
    let fits = Value::Array(vec![operation.clone(); 10_000]);
    assert!(json_patch(&json!({}), &fits).is_ok());
    let error = json_patch(&json!({}), &Value::Array(vec![operation; 10_001])).unwrap_err();
    assert_eq!(error.code, 413);
    assert!(error.message.ends_with("The allowed maximum operations in a JSON patch is 10000, got 10001"));
    // Each copy doubles the size: first the text, then the depth.
    let wide = json!({"a": ["x".repeat(100)]});
    let copy = json!({"op": "copy", "from": "/a", "path": "/a/0"});
    assert_eq!(json_patch(&wide, &Value::Array(vec![copy; 40])).unwrap_err().code, 422);
    let deeper = json!([{"op": "move", "from": "/a", "path": "/b"}, {"op": "add", "path": "/a", "value": {}}, {"op": "move", "from": "/b", "path": "/a/b"}]);
    let mut document = json!({"a": {}});
    let depth = (0..).find(|_| match json_patch(&document, &deeper) {
        Ok(deeper) => {
            document = deeper;
            false
        }
        Err(error) => error.code == 422,
    });
    assert!(depth.is_some_and(|depth| (100..600).contains(&depth)), "{depth:?}");
}

#[test]
fn refusals_look_as_a_real_server_writes_them() {
    let status = |patch: &Value| json_patch(&json!({}), patch).unwrap_err().status();
    let mut body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 422, "reason": "Invalid",
        "message": "the server rejected our request due to an error in our request", "details": {},
    });
    assert_eq!(status(&json!([{"op": "remove", "path": "/x"}])), body);
    let plain = strategic(&json!({}), &json!({"$patch": "frob"}), of("v1", "Pod")).unwrap_err().status();
    body["code"] = 500.into();
    body["message"] = "unknown patch type: \"frob\"".into();
    for name in ["reason", "details"] {
        body.as_object_mut().unwrap().remove(name);
    }
    assert_eq!(plain, body);
}

#[test]
fn merge_patches() {
    let cases = [
        (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": "b"}), json!({"a": null}), json!({})),
        (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
        (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
        (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
        (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
        (json!({"a": {"b": 1}}), json!({"a": [1]}), json!({"a": [1]})),
    ];
    for (document, patch, expected) in cases {
        assert_eq!(merge_patch(&document, &patch), Ok(expected), "{document} {patch}");
    }
    assert_eq!(merge_patch(&json!({}), &json!([1])).unwrap_err().code, 400);
    assert_eq!(merge_patch(&json!({}), &Value::Null).unwrap_err().code, 400);
}

#[test]
fn strategic_merge_patches() {
    let containers = |patch: Value| json!({"spec": {"containers": patch}});
    let pod = json!({
        "metadata": {"finalizers": ["a", "b"], "labels": {"x": "y"}},
        "spec": {
            "containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}, {"name": "c", "image": "1"}],
            "tolerations": [{"key": "k"}], "volumes": [{"name": "v", "emptyDir": {}}],
        },
    });
    let names = |patched: &Value| -> Vec<String> {
        patched["spec"]["containers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|of| of["name"].as_str().unwrap().into())
            .collect()
    };
    let run = |patch: &Value| strategic(&pod, patch, of("v1", "Pod"));
    let order = |patch: Value| names(&run(&patch).unwrap());
    assert_eq!(order(containers(json!([{"name": "b", "image": "2"}]))), ["a", "b", "c"]);
    assert_eq!(order(containers(json!([{"name": "d"}]))), ["d", "a", "b", "c"]);
    assert_eq!(order(containers(json!([{"name": "c"}, {"name": "a"}]))), ["b", "c", "a"]);
    assert_eq!(order(containers(json!([{"name": "b", "$patch": "delete"}]))), ["a", "c"]);
    assert_eq!(order(containers(json!([{"$patch": "replace"}, {"name": "z"}]))), ["z"]);
    let directive = json!({"spec": {"$setElementOrder/containers": [{"name": "c"}, {"name": "d"}, {"name": "a"}], "containers": [{"name": "d"}]}});
    assert_eq!(order(directive), ["b", "c", "d", "a"]);
    let tables = [
        (json!({"metadata": {"finalizers": ["c", "a"]}}), "/metadata/finalizers", json!(["c", "a", "b"])),
        (
            json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}}),
            "/metadata/finalizers",
            json!(["b"]),
        ),
        (json!({"metadata": {"finalizers": null}}), "/metadata/finalizers", Value::Null),
        (json!({"metadata": {"labels": {"z": "1", "x": null}}}), "/metadata/labels", json!({"z": "1"})),
        (
            json!({"metadata": {"labels": {"$patch": "replace", "q": "1"}}}),
            "/metadata/labels",
            json!({"q": "1"}),
        ),
        (json!({"metadata": {"labels": {"$patch": "delete"}}}), "/metadata/labels", json!({})),
        (json!({"spec": {"tolerations": [{"key": "q"}]}}), "/spec/tolerations", json!([{"key": "q"}])),
        (
            json!({"spec": {"volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/"}}]}}),
            "/spec/volumes",
            json!([{"name": "v", "hostPath": {"path": "/"}}]),
        ),
        (json!({"unknown": {"x": [1]}}), "/unknown", json!({"x": [1]})),
    ];
    for (patch, path, expected) in tables {
        let patched = run(&patch).unwrap();
        assert_eq!(patched.pointer(path).cloned().unwrap_or_default(), expected, "{patch}");
    }
    let error = run(&containers(json!([{"image": "2"}]))).unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str()),
        (500, "an item does not contain declared merge key: name")
    );
    let error = run(&json!({"spec": {"volumes": [{"name": "v", "$retainKeys": ["name"], "hostPath": {}}]}}))
        .unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (400, "invalid patch format of retainKeys"));
}

/// Any JSON, of the names patches and objects are made of.
fn any_json() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3..100_i64).prop_map(Value::from),
        "[a-c/~-]{0,3}".prop_map(Value::from),
        prop_oneof![
            Just("delete"),
            Just("replace"),
            Just("add"),
            Just("/spec/containers/0"),
            Just("/metadata")
        ]
        .prop_map(Value::from),
    ];
    let name = prop_oneof![
        Just("spec"),
        Just("metadata"),
        Just("containers"),
        Just("name"),
        Just("image"),
        Just("finalizers"),
        Just("ports"),
        Just("containerPort"),
        Just("labels"),
        Just("$patch"),
        Just("$retainKeys"),
        Just("$setElementOrder/containers"),
        Just("$deleteFromPrimitiveList/finalizers"),
        Just("volumes"),
        Just("op"),
        Just("path"),
        Just("from"),
        Just("value"),
        Just("managedFields"),
        Just("status"),
        Just("apiVersion"),
        Just("kind"),
    ];
    scalar.prop_recursive(6, 48, 5, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(name.clone(), inner, 0..5).prop_map(|fields| fields
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()),
        ]
    })
}

proptest! {
    #[test]
    fn nothing_panics(document in any_json(), patch in any_json()) {
        let pod = of("v1", "Pod");
        let _ = json_patch(&document, &patch);
        let _ = json_patch(&document, &json!([patch]));
        let _ = merge_patch(&document, &patch);
        let _ = strategic(&document, &patch, pod);
        let _ = apply(Some(&document), &patch, pod, &at("m", "1"), false);
        let mut typed = patch.clone();
        if let Some(fields) = typed.as_object_mut() {
            fields.insert("apiVersion".into(), "v1".into());
            fields.insert("kind".into(), "Pod".into());
        }
        let _ = apply(Some(&document), &typed, pod, &at("kubectl", "1"), true);
        let _ = track(Some(&document), &patch, pod, &at("m", "1"));
        let _ = track(None, &patch, pod, &at("m", "1"));
    }

    #[test]
    fn an_object_is_its_own_patch(images in proptest::collection::btree_map("[a-z]{1,3}", "[a-z]{1,3}", 1..6)) {
        let containers: Vec<_> = images.iter().map(|(name, image)| json!({"name": name, "image": image})).collect();
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"a": "b"}, "finalizers": ["x", "y"]},
            "spec": {"containers": containers}});
        prop_assert_eq!(strategic(&pod, &pod, of("v1", "Pod")).unwrap(), pod.clone());
        prop_assert_eq!(merge_patch(&pod, &pod).unwrap(), pod.clone());
        let live = apply(None, &pod, of("v1", "Pod"), &at("m", "1"), false).unwrap();
        prop_assert_eq!(apply(Some(&live), &pod, of("v1", "Pod"), &at("m", "2"), false).unwrap(), live);
    }
}
