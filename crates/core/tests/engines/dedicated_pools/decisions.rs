//! Tests what the engine decides at one moment: the first effects, the patches of nodes, the counts, and the explanation of
//! a node.

use crate::dedicated_pools::api_server::{exemptions, failed, list};
use crate::dedicated_pools::objects::{dedicated, pool, pool_node, pool_taint, prepared, resident};
use taintward_core::admission::pool::{PoolExemptions, RecordEdit};
use taintward_core::api_error::ApiFailure;
use taintward_core::dedicated_pools::{
    DedicatedPoolConfig, DedicatedPoolEngine, DedicatedPoolInput, DedicatedPoolNotice, FINALIZER, NodePatch,
    PoolEffect, PoolFact, PoolNamespaceFact, PoolNodeDelay, PoolNodeFact, PoolResponse,
};
use taintward_core::engine::{Engine as _, Lane};
use taintward_core::identity::{NodeName, ResourceVersion, Uid};
use taintward_core::object_event::ObjectEvent;
use taintward_core::testkit::taint_of;
use taintward_core::time::{Mono, Now, Span, Wall};

fn now() -> Now {
    Now::exact(Mono::from_secs(0), Wall::from_secs(1_800_000_000))
}

fn namespace(name: &str, team: &str) -> PoolNamespaceFact {
    let labels = [("team".into(), team.into())].into();
    PoolNamespaceFact { uid: Uid::new(name), version: Some(ResourceVersion(1)), name: name.into(), labels }
}

/// An engine that has listed these objects, one more node, and the pods `shop/p` on `n1` and `red/own` on `n1`.
fn engine(pools: &[PoolFact], nodes: &[PoolNodeFact]) -> DedicatedPoolEngine {
    let mut engine = DedicatedPoolEngine::new(DedicatedPoolConfig {
        exemptions: exemptions(),
        longest_request: Span::from_secs(5),
    });
    let pools = list(pools.iter().cloned()).map(|event| DedicatedPoolInput::Pools(Box::new(event)));
    let nodes = list(nodes.iter().cloned().chain([pool_node("open")])).map(DedicatedPoolInput::Nodes);
    let namespaces = list([namespace("shop", "none"), namespace("red", "a")].into_iter());
    let namespaces = namespaces.map(DedicatedPoolInput::Namespaces);
    let pods = [resident("p", "shop", "n1"), resident("own", "red", "n1")].into_iter();
    let pods = list(pods).map(DedicatedPoolInput::Pods);
    pools.chain(nodes).chain(namespaces).chain(pods).for_each(|input| engine.handle(input, now()));
    engine.tick(now().mono);
    engine
}

fn pull(engine: &mut DedicatedPoolEngine) -> Vec<PoolEffect> {
    std::iter::from_fn(|| engine.next_effect(Lane::All, now())).collect()
}

/// The effects for pools and nodes, by words; none has a response.
fn first(pools: &[PoolFact], nodes: &[PoolNodeFact]) -> Vec<String> {
    let word = |effect: &PoolEffect| match effect {
        PoolEffect::AddFinalizer(pool) => Some(format!("finalizer on {}", pool.pool.name)),
        PoolEffect::RemoveFinalizer(pool) => Some(format!("no finalizer on {}", pool.pool.name)),
        PoolEffect::ReconcileNode { node, .. } => Some(format!("node {node}")),
        _ => None,
    };
    pull(&mut engine(pools, nodes)).iter().filter_map(word).collect()
}

fn leaving(mut fact: PoolFact) -> PoolFact {
    fact.pool.leaving = true;
    fact
}

/// A pool with another label and taint than those of [`pool`], so that it conflicts with none of them.
fn other(name: &str, nodes: &[&str]) -> PoolFact {
    let mut fact = prepared(name, nodes);
    fact.pool.taint.key = "other".into();
    fact.pool.label.as_mut().unwrap().key = "other".into();
    fact.pool.applied_marks = fact.pool.marks();
    fact
}

/// A pool without a record of a mark on any node may go, whatever other pools have to do; but not while a node has one of
/// its marks, with a record or without.
#[test]
fn a_deleted_pool_keeps_its_finalizer_while_a_node_has_a_mark() {
    let mut held = pool("a", &[]);
    held.finalizers = vec![FINALIZER.into()];
    let held = leaving(held);
    let marked = |mark: fn(&mut PoolNodeFact)| {
        let mut node = pool_node("n1");
        mark(&mut node);
        node
    };
    let none: fn(&mut PoolNodeFact) = |_| {};
    let removed = "no finalizer on a";
    for (mark, is_removed) in [
        (none, true),
        (|node| _ = node.node.labels.insert("dedicated".into(), "a".into()), false),
        (|node| node.node.taints.push(pool_taint("a")), false),
        (|node| *node = dedicated("n1", "a"), false),
        // Marks of others.
        (|node| _ = node.node.labels.insert("dedicated".into(), "x".into()), true),
        (|node| node.node.taints.push(pool_taint("x")), true),
        (|node| node.node.taints.push(taint_of("dedicated", "a", "NoExecute")), true),
        (|node| node.node.taints.push(taint_of("else", "a", "NoSchedule")), true),
    ] as [(fn(&mut PoolNodeFact), bool); 8]
    {
        let node = marked(mark);
        let effects = first(&[held.clone(), other("b", &["n1"])], std::slice::from_ref(&node));
        assert_eq!(effects.contains(&removed.to_owned()), is_removed, "{node:?}: {effects:?}");
        assert!(effects.contains(&"node n1".to_owned()), "b takes it: {effects:?}");
    }
    // The finalizer of another controller is not this one's.
    let mut foreign = held;
    foreign.finalizers = vec!["other/one".into()];
    assert_eq!(first(&[foreign], &[pool_node("n1")]), [""; 0]);
}

#[test]
fn only_a_valid_pool_that_stays_gets_the_finalizer() {
    let nodes = [pool_node("n1")];
    assert_eq!(first(&[pool("a", &["n1"])], &nodes), ["finalizer on a"]);
    let mut invalid = pool("a", &["n1"]);
    invalid.pool.taint.key = "not a key".into();
    assert_eq!(first(&[invalid], &nodes), [""; 0]);
    assert_eq!(first(&[leaving(pool("a", &["n1"]))], &nodes), [""; 0]);
    assert_eq!(first(&[prepared("a", &["n1"])], &nodes), ["node n1"]);
}

/// The patch of a node `n1`, which another client has changed since it was planned.
fn patch(pool: PoolFact, node: &PoolNodeFact) -> NodePatch {
    let mut engine = engine(&[pool], &[pool_node("n1"), dedicated("n2", "a")]);
    let plan = pull(&mut engine).into_iter().find_map(|effect| match effect {
        PoolEffect::ReconcileNode { plan, .. } => Some(plan),
        _ => None,
    });
    plan.expect("a node is written").desired_edits(&node.node)
}

/// The client compares the pool with the one that was decided by, but only if the node gets something for it.
#[test]
fn a_patch_names_its_pool_if_it_adds_something() {
    let member = || prepared("a", &["n1"]);
    let all = dedicated("n1", "a");
    let mut no_taint = all.clone();
    no_taint.node.taints.clear();
    let mut no_label = all.clone();
    no_label.node.labels.clear();
    let mut no_record = all.clone();
    no_record.node.record = None;
    for (node, adds) in [(&no_taint, [1, 0, 0]), (&no_label, [0, 1, 0]), (&no_record, [0, 0, 1])] {
        let NodePatch { edits, pool } = patch(member(), node);
        let writes = matches!(edits.record, Some(RecordEdit::Write(_)));
        let added = [edits.add_taints.len(), edits.add_labels.len(), usize::from(writes)];
        assert_eq!(added, adds, "{edits:?}");
        assert!(pool.is_some_and(|pool| *pool.pool.name == *"a"));
    }
    let settled = patch(member(), &all);
    assert!(settled.edits.is_empty() && settled.pool.is_none());
    // It leaves the pool: everything goes, for no pool.
    let mut elsewhere = all;
    elsewhere.node.name = "n3".into();
    let NodePatch { edits, pool } = patch(member(), &elsewhere);
    assert_eq!((edits.remove_taints.len(), edits.remove_labels.len(), pool.is_none()), (1, 1, true));
}

/// The node has to belong to this pool with all of its marks, and the pod to no pool that may be there.
#[test]
fn only_a_pod_that_certainly_does_not_belong_on_a_marked_node_is_unauthorized() {
    let (a, b) = (prepared("a", &["n1", "n3"]), other("b", &["n2"]));
    let mut engine = engine(&[a.clone(), b.clone()], &[dedicated("n1", "a"), pool_node("n3")]);
    let plan = pull(&mut engine).into_iter().find_map(|effect| match effect {
        PoolEffect::ReconcileNode { plan, .. } => Some(plan),
        _ => None,
    });
    let plan = plan.expect("n3 is written");
    let (own, stranger) = (resident("own", "red", "n1"), resident("p", "shop", "n1"));
    let (red, shop) = (namespace("red", "a"), namespace("shop", "none"));
    let judge = |pool: &PoolFact, node: &PoolNodeFact, is_own: bool| {
        let (pod, namespace) = if is_own { (&own, &red) } else { (&stranger, &shop) };
        let pod = pod.resident(Some(&namespace.labels));
        plan.is_unauthorized(pool, &node.node, &pod, &PoolExemptions::default())
    };
    assert!(judge(&a, &dedicated("n1", "a"), false));
    assert!(!judge(&a, &dedicated("n1", "a"), true), "its own pod");
    assert!(!judge(&a, &pool_node("n1"), false), "the node has no marks yet");
    assert!(!judge(&b, &dedicated("n1", "a"), false), "the node is another pool's");
    assert!(!judge(&a, &pool_node("open"), false), "the node is none's");
}

#[test]
fn pools_and_nodes_are_counted_by_what_happens_to_them() {
    let mut invalid = pool("c", &[]);
    invalid.pool.taint.key = "not a key".into();
    let mut renamed = pool("d", &[]);
    renamed.pool.taint = invalid.pool.taint.clone();
    let pools = [
        prepared("a", &["n1", "n2", "n3"]),
        // The pods of kube-system need a node outside of pools.
        other("b", &["open"]),
        invalid,
        renamed,
        leaving(prepared("e", &[])),
    ];
    let nodes = [dedicated("n1", "a"), pool_node("n2"), pool_node("n3")];
    let mut engine = engine(&pools, &nodes);
    let stats = engine.stats();
    assert_eq!((stats.applied, stats.frozen, stats.rejected, stats.leaving), (1, 1, 2, 1), "{stats:?}");
    assert_eq!((stats.nodes, stats.waiting, stats.undecodable), (1, 2, 0), "{stats:?}");
    assert_eq!(
        engine.take_notices(),
        [DedicatedPoolNotice::Synced { pools: 5, nodes: 4 }, DedicatedPoolNotice::NodesPlanned(2),]
    );
}

#[test]
fn a_node_is_explained_by_what_it_waits_for() {
    let engine = engine(&[prepared("a", &["n1", "n2"])], &[dedicated("n1", "a"), pool_node("n2")]);
    let explained = |name: &str| {
        let one = engine.explain(&NodeName::new(name))?;
        Some((one.pool.map(|pool| pool.pool.name.to_string()), one.edits.is_empty(), one.delayed_by))
    };
    let pool = Some("a".to_owned());
    assert_eq!(explained("n1"), Some((pool.clone(), true, None)));
    assert_eq!(explained("n2"), Some((pool.clone(), false, None)), "it is written now");
    assert_eq!(explained("open"), Some((None, true, None)));
    assert_eq!(explained("n9"), None);
    let unprepared = self::engine(&[self::pool("a", &["n2"])], &[pool_node("n2")]);
    let delay = unprepared.explain(&NodeName::new("n2")).unwrap().delayed_by;
    assert_eq!(delay, Some(PoolNodeDelay::PoolNotPrepared));
}

fn done(engine: &mut DedicatedPoolEngine, effect: PoolEffect, response: PoolResponse) {
    engine.handle(DedicatedPoolInput::EffectDone { effect, result: Ok(response) }, now());
    engine.tick(now().mono);
}

/// The response counts as a watch event does: the next write follows without one.
#[test]
fn a_written_pool_is_known_from_its_response() {
    let mut engine = engine(&[pool("a", &["n1"])], &[pool_node("n1")]);
    let mut effects = pull(&mut engine);
    let at = effects.iter().position(|effect| matches!(effect, PoolEffect::AddFinalizer(_))).unwrap();
    let add = effects.remove(at);
    let mut after = pool("a", &["n1"]);
    (after.finalizers, after.version) = (vec![FINALIZER.into()], Some(ResourceVersion(2)));
    done(&mut engine, add, PoolResponse::Pool(Some(Box::new(after))));
    engine.tick(Mono::from_secs(1));
    let later = Now::exact(Mono::from_secs(1), Wall::from_secs(1_800_000_001));
    let next = engine.next_effect(Lane::All, later);
    let Some(PoolEffect::UpdateStatus { pool, .. }) = next else { panic!("{next:?}") };
    assert_eq!(pool.version, Some(ResourceVersion(2)));
}

#[test]
fn an_evicted_pod_is_reported_and_not_evicted_again() {
    let mut engine = engine(&[prepared("a", &["n1"])], &[dedicated("n1", "a")]);
    let evictions = |effects: Vec<PoolEffect>| -> Vec<PoolEffect> {
        effects.into_iter().filter(|effect| matches!(effect, PoolEffect::EvictPod { .. })).collect()
    };
    let [evict] = &evictions(pull(&mut engine))[..] else { panic!("one pod is unauthorized") };
    engine.take_notices();
    done(&mut engine, evict.clone(), PoolResponse::Evicted);
    let notices = engine.take_notices();
    let [DedicatedPoolNotice::PodEvicted { pool, pod }] = &notices[..] else { panic!("{notices:?}") };
    assert_eq!((&**pool, pod.pod.as_str(), pod.node.as_str()), ("a", "shop/p", "n1"));
    assert_eq!(evictions(pull(&mut engine)).len(), 0, "it is still there");
}

/// The response to a write of the status, as the API server has it then.
fn with_status(effect: &PoolEffect) -> PoolResponse {
    let PoolEffect::UpdateStatus { pool, status, marks } = effect else { panic!("{effect:?}") };
    let mut after = (**pool).clone();
    (after.recorded, after.version) = (Some((**status).clone()), Some(ResourceVersion(2)));
    after.pool.applied_marks.clone_from(marks);
    PoolResponse::Pool(Some(Box::new(after)))
}

fn is_status(effect: &PoolEffect) -> bool {
    matches!(effect, PoolEffect::UpdateStatus { .. })
}

#[test]
fn a_pool_that_becomes_ready_for_another_reason_is_reported_once() {
    let mut engine = engine(&[prepared("a", &["n1", "n2"])], &[dedicated("n1", "a"), pool_node("n2")]);
    let effects = pull(&mut engine);
    engine.take_notices();
    let reasons = |engine: &mut DedicatedPoolEngine| -> Vec<(Option<String>, String)> {
        let reason = |notice| match notice {
            DedicatedPoolNotice::ReadyChanged { before, ready, .. } => {
                Some((before.map(|before| before.to_string()), ready.reason.to_string()))
            }
            _ => None,
        };
        engine.take_notices().into_iter().filter_map(reason).collect()
    };
    let status = effects.iter().find(|effect| is_status(effect)).cloned().expect("a status");
    let response = with_status(&status);
    done(&mut engine, status, response);
    assert_eq!(reasons(&mut engine), [(None, "Progressing".to_owned())]);
    let node = effects.into_iter().find(|effect| matches!(effect, PoolEffect::ReconcileNode { .. }));
    let fact = Box::new(PoolNodeFact { version: Some(ResourceVersion(2)), ..dedicated("n2", "a") });
    done(&mut engine, node.expect("n2"), PoolResponse::Node { fact, is_written: true });
    let mut at_second = |second: i64| {
        let now = Now::exact(Mono::from_secs(second), Wall::from_secs(1_800_000_000 + second));
        engine.tick(now.mono);
        let effects: Vec<PoolEffect> = std::iter::from_fn(|| engine.next_effect(Lane::All, now)).collect();
        let status = effects.into_iter().find(is_status)?;
        let response = with_status(&status);
        engine.handle(DedicatedPoolInput::EffectDone { effect: status, result: Ok(response) }, now);
        Some(reasons(&mut engine))
    };
    let changes: Vec<_> = (2..10).filter_map(&mut at_second).flatten().collect();
    assert_eq!(
        changes,
        [(Some("Progressing".to_owned()), "Applied".to_owned())],
        "with the same reason, nothing"
    );
}

/// The lane of first attempts leaves retries out.
#[test]
fn a_finalizer_that_was_not_added_is_retried_after_a_pause() {
    let mut engine = engine(&[pool("a", &["n1"])], &[pool_node("n1")]);
    let adds = |effect: &PoolEffect| matches!(effect, PoolEffect::AddFinalizer(_));
    let add = pull(&mut engine).into_iter().find(adds).expect("the finalizer");
    let failure = failed(ApiFailure::Forbidden);
    engine.handle(DedicatedPoolInput::EffectDone { effect: add, result: Err(failure) }, now());
    let tries = |engine: &DedicatedPoolEngine, lane, micros: i64| {
        let mut engine = engine.clone();
        let now = Now::exact(Mono::from_micros(micros), Wall::from_secs(1_800_000_000));
        engine.tick(now.mono);
        std::iter::from_fn(|| engine.next_effect(lane, now)).filter(adds).count()
    };
    assert_eq!(tries(&engine, Lane::All, 0), 0);
    let first = (0..1_000).map(|step| step * 1_000).find(|micros| tries(&engine, Lane::All, *micros) == 1);
    let first = first.expect("it is retried within a second");
    assert!(first >= 75_000, "after {first} microseconds");
    assert_eq!(tries(&engine, Lane::Fresh, first), 0);
    assert_eq!(tries(&engine, Lane::Fresh, first + 10_000_000), 0);
}

#[test]
fn a_pod_whose_eviction_was_throttled_waits_for_its_pause_whatever_changes() {
    let mut engine = engine(&[prepared("a", &["n1"])], &[dedicated("n1", "a")]);
    let is_eviction = |effect: &PoolEffect| matches!(effect, PoolEffect::EvictPod { .. });
    let evict = pull(&mut engine).into_iter().find(is_eviction).unwrap();
    let result = Err(failed(ApiFailure::Throttled(Some(Span::from_secs(20)))));
    engine.handle(DedicatedPoolInput::EffectDone { effect: evict, result }, now());
    let mut evictions = Vec::new();
    for second in 1..=25 {
        let at = Now::exact(Mono::from_secs(second), Wall::from_secs(1_800_000_000 + second));
        let fact = pool_node(&format!("new-{second}"));
        engine.handle(DedicatedPoolInput::Nodes(ObjectEvent::Applied { fact, listed: false }), at);
        engine.tick(at.mono);
        let effects = std::iter::from_fn(|| engine.next_effect(Lane::All, at));
        evictions.extend(effects.filter(is_eviction).map(|_| second));
    }
    assert_eq!(evictions, [20]);
}
