//! Writes `timeAdded` for taints that were observed to appear without one (`--stamp-taints`, D1).
//!
//! - Invariant: one write per taint instance, which loses no concurrent edit.

use crate::controller_context::ControllerContext;
use crate::metrics::Effect;
use crate::text_time::moment;
use futures::future::BoxFuture;
use std::collections::VecDeque;
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::LiveRead;
use taintward_core::identity::{NodeName, Uid};
use taintward_core::taint::TaintEffect;
use taintward_core::time::{Mono, Span};
use taintward_kube::api::{ApiClient, RequestError, TimeAddedResult};
use taintward_kube::clock::Clock;

/// The largest number of waiting taints. Further ones stay without `timeAdded`, which only costs precision across
/// restarts.
const WAITING_MAX: usize = 10_000;

/// How many conflicts with other writers are retried; with the pauses, for about ten seconds.
const TRIES_MAX: u32 = 16;

/// The pause after the first conflict, and the longest.
const PAUSE_FIRST_MILLIS: i64 = 20;
const PAUSE_MAX: Span = Span::from_secs(1);

/// How long stamping pauses after a forbidden request; the pause doubles each time. A token that is being renewed is
/// back soon, one policy concerns one node, and a missing permission costs one request in a while.
const FORBIDDEN_FIRST: Span = Span::from_secs(1);
const FORBIDDEN_MAX: Span = Span::from_secs(60);

/// A taint that waits for its `timeAdded`.
#[derive(Clone, Debug)]
pub(crate) struct PendingTimestamp {
    node: NodeName,
    uid: Uid,
    key: Box<str>,
    at: Mono,
    tries: u32,
    not_before: Mono,
}

impl PendingTimestamp {
    /// Creates one for a taint that appeared at this time.
    pub(crate) fn new(node: NodeName, uid: Uid, key: Box<str>, at: Mono) -> Self {
        Self { node, uid, key, at, tries: 0, not_before: at }
    }
}

/// When a stamp was sent, which one, and the result.
type WriteResult = (Mono, PendingTimestamp, Result<(), RequestError>);

/// Holds the taints that wait for their stamp, and the request in flight.
#[derive(Default)]
pub(crate) struct TimeAddedWriter {
    waiting: VecDeque<PendingTimestamp>,
    in_flight: Option<BoxFuture<'static, WriteResult>>,
    /// The number of forbidden requests in a row, and when to try again.
    forbidden: u32,
    not_before: Option<Mono>,
}

impl TimeAddedWriter {
    pub(crate) fn add(&mut self, timestamp: PendingTimestamp) {
        if self.waiting.len() < WAITING_MAX {
            self.waiting.push_back(timestamp);
        }
    }

    /// Starts the next stamp that is due, unless one is in flight.
    pub(crate) fn start(&mut self, context: &ControllerContext, now: Mono) {
        if self.is_in_flight() {
            return;
        }
        let Some(next) = self.next(now) else { return };
        context.metrics.effects.began();
        let (api, clock) = (context.api.clone(), context.clock.clone());
        self.in_flight = Some(Box::pin(async move {
            let result = timestamp(&api, &clock, &next).await;
            (now, next, result)
        }));
    }

    /// Waits for the stamp in flight; never returns while there is none. Cancel-safe.
    pub(crate) async fn finish(&mut self, context: &ControllerContext) {
        let Some(in_flight) = &mut self.in_flight else { return std::future::pending().await };
        let (sent, timestamp, result) = in_flight.await;
        self.in_flight = None;
        let now = context.clock.now().mono;
        self.on_response(timestamp, &result, now);
        context.metrics.effects.ended(Effect::Stamp, result.map_err(|error| error.failure), now.since(sent));
    }

    pub(crate) fn is_in_flight(&self) -> bool {
        self.in_flight.is_some()
    }

    /// The next stamp that is due.
    fn next(&mut self, now: Mono) -> Option<PendingTimestamp> {
        if self.not_before.is_some_and(|moment| now < moment) {
            return None;
        }
        let position = self.waiting.iter().position(|timestamp| timestamp.not_before <= now)?;
        self.waiting.remove(position)
    }

    /// When the next stamp is due; `None` while one is in flight.
    pub(crate) fn next_wakeup(&self) -> Option<Mono> {
        if self.is_in_flight() {
            return None;
        }
        let earliest = self.waiting.iter().map(|timestamp| timestamp.not_before).min();
        earliest.map(|moment| self.not_before.map_or(moment, |not_before| moment.max(not_before)))
    }

    /// Handles the result of a stamp. If it is forbidden, logs one warning until a stamp is permitted again, and
    /// continues.
    fn on_response(&mut self, timestamp: PendingTimestamp, result: &Result<(), RequestError>, now: Mono) {
        if !matches!(result, Err(RequestError { failure: ApiFailure::Forbidden, .. })) {
            (self.forbidden, self.not_before) = (0, None);
        }
        match result {
            Ok(()) => {
                tracing::debug!(node = %timestamp.node, taint = %timestamp.key, "taint stamped with timeAdded")
            }
            Err(RequestError { failure: ApiFailure::Forbidden, message, .. }) => {
                if self.forbidden == 0 {
                    tracing::warn!(
                        flag = "--stamp-taints",
                        err = %message,
                        remedy = "grant the verb patch on nodes, or omit the flag",
                        "cannot stamp taints, because the permission is missing"
                    );
                }
                let pause = Span::from_micros(FORBIDDEN_FIRST.as_micros() << self.forbidden.min(10));
                self.forbidden = self.forbidden.saturating_add(1);
                self.not_before = Some(now.plus(pause.min(FORBIDDEN_MAX)));
                if timestamp.tries + 1 < TRIES_MAX {
                    self.again(timestamp, now);
                }
            }
            Err(RequestError { failure: ApiFailure::Conflict, .. }) if timestamp.tries + 1 < TRIES_MAX => {
                self.again(timestamp, now);
            }
            Err(RequestError { message, .. }) => {
                tracing::info!(node = %timestamp.node, taint = %timestamp.key, err = %message, "taint remains without timeAdded");
            }
        }
    }

    /// Retries after another writer's change. The next read may find another instance of the taint, so the retry's time
    /// is used: too late at worst, so that no pod leaves early (S3).
    fn again(&mut self, timestamp: PendingTimestamp, now: Mono) {
        let pause = Span::from_millis(PAUSE_FIRST_MILLIS << timestamp.tries.min(10)).min(PAUSE_MAX);
        let not_before = now.plus(pause);
        self.add(PendingTimestamp { tries: timestamp.tries + 1, at: not_before, not_before, ..timestamp });
    }
}

/// Stamps one taint if it still exists and still has no time.
///
/// The read and the patch share the timeout of one request, so that the permission to write that was checked before
/// covers both (S5).
async fn timestamp(api: &ApiClient, clock: &Clock, timestamp: &PendingTimestamp) -> Result<(), RequestError> {
    let now = clock.now();
    let over = now.mono.plus(api.longest_request());
    let LiveRead::Found(node) = api.read_node(&timestamp.node).await? else { return Ok(()) };
    let is_meant = |taint: &taintward_core::taint::Taint| {
        taint.effect == TaintEffect::NoExecute && taint.key == timestamp.key && taint.time_added.is_none()
    };
    let Some(index) = node.taints.iter().position(is_meant).filter(|_| node.uid == timestamp.uid) else {
        return Ok(());
    };
    let Some(hurried) = api.within(over.since(clock.now().mono)) else {
        let message = format!("reading node {} took too long: no time is left for the patch", timestamp.node);
        return Err(RequestError::ours(ApiFailure::Conflict, message));
    };
    match hurried.add_time_added(&node, index, now.wall_of(timestamp.at)).await? {
        TimeAddedResult::Done(_) | TimeAddedResult::NotNeeded => {
            tracing::debug!(node = %timestamp.node, at = moment(timestamp.at, now), "timeAdded written");
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected(failure: ApiFailure) -> Result<(), RequestError> {
        Err(RequestError::ours(failure, "no".into()))
    }

    fn timestamp() -> PendingTimestamp {
        PendingTimestamp::new(NodeName::new("n"), Uid::new("u"), "k".into(), Mono::from_secs(1))
    }

    #[test]
    fn a_conflict_is_tried_again_later_and_never_with_an_earlier_time() {
        let mut stamper = TimeAddedWriter::default();
        stamper.add(timestamp());
        let mut now = Mono::from_secs(2);
        for tries in 0..TRIES_MAX {
            let next = stamper.next(now).unwrap();
            assert_eq!((next.tries, stamper.next(now).is_none()), (tries, true));
            stamper.on_response(next, &rejected(ApiFailure::Conflict), now);
            assert!(stamper.next(now).is_none());
            if let Some(wake) = stamper.next_wakeup() {
                assert!(wake > now && wake <= now.plus(PAUSE_MAX));
                assert_eq!(stamper.waiting[0].at, wake);
                now = wake;
            }
        }
        assert!(stamper.waiting.is_empty() && stamper.next_wakeup().is_none());
    }

    #[test]
    fn what_is_done_or_refused_for_other_reasons_is_over() {
        for result in [Ok(()), rejected(ApiFailure::Rejected), rejected(ApiFailure::Unavailable)] {
            let mut stamper = TimeAddedWriter::default();
            stamper.on_response(timestamp(), &result, Mono::from_secs(2));
            assert!(stamper.waiting.is_empty());
            stamper.add(timestamp());
            assert!(stamper.next(Mono::from_secs(1)).is_some());
        }
    }

    #[test]
    fn without_permission_it_is_tried_again_after_growing_pauses() {
        let mut stamper = TimeAddedWriter::default();
        stamper.add(timestamp());
        let mut now = Mono::from_secs(2);
        for pause in [1, 2, 4, 8, 16, 32, 60, 60] {
            let next = stamper.next(now).unwrap();
            stamper.on_response(next, &rejected(ApiFailure::Forbidden), now);
            let until = now.plus(Span::from_secs(pause));
            assert_eq!(stamper.next_wakeup(), Some(until));
            assert!(stamper.next(until.minus(Span::from_micros(1))).is_none());
            now = until;
        }
        let next = stamper.next(now).unwrap();
        stamper.add(timestamp());
        stamper.on_response(next, &Ok(()), now);
        assert!(stamper.next(now).is_some(), "one success, and nothing waits any more");
        stamper.on_response(timestamp(), &rejected(ApiFailure::Forbidden), now);
        assert_eq!(stamper.next_wakeup(), Some(now.plus(FORBIDDEN_FIRST)));
    }

    #[test]
    fn without_the_permission_the_queue_does_not_grow() {
        let mut stamper = TimeAddedWriter::default();
        stamper.add(timestamp());
        let mut now = Mono::from_secs(2);
        while let Some(next) = stamper.next(now) {
            stamper.on_response(next, &rejected(ApiFailure::Forbidden), now);
            now = now.plus(FORBIDDEN_MAX);
        }
        assert!(stamper.waiting.is_empty() && now < Mono::from_secs(3600));
    }

    /// S5: a slow read leaves the patch the rest of one request's timeout.
    #[tokio::test(start_paused = true)]
    async fn read_and_patch_have_the_time_of_one_request() {
        const NODE: &str = r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","uid":"u","resourceVersion":"1"},
            "spec":{"taints":[{"key":"k","effect":"NoExecute"}]}}"#;
        let service = tower::service_fn(|request: http::Request<kube::client::Body>| async move {
            if request.method() != http::Method::GET {
                return std::future::pending().await;
            }
            tokio::time::sleep(std::time::Duration::from_millis(2_500)).await;
            let builder = http::Response::builder().header("content-type", "application/json");
            Ok::<_, std::convert::Infallible>(
                builder.body(kube::client::Body::from(NODE.as_bytes().to_vec())).unwrap(),
            )
        });
        let api = ApiClient::new(kube::Client::new(service, "default"), "test");
        let clock = Clock::of_runtime(taintward_core::time::Wall::from_secs(1_800_000_000));
        let (longest, began) = (api.longest_request(), clock.now().mono);
        let result = super::timestamp(&api, &clock, &timestamp()).await;
        assert_eq!(result.unwrap_err().failure, ApiFailure::Unavailable);
        let took = clock.now().mono.since(began);
        // The server got a timeout of one second, and received the patch before the client gave up.
        assert!(
            took.saturating_add(Span::from_secs(1)) <= longest.saturating_add(Span::from_millis(10)),
            "{took:?}"
        );
    }
}
