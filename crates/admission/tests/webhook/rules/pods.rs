//! Tests pods, rule by rule.

use super::patched::created;
use super::reviews::*;
use serde_json::{Value, json};
use taintward_admission::review::ReviewPhase;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

fn exists(key: &str, effect: &str) -> Value {
    json!({"key": key, "operator": "Exists", "effect": effect})
}

fn lost(which: &str, seconds: Option<i64>) -> Value {
    let mut one = exists(&format!("node.kubernetes.io/{which}"), "NoExecute");
    if let Some(seconds) = seconds {
        one["tolerationSeconds"] = json!(seconds);
    }
    one
}

fn best_effort() -> Value {
    json!({"metadata": {}, "spec": {"containers": [{"name": "c"}]}})
}

#[test]
fn ad_2_default_tolerations_have_the_seconds_of_the_deciding_source() {
    let rules = rules();
    let of = |namespace: &str, pod: &Value| created(namespace, pod, &rules)["spec"]["tolerations"].clone();
    assert_eq!(
        of("shop", &best_effort()),
        json!([lost("not-ready", Some(300)), lost("unreachable", Some(300))])
    );
    assert_eq!(of("slow", &best_effort()), json!([lost("not-ready", Some(900)), lost("unreachable", None)]));
    let mut own = best_effort();
    own["metadata"]["annotations"] = json!({"taintward.io/not-ready-seconds": "5"});
    assert_eq!(of("slow", &own), json!([lost("not-ready", Some(5)), lost("unreachable", None)]));
}

#[test]
fn seconds_from_upstreams_plugin_are_changed_in_place() {
    let mut pod = best_effort();
    let own = exists("mine", "NoSchedule");
    pod["spec"]["tolerations"] = json!([own, lost("not-ready", Some(300)), lost("unreachable", Some(300))]);
    let made = created("slow", &pod, &rules());
    assert_eq!(
        made["spec"]["tolerations"],
        json!([own, lost("not-ready", Some(900)), lost("unreachable", None)])
    );
    // What an author wrote in another form stays.
    pod["spec"]["tolerations"] = json!([lost("not-ready", Some(60)), lost("unreachable", Some(60))]);
    assert_eq!(created("slow", &pod, &rules()), pod);
}

#[test]
fn a_pools_own_pods_get_the_toleration_and_the_affinity() {
    let made = created("ml", &best_effort(), &rules());
    let toleration = json!({"key": "dedicated", "operator": "Equal", "value": "ml"});
    assert!(made["spec"]["tolerations"].as_array().unwrap().contains(&toleration));
    let expression = json!({"key": "dedicated", "operator": "In", "values": ["ml"]});
    let affinity = &made["spec"]["affinity"]["nodeAffinity"][REQUIRED];
    assert_eq!(*affinity, json!({"nodeSelectorTerms": [{"matchExpressions": [expression]}]}));
    assert_eq!(created("shop", &best_effort(), &rules())["spec"].get("affinity"), None);
}

#[test]
fn an_existing_affinity_is_narrowed_in_any_form() {
    let expression = json!({"key": "dedicated", "operator": "In", "values": ["ml"]});
    let zone = json!({"key": "zone", "operator": "In", "values": ["a"]});
    let name = json!({"key": "metadata.name", "operator": "In", "values": ["x"]});
    let other = json!({"podAffinity": {}});
    for (before, after) in [
        (
            other.clone(),
            json!({"podAffinity": {}, "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}}),
        ),
        (
            json!({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}),
            json!({"nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [],
                REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [expression]}]},
            }}),
        ),
        (
            json!({"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [
                {"matchExpressions": [zone]}, {"matchFields": [name]}, {}, {"matchExpressions": [expression]},
            ]}}}),
            json!({"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [
                {"matchExpressions": [zone, expression]},
                {"matchFields": [name], "matchExpressions": [expression]}, {}, {"matchExpressions": [expression]},
            ]}}}),
        ),
    ] {
        let mut pod = best_effort();
        pod["spec"]["affinity"] = before;
        assert_eq!(created("ml", &pod, &rules())["spec"]["affinity"], after);
    }
}

#[test]
fn ad_7_extended_resources_are_tolerated() {
    let mut pod = best_effort();
    pod["spec"]["containers"][0]["resources"] =
        json!({"requests": {"nvidia.com/gpu": 1, "kubernetes.io/x": "1"}});
    pod["spec"]["initContainers"] = json!([{"resources": {"requests": {"example.com/fpga": "1"}}}]);
    let made = created("shop", &pod, &rules());
    let tolerations = made["spec"]["tolerations"].as_array().unwrap();
    assert_eq!(
        tolerations[2..],
        [exists("example.com/fpga", "NoSchedule"), exists("nvidia.com/gpu", "NoSchedule")]
    );
}

#[test]
fn ad_9_only_pods_with_a_qos_class_tolerate_memory_pressure() {
    let pressure = exists("node.kubernetes.io/memory-pressure", "NoSchedule");
    let has = |resources: Value| {
        let mut pod = best_effort();
        pod["spec"]["containers"][0]["resources"] = resources;
        created("shop", &pod, &rules())["spec"]["tolerations"].as_array().unwrap().contains(&pressure)
    };
    assert!(has(json!({"requests": {"cpu": "1m"}})));
    assert!(has(json!({"limits": {"memory": 1}})));
    assert!(!has(json!({"requests": {"cpu": "0", "nvidia.com/gpu": "1"}})));
    assert!(!has(json!({"requests": null})));
    let mut whole = best_effort();
    whole["spec"]["resources"] = json!({"requests": {"cpu": "1"}});
    assert!(created("shop", &whole, &rules())["spec"]["tolerations"].as_array().unwrap().contains(&pressure));
}

#[test]
fn a_pod_outside_the_pool_with_its_toleration_is_refused_or_warned_with_a_reason() {
    let smuggled = |team: &str| {
        let mut pod = best_effort();
        pod["spec"]["tolerations"] = json!([{"key": "dedicated", "value": team}]);
        response(ReviewPhase::Validate, &question("CREATE", "shop", &pod, None), &rules())
    };
    let unreviewed = smuggled("ml");
    assert_eq!((&unreviewed["allowed"], &unreviewed["status"]["code"]), (&json!(false), &json!(403)));
    let message = unreviewed["status"]["message"].as_str().unwrap();
    assert!(message.contains("pool ml") && message.contains("toleration 0"), "{message}");
    let warned = smuggled("db");
    assert_eq!(warned["allowed"], json!(true));
    assert!(warned["warnings"].to_string().contains("pool db"), "{warned}");
    let fine = smuggled("nobody");
    assert_eq!(fine["allowed"], json!(true));
    // The pool's own pods may.
    let pod = created("ml", &best_effort(), &rules());
    let own = response(ReviewPhase::Validate, &question("CREATE", "ml", &pod, None), &rules());
    assert_eq!((&own["allowed"], own.get("warnings")), (&json!(true), None));
}

#[test]
fn a_pod_that_names_a_pools_node_is_refused_unless_the_system_is_exempt() {
    let mut pod = best_effort();
    pod["spec"]["nodeName"] = json!("ml-node");
    let of = |namespace: &str| {
        response(ReviewPhase::Validate, &question("CREATE", namespace, &pod, None), &rules())
    };
    assert_eq!(of("shop")["allowed"], json!(false));
    assert!(of("shop")["status"]["message"].as_str().unwrap().contains("ml-node"));
    assert_eq!(of("ml")["allowed"], json!(true));
    assert_eq!(of("kube-system")["allowed"], json!(true));
}

#[test]
fn an_update_is_judged_by_its_additions() {
    let mut pod = best_effort();
    pod["spec"]["tolerations"] = json!([{"key": "dedicated", "value": "ml"}]);
    let had = response(ReviewPhase::Validate, &question("UPDATE", "shop", &pod, Some(&pod)), &rules());
    assert_eq!(had["allowed"], json!(true), "it existed before");
    let new =
        response(ReviewPhase::Validate, &question("UPDATE", "shop", &pod, Some(&best_effort())), &rules());
    assert_eq!(new["allowed"], json!(false));
}

#[test]
fn a_typing_error_gets_a_warning() {
    let mut pod = best_effort();
    pod["spec"]["tolerations"] = json!([{"key": "node.kubernetes.io/notready", "operator": "Exists"}]);
    let message = response(ReviewPhase::Validate, &question("CREATE", "shop", &pod, None), &rules());
    assert_eq!(message["allowed"], json!(true));
    assert!(message["warnings"][0].as_str().unwrap().contains("node.kubernetes.io/not-ready"), "{message}");
}
