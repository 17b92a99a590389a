//! Takes the responses to effects: into the cache, the backoff of retries, and notices.

use super::effect::{PoolEffect, PoolEffectFailure, PoolEffectKey, PoolResponse};
use super::{DedicatedPoolEngine, DedicatedPoolNotice, STATUS_PERIOD};
use crate::api_error::ApiFailure;
use crate::time::Mono;
use alloc::sync::Arc;

impl DedicatedPoolEngine {
    pub(super) fn effect_done(
        &mut self,
        effect: PoolEffect,
        result: Result<PoolResponse, PoolEffectFailure>,
        now: Mono,
    ) {
        let key = effect.key();
        if !self.in_flight.end(&key) {
            return;
        }
        match key {
            // The status that waits for the last of them, or that reports failures, is written within a second.
            PoolEffectKey::Node(_) => self.checks.all_after(STATUS_PERIOD, now),
            PoolEffectKey::Pool(_) | PoolEffectKey::Guard => self.checks.all_by(now),
            PoolEffectKey::Pod(_) | PoolEffectKey::GuardVersion => {}
        }
        match result {
            Ok(response) => {
                self.backoff.succeed(&key);
                self.take_response(effect, response, now);
            }
            Err(failure) => {
                if let (PoolEffect::ReconcileNode { .. }, ApiFailure::Unavailable) =
                    (&effect, failure.failure)
                {
                    self.unsure_until = Some(now.plus(self.config.longest_request));
                }
                match &effect {
                    PoolEffect::WriteGuard(guard) => self.guard.write_failed(guard, failure.message.clone()),
                    PoolEffect::AddGuardLabel(_) => self.guard.forget_written(),
                    _ => {}
                }
                self.backoff.fail(key, failure, now);
            }
        }
    }

    fn take_response(&mut self, effect: PoolEffect, response: PoolResponse, now: Mono) {
        match (response, effect) {
            (PoolResponse::Node { fact, is_written }, PoolEffect::ReconcileNode { node, plan }) => {
                // A newer plan may have other edits for it.
                if Arc::ptr_eq(&plan, &self.plan) {
                    self.nodes_to_write.remove(&node);
                }
                if is_written {
                    let record = fact.node.record.as_deref().filter(|_| plan.knows_holder(&fact.node));
                    self.notices.push(DedicatedPoolNotice::of_node(&node, &fact.uid, record));
                }
                self.schedule.invalidate(self.cache.nodes.put_response(*fact));
            }
            (PoolResponse::Pool(Some(after)), effect) => {
                if let PoolEffect::UpdateStatus { pool, .. } = &effect {
                    self.notices.extend(DedicatedPoolNotice::of_status(pool, &after));
                }
                self.guard.observe(&after, now);
                self.schedule.invalidate(self.cache.pools.put_response(*after));
            }
            (PoolResponse::Pool(None), PoolEffect::RemoveFinalizer(pool)) => {
                self.schedule.invalidate(self.cache.pools.remove(&pool.uid));
                self.notices.push(DedicatedPoolNotice::PoolGone { pool: pool.pool.name });
            }
            (PoolResponse::Evicted, PoolEffect::EvictPod { pool, pod, .. }) => {
                self.evicted.insert(pod.uid.clone());
                self.notices.push(DedicatedPoolNotice::PodEvicted { pool: pool.pool.name, pod });
            }
            (PoolResponse::Guard(written), PoolEffect::WriteGuard(guard)) => {
                self.guard.write_succeeded(*guard, written, now);
            }
            (PoolResponse::GuardVersion(version), _) => {
                let is_changed = self.guard.probed(version);
                if is_changed {
                    self.checks.all_by(now);
                }
            }
            _ => {}
        }
    }
}
