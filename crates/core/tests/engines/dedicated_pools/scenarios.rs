//! Tests single scenarios, each request in its order.

use crate::dedicated_pools::api_server::PoolApiServer;
use crate::dedicated_pools::control_loop::{PoolLoop, RequestOutcomes};
use crate::dedicated_pools::objects::{dedicated, pool, pool_node, pool_taint, prepared, resident};
use taintward_core::admission::pool::{DaemonSetPolicy, PoolEnforcement};
use taintward_core::dedicated_pools::{
    DedicatedPoolNotice, FINALIZER, PoolEffect, PoolFact, PoolGuard, PoolNodeDelay, PoolNodeFact,
    UnknownNodePolicy,
};
use taintward_core::engine::Engine;
use taintward_core::identity::NodeName;
use taintward_core::time::Span;

/// A server with these pools and nodes, one more node that stays open to all, and two namespaces.
fn server(pools: &[PoolFact], nodes: &[PoolNodeFact]) -> PoolApiServer {
    let mut server = PoolApiServer::default();
    server.guard = Some(PoolGuard::default());
    pools.iter().cloned().for_each(|fact| _ = server.put_pool(fact));
    nodes.iter().cloned().chain([pool_node("open")]).for_each(|fact| _ = server.put_node(fact));
    server.put_namespace("team", &[("team", "a")]);
    server.put_namespace("shop", &[]);
    server
}

fn after(seconds: i64, server: PoolApiServer) -> PoolLoop {
    let mut run = PoolLoop::new(server, 7);
    run.run_for(Span::from_secs(seconds));
    run
}

fn ready(run: &PoolLoop, name: &str) -> (String, String) {
    let fact = run.server.pools.values().find(|fact| *fact.pool.name == *name).unwrap();
    let ready = fact.ready_condition().unwrap();
    (ready.reason.to_string(), ready.message.to_string())
}

#[test]
fn a_pool_changes_no_node_before_it_has_the_finalizer_and_marks() {
    let mut held = pool("a", &["n1"]);
    held.finalizers = vec![FINALIZER.into()];
    let mut remembering = prepared("a", &["n1"]);
    remembering.finalizers.clear();
    let all: [(PoolFact, &[&str]); 4] = [
        (pool("a", &["n1"]), &["finalizer on a", "status of a", "node n1"]),
        (held, &["status of a", "node n1"]),
        (remembering, &["finalizer on a", "node n1"]),
        (prepared("a", &["n1"]), &["node n1"]),
    ];
    for (fact, expected) in all {
        let run = after(60, server(&[fact], &[pool_node("n1"), pool_node("n2")]));
        let mut writes = run.server.writes.iter().map(String::as_str);
        assert!(expected.iter().all(|one| writes.any(|write| write == *one)), "{:?}", run.server.writes);
        let is_node = |write: &&String| write.starts_with("node");
        assert_eq!(run.server.writes.iter().filter(is_node).collect::<Vec<_>>(), ["node n1"]);
        assert_eq!(run.server.nodes["n1"].node, dedicated("n1", "a").node);
        assert_eq!(ready(&run, "a").0, "Applied");
        assert_eq!((run.engine.stats().applied, run.engine.stats().nodes), (1, 1));
    }
}

#[test]
fn a_new_taint_is_recorded_before_it_is_added_and_the_old_one_forgotten_after_its_removal() {
    let mut changed = prepared("a", &["n1"]);
    changed.pool.taint.value = "b".into();
    changed.pool.label.as_mut().unwrap().value = "b".into();
    let mut run = PoolLoop::new(server(&[changed.clone()], &[dedicated("n1", "a")]), 7);
    run.run_for(Span::from_millis(60));
    let Some(PoolEffect::UpdateStatus { marks, .. }) = run.pulled.first() else { panic!("{:?}", run.pulled) };
    assert_eq!(marks.len(), 4, "the marks it adds now, and those still on nodes: {marks:?}");
    run.run_for(Span::from_secs(60));
    assert_eq!(run.server.nodes["n1"].node.taints, [pool_taint("b")]);
    assert_eq!(run.server.pools[&changed.uid].pool.applied_marks, changed.pool.marks());
    assert!(run.server.writes.contains(&"pruned status of a".to_owned()));
}

#[test]
fn a_deleted_pool_releases_its_nodes_and_is_removed() {
    let mut leaving = prepared("a", &["n1"]);
    leaving.finalizers = vec![FINALIZER.into()];
    leaving.pool.leaving = true;
    let run = after(60, server(&[leaving], &[dedicated("n1", "a"), pool_node("n2")]));
    assert_eq!(run.server.nodes["n1"].node, pool_node("n1").node);
    assert!(run.server.pools.is_empty());
    assert!(run.notices.contains(&DedicatedPoolNotice::PoolGone { pool: "a".into() }), "{:?}", run.notices);
}

#[test]
fn a_pool_that_cannot_be_decoded_for_a_moment_gets_one_status_a_second() {
    let fact = prepared("a", &["n1"]);
    let uid = fact.uid.clone();
    let mut run = PoolLoop::new(server(&[fact], &[dedicated("n1", "a")]), 7);
    let statuses = |run: &PoolLoop| run.server.writes.iter().filter(|write| *write == "status of a").count();
    run.run_for(Span::from_millis(100));
    assert_eq!(statuses(&run), 1, "{:?}", run.server.writes);
    run.server.undecodable.push(uid.clone());
    let fact = run.server.pools[&uid].clone();
    run.server.put_pool(fact.clone());
    run.run_for(Span::from_millis(300));
    assert_eq!((run.engine.stats().undecodable, run.engine.stats().applied), (1, 0), "no plan contains it");
    run.server.undecodable.clear();
    run.server.put_pool(PoolFact { generation: fact.generation + 1, ..fact });
    run.run_for(Span::from_millis(500));
    assert_eq!((run.engine.stats().applied, statuses(&run)), (1, 1), "{:?}", run.server.writes);
    run.run_for(Span::from_millis(300));
    assert_eq!(statuses(&run), 2, "{:?}", run.server.writes);
}

#[test]
fn d11_nodes_of_an_undecodable_or_unknown_pool_stay() {
    let (odd, mut other) = (prepared("odd", &["n1"]), prepared("b", &["n1"]));
    // The two pools do not conflict.
    other.pool.taint.key = "other".into();
    other.pool.label.as_mut().unwrap().key = "other".into();
    other.pool.applied_marks = other.pool.marks();
    let uid = odd.uid.clone();
    let mut server = server(&[odd, other], &[dedicated("n1", "odd")]);
    server.undecodable.push(uid);
    let run = after(60, server);
    assert_eq!(
        run.server.nodes["n1"].node,
        dedicated("n1", "odd").node,
        "the other pool does not take it over"
    );
    assert_eq!(run.engine.stats().undecodable, 1);
    let explained = run.engine.explain(&NodeName::new("n1")).unwrap();
    assert_eq!(explained.delayed_by, Some(PoolNodeDelay::PoolNotKnown), "{explained:?}");
    // Removed by force: its record stays, unless another pool takes the node.
    let run = after(60, self::server(&[prepared("b", &["n9"])], &[dedicated("n1", "odd")]));
    assert_eq!(run.server.nodes["n1"].node, dedicated("n1", "odd").node);
}

/// A kubelet may write the annotations of its node.
#[test]
fn a_node_that_is_taken_out_of_a_pool_loses_its_marks_whatever_its_record_says() {
    for record in
        ["{}", "", "a", "ghost", "ghost label:dedicated=ghost", "ghost taint:dedicated=a:NoSchedule"]
    {
        let mut run =
            PoolLoop::new(server(&[prepared("a", &["n1", "n2"])], &[pool_node("n1"), pool_node("n2")]), 7);
        run.run_for(Span::from_secs(10));
        assert_eq!(run.server.nodes["n2"].node, dedicated("n2", "a").node);
        let mut forged = run.server.nodes["n2"].clone();
        forged.node.record = Some(record.into());
        run.server.put_node(forged);
        let mut pool = run.server.pools[&prepared("a", &[]).uid].clone();
        pool.pool.members.names = vec!["n1".into()];
        pool.generation += 1;
        run.server.put_pool(pool);
        run.run_for(Span::from_secs(5));
        let left = &run.server.nodes["n2"].node;
        assert_eq!((&left.labels, &left.taints), (&pool_node("n2").node.labels, &Vec::new()), "{record}");
        assert_eq!(run.server.nodes["n1"].node, dedicated("n1", "a").node);
    }
    // Without a record, too; only what is not a pool's own stays.
    let mut foreign = pool_node("n2");
    foreign.node.taints = vec![pool_taint("a"), pool_taint("other")];
    let run = after(10, server(&[prepared("a", &["n1"])], &[pool_node("n1"), foreign]));
    assert_eq!(run.server.nodes["n2"].node.taints, [pool_taint("other")]);
}

#[test]
fn a_pool_is_ready_when_its_nodes_are_written() {
    let mut server = server(&[prepared("a", &["n1", "n2"])], &[dedicated("n1", "a"), pool_node("n2")]);
    for (name, namespace, node) in
        [("own", "team", "n1"), ("astray", "team", "open"), ("other", "shop", "n1"), ("far", "shop", "open")]
    {
        server.put_pod(resident(name, namespace, node));
    }
    let mut run = PoolLoop::new(server, 7);
    run.run_for(Span::from_millis(60));
    let Some(PoolEffect::UpdateStatus { status, .. }) = run.pulled.first() else {
        panic!("{:?}", run.pulled)
    };
    let ready_then = status.conditions.iter().find(|one| *one.kind == *"Ready").unwrap();
    assert_eq!((&*ready_then.reason, &*ready_then.message), ("PodsElsewhere", &*ready_then.message));
    let counts = &status.status;
    assert_eq!(
        (counts.nodes, counts.pods, counts.elsewhere, counts.violations),
        (1, 1, 1, 1),
        "n2 is not written"
    );
    assert_eq!(counts.members, ["n1".into(), "n2".into()]);
    run.server.remove_pod(resident("astray", "team", "open").id.uid());
    run.run_for(Span::from_secs(30));
    assert_eq!(ready(&run, "a").0, "Applied");
    let evictions: Vec<&String> =
        run.server.writes.iter().filter(|write| write.starts_with("eviction")).collect();
    assert_eq!(evictions, ["eviction of shop/other"], "its own pod stays, and so does one on another node");
}

#[test]
fn a_status_says_why_nodes_are_not_written_yet() {
    let mut run = PoolLoop::new(server(&[prepared("a", &["n1"])], &[pool_node("n1")]), 7);
    run.run_for(Span::from_millis(25));
    run.outcomes = RequestOutcomes::Forbidden;
    run.run_for(Span::from_secs(5));
    assert_eq!(run.engine.stats().retrying, 1);
    let explained = run.engine.explain(&NodeName::new("n1")).unwrap();
    assert_eq!(
        (explained.pool.map(|pool| &*pool.pool.name), explained.edits.add_taints.len()),
        (Some("a"), 1)
    );
    let Some(PoolNodeDelay::Retry { at, message }) = explained.delayed_by else { panic!("{explained:?}") };
    assert!(at > run.now && message == Some("Forbidden"));
    // From now on only writes of nodes are refused.
    run.outcomes = RequestOutcomes::Responded;
    run.run_for(Span::from_secs(60));
    assert_eq!(ready(&run, "a").0, "Applied");
    let messages = run.pulled.iter().filter_map(|effect| match effect {
        PoolEffect::UpdateStatus { status, .. } => {
            status.conditions.first().map(|one| one.message.to_string())
        }
        _ => None,
    });
    let messages: Vec<String> = messages.collect();
    assert!(
        messages.contains(&"the controller has yet to write 1 node: Forbidden".to_owned()),
        "{messages:?}"
    );
}

#[test]
fn a_follower_pulls_nothing_and_finds_all_due_effects_when_it_leads() {
    let mut run = PoolLoop::new(server(&[pool("a", &["n1"])], &[pool_node("n1")]), 7);
    run.leading = false;
    run.run_for(Span::from_secs(300));
    assert!(run.server.writes.is_empty() && run.pulled.is_empty());
    let explained = run.engine.explain(&NodeName::new("n1")).unwrap();
    assert_eq!(explained.delayed_by, Some(PoolNodeDelay::PoolNotPrepared));
    run.leading = true;
    run.run_for(Span::from_secs(10));
    assert_eq!(run.server.nodes["n1"].node, dedicated("n1", "a").node);
}

#[test]
fn a_known_node_and_its_pool_are_in_one_write() {
    let mut run = PoolLoop::new(server(&[prepared("a", &["n1"])], &[pool_node("n1"), pool_node("n2")]), 7);
    run.run_for(Span::from_millis(60));
    let guard = run.server.guard.clone().unwrap();
    let names = |names: &[&str]| names.iter().map(|&name| name.into()).collect();
    assert_eq!((guard.nodes, guard.unknown), (names(&["n1", "n2", "open"]), UnknownNodePolicy::Deny));
    let [pool] = &guard.pools[..] else { panic!("{:?}", guard.pools) };
    assert_eq!((&*pool.name, pool.denial_if_unjudged, &pool.members), ("a", true, &names(&["n1"])));
    // If no pool denies other pods, unknown nodes are open, and no names are needed.
    let mut idle = prepared("a", &["n1"]);
    idle.pool.enforcement = PoolEnforcement::Warn;
    let guard = after(10, server(&[idle], &[pool_node("n1")])).server.guard.unwrap();
    assert_eq!((guard.nodes.len(), guard.unknown), (0, UnknownNodePolicy::Allow));
    assert!(guard.pools.len() == 1 && !guard.pools[0].denial_if_unjudged);
    let mut daemons = prepared("a", &["n1"]);
    daemons.pool.daemon_sets = DaemonSetPolicy::Allow;
    let guard = after(10, server(&[daemons.clone()], &[pool_node("n1")])).server.guard.unwrap();
    assert_eq!(guard.unknown, UnknownNodePolicy::AllowDaemonSets);
    let guard = after(10, server(&[daemons, prepared("b", &["n2"])], &[pool_node("n1"), pool_node("n2")]))
        .server
        .guard;
    assert_eq!(guard.unwrap().unknown, UnknownNodePolicy::Deny, "one of them allows no DaemonSets");
}

#[test]
fn a_pool_has_the_label_while_the_guard_contains_it() {
    let mut run = PoolLoop::new(server(&[prepared("a", &["n1"])], &[pool_node("n1")]), 7);
    let uid = prepared("a", &[]).uid;
    let labelled = |run: &PoolLoop| run.server.pools[&uid].has_guard_label;
    run.run_for(Span::from_secs(5));
    assert!(run.server.is_guarded(&uid) && !labelled(&run), "an API server may not have observed it");
    run.run_for(Span::from_millis(200));
    assert!(labelled(&run));
    // Any client may have changed it: it is checked and written again.
    run.server.tamper(Some(PoolGuard::default()));
    run.run_for(Span::from_secs(61));
    assert!(run.server.is_guarded(&uid) && labelled(&run));
    run.server.tamper(None);
    run.run_for(Span::from_secs(61));
    assert!(!labelled(&run), "no guard contains it");
    run.server.guard = Some(PoolGuard::default());
    for _ in 0..610 {
        run.run_for(Span::from_millis(if run.server.is_guarded(&uid) { 0 } else { 100 }));
    }
    assert!(run.server.is_guarded(&uid) && !labelled(&run));
    run.run_for(Span::from_secs(6));
    assert!(labelled(&run));
    // A pool that was created with the label, and that the guard does not contain, loses it until it is contained.
    let mut copy = prepared("b", &["n1"]);
    copy.has_guard_label = true;
    let copied = copy.uid.clone();
    run.server.exposed.insert(copied.clone());
    run.server.put_pool(copy);
    run.run_for(Span::from_secs(2));
    assert!(run.server.is_guarded(&copied) && !run.server.pools[&copied].has_guard_label);
    run.run_for(Span::from_secs(10));
    assert!(run.server.pools[&copied].has_guard_label);
}

#[test]
fn an_undecodable_pool_stays_in_the_guard_and_a_deleted_one_does_not() {
    let (odd, gone) = (prepared("a", &["n1"]), prepared("b", &["n2"]));
    let mut run = PoolLoop::new(server(&[odd.clone(), gone.clone()], &[pool_node("n1"), pool_node("n2")]), 7);
    run.run_for(Span::from_secs(10));
    run.server.undecodable.push(odd.uid.clone());
    let live = run.server.pools[&odd.uid].clone();
    run.server.put_pool(live);
    let mut leaving = run.server.pools[&gone.uid].clone();
    (leaving.pool.leaving, leaving.finalizers) = (true, Vec::new());
    run.server.put_pool(leaving);
    run.run_for(Span::from_secs(70));
    assert!(run.server.is_guarded(&odd.uid) && !run.server.is_guarded(&gone.uid));
    assert!(run.server.pools[&odd.uid].has_guard_label);
}

#[test]
fn without_the_definition_nothing_is_done() {
    let mut run = PoolLoop::new(server(&[pool("a", &["n1"])], &[pool_node("n1")]), 7);
    let now = run.time();
    run.engine.handle(taintward_core::dedicated_pools::DedicatedPoolInput::DefinitionAbsent(true), now);
    run.run_for(Span::from_secs(30));
    assert!(run.pulled.is_empty() && run.engine.is_synced());
}
