//! Which evictions a policy selects, and what is wrong with policies.

use super::*;
use crate::identity::Uid;
use crate::scheduling::{NodeOperator, NodeRequirement};
use crate::testkit::taint;
use alloc::string::ToString as _;

mod comparison;

fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
}

fn of(key: &str, values: &[&str]) -> SelectedTaint {
    SelectedTaint { key: key.into(), values: values.iter().map(|value| (*value).into()).collect() }
}

#[test]
fn a_policy_selects_by_key_and_value() {
    let policy = EvictionPolicy {
        taints: [of("maintenance", &[]), of("pressure", &["high", "higher"])].into(),
        ..EvictionPolicy::default()
    };
    for (text, expected) in [
        ("maintenance:NoExecute", true),
        ("maintenance=now:NoExecute", true),
        ("pressure=high:NoExecute", true),
        ("pressure=low:NoExecute", false),
        ("other:NoExecute", false),
    ] {
        assert_eq!(policy.selects_taint(&taint(text)), expected, "{text}");
    }
}

#[test]
fn only_a_policy_that_names_them_is_about_dead_nodes() {
    let every = EvictionPolicy::default();
    let named = EvictionPolicy { taints: [of(keys::NOT_READY, &[])].into(), ..EvictionPolicy::default() };
    assert!(every.selects_taint(&taint("maintenance")));
    for key in [keys::NOT_READY, keys::UNREACHABLE, keys::OUT_OF_SERVICE] {
        assert!(!every.selects_taint(&taint(key)), "{key}");
        assert_eq!(named.selects_taint(&taint(key)), key == keys::NOT_READY, "{key}");
    }
    let warning = PolicyProblem::DeadNode(keys::NOT_READY.into());
    assert_eq!(named.problems(), [warning]);
    assert!(named.is_valid() && every.problems().is_empty());
}

#[test]
fn every_selector_must_select() {
    let app = LabelSelector::of_labels([("app", "web")]);
    let team = LabelSelector::of_labels([("team", "shop")]);
    let zone = LabelSelector::of_labels([("zone", "a")]);
    let policy = EvictionPolicy { nodes: zone, namespaces: team, pods: app, ..EvictionPolicy::default() };
    let (zone, team, app) =
        (labels(&[("zone", "a")]), labels(&[("team", "shop")]), labels(&[("app", "web")]));
    let none = labels(&[]);
    let selects = |node, namespace, pod| {
        policy.selects(&taint("maintenance"), EvictionSubject { node, namespace, pod })
    };
    assert!(selects(&zone, &team, &app));
    assert!(!selects(&none, &team, &app) && !selects(&zone, &none, &app) && !selects(&zone, &team, &none));
}

#[test]
fn the_highest_priority_applies_then_the_first_name() {
    let named =
        |name: &str, priority| EvictionPolicy { name: name.into(), priority, ..EvictionPolicy::default() };
    let mut policies = [named("c", 0), named("b", 5), named("a", 5), named("d", -1)];
    policies.sort_by(|one, other| one.precedence().cmp(&other.precedence()));
    assert_eq!(policies.map(|policy| policy.name), ["a", "b", "c", "d"].map(Box::from));
}

#[test]
fn the_lower_limit_applies_and_a_percentage_is_at_least_one_replica() {
    let limit = |replicas, percent| UnavailableLimit { replicas, percent };
    for (limit, replicas, expected) in [
        (limit(Some(2), Some(10)), 100, 2),
        (limit(Some(2), Some(10)), 19, 1),
        (limit(None, Some(10)), 100, 10),
        (limit(None, Some(10)), 3, 1),
        (limit(None, Some(100)), 3, 3),
        (limit(None, None), 3, u32::MAX),
    ] {
        assert_eq!(limit.of(replicas), expected, "{limit:?} of {replicas}");
    }
}

#[test]
fn what_is_wrong_with_a_policy_is_named_with_the_remedy() {
    let budgets = |seconds| Some(BudgetRespect { deadline: Some(Span::from_secs(seconds)) });
    let unavailable = |replicas, percent| Some(UnavailableLimit { replicas, percent });
    let base = EvictionPolicy::default;
    let invalid = LabelSelector(
        [NodeRequirement { key: "a b".into(), operator: NodeOperator::Exists, values: Vec::new() }].into(),
    );
    for (policy, expected) in [
        (
            EvictionPolicy { budgets: budgets(0), ..base() },
            "spec.respectBudgets.deadlineSeconds is 0: write 1 to 2592000",
        ),
        (
            EvictionPolicy { budgets: budgets(31_536_000), ..base() },
            "deadlineSeconds is 31536000: write 1 to 2592000",
        ),
        (EvictionPolicy { pods_per_minute: Some(0), ..base() }, "spec.maxPodsPerMinute is 0"),
        (EvictionPolicy { nodes_at_once: Some(0), ..base() }, "spec.maxNodesAtOnce is 0"),
        (
            EvictionPolicy { unavailable_per_workload: unavailable(Some(0), None), ..base() },
            "spec.maxUnavailablePerWorkload is 0",
        ),
        (
            EvictionPolicy { unavailable_per_workload: unavailable(None, Some(0)), ..base() },
            "is 0%: write 1% to 100%",
        ),
        (
            EvictionPolicy { unavailable_per_workload: unavailable(None, Some(150)), ..base() },
            "is 150%: write 1% to 100%",
        ),
        (
            EvictionPolicy { order: Some(WaveOrder { timeout: Some(Span::ZERO) }), ..base() },
            "spec.waveTimeoutSeconds is 0",
        ),
        (
            EvictionPolicy { taints: [of("a b", &[])].into(), ..base() },
            "\"a b\", which cannot be the key of a taint",
        ),
        (EvictionPolicy { pods: invalid, ..base() }, "spec.podSelector is invalid: a b cannot be the key"),
    ] {
        let problems = policy.problems();
        assert!(matches!(&problems[..], [one] if one.to_string().contains(expected)), "{problems:?}");
        assert!(!policy.is_valid(), "{expected}");
    }
    assert!(EvictionPolicy { budgets: budgets(1), ..base() }.is_valid());
    assert!(EvictionPolicy { budgets: Some(BudgetRespect::default()), ..base() }.is_valid());
}

#[test]
fn a_problem_names_its_field() {
    for (problem, field) in [
        (PolicyProblem::Deadline(Span::ZERO), "spec.respectBudgets.deadlineSeconds"),
        (PolicyProblem::ZeroLimit("spec.maxNodesAtOnce"), "spec.maxNodesAtOnce"),
        (PolicyProblem::Percentage(0), "spec.maxUnavailablePerWorkload"),
        (PolicyProblem::WaveTimeout(Span::ZERO), "spec.waveTimeoutSeconds"),
        (PolicyProblem::TaintKey("a b".into()), "spec.taints"),
        (PolicyProblem::DeadNode("k".into()), "spec.taints"),
    ] {
        assert_eq!(problem.field(), field);
    }
    let order = |timeout| EvictionPolicy { order: Some(WaveOrder { timeout }), ..EvictionPolicy::default() };
    assert!(order(Some(Span::from_secs(1))).is_valid() && order(None).is_valid());
    assert!(!order(Some(Span::from_millis(999))).is_valid());
}

/// Policies for these taints, with their priorities, of which some forbid holds.
fn facts(all: &[(&str, &str, i32, bool)]) -> Vec<EvictionPolicyFact> {
    let fact = |&(name, key, priority, allow_holds): &(&str, &str, i32, bool)| {
        let taints = [of(key, &[])].into();
        let policy =
            EvictionPolicy { name: name.into(), taints, priority, allow_holds, ..EvictionPolicy::default() };
        EvictionPolicyFact {
            uid: Uid::new(name),
            version: None,
            generation: 1,
            policy: policy.into(),
            recorded: RecordedPolicyStatus::default(),
        }
    };
    all.iter().map(fact).collect()
}

#[test]
fn each_taint_needs_a_policy_and_the_highest_governs() {
    let none = labels(&[]);
    let subject = EvictionSubject { node: &none, namespace: &none, pod: &none };
    let facts = facts(&[("low", "a", 1, true), ("high", "b", 9, true), ("lower", "a", 0, false)]);
    let governs = |texts: &[&str]| {
        let taints: Vec<Taint> = texts.iter().map(|text| taint(text)).collect();
        governing(&facts, &taints, subject).map(|fact| &*fact.policy.name)
    };
    assert_eq!(governs(&["a"]), Some("low"));
    assert_eq!(governs(&["a", "b"]), Some("high"));
    assert_eq!(governs(&["a", "c"]), None, "the eviction because of c cannot be delayed");
    assert_eq!(governs(&[]), None);
    let forbids = |facts: &[EvictionPolicyFact], texts: &[&str]| {
        let taints: Vec<Taint> = texts.iter().map(|text| taint(text)).collect();
        forbidding_holds(facts.iter(), &taints, subject).map(|fact| fact.policy.name.to_string())
    };
    assert_eq!(forbids(&facts, &["a", "b"]), None, "lower applies to no eviction");
    let strict = self::facts(&[("low", "a", 1, true), ("strict", "b", 0, false)]);
    assert_eq!(forbids(&strict, &["a", "b"]), Some("strict".into()));
    assert_eq!(forbids(&strict, &["a"]), None);
}
