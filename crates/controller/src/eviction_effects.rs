//! # Hands: carrying effects out
//! Room:     requests in flight, how many there may be, and what came of each.
//! Comes in: effects, decided just now.
//! Goes out: the answers as engine inputs.
//! Keeps:    each effect comes back exactly once; a request is sent the moment it is accepted or not at all; no DELETE
//!           is carried out when the confirmation that justifies it is older than W (S2).
//! Not here: whether we may act (`eviction.rs`), how a request looks (the client).

use crate::concurrency_limit::AimdLimit;
use crate::metrics::{self, Controller, EffectMetrics};
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use taintward_core::api_error::ApiFailure;
use taintward_core::eviction::{EvictionEffect, EvictionInput};
use taintward_core::identity::PodName;
use taintward_core::identity::PodRef;
use taintward_core::time::{Mono, Span};
use taintward_kube::api::{ApiClient, RequestError};
use taintward_kube::clock::Clock;

/// W of S2: how old a node's confirmation may be when a DELETE that it justifies is carried out, at most.
const JUSTIFIED_FOR: Span = Span::from_secs(5);

/// What came of one effect.
pub(crate) struct EffectResult {
    /// What the engine is told.
    pub(crate) input: EvictionInput,
    /// Why it failed, in words.
    pub(crate) refusal: Option<RequestError>,
    /// What it was.
    pub(crate) what: RequestLabel,
    retry: bool,
    sent: Mono,
}

/// What an effect was about, for logs.
#[derive(Clone, Debug)]
pub(crate) struct RequestLabel {
    /// The kind of request, as metrics name it; a look has no name of its own.
    pub(crate) kind: Option<metrics::Effect>,
    /// The object in words.
    pub(crate) object: String,
    /// The pod, unless it was about a node.
    pub(crate) pod: Option<PodRef>,
}

/// Requests in flight.
pub(crate) struct EvictionExecutor {
    api: ApiClient,
    clock: Clock,
    effects: EffectMetrics,
    limit: AimdLimit,
    in_flight: FuturesUnordered<BoxFuture<'static, EffectResult>>,
    retries: usize,
}

impl EvictionExecutor {
    pub(crate) fn new(api: ApiClient, clock: Clock, effects: EffectMetrics) -> Self {
        let limit = AimdLimit::new();
        effects.limit(Controller::TaintEviction, limit.all());
        Self { api, clock, effects, limit, in_flight: FuturesUnordered::new(), retries: 0 }
    }

    /// Whether one more request may be sent.
    pub(crate) fn has_room(&self) -> bool {
        self.in_flight.len() < self.limit.all()
    }

    /// Whether it may be a retry.
    pub(crate) fn has_room_for_retry(&self) -> bool {
        self.has_room() && self.retries < self.limit.retries()
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Sends the request of an effect.
    pub(crate) fn begin(&mut self, effect: EvictionEffect, retry: bool) {
        let sent = self.clock.now().mono;
        let what = RequestLabel::of(&effect);
        if what.kind.is_some() {
            self.effects.began();
        }
        self.retries += usize::from(retry);
        let (api, clock) = (self.api.clone(), self.clock.clone());
        self.in_flight.push(Box::pin(async move {
            let (input, refusal) = carry_out(&api, &clock, effect).await;
            EffectResult { input, refusal, what, retry, sent }
        }));
    }

    /// The next answer; waits for ever while nothing is in flight.
    pub(crate) async fn next(&mut self) -> EffectResult {
        let done = match self.in_flight.next().await {
            Some(done) => done,
            None => std::future::pending().await,
        };
        let now = self.clock.now().mono;
        self.retries -= usize::from(done.retry);
        let result = done.refusal.as_ref().map_or(Ok(()), |refusal| Err(refusal.failure));
        let overload = done.refusal.as_ref().is_some_and(|refusal| refusal.overload);
        self.limit.answered(overload, now.since(done.sent), self.in_flight.len() + 1, now);
        self.effects.limit(Controller::TaintEviction, self.limit.all());
        if let Some(kind) = done.what.kind {
            self.effects.ended(kind, result, now.since(done.sent));
        }
        done
    }
}

impl RequestLabel {
    fn of(effect: &EvictionEffect) -> Self {
        use metrics::Effect as Kind;
        let (kind, object, pod) = match effect {
            EvictionEffect::ReadNode { node } => (Some(Kind::Confirm), node.to_string(), None),
            EvictionEffect::SetDisruptionTarget { pod, name, .. } => {
                (Some(Kind::Mark), name.to_string(), Some(pod))
            }
            EvictionEffect::DeletePod { pod, name, .. } => (Some(Kind::Delete), name.to_string(), Some(pod)),
            EvictionEffect::ReadPod { pod, name } => (None, name.to_string(), Some(pod)),
            EvictionEffect::ClearDisruptionTarget { pod, name } => {
                (Some(Kind::Unmark), name.to_string(), Some(pod))
            }
        };
        Self { kind, object, pod: pod.cloned() }
    }
}

async fn carry_out(
    api: &ApiClient,
    clock: &Clock,
    effect: EvictionEffect,
) -> (EvictionInput, Option<RequestError>) {
    match effect {
        EvictionEffect::ReadNode { node } => {
            let (sent, read) = api.confirm_node(&node, clock).await;
            let (result, refusal) = split(read);
            (EvictionInput::NodeConfirmed { node, sent, result }, refusal)
        }
        EvictionEffect::SetDisruptionTarget { pod, name, version, generation, slow } => {
            // A mark has no age; its right to be sent has (S5).
            let patient = slow.then(|| api.stretched(api.longest_request())).flatten();
            let api = patient.as_ref().unwrap_or(api);
            let marked = api.mark(&name, &pod.uid, version, generation, clock.now().wall).await;
            let (result, refusal) = split(marked);
            (EvictionInput::Marked { pod, result }, refusal)
        }
        EvictionEffect::DeletePod { pod, name, version, confirmed, slow } => {
            let left = confirmed.plus(JUSTIFIED_FOR).since(clock.now().mono);
            let in_time = if slow { api.stretched(left) } else { api.within(left) };
            let deleted = match in_time {
                Some(api) => api.delete(&name, &pod.uid, version).await,
                None => Err(too_old(&name)),
            };
            let (result, refusal) = split(deleted);
            (EvictionInput::Deleted { pod, result }, refusal)
        }
        EvictionEffect::ReadPod { pod, name } => {
            let looked = api.look_at_pod(&name).await;
            let half_deleted = looked.as_ref().is_ok_and(|(_, half_deleted)| *half_deleted);
            let (result, refusal) = split(looked.map(|(reading, _)| reading));
            (EvictionInput::PodRead { pod, result, half_deleted }, refusal)
        }
        EvictionEffect::ClearDisruptionTarget { pod, name } => {
            let (result, refusal) = split(api.unmark(&name, &pod.uid).await);
            (EvictionInput::Unmarked { pod, result }, refusal)
        }
    }
}

/// The process slept between decision and request.
fn too_old(pod: &PodName) -> RequestError {
    let message = format!("the decision to delete {pod} is too old to be sent");
    RequestError::ours(ApiFailure::Unavailable, message)
}

/// The result for the engine, and the words for people.
fn split<T>(result: Result<T, RequestError>) -> (Result<T, ApiFailure>, Option<RequestError>) {
    match result {
        Ok(value) => (Ok(value), None),
        Err(refusal) => (Err(refusal.failure), Some(refusal)),
    }
}

#[cfg(test)]
mod tests;
