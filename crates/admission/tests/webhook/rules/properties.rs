//! Tests with random pods that the applied patch is the core's mutation, that reviewing twice changes nothing, and that
//! nothing is lost.

use super::patched::patched;
use super::reviews::*;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use taintward_admission::review::ReviewPhase;
use taintward_core::admission::policy::RequestedSeconds;
use taintward_core::admission::request::{
    AdmittedPod, ClusterView, NodePoolMembership, Operation, PodIdentity, PodRequest, PreviousPod, Requester,
};
use taintward_core::admission::review::{Mutation, mutate};
use taintward_core::scheduling::{NodeOperator, NodeRequirement, NodeTerm};
use taintward_core::testkit::toleration_of;
use taintward_core::toleration::Toleration;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("dedicated".to_owned()),
        Just("node.kubernetes.io/not-ready".to_owned()),
        Just("node.kubernetes.io/unreachable".to_owned()),
        Just("nvidia.com/gpu".to_owned()),
        "[a-c]{0,2}",
    ]
}

fn any_toleration() -> impl Strategy<Value = Value> {
    let operator = prop_oneof![Just(None), Just(Some("Exists")), Just(Some("Equal")), Just(Some("Odd"))];
    let effect = prop_oneof![Just(None), Just(Some("NoExecute")), Just(Some("NoSchedule"))];
    let value = prop_oneof![Just(None), Just(Some("ml")), Just(Some("db"))];
    let seconds = prop_oneof![Just(None), Just(Some(300_i64)), any::<i64>().prop_map(Some)];
    (key(), operator, effect, value, seconds).prop_map(|(key, operator, effect, value, seconds)| {
        let texts = [("operator", operator), ("effect", effect), ("value", value)];
        let mut one = json!({"key": key});
        for (field, text) in texts {
            if let Some(text) = text {
                one[field] = json!(text);
            }
        }
        if let Some(seconds) = seconds {
            one["tolerationSeconds"] = json!(seconds);
        }
        one
    })
}

fn requirements() -> impl Strategy<Value = Vec<Value>> {
    let requirement =
        (key(), prop_oneof![Just("In"), Just("Exists")], prop::collection::vec("ml|db|x", 0..2))
            .prop_map(|(key, operator, values)| json!({"key": key, "operator": operator, "values": values}));
    prop::collection::vec(requirement, 0..3)
}

fn term() -> impl Strategy<Value = Value> {
    (prop::option::of(requirements()), prop::option::of(requirements())).prop_map(|(expressions, fields)| {
        let mut term = json!({});
        if let Some(expressions) = expressions {
            term["matchExpressions"] = json!(expressions);
        }
        if let Some(fields) = fields {
            term["matchFields"] = json!(fields);
        }
        term
    })
}

fn affinity() -> impl Strategy<Value = Option<Value>> {
    let terms = prop::collection::vec(term(), 0..4);
    prop_oneof![
        Just(None),
        Just(Some(json!({}))),
        Just(Some(json!({"nodeAffinity": {}, "podAffinity": {"x": [1]}}))),
        terms.prop_map(|terms| Some(json!({"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}))),
    ]
}

prop_compose! {
    fn a_pod()(
        tolerations in prop::option::of(prop::collection::vec(any_toleration(), 0..5)),
        affinity in affinity(),
        resources in prop::collection::btree_map("cpu|memory|nvidia.com/gpu|example.com/x", "0|1|100m", 0..3),
        node in prop::option::weighted(0.2, Just("ml-node")),
        gated in any::<bool>(),
        seconds in prop::option::of("forever|0|60|x"),
        unknown in any::<u32>(),
    ) -> Value {
        let resources: BTreeMap<String, String> = resources;
        let mut pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"a": "b"}, "newField": unknown},
            "spec": {"containers": [{"name": "c", "resources": {"requests": resources}}], "newField": [unknown]},
        });
        if let Some(tolerations) = tolerations {
            pod["spec"]["tolerations"] = json!(tolerations);
        }
        if let Some(affinity) = affinity {
            pod["spec"]["affinity"] = affinity;
        }
        if let Some(node) = node {
            pod["spec"]["nodeName"] = json!(node);
        }
        if gated {
            pod["spec"]["schedulingGates"] = json!([{"name": "g"}]);
        }
        if let Some(seconds) = seconds {
            pod["metadata"]["annotations"] = json!({"taintward.io/not-ready-seconds": seconds});
        }
        pod
    }
}

/// The pod without the parts that rules may add to.
fn rest(pod: &Value) -> Value {
    let mut rest = pod.clone();
    rest["spec"].as_object_mut().unwrap().remove("tolerations");
    rest["spec"].as_object_mut().unwrap().remove("affinity");
    rest
}

fn keys_of(pod: &Value) -> Vec<Value> {
    let without_seconds = |one: &Value| {
        let mut one = one.clone();
        one.as_object_mut().unwrap().remove("tolerationSeconds");
        one
    };
    pod["spec"]["tolerations"].as_array().into_iter().flatten().map(without_seconds).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn read_tolerations(pod: &Value) -> Vec<Toleration> {
    let one = |one: &Value| {
        let [key, operator, value, effect] =
            ["key", "operator", "value", "effect"].map(|field| text(&one[field]));
        let seconds = one["tolerationSeconds"].as_i64();
        Toleration { seconds, ..toleration_of(key, operator, value, effect) }
    };
    list(&pod["spec"]["tolerations"]).map(one).collect()
}

fn read_terms(pod: &Value) -> Option<Vec<NodeTerm>> {
    let requirements = |value: &Value| {
        let one = |one: &Value| NodeRequirement {
            key: text(&one["key"]).into(),
            operator: NodeOperator::new(text(&one["operator"])),
            values: list(&one["values"]).map(|value| text(value).into()).collect(),
        };
        list(value).map(one).collect()
    };
    let term = |term: &Value| NodeTerm {
        expressions: requirements(&term["matchExpressions"]),
        fields: requirements(&term["matchFields"]),
    };
    let required = &pod["spec"]["affinity"]["nodeAffinity"][REQUIRED];
    required.is_object().then(|| list(&required["nodeSelectorTerms"]).map(term).collect())
}

/// The pod as the core sees it, decoded independently of the code under test.
fn read(pod: &Value, namespace: &str) -> AdmittedPod {
    let requests = pod["spec"]["containers"][0]["resources"]["requests"].as_object().unwrap();
    let classed = |(name, amount): (&String, &Value)| ["cpu", "memory"].contains(&&**name) && amount != "0";
    AdmittedPod {
        identity: PodIdentity { namespace: namespace.into(), ..PodIdentity::default() },
        tolerations: read_tolerations(pod),
        required: read_terms(pod),
        node: pod["spec"]["nodeName"].as_str().map(Into::into),
        gated: pod["spec"].get("schedulingGates").is_some(),
        resources: requests
            .keys()
            .filter(|name| name.contains('/'))
            .map(|name| name.as_str().into())
            .collect(),
        best_effort: !requests.iter().any(classed),
        requested: RequestedSeconds {
            not_ready: pod["metadata"]["annotations"]["taintward.io/not-ready-seconds"]
                .as_str()
                .map(Into::into),
            unreachable: None,
        },
        ..AdmittedPod::default()
    }
}

/// The core's mutation of it in the same world.
fn by_the_core(pod: &Value, namespace: &str, update: bool) -> Mutation {
    let operation = if update { Operation::Update } else { Operation::Create };
    let requester = Requester { user: "jane".into(), groups: vec!["system:authenticated".into()] };
    let requested = read(pod, namespace);
    let old = update.then(|| PreviousPod {
        tolerations: requested.tolerations.clone(),
        gated: requested.gated,
        ..PreviousPod::default()
    });
    let request = PodRequest { operation, requester: Some(requester), pod: requested, old };
    let (namespaces, policies, pools) = (namespaces(), policies(), pools());
    let around = ClusterView {
        namespace: namespaces.iter().find(|(name, _)| **name == *namespace).map(|(_, facts)| facts),
        policies: Some(&policies),
        pools: Some(&pools),
        node_pool: NodePoolMembership::Unknown,
    };
    mutate(&request, &around, &all_rules())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    /// S13.
    #[test]
    fn the_result_is_stable_and_loses_nothing(
        pod in a_pod(), namespace in "shop|ml|db|slow|kube-system|unknown", update in any::<bool>(),
    ) {
        let rules = rules();
        let operation = if update { "UPDATE" } else { "CREATE" };
        let request = |pod: &Value, old: &Value| {
            let question = question(operation, &namespace, pod, update.then_some(old));
            patched(pod, &response(ReviewPhase::Mutate, &question, &rules))
        };
        let once = request(&pod, &pod);
        let again = request(&once, &pod);
        prop_assert_eq!(&again, &once, "f(f(x)) = f(x)");
        prop_assert_eq!(rest(&once), rest(&pod), "nothing else is changed");
        prop_assert!(keys_of(&once).starts_with(&keys_of(&pod)), "no toleration is removed or moved");
        let affinity = &once["spec"]["affinity"];
        if let Some(others) = pod["spec"]["affinity"].get("podAffinity") {
            prop_assert_eq!(affinity.get("podAffinity"), Some(others));
        }
        let wanted = by_the_core(&pod, &namespace, update);
        prop_assert_eq!(read_tolerations(&once), wanted.tolerations, "exactly the core's result");
        prop_assert_eq!(read_terms(&once), wanted.required);
        // Validating admission understands what mutating admission made.
        let final_question = question(operation, &namespace, &once, update.then_some(&pod));
        prop_assert!(response(ReviewPhase::Validate, &final_question, &rules)["allowed"].is_boolean());
    }
}
