//! Explores every interleaving of two nodes, up to three pods and one policy, with a budget, holds and the brake.
//!
//! - Prints the path to a state in which the engine requests what a policy, a hold or the brake forbids
//!   (`policies/properties.rs`), or from which a pod that must leave does not leave, or not by its deadline.
//! - Watches deliver at once: `exhaustive.rs` has their delays. Time passes in whole seconds.

mod broken;
mod cluster;
mod properties;
mod steps;

use super::search::{self, SearchResult, SearchState};
use cluster::PolicyCluster;
use std::sync::Arc;
use steps::PolicyStep;
use taintward_core::engine::{Engine, Lane};
use taintward_core::eviction::{EvictionConfig, EvictionEffect, EvictionEngine};
use taintward_core::eviction_policy::{BudgetRespect, EvictionPolicy, UnavailableLimit, WaveOrder};
use taintward_core::node_limit::NodeLimit;
use taintward_core::time::Span;

/// The maximum number of states of one scope.
const STATES_MAX: usize = 5_000;

/// How much later than its deadline a pod may leave, in seconds: a request that failed has a pause.
const LATE_MAX: i64 = 10;

/// How often each step may still happen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct StepsLeft {
    taints: u8,
    untaints: u8,
    passes: u8,
    failures: u8,
    losses: u8,
    budget_changes: u8,
    policy_changes: u8,
    definition_changes: u8,
    holds: u8,
    pod_holds: u8,
    restarts: u8,
    orphans: u8,
}

/// What a search begins with.
#[derive(Clone, Debug, Default)]
struct Scope {
    policy: EvictionPolicy,
    brake: Option<u32>,
    /// The node and the priority of each pod.
    pods: Vec<(usize, i32)>,
    /// How many disruptions the budget allows at first; `None`: there is no budget.
    budget: Option<u32>,
    /// A pod that is gone is replaced on another node.
    replaces: bool,
    left: StepsLeft,
}

#[derive(Clone, Hash)]
struct PolicyState {
    cluster: PolicyCluster,
    engine: EvictionEngine,
    flights: Vec<EvictionEffect>,
    left: StepsLeft,
}

impl PolicyState {
    fn first(scope: Scope) -> Self {
        let brake = scope.brake.map(|nodes| NodeLimit { nodes: Some(nodes), percent: None });
        let config = EvictionConfig { policies: true, brake, ..EvictionConfig::default() };
        let left = scope.left.clone();
        let cluster = PolicyCluster::new(scope, Arc::new(config));
        let engine = EvictionEngine::new(EvictionConfig::clone(&cluster.config));
        let mut state = Self { cluster, engine, flights: Vec::new(), left };
        state.list();
        state
    }

    fn list(&mut self) {
        let now = self.cluster.clock();
        self.cluster.listed().into_iter().for_each(|input| self.engine.handle(input, now));
    }

    /// Every request succeeds unless the budget rejects it, pods go, and the budget allows a disruption at a time or none.
    /// Every pod leaves that must; if the budget allows none, at its deadline.
    fn end(mut self, allows: bool) {
        self.release_holds();
        // What waves wait for at most is time.
        let pods_go = self.cluster.policy.order.is_none_or(|order| order.timeout.is_none());
        let has_other_limits = has_limits(&self.cluster.policy);
        let began = self.cluster.now;
        for _ in 0..150 {
            for _ in 0..20 {
                self.set_budget(u32::from(allows));
                self.engine.tick(self.cluster.clock().mono);
                while self.respond(0).is_some() {}
                while pods_go && self.gone().is_some() {}
                if self.pull().is_none() && self.flights.is_empty() {
                    break;
                }
            }
            let left = self.cluster.left();
            if left.is_empty() {
                return;
            }
            let is_late = |at: &usize| {
                self.cluster
                    .forced_at(*at)
                    .is_some_and(|forced| forced.max(began) + LATE_MAX < self.cluster.now)
            };
            let forced_apply = !has_other_limits && self.cluster.config.brake.is_none();
            assert!(!forced_apply || !left.iter().any(is_late), "{left:?} are there after their deadline");
            self.pass();
        }
        assert!(self.cluster.may_stay(allows), "{:?} do not leave", self.cluster.left());
    }
}

/// Whether anything but budgets delays.
const fn has_limits(policy: &EvictionPolicy) -> bool {
    policy.pods_per_minute.is_some()
        || policy.nodes_at_once.is_some()
        || policy.unavailable_per_workload.is_some()
        || policy.order.is_some()
}

impl SearchState for PolicyState {
    type Step = PolicyStep;

    const STEPS: &'static [PolicyStep] = &steps::ALL;

    fn step(&self, step: PolicyStep) -> Option<Self> {
        let mut next = self.clone();
        next.take(step)?;
        next.engine.tick(next.cluster.clock().mono);
        next.engine.take_notices();
        let now = next.cluster.clock().mono;
        let wakes = next.engine.next_wakeup().is_some_and(|at| at <= now);
        assert!(!wakes || next.engine.has_work(Lane::All, now), "it wakes up and has nothing to do");
        Some(next)
    }

    fn has_acted(&self) -> bool {
        self.cluster.has_deleted()
    }

    fn run_fairly(self) {
        self.clone().end(true);
        self.end(false);
    }
}

/// A policy for the taint of the scopes.
fn policy() -> EvictionPolicy {
    EvictionPolicy { name: "policy".into(), ..EvictionPolicy::default() }
}

/// The same, which respects budgets for so many seconds.
fn graceful(deadline: i64) -> EvictionPolicy {
    let budgets = Some(BudgetRespect { deadline: Some(Span::from_secs(deadline)) });
    EvictionPolicy { budgets, ..policy() }
}

fn scopes() -> Vec<Scope> {
    let base = StepsLeft { taints: 2, passes: 3, ..StepsLeft::default() };
    let two = Scope { pods: vec![(0, 0), (1, 0)], left: base.clone(), ..Scope::default() };
    let both = Scope { pods: vec![(0, 0), (0, 0), (1, 0)], ..two.clone() };
    let ordered = Scope { pods: vec![(0, 0), (0, 1), (1, 1)], ..two.clone() };
    let with =
        |scope: &Scope, policy: EvictionPolicy, left: StepsLeft| Scope { policy, left, ..scope.clone() };
    let budget = |allowed, scope: Scope| Scope { budget: Some(allowed), ..scope };
    let limit = UnavailableLimit { replicas: Some(1), percent: None };
    let order = |timeout: Option<i64>| WaveOrder { timeout: timeout.map(Span::from_secs) };
    let no_limit = || EvictionPolicy { grace_seconds_max: Some(5), ..policy() };
    let nodes = || EvictionPolicy { nodes_at_once: Some(1), ..policy() };
    let rate = || EvictionPolicy { pods_per_minute: Some(2), ..policy() };
    let replicas = || EvictionPolicy { unavailable_per_workload: Some(limit), ..policy() };
    let waves = |timeout| EvictionPolicy { order: Some(order(timeout)), ..policy() };
    let once = base.clone();
    vec![
        budget(0, with(&two, graceful(60), StepsLeft { budget_changes: 2, failures: 1, ..once.clone() })),
        budget(1, with(&both, graceful(60), StepsLeft { losses: 1, untaints: 1, ..once.clone() })),
        budget(0, with(&two, graceful(60), StepsLeft { policy_changes: 2, ..once.clone() })),
        budget(0, with(&two, graceful(60), StepsLeft { definition_changes: 2, ..once.clone() })),
        budget(0, with(&two, graceful(60), StepsLeft { holds: 2, passes: 4, ..once.clone() })),
        budget(1, with(&two, graceful(60), StepsLeft { pod_holds: 2, passes: 4, ..once.clone() })),
        budget(1, with(&both, graceful(60), StepsLeft { restarts: 1, ..once.clone() })),
        with(&both, nodes(), StepsLeft { untaints: 1, failures: 1, ..once.clone() }),
        with(&both, nodes(), StepsLeft { policy_changes: 2, losses: 1, ..once.clone() }),
        with(&both, nodes(), StepsLeft { holds: 2, restarts: 1, ..once.clone() }),
        with(&both, nodes(), StepsLeft { orphans: 1, ..once.clone() }),
        with(&both, rate(), StepsLeft { passes: 5, failures: 1, ..once.clone() }),
        with(&both, rate(), StepsLeft { passes: 5, restarts: 1, policy_changes: 2, ..once.clone() }),
        Scope { replaces: true, ..with(&both, replicas(), StepsLeft { failures: 1, ..once.clone() }) },
        Scope { replaces: true, ..with(&both, replicas(), StepsLeft { untaints: 1, ..once.clone() }) },
        Scope { replaces: true, ..with(&both, replicas(), StepsLeft { losses: 1, ..once.clone() }) },
        with(&ordered, waves(None), StepsLeft { untaints: 1, failures: 1, ..once.clone() }),
        with(&ordered, waves(None), StepsLeft { holds: 2, losses: 1, ..once.clone() }),
        with(&ordered, waves(Some(30)), StepsLeft { passes: 4, ..once.clone() }),
        Scope { brake: Some(1), ..with(&two, no_limit(), StepsLeft { untaints: 1, ..once.clone() }) },
        Scope {
            brake: Some(1),
            ..with(&both, no_limit(), StepsLeft { holds: 2, failures: 1, ..once.clone() })
        },
        Scope { brake: Some(1), ..with(&two, no_limit(), StepsLeft { restarts: 1, ..once.clone() }) },
        budget(0, with(&two, graceful(0), StepsLeft { policy_changes: 2, ..once })),
    ]
}

#[test]
fn no_interleaving_violates_a_policy_and_every_pod_leaves_that_may() {
    let mut all = SearchResult::default();
    for scope in scopes() {
        println!("{scope:?}");
        let found = search::explore(PolicyState::first(scope), search::states_max(STATES_MAX));
        println!("  {found}");
        assert!(found.acted > 0, "no pod is deleted");
        all = all.and(found);
    }
    println!("{all}");
}

/// The DELETE of a pod of `n1` is in flight when the policy is created: no other node begins.
#[test]
fn a_new_policy_counts_the_evictions_in_flight() {
    let pods = vec![(0, 0), (0, 0), (1, 0)];
    let left = StepsLeft { taints: 2, passes: 3, policy_changes: 2, ..StepsLeft::default() };
    let policy = EvictionPolicy { nodes_at_once: Some(1), ..policy() };
    let mut state = PolicyState::first(Scope { policy, pods, left, ..Scope::default() });
    let before = [PolicyStep::Taint(1), PolicyStep::Pull, PolicyStep::Respond(0), PolicyStep::Pull];
    let after = [PolicyStep::Taint(0), PolicyStep::Policy, PolicyStep::Policy];
    for step in before.into_iter().chain(after) {
        state = state.step(step).expect("it is possible");
    }
    assert!(state.step(PolicyStep::Pull).is_none(), "n0 waits");
    state.step(PolicyStep::Respond(0)).expect("it is carried out").run_fairly();
}

/// Pods of two nodes are due before the policy is created. The second pod of `n0` has had no turn yet when the first one is
/// gone: `n0` is not empty, so `n1` waits.
#[test]
fn a_new_policy_counts_the_pods_that_were_due_before() {
    let two = vec![(0, 0), (0, 0), (1, 0)];
    let left = StepsLeft { taints: 2, passes: 3, policy_changes: 2, ..StepsLeft::default() };
    let policy = EvictionPolicy { nodes_at_once: Some(1), ..policy() };
    let mut state = PolicyState::first(Scope { policy, pods: two, left, ..Scope::default() });
    let before = [PolicyStep::Policy, PolicyStep::Taint(1), PolicyStep::Pull, PolicyStep::Taint(0)];
    let after = [PolicyStep::Pass, PolicyStep::Pull, PolicyStep::Policy];
    for step in before.into_iter().chain(after) {
        state = state.step(step).expect("it is possible");
    }
    state.run_fairly();
}
