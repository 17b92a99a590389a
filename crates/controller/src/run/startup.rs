//! Waits for the API server, learns its time, and provides the health checks of a waiting process.
//!
//! - Invariant: a waiting process is alive: a restart would not help.
//! - The first list is requested when the server's time is known, if its responses can tell it: without it, the countdowns
//!   of listed taints and pods start when the list is read (S4).

use super::{HealthState, PROBE_MAX, StartupOutcome, StartupState, WatchSet, election};
use crate::admin::{Check, Scope};
use crate::settings::ControllerSettings;
use crate::shutdown::Shutdown;
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use std::time::Duration;
use taintward_kube::clock::Clock;
use taintward_kube::config::{ProbeError, probe};
use taintward_kube::leader_election::{ElectionTimings, Leadership};
use tokio::sync::watch;

/// The pause between two probes.
const PROBE_PAUSE: Duration = Duration::from_secs(3);

/// How many dates are requested at once. Two more than that of the first response suffice; some requests may fail.
const DATES: usize = 8;

impl StartupState {
    pub(super) fn new(
        settings: &ControllerSettings,
        rules: Option<ElectionTimings>,
        (health, watches): (&HealthState, &WatchSet),
        clock: &Clock,
    ) -> Self {
        let (leadership_out, leadership) = watch::channel(Leadership::none(clock.now().mono));
        let (waiting, reason) = watch::channel(Some("no answer yet".to_owned()));
        let (lease_problem_out, lease_problem) = watch::channel(None);
        let mut checks = health.checks(settings, watches, clock);
        checks.push(Check::new("api-server", Scope::Ready, check(reason)));
        if let Some(rules) = rules {
            let alive = election::is_alive(leadership.clone(), clock.clone());
            let ready = election::is_within_reach(lease_problem, rules.lease, clock.clone());
            checks.push(Check::new("lease", Scope::Live, alive));
            checks.push(Check::new("lease-within-reach", Scope::Ready, ready));
        }
        Self { checks, leadership_out, leadership, lease_problem_out, waiting }
    }

    /// Waits until the API server answers. Meanwhile the loops that have not started do not count as stuck.
    pub(super) async fn wait(
        &self,
        client: &kube::Client,
        health: &HealthState,
        clock: &Clock,
        shutdown: &mut Shutdown,
    ) -> StartupOutcome {
        let report = |why| {
            health.beat();
            self.leadership_out.send_modify(|leadership| leadership.loop_alive_at = clock.now().mono);
            self.waiting.send_replace(why);
        };
        if let StartupOutcome::Stopped = wait_for_api_server(client, shutdown, report).await {
            return StartupOutcome::Stopped;
        }
        tokio::select! {
            biased;
            () = shutdown.requested() => StartupOutcome::Stopped,
            () = learn_server_time(client, clock) => StartupOutcome::Connected,
        }
    }
}

/// Requests dates until the server's time is known, or until no response is left that could tell it.
async fn learn_server_time(client: &kube::Client, clock: &Clock) {
    let mut probes: FuturesUnordered<_> = (0..DATES).map(|_| probe(client, PROBE_MAX)).collect();
    while clock.is_by_the_server() && clock.offset().is_none() && probes.next().await.is_some() {}
}

/// Ready once the server has answered.
fn check(
    waiting: watch::Receiver<Option<String>>,
) -> impl Fn() -> Result<(), String> + Send + Sync + 'static {
    move || match &*waiting.borrow() {
        None => Ok(()),
        Some(why) => Err(why.clone()),
    }
}

/// Waits until the server answers. Logs why it does not, and calls `report` with each probe to keep the heartbeats
/// alive. It also waits when a certificate is rejected: every one is while the local clock is not set, and the CA file
/// may be replaced.
async fn wait_for_api_server(
    client: &kube::Client,
    shutdown: &mut Shutdown,
    report: impl Fn(Option<String>),
) -> StartupOutcome {
    loop {
        let request = tokio::select! {
            biased;
            () = shutdown.requested() => return StartupOutcome::Stopped,
            request = probe(client, PROBE_MAX) => request,
        };
        match request {
            Ok(version) => {
                tracing::info!(version, "the API server answers");
                report(None);
                return StartupOutcome::Connected;
            }
            // The account may have all other permissions without the one to read the version.
            Err(ProbeError::Forbidden(_)) => {
                report(None);
                return StartupOutcome::Connected;
            }
            Err(error) => {
                tracing::warn!(err = %error, "waiting for the API server, retrying every 3 s");
                report(Some(error.to_string()));
            }
        }
        tokio::select! {
            biased;
            () = shutdown.requested() => return StartupOutcome::Stopped,
            () = tokio::time::sleep(PROBE_PAUSE) => {}
        }
    }
}
