//! Tests the shipped definitions.

use super::{CHECKS, DEFINITIONS, GROUP, register};
use crate::world::{World, WorldSettings};
use fakekube::api::{ResourcePath, WriteOptions};
use fakekube::canonicalize::yaml_to_json;
use fakekube::resource::{ResourceType, known};
use fakekube::schema::{Schema, Shape};
use serde_json::{Value, json};

fn schemas() -> [Value; 4] {
    DEFINITIONS.map(|text| {
        let definition = yaml_to_json(text.as_bytes()).unwrap();
        definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
    })
}

fn check(rule: &str) -> Option<fn(&Value) -> bool> {
    let rule = rule.split_whitespace().collect::<Vec<_>>().join(" ");
    CHECKS.iter().find(|(text, _)| *text == rule).map(|(_, check)| *check)
}

/// Every rule in a schema, folded as YAML folds it.
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
    for (schema, text) in schemas().iter().zip(DEFINITIONS) {
        rules_of(schema, &mut found);
        lines += text.matches("- rule:").count();
    }
    assert_eq!(found.len(), lines, "none is missed on the way from the file");
    assert!(lines > 20, "{lines}");
    for rule in found {
        assert!(check(&rule).is_some(), "{rule}");
    }
    assert!(check("self.size() > 0").is_none());
}

#[test]
fn keys_and_values_are_what_they_may_be() {
    let [pools, ..] = schemas();
    let rules = &pools["properties"]["spec"]["properties"]["taint"]["properties"];
    let check = |field: &str, index: usize| {
        let rule = rules[field]["x-kubernetes-validations"][index]["rule"].as_str().unwrap();
        check(rule).unwrap()
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

#[test]
fn the_table_of_resources_is_as_the_definitions_are() {
    register();
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    assert_eq!(ResourceType::all().filter(|one| one.group == GROUP).count(), DEFINITIONS.len());
    for text in DEFINITIONS {
        let spec = yaml_to_json(text.as_bytes()).unwrap()["spec"].clone();
        let names = &spec["names"];
        let line = ResourceType::all().find(|one| one.plural == names["plural"].as_str().unwrap()).unwrap();
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
    }
}

fn vec_of(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

#[test]
fn fields_become_types() {
    register();
    let schema = Schema::get();
    let pool = schema.kind("taintward.io/v1alpha1", "DedicatedPool").unwrap();
    let field = |of, name: &str| schema.field(of, name).unwrap();
    let Shape::Object(spec) = field(pool, "spec").shape else { panic!("spec is not an object") };
    let Shape::Object(users) = field(spec, "users").shape else { panic!("users is not an object") };
    assert!(field(users, "groups").merge.merge && field(users, "groups").merge.key.is_none());
}

#[tokio::test]
async fn what_is_left_out_is_filled_in_and_what_is_missing_is_named() {
    let world = World::new(&WorldSettings { nodes: 0, ..WorldSettings::default() });
    let pools = ResourcePath::object(known(GROUP, "dedicatedpools"), "", "");
    let pool = |spec: Value| {
        let version = "taintward.io/v1alpha1";
        json!({"apiVersion": version, "kind": "DedicatedPool", "metadata": {"name": "a"}, "spec": spec})
    };
    let taint = json!({"key": "a", "value": null});
    let by = WriteOptions::by("test");
    let rejected = pool(json!({"taint": taint, "label": null, "placement": null}));
    let rejected = world.server().create(&pools, rejected, &by).unwrap_err();
    for field in ["spec.nodes: Required value", "spec.users: Required value"] {
        assert!(rejected.message.contains(field), "{}", rejected.message);
    }
    let whole = json!({
        "taint": taint, "label": null, "placement": null, "nodes": {"names": ["n"]}, "users": {"groups": ["g"]},
    });
    let kept = world.server().create(&pools, pool(whole), &by).unwrap().object.value();
    let taint = json!({"key": "a", "value": "", "effects": ["NoSchedule"]});
    assert_eq!(
        kept["spec"],
        json!({
            "taint": taint, "placement": "Exclusive", "enforcement": "Deny", "daemonSets": "Deny",
            "nodes": {"names": ["n"]}, "users": {"groups": ["g"]},
        })
    );
}

#[tokio::test]
async fn an_eviction_policy_is_refused_with_the_remedy() {
    let world = World::new(&WorldSettings { nodes: 0, ..WorldSettings::default() });
    let policies = ResourcePath::object(known(GROUP, "evictionpolicies"), "", "");
    let by = WriteOptions::by("test");
    let create = |name: &str, spec: &Value| {
        let version = "taintward.io/v1alpha1";
        let object = json!({"apiVersion": version, "kind": "EvictionPolicy", "metadata": {"name": name}, "spec": spec});
        world.server().create(&policies, object, &by).map(|written| written.object.value())
    };
    let replicas = "write a number of replicas from 1, a percentage from 1% to 100%, or both";
    for (spec, remedy) in [
        (json!({"respectBudgets": {"deadlineSeconds": 0}}), "spec.respectBudgets.deadlineSeconds"),
        (json!({"respectBudgets": {"deadlineSeconds": 31_536_000}}), "less than or equal to 2592000"),
        (json!({"maxPodsPerMinute": 0}), "spec.maxPodsPerMinute"),
        (json!({"maxNodesAtOnce": 0}), "spec.maxNodesAtOnce"),
        (json!({"maxUnavailablePerWorkload": 0}), replicas),
        (json!({"maxUnavailablePerWorkload": "0%"}), replicas),
        (json!({"maxUnavailablePerWorkload": "150%"}), replicas),
        (json!({"maxUnavailablePerWorkload": "2,10"}), replicas),
        (json!({"maxUnavailablePerWorkload": "0,10%"}), replicas),
        (json!({"maxUnavailablePerWorkload": "+2"}), replicas),
        (json!({"maxUnavailablePerWorkload": ""}), replicas),
        (json!({"order": "Priority"}), "\"PriorityClass\""),
        (json!({"order": "PriorityClass", "waveTimeoutSeconds": 0}), "spec.waveTimeoutSeconds"),
        (json!({"waveTimeoutSeconds": 60}), "add order: PriorityClass, or remove it"),
        (json!({"maxTerminationGracePeriodSeconds": -1}), "spec.maxTerminationGracePeriodSeconds"),
        (json!({"taints": [{"key": "a b"}]}), "is not a valid taint key"),
        (json!({"taints": [{"key": "a", "values": ["b c"]}]}), "contains an invalid taint value"),
        (json!({"podSelector": {"matchLabels": {"a b": "c"}}}), "contains an invalid label key"),
    ] {
        let message = create("a", &spec).expect_err(&spec.to_string()).message;
        assert!(message.contains(remedy), "{spec}: {message}");
    }
    for (number, limit) in
        [json!(1), json!("2"), json!("1%"), json!("100%"), json!("2,10%")].iter().enumerate()
    {
        let spec = json!({
            "taints": [{"key": "example.com/maintenance", "values": ["now", ""]}], "nodeSelector": {},
            "respectBudgets": {"deadlineSeconds": 2_592_000}, "maxUnavailablePerWorkload": limit,
            "order": "PriorityClass", "waveTimeoutSeconds": 1, "maxTerminationGracePeriodSeconds": 0,
        });
        let kept = create(&format!("a{number}"), &spec).unwrap();
        assert_eq!((&kept["spec"]["priority"], &kept["spec"]["allowHolds"]), (&json!(0), &json!(true)));
    }
    assert!(create("empty", &json!({"respectBudgets": {}})).is_ok());
}

#[tokio::test]
async fn they_are_defined_and_served() {
    let world = World::new(&WorldSettings { nodes: 0, ..WorldSettings::default() });
    world.server().bootstrap_roles();
    for name in ["dedicatedpools", "evictionpolicies", "tolerationpolicies"] {
        let definitions = known("apiextensions.k8s.io", "customresourcedefinitions");
        let definition = world.server().get(definitions, "", &format!("{name}.taintward.io")).unwrap();
        let conditions = definition["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let established =
            conditions.iter().find(|one| one["type"] == "Established").cloned().unwrap_or_default();
        assert_eq!(established["status"], "True", "{definition}");
        assert_eq!(definition["status"]["acceptedNames"], definition["spec"]["names"]);
    }
}

/// Kubernetes 1.30 knows a field whose name CEL reserves only as `__name__`; newer versions know both.
#[test]
fn reserved_words_are_escaped_as_names_of_fields() {
    let reserved = ["as", "break", "const", "continue", "else", "for", "function", "if", "import", "in"];
    let more = ["let", "loop", "namespace", "package", "return", "var", "void", "while"];
    for (rule, _) in CHECKS {
        for name in
            rule.split('.').skip(1).filter_map(|rest| rest.split(|c: char| !c.is_alphanumeric()).next())
        {
            let is_reserved = reserved.iter().chain(&more).any(|word| *word == name);
            assert!(!is_reserved, "write __{name}__ in {rule}");
        }
    }
    assert!(CHECKS.iter().any(|(rule, _)| rule.contains(".__namespace__.")));
}
