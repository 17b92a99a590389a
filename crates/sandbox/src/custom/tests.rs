//! Tests the shipped definitions.

use super::{DEFINITIONS, FILES, of, of_kind, rules};
use crate::resource::RESOURCES;
use crate::schema::{Schema, Shape};
use crate::validate::FieldErrorKind;
use serde_json::{Value, json};

/// Every rule in a text, folded as YAML folds it.
fn rules_of(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            found.extend(fields.get("rule").and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|value| rules_of(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| rules_of(item, found)),
        _ => {}
    }
}

#[test]
fn every_rule_of_the_definitions_has_its_check() {
    let (mut found, mut lines) = (Vec::new(), 0);
    for (definition, text) in DEFINITIONS.iter().zip(FILES) {
        rules_of(&definition.schema, &mut found);
        lines += text.matches("- rule:").count();
    }
    assert_eq!(found.len(), lines, "none is missed on the way from the file");
    assert!(lines > 20, "{lines}");
    for rule in found {
        assert!(rules::check(&rule).is_some(), "{rule}");
    }
    assert!(rules::check("self.size() > 0").is_none());
}

#[test]
#[should_panic(expected = "nobody checks the rule self == 'x'")]
fn a_rule_that_nobody_checks_stops_everything() {
    rules::expect_checks(&json!({"properties": {"a": {"items": {"x-kubernetes-validations": [
        {"rule": "self == 'x'", "message": "must be x"},
    ]}}}}));
}

#[test]
fn keys_and_values_are_what_they_may_be() {
    let definition = of("taintward.io", "dedicatedpools").unwrap();
    let rules = &definition.schema["properties"]["spec"]["properties"]["taint"]["properties"];
    let check = |field: &str, index: usize| {
        let rule = rules[field]["x-kubernetes-validations"][index]["rule"].as_str().unwrap();
        rules::check(rule).unwrap()
    };
    let (key, own, value) = (check("key", 0), check("key", 1), check("value", 0));
    for good in ["a", "example.com/pool", "a.b-c.d/E_f.g", &format!("{}/x", "a".repeat(253)), &"a".repeat(63)]
    {
        assert!(key(&json!(good)), "{good}");
    }
    for bad in
        ["", "a/", "/a", "a/b/c", "A/b", "a..b/c", "-a/b", "a-/b", "a b", "-a", "a-", "é", &"a".repeat(64)]
    {
        assert!(!key(&json!(bad)), "{bad}");
    }
    assert!(!key(&json!(format!("{}/x", "a".repeat(254)))));
    for good in [
        "a",
        "example.com/x",
        "notk8s.io/x",
        "x.node-restriction.kubernetes.io/y",
        "node-role.kubernetes.io/gpu",
    ] {
        assert!(own(&json!(good)), "{good}");
    }
    for bad in
        ["k8s.io/x", "a.kubernetes.io/x", "node-role.kubernetes.io/master", "x.node-role.kubernetes.io/gpu"]
    {
        assert!(!own(&json!(bad)), "{bad}");
    }
    assert!(value(&json!("")) && value(&json!("a.b_c-D")) && !value(&json!("a/b")) && !value(&json!("-")));
}

/// The resource's line in the table of resources says what the definition says.
#[test]
fn the_table_of_resources_is_as_the_definitions_are() {
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    assert_eq!(RESOURCES.iter().filter(|one| one.group == super::GROUP).count(), FILES.len());
    for text in FILES {
        let spec = crate::canonicalize::yaml_to_json(text.as_bytes()).unwrap()["spec"].clone();
        let names = &spec["names"];
        let line = RESOURCES.iter().find(|one| one.plural == names["plural"].as_str().unwrap()).unwrap();
        assert_eq!((line.group, line.version), (spec["group"].as_str().unwrap(), "v1alpha1"));
        assert_eq!(
            (line.kind, line.singular),
            (names["kind"].as_str().unwrap(), names["singular"].as_str().unwrap())
        );
        assert_eq!(
            (line.short.to_vec(), line.categories.to_vec()),
            (vec_of(&texts(&names["shortNames"])), vec_of(&texts(&names["categories"])))
        );
        assert_eq!(line.namespaced, spec["scope"] == "Namespaced");
        assert_eq!(!line.subs.is_empty(), spec["versions"][0]["subresources"]["status"].is_object());
        assert!(of_kind(&line.api_version(), line.kind).is_some() && of("", line.plural).is_none());
    }
}

fn vec_of(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

#[test]
fn fields_become_types() {
    let schema = Schema::get();
    let pool = schema.kind("taintward.io/v1alpha1", "DedicatedPool").unwrap();
    let field = |of, name: &str| schema.field(of, name).unwrap();
    let Shape::Object(spec) = field(pool, "spec").shape else { panic!("spec is no object") };
    let Shape::Object(users) = field(spec, "users").shape else { panic!("users is no object") };
    assert!(field(users, "groups").merge.merge && field(users, "groups").merge.key.is_none());
    assert!(super::is_whole("taintward.io/v1alpha1.DedicatedPoolSpecNodesSelector"));
    assert!(!super::is_whole("taintward.io/v1alpha1.DedicatedPoolSpecNodes"));
}

#[test]
fn what_is_left_out_is_filled_in_and_what_says_nothing_is_dropped() {
    let definition = of("taintward.io", "dedicatedpools").unwrap();
    let mut pool = json!({"spec": {"taint": {"key": "a", "value": null}, "label": null, "placement": null}});
    definition.fill(&mut pool);
    let taint = json!({"key": "a", "value": "", "effects": ["NoSchedule"]});
    assert_eq!(
        pool,
        json!({"spec": {"taint": taint, "placement": "Exclusive", "enforcement": "Deny", "daemonSets": "Deny"}})
    );
    let mut faults = Vec::new();
    definition.judge(&pool, "", &mut faults);
    let kinds: Vec<(&str, FieldErrorKind)> =
        faults.iter().map(|fault| (fault.field.as_str(), fault.kind)).collect();
    assert_eq!(
        kinds,
        [
            ("spec.nodes", FieldErrorKind::Required),
            ("spec.users", FieldErrorKind::Required),
            ("<nil>", FieldErrorKind::Invalid)
        ]
    );
}
