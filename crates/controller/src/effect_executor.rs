//! Executes effects: holds the requests in flight, limits their number, and returns their results.
//!
//! - Invariant: each effect comes back exactly once; a request is sent the moment it is accepted or not at all.

use crate::concurrency_limit::{AimdLimit, RequestEnd};
use crate::metrics::{self, EffectMetrics};
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use taintward_core::api_error::ApiFailure;
use taintward_core::identity::PodRef;
use taintward_core::time::{Mono, Span};
use taintward_kube::api::RequestError;
use taintward_kube::clock::Clock;

/// A response as an engine input, and the error if the request failed.
pub(crate) type EffectResponse<I> = (I, Option<RequestError>);

/// A request that carries out an effect.
pub(crate) struct EffectRequest<I> {
    pub(crate) label: RequestLabel,
    pub(crate) response: BoxFuture<'static, EffectResponse<I>>,
}

/// Describes a request for logs and metrics.
#[derive(Clone, Debug)]
pub(crate) struct RequestLabel {
    /// The kind of request in metrics; `None` for the read of a pod.
    pub(crate) kind: Option<metrics::Effect>,
    /// The object, as text.
    pub(crate) object: String,
    /// The pod, if the request is about one.
    pub(crate) pod: Option<PodRef>,
}

impl RequestLabel {
    /// The name of the request.
    pub(crate) fn kind_name(&self) -> &'static str {
        self.kind.map_or("look", metrics::Effect::as_str)
    }

    /// The UID of the pod.
    pub(crate) fn uid(&self) -> Option<String> {
        self.pod.as_ref().map(|pod| pod.uid.to_string())
    }
}

/// The result of one effect.
pub(crate) struct EffectResult<I> {
    /// The input for the engine.
    pub(crate) input: I,
    /// Why the request failed.
    pub(crate) error: Option<RequestError>,
    pub(crate) label: RequestLabel,
    /// When the request was sent.
    pub(crate) sent: Mono,
    is_retry: bool,
    is_slow: bool,
}

/// Requests in flight.
pub(crate) struct EffectExecutor<I> {
    clock: Clock,
    metrics: EffectMetrics,
    limit: Option<(metrics::Controller, AimdLimit)>,
    in_flight: FuturesUnordered<BoxFuture<'static, EffectResult<I>>>,
    retries: usize,
    /// When the requests were sent that are not known to take long; of the others, the engine itself sends few.
    usual: Vec<Mono>,
}

/// A request without a response for this long waits for a webhook or a slow server: it takes no other's place, so that
/// one namespace does not delay the others (L6).
const STALLED_MIN: Span = Span::from_millis(500);

/// At most so many of these take no place: an API server that is slow for all gets only so many more requests.
const STALLED_MAX: usize = 32;

impl<I: Send + 'static> EffectExecutor<I> {
    /// Creates an executor that adapts the number of requests in flight; with `limited_as` `None`, the engine limits
    /// it.
    pub(crate) fn new(limited_as: Option<metrics::Controller>, clock: Clock, metrics: EffectMetrics) -> Self {
        let limit = limited_as.map(|controller| (controller, AimdLimit::new()));
        let executor =
            Self { clock, metrics, limit, in_flight: FuturesUnordered::new(), retries: 0, usual: Vec::new() };
        executor.publish_limit();
        executor
    }

    /// Whether one more request may be sent.
    pub(crate) fn has_room(&self) -> bool {
        self.limit.as_ref().is_none_or(|(_, limit)| self.counted() < limit.all())
    }

    /// How many requests take a place.
    fn counted(&self) -> usize {
        let stalled_since = self.clock.now().mono.minus(STALLED_MIN);
        let stalled = self.usual.iter().filter(|sent| **sent <= stalled_since).count();
        self.usual.len() - stalled.min(STALLED_MAX)
    }

    /// When there may be room although no request has ended; `None`: there is, or will not be.
    pub(crate) fn next_wakeup(&self) -> Option<Mono> {
        let now = self.clock.now().mono;
        let stalled_at = self.usual.iter().map(|sent| sent.plus(STALLED_MIN));
        stalled_at.filter(|at| now < *at).min().filter(|_| !self.has_room())
    }

    /// Whether one more retry may be sent.
    pub(crate) fn has_room_for_retry(&self) -> bool {
        self.has_room() && self.limit.as_ref().is_none_or(|(_, limit)| self.retries < limit.retries())
    }

    /// How many requests are in flight.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Sends a request.
    pub(crate) fn start(&mut self, request: EffectRequest<I>, is_retry: bool, is_slow: bool) {
        let EffectRequest { label, response } = request;
        let sent = self.clock.now().mono;
        if label.kind.is_some() {
            self.metrics.began();
        }
        let is_retry = is_retry && !is_slow;
        self.retries += usize::from(is_retry);
        if !is_slow {
            self.usual.push(sent);
        }
        self.in_flight.push(Box::pin(async move {
            let (input, error) = response.await;
            EffectResult { input, error, label, sent, is_retry, is_slow }
        }));
    }

    /// The next result; never returns while nothing is in flight.
    pub(crate) async fn next(&mut self) -> EffectResult<I> {
        let Some(result) = self.in_flight.next().await else { return std::future::pending().await };
        let now = self.clock.now().mono;
        let took = now.since(result.sent);
        let counted = self.counted();
        if let Some((_, limit)) = &mut self.limit {
            let overload = result.error.as_ref().is_some_and(|error| error.overload);
            let was_full = counted >= limit.all() || result.is_retry && self.retries >= limit.retries();
            limit.on_response(RequestEnd { overload, took, was_full, at: now });
        }
        self.retries -= usize::from(result.is_retry);
        if let Some(at) = self.usual.iter().position(|sent| !result.is_slow && *sent == result.sent) {
            self.usual.swap_remove(at);
        }
        self.publish_limit();
        if let Some(kind) = result.label.kind {
            let outcome = result.error.as_ref().map_or(Ok(()), |error| Err(error.failure));
            self.metrics.ended(kind, outcome, took);
        }
        result
    }

    fn publish_limit(&self) {
        if let Some((controller, limit)) = &self.limit {
            self.metrics.limit(*controller, limit.all());
        }
    }
}

/// Splits a response into the result for the engine and the error.
pub(crate) fn split_error<T>(
    result: Result<T, RequestError>,
) -> (Result<T, ApiFailure>, Option<RequestError>) {
    match result {
        Ok(value) => (Ok(value), None),
        Err(error) => (Err(error.failure), Some(error)),
    }
}

#[cfg(test)]
mod tests;
