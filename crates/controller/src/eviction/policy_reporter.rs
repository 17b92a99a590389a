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
        self.has_changed |= engine.take_policy_changes();
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
