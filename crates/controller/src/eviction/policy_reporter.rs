//! Reports what eviction policies do: metrics, log lines, and their status, at most every five seconds and only after a
//! change.

use crate::controller_context::ControllerContext;
use crate::log_rate_limit::LogRateLimit;
use crate::metrics::Effect;
use futures::future::BoxFuture;
use std::collections::BTreeMap;
use taintward_core::api_error::ApiFailure;
use taintward_core::eviction::{EvictionEngine, EvictionPolicyStatus};
use taintward_core::identity::Uid;
use taintward_core::status_condition::StatusCondition;
use taintward_core::time::{Mono, Now, Span};
use taintward_kube::api::{ApiClient, RequestError};
use taintward_kube::clock::Clock;

/// The pause between two rounds.
const PERIOD: Span = Span::from_secs(5);

/// How long a round waits for further changes, so that no status shows what lasts for a moment only: an eviction that a budget
/// rejects at once, a pod that is decided about again.
const SETTLE: Span = Span::from_secs(1);

/// A status to write, with the policy's name and UID.
type StatusWrite = (Box<str>, Uid, EvictionPolicyStatus);

/// A write, when it was sent, when it ended, and how.
type StatusWritten = (StatusWrite, Mono, Mono, Result<(), RequestError>);

/// Holds what was reported and written last, and the round of writes in flight.
pub(super) struct PolicyReporter {
    /// What the API server has, as far as this process wrote it.
    written: BTreeMap<Uid, EvictionPolicyStatus>,
    /// What a log line said last of each policy: its conditions.
    logged: BTreeMap<Uid, Vec<StatusCondition>>,
    /// A status may have changed since the last round.
    has_changed: bool,
    /// When the next round may begin.
    next_at: Mono,
    in_flight: Option<BoxFuture<'static, Vec<StatusWritten>>>,
    lines: LogRateLimit,
}

impl PolicyReporter {
    pub(super) fn new() -> Self {
        Self {
            written: BTreeMap::new(),
            logged: BTreeMap::new(),
            has_changed: true,
            next_at: Mono::from_secs(0),
            in_flight: None,
            lines: LogRateLimit::per_minute(1),
        }
    }

    /// Starts a round, if one is due.
    pub(super) fn start(&mut self, engine: &mut EvictionEngine, context: &ControllerContext, now: Now) {
        if engine.take_policy_changes() && !std::mem::replace(&mut self.has_changed, true) {
            self.next_at = self.next_at.max(now.mono.plus(SETTLE));
        }
        if !context.may_write() {
            // Another process may write now, so nothing is known about what the API server has.
            self.written.clear();
        }
        if !self.has_changed || self.is_in_flight() || now.mono < self.next_at {
            return;
        }
        (self.has_changed, self.next_at) = (false, now.mono.plus(PERIOD));
        let statuses = engine.policy_statuses(now);
        context.metrics.eviction_policies.set(statuses.iter().map(|(_, status)| status));
        self.written.retain(|uid, _| statuses.iter().any(|(fact, _)| fact.uid == *uid));
        self.logged.retain(|uid, _| statuses.iter().any(|(fact, _)| fact.uid == *uid));
        if !context.may_write() {
            self.has_changed = true;
            return;
        }
        for (fact, status) in &statuses {
            let before = self.logged.insert(fact.uid.clone(), status.conditions.clone()).unwrap_or_default();
            log_conditions(&fact.policy.name, &before, status);
        }
        let changed =
            statuses.into_iter().filter(|(fact, status)| self.written.get(&fact.uid) != Some(status));
        let writes: Vec<StatusWrite> =
            changed.map(|(fact, status)| (fact.policy.name.clone(), fact.uid.clone(), status)).collect();
        if !writes.is_empty() {
            writes.iter().for_each(|_| context.metrics.effects.began());
            self.in_flight = Some(Box::pin(write_all(context.api.clone(), context.clock.clone(), writes)));
        }
    }

    pub(super) const fn is_in_flight(&self) -> bool {
        self.in_flight.is_some()
    }

    /// When the next round is due; `None` while one is in flight, or nothing has changed.
    pub(super) fn next_wakeup(&self) -> Option<Mono> {
        (self.has_changed && !self.is_in_flight()).then_some(self.next_at)
    }

    /// Waits for the round in flight; never returns while there is none. Cancel-safe.
    pub(super) async fn finish(&mut self, context: &ControllerContext) {
        let Some(in_flight) = &mut self.in_flight else { return std::future::pending().await };
        let results = in_flight.await;
        self.in_flight = None;
        for ((name, uid, status), sent, ended, result) in results {
            let failure = result.as_ref().copied().map_err(|error| error.failure);
            context.metrics.effects.ended(Effect::UpdatePolicyStatus, failure, ended.since(sent));
            match result {
                Ok(()) => _ = self.written.insert(uid, status),
                // Its watch says whether it is gone, or another one has its name.
                Err(RequestError { failure: ApiFailure::NotFound | ApiFailure::Conflict, .. }) => {
                    self.written.remove(&uid);
                }
                Err(error) => {
                    self.written.remove(&uid);
                    self.has_changed = true;
                    if let Some(withheld) = self.lines.take(ended) {
                        let (policy, err) = (&*name, &*error.message);
                        tracing::warn!(policy, err, withheld, "cannot write the status of an EvictionPolicy");
                    }
                }
            }
        }
    }
}

/// Writes one status after the other.
async fn write_all(api: ApiClient, clock: Clock, writes: Vec<StatusWrite>) -> Vec<StatusWritten> {
    let mut results = Vec::with_capacity(writes.len());
    for write in writes {
        let sent = clock.now().mono;
        let result = api.write_eviction_policy_status((&write.0, &write.1), &write.2).await;
        results.push((write, sent, clock.now().mono, result));
    }
    results
}

/// One line for each condition that has changed.
fn log_conditions(policy: &str, before: &[StatusCondition], status: &EvictionPolicyStatus) {
    for now in &status.conditions {
        let was = before.iter().find(|one| one.kind == now.kind);
        let is_usual = |one: &StatusCondition| matches!(&*one.reason, "Applied" | "NotBlocked");
        let has_changed = was.map_or(!is_usual(now), |was| was.reason != now.reason);
        if !has_changed {
            continue;
        }
        let (condition, is, reason, message) = (&*now.kind, &*now.status, &*now.reason, &*now.message);
        match is_usual(now) {
            true => tracing::info!(policy, condition, is, reason, text = message, "eviction policy changed"),
            false => tracing::warn!(policy, condition, is, reason, text = message, "eviction policy changed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eviction::tests::{context, decoded};
    use crate::write_permission::WritePermission;
    use http::{Request, Response};
    use kube::client::Body;
    use serde_json::json;
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;
    use taintward_core::engine::Engine as _;
    use taintward_core::eviction::{EvictionConfig, EvictionInput};
    use taintward_core::eviction_policy::EvictionPolicyFact;
    use taintward_core::object_event::ObjectEvent;
    use taintward_core::time::Wall;

    /// The policy of this generation, which its status names. Its conditions have not changed since their last transition.
    fn policy(generation: i64, version: u32) -> EvictionInput {
        let condition = |kind: &str, status: &str, reason: &str| {
            json!({"type": kind, "status": status, "reason": reason, "message": "", "observedGeneration": 1,
                "lastTransitionTime": "2026-01-01T00:00:00Z"})
        };
        let fact: EvictionPolicyFact = decoded(&json!({
            "apiVersion": "taintward.io/v1alpha1", "kind": "EvictionPolicy",
            "metadata": {"name": "p", "uid": "u", "generation": generation, "resourceVersion": version.to_string()},
            "spec": {"taints": [{"key": "k"}]},
            "status": {"conditions": [condition("Ready", "True", "Applied"), condition("Blocked", "False", "NotBlocked")]},
        }));
        EvictionInput::Policies(ObjectEvent::Applied { fact, listed: false })
    }

    #[tokio::test(start_paused = true)]
    async fn a_status_that_lasts_for_a_moment_is_not_written() {
        let clock = Clock::of_runtime(Wall::from_secs(1_800_000_000));
        let written = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&written);
        let server = tower::service_fn(move |_: Request<Body>| {
            counted.fetch_add(1, Ordering::Relaxed);
            async { Ok::<_, Infallible>(Response::new(Body::from(b"{}".to_vec()))) }
        });
        let api = ApiClient::new(kube::Client::new(server, "default"), "test");
        let context = context(&clock, api, WritePermission::Always);
        let config = EvictionConfig { policies: true, ..EvictionConfig::default() };
        let (mut engine, mut reporter) = (EvictionEngine::new(config), PolicyReporter::new());
        for event in [ObjectEvent::ListStarted { silent_since: None }, ObjectEvent::ListCompleted] {
            engine.handle(EvictionInput::Policies(event), clock.now());
        }
        for (pause, input, expected) in [
            (0, policy(1, 1), 0),
            (60_000, policy(2, 2), 1),
            (900, policy(1, 3), 1),
            (60_000, policy(2, 4), 1),
            (6_000, policy(2, 5), 2),
        ] {
            tokio::time::sleep(Duration::from_millis(pause)).await;
            // What came before has settled, or not.
            for input in [None, Some(input)] {
                input.into_iter().for_each(|input| engine.handle(input, clock.now()));
                reporter.start(&mut engine, &context, clock.now());
                if reporter.is_in_flight() {
                    reporter.finish(&context).await;
                }
            }
            assert_eq!(written.load(Ordering::Relaxed), expected, "{pause}");
        }
    }
}
