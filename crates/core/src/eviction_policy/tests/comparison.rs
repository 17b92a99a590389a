//! Compares all pairs of small policies with what they select, and names the conflict of each.

use super::*;
use crate::cluster_snapshot::{DisruptionBudget, DisruptionLimit, IntOrPercent};
use crate::eviction_policy::PolicyConflict;

fn selector(operator: &str, values: &[&str]) -> LabelSelector {
    let values = values.iter().map(|value| (*value).into()).collect();
    let operator = NodeOperator::new(operator);
    LabelSelector([NodeRequirement { key: "app".into(), operator, values }].into())
}

/// Each taint selection with each selector of pods.
fn small_policies() -> Vec<EvictionPolicy> {
    let taints: [&[SelectedTaint]; 6] = [
        &[],
        &[of("maintenance", &[])],
        &[of("maintenance", &["a"])],
        &[of("maintenance", &["a", "b"])],
        &[of("maintenance", &["b"]), of("other", &[])],
        &[of(keys::NOT_READY, &[])],
    ];
    let selectors = [
        LabelSelector::default(),
        selector("In", &["a"]),
        selector("In", &["a", "b"]),
        selector("In", &["c"]),
        selector("NotIn", &["a"]),
        selector("NotIn", &["a", "b"]),
        selector("Exists", &[]),
        selector("DoesNotExist", &[]),
        // Invalid: it counts as selecting everything.
        selector("In", &[]),
    ];
    let policy = |taints: &&[SelectedTaint], pods: &LabelSelector| EvictionPolicy {
        taints: taints.to_vec(),
        pods: pods.clone(),
        ..EvictionPolicy::default()
    };
    taints.iter().flat_map(|taints| selectors.iter().map(move |pods| policy(taints, pods))).collect()
}

#[test]
fn what_the_texts_say_is_what_policies_select() {
    let taints =
        ["maintenance", "maintenance=a", "maintenance=b", "other", "third", keys::NOT_READY].map(taint);
    let pods = [&[][..], &[("app", "a")], &[("app", "b")], &[("app", "c")], &[("app", "d")]].map(labels);
    let none = labels(&[]);
    let selected = |policy: &EvictionPolicy| -> Vec<bool> {
        let subject = |pod| EvictionSubject { node: &none, namespace: &none, pod };
        let selects = |taint| pods.iter().map(move |pod| policy.selects(taint, subject(pod)));
        taints.iter().flat_map(selects).collect()
    };
    let policies = small_policies();
    for one in &policies {
        let own = selected(one);
        assert!(!one.selects_nothing(), "{one:?}");
        for other in &policies {
            let theirs = selected(other);
            let covers = theirs.iter().zip(&own).all(|(theirs, own)| *own || !theirs);
            let meet = theirs.iter().zip(&own).any(|(theirs, own)| *own && *theirs);
            assert_eq!(one.covers(other), covers, "{one:?} covers {other:?}");
            assert_eq!(one.is_disjoint_from(other), !meet, "{one:?} and {other:?}");
        }
    }
}

#[test]
fn a_selector_that_contradicts_itself_selects_nothing() {
    let both = |one: LabelSelector, other: LabelSelector| EvictionPolicy {
        nodes: LabelSelector([one.0, other.0].concat()),
        ..EvictionPolicy::default()
    };
    assert!(both(selector("In", &["a"]), selector("NotIn", &["a", "b"])).selects_nothing());
    assert!(both(selector("Exists", &[]), selector("DoesNotExist", &[])).selects_nothing());
    assert!(!both(selector("In", &["a", "b"]), selector("NotIn", &["a"])).selects_nothing());
}

#[test]
fn of_two_policies_the_later_one_may_never_apply() {
    let policy = |name: &str, priority, pods: &LabelSelector, nodes_at_once| EvictionPolicy {
        name: name.into(),
        priority,
        pods: pods.clone(),
        nodes_at_once,
        ..EvictionPolicy::default()
    };
    let (all, a, b) = (LabelSelector::default(), selector("In", &["a"]), selector("In", &["b"]));
    let general = policy("general", 5, &all, Some(1));
    let special = |priority| policy("web", priority, &a, Some(2));
    // Shadowed: by priority, and by name.
    for special in [special(4), special(5)] {
        assert_eq!(special.conflict(&[&general, &special]), Some(PolicyConflict::Shadowed(&general)));
        assert_eq!(general.conflict(&[&general, &special]), None);
    }
    // As it should be.
    let first = special(6);
    assert_eq!(first.conflict(&[&general]).or(general.conflict(&[&first])), None);
    // Only the names decide: of those that overlap, the first one is named.
    let (early, later) = (policy("early", 5, &a, Some(2)), policy("later", 5, &b, Some(3)));
    assert_eq!(general.conflict(&[&later, &early]), Some(PolicyConflict::EqualPriority(&early)));
    assert_eq!(later.conflict(&[&early]), None, "they select different pods");
    let same = policy("also", 5, &a, Some(1));
    assert_eq!(general.conflict(&[&same]), None, "both delay in the same way");
}

#[test]
fn a_policy_without_a_deadline_never_evicts_pods_of_a_budget_that_allows_nothing() {
    let budget = |floor, app: &str| DisruptionBudget {
        namespace: "shop".into(),
        name: "web".into(),
        selector: Some(selector("In", &[app]).0),
        floor: Some(floor),
        status: None,
    };
    let (none, all) = (IntOrPercent::Count(0), IntOrPercent::Percent(100));
    let never = budget(DisruptionLimit::MaxUnavailable(none), "a");
    let respecting =
        |deadline| EvictionPolicy { budgets: Some(BudgetRespect { deadline }), ..EvictionPolicy::default() };
    let policy = respecting(None);
    assert!(policy.never_evicts(&never));
    assert!(policy.never_evicts(&budget(DisruptionLimit::MinAvailable(all), "a")));
    assert!(!policy.never_evicts(&budget(DisruptionLimit::MinAvailable(IntOrPercent::Count(4)), "a")));
    assert!(!policy.never_evicts(&DisruptionBudget { selector: None, ..never.clone() }));
    assert!(!respecting(Some(Span::from_secs(60))).never_evicts(&never));
    assert!(!EvictionPolicy::default().never_evicts(&never));
    // Of pods and namespaces that it does not select, or may not select, nothing is said.
    let selecting = |namespaces: LabelSelector, pods| EvictionPolicy { namespaces, pods, ..respecting(None) };
    let shop = |name| LabelSelector::of_labels([("kubernetes.io/metadata.name", name)]);
    assert!(selecting(shop("shop"), selector("Exists", &[])).never_evicts(&never));
    assert!(!selecting(shop("other"), LabelSelector::default()).never_evicts(&never));
    assert!(!selecting(LabelSelector::default(), selector("In", &["b"])).never_evicts(&never));
    assert!(!selecting(selector("DoesNotExist", &[]), LabelSelector::default()).never_evicts(&never));
}
