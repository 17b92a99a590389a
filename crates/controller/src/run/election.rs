//! # Election: our part in it, and how it is shown
//! Room:     the lease's rules and our candidacy; leadership as metrics, log lines and a health check.
//! Comes in: settings; leadership from the client.
//! Goes out: what the client's election needs; series, lines, a check.
//! Not here: the election itself (the client), what leading permits (`right.rs`).

use super::LOOP_SILENCE_MAX;
use crate::metrics;
use crate::settings::{Election, Mode, Settings};
use std::time::Duration;
use taintward_client::clock::Clock;
use taintward_client::lease::{self, Leadership, Rules, RulesError};
use taintward_core::time::Span;
use tokio::sync::watch;

pub(super) fn rules(election: &Election) -> Result<Rules, RulesError> {
    let span = |length: Duration| Span::from_micros(i64::try_from(length.as_micros()).unwrap_or(i64::MAX));
    let (lease, renew) = (span(election.lease_duration), span(election.renew_deadline));
    Rules { lease, renew, retry: span(election.retry_period) }.check()
}

pub(super) fn candidate(election: &Election, rules: Rules, seed: Option<u64>) -> lease::Settings {
    lease::Settings {
        namespace: election.namespace.clone(),
        name: election.name.clone(),
        identity: seed.map_or_else(lease::identity, |seed| format!("seed_{seed:016x}")),
        rules,
    }
}

/// Whether this process acts without an election.
pub(super) fn right_of(settings: &Settings) -> Option<Mode> {
    settings.election.is_none().then_some(settings.mode)
}

/// Shows leadership in metrics and in the log.
pub(super) async fn report_lease(
    mut leadership: watch::Receiver<Leadership>,
    lease: metrics::Lease,
    alone: Option<Mode>,
) {
    match alone {
        Some(Mode::Enforce) => return lease.leads_alone(),
        Some(Mode::Observe) => return lease.follows(),
        None => {}
    }
    let mut shown = None;
    loop {
        let now = leadership.borrow_and_update().clone();
        match now.leading {
            true => lease.leads_until(now.valid_until),
            false => lease.follows(),
        }
        let news = (now.leading, now.holder.clone(), now.trouble.is_some());
        if shown.as_ref() != Some(&news) {
            let (leading, holder, trouble) = (now.leading, now.holder, now.trouble);
            match trouble {
                Some(trouble) => tracing::warn!(leading, holder, err = trouble, "trouble with the lease"),
                None => tracing::info!(leading, holder, "lease"),
            }
            shown = Some(news);
        }
        if leadership.changed().await.is_err() {
            return;
        }
    }
}

pub(super) fn lease_check(
    leadership: watch::Receiver<Leadership>,
    clock: Clock,
) -> impl Fn() -> Result<(), String> + Send + Sync + 'static {
    move || {
        let silent = clock.now().mono.since(leadership.borrow().loop_alive_at);
        match silent <= LOOP_SILENCE_MAX {
            true => Ok(()),
            false => Err(format!("the lease loop gave no sign of life for {:.0} s", silent.as_secs_f64())),
        }
    }
}
