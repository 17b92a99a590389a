//! Creates the requests of effects about dedicated pools.

use crate::controller_context::ControllerContext;
use crate::effect_executor::{EffectRequest, EffectResponse, RequestLabel};
use crate::metrics::Effect as Kind;
use crate::write_permission::WritePermission;
use std::sync::Arc;
use taintward_core::admission::pool::{PoolExemptions, remembered};
use taintward_core::api_error::ApiFailure;
use taintward_core::dedicated_pools::{
    DedicatedPoolInput, PoolEffect, PoolEffectFailure, PoolFact, PoolNodeFact, PoolResponse,
};
use taintward_kube::api::{ApiClient, RequestError};
use taintward_kube::clock::Clock;
use taintward_kube::decode::{DecodedPod, NamespaceObject};
use taintward_kube::pools::{POOL_GUARD, status_patch};

/// Creates requests.
pub(super) struct PoolRequests {
    exemptions: Arc<PoolExemptions>,
}

impl PoolRequests {
    pub(super) fn new(exemptions: Arc<PoolExemptions>) -> Self {
        Self { exemptions }
    }

    /// The request of an effect.
    pub(super) fn request(
        &self,
        effect: PoolEffect,
        context: &ControllerContext,
    ) -> EffectRequest<DedicatedPoolInput> {
        let request = PoolRequestContext {
            api: context.api.clone(),
            clock: context.clock.clone(),
            permission: context.permission.clone(),
            exemptions: Arc::clone(&self.exemptions),
        };
        let label = RequestLabel { kind: kind(&effect), object: object(&effect).to_owned(), pod: None };
        EffectRequest { label, response: Box::pin(async move { request.respond(effect).await }) }
    }
}

/// The kind of request, as metrics name it; none for a read.
const fn kind(effect: &PoolEffect) -> Option<Kind> {
    Some(match effect {
        PoolEffect::AddFinalizer(_)
        | PoolEffect::RemoveFinalizer(_)
        | PoolEffect::AddGuardLabel(_)
        | PoolEffect::RemoveGuardLabel(_) => Kind::HoldPool,
        PoolEffect::UpdateStatus { .. } | PoolEffect::PruneStatus(_) => Kind::UpdatePoolStatus,
        PoolEffect::ReconcileNode { .. } => Kind::Dedicate,
        PoolEffect::EvictPod { .. } => Kind::EvictUnauthorizedPod,
        PoolEffect::WriteGuard(_) => Kind::GuardPools,
        PoolEffect::ProbeGuard => return None,
    })
}

/// The name of the object that an effect is about.
fn object(effect: &PoolEffect) -> &str {
    match effect {
        PoolEffect::AddFinalizer(pool)
        | PoolEffect::UpdateStatus { pool, .. }
        | PoolEffect::PruneStatus(pool)
        | PoolEffect::AddGuardLabel(pool)
        | PoolEffect::RemoveGuardLabel(pool)
        | PoolEffect::RemoveFinalizer(pool) => &pool.pool.name,
        PoolEffect::ReconcileNode { node, .. } => node.as_str(),
        PoolEffect::EvictPod { pod, .. } => pod.pod.name(),
        PoolEffect::WriteGuard(_) | PoolEffect::ProbeGuard => POOL_GUARD,
    }
}

/// What requests need.
struct PoolRequestContext {
    api: ApiClient,
    clock: Clock,
    permission: WritePermission,
    exemptions: Arc<PoolExemptions>,
}

impl PoolRequestContext {
    async fn respond(&self, effect: PoolEffect) -> EffectResponse<DedicatedPoolInput> {
        match self.execute(&effect).await {
            Ok(response) => (DedicatedPoolInput::EffectDone { effect, result: Ok(response) }, None),
            Err(error) => {
                let message = error.message.as_str().into();
                let result = Err(PoolEffectFailure { failure: error.failure, message });
                (DedicatedPoolInput::EffectDone { effect, result }, Some(error))
            }
        }
    }

    async fn execute(&self, effect: &PoolEffect) -> Result<PoolResponse, RequestError> {
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
                api.evict_unauthorized_pod(pod, pool, is_still).await?;
                Ok(PoolResponse::Evicted)
            }
            PoolEffect::WriteGuard(guard) => Ok(PoolResponse::Guard(api.write_pool_guard(guard).await?)),
            PoolEffect::ProbeGuard => Ok(PoolResponse::GuardVersion(api.pool_guard_version().await?)),
            PoolEffect::AddGuardLabel(seen) => Ok(pool(api.label_pool(seen, true).await?)),
            PoolEffect::RemoveGuardLabel(seen) => Ok(pool(api.label_pool(seen, false).await?)),
        }
    }

    /// Rejects a write when the permission may be over: a list of all nodes may take longer than the lease lasts (S5).
    fn still_may(&self) -> Result<(), RequestError> {
        match self.permission.is_given(self.clock.now().mono, self.api.longest_request()) {
            true => Ok(()),
            false => Err(conflict("nothing was written: another replica may hold the lease now".to_owned())),
        }
    }
}

fn still_on_nodes(pool: &PoolFact) -> RequestError {
    conflict(format!(
        "taints or labels of pool {} are still on nodes: the controller checks them again",
        pool.pool.name
    ))
}

fn conflict(message: String) -> RequestError {
    RequestError::ours(ApiFailure::Conflict, message)
}
