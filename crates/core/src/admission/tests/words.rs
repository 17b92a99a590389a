//! Tests the words for tolerations and exemptions, and which users, nodes and affinities a pool recognizes.

use crate::admission::messages::toleration_of;
use crate::admission::pool::{
    DedicatedPool, PoolExemption, PoolUsers, Reason, RecordTrust, ServiceAccount, assess, narrowed,
};
use crate::dedicated_pools::UnknownNodePolicy;
use crate::scheduling::{NodeOperator, NodeRequirement, NodeTerm};
use crate::testkit::toleration_of as toleration_with;
use crate::toleration::Toleration;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::slice::from_ref;

#[test]
fn a_toleration_is_named_by_what_it_tolerates() {
    let named = |key: &str, operator: &str, value: &str, effect: &str, seconds: Option<i64>| {
        toleration_of(&Toleration { seconds, ..toleration_with(key, operator, value, effect) })
    };
    assert_eq!(named("", "Exists", "", "", None), "every taint");
    assert_eq!(named("", "Exists", "", "NoExecute", Some(5)), "every NoExecute taint for 5 s");
    assert_eq!(named("team", "Exists", "", "NoExecute", None), "team:NoExecute");
    assert_eq!(named("team", "", "", "NoExecute", None), "team:NoExecute");
    assert_eq!(named("team", "Equal", "", "", None), "team");
    assert_eq!(named("team", "Equal", "a", "", Some(60)), "team=a for 60 s");
    assert_eq!(named("size", "Gt", "4", "NoSchedule", None), "size Gt 4:NoSchedule");
}

#[test]
fn exemptions_and_policies_have_the_names_of_metrics_and_objects() {
    let exemptions = [PoolExemption::Namespace, PoolExemption::Mirror, PoolExemption::DaemonSet];
    assert_eq!(exemptions.map(PoolExemption::name), ["exempt-namespace", "mirror", "daemon-set"]);
    let policies = [UnknownNodePolicy::Allow, UnknownNodePolicy::AllowDaemonSets, UnknownNodePolicy::Deny];
    assert_eq!(policies.map(UnknownNodePolicy::as_str), ["Allow", "AllowDaemonSets", "Deny"]);
}

#[test]
fn a_pool_has_users_if_it_names_any_kind_of_them() {
    let has_none = |users: PoolUsers| {
        let pool = DedicatedPool { name: "p".into(), uid: "p".into(), users, ..DedicatedPool::default() };
        let found = assess(&[pool], None, RecordTrust::Pools).remove(0).findings;
        found.iter().any(|finding| finding.reason == Reason::NoUsers)
    };
    let names = || vec![Box::from("a")];
    let account = ServiceAccount { namespace: "shop".into(), name: "web".into() };
    assert!(has_none(PoolUsers::default()));
    assert!(!has_none(PoolUsers { service_accounts: vec![account], ..PoolUsers::default() }));
    assert!(!has_none(PoolUsers { users: names(), ..PoolUsers::default() }));
    assert!(!has_none(PoolUsers { groups: names(), ..PoolUsers::default() }));
}

#[test]
fn a_term_that_requires_no_less_is_not_narrowed() {
    let requirement = |operator, values: &[&str]| NodeRequirement {
        key: "pool".into(),
        operator,
        values: values.iter().map(|value| Box::from(*value)).collect(),
    };
    let needed = requirement(NodeOperator::In, &["a", "b"]);
    let narrows = |own: NodeRequirement| {
        let term = NodeTerm { expressions: vec![own], fields: Vec::new() };
        narrowed(Some(from_ref(&term)), from_ref(&needed)).is_some_and(|terms| terms != [term])
    };
    assert!(!narrows(requirement(NodeOperator::In, &["a"])));
    assert!(narrows(requirement(NodeOperator::In, &["a", "c"])));
    assert!(narrows(requirement(NodeOperator::In, &[])));
    assert!(narrows(requirement(NodeOperator::NotIn, &["a"])));
    assert!(narrows(NodeRequirement { key: "other".into(), ..requirement(NodeOperator::In, &["a"]) }));
}
