//! Tests the memory budgets of the engines, exactly, in every build.
//!
//! - It runs without the test harness, whose thread would be counted, and prints to stderr, because stdout has a
//!   buffer.

mod common;
#[path = "common/leases.rs"]
mod leases;

use common::crowd::{self, KEY, now};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use taintward_core::admission::pool::{PodOnNodeFact, PodsOnNodes};
use taintward_core::admission::request::PodIdentity;
use taintward_core::engine::{Engine, Lane};
use taintward_core::engine_monitor::EngineMonitor as _;
use taintward_core::eviction::EvictionInput;
use taintward_core::eviction_monitor::EvictionMonitor;
use taintward_core::fact::{PodFact, PodOwnerKind};
use taintward_core::identity::{NodeName, PodId, PodName, Uid};
use taintward_core::node_lifecycle::{ConditionStatus, NodeLifecycleInput, PodReadinessFact};
use taintward_core::object_event::ObjectEvent;
use taintward_core::testkit::node_health_tolerations;
use taintward_core::toleration::Toleration;
use taintward_core::toleration_guard::GuardRecord;
use taintward_core::toleration_hold::HeldToleration;
use taintward_core::toleration_matching::NumericOperators;
use taintward_core::toleration_seconds::{
    BackfillSettings, HeldPodFact, HoldSettings, RecordAnnotations, RecordState, TolerationSecondsEngine,
    TolerationSecondsInput,
};
use taintward_core::toleration_seconds_monitor::TolerationSecondsMonitor;

#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn live(region: &Region<'_, System>) -> f64 {
    let change = region.change();
    // A reallocation is counted by its difference, separately.
    change.bytes_allocated as f64 - change.bytes_deallocated as f64
}

fn main() {
    each_pod_keeps_to_its_budget(5_000, 150_000, [185.0, 185.0]);
    // Ten pods share a node's entry, not thirty: as with a million pods on 100,000 nodes. While they count down, as few
    // share an index of deadlines; without debug assertions only nodes with very many pods have one.
    each_pod_keeps_to_its_budget(10_000, 100_000, [205.0, 235.0]);
    at_most_64_bytes_for_each_pod_that_the_monitor_knows();
    at_most_64_bytes_for_each_pod_whose_patches_are_checked();
    at_most_64_bytes_for_each_lease();
    at_most_140_bytes_for_each_pod_that_node_lifecycle_may_mark();
    at_most_200_bytes_for_each_pod_that_pools_count();
    at_most_250_bytes_for_each_pod_in_all_engines();
    at_most_185_bytes_for_each_pod_whose_seconds_may_change(false);
    at_most_185_bytes_for_each_pod_whose_seconds_may_change(true);
    println!("budgets of memory are kept");
}

fn each_pod_keeps_to_its_budget(nodes: usize, pods: usize, [quiet_max, counting_max]: [f64; 2]) {
    let region = Region::new(HEAP);
    let mut engine = crowd::engine(nodes, pods / nodes, 300);
    let sanitized = live(&region) / pods as f64;
    assert_eq!(engine.stats().pods, pods);
    for node in 0..nodes / 2 {
        engine.handle(
            EvictionInput::Nodes(ObjectEvent::Applied {
                fact: crowd::large_node(node, 2, &[KEY]),
                listed: false,
            }),
            now(),
        );
    }
    engine.take_notices();
    assert_eq!(engine.stats().counting, pods / 2);
    let counting = live(&region) / pods as f64;
    eprintln!(
        "{pods} pods on {nodes} nodes: {sanitized:.1} bytes a pod; with half of them counting down {counting:.1}"
    );
    assert!(sanitized <= quiet_max && counting <= counting_max, "{sanitized:.1} {counting:.1}");
    drop(engine);
    let kept = live(&region);
    assert!(kept < 1_000.0, "everything is freed, not all but {kept} bytes");
}

/// The memory of the monitor for each pod: each process checks its requests.
fn at_most_64_bytes_for_each_pod_that_the_monitor_knows() {
    const NODES: usize = 5_000;
    const PODS: usize = 150_000;
    let region = Region::new(HEAP);
    let mut monitor = EvictionMonitor::of_new_engine(NumericOperators::Off);
    for round in 0..2 {
        for at in 0..PODS {
            let fact = crowd::large_pod(at, crowd::node_name(at % NODES), crowd::tolerations(at % 15, 300));
            let fact = fact.at_version((round * PODS + at + 1) as u64);
            let event = ObjectEvent::Applied { fact, listed: round == 0 };
            monitor.input(&EvictionInput::Pods(event), now());
        }
        let each = live(&region) / PODS as f64;
        eprintln!("{each:.1} bytes a pod that the monitor knows");
        assert!(each <= 64.0, "{each:.1}");
    }
    drop(monitor);
    let kept = live(&region);
    assert!(kept < 1_000.0, "everything is freed, not all but {kept} bytes");
}

/// The memory of the monitor of holds, backfill and the guard for each pod: its name and UID are not kept.
fn at_most_64_bytes_for_each_pod_whose_patches_are_checked() {
    const NODES: usize = 5_000;
    const PODS: usize = 150_000;
    let region = Region::new(HEAP);
    let engine = TolerationSecondsEngine::new(Some(HoldSettings::default()), None, None);
    let mut monitor = TolerationSecondsMonitor::of(&engine);
    for round in 0..2 {
        for at in 0..PODS {
            let PodOnNodeFact { id, node, tolerations, .. } = resident(at, at % NODES, 300);
            let fact = PodFact { id, ..crowd::large_pod(at, node, tolerations) };
            let fact = fact.at_version((round * PODS + at + 1) as u64);
            let record = (RecordState::Absent, RecordAnnotations::default());
            let fact = HeldPodFact::new(&fact, record, true, None);
            let event = ObjectEvent::Applied { fact, listed: round == 0 };
            monitor.input(&TolerationSecondsInput::Pods(event), now());
        }
        let each = live(&region) / PODS as f64;
        eprintln!("{each:.1} bytes a pod whose patches are checked");
        assert!(each <= 64.0, "{each:.1}");
    }
    drop((monitor, engine));
    let kept = live(&region);
    assert!(kept < 1_000.0, "everything is freed, not all but {kept} bytes");
}

/// The memory of node health for a node's lease: up to 40 bytes in the node's own entry (the type asserts it), and next
/// to nothing besides; and its total memory.
fn at_most_64_bytes_for_each_lease() {
    const NODES: usize = 10_000;
    let region = Region::new(HEAP);
    let mut engine = leases::engine(NODES);
    let nodes = live(&region) / NODES as f64;
    leases::renew(&mut engine, NODES, 1);
    let with = live(&region) / NODES as f64;
    for round in 2..20 {
        leases::renew(&mut engine, NODES, round);
    }
    let renewed = live(&region) / NODES as f64;
    eprintln!("{nodes:.1} bytes a node; with its lease {with:.1}; after many renewals {renewed:.1}");
    assert!(with - nodes <= 24.0 && renewed - nodes <= 24.0, "{nodes:.1} {with:.1} {renewed:.1}");
    assert!(renewed <= 640.0, "total: {renewed:.1}");
    drop(engine);
    let kept = live(&region);
    assert!(kept < 1_000.0, "everything is freed, not all but {kept} bytes");
}

/// The memory of node lifecycle for each pod, without its node: it marks the pods of a node that goes down (NL-17).
fn at_most_140_bytes_for_each_pod_that_node_lifecycle_may_mark() {
    const NODES: usize = 5_000;
    const PODS: usize = 150_000;
    let mut engine = leases::engine(NODES);
    let region = Region::new(HEAP);
    engine.handle(NodeLifecycleInput::Pods(ObjectEvent::ListStarted { silent_since: None }), now());
    for pod in 0..PODS {
        let PodOnNodeFact { id, .. } = resident(pod, 0, 300);
        let fact =
            PodReadinessFact { id, node: leases::name(pod % NODES), ready: Some(ConditionStatus::True) };
        engine.handle(NodeLifecycleInput::Pods(ObjectEvent::Applied { fact, listed: true }), now());
    }
    engine.handle(NodeLifecycleInput::Pods(ObjectEvent::ListCompleted), now());
    let each = live(&region) / PODS as f64;
    eprintln!("{each:.1} bytes a pod that node lifecycle may mark");
    assert!(each <= 140.0, "{each:.1}");
}

/// The memory for each pod outside of the engine, while there is a pool: with a UUID, a name of the usual length and
/// two tolerations.
fn at_most_200_bytes_for_each_pod_that_pools_count() {
    const NODES: usize = 5_000;
    const PODS: usize = 150_000;
    let region = Region::new(HEAP);
    let mut all = PodsOnNodes::default();
    for list in 0..2 {
        all.begin();
        for pod in 0..PODS {
            all.put(resident(pod, pod % NODES, 300));
        }
        assert!(all.end() == (list == 0) && all.len() == PODS);
    }
    let sanitized = live(&region) / PODS as f64;
    // The tolerations of all pods change, and a tenth of the pods are replaced.
    for pod in 0..PODS {
        all.put(resident(pod, pod % NODES, 30));
    }
    for pod in 0..PODS / 10 {
        let (uid, node) = (resident(pod, 0, 0).id.uid().clone(), resident(pod, pod % NODES, 0).node);
        assert!(all.remove(&uid, Some(&node)) && all.put(resident(PODS + pod, pod % NODES, 30)));
    }
    let changed = live(&region) / PODS as f64;
    eprintln!("{sanitized:.1} bytes a pod that pools count; after changes {changed:.1}");
    assert!(sanitized <= 200.0 && changed <= 200.0, "{sanitized:.1} {changed:.1}");
    drop(all);
    let kept = live(&region);
    assert!(kept < 1_000.0, "everything is freed, not all but {kept} bytes");
}

/// The memory of all three engines for a pod, without its node's entry: they share its UID and its name, again after
/// each list.
fn at_most_250_bytes_for_each_pod_in_all_engines() {
    const NODES: usize = 5_000;
    const PODS: usize = 150_000;
    let mut eviction = crowd::engine(0, 0, 300);
    let mut node_lifecycle = leases::engine(NODES);
    let mut pools = PodsOnNodes::default();
    let region = Region::new(HEAP);
    for _ in 0..2 {
        eviction.handle(EvictionInput::Pods(ObjectEvent::ListStarted { silent_since: None }), now());
        node_lifecycle
            .handle(NodeLifecycleInput::Pods(ObjectEvent::ListStarted { silent_since: None }), now());
        pools.begin();
        for at in 0..PODS {
            let pod = PodOnNodeFact { node: leases::name(at % NODES), ..resident(at, 0, 300) };
            let (id, node) = (pod.id.clone(), pod.node.clone());
            let fact =
                PodFact { id: id.clone(), ..crowd::large_pod(at, node.clone(), pod.tolerations.clone()) };
            eviction.handle(EvictionInput::Pods(ObjectEvent::Applied { fact, listed: true }), now());
            let fact = PodReadinessFact { id, node, ready: Some(ConditionStatus::True) };
            node_lifecycle
                .handle(NodeLifecycleInput::Pods(ObjectEvent::Applied { fact, listed: true }), now());
            pools.put(pod);
        }
        eviction.handle(EvictionInput::Pods(ObjectEvent::ListCompleted), now());
        node_lifecycle.handle(NodeLifecycleInput::Pods(ObjectEvent::ListCompleted), now());
        pools.end();
        assert!(eviction.stats().pods == PODS && pools.len() == PODS);
        let each = live(&region) / PODS as f64;
        eprintln!("{each:.1} bytes a pod in all engines");
        assert!(each <= 250.0, "{each:.1}");
    }
}

/// The memory of holds, backfill and the guard for each pod, guarded or not: at most as much as eviction uses.
fn at_most_185_bytes_for_each_pod_whose_seconds_may_change(guarded: bool) {
    const NODES: usize = 5_000;
    const PODS: usize = 150_000;
    let region = Region::new(HEAP);
    let backfill = BackfillSettings::default();
    let mut engine = TolerationSecondsEngine::new(Some(HoldSettings::default()), Some(backfill), None);
    engine.handle(TolerationSecondsInput::Pods(ObjectEvent::ListStarted { silent_since: None }), now());
    for at in 0..PODS {
        let PodOnNodeFact { id, node, tolerations, .. } = resident(at, at % NODES, 300);
        let fact = PodFact { id, ..crowd::large_pod(at, node, tolerations) };
        let record = match guarded {
            true => (guard_record(&fact.tolerations), RecordAnnotations { hold: false, guard: true }),
            false => (RecordState::Absent, RecordAnnotations::default()),
        };
        let fact = HeldPodFact::new(&fact, record, true, None);
        engine.handle(TolerationSecondsInput::Pods(ObjectEvent::Applied { fact, listed: true }), now());
    }
    engine.handle(TolerationSecondsInput::Pods(ObjectEvent::ListCompleted), now());
    engine.handle(TolerationSecondsInput::Nodes(ObjectEvent::ListStarted { silent_since: None }), now());
    engine.handle(TolerationSecondsInput::Nodes(ObjectEvent::ListCompleted), now());
    // Each pod is checked once.
    engine.tick(now().mono);
    assert!(engine.next_effect(Lane::All, now()).is_none());
    engine.take_notices();
    assert_eq!(engine.stats().waiting, 0);
    let each = live(&region) / PODS as f64;
    eprintln!("{each:.1} bytes a pod whose seconds may change{}", if guarded { ", guarded" } else { "" });
    assert!(each <= 185.0, "{each:.1}");
    drop(engine);
    let kept = live(&region);
    assert!(kept < 1_000.0, "everything is freed, not all but {kept} bytes");
}

fn guard_record(tolerations: &[Toleration]) -> RecordState {
    let own = |one: &Toleration| Toleration { seconds: Some(60), ..one.clone() };
    let held = tolerations.iter().filter_map(|one| HeldToleration::recorded(&own(one), one.seconds));
    RecordState::Guarded(GuardRecord::recorded(held.collect()).expect("tolerations with seconds").into())
}

fn resident(number: usize, node: usize, seconds: i64) -> PodOnNodeFact {
    let namespace = format!("team-{:02}", number % 40);
    // UIDs arrive in no particular order.
    let mixed = (number as u128).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    let hex = format!("{mixed:032x}");
    let (a, b, c, d, e) = (&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
    PodOnNodeFact {
        id: PodId::new(
            Uid::new(&format!("{a}-{b}-{c}-{d}-{e}")),
            PodName::new(&namespace, &format!("checkout-frontend-7d9f8b6c5d-{:05x}", number % 0xf_ffff)),
        ),
        identity: PodIdentity {
            namespace: namespace.as_str().into(),
            service_account: "default".into(),
            priority_class: "".into(),
            owner: PodOwnerKind::Other,
            mirror: false,
            made_for: Default::default(),
        },
        node: NodeName::new(&format!("node-{node:05}.example.internal")),
        tolerations: node_health_tolerations(Some(seconds), Some(seconds)),
        leaving: false,
    }
}
