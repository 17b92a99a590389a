//! # Streams: listening to nodes and pods, and telling how it goes
//! Room:     the listeners' settings; their health as a readiness check, metrics and log lines.
//! Comes in: stream health from the client.
//! Goes out: checks, counters, a line whenever something changes for the worse or the better.
//! Not here: the streams themselves (the client), what is done with the facts (`brain.rs`).

use crate::metrics::{self, Resource, Restart, Watches};
use std::time::Duration;
use taintward_client::decode::Fact;
use taintward_client::listen::{Counters, Listener, Phase, Settings, StreamHealth};
use tokio::sync::watch;

/// Silence after which a stream no longer counts as in step: longer than the listener's own watchdog, which reconnects.
const SILENCE_MAX: Duration = Duration::from_secs(90);

/// A listener for one kind, which lists everything again so often; equal seeds spread its pauses equally.
pub(crate) fn listener<F: Fact>(
    client: kube::Client,
    relist_every: Option<Duration>,
    seed: Option<u64>,
) -> Listener<F> {
    let usual = Settings::default();
    Listener::new(client, Settings { relist_every, seed: seed.unwrap_or(usual.seed), ..usual })
}

/// Ready while the stream is in step with the server; a pause between two watches is no loss of step. So is one of a
/// kind that the server does not have: there is nothing to be in step with.
pub(crate) fn check(
    health: watch::Receiver<StreamHealth>,
) -> impl Fn() -> Result<(), String> + Send + Sync + 'static {
    move || {
        let health = health.borrow();
        if health.absent {
            return Ok(());
        }
        if let Some(missing) = health.missing {
            return Err(format!("may not {} {}", missing.verb, missing.resource));
        }
        match health.last_heard {
            _ if !health.synced_once => Err("not listed yet".into()),
            Some(heard) if heard.elapsed() <= SILENCE_MAX => Ok(()),
            _ => Err(format!("nothing heard for more than {} s", SILENCE_MAX.as_secs())),
        }
    }
}

/// Shows a stream's health in metrics and in the log, for as long as the stream lives.
pub(crate) async fn report(resource: Resource, mut health: watch::Receiver<StreamHealth>, watches: Watches) {
    let mut before = StreamHealth::default();
    loop {
        let now = health.borrow_and_update().clone();
        watches.entered(resource, phase(&now.phase));
        count(resource, &before.counters, &now.counters, &watches);
        if now.absent && !before.absent {
            tracing::info!(
                resource = resource.as_str(),
                "the API server has no such resource, so there is nothing to do about it; it is looked for again, every \
                 30 s at the latest"
            );
        }
        if let Phase::Waiting { why, .. } = &now.phase
            && !now.absent
            && now.counters.failures > before.counters.failures
        {
            tracing::warn!(
                resource = resource.as_str(),
                err = why.as_str(),
                "stream interrupted; it is taken up again"
            );
        }
        if let Some(missing) = now.missing.filter(|_| before.missing.is_none()) {
            let (verb, on, group) = (missing.verb, missing.resource, missing.group);
            tracing::error!(
                "permission missing: may not {verb} {on}; add to its ClusterRole: \
                 {{apiGroups: [\"{group}\"], resources: [\"{on}\"], verbs: [\"{verb}\"]}}"
            );
        }
        before = now;
        if health.changed().await.is_err() {
            return;
        }
    }
}

const fn phase(phase: &Phase) -> metrics::Phase {
    match phase {
        Phase::Connecting => metrics::Phase::Connecting,
        Phase::Listing => metrics::Phase::Listing,
        Phase::Watching => metrics::Phase::Watching,
        Phase::Waiting { .. } => metrics::Phase::Waiting,
    }
}

fn count(resource: Resource, before: &Counters, now: &Counters, watches: &Watches) {
    let failed = |counters: &Counters| {
        let named = counters.relists_410
            + counters.watch_lists_refused
            + counters.throttled
            + counters.forbidden
            + counters.stalls;
        counters.failures.saturating_sub(named)
    };
    for (reason, before, now) in [
        (Restart::Expired, before.relists_410, now.relists_410),
        (Restart::Unsupported, before.watch_lists_refused, now.watch_lists_refused),
        (Restart::Throttled, before.throttled, now.throttled),
        (Restart::Forbidden, before.forbidden, now.forbidden),
        (Restart::Stalled, before.stalls, now.stalls),
        (Restart::Failed, failed(before), failed(now)),
        (Restart::Closed, before.watches_closed, now.watches_closed),
        (Restart::Relist, before.relists_due, now.relists_due),
    ] {
        watches.restarts.of((resource, reason)).inc_by(now.saturating_sub(before));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{About, Metrics};
    use std::sync::Arc;
    use taintward_core::time::{Mono, Wall};

    #[test]
    fn l4_a_list_for_its_age_has_a_reason_of_its_own_and_is_no_failure() {
        let about = About { version: "", mode: "", lease: String::new(), started: Wall::from_secs(0) };
        let watches = Metrics::new(Arc::new(|| Mono::from_secs(0)), &about).watches;
        let restarts = |reason| watches.restarts.of((Resource::Pods, reason)).get();
        let first = Counters { watches_started: 1, ..Counters::default() };
        count(Resource::Pods, &Counters::default(), &first, &watches);
        let all = [Restart::Closed, Restart::Failed, Restart::Expired, Restart::Stalled, Restart::Relist];
        assert_eq!(all.map(restarts), [0; 5], "the first start is no restart");
        let again = Counters { watches_started: 2, relists_due: 1, ..first };
        count(Resource::Pods, &first, &again, &watches);
        assert_eq!(all.map(restarts), [0, 0, 0, 0, 1]);
        let closed = Counters { watches_started: 3, watches_closed: 1, ..again };
        count(Resource::Pods, &again, &closed, &watches);
        // A list for its age that fails is a failure as well.
        let failed = Counters { relists_due: 2, failures: 1, ..closed };
        count(Resource::Pods, &closed, &failed, &watches);
        assert_eq!(all.map(restarts), [1, 1, 0, 0, 2]);
    }
}
