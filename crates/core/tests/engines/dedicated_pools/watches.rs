//! Tests which watches are needed, and how often everything is reconciled.

use crate::dedicated_pools::api_server::{PoolApiServer, exemptions, list};
use crate::dedicated_pools::control_loop::PoolLoop;
use crate::dedicated_pools::objects::{pool, pool_node, prepared, resident};
use taintward_core::dedicated_pools::{
    DedicatedPoolConfig, DedicatedPoolEngine, DedicatedPoolInput, DedicatedPoolNotice,
};
use taintward_core::engine::Engine;
use taintward_core::object_event::ObjectEvent;
use taintward_core::time::{Mono, Now, Span, Wall};

fn at(seconds: i64) -> Now {
    Now::exact(Mono::from_secs(seconds), Wall::from_secs(1_800_000_000))
}

fn engine() -> DedicatedPoolEngine {
    DedicatedPoolEngine::new(DedicatedPoolConfig {
        exemptions: exemptions(),
        ..DedicatedPoolConfig::default()
    })
}

fn needs_others(engine: &mut DedicatedPoolEngine, seconds: i64) -> bool {
    engine.tick(Mono::from_secs(seconds));
    engine.needs_other_watches()
}

fn pools(engine: &mut DedicatedPoolEngine, names: &[&str], seconds: i64) {
    for event in list(names.iter().map(|name| pool(name, &["n1"]))) {
        engine.handle(DedicatedPoolInput::Pools(Box::new(event)), at(seconds));
    }
}

#[test]
fn watches_are_needed_until_it_is_known_that_there_are_no_pools_and_a_while_after_the_last() {
    let mut none = engine();
    assert!(needs_others(&mut none, 0) && needs_others(&mut none, 1), "the first list may be needed");
    pools(&mut none, &[], 2);
    assert!(!needs_others(&mut none, 2), "immediately: no watch was ever needed");
    pools(&mut none, &["a"], 100);
    assert!(needs_others(&mut none, 100));
    assert!(needs_others(&mut none, 159));
    pools(&mut none, &[], 159);
    assert!(needs_others(&mut none, 218));
    assert_eq!(none.next_wakeup(), Some(Mono::from_secs(219)));
    assert!(!needs_others(&mut none, 219));
    // It is unknown whether there are pools: what they would need is not kept indefinitely.
    let mut unknown = engine();
    assert!(
        needs_others(&mut unknown, 0) && needs_others(&mut unknown, 59) && !needs_others(&mut unknown, 60)
    );
}

#[test]
fn without_a_pool_nothing_is_stored_and_an_incomplete_list_does_not_count() {
    let mut server = PoolApiServer::default();
    server.put_pool(prepared("a", &["n1"]));
    [pool_node("n1"), pool_node("open")].into_iter().for_each(|fact| _ = server.put_node(fact));
    server.put_namespace("shop", &[]);
    server.put_pod(resident("p", "shop", "n1"));
    let mut run = PoolLoop::new(server, 7);
    run.run_for(Span::from_secs(10));
    assert_eq!((run.engine.stats().nodes, run.engine.is_synced()), (1, true));
    run.server.pools.clear();
    run.server.list_all(true);
    run.run_for(Span::from_secs(62));
    assert!(!run.engine.needs_other_watches() && run.engine.is_synced());
    let now = run.time();
    // The end of a list whose beginning was forgotten.
    run.engine
        .handle(DedicatedPoolInput::Nodes(ObjectEvent::Applied { fact: pool_node("n1"), listed: true }), now);
    run.engine.handle(DedicatedPoolInput::Nodes(ObjectEvent::ListCompleted), now);
    for event in list([pool("a", &["n1"])].into_iter()) {
        run.engine.handle(DedicatedPoolInput::Pools(Box::new(event)), now);
    }
    assert!(!run.engine.is_synced());
}

#[test]
fn everything_is_reconciled_at_most_five_times_a_second_and_a_fifth_of_the_time() {
    for (took, pause) in [(1_000, 200_000), (100_000, 400_000)] {
        let mut engine = engine();
        pools(&mut engine, &["a"], 0);
        let others = list([pool_node("n1"), pool_node("n2")].into_iter()).map(DedicatedPoolInput::Nodes);
        let others = others.chain(list(std::iter::empty()).map(DedicatedPoolInput::Namespaces));
        let others = others.chain(list(std::iter::empty()).map(DedicatedPoolInput::Pods));
        others.for_each(|input| engine.handle(input, at(0)));
        engine.tick(Mono::from_secs(0));
        engine.handle(DedicatedPoolInput::TickTook(Span::from_micros(took)), at(0));
        assert!(matches!(engine.take_notices()[..], [DedicatedPoolNotice::Synced { pools: 1, nodes: 2 }]));
        pools(&mut engine, &["a", "b"], 0);
        assert_eq!(engine.stats().applied, 1);
        let due = took + pause;
        engine.tick(Mono::from_micros(due - 1));
        assert_eq!(engine.stats().applied + engine.stats().frozen + engine.stats().rejected, 1, "not before");
        engine.handle(DedicatedPoolInput::TickTook(Span::from_secs(9)), at(0));
        engine.tick(Mono::from_micros(due));
        assert_eq!(engine.stats().applied + engine.stats().frozen + engine.stats().rejected, 2, "then");
    }
}
