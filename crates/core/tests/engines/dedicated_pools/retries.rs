//! Tests the pauses after failed effects.

use crate::dedicated_pools::api_server::{exemptions, failed, list};
use crate::dedicated_pools::objects::{pool_node, prepared, resident};
use taintward_core::api_error::ApiFailure;
use taintward_core::dedicated_pools::{
    DedicatedPoolConfig, DedicatedPoolEngine, DedicatedPoolInput, PoolEffect, PoolFact, PoolGuardWrite,
    PoolResponse,
};
use taintward_core::engine::{Engine, Lane};
use taintward_core::identity::ResourceVersion;
use taintward_core::object_event::ObjectEvent;
use taintward_core::time::{Mono, Now, Span, Wall};

fn at(micros: i64) -> Now {
    Now::exact(Mono::from_micros(micros), Wall::from_secs(1_800_000_000))
}

/// An engine that has listed everything, at 0.
fn engine(nodes: usize) -> DedicatedPoolEngine {
    let names: Vec<String> = (0..nodes).map(|at| format!("n{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut engine = DedicatedPoolEngine::new(DedicatedPoolConfig {
        exemptions: exemptions(),
        longest_request: Span::from_secs(5),
    });
    let pools =
        list([prepared("a", &names)].into_iter()).map(|event| DedicatedPoolInput::Pools(Box::new(event)));
    let nodes = list(names.iter().copied().chain(["open"]).map(pool_node)).map(DedicatedPoolInput::Nodes);
    let namespaces = list(std::iter::empty()).map(DedicatedPoolInput::Namespaces);
    let pods = list([resident("p", "shop", "open")].into_iter()).map(DedicatedPoolInput::Pods);
    pools.chain(nodes).chain(namespaces).chain(pods).for_each(|input| engine.handle(input, at(0)));
    engine.tick(Mono::from_micros(0));
    engine
}

fn next_node(engine: &mut DedicatedPoolEngine, lane: Lane, now: Now) -> Option<PoolEffect> {
    engine.tick(now.mono);
    std::iter::from_fn(|| engine.next_effect(lane, now))
        .find(|effect| matches!(effect, PoolEffect::ReconcileNode { .. }))
}

fn fail(engine: &mut DedicatedPoolEngine, effect: PoolEffect, failure: ApiFailure, now: Now) {
    engine.handle(DedicatedPoolInput::EffectDone { effect, result: Err(failed(failure)) }, now);
}

/// The pauses, in seconds, of a node that fails this often.
fn pauses(failure: ApiFailure, times: usize) -> Vec<f64> {
    let (mut engine, mut now) = (engine(1), 0);
    let mut pauses = Vec::new();
    for _ in 0..times {
        let effect = next_node(&mut engine, Lane::All, at(now)).expect("it is due");
        fail(&mut engine, effect, failure, at(now));
        let failed_at = now;
        loop {
            assert!(next_node(&mut engine, Lane::Fresh, at(now)).is_none(), "it is not a first attempt");
            let wakeup = engine.next_wakeup().expect("it is retried").as_micros();
            assert!(next_node(&mut engine, Lane::All, at(wakeup - 1)).is_none(), "not before it is due");
            now = wakeup;
            let mut copy = engine.clone();
            if next_node(&mut copy, Lane::All, at(now)).is_some() {
                break;
            }
            engine.tick(Mono::from_micros(now));
        }
        pauses.push((now - failed_at) as f64 / 1e6);
    }
    pauses
}

#[test]
fn pauses_grow_to_the_maximum_and_retries_never_end() {
    for failure in [ApiFailure::Unavailable, ApiFailure::Conflict, ApiFailure::Forbidden] {
        let pauses = pauses(failure, 30);
        assert!((0.075..0.126).contains(&pauses[0]), "{pauses:?}");
        assert!(pauses.iter().all(|pause| *pause < 37.5) && *pauses.last().unwrap() >= 22.5, "{pauses:?}");
        assert!(pauses.windows(2).all(|two| two[1] > two[0] || two[1] >= 22.5), "{pauses:?}");
    }
    let requested = pauses(ApiFailure::Throttled(Some(Span::from_secs(9))), 1);
    assert!(requested[0] >= 9.0, "the server's Retry-After: {requested:?}");
}

#[test]
fn a_watch_event_ends_the_pause_only_after_a_conflict() {
    for (failure, waits) in [(ApiFailure::Conflict, false), (ApiFailure::Forbidden, true)] {
        let mut engine = engine(1);
        let effect = next_node(&mut engine, Lane::All, at(0)).unwrap();
        fail(&mut engine, effect, failure, at(0));
        assert!(next_node(&mut engine, Lane::All, at(0)).is_none());
        let event = ObjectEvent::Applied { fact: pool_node("n0"), listed: false };
        engine.handle(DedicatedPoolInput::Nodes(event), at(0));
        assert_eq!(next_node(&mut engine, Lane::All, at(0)).is_none(), waits, "{failure:?}");
    }
}

#[test]
fn in_flight_limits_are_kept() {
    let mut engine = engine(20);
    let all: Vec<PoolEffect> = std::iter::from_fn(|| engine.next_effect(Lane::All, at(0))).collect();
    let nodes = all.iter().filter(|effect| matches!(effect, PoolEffect::ReconcileNode { .. })).count();
    assert_eq!((all.len(), nodes), (10, 8), "the pool's status, eight nodes and the guard");
    let keys: std::collections::BTreeSet<_> = all.iter().map(PoolEffect::key).collect();
    assert_eq!(keys.len(), all.len(), "one for each object");
}

#[test]
fn a_response_to_an_effect_of_an_older_plan_does_not_settle_a_node() {
    for is_newer in [false, true] {
        let mut engine = engine(1);
        let effect = next_node(&mut engine, Lane::All, at(0)).unwrap();
        if is_newer {
            let fact =
                PoolFact { generation: 2, version: Some(ResourceVersion(2)), ..prepared("a", &["n0"]) };
            let event = ObjectEvent::Applied { fact, listed: false };
            engine.handle(DedicatedPoolInput::Pools(Box::new(event)), at(0));
        }
        let later = at(1_000_000);
        engine.tick(later.mono);
        assert!(next_node(&mut engine, Lane::All, later).is_none(), "one at a time");
        let result = Ok(PoolResponse::Node { fact: Box::new(pool_node("n0")), is_written: false });
        engine.handle(DedicatedPoolInput::EffectDone { effect, result }, later);
        assert_eq!(next_node(&mut engine, Lane::All, later).is_some(), is_newer);
    }
}

/// Pulls everything in steps of 100 ms until an effect is wanted. What waits for a status, or for the guard, succeeds; the
/// others stay in flight.
fn next_wanted(
    engine: &mut DedicatedPoolEngine,
    (from, to): (i64, i64),
    is_wanted: impl Fn(&PoolEffect) -> bool,
) -> Option<(i64, PoolEffect)> {
    let version = Some(ResourceVersion(1));
    for micros in (from..to).step_by(100_000) {
        engine.tick(at(micros).mono);
        while let Some(effect) = engine.next_effect(Lane::All, at(micros)) {
            if is_wanted(&effect) {
                return Some((micros, effect));
            }
            let response = match &effect {
                PoolEffect::UpdateStatus { pool, status, marks } => {
                    let mut after = pool.clone();
                    after.recorded = Some((**status).clone());
                    after.pool.applied_marks.clone_from(marks);
                    PoolResponse::Pool(Some(after))
                }
                PoolEffect::WriteGuard(guard) => {
                    let added = guard.pools.iter().map(|pool| pool.uid.clone()).collect();
                    PoolResponse::Guard(Some(PoolGuardWrite { added, version }))
                }
                PoolEffect::ProbeGuard => PoolResponse::GuardVersion(version),
                _ => continue,
            };
            engine.handle(DedicatedPoolInput::EffectDone { effect, result: Ok(response) }, at(micros));
        }
    }
    None
}

/// The API server may still carry out a write of a node whose response was lost: until it cannot, a pool that is being
/// deleted keeps its finalizer.
#[test]
fn a_deleted_pool_stays_while_a_write_of_a_node_may_be_carried_out() {
    for (failure, seconds) in [(ApiFailure::Unavailable, 5), (ApiFailure::Rejected, 0)] {
        let mut engine = engine(1);
        let is_node = |effect: &PoolEffect| matches!(effect, PoolEffect::ReconcileNode { .. });
        let (_, write) = next_wanted(&mut engine, (0, 100_000), is_node).expect("the node is written");
        let mut fact = PoolFact { version: Some(ResourceVersion(2)), ..prepared("a", &["n0"]) };
        fact.pool.leaving = true;
        let event = ObjectEvent::Applied { fact, listed: false };
        engine.handle(DedicatedPoolInput::Pools(Box::new(event)), at(100_000));
        let is_removal = |effect: &PoolEffect| matches!(effect, PoolEffect::RemoveFinalizer(_));
        let early = next_wanted(&mut engine, (100_000, 2_000_000), is_removal);
        assert!(early.is_none(), "the write is in flight: {early:?}");
        fail(&mut engine, write, failure, at(2_000_000));
        let (removed, _) = next_wanted(&mut engine, (2_000_000, 12_000_000), is_removal).expect("it ends");
        let allowed = 2_000_000 + seconds * 1_000_000;
        assert!((allowed..allowed + 1_500_000).contains(&removed), "{failure:?}: {removed}");
    }
}

/// A live read does not find the pool in the guard: the guard is written again immediately, and not only after a minute.
#[test]
fn a_pool_that_may_not_rely_on_the_guard_yet_makes_it_be_written_again() {
    for is_rejected in [true, false] {
        let mut engine = engine(1);
        let is_label = |effect: &PoolEffect| matches!(effect, PoolEffect::AddGuardLabel(_));
        let (micros, effect) = next_wanted(&mut engine, (0, 20_000_000), is_label).expect("the label");
        let PoolEffect::AddGuardLabel(pool) = &effect else { panic!("{effect:?}") };
        let after = PoolFact { has_guard_label: true, ..(**pool).clone() };
        let result = match is_rejected {
            true => Err(failed(ApiFailure::Conflict)),
            false => Ok(PoolResponse::Pool(Some(Box::new(after)))),
        };
        engine.handle(DedicatedPoolInput::EffectDone { effect, result }, at(micros));
        let is_guard = |effect: &PoolEffect| matches!(effect, PoolEffect::WriteGuard(_));
        let again = next_wanted(&mut engine, (micros, micros + 2_000_000), is_guard);
        assert_eq!(again.is_some(), is_rejected, "{again:?}");
    }
}
