//! A cluster with a few namespaces, a pool, a policy and nodes; and questions about pods in it.

use serde_json::{Value, json};
use std::sync::Arc;
use taintward_core::admission::Selector;
use taintward_core::admission::brake::Brake;
use taintward_core::admission::policy::{Policy, Stay, Upstream};
use taintward_core::admission::pool::{
    Enforcement, Members, NodeFacts, Placement, Pool, PoolLabel, PoolTaint, RECORD, Users,
};
use taintward_core::admission::request::NamespaceFacts;
use taintward_core::admission::review::{Advice, Settings};
use taintward_core::taint::{Effect, Taint};
use taintward_webhook::review::{Half, Judged, Malformed, Origin, Sieve, judge, judge_sifted};
use taintward_webhook::rules::{Around, NodeSeen, Rules, Tidings, UntilReady};

/// Every rule.
pub(crate) fn all_rules() -> Settings {
    Settings {
        defaults: Some(Upstream::default()),
        restriction: Some(Default::default()),
        extended: true,
        advice: Some(Advice::default()),
        brake: Some(Brake::default()),
        ..Settings::default()
    }
}

pub(crate) fn namespace(name: &str, labels: &[(&str, &str)]) -> (Box<str>, NamespaceFacts) {
    let labels = labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    (name.into(), NamespaceFacts { labels, ..NamespaceFacts::default() })
}

/// A pool for the namespaces of a team, on nodes with a label.
pub(crate) fn pool(team: &str, enforcement: Enforcement) -> Pool {
    Pool {
        name: team.into(),
        taint: PoolTaint { key: "dedicated".into(), value: team.into(), effects: vec![] },
        label: Some(PoolLabel { key: "dedicated".into(), value: team.into() }),
        members: Members { names: vec![format!("{team}-node").into()], selector: None },
        users: Users { namespaces: Some(Selector::of_labels([("team", team)])), ..Users::default() },
        placement: Placement::Exclusive,
        enforcement,
        ..Pool::default()
    }
}

pub(crate) fn node(name: &str, ready: bool, taints: &[(&str, &str, Effect)]) -> NodeSeen {
    let taint = |(key, value, effect): &(&str, &str, Effect)| Taint {
        key: (*key).into(),
        value: (*value).into(),
        effect: effect.clone(),
        time_added: None,
    };
    let node =
        NodeFacts { name: name.into(), taints: taints.iter().map(taint).collect(), ..NodeFacts::default() };
    NodeSeen { node, ready }
}

/// `shop` is nobody's; `ml` is the team's of the pool `ml`, whose node is `ml-node`; `db` has another; `slow` has a policy.
pub(crate) fn namespaces() -> Vec<(Box<str>, NamespaceFacts)> {
    vec![
        namespace("shop", &[]),
        namespace("ml", &[("team", "ml")]),
        namespace("db", &[("team", "db")]),
        namespace("slow", &[("pace", "slow")]),
        namespace("kube-system", &[]),
    ]
}

pub(crate) fn policies() -> Vec<Policy> {
    vec![Policy {
        name: "slow".into(),
        namespaces: Selector::of_labels([("pace", "slow")]),
        not_ready: Some(Stay::For(900)),
        unreachable: Some(Stay::Forever),
        ..Policy::default()
    }]
}

/// In the order of their names.
pub(crate) fn pools() -> Vec<Pool> {
    vec![pool("db", Enforcement::Warn), pool("ml", Enforcement::Deny)]
}

pub(crate) fn around() -> Arc<Around> {
    let around = Arc::new(Around::default());
    around.namespaces(Tidings::All(namespaces()));
    around.policies(Tidings::All(policies()));
    around.pools(Tidings::All(pools()));
    let mut of_pool = node("ml-node", true, &[("dedicated", "ml", Effect::NoSchedule)]);
    of_pool.node.labels = [("dedicated".into(), "ml".into())].into();
    of_pool.node.record = Some("ml taint:dedicated=ml:NoSchedule label:dedicated=ml".into());
    assert_eq!(RECORD, "taintward.io/pool");
    let others = ["n1", "n2", "n3"].map(|name| node(name, true, &[]));
    around.nodes(Tidings::All(others.into_iter().chain([of_pool]).collect()));
    around
}

pub(crate) fn rules() -> Rules {
    Rules::new(all_rules(), UntilReady::Allow, around())
}

/// A question about a pod, from somebody.
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

pub(crate) fn asked(half: Half, question: &Value, rules: &Rules) -> Result<Judged, Malformed> {
    judge(half, question.to_string().as_bytes(), rules)
}

/// The response; the question has to make sense.
pub(crate) fn response(half: Half, question: &Value, rules: &Rules) -> Value {
    response_from(Origin::Anybody, half, question, rules)
}

/// The same for a question of which it is known where it comes from.
pub(crate) fn response_from(origin: Origin, half: Half, question: &Value, rules: &Rules) -> Value {
    let mut sieve = Sieve::default();
    sieve.push(question.to_string().as_bytes()).unwrap();
    let judged = judge_sifted(half, &sieve.finish().unwrap(), origin, rules).unwrap();
    let answer: Value = serde_json::from_slice(&judged.answer).unwrap();
    answer["response"].clone()
}
