//! Tests what the filter keeps and what it leaves out.

use super::*;
use serde_json::{Value, json};

fn filter_review(text: &[u8]) -> Result<FilteredReview, InvalidReview> {
    let mut filter = ReviewFilter::default();
    filter.push(text)?;
    filter.finish()
}

fn kept(text: &str) -> String {
    String::from_utf8(filter_review(text.as_bytes()).unwrap().text).unwrap()
}

fn of_object(object: &str) -> Value {
    let text = kept(&format!(r#"{{"request":{{"object":{object}}}}}"#));
    serde_json::from_str::<Value>(&text).unwrap()["request"]["object"].clone()
}

#[test]
fn wanted_fields_are_kept_and_the_rest_is_left_out() {
    let question = json!({
        "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "x": [{"kind": 1}],
        "request": {
            "uid": "u\n", "kind": {"group": "", "version": "v1", "kind": "Pod", "x": 1}, "requestKind": {"kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"}, "subResource": "", "name": "n",
            "namespace": "s", "operation": "UPDATE", "dryRun": false, "options": {"kind": "UpdateOptions"},
            "userInfo": {"username": "me", "uid": "1", "groups": ["g", "h"], "extra": {"k": [["v"]]}},
            "object": {
                "metadata": {
                    "name": "n", "labels": {"tier": "a", "app": "b"}, "managedFields": [{"fieldsV1": {"f:spec": {}}}],
                    "annotations": {"taintward.io/not-ready-seconds": "5", "kubectl": "{}", "kubernetes.io/config.mirror": ""},
                    "ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "controller": true}],
                },
                "spec": {
                    "tolerations": [{"key": "k", "tolerationSeconds": -5e0}], "nodeSelector": {"a": "b"},
                    "affinity": {
                        "podAffinity": {}, "nodeAffinity": {
                            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": []}]},
                            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}, {"weight": 2}],
                        },
                    },
                    "containers": [
                        {"name": "c", "args": ["a"], "resources": {"limits": {"cpu": 1}, "claims": []}},
                        {"name": "d", "env": [{"name": "a"}]},
                    ],
                    "schedulingGates": [{"name": "g"}], "hostNetwork": true, "nodeName": "n", "volumes": [],
                },
            },
            "oldObject": null,
        },
    });
    let mut expected = question.clone();
    let gone = |value: &mut Value, at: &str, field: &str| {
        assert!(
            value.pointer_mut(at).unwrap().as_object_mut().unwrap().remove(field).is_some(),
            "{at} {field}"
        );
    };
    for (at, field) in [
        ("", "x"),
        ("/request", "requestKind"),
        ("/request", "options"),
        ("/request/kind", "x"),
        ("/request/userInfo", "uid"),
        ("/request/userInfo", "extra"),
        ("/request/object/metadata", "name"),
        ("/request/object/metadata", "managedFields"),
        ("/request/object/metadata/labels", "app"),
        ("/request/object/metadata/annotations", "kubectl"),
        ("/request/object/metadata/ownerReferences/0", "name"),
        ("/request/object/spec/affinity", "podAffinity"),
        ("/request/object/spec/containers/0", "name"),
        ("/request/object/spec/containers/0", "args"),
        ("/request/object/spec/containers/0/resources", "claims"),
        ("/request/object/spec/containers/1", "name"),
        ("/request/object/spec/containers/1", "env"),
        ("/request/object/spec/schedulingGates/0", "name"),
        ("/request/object/spec", "volumes"),
    ] {
        gone(&mut expected, at, field);
    }
    let preferred =
        "/request/object/spec/affinity/nodeAffinity/preferredDuringSchedulingIgnoredDuringExecution";
    *expected.pointer_mut(preferred).unwrap() = json!([{}, {}]);
    for text in [question.to_string(), serde_json::to_string_pretty(&question).unwrap()] {
        assert_eq!(serde_json::from_str::<Value>(&kept(&text)).unwrap(), expected, "{text}");
        // Wherever it is cut, the result is the same.
        let whole = filter_review(text.as_bytes()).unwrap().text;
        for cut in 0..text.len() {
            let mut filter = ReviewFilter::default();
            filter.push(&text.as_bytes()[..cut]).unwrap();
            filter.push(&text.as_bytes()[cut..]).unwrap();
            assert_eq!(filter.finish().unwrap().text, whole, "{cut}");
        }
    }
}

#[test]
fn kept_text_is_unchanged() {
    let text = r#"{"request":{"object":{"spec":{"tolerations": [ {"key" : "\u006b\"", "a":[{}, [ ]]} ] }}}}"#;
    assert_eq!(
        kept(text),
        text.replace(r#"{"tolerations": "#, r#"{"tolerations":"#).replace("] }}}}", "]}}}}")
    );
}

#[test]
fn a_value_of_another_form_is_kept_as_far_as_its_form_fits() {
    for (object, kept) in [
        (json!(7), json!(7)),
        (json!([1, {"a": 2}]), json!([])),
        (json!({"spec": []}), json!({"spec": []})),
        (json!({"spec": {"containers": {"a": 1}}}), json!({"spec": {"containers": {}}})),
        (json!({"spec": {"containers": ["a", [1]]}}), json!({"spec": {"containers": ["a", []]}})),
        (json!({"metadata": {"labels": 5}}), json!({"metadata": {"labels": 5}})),
    ] {
        assert_eq!(of_object(&object.to_string()), kept, "{object}");
    }
}

#[test]
fn invalid_json_is_found_in_skipped_parts_too() {
    let around = |value: &str| format!(r#"{{"x":{value},"request":{{"y":[{value}]}}}}"#);
    for good in [
        "-0.5e+10",
        "0",
        "1E5",
        "10.25",
        "[ ]",
        "{ }",
        "[1,[2,{}]]",
        r#""\u00fF\n\/""#,
        "true",
        " null ",
        r#"{"a":1,"a":2}"#,
    ] {
        assert!(filter_review(around(good).as_bytes()).is_ok(), "{good}");
    }
    for bad in [
        "01",
        "-",
        "+1",
        "1.",
        ".5",
        "1e",
        "1e+",
        "0x1",
        "NaN",
        "nul",
        "truex",
        "[1,]",
        "[,1]",
        "{,}",
        "[1}",
        "{1]",
        "{\"a\"}",
        "{\"a\":}",
        "{a:1}",
        "{\"a\":1,}",
        "\"\u{1}\"",
        "\"\\x\"",
        "\"\\u00g0\"",
        "'a'",
        "",
        "1 2",
        "[1 2]",
        "{\"a\":1 \"b\":2}",
    ] {
        let message = filter_review(around(bad).as_bytes()).unwrap_err();
        assert!(
            !message.is_of_object() && message.to_string().contains("no JSON at byte "),
            "{bad}: {message}"
        );
    }
    for open in ["", "{", "[", "\"a", "1.", "tru", "{\"a\":[1", "{} {}", "{}x"] {
        assert!(filter_review(open.as_bytes()).is_err(), "{open}");
    }
    // Any bytes that clients wrote where an API server does not check.
    assert!(filter_review(b"{\"request\":{\"x\":\"\xff\",\"\xfe\":1}}").is_ok());
}

#[test]
fn depth_costs_a_bit_a_level_and_length_nothing() {
    for (open, close) in [("[", "]"), ("{\"f:a\":", "}")] {
        let deep = format!("{}1{}", open.repeat(1_000_000), close.repeat(1_000_000));
        let mut filter = ReviewFilter::default();
        let text = format!(
            r#"{{"request":{{"uid":"u","options":{deep},"object":{{"metadata":{{"managedFields":{deep}}}}}}}}}"#
        );
        filter.push(text.as_bytes()).unwrap();
        assert!(filter.memory() < 300_000, "{}", filter.memory());
        assert_eq!(filter.finish().unwrap().text, br#"{"request":{"uid":"u","object":{"metadata":{}}}}"#);
    }
    let mut filter = ReviewFilter::default();
    filter.push(br#"{"request":{"object":{"spec":{"containers":[{"args":[""#).unwrap();
    for _ in 0..1000 {
        filter.push(&b"\\u003c".repeat(6000)).unwrap();
    }
    assert!(filter.memory() < 1000, "{}", filter.memory());
}

#[test]
fn a_field_that_is_too_large_is_left_out_and_the_others_stay() {
    let long = "x".repeat(KEPT_MAX);
    let many = format!("[{}{{}}]", "{},".repeat(VALUES_MAX));
    for spec in [
        format!(r#"{{"nodeName":"{long}","tolerations":[{{}}]}}"#),
        format!(r#"{{"tolerations":{many}}}"#),
        format!(r#"{{"containers":{many}}}"#),
        format!(r#"{{"tolerations":[[[{many}]]],"nodeName":"n"}}"#),
    ] {
        let text = format!(
            r#"{{"request":{{"object":{{"spec":{spec}}},"uid":"u","oldObject":{{"spec":{spec}}},"name":"n"}},"kind":"k"}}"#
        );
        let mut filter = ReviewFilter::default();
        for piece in text.as_bytes().chunks(5000) {
            filter.push(piece).unwrap();
            assert!(filter.memory() <= 2 * KEPT_MAX);
        }
        let filtered = filter.finish().unwrap();
        let is = String::from_utf8(filtered.text).unwrap();
        assert_eq!(is, r#"{"request":{"object":null,"uid":"u","oldObject":null,"name":"n"},"kind":"k"}"#);
        assert!(filtered.left_out);
    }
    for text in [
        format!(r#"{{"kind":"{long}"}}"#),
        format!(r#"{{"request":{{{}"uid":1}}}}"#, "\"uid\":\"\",".repeat(4 * KEPT_MAX / 9)),
    ] {
        assert!(filter_review(text.as_bytes()).unwrap_err().to_string().contains("more than 2097152 bytes"));
    }
    let just = filter_review(
        format!(r#"{{"request":{{"object":{{"spec":{{"nodeName":"{}"}}}}}}}}"#, &long[100..]).as_bytes(),
    )
    .unwrap();
    assert!(!just.left_out);
}

#[test]
fn an_interrupted_review_keeps_what_has_arrived() {
    let text = r#"{"kind":"k","request":{"uid":"u","name":"n","object":{"spec":{"nodeName":"n","x":[[1]]}},"dryRun":true}}"#;
    for end in 0..=text.len() {
        let mut filter = ReviewFilter::default();
        filter.push(&text.as_bytes()[..end]).unwrap();
        let Some(filtered) = filter.broken_off() else {
            assert!(end < text.find("\"uid\"").unwrap() || end > text.len() - 2, "{end}");
            continue;
        };
        let read: Value = serde_json::from_slice(&filtered.text).unwrap_or_else(|why| panic!("{end}: {why}"));
        assert!(filtered.left_out);
        let (uid, object) = (&read["request"]["uid"], &read["request"]["object"]);
        assert!(uid == "u" || uid.is_null(), "{read}");
        assert!(object.is_null() || object["spec"]["nodeName"] == "n", "{read}");
    }
}
