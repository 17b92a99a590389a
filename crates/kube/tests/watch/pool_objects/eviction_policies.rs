//! Tests that eviction policies are decoded field by field, and that errors name the field.

use super::sample::{fact, why};
use serde_json::{Value, json};
use taintward_core::admission::LabelSelector;
use taintward_core::eviction_policy::{
    BudgetRespect, EvictionPolicy, EvictionPolicyFact, PolicyProblem, RecordedPolicyStatus, SelectedTaint,
    UnavailableLimit, WaveOrder,
};
use taintward_core::time::Span;
use taintward_kube::decode::{Decoded, WatchedObject};

fn policy(spec: &Value) -> Vec<u8> {
    json!({"metadata": {"name": "team-a", "uid": "uid-1", "generation": 3}, "spec": spec})
        .to_string()
        .into_bytes()
}

fn read(spec: &Value) -> EvictionPolicy {
    EvictionPolicy::clone(&fact(EvictionPolicyFact::from_json(&policy(spec))).policy)
}

fn named() -> EvictionPolicy {
    EvictionPolicy { name: "team-a".into(), ..EvictionPolicy::default() }
}

#[test]
fn every_field_is_decoded() {
    let spec = json!({
        "priority": -5,
        "taints": [{"key": "maintenance"}, {"key": "pressure", "values": ["high", ""]}],
        "nodeSelector": {"matchLabels": {"zone": "a"}},
        "namespaceSelector": {"matchLabels": {"tier": "web"}},
        "podSelector": {"matchLabels": {"app": "shop"}},
        "respectBudgets": {"deadlineSeconds": 3600},
        "maxPodsPerMinute": 30,
        "maxNodesAtOnce": 2,
        "maxUnavailablePerWorkload": "2,10%",
        "order": "PriorityClass",
        "waveTimeoutSeconds": 60,
        "maxTerminationGracePeriodSeconds": 0,
        "allowHolds": false,
    });
    let of = |key: &str, values: &[&str]| SelectedTaint {
        key: key.into(),
        values: values.iter().map(|value| (*value).into()).collect(),
    };
    let expected = EvictionPolicy {
        name: "team-a".into(),
        priority: -5,
        taints: [of("maintenance", &[]), of("pressure", &["high", ""])].into(),
        nodes: LabelSelector::of_labels([("zone", "a")]),
        namespaces: LabelSelector::of_labels([("tier", "web")]),
        pods: LabelSelector::of_labels([("app", "shop")]),
        budgets: Some(BudgetRespect { deadline: Some(Span::from_secs(3600)) }),
        pods_per_minute: Some(30),
        nodes_at_once: Some(2),
        unavailable_per_workload: Some(UnavailableLimit { replicas: Some(2), percent: Some(10) }),
        order: Some(WaveOrder { timeout: Some(Span::from_secs(60)) }),
        grace_seconds_max: Some(0),
        allow_holds: false,
    };
    let fact = fact(EvictionPolicyFact::from_json(&policy(&spec)));
    assert_eq!((&*fact.policy, fact.generation), (&expected, 3));
    assert_eq!(fact.recorded, RecordedPolicyStatus::default());
    assert!(matches!(EvictionPolicyFact::from_protobuf(&policy(&spec)), Decoded::Undecodable(_)));
}

/// What a status says is read back, and an invalid status counts as none: it is written again.
#[test]
fn the_next_status_continues_the_recorded_one() {
    let with = |status: &Value| {
        let mut object: Value = serde_json::from_slice(&policy(&json!({}))).unwrap();
        object["status"] = status.clone();
        fact(EvictionPolicyFact::from_json(object.to_string().as_bytes())).recorded
    };
    let ready = json!({"type": "Ready", "status": "True", "reason": "Applied", "message": "m",
        "lastTransitionTime": "2026-11-21T14:00:00Z", "observedGeneration": 3});
    let recorded = with(&json!({"forced": 7, "governed": 1, "conditions": [ready]}));
    assert_eq!((recorded.forced, recorded.conditions.len()), (7, 1));
    assert_eq!((&*recorded.conditions[0].kind, recorded.conditions[0].observed), ("Ready", 3));
    for odd in [json!({"forced": "many"}), json!({"conditions": [{"type": "Ready"}]}), json!(7), json!(null)]
    {
        assert_eq!(with(&odd), RecordedPolicyStatus::default(), "{odd}");
    }
}

#[test]
fn an_absent_field_is_none() {
    let nulls = json!({
        "priority": null, "taints": null, "nodeSelector": null, "podSelector": {}, "respectBudgets": null,
        "maxPodsPerMinute": null, "maxUnavailablePerWorkload": null, "order": null, "allowHolds": null,
    });
    for spec in [json!({}), nulls] {
        assert_eq!(read(&spec), named(), "{spec}");
    }
    assert!(named().allow_holds);
    let respected = EvictionPolicy { budgets: Some(BudgetRespect::default()), ..named() };
    assert_eq!(read(&json!({"respectBudgets": {}})), respected);
    assert_eq!(read(&json!({"order": "PriorityClass"})).order, Some(WaveOrder::default()));
}

#[test]
fn unavailable_replicas_are_a_number_or_a_percentage_or_both() {
    let limit = |replicas, percent| Some(UnavailableLimit { replicas, percent });
    for (written, expected) in [
        (json!(2), limit(Some(2), None)),
        (json!("2"), limit(Some(2), None)),
        (json!("10%"), limit(None, Some(10))),
        (json!("2,10%"), limit(Some(2), Some(10))),
        (json!("10%,2"), limit(Some(2), Some(10))),
        (json!("150%"), limit(None, Some(150))),
        (json!(0), limit(Some(0), None)),
    ] {
        let read = read(&json!({"maxUnavailablePerWorkload": written}));
        assert_eq!(read.unavailable_per_workload, expected, "{written}");
    }
    for odd in
        [json!(-1), json!(1.5), json!(""), json!("2,"), json!("2,3"), json!("1%,2%"), json!("a%"), json!([1])]
    {
        let why = why(EvictionPolicyFact::from_json(&policy(&json!({"maxUnavailablePerWorkload": odd}))));
        assert!(
            why.starts_with("spec.maxUnavailablePerWorkload: neither a number of replicas"),
            "{odd}: {why}"
        );
    }
}

/// If the definition of the kind is older, or without its rules.
#[test]
fn bad_numbers_that_the_api_server_lets_pass_are_problems() {
    for (spec, problem) in [
        (json!({"respectBudgets": {"deadlineSeconds": 0}}), PolicyProblem::Deadline(Span::ZERO)),
        (
            json!({"respectBudgets": {"deadlineSeconds": i64::MAX}}),
            PolicyProblem::Deadline(Span::from_secs(i64::MAX)),
        ),
        (json!({"maxUnavailablePerWorkload": "150%"}), PolicyProblem::Percentage(150)),
        (json!({"maxPodsPerMinute": 0}), PolicyProblem::ZeroLimit("spec.maxPodsPerMinute")),
        (
            json!({"order": "PriorityClass", "waveTimeoutSeconds": -1}),
            PolicyProblem::WaveTimeout(Span::from_secs(-1)),
        ),
    ] {
        assert_eq!(read(&spec).problems(), [problem], "{spec}");
    }
}

#[test]
fn an_unknown_value_is_named() {
    for (spec, message) in [
        (json!({"seconds": 1}), "spec.seconds: "),
        (json!({"respectBudgets": {"seconds": 1}}), "spec.respectBudgets.seconds: "),
        (json!({"taints": [{"key": "a", "effect": "NoExecute"}]}), "spec.taints[0].effect: "),
        (json!({"nodeSelector": []}), "spec.nodeSelector: "),
        (json!({"podSelector": {"labels": {}}}), "spec.podSelector.labels: "),
        (json!({"maxPodsPerMinute": -1}), "spec.maxPodsPerMinute: "),
        (json!({"maxTerminationGracePeriodSeconds": -1}), "spec.maxTerminationGracePeriodSeconds: "),
        (json!({"allowHolds": "no"}), "spec.allowHolds: "),
        (json!({"order": "Priority"}), "spec.order: \"Priority\" is none of PriorityClass"),
        (json!({"waveTimeoutSeconds": 60}), "spec.waveTimeoutSeconds: has no effect without order"),
        (json!(null), "spec: missing"),
    ] {
        let why = why(EvictionPolicyFact::from_json(&policy(&spec)));
        assert!(why.starts_with(message), "{why}");
    }
}
