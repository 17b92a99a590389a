//! Tests which pools the guard contains when it is too large, rejected or gone.

use crate::dedicated_pools::api_server::PoolApiServer;
use crate::dedicated_pools::control_loop::{PoolLoop, RequestOutcomes};
use crate::dedicated_pools::objects::{pool, pool_node, prepared};
use taintward_core::api_error::ApiFailure;
use taintward_core::dedicated_pools::{GUARD_BUDGET, GUARD_MAX, PoolFact, PoolGuard};
use taintward_core::status_condition::StatusCondition;
use taintward_core::time::Span;

/// A pool of node NAME with users of so many bytes.
fn sized(name: &str, bytes: usize) -> PoolFact {
    let mut fact = prepared(name, &[name]);
    fact.pool.taint.key = format!("{name}/key").into();
    fact.pool.label.as_mut().unwrap().key = format!("{name}/label").into();
    fact.pool.applied_marks = fact.pool.marks();
    fact.pool.users.users = (0..bytes / 100).map(|at| format!("{at:097}").into()).collect();
    fact
}

fn server(pools: impl IntoIterator<Item = PoolFact>) -> PoolApiServer {
    let mut server = PoolApiServer::default();
    server.guard = Some(PoolGuard::default());
    server.guard_most = Some(GUARD_MAX);
    for fact in pools {
        server.put_node(pool_node(&fact.pool.name));
        server.put_pool(fact);
    }
    server.put_node(pool_node("open"));
    server
}

fn live<'r>(run: &'r PoolLoop, name: &str) -> &'r PoolFact {
    run.server.pools.values().find(|fact| *fact.pool.name == *name).unwrap()
}

/// Whether the guard has the pool, and the pool the label.
fn validity(run: &PoolLoop, name: &str) -> (bool, bool) {
    let fact = live(run, name);
    (run.server.is_guarded(&fact.uid), fact.has_guard_label)
}

fn guarded<'r>(run: &'r PoolLoop, name: &str) -> &'r StatusCondition {
    let recorded = live(run, name).recorded.as_ref().unwrap();
    recorded.conditions.iter().find(|one| *one.kind == *"Guarded").unwrap()
}

fn change(run: &mut PoolLoop, name: &str, edit: impl FnOnce(&mut PoolFact)) {
    let mut fact = live(run, name).clone();
    edit(&mut fact);
    fact.generation += 1;
    run.server.put_pool(fact);
}

fn millis(run: &mut PoolLoop, most: i64, until: impl Fn(&PoolLoop) -> bool) -> i64 {
    for passed in 0..most / 50 {
        if until(run) {
            return passed * 50;
        }
        run.run_for(Span::from_millis(50));
    }
    panic!("not within {most} ms");
}

/// 40 pools with 250 users of 212 characters each, and one that is older.
#[test]
fn the_largest_pools_are_left_out_and_changes_of_the_others_take_effect() {
    let many = (0..40).map(|at| sized(&format!("fill{at}"), 53_000));
    let mut run = PoolLoop::new(server([sized("victim", 100)].into_iter().chain(many)), 7);
    run.run_for(Span::from_secs(30));
    let all: Vec<String> = (0..40).map(|at| format!("fill{at}")).collect();
    let inside = all.iter().filter(|name| validity(&run, name) == (true, true)).count();
    let outside: Vec<&String> = all.iter().filter(|name| validity(&run, name) == (false, false)).collect();
    assert_eq!((inside, outside.len()), (19, 21));
    assert_eq!(validity(&run, "victim"), (true, true));
    let size = run.server.guard.as_ref().unwrap().encoded_len();
    assert!(size <= GUARD_BUDGET && size > GUARD_BUDGET - 60_000, "{size}");
    assert_eq!(run.server.guard.as_ref().unwrap().nodes.len(), 42, "all nodes are known");
    let reported = guarded(&run, outside[0]);
    assert_eq!((&*reported.status, &*reported.reason), ("False", "TooLarge"));
    assert_eq!((&*guarded(&run, "victim").status, run.engine.stats().unguarded), ("True", 21));
    change(&mut run, "victim", |fact| fact.pool.users.users.clear());
    let victim = live(&run, "victim").uid.clone();
    let revoked = |run: &PoolLoop| {
        let guard = run.server.guard.as_ref().unwrap();
        guard.pools.iter().any(|pool| pool.uid == victim && pool.users.users.is_empty())
    };
    let took = millis(&mut run, 1_000, revoked);
    assert!(took < 600, "{took} ms");
    assert_eq!(validity(&run, "victim"), (true, true));
    // There is room again.
    for name in &all[..25] {
        let gone = live(&run, name).uid.clone();
        change(&mut run, name, |fact| (fact.pool.leaving, fact.finalizers) = (true, Vec::new()));
        assert!(!run.server.pools.contains_key(&gone));
    }
    run.run_for(Span::from_secs(20));
    assert!(all[25..].iter().all(|name| validity(&run, name) == (true, true)));
    assert_eq!(run.engine.stats().unguarded, 0);
}

/// A pool that others push out stays in the guard for five seconds after its label is gone.
#[test]
fn a_pool_loses_its_label_before_it_is_left_out() {
    let large = (0..3).map(|at| sized(&format!("large{at}"), 300_000));
    let mut run = PoolLoop::new(server([sized("victim", 100)].into_iter().chain(large)), 7);
    run.run_for(Span::from_secs(20));
    assert!((0..3).all(|at| validity(&run, &format!("large{at}")) == (true, true)));
    for at in 0..4 {
        let fact = sized(&format!("new{at}"), 100_000);
        run.server.put_node(pool_node(&fact.pool.name));
        run.server.put_pool(fact);
    }
    change(&mut run, "victim", |fact| fact.pool.users.users.clear());
    let victim = live(&run, "victim").uid.clone();
    let revoked = |run: &PoolLoop| {
        let guard = run.server.guard.as_ref().unwrap();
        guard.pools.iter().any(|pool| pool.uid == victim && pool.users.users.is_empty())
    };
    assert!(millis(&mut run, 2_000, revoked) < 600, "a pool that is pushed out delays no change");
    let is_without = |run: &PoolLoop| (0..3).any(|at| validity(run, &format!("large{at}")) == (true, false));
    millis(&mut run, 2_000, is_without);
    let is_out = |run: &PoolLoop| (0..3).any(|at| validity(run, &format!("large{at}")) == (false, false));
    let took = millis(&mut run, 10_000, is_out);
    assert!((4_900..7_000).contains(&took), "{took} ms");
    run.run_for(Span::from_secs(20));
    assert!((0..4).all(|at| validity(&run, &format!("new{at}")) == (true, true)));
}

#[test]
fn if_the_guard_cannot_be_written_pools_that_differ_lose_their_label() {
    for failure in
        [ApiFailure::Forbidden, ApiFailure::Rejected, ApiFailure::Unavailable, ApiFailure::Conflict]
    {
        let mut run = PoolLoop::new(server([sized("victim", 100), sized("other", 100)]), 7);
        run.run_for(Span::from_secs(20));
        assert_eq!((validity(&run, "victim"), validity(&run, "other")), ((true, true), (true, true)));
        run.server.guard_rejection = Some(failure);
        change(&mut run, "victim", |fact| fact.pool.users.users.clear());
        let took = millis(&mut run, 7_000, |run| !live(run, "victim").has_guard_label);
        assert!((5_000..6_000).contains(&took), "{failure:?}: {took} ms");
        run.run_for(Span::from_secs(2));
        assert!(validity(&run, "other").1, "its copy is right");
        for name in ["victim", "other"] {
            let reported = guarded(&run, name);
            assert_eq!(
                (&*reported.status, &*reported.reason),
                ("False", "WriteFailed"),
                "{name}: {failure:?}"
            );
        }
        assert_eq!(run.engine.stats().unguarded, 2);
        run.server.guard_rejection = None;
        run.run_for(Span::from_secs(50));
        assert_eq!((validity(&run, "victim"), &*guarded(&run, "victim").status), ((true, true), "True"));
    }
}

/// A follower has not failed: when it leads, all pools keep their label.
#[test]
fn a_new_leader_removes_no_label() {
    let mut run = PoolLoop::new(server([sized("victim", 100)]), 7);
    run.run_for(Span::from_secs(20));
    (run.leading, run.server.guard_rejection) = (false, None);
    run.run_for(Span::from_secs(200));
    let writes = run.server.writes.len();
    run.leading = true;
    run.run_for(Span::from_secs(20));
    run.restart();
    run.run_for(Span::from_secs(20));
    assert_eq!(run.server.writes[writes..], [] as [&str; 0]);
}

#[test]
fn a_guard_that_is_gone_or_changed_is_noticed_within_seconds() {
    let mut run = PoolLoop::new(server([sized("victim", 100)]), 7);
    run.run_for(Span::from_secs(20));
    run.server.tamper(Some(PoolGuard::default()));
    run.tampered = true;
    assert!(millis(&mut run, 4_000, |run| validity(run, "victim").0) < 3_000);
    run.server.tamper(None);
    let took = millis(&mut run, 4_000, |run| !live(run, "victim").has_guard_label);
    assert!(took < 3_000, "{took} ms");
    run.run_for(Span::from_secs(2));
    assert_eq!(&*guarded(&run, "victim").reason, "NoPoolGuard");
    run.server.tamper(Some(PoolGuard::default()));
    run.run_for(Span::from_secs(70));
    assert_eq!(validity(&run, "victim"), (true, true));
}

/// However long the pauses of what failed before are.
#[test]
fn a_changed_guard_is_noticed_while_writes_fail_and_after_an_outage() {
    let mut run = PoolLoop::new(server([sized("victim", 100), sized("other", 100)]), 7);
    run.tampered = true;
    run.run_for(Span::from_secs(20));
    run.server.guard_rejection = Some(ApiFailure::Unavailable);
    change(&mut run, "other", |fact| fact.pool.users.users.clear());
    run.run_for(Span::from_secs(100));
    assert_eq!((validity(&run, "victim"), validity(&run, "other")), ((true, true), (true, false)));
    run.server.tamper(Some(PoolGuard::default()));
    let took = millis(&mut run, 4_000, |run| !live(run, "victim").has_guard_label);
    assert!(took < 3_000, "no write can put it back: {took} ms");
    run.server.guard_rejection = None;
    run.run_for(Span::from_secs(50));
    assert_eq!((validity(&run, "victim"), validity(&run, "other")), ((true, true), (true, true)));
    run.outcomes = RequestOutcomes::Forbidden;
    run.run_for(Span::from_secs(100));
    assert!(live(&run, "victim").has_guard_label, "its copy is right");
    run.outcomes = RequestOutcomes::Responded;
    run.server.tamper(Some(PoolGuard::default()));
    let is_out = |run: &PoolLoop| validity(run, "victim") != (false, true);
    let took = millis(&mut run, 4_000, is_out);
    assert!(took < 3_000, "the reads of its version have failed before: {took} ms");
}

/// The label goes first, however long the pause of a pool is.
#[test]
fn the_pause_of_a_pool_does_not_keep_its_label() {
    for seconds in 0..6 {
        let mut run = PoolLoop::new(server([sized("victim", 100)]), 7);
        run.run_for(Span::from_secs(20));
        run.outcomes = RequestOutcomes::Forbidden;
        change(&mut run, "victim", |fact| fact.finalizers.clear());
        run.run_for(Span::from_secs(100 + 5 * seconds));
        run.server.guard_rejection = Some(ApiFailure::Forbidden);
        change(&mut run, "victim", |fact| fact.pool.users.users.clear());
        run.run_for(Span::from_secs(40));
        run.outcomes = RequestOutcomes::Responded;
        let took = millis(&mut run, 4_000, |run| !live(run, "victim").has_guard_label);
        assert!(took < 3_000, "{took} ms");
    }
}

/// Until every API server knows by the pool's status that the node is the pool's, the node is unknown.
#[test]
fn a_node_that_joins_a_pool_that_is_left_out_is_unknown_at_first() {
    let mut run = PoolLoop::new(server([sized("large", 1_100_000), sized("victim", 100)]), 7);
    run.run_for(Span::from_secs(20));
    assert_eq!((validity(&run, "large"), validity(&run, "victim")), ((false, false), (true, true)));
    change(&mut run, "large", |fact| fact.pool.members.names.push("joins".into()));
    run.run_for(Span::from_secs(5));
    run.server.put_node(pool_node("joins"));
    let is_known = |run: &PoolLoop| run.server.guard.as_ref().unwrap().nodes.contains("joins");
    let is_named = |run: &PoolLoop| {
        let recorded = live(run, "large").recorded.as_ref().unwrap();
        recorded.status.members.iter().any(|name| **name == *"joins")
    };
    millis(&mut run, 3_000, is_named);
    assert!(!is_known(&run));
    let took = millis(&mut run, 10_000, is_known);
    assert!((4_900..7_000).contains(&took), "{took} ms");
}

#[test]
fn a_pool_without_room_for_nodes_leaves_the_guard_empty() {
    let mut server = server([pool("victim", &["victim"])]);
    for at in 0..9_000 {
        server.put_node(pool_node(&format!("{at:0120}")));
    }
    let mut run = PoolLoop::new(server, 7);
    run.run_for(Span::from_secs(20));
    assert_eq!(validity(&run, "victim"), (false, false));
    assert!(run.server.guard.as_ref().unwrap().nodes.is_empty());
    assert_eq!(&*guarded(&run, "victim").reason, "TooLarge");
}
