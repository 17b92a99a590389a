//! Tests the time budgets of the engines: absolute in release builds, relative to a baseline of the same run otherwise.
//!
//! - See `memory.rs` for memory.

mod common;
#[path = "common/leases.rs"]
mod leases;

use common::crowd::{self, KEY, now};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::hint::black_box;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use taintward_core::cluster_snapshot::{BudgetStatus, DisruptionBudget, DisruptionLimit, IntOrPercent};
use taintward_core::engine::{Engine, Lane};
use taintward_core::eviction::{EvictionConfig, EvictionEffect, EvictionEngine, EvictionInput};
use taintward_core::eviction_policy::{
    BudgetFact, BudgetRespect, EvictionPolicy, EvictionPolicyFact, RecordedPolicyStatus, SelectedTaint,
};
use taintward_core::fact::{NodeFact, PodFact};
use taintward_core::identity::{PodId, PodName, ResourceVersion, Uid};
use taintward_core::object_event::ObjectEvent;
use taintward_core::scheduling::Labels;
use taintward_core::testkit::toleration;
use taintward_core::time::{Now, Span};

/// One measurement at a time.
static ALONE: Mutex<()> = Mutex::new(());

const RELEASE: bool = !cfg!(debug_assertions);

fn shortest(times: usize, mut what: impl FnMut() -> Duration) -> Duration {
    (0..times).map(|_| what()).min().expect("at least one run")
}

fn time(what: impl FnOnce()) -> Duration {
    let start = Instant::now();
    what();
    start.elapsed()
}

/// 50,000 tolerations and 5,000 taints cost as much as a few dozen passes over their texts, whatever they are.
#[test]
fn a_hostile_pod_on_a_hostile_node_is_cheap() {
    let _alone = ALONE.lock().expect("no other measurement has failed");
    for (what, (pod, node)) in
        [("keys", crowd::hostile(50_000, 5_000)), ("no keys", crowd::hostile_wildcards(50_000, 5_000))]
    {
        let floor = shortest(5, || {
            time(|| {
                let mut hasher = DefaultHasher::new();
                pod.tolerations.hash(&mut hasher);
                node.taints.hash(&mut hasher);
                black_box(hasher.finish());
            })
        });
        let taken = shortest(5, || {
            let mut engine = crowd::engine(1, 0, 300);
            engine.handle(
                EvictionInput::Pods(ObjectEvent::Applied { fact: pod.clone(), listed: false }),
                now(),
            );
            let fact = node.clone();
            let taken = time(|| {
                engine.handle(EvictionInput::Nodes(ObjectEvent::Applied { fact, listed: false }), now())
            });
            assert_eq!(engine.stats().due, 1);
            taken
        });
        println!("{what}: {taken:?}; floor {floor:?}");
        assert!(taken < floor * 40, "{what}: {taken:?}, floor {floor:?}");
        assert!(!RELEASE || taken <= Duration::from_millis(5), "{what}: {taken:?}");
    }
}

/// Pods of one node that each have a deadline of their own cost as much as a few passes over them, not a pass each.
#[test]
fn ten_thousand_deadlines_of_one_node_are_cheap() {
    const PODS: usize = 10_000;
    let _alone = ALONE.lock().expect("no other measurement has failed");
    let mut floor = Duration::MAX;
    let taken = shortest(3, || {
        let mut engine = crowd::engine(1, 0, 300);
        let pods = (0..PODS).map(|at| {
            let period = Some(1 + (at * 7_919 % PODS) as i64);
            let tolerations = vec![toleration(KEY, period)];
            crowd::large_pod(at, crowd::node_name(0), tolerations)
        });
        let pods: Vec<_> =
            pods.map(|fact| EvictionInput::Pods(ObjectEvent::Applied { fact, listed: false })).collect();
        floor = floor.min(time(|| pods.into_iter().for_each(|input| engine.handle(input, now()))));
        let node = EvictionInput::Nodes(ObjectEvent::Applied {
            fact: crowd::large_node(0, 2, &[KEY]),
            listed: false,
        });
        let taken = time(|| {
            engine.handle(node, now());
            for passed in 1..=PODS {
                let passed = Span::from_secs(passed as i64);
                assert_eq!(engine.deadline_at(), Some(now().mono.plus(passed)));
                engine.tick(now().mono.plus(passed));
            }
        });
        assert_eq!(engine.stats().due, PODS);
        taken
    });
    println!("{taken:?} for 10,000 deadlines, {floor:?} for observing their pods");
    assert!(taken < floor * 4, "{taken:?}, floor {floor:?}");
    assert!(!RELEASE || taken <= Duration::from_millis(500), "{taken:?}");
}

/// Compares one taint on one node of 110 pods in a small and in a large cluster.
#[test]
fn an_event_costs_the_same_however_many_other_nodes_there_are() {
    let _alone = ALONE.lock().expect("no other measurement has failed");
    let cost = |nodes: usize| {
        let mut engine = crowd::engine(nodes, 10, 300);
        for at in 0..110 {
            let fact = crowd::large_pod(10_000_000 + at, crowd::node_name(7), Vec::new());
            engine.handle(EvictionInput::Pods(ObjectEvent::Applied { fact, listed: false }), now());
        }
        let mut version = 2;
        shortest(200, || {
            version += 2;
            let taint = crowd::large_node(7, version, &[KEY]);
            let untaint = crowd::large_node(7, version + 1, &[]);
            let taken = time(|| {
                engine
                    .handle(EvictionInput::Nodes(ObjectEvent::Applied { fact: taint, listed: false }), now())
            });
            assert_eq!(engine.stats().due, 110);
            engine.handle(EvictionInput::Nodes(ObjectEvent::Applied { fact: untaint, listed: false }), now());
            engine.take_notices();
            taken
        })
    };
    let (few, many) = (cost(100), cost(50_000));
    println!("{few:?} with 100 nodes, {many:?} with 50,000");
    assert!(many < few * 3, "{few:?} {many:?}");
}

/// A renewal costs the same however many nodes there are, except for the depth of a tree.
#[test]
fn a_renewal_costs_the_same_however_many_nodes_there_are() {
    let _alone = ALONE.lock().expect("no other measurement has failed");
    let cost = |nodes: usize| {
        let mut engine = leases::engine(nodes);
        leases::renew(&mut engine, nodes, 1);
        let mut round = 1;
        shortest(20, || {
            round += 1;
            time(|| leases::renew(&mut engine, 100, round))
        })
    };
    let (few, many) = (cost(100), cost(20_000));
    println!("100 renewals: {few:?} with 100 nodes, {many:?} with 20,000");
    assert!(many < few * 4, "{few:?} {many:?}");
}

/// An engine with this many due pods, which wait for a budget under a policy, and a function that changes the budget.
fn waiting(pods: usize) -> (EvictionEngine, impl Fn(u64, u32) -> EvictionInput) {
    const NODES: usize = 100;
    let budget = |version: u64, allowed: u32| {
        let budget = DisruptionBudget {
            namespace: "shop".into(),
            name: "web".into(),
            selector: Some(Vec::new()),
            floor: Some(DisruptionLimit::MinAvailable(IntOrPercent::Count(1))),
            status: Some(BudgetStatus { healthy: u32::try_from(version).expect("few changes"), desired: 1 }),
        };
        let (uid, version) = (Uid::new("budget"), Some(ResourceVersion(version)));
        let fact = BudgetFact { uid, version, budget, allowed: Some(allowed) };
        EvictionInput::Budgets(ObjectEvent::Applied { fact, listed: version == Some(ResourceVersion(1)) })
    };
    let policy = EvictionPolicy {
        name: "gentle".into(),
        taints: [SelectedTaint { key: KEY.into(), values: Vec::new() }].into(),
        budgets: Some(BudgetRespect { deadline: None }),
        ..EvictionPolicy::default()
    };
    let policy = EvictionPolicyFact {
        uid: Uid::new("policy"),
        version: Some(ResourceVersion(1)),
        generation: 1,
        policy: policy.into(),
        recorded: RecordedPolicyStatus::default(),
    };
    let mut engine = EvictionEngine::new(EvictionConfig { policies: true, ..EvictionConfig::default() });
    let nodes = (0..NODES)
        .map(|at| NodeFact { labels: Some(Labels::new().into()), ..crowd::large_node(at, 1, &[KEY]) });
    let all = (0..pods).map(|at| {
        let fact = crowd::large_pod(at, crowd::node_name(at % NODES), Vec::new());
        let name = PodName::new("shop", fact.id.name().name());
        let id = PodId::new(fact.id.uid().clone(), name);
        PodFact { id, ready: Some(true), template: Some(Box::default()), ..fact }
    });
    fn start<F>() -> ObjectEvent<F> {
        ObjectEvent::ListStarted { silent_since: None }
    }
    let policies = [start(), ObjectEvent::Applied { fact: policy, listed: true }, ObjectEvent::ListCompleted];
    let inputs = policies.into_iter().map(EvictionInput::Policies);
    let budgets =
        [EvictionInput::Budgets(start()), budget(1, 0), EvictionInput::Budgets(ObjectEvent::ListCompleted)];
    let inputs = inputs.chain(budgets);
    let listed = |fact| EvictionInput::Nodes(ObjectEvent::Applied { fact, listed: true });
    let inputs = inputs.chain([EvictionInput::Nodes(start())]).chain(nodes.map(listed));
    let ends = [EvictionInput::Nodes(ObjectEvent::ListCompleted), EvictionInput::Pods(start())];
    let listed = |fact| EvictionInput::Pods(ObjectEvent::Applied { fact, listed: true });
    let inputs = inputs.chain(ends).chain(all.map(listed));
    for input in inputs.chain([EvictionInput::Pods(ObjectEvent::ListCompleted)]) {
        engine.handle(input, now());
    }
    assert!(engine.next_effect(Lane::All, now()).is_none(), "the budget allows no disruption");
    engine.take_notices();
    assert_eq!(engine.stats().delayed.total(), pods);
    (engine, budget)
}

/// Pods that wait for a budget cost nothing while nothing changes, and a change of their budget costs the same however many
/// they are.
#[test]
fn pods_that_wait_for_a_budget_cost_nothing_until_it_changes() {
    let _alone = ALONE.lock().expect("no other measurement has failed");
    let cost = |pods: usize| {
        let (mut engine, budget) = waiting(pods);
        let mut version = 1;
        let taken = shortest(200, || {
            version += 1;
            // Another number of healthy pods.
            let changed = budget(version, 0);
            time(|| {
                engine.handle(changed, now());
                assert!(engine.next_effect(Lane::All, now()).is_none());
            })
        });
        engine.handle(budget(version + 1, 1), now());
        assert!(matches!(engine.next_effect(Lane::All, now()), Some(EvictionEffect::ReadNode { .. })));
        assert!(engine.next_effect(Lane::All, now()).is_none(), "one pod of the budget at a time");
        taken
    };
    let (few, many) = (cost(1_000), cost(100_000));
    println!("{few:?} with 1,000 pods, {many:?} with 100,000");
    assert!(many < few * 4, "{few:?} {many:?}");

    let (mut engine, _) = waiting(100_000);
    let (mut time, mut effects) = (now(), 0);
    for _ in 0..1_000 {
        let Some(at) = engine.next_wakeup().filter(|at| *at < now().mono.plus(Span::from_secs(60))) else {
            break;
        };
        time = Now::exact(at, time.wall);
        engine.tick(at);
        effects += usize::from(engine.next_effect(Lane::All, time).is_some());
    }
    assert!(effects <= 2, "one pod of the budget is tried, {effects} effects");
}
