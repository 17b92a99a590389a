//! Builds a small cluster and reviews of pods in it.

use serde_json::{Value, json};
use std::sync::Arc;
use taintward_admission::review::{
    InvalidReview, RequestOrigin, ReviewFilter, ReviewPhase, ReviewResponse, judge, judge_filtered,
};
use taintward_admission::rules::{CacheUpdate, CachedNode, ClusterCache, RuleReviewer, UntilReady};
use taintward_core::admission::LabelSelector;
use taintward_core::admission::no_execute_guard::NoExecuteGuard;
use taintward_core::admission::policy::{DefaultTolerationSeconds, TolerationDuration, TolerationPolicy};
use taintward_core::admission::pool::{
    DedicatedPool, PoolEnforcement, PoolLabel, PoolMembers, PoolNode, PoolPlacement, PoolTaint, PoolUsers,
    RECORD,
};
use taintward_core::admission::request::NamespaceFact;
use taintward_core::admission::review::{LintAdvice, ReviewSettings};
use taintward_core::testkit::taints;

/// Every rule.
pub(crate) fn all_rules() -> ReviewSettings {
    ReviewSettings {
        defaults: Some(DefaultTolerationSeconds::default()),
        restriction: Some(Default::default()),
        extended: true,
        advice: Some(LintAdvice::default()),
        guard: Some(NoExecuteGuard::default()),
        ..ReviewSettings::default()
    }
}

pub(crate) fn namespace(name: &str, labels: &[(&str, &str)]) -> (Box<str>, NamespaceFact) {
    let labels = labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    (name.into(), NamespaceFact { labels, ..NamespaceFact::default() })
}

/// A pool for the namespaces of a team, on nodes with a label.
pub(crate) fn pool(team: &str, enforcement: PoolEnforcement) -> DedicatedPool {
    DedicatedPool {
        name: team.into(),
        taint: PoolTaint { key: "dedicated".into(), value: team.into(), effects: vec![] },
        label: Some(PoolLabel { key: "dedicated".into(), value: team.into() }),
        members: PoolMembers { names: vec![format!("{team}-node").into()], selector: None },
        users: PoolUsers {
            namespaces: Some(LabelSelector::of_labels([("team", team)])),
            ..PoolUsers::default()
        },
        placement: PoolPlacement::Exclusive,
        enforcement,
        ..DedicatedPool::default()
    }
}

/// A node with taints, separated by spaces.
pub(crate) fn cached_node(name: &str, ready: bool, own: &str) -> CachedNode {
    CachedNode { node: PoolNode { name: name.into(), taints: taints(own), ..PoolNode::default() }, ready }
}

/// `shop` has no pool; `ml` belongs to the team of the pool `ml`, whose node is `ml-node`; `db` has another; `slow` has
/// a policy.
pub(crate) fn namespaces() -> Vec<(Box<str>, NamespaceFact)> {
    vec![
        namespace("shop", &[]),
        namespace("ml", &[("team", "ml")]),
        namespace("db", &[("team", "db")]),
        namespace("slow", &[("pace", "slow")]),
        namespace("kube-system", &[]),
    ]
}

pub(crate) fn policies() -> Vec<TolerationPolicy> {
    vec![TolerationPolicy {
        name: "slow".into(),
        namespaces: LabelSelector::of_labels([("pace", "slow")]),
        not_ready: Some(TolerationDuration::For(900)),
        unreachable: Some(TolerationDuration::Forever),
        ..TolerationPolicy::default()
    }]
}

/// Sorted by name.
pub(crate) fn pools() -> Vec<DedicatedPool> {
    vec![pool("db", PoolEnforcement::Warn), pool("ml", PoolEnforcement::Deny)]
}

pub(crate) fn around() -> Arc<ClusterCache> {
    let around = Arc::new(ClusterCache::default());
    around.namespaces(CacheUpdate::Replace(namespaces()));
    around.policies(CacheUpdate::Replace(policies()));
    around.pools(CacheUpdate::Replace(pools()));
    let mut of_pool = cached_node("ml-node", true, "dedicated=ml:NoSchedule");
    of_pool.node.labels = [("dedicated".into(), "ml".into())].into();
    of_pool.node.record = Some("ml taint:dedicated=ml:NoSchedule label:dedicated=ml".into());
    assert_eq!(RECORD, "taintward.io/pool");
    let others = ["n1", "n2", "n3"].map(|name| cached_node(name, true, ""));
    around.nodes(CacheUpdate::Replace(others.into_iter().chain([of_pool]).collect()));
    around
}

pub(crate) fn rules() -> RuleReviewer {
    RuleReviewer::new(all_rules(), UntilReady::Allow, around())
}

/// A review of a pod, from some user.
pub(crate) fn question(operation: &str, namespace: &str, pod: &Value, old: Option<&Value>) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "u", "operation": operation, "namespace": namespace, "name": "p",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "userInfo": {"username": "jane", "groups": ["system:authenticated"]},
            "object": pod, "oldObject": old,
        },
    })
}

pub(crate) fn requested(
    phase: ReviewPhase,
    question: &Value,
    rules: &RuleReviewer,
) -> Result<ReviewResponse, InvalidReview> {
    judge(phase, question.to_string().as_bytes(), rules)
}

/// The response; the review must be valid.
pub(crate) fn response(phase: ReviewPhase, question: &Value, rules: &RuleReviewer) -> Value {
    response_from(RequestOrigin::Unverified, phase, question, rules)
}

/// The same for a review with a known origin.
pub(crate) fn response_from(
    origin: RequestOrigin,
    phase: ReviewPhase,
    question: &Value,
    rules: &RuleReviewer,
) -> Value {
    let mut filter = ReviewFilter::default();
    filter.push(question.to_string().as_bytes()).unwrap();
    let judged = judge_filtered(phase, &filter.finish().unwrap(), origin, rules).unwrap();
    let response: Value = serde_json::from_slice(&judged.body).unwrap();
    response["response"].clone()
}
