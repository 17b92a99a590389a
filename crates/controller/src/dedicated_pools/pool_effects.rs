//! # Hands: carrying out what pools need
//! Room:     requests in flight, how many there may be, and what came of each.
//! Comes in: errands, decided just now.
//! Goes out: what the API server answered.
//! Keeps:    one errand at a time for each node and pool; each comes back exactly once.
//! Not here: whether we may act (`permission.rs`); which errand is next (`pools.rs`).

use super::backoff::RetryKey;
use super::reconcile::PoolPlan;
use crate::metrics::{self, EffectMetrics};
use crate::write_permission::WritePermission;
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use std::collections::BTreeSet;
use std::sync::Arc;
use taintward_core::admission::pool::{PoolExemptions, UnauthorizedPod, is_trespasser, remembered};
use taintward_core::api_error::ApiFailure;
use taintward_core::identity::NodeName;
use taintward_core::time::Mono;
use taintward_kube::api::{ApiClient, PatchedNode, RequestError};
use taintward_kube::clock::Clock;
use taintward_kube::decode::{DecodedPod, NamespaceObject, PoolNodeObject, PoolObject};
use taintward_kube::pools::{KNOWN_NODES, KnownNodes, status_patch};

/// Nodes that are written at once, at most.
const NODES_AT_ONCE: usize = 8;

/// Pools that are written at once, at most.
const POOLS_AT_ONCE: usize = 4;

/// Pods that are evicted at once, at most: none is urgent, and each takes five requests.
const EVICTIONS_AT_ONCE: usize = 2;

/// Something to do.
#[derive(Clone, Debug)]
pub(super) enum PoolEffect {
    /// Put our finalizer on a pool.
    AddFinalizer(PoolObject),
    /// Write a pool's status.
    UpdateStatus(PoolObject, Bytes),
    /// Let a pool's status forget what is on no node any more, as a live look at all of them says.
    PruneStatus(PoolObject),
    /// Take our finalizer off a pool that is being deleted, if a live look at all nodes finds nothing of it.
    RemoveFinalizer(PoolObject),
    /// Make a node what it is to be.
    ReconcileNode(NodeName),
    /// Evict a pod of others from a node of this pool.
    Evict(PoolObject, UnauthorizedPod),
    /// Tell the admission policy, in this namespace, which nodes are known.
    WriteKnownNodes(Arc<str>, KnownNodes),
}

/// What the API server answered.
#[derive(Debug)]
pub(super) enum PoolResponse {
    /// The pool afterwards; `None`: it is gone.
    Pool(Option<Box<PoolObject>>),
    /// The node afterwards.
    Node(Box<PatchedNode>),
    /// The eviction is accepted: the pod is leaving.
    Leaving,
    /// The names of known nodes are in step, if a policy reads them.
    Roster,
}

/// What came of an errand.
#[derive(Debug)]
pub(super) struct PoolEffectResult {
    pub(super) effect: PoolEffect,
    pub(super) key: RetryKey,
    pub(super) result: Result<PoolResponse, RequestError>,
    sent: Mono,
}

/// Requests in flight.
pub(super) struct PoolEffectExecutor {
    api: ApiClient,
    clock: Clock,
    permission: WritePermission,
    exemptions: Arc<PoolExemptions>,
    effects: EffectMetrics,
    busy: BTreeSet<RetryKey>,
    nodes: usize,
    in_flight: FuturesUnordered<BoxFuture<'static, PoolEffectResult>>,
}

impl PoolEffect {
    pub(super) fn key(&self) -> RetryKey {
        match self {
            Self::AddFinalizer(pool)
            | Self::UpdateStatus(pool, _)
            | Self::PruneStatus(pool)
            | Self::RemoveFinalizer(pool) => RetryKey::Pool(pool.uid.clone()),
            Self::ReconcileNode(node) => RetryKey::Node(node.clone()),
            Self::Evict(_, trespasser) => RetryKey::Pod(trespasser.uid.clone()),
            Self::WriteKnownNodes(..) => RetryKey::Roster,
        }
    }

    /// The kind of request, as metrics name it.
    pub(super) const fn kind(&self) -> metrics::Effect {
        match self {
            Self::AddFinalizer(_) | Self::RemoveFinalizer(_) => metrics::Effect::HoldPool,
            Self::UpdateStatus(..) | Self::PruneStatus(_) => metrics::Effect::TellPool,
            Self::ReconcileNode(_) => metrics::Effect::Dedicate,
            Self::Evict(..) => metrics::Effect::EvictTrespasser,
            Self::WriteKnownNodes(..) => metrics::Effect::ListNodes,
        }
    }

    /// The object in words.
    pub(super) fn object(&self) -> &str {
        match self {
            Self::AddFinalizer(pool)
            | Self::UpdateStatus(pool, _)
            | Self::PruneStatus(pool)
            | Self::RemoveFinalizer(pool) => &pool.pool.name,
            Self::ReconcileNode(node) => node.as_str(),
            Self::Evict(_, trespasser) => trespasser.pod.name(),
            Self::WriteKnownNodes(..) => KNOWN_NODES,
        }
    }
}

impl PoolEffectExecutor {
    pub(super) fn new(
        api: ApiClient,
        clock: Clock,
        permission: WritePermission,
        exemptions: Arc<PoolExemptions>,
        effects: EffectMetrics,
    ) -> Self {
        let (busy, in_flight) = (BTreeSet::new(), FuturesUnordered::new());
        Self { api, clock, permission, exemptions, effects, busy, nodes: 0, in_flight }
    }

    /// How many nodes more may be written at once.
    pub(super) fn room_for_nodes(&self) -> usize {
        NODES_AT_ONCE.saturating_sub(self.nodes)
    }

    pub(super) fn has_room_for_pools(&self) -> bool {
        let others = |key: &&RetryKey| !matches!(key, RetryKey::Node(_) | RetryKey::Pod(_));
        self.busy.iter().filter(others).count() < POOLS_AT_ONCE
    }

    pub(super) fn is_busy_with(&self, key: &RetryKey) -> bool {
        self.busy.contains(key)
    }

    /// How many pods more may be evicted at once.
    pub(super) fn room_for_evictions(&self) -> usize {
        let under_way = self.busy.iter().filter(|key| matches!(key, RetryKey::Pod(_))).count();
        EVICTIONS_AT_ONCE.saturating_sub(under_way)
    }

    /// Whether some node is being written.
    pub(super) fn is_writing_nodes(&self) -> bool {
        self.nodes > 0
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Sends the requests of an errand.
    pub(super) fn begin(&mut self, effect: PoolEffect, plan: &Arc<PoolPlan>) {
        let (sent, key) = (self.clock.now().mono, effect.key());
        self.effects.began();
        self.busy.insert(key.clone());
        self.nodes += usize::from(matches!(effect, PoolEffect::ReconcileNode(_)));
        let (api, clock, permission) = (self.api.clone(), self.clock.clone(), self.permission.clone());
        let way = PoolRequestContext { api, clock, permission, exemptions: Arc::clone(&self.exemptions) };
        let plan = Arc::clone(plan);
        self.in_flight.push(Box::pin(async move {
            let result = way.carry_out(&effect, &plan).await;
            PoolEffectResult { effect, key, result, sent }
        }));
    }

    /// The next answer; waits for ever while nothing is in flight.
    pub(super) async fn next(&mut self) -> PoolEffectResult {
        let Some(done) = self.in_flight.next().await else { return std::future::pending().await };
        self.busy.remove(&done.key);
        self.nodes -= usize::from(matches!(done.effect, PoolEffect::ReconcileNode(_)));
        let result = done.result.as_ref().map(|_| ()).map_err(|refusal| refusal.failure);
        self.effects.ended(done.effect.kind(), result, self.clock.now().mono.since(done.sent));
        done
    }
}

/// What an errand takes.
struct PoolRequestContext {
    api: ApiClient,
    clock: Clock,
    permission: WritePermission,
    exemptions: Arc<PoolExemptions>,
}

impl PoolRequestContext {
    async fn carry_out(&self, effect: &PoolEffect, plan: &PoolPlan) -> Result<PoolResponse, RequestError> {
        let api = &self.api;
        let pool = |pool: PoolObject| PoolResponse::Pool(Some(Box::new(pool)));
        match effect {
            PoolEffect::AddFinalizer(seen) => {
                Ok(PoolResponse::Pool(api.hold_pool(seen, true).await?.map(Box::new)))
            }
            PoolEffect::UpdateStatus(seen, body) => {
                Ok(pool(api.write_pool_status(&seen.pool.name, body.clone()).await?))
            }
            PoolEffect::PruneStatus(seen) => {
                let past = remembered(&seen.pool, &api.list_members().await?);
                let body = seen.recorded.as_ref().and_then(|told| status_patch(seen, told, &past));
                let Some(body) = body else { return Ok(pool(seen.clone())) };
                self.still_may()?;
                Ok(pool(api.write_pool_status(&seen.pool.name, body).await?))
            }
            PoolEffect::RemoveFinalizer(seen) => {
                if !remembered(&seen.pool, &api.list_members().await?).is_empty() {
                    let name = &seen.pool.name;
                    return Err(conflict(format!("pool {name} is still on nodes: they are looked at again")));
                }
                self.still_may()?;
                Ok(PoolResponse::Pool(api.hold_pool(seen, false).await?.map(Box::new)))
            }
            PoolEffect::ReconcileNode(node) => {
                let written = api.write_member(node, |live| plan.intent(&live.node)).await?;
                Ok(PoolResponse::Node(Box::new(written)))
            }
            PoolEffect::Evict(pool, trespasser) => {
                let is_still = |node: &PoolNodeObject, namespace: &NamespaceObject, pod: &DecodedPod| {
                    let resident = pod.resident();
                    plan.owns(pool, &node.node)
                        && resident.is_some_and(|fact| {
                            let resident = fact.resident(Some(&namespace.facts.labels));
                            is_trespasser(&pool.pool, &resident, &self.exemptions)
                        })
                };
                api.evict_trespasser(trespasser, pool, is_still).await?;
                Ok(PoolResponse::Leaving)
            }
            PoolEffect::WriteKnownNodes(namespace, known) => {
                api.write_known_nodes(namespace, known).await?;
                Ok(PoolResponse::Roster)
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

fn conflict(message: String) -> RequestError {
    RequestError::ours(ApiFailure::Conflict, message)
}
