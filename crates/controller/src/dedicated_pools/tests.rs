//! What is known and what follows from it, without a server.

use super::backoff::{BackoffMap, RetryKey};
use super::pool_cache::{PoolCache, Store};
use super::pool_watch_queues::PoolWatchBatch;
use super::reconcile::{PoolPlan, is_prepared};
use super::status_counts::{census, saying, sums};
use super::stream_demand::PoolStreamDemand;
use serde_json::{Value, json};
use taintward_core::admission::pool::{PoolExemptions, PoolStatus, PoolValidity};
use taintward_core::api_error::ApiFailure;
use taintward_core::identity::{NodeName, Uid};
use taintward_core::time::{Mono, Wall};
use taintward_kube::api::RequestError;
use taintward_kube::decode::{
    Decoded, DecodedPod, NamespaceObject, ObjectIdentity, PoolNodeObject, PoolObject, UndecodableObject,
    WatchedObject,
};
use taintward_kube::watch::{RelistTrigger, WatchEvent};

fn fact<F: WatchedObject + std::fmt::Debug>(object: &Value) -> F {
    match F::from_json(object.to_string().as_bytes()) {
        Decoded::Object(fact) => fact,
        other => panic!("{other:?}"),
    }
}

fn meta(name: &str, version: u64) -> Value {
    json!({"name": name, "uid": format!("u-{name}"), "resourceVersion": version.to_string(), "generation": 1})
}

/// A pool of these nodes, with taint and label `dedicated=NAME`.
fn pool(name: &str, nodes: &[&str]) -> Value {
    json!({
        "metadata": meta(name, 1),
        "spec": {
            "taint": {"key": "dedicated", "value": name},
            "label": {"key": "dedicated", "value": name},
            "nodes": {"names": nodes},
            "users": {"namespaceSelector": {"matchLabels": {"team": name}}},
        },
    })
}

/// The same, held by our finalizer, and with a memory of what it puts on nodes.
fn prepared(name: &str, nodes: &[&str]) -> Value {
    let mut pool = pool(name, nodes);
    pool["metadata"]["finalizers"] = json!(["other/one", "taintward.io/pool"]);
    pool["status"] = json!({"past": [
        {"kind": "Taint", "key": "dedicated", "value": name, "effect": "NoSchedule"},
        {"kind": "Label", "key": "dedicated", "value": name},
    ]});
    pool
}

fn node(name: &str) -> Value {
    json!({"metadata": meta(name, 1), "spec": {}})
}

/// A node as a pool of this name leaves it.
fn dedicated(name: &str, pool: &str) -> Value {
    let mut node = node(name);
    node["metadata"]["labels"] = json!({"dedicated": pool});
    let record = format!("{pool} taint:dedicated={pool}:NoSchedule label:dedicated={pool}");
    node["metadata"]["annotations"] = json!({"taintward.io/pool": record});
    node["spec"]["taints"] = json!([{"key": "dedicated", "value": pool, "effect": "NoSchedule"}]);
    node
}

fn list<F: WatchedObject + std::fmt::Debug>(objects: &[Value]) -> Vec<WatchEvent<F>> {
    list_of(objects.iter().map(fact))
}

fn pods(objects: &[Value]) -> PoolWatchBatch {
    PoolWatchBatch::Pods(list_of(objects.iter().filter_map(|object| fact::<DecodedPod>(object).resident())))
}

fn list_of<F>(facts: impl Iterator<Item = F>) -> Vec<WatchEvent<F>> {
    let seen = facts.map(|fact| WatchEvent::Applied { fact, listed: true });
    [WatchEvent::ListStarted { silent_for: None }]
        .into_iter()
        .chain(seen)
        .chain([WatchEvent::ListCompleted])
        .collect()
}

fn world(pools: &[Value], nodes: &[Value]) -> PoolCache {
    let mut world = PoolCache::default();
    assert!(world.hear(PoolWatchBatch::Pools(list(pools))).rules);
    assert_eq!(world.is_synced(), pools.is_empty(), "without a pool nothing else has to be known");
    // One node stays open to everybody.
    let nodes: Vec<Value> = nodes.iter().cloned().chain([node("open")]).collect();
    assert!(world.hear(PoolWatchBatch::Nodes(list(&nodes))).rules);
    world.hear(PoolWatchBatch::Namespaces(list(&[json!({"metadata": {"name": "shop", "uid": "u-shop"}})])));
    assert!(world.hear(pods(&[])).pods && world.is_synced());
    world
}

fn todo(plan: &PoolPlan) -> Vec<&str> {
    plan.todo.iter().map(NodeName::as_str).collect()
}

fn unreadable<F>(name: &str) -> WatchEvent<F> {
    let identity = ObjectIdentity {
        uid: Some(Uid::new(&format!("u-{name}"))),
        name: name.into(),
        ..ObjectIdentity::default()
    };
    WatchEvent::Undecodable(UndecodableObject { identity: Some(identity), why: "odd".into() })
}

#[test]
fn a_pool_touches_no_node_before_it_is_held_and_remembers() {
    let mut held = pool("a", &["n1"]);
    held["metadata"]["finalizers"] = json!(["taintward.io/pool"]);
    let mut remembering = prepared("a", &["n1"]);
    remembering["metadata"]["finalizers"] = json!([]);
    for early in [pool("a", &["n1"]), held, remembering] {
        let plan = PoolPlan::of(&world(&[early], &[node("n1")]));
        assert!(!is_prepared(&plan.seen[0]) && todo(&plan).is_empty());
        assert_eq!((plan.standing[0], plan.waiting[0].len()), (PoolValidity::Applied, 1));
    }
    let plan = PoolPlan::of(&world(&[prepared("a", &["n1"])], &[node("n1"), node("n2")]));
    assert_eq!(todo(&plan), ["n1"]);
    let intent = plan.intent(&fact::<PoolNodeObject>(&node("n1")).node);
    assert_eq!((intent.edits.add_taints.len(), intent.edits.add_labels.len()), (1, 1));
    assert_eq!(intent.pool.as_ref(), Some(&plan.seen[0]), "it must still be so when the node is written");
    let done = PoolPlan::of(&world(&[prepared("a", &["n1"])], &[dedicated("n1", "a")]));
    assert!(todo(&done).is_empty() && done.waiting[0].is_empty());
}

#[test]
fn a_new_taint_is_remembered_before_it_is_put_on() {
    let mut changed = prepared("a", &["n1"]);
    changed["spec"]["taint"]["value"] = json!("b");
    changed["spec"]["label"]["value"] = json!("b");
    let plan = PoolPlan::of(&world(&[changed.clone()], &[dedicated("n1", "a")]));
    assert!(todo(&plan).is_empty() && plan.waiting[0].len() == 1);
    let memory = &plan.memory[0];
    assert_eq!(memory.marks.len(), 4, "what it puts on now, and what is still on nodes: {memory:?}");
    assert!(!memory.may_forget && !memory.is_empty);
    // Where it is on no node any more it may be forgotten, but not without a look at all of them.
    let off = PoolPlan::of(&world(&[changed], &[node("n1")]));
    assert_eq!(off.memory[0].marks.len(), 4);
    assert!(off.memory[0].may_forget);
}

#[test]
fn leaving_gives_back_and_asks_nobody() {
    let mut leaving = prepared("a", &["n1"]);
    leaving["metadata"]["deletionTimestamp"] = json!("2027-01-15T08:00:00Z");
    let plan = PoolPlan::of(&world(&[leaving], &[dedicated("n1", "a"), node("n2")]));
    assert_eq!(todo(&plan), ["n1"]);
    let intent = plan.intent(&fact::<PoolNodeObject>(&dedicated("n1", "a")).node);
    assert_eq!((intent.edits.remove_taints.len(), intent.edits.remove_labels.len()), (1, 1));
    assert_eq!(intent.pool, None);
    assert!(!plan.memory[0].is_empty);
}

#[test]
fn d11_nodes_of_a_pool_that_cannot_be_read_or_is_not_known_stay() {
    let (odd, other) = (prepared("odd", &["n1"]), prepared("b", &["n1"]));
    let mut world = world(&[odd, other], &[dedicated("n1", "odd")]);
    assert!(world.hear(PoolWatchBatch::Pools(vec![unreadable("odd")])).rules);
    assert!(!world.hear(PoolWatchBatch::Pools(vec![unreadable("odd")])).rules, "that is no news");
    let plan = PoolPlan::of(&world);
    assert_eq!(plan.pools.len(), 1, "what it wanted before is not acted on");
    assert!(todo(&plan).is_empty(), "the other does not take it over");
    assert_eq!(sums(&plan, &[], &world).unreadable, 1);
    // Gone by force: its record stays, unless another pool takes the node.
    let gone = PoolPlan::of(&self::world(&[prepared("b", &["n9"])], &[dedicated("n1", "odd")]));
    assert!(todo(&gone).is_empty());
}

#[test]
fn an_older_word_changes_nothing_but_a_list_does() {
    let mut all = Store::<PoolNodeObject>::default();
    let at = |version: u64, label: &str| {
        let mut node = node("n1");
        node["metadata"]["resourceVersion"] = json!(version.to_string());
        node["metadata"]["labels"] = json!({"l": label});
        fact::<PoolNodeObject>(&node)
    };
    let label =
        |all: &Store<PoolNodeObject>| all.facts().next().map(|seen| seen.node.labels["l"].to_string());
    assert!(
        !all.hear(vec![
            WatchEvent::Applied { fact: at(4, "four"), listed: false },
            WatchEvent::ListCompleted
        ])
    );
    assert!(label(&all).is_none() && !all.is_synced(), "before a list begins");
    all.hear(vec![WatchEvent::ListStarted { silent_for: None }]);
    assert!(!all.answered(at(7, "unknown")) && label(&all).is_none(), "nobody has told of it");
    assert!(all.hear(vec![WatchEvent::Applied { fact: at(5, "five"), listed: false }]));
    assert!(all.answered(at(7, "seven")));
    assert!(!all.hear(vec![WatchEvent::Applied { fact: at(6, "six"), listed: false }]));
    assert_eq!(label(&all).as_deref(), Some("seven"));
    assert!(
        !all.hear(vec![WatchEvent::Applied { fact: at(8, "seven"), listed: false }]),
        "a heartbeat is no news"
    );
    assert!(
        all.hear(vec![WatchEvent::Applied { fact: at(3, "three"), listed: true }]),
        "restored from a backup"
    );
    assert_eq!(label(&all).as_deref(), Some("three"));
    assert!(all.hear(list(&[])) && all.facts().next().is_none(), "what is not listed is gone");
}

#[test]
fn a_pool_is_ready_when_its_nodes_are_written() {
    let pods =
        [("own", "team", "n1"), ("astray", "team", "open"), ("other", "shop", "n1"), ("far", "shop", "open")];
    let pods: Vec<Value> = pods
        .map(|(name, namespace, node)| {
            let mut metadata = meta(name, 1);
            metadata["namespace"] = json!(namespace);
            json!({"metadata": metadata, "spec": {"nodeName": node}})
        })
        .into();
    let team = json!({"metadata": {"name": "team", "uid": "u-team", "labels": {"team": "a"}}});
    let shop = json!({"metadata": {"name": "shop", "uid": "u-shop"}});
    let mut world = world(&[prepared("a", &["n1", "n2"])], &[dedicated("n1", "a"), node("n2")]);
    world.hear(PoolWatchBatch::Namespaces(list::<NamespaceObject>(&[team, shop])));
    world.hear(self::pods(&pods));
    let plan = PoolPlan::of(&world);
    let counts = census(&plan, &world, &PoolExemptions::default());
    let members = vec!["n1".into(), "n2".into()];
    let expected =
        PoolStatus { members, nodes: 1, pods: 1, elsewhere: 1, offenders: 1, ..PoolStatus::default() };
    assert_eq!(
        PoolStatus { offending_pods: Vec::new(), ..counts[0].clone() },
        expected,
        "n2 is not written yet"
    );
    let mut retries = BackoffMap::new(1);
    let ready = |plan: &PoolPlan, retries: &BackoffMap| {
        let seen: &PoolObject = &plan.seen[0];
        let told = saying(plan, 0, seen, PoolStatus::default(), retries, Wall::from_secs(1));
        let ready = told.conditions.iter().find(|one| *one.kind == *"Ready").unwrap().clone();
        (ready.reason.to_string(), ready.message.to_string())
    };
    assert_eq!(ready(&plan, &retries), ("Progressing".into(), "1 node is still to be written".into()));
    let refusal = RequestError::ours(ApiFailure::Forbidden, "may not patch nodes".into());
    retries.failed(RetryKey::Node(NodeName::new("n2")), &refusal, Mono::from_secs(1));
    assert_eq!(ready(&plan, &retries).1, "1 node is still to be written: may not patch nodes");
    world.hear(PoolWatchBatch::Nodes(list::<PoolNodeObject>(&[
        dedicated("n1", "a"),
        dedicated("n2", "a"),
        node("open"),
    ])));
    let plan = PoolPlan::of(&world);
    assert_eq!(ready(&plan, &retries).0, "Applied");
    let sums = sums(&plan, &census(&plan, &world, &PoolExemptions::default()), &world);
    assert_eq!((sums.applied, sums.nodes, sums.offenders), (1, 2, 1));
}

#[test]
fn without_a_pool_nothing_is_kept_and_what_was_on_its_way_is_not_half_believed() {
    let mut world = world(&[pool("a", &["n1"])], &[node("n1")]);
    world.hear(pods(&[
        json!({"metadata": {"name": "p", "namespace": "shop", "uid": "u-p"}, "spec": {"nodeName": "n1"}}),
    ]));
    assert!(world.has_pools() && world.is_synced() && world.pods.len() == 1);
    assert!(world.hear(PoolWatchBatch::Pools(list(&[]))).rules);
    let at = Mono::from_secs(0);
    world.keep_what_is_demanded(&mut PoolStreamDemand::new(RelistTrigger::default(), at), false, at);
    assert!(!world.has_pools() && world.is_synced());
    assert_eq!((world.pods.len(), world.nodes.facts().count(), world.namespaces.facts().count()), (0, 0, 0));
    // The end of a list of which the beginning is forgotten.
    let late = vec![
        WatchEvent::Applied { fact: fact::<PoolNodeObject>(&node("n1")), listed: true },
        WatchEvent::ListCompleted,
    ];
    assert!(!world.hear(PoolWatchBatch::Nodes(late)).rules);
    assert!(world.hear(PoolWatchBatch::Pools(list(&[pool("a", &["n1"])]))).rules && !world.is_synced());
}
