//! # Effects: carrying out what pools need
//! Room:     requests in flight, and what came of each.
//! Comes in: effects, decided just now.
//! Goes out: what the API server answered.
//! Keeps:    each effect comes back exactly once.
//! Not here: which is next, and how many there may be (the core); whether we may act (`write_permission.rs`).

use crate::metrics::{self, EffectMetrics};
use crate::write_permission::WritePermission;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use std::sync::Arc;
use taintward_core::admission::pool::{PoolExemptions, remembered};
use taintward_core::api_error::ApiFailure;
use taintward_core::dedicated_pools::{
    DedicatedPoolInput, PoolEffect, PoolEffectFailure, PoolFact, PoolNodeFact, PoolResponse,
};
use taintward_core::time::Mono;
use taintward_kube::api::{ApiClient, RequestError};
use taintward_kube::clock::Clock;
use taintward_kube::decode::{DecodedPod, NamespaceObject};
use taintward_kube::pools::{KNOWN_NODES, status_patch};

/// What came of an effect.
#[derive(Debug)]
pub(super) struct PoolEffectResult {
    pub(super) effect: PoolEffect,
    pub(super) result: Result<PoolResponse, RequestError>,
    sent: Mono,
}

impl PoolEffectResult {
    /// What the engine is told of it.
    pub(super) fn into_input(self) -> DedicatedPoolInput {
        let result = self.result.map_err(|refusal| PoolEffectFailure {
            failure: refusal.failure,
            message: refusal.message.into(),
        });
        DedicatedPoolInput::EffectDone { effect: self.effect, result }
    }
}

/// Requests in flight.
pub(super) struct PoolEffectExecutor {
    requests: Arc<PoolRequestContext>,
    effects: EffectMetrics,
    in_flight: FuturesUnordered<BoxFuture<'static, PoolEffectResult>>,
}

/// The kind of request, as metrics name it.
pub(super) const fn kind(effect: &PoolEffect) -> metrics::Effect {
    match effect {
        PoolEffect::AddFinalizer(_) | PoolEffect::RemoveFinalizer(_) => metrics::Effect::HoldPool,
        PoolEffect::UpdateStatus { .. } | PoolEffect::PruneStatus(_) => metrics::Effect::TellPool,
        PoolEffect::ReconcileNode { .. } => metrics::Effect::Dedicate,
        PoolEffect::EvictPod { .. } => metrics::Effect::EvictTrespasser,
        PoolEffect::WriteKnownNodes(_) => metrics::Effect::ListNodes,
    }
}

/// The name of the object that an effect is about.
pub(super) fn object(effect: &PoolEffect) -> &str {
    match effect {
        PoolEffect::AddFinalizer(pool)
        | PoolEffect::UpdateStatus { pool, .. }
        | PoolEffect::PruneStatus(pool)
        | PoolEffect::RemoveFinalizer(pool) => &pool.pool.name,
        PoolEffect::ReconcileNode { node, .. } => node.as_str(),
        PoolEffect::EvictPod { pod, .. } => pod.pod.name(),
        PoolEffect::WriteKnownNodes(_) => KNOWN_NODES,
    }
}

impl PoolEffectExecutor {
    pub(super) fn new(
        api: ApiClient,
        clock: Clock,
        permission: WritePermission,
        exemptions: Arc<PoolExemptions>,
        namespace: Arc<str>,
        effects: EffectMetrics,
    ) -> Self {
        let requests = Arc::new(PoolRequestContext { api, clock, permission, exemptions, namespace });
        Self { requests, effects, in_flight: FuturesUnordered::new() }
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Sends the requests of an effect.
    pub(super) fn begin(&mut self, effect: PoolEffect) {
        let (sent, requests) = (self.requests.clock.now().mono, Arc::clone(&self.requests));
        self.effects.began();
        self.in_flight.push(Box::pin(async move {
            let result = requests.carry_out(&effect).await;
            PoolEffectResult { effect, result, sent }
        }));
    }

    /// The next response; waits for ever while nothing is in flight.
    pub(super) async fn next(&mut self) -> PoolEffectResult {
        let Some(done) = self.in_flight.next().await else { return std::future::pending().await };
        let result = done.result.as_ref().map(|_| ()).map_err(|refusal| refusal.failure);
        self.effects.ended(kind(&done.effect), result, self.requests.clock.now().mono.since(done.sent));
        done
    }
}

/// What requests take.
struct PoolRequestContext {
    api: ApiClient,
    clock: Clock,
    permission: WritePermission,
    exemptions: Arc<PoolExemptions>,
    /// Where the known nodes are.
    namespace: Arc<str>,
}

impl PoolRequestContext {
    async fn carry_out(&self, effect: &PoolEffect) -> Result<PoolResponse, RequestError> {
        let api = &self.api;
        let pool = |pool: PoolFact| PoolResponse::Pool(Some(Box::new(pool)));
        match effect {
            PoolEffect::AddFinalizer(seen) => {
                Ok(PoolResponse::Pool(api.hold_pool(seen, true).await?.map(Box::new)))
            }
            PoolEffect::UpdateStatus { pool: seen, status, marks } => {
                let Some(body) = status_patch(seen, status, marks) else { return Ok(pool((**seen).clone())) };
                Ok(pool(api.write_pool_status(&seen.pool.name, body).await?))
            }
            PoolEffect::PruneStatus(seen) => {
                let marks = remembered(&seen.pool, &api.list_members().await?);
                let body = seen.recorded.as_ref().and_then(|status| status_patch(seen, status, &marks));
                let body = body.ok_or_else(|| still_on_nodes(seen))?;
                self.still_may()?;
                Ok(pool(api.write_pool_status(&seen.pool.name, body).await?))
            }
            PoolEffect::RemoveFinalizer(seen) => {
                if !remembered(&seen.pool, &api.list_members().await?).is_empty() {
                    return Err(still_on_nodes(seen));
                }
                self.still_may()?;
                Ok(PoolResponse::Pool(api.hold_pool(seen, false).await?.map(Box::new)))
            }
            PoolEffect::ReconcileNode { node, plan } => {
                let patched = api.write_member(node, |live| plan.desired_edits(&live.node)).await?;
                Ok(PoolResponse::Node { fact: Box::new(patched.seen), is_written: patched.written })
            }
            PoolEffect::EvictPod { pool, pod, plan } => {
                let is_still = |node: &PoolNodeFact, namespace: &NamespaceObject, live: &DecodedPod| {
                    live.resident().is_some_and(|fact| {
                        let pod = fact.resident(Some(&namespace.facts.labels));
                        plan.is_unauthorized(pool, &node.node, &pod, &self.exemptions)
                    })
                };
                api.evict_trespasser(pod, pool, is_still).await?;
                Ok(PoolResponse::Evicted)
            }
            PoolEffect::WriteKnownNodes(known) => {
                api.write_known_nodes(&self.namespace, known).await?;
                Ok(PoolResponse::KnownNodes)
            }
        }
    }

    /// A list of all nodes may take longer than the lease lasts (S5).
    fn still_may(&self) -> Result<(), RequestError> {
        match self.permission.is_given(self.clock.now().mono, self.api.longest_request()) {
            true => Ok(()),
            false => Err(conflict("nothing was written: the lease may be another's by now".to_owned())),
        }
    }
}

fn still_on_nodes(pool: &PoolFact) -> RequestError {
    conflict(format!("pool {} is still on nodes: they are looked at again", pool.pool.name))
}

fn conflict(message: String) -> RequestError {
    RequestError::ours(ApiFailure::Conflict, message)
}
