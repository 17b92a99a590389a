//! # Hands: carrying out what node health asks for
//! Room:     requests in flight, how many there may be, and what came of each.
//! Comes in: effects, decided just now.
//! Goes out: the answers as inputs of the health engine.
//! Keeps:    each effect comes back exactly once.
//! Not here: whether we may act (`write_permission.rs`), how a request looks (the client).

use crate::concurrency_limit::AimdLimit;
use crate::metrics::{self, Controller, EffectMetrics};
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use taintward_core::api_error::ApiFailure;
use taintward_core::node_lifecycle::{NodeLifecycleEffect, NodeLifecycleInput};
use taintward_core::time::Mono;
use taintward_kube::api::{ApiClient, RequestError};
use taintward_kube::clock::Clock;

/// What came of one effect.
pub(super) struct NodeEffectResult {
    /// What the engine is told.
    pub(super) input: NodeLifecycleInput,
    /// Why it failed, in words.
    pub(super) refusal: Option<RequestError>,
    /// The kind of request, as metrics name it.
    pub(super) kind: metrics::Effect,
    /// The object in words.
    pub(super) object: String,
    sent: Mono,
}

/// Requests in flight.
pub(super) struct NodeEffectExecutor {
    api: ApiClient,
    clock: Clock,
    effects: EffectMetrics,
    limit: AimdLimit,
    in_flight: FuturesUnordered<BoxFuture<'static, NodeEffectResult>>,
}

impl NodeEffectExecutor {
    pub(super) fn new(api: ApiClient, clock: Clock, effects: EffectMetrics) -> Self {
        let limit = AimdLimit::new();
        effects.limit(Controller::NodeLifecycle, limit.all());
        Self { api, clock, effects, limit, in_flight: FuturesUnordered::new() }
    }

    pub(super) fn has_room(&self) -> bool {
        self.in_flight.len() < self.limit.all()
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Sends the request of an effect.
    pub(super) fn begin(&mut self, effect: NodeLifecycleEffect) {
        let sent = self.clock.now().mono;
        let (kind, object) = about(&effect);
        self.effects.began();
        let (api, clock) = (self.api.clone(), self.clock.clone());
        self.in_flight.push(Box::pin(async move {
            let (input, refusal) = carry_out(&api, &clock, effect, sent).await;
            NodeEffectResult { input, refusal, kind, object, sent }
        }));
    }

    /// The next answer; waits for ever while nothing is in flight.
    pub(super) async fn next(&mut self) -> NodeEffectResult {
        let Some(done) = self.in_flight.next().await else { return std::future::pending().await };
        let now = self.clock.now().mono;
        let result = done.refusal.as_ref().map_or(Ok(()), |refusal| Err(refusal.failure));
        let overload = done.refusal.as_ref().is_some_and(|refusal| refusal.overload);
        self.limit.answered(overload, now.since(done.sent), self.in_flight.len() + 1, now);
        self.effects.limit(Controller::NodeLifecycle, self.limit.all());
        self.effects.ended(done.kind, result, now.since(done.sent));
        done
    }
}

impl NodeEffectResult {
    /// How long it took.
    pub(super) const fn sent(&self) -> Mono {
        self.sent
    }
}

fn about(effect: &NodeLifecycleEffect) -> (metrics::Effect, String) {
    use metrics::Effect as Kind;
    match effect {
        NodeLifecycleEffect::ReadNode { node } => (Kind::ConfirmHealth, node.to_string()),
        NodeLifecycleEffect::PatchTaints { node, .. } => (Kind::Taint, node.name.to_string()),
        NodeLifecycleEffect::SetConditionsUnknown { node, .. } => (Kind::Declare, node.name.to_string()),
        NodeLifecycleEffect::PatchLabels { node, .. } => (Kind::Label, node.name.to_string()),
        NodeLifecycleEffect::SetPodNotReady { name, .. } => (Kind::Unready, name.to_string()),
    }
}

async fn carry_out(
    api: &ApiClient,
    clock: &Clock,
    effect: NodeLifecycleEffect,
    sent: Mono,
) -> (NodeLifecycleInput, Option<RequestError>) {
    match effect {
        NodeLifecycleEffect::ReadNode { node } => {
            let (result, refusal) = split(api.read_health(&node).await);
            (NodeLifecycleInput::Confirmed { node, sent, result }, refusal)
        }
        NodeLifecycleEffect::PatchTaints { node, version, add, remove, at, .. } => {
            let (result, refusal) = split(api.write_taints(&node, version, add, remove, at).await);
            (NodeLifecycleInput::Written { node: node.name, result }, refusal)
        }
        NodeLifecycleEffect::SetConditionsUnknown { node, version, conditions, at } => {
            let (result, refusal) = split(api.declare(&node, version, &conditions, at).await);
            (NodeLifecycleInput::Written { node: node.name, result }, refusal)
        }
        NodeLifecycleEffect::PatchLabels { node, version, os, arch } => {
            let labelled = api.label(&node, version, os.as_deref(), arch.as_deref()).await;
            let (result, refusal) = split(labelled);
            (NodeLifecycleInput::Written { node: node.name, result }, refusal)
        }
        NodeLifecycleEffect::SetPodNotReady { pod, name } => {
            let (result, refusal) = split(api.unready(&name, &pod.uid, clock.now().wall).await);
            (NodeLifecycleInput::PodMarked { pod, result }, refusal)
        }
    }
}

/// The result for the engine, and the words for people.
fn split<T>(result: Result<T, RequestError>) -> (Result<T, ApiFailure>, Option<RequestError>) {
    match result {
        Ok(value) => (Ok(value), None),
        Err(refusal) => (Err(refusal.failure), Some(refusal)),
    }
}
