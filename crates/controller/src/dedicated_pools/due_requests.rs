//! # Due: which errands are begun now
//! Room:     what is missing between the world as it is and as it is to be: of pools, of nodes, of the names of nodes.
//! Comes in: the last judgement, what is known by now, what is under way or failed.
//! Goes out: errands, as long as there is room and the right to act.
//! Not here: carrying them out (`pool_effects.rs`); what comes of them (`pools.rs`).

use super::backoff::RetryKey;
use super::known_nodes::roster;
use super::pool_cache::CachedObject as _;
use super::pool_effects::PoolEffect;
use super::reconcile::{PoolPlan, is_remembered};
use super::{DedicatedPoolController, HOUSEKEEPING, ROUND, status_counts};
use std::sync::Arc;
use taintward_core::admission::pool::{PoolValidity, UnauthorizedPod};
use taintward_core::identity::NodeName;
use taintward_core::time::Span;
use taintward_kube::decode::PoolObject;
use taintward_kube::pools::status_patch;

/// The names of known nodes are looked at again after this time.
const ROSTER_AGAIN: Span = Span::from_secs(60);

impl DedicatedPoolController {
    pub(super) fn look_after_pools(&mut self) {
        let plan = Arc::clone(&self.plan);
        for (at, judged) in plan.seen.iter().enumerate() {
            let (now, key) = (self.clock.now().mono, RetryKey::Pool(judged.uid.clone()));
            if !self.executor.has_room_for_pools() {
                self.look = true;
                return;
            }
            let free = !self.executor.is_busy_with(&key) && self.retries.may_try(&key, now);
            // One that is another by now is judged anew first.
            let Some(pool) =
                self.world.pools.get(&judged.uid).filter(|now| free && now.says_the_same(judged))
            else {
                continue;
            };
            if let Some(effect) = self.effect(&plan, at, pool)
                && self.may_act()
            {
                if let PoolEffect::UpdateStatus(pool, _) = &effect {
                    self.told.insert(pool.uid.clone(), now);
                }
                self.executor.begin(effect, &plan);
            }
        }
    }

    /// What is to be done about a pool itself.
    fn effect(&self, plan: &PoolPlan, at: usize, seen: &PoolObject) -> Option<PoolEffect> {
        let (pool, now) = (&seen.pool, self.clock.now());
        let wants = !pool.leaving && plan.standing[at] != PoolValidity::Refused;
        let settled = !self.executor.is_writing_nodes() && now.mono >= self.unsure_until;
        let memory = &plan.memory[at];
        if pool.leaving && seen.is_held() && settled && memory.is_empty {
            return Some(PoolEffect::RemoveFinalizer(seen.clone()));
        }
        if wants && !seen.is_held() {
            return Some(PoolEffect::AddFinalizer(seen.clone()));
        }
        let counts = self.counts.get(at)?.clone();
        let told = status_counts::saying(plan, at, seen, counts, &self.retries, now.wall);
        if let Some(body) = status_patch(seen, &told, &memory.marks) {
            let urgent = wants && !is_remembered(pool);
            let last = self.told.get(&seen.uid);
            let due = urgent || last.is_none_or(|last| now.mono >= last.plus(HOUSEKEEPING));
            return due.then(|| PoolEffect::UpdateStatus(seen.clone(), body));
        }
        (!pool.leaving && settled && memory.may_forget).then(|| PoolEffect::PruneStatus(seen.clone()))
    }

    pub(super) fn look_after_nodes(&mut self) {
        let now = self.clock.now().mono;
        let free = |node: &&NodeName| {
            let key = RetryKey::Node((*node).clone());
            !self.executor.is_busy_with(&key) && self.retries.may_try(&key, now)
        };
        let room = self.executor.room_for_nodes();
        let due: Vec<NodeName> = self.todo.iter().filter(free).take(room).cloned().collect();
        for node in due {
            if self.may_act() {
                self.executor.begin(PoolEffect::ReconcileNode(node), &self.plan);
            }
        }
    }

    /// Pods of others are evicted, a few at a time. Whether one still has to go is asked again, of the API server.
    pub(super) fn look_after_trespassers(&mut self) {
        let now = self.clock.now().mono;
        let plan = Arc::clone(&self.plan);
        let evicted = plan.seen.iter().zip(&self.counts);
        let all = evicted.flat_map(|(pool, counts)| counts.evicted.iter().map(move |one| (pool, one)));
        let free = |(_, one): &(&PoolObject, &UnauthorizedPod)| {
            let key = RetryKey::Pod(one.uid.clone());
            !self.executor.is_busy_with(&key)
                && self.retries.may_try(&key, now)
                && !self.gone.contains(&one.uid)
        };
        let due = all.filter(free).take(self.executor.room_for_evictions());
        let due: Vec<PoolEffect> =
            due.map(|(pool, one)| PoolEffect::Evict(pool.clone(), one.clone())).collect();
        for effect in due {
            if self.may_act() {
                self.executor.begin(effect, &plan);
            }
        }
    }

    /// The admission policy learns which nodes are known: within a second or two where that has changed, and now and
    /// then, because anyone may have written there.
    pub(super) fn look_after_roster(&mut self) {
        let now = self.clock.now().mono;
        let Some(namespace) = self.namespace.clone() else { return };
        // Every name is looked at: not at each turn of the loop.
        if self.rostered.is_some_and(|last| now < last.plus(ROUND)) {
            return;
        }
        self.rostered = Some(now);
        if self.executor.is_busy_with(&RetryKey::Roster) || !self.retries.may_try(&RetryKey::Roster, now) {
            return;
        }
        let known = roster(&self.plan, &self.world.pools);
        let is_new =
            self.listed.as_ref().is_none_or(|(listed, at)| *listed != known || now >= at.plus(ROSTER_AGAIN));
        if is_new && self.may_act() {
            self.executor.begin(PoolEffect::WriteKnownNodes(namespace, known), &self.plan);
        }
    }
}
