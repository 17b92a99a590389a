//! Runs dedicated pools: takes facts about pools, nodes and pods as input and returns the requests that reconcile them.
//!
//! - Invariant: level-triggered. After a change everything is reconciled again, at a bounded rate; all state is found
//!   again in the objects, so a restart loses nothing.
//! - See `admission/pool.rs` for the rules, `dedicated_pools/reconcile.rs` for the plan.

mod backoff_map;
mod conditions;
mod effect;
mod explanation;
mod fact;
mod guard_coverage;
mod guard_size;
mod guard_writes;
mod in_flight;
mod input;
mod notice;
mod pool_cache;
mod pool_checks;
mod pool_guard;
mod reconcile;
mod responses;
mod schedule;
mod status_counts;
mod watch_demand;

pub use conditions::{ELSEWHERE, observed_status, set_progressing};
pub use effect::{PoolEffect, PoolEffectFailure, PoolEffectKey, PoolGuardWrite, PoolResponse};
pub use explanation::{PoolNodeDelay, PoolNodeExplanation};
pub use fact::{FINALIZER, GUARD_LABEL, PoolFact, PoolNamespaceFact, PoolNodeFact, RecordedStatus};
pub use guard_size::{GUARD_BUDGET, GUARD_MAX};
pub use input::{DedicatedPoolConfig, DedicatedPoolInput};
pub use notice::DedicatedPoolNotice;
pub use pool_guard::{GuardedPool, PoolGuard, UnknownNodePolicy};
pub use reconcile::{NodePatch, PoolPlan};
pub use status_counts::DedicatedPoolStats;

use crate::admission::pool::{PoolStatus, PoolValidity};
use crate::engine::{Engine, Lane};
use crate::identity::{NodeName, Uid};
use crate::object_event::{ObjectEvent, ObjectIndex as _};
use crate::object_store::StoredObject as _;
use crate::time::{Mono, Now, Span};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use backoff_map::BackoffMap;
use guard_coverage::GuardCoverage;
use guard_writes::PoolGuardWrites;
use in_flight::EffectsInFlight;
use pool_cache::PoolCache;
use pool_checks::PoolChecks;
use pool_guard::GuardDraft;
use reconcile::remembers_its_marks;
use schedule::ReconcileSchedule;
use watch_demand::WatchDemand;

/// A status is written this often at most, unless nodes wait for it.
const STATUS_PERIOD: Span = Span::from_secs(1);

/// The engine.
///
/// For each pool it adds the finalizer, the marks in the status, the taints and labels of its nodes, the status and the
/// evictions; when the pool is deleted, it removes them again.
///
/// The contract is that of every [`Engine`], and: after each [`Engine::tick`], report how long it took
/// ([`DedicatedPoolInput::TickTook`]); every pulled effect comes back as [`DedicatedPoolInput::EffectDone`].
#[derive(Clone, Debug, Default)]
pub struct DedicatedPoolEngine {
    config: DedicatedPoolConfig,
    cache: PoolCache,
    definition_absent: bool,
    demand: WatchDemand,
    schedule: ReconcileSchedule,
    plan: Arc<PoolPlan>,
    counts: Vec<PoolStatus>,
    /// Nodes that have not been written yet.
    nodes_to_write: BTreeSet<NodeName>,
    /// Pods whose eviction was accepted, while they are still counted.
    evicted: BTreeSet<Uid>,
    checks: PoolChecks,
    /// When the status of each pool was last written.
    status_writes: BTreeMap<Uid, Mono>,
    guard: PoolGuardWrites,
    backoff: BackoffMap,
    in_flight: EffectsInFlight,
    /// Until then the API server may still carry out a write of a node whose response was lost.
    unsure_until: Option<Mono>,
    ticked: Option<Mono>,
    notices: Vec<DedicatedPoolNotice>,
}

impl DedicatedPoolEngine {
    /// Returns an engine without any facts.
    pub fn new(config: DedicatedPoolConfig) -> Self {
        Self { config, ..Self::default() }
    }

    /// Whether nodes, namespaces and pods have to be watched; a watch that is needed again starts with a list.
    pub fn needs_other_watches(&self) -> bool {
        self.demand.is_needed()
    }

    /// Returns the counts.
    pub fn stats(&self) -> DedicatedPoolStats {
        let undecodable = self.cache.pools.undecodable().count();
        let pools = self.plan.facts().iter().filter(|fact| !fact.pool.leaving);
        DedicatedPoolStats {
            waiting: self.nodes_to_write.len(),
            retrying: self.backoff.nodes(),
            unguarded: pools.filter(|fact| self.is_unguarded(&fact.uid)).count(),
            ..DedicatedPoolStats::of(&self.plan, &self.counts, undecodable)
        }
    }

    /// Returns what happens to a node, and what that waits for.
    pub fn explain(&self, node: &NodeName) -> Option<PoolNodeExplanation<'_>> {
        PoolNodeExplanation::of(&self.plan, &self.backoff, node)
    }

    fn is_unguarded(&self, pool: &Uid) -> bool {
        let coverage = self.ticked.and_then(|now| self.guard.coverage(pool, now));
        coverage.is_some_and(|coverage| coverage != GuardCoverage::Guarded)
    }

    fn reconcile_at(&self, now: Mono) -> Option<Mono> {
        self.schedule.due_at(now).filter(|_| self.cache.is_synced())
    }

    fn reconcile(&mut self, now: Mono) {
        if self.schedule.begin(now) {
            self.plan = Arc::new(PoolPlan::of(&self.cache));
            self.nodes_to_write.clone_from(self.plan.nodes_to_write());
            let uids: BTreeSet<&Uid> = self.plan.facts().iter().map(|fact| &fact.uid).collect();
            self.status_writes.retain(|uid, at| uids.contains(uid) || now < at.plus(STATUS_PERIOD));
            self.backoff.retain(|key| match key {
                PoolEffectKey::Pool(uid) => uids.contains(uid),
                PoolEffectKey::Node(node) => self.nodes_to_write.contains(node),
                PoolEffectKey::Pod(_) | PoolEffectKey::Guard | PoolEffectKey::GuardVersion => true,
            });
            self.guard.plan(GuardDraft::of(&self.plan));
            if !self.nodes_to_write.is_empty() {
                self.notices.push(DedicatedPoolNotice::NodesPlanned(self.nodes_to_write.len()));
            }
        }
        self.counts = status_counts::pool_counts(&self.plan, &self.cache, &self.config.exemptions);
        let evicted: BTreeSet<&Uid> =
            self.counts.iter().flat_map(|counts| &counts.evicted).map(|one| &one.uid).collect();
        self.evicted.retain(|uid| evicted.contains(uid));
        self.backoff.retain(|key| !matches!(key, PoolEffectKey::Pod(uid) if !evicted.contains(uid)));
        self.checks.all_by(now);
    }

    fn is_free(&self, key: &PoolEffectKey, lane: Lane, now: Mono) -> bool {
        !self.in_flight.contains(key) && self.backoff.may_try(key, lane, now)
    }

    fn next_pool_effect(&mut self, lane: Lane, now: Now) -> Option<PoolEffect> {
        let plan = Arc::clone(&self.plan);
        for at in self.checks.unchecked() {
            if !self.in_flight.has_room_for_pools() {
                return None;
            }
            let planned = &plan.facts()[at];
            let key = PoolEffectKey::Pool(planned.uid.clone());
            let label_at = self.guard.label_ends_at(planned, now.mono);
            let urgent_at = label_at.zip(self.backoff.urgent_at(&key)).map(|(due, free)| due.max(free));
            let retry_at =
                self.backoff.retry_at(&key).map(|at| urgent_at.map_or(at, |urgent| at.min(urgent)));
            if retry_at.is_some_and(|at| at <= now.mono) && lane == Lane::Fresh {
                continue;
            }
            self.checks.mark_checked(at);
            if self.in_flight.contains(&key) {
                continue;
            }
            if let Some(retry_at) = retry_at.filter(|at| *at > now.mono) {
                self.checks.all_by(retry_at);
                continue;
            }
            // If it has changed since, it is reconciled first.
            let pool = self.cache.pools.get(&planned.uid).filter(|fact| fact.is_equivalent(planned)).cloned();
            if let Some(effect) = pool.and_then(|pool| self.pool_effect(&plan, at, pool, now)) {
                return Some(effect);
            }
        }
        None
    }

    /// Returns the next effect for the pool itself.
    fn pool_effect(&mut self, plan: &PoolPlan, at: usize, pool: PoolFact, now: Now) -> Option<PoolEffect> {
        let label_at = self.guard.label_ends_at(&pool, now.mono);
        if label_at.is_some_and(|at| at <= now.mono) {
            return Some(PoolEffect::RemoveGuardLabel(Box::new(pool)));
        }
        let (is_held, leaving, recorded) = (pool.has_finalizer(), pool.pool.leaving, &plan.recorded()[at]);
        let wants_nodes = !leaving && plan.validity()[at] != PoolValidity::Rejected;
        let is_settled =
            !self.in_flight.is_writing_nodes() && self.unsure_until.is_none_or(|until| now.mono >= until);
        if leaving && is_held && is_settled && recorded.is_empty && !plan.has_to_remove_marks(at) {
            return Some(PoolEffect::RemoveFinalizer(Box::new(pool)));
        }
        if wants_nodes && !is_held {
            return Some(PoolEffect::AddFinalizer(Box::new(pool)));
        }
        match self.guard.label_starts_at(&pool, now.mono) {
            Some(at) if at <= now.mono => return Some(PoolEffect::AddGuardLabel(Box::new(pool))),
            at => label_at.into_iter().chain(at).for_each(|at| self.checks.all_by(at)),
        }
        if !is_settled && let Some(until) = self.unsure_until.filter(|until| now.mono < *until) {
            self.checks.all_by(until);
        }
        let coverage = self.guard.coverage(&pool.uid, now.mono);
        self.guard.coverage_changes_at(now.mono).into_iter().for_each(|at| self.checks.all_by(at));
        let reported = (self.counts.get(at)?.clone(), coverage);
        let status = status_counts::desired_status(plan, at, &pool, reported, &self.backoff, now.wall);
        if !pool.has_recorded(&status, &recorded.marks) {
            let is_urgent = wants_nodes && !remembers_its_marks(&pool.pool);
            let due = self.status_writes.get(&pool.uid).map(|last| last.plus(STATUS_PERIOD));
            if let Some(due) = due.filter(|due| !is_urgent && now.mono < *due) {
                self.checks.all_by(due);
                return None;
            }
            self.status_writes.insert(pool.uid.clone(), now.mono);
            let (pool, status, marks) = (Box::new(pool), Box::new(status), recorded.marks.clone());
            return Some(PoolEffect::UpdateStatus { pool, status, marks });
        }
        (!leaving && is_settled && recorded.may_prune).then(|| PoolEffect::PruneStatus(Box::new(pool)))
    }

    fn next_node_effect(&self, lane: Lane, now: Mono) -> Option<PoolEffect> {
        if !self.in_flight.has_room_for_nodes() {
            return None;
        }
        let free = |node: &&NodeName| self.is_free(&PoolEffectKey::Node((*node).clone()), lane, now);
        let node = self.nodes_to_write.iter().find(free)?.clone();
        Some(PoolEffect::ReconcileNode { node, plan: Arc::clone(&self.plan) })
    }

    fn next_eviction(&self, lane: Lane, now: Mono) -> Option<PoolEffect> {
        if !self.in_flight.has_room_for_evictions() {
            return None;
        }
        let counted = self.plan.facts().iter().zip(&self.counts);
        let mut all = counted.flat_map(|(pool, counts)| counts.evicted.iter().map(move |pod| (pool, pod)));
        let (pool, pod) = all.find(|(_, pod)| {
            !self.evicted.contains(&pod.uid) && self.is_free(&PoolEffectKey::Pod(pod.uid.clone()), lane, now)
        })?;
        let (pool, pod) = (Box::new(pool.clone()), pod.clone());
        Some(PoolEffect::EvictPod { pool, pod, plan: Arc::clone(&self.plan) })
    }

    /// The admission policy receives changes within one to two seconds.
    fn next_guard(&mut self, lane: Lane, now: Mono) -> Option<PoolEffect> {
        if !self.is_free(&PoolEffectKey::Guard, lane, now) || now < self.guard.check_at(now) {
            return None;
        }
        let effect = self.guard.check(now);
        self.guard.coverage_changes_at(now).into_iter().for_each(|at| self.checks.all_by(at));
        effect
    }

    fn next_probe(&mut self, lane: Lane, now: Mono) -> Option<PoolEffect> {
        let is_writing = self.in_flight.contains(&PoolEffectKey::Guard);
        let is_free = !is_writing && self.is_free(&PoolEffectKey::GuardVersion, lane, now);
        is_free.then(|| self.guard.probe(now)).flatten()
    }
}

impl Engine for DedicatedPoolEngine {
    type Input = DedicatedPoolInput;
    type Effect = PoolEffect;
    type Notice = DedicatedPoolNotice;

    fn handle(&mut self, input: DedicatedPoolInput, now: Now) {
        match input {
            DedicatedPoolInput::DefinitionAbsent(absent) => self.definition_absent = absent,
            DedicatedPoolInput::Pools(event) => {
                if let ObjectEvent::Applied { fact, .. } = &*event {
                    self.backoff.observe(&PoolEffectKey::Pool(fact.uid.clone()));
                    self.guard.observe(fact, now.mono);
                }
                self.checks.all_by(now.mono);
                self.cache.pools.apply(*event, now);
                self.schedule.invalidate(self.cache.pools.take_changed());
            }
            DedicatedPoolInput::Nodes(event) => {
                if let ObjectEvent::Applied { fact, .. } = &event {
                    self.backoff.observe(&PoolEffectKey::Node(NodeName::new(&fact.node.name)));
                }
                self.cache.nodes.apply(event, now);
                self.schedule.invalidate(self.cache.nodes.take_changed());
            }
            DedicatedPoolInput::Namespaces(event) => {
                self.cache.namespaces.apply(event, now);
                self.schedule.invalidate_pods(self.cache.namespaces.take_changed());
            }
            DedicatedPoolInput::Pods(event) => {
                self.cache.apply(event, now);
                self.schedule.invalidate_pods(self.cache.take_pods_changed());
            }
            DedicatedPoolInput::TickTook(took) => self.schedule.measured(took),
            DedicatedPoolInput::EffectDone { effect, result } => self.effect_done(effect, result, now.mono),
        }
    }

    /// Reconciles everything if that is due, and forgets what no pool needs any more.
    fn tick(&mut self, now: Mono) {
        self.ticked = Some(now);
        let all_known = self.cache.pools.is_synced() || self.definition_absent;
        if !self.demand.update(!self.cache.pools.is_empty(), all_known, now) {
            self.cache.clear_all_but_pools();
        }
        if self.cache.is_synced() && !self.schedule.has_begun() {
            self.schedule.invalidate(true);
            let (pools, nodes) = (self.cache.pools.facts().count(), self.cache.nodes.facts().count());
            self.notices.push(DedicatedPoolNotice::Synced { pools, nodes });
        }
        if self.reconcile_at(now).is_some_and(|at| at <= now) {
            self.reconcile(now);
        }
        self.checks.tick(self.plan.facts().len(), now);
    }

    fn next_effect(&mut self, lane: Lane, now: Now) -> Option<PoolEffect> {
        if !self.schedule.has_begun() || self.definition_absent {
            return None;
        }
        let effect = self
            .next_pool_effect(lane, now)
            .or_else(|| self.next_node_effect(lane, now.mono))
            .or_else(|| self.next_eviction(lane, now.mono))
            .or_else(|| self.next_guard(lane, now.mono))
            .or_else(|| self.next_probe(lane, now.mono))?;
        self.in_flight.begin(effect.key());
        Some(effect)
    }

    fn next_wakeup(&self) -> Option<Mono> {
        let ticked = self.ticked?;
        let guard_at = self.schedule.has_begun().then(|| self.guard.check_at(ticked));
        let guard_at = guard_at.into_iter().chain(self.guard.probe_at());
        let pulled = self.backoff.next_retry_after(ticked).into_iter().chain(guard_at);
        let timed = [self.reconcile_at(ticked), self.checks.due_at(), self.demand.ends_at()];
        pulled.filter(|at| *at > ticked).chain(timed.into_iter().flatten()).min()
    }

    fn take_notices(&mut self) -> Vec<DedicatedPoolNotice> {
        core::mem::take(&mut self.notices)
    }

    /// Whether every watch has completed a list, or there is nothing to list.
    fn is_synced(&self) -> bool {
        self.definition_absent || self.cache.is_synced()
    }
}

#[cfg(test)]
mod tests;
