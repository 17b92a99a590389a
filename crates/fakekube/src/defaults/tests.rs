//! Tests which defaults are set, and which fields stay.

use super::{AdmissionDefaults, apply_defaults, carry_over, generation, on_create, on_update};
use crate::resource::known;
use serde_json::{Value, json};
use testkit::{ObjectExt as _, pod};

fn created(group: &str, resource: &str, mut object: Value) -> Value {
    let resource = known(group, resource).get();
    apply_defaults(resource, &mut object);
    on_create(resource, &mut object, AdmissionDefaults::default());
    object
}

#[test]
fn a_pod_gets_what_it_did_not_say() {
    let pod = created("", "pods", pod("p").with("spec.containers", json!([{"name": "c", "image": "x"}])));
    let spec = &pod["spec"];
    assert_eq!(spec["restartPolicy"], "Always");
    assert_eq!(spec["terminationGracePeriodSeconds"], 30);
    assert_eq!((&spec["priority"], &spec["preemptionPolicy"]), (&json!(0), &json!("PreemptLowerPriority")));
    assert_eq!(spec["containers"][0]["imagePullPolicy"], "Always");
    assert_eq!(pod["status"], json!({"phase": "Pending", "qosClass": "BestEffort"}));
    let mut again = pod.clone();
    apply_defaults(known("", "pods").get(), &mut again);
    assert_eq!(again, pod, "defaults are kept");
}

#[test]
fn the_fields_that_a_pod_sets_stay_unchanged() {
    let mut own =
        pod("p").with("spec.containers", json!([{"name": "c", "image": "x:1", "imagePullPolicy": "Never"}]));
    own["spec"]["restartPolicy"] = json!("Never");
    own["spec"]["terminationGracePeriodSeconds"] = json!(0);
    let bears = json!([{"operator": "Exists"}]);
    own["spec"]["tolerations"] = bears.clone();
    let pod = created("", "pods", own);
    assert_eq!(pod["spec"]["restartPolicy"], "Never");
    assert_eq!(pod["spec"]["terminationGracePeriodSeconds"], 0);
    assert_eq!(pod["spec"]["tolerations"], bears, "AD-2: an empty key matches every taint");
    assert_eq!(pod["spec"]["containers"][0]["imagePullPolicy"], "Never");
}

#[test]
fn quality_of_service_comes_from_resources() {
    let with = |resources: Value| {
        let pod = created(
            "",
            "pods",
            pod("p").with("spec.containers", json!([{"name": "c", "image": "x", "resources": resources}])),
        );
        pod["status"]["qosClass"].clone()
    };
    assert_eq!(with(json!({"limits": {"cpu": "1", "memory": "1Gi"}})), "Guaranteed");
    assert_eq!(with(json!({"limits": {"cpu": "1"}})), "Burstable");
    assert_eq!(with(json!({"requests": {"cpu": "1"}})), "Burstable");
    assert_eq!(with(json!({"limits": {"example.com/x": "1"}})), "BestEffort");
}

#[test]
fn the_generation_counts_changes_of_the_spec_only() {
    let mut old =
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {}, "spec": {"replicas": 1}});
    let deployments = known("apps", "deployments").get();
    generation(deployments, None, &mut old);
    assert_eq!(old["metadata"]["generation"], 1);
    let after = |change: &dyn Fn(&mut Value)| {
        let mut new = old.clone();
        change(&mut new);
        carry_over(&old, &mut new);
        on_update(deployments, None, &old, &mut new, AdmissionDefaults::default());
        generation(deployments, Some(&old), &mut new);
        new["metadata"]["generation"].clone()
    };
    assert_eq!(after(&|new| new["spec"]["replicas"] = json!(2)), 2);
    assert_eq!(after(&|new| new["metadata"]["labels"] = json!({"a": "b"})), 1);
    assert_eq!(after(&|new| new["metadata"]["annotations"] = json!({"a": "b"})), 2);
    assert_eq!(after(&|new| new["status"] = json!({"replicas": 1})), 1);
}

#[test]
fn a_node_may_leave_out_what_can_be_used() {
    let node =
        created("", "nodes", json!({"metadata": {"name": "n"}, "status": {"capacity": {"cpu": "4000m"}}}));
    assert_eq!(node["status"]["allocatable"], json!({"cpu": "4"}));
    assert_eq!(
        node["spec"]["taints"],
        json!([{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}])
    );
}

#[test]
fn ad_6_a_new_node_is_not_ready() {
    let taint = |key: &str, value: &str, effect: &str| {
        let mut taint = json!({"key": key, "effect": effect});
        if !value.is_empty() {
            taint["value"] = json!(value);
        }
        taint
    };
    let ready = "node.kubernetes.io/not-ready";
    let added = taint(ready, "", "NoSchedule");
    for (existing, expected) in [
        (vec![], true),
        (vec![taint("other", "", "NoSchedule")], true),
        (vec![taint(ready, "", "NoExecute")], true),
        (vec![taint(ready, "", "noschedule")], true),
        (vec![taint(ready, "", "NoSchedule")], false),
        (vec![taint("other", "", ""), taint(ready, "any value", "NoSchedule")], false),
    ] {
        let node = json!({"metadata": {"name": "n"}, "spec": {"taints": existing}});
        let node = created("", "nodes", node);
        let taints: Vec<Value> = existing.iter().cloned().chain(expected.then(|| added.clone())).collect();
        assert_eq!(node["spec"]["taints"], json!(taints), "{existing:?}");
    }
}

#[test]
fn a_runtime_class_adds_to_its_pods() {
    let class = json!({
        "handler": "sealed", "overhead": {"podFixed": {"cpu": "250m"}},
        "scheduling": {
            "nodeSelector": {"runtime": "sealed"},
            "tolerations": [
                {"key": "runtime", "operator": "Exists", "effect": "NoSchedule"},
                {"key": "own", "operator": "Exists"},
            ],
        },
    });
    let own = json!([
        {"key": "own", "operator": "Equal", "value": "1", "effect": "NoExecute", "tolerationSeconds": 9},
        {"key": "runtime", "operator": "Exists", "effect": "NoSchedule"},
    ]);
    let mut pod =
        json!({"spec": {"runtimeClassName": "sealed", "nodeSelector": {"disk": "ssd"}, "tolerations": own}});
    super::runtime_class(&mut pod, &class).unwrap();
    assert_eq!(pod["spec"]["overhead"], json!({"cpu": "250m"}));
    assert_eq!(pod["spec"]["nodeSelector"], json!({"disk": "ssd", "runtime": "sealed"}));
    // Each is there once, and one that another covers is left out.
    assert_eq!(pod["spec"]["tolerations"], class["scheduling"]["tolerations"]);
    let mut again = pod.clone();
    super::runtime_class(&mut again, &class).unwrap();
    assert_eq!(again, pod);
    for (field, value, why) in [
        ("overhead", json!({"cpu": "1"}), "doesn't match"),
        (
            "nodeSelector",
            json!({"runtime": "open"}),
            "conflict: runtimeClass.scheduling.nodeSelector[runtime]",
        ),
    ] {
        let mut other = json!({"spec": {field: value}});
        assert!(super::runtime_class(&mut other, &class).unwrap_err().contains(why));
    }
    let mut heavy = json!({"spec": {"overhead": {"cpu": "1"}}});
    assert!(super::runtime_class(&mut heavy, &json!({"handler": "h"})).unwrap_err().contains("without"));
}
