//! Provides health checks while the process waits for the API server.
//!
//! - Invariant: a waiting process is alive: a restart would not help.

use super::election::{self, LeaseProblem};
use super::health::HealthState;
use super::wait_for_api_server::{self, StartupOutcome};
use super::watches::WatchSet;
use crate::admin::{Check, Scope};
use crate::settings::ControllerSettings;
use crate::shutdown::Shutdown;
use taintward_kube::clock::Clock;
use taintward_kube::leader_election::{ElectionTimings, Leadership};
use tokio::sync::watch;

/// What is there before the API server answers.
pub(super) struct StartupState {
    pub(super) checks: Vec<Check>,
    pub(super) leadership_out: watch::Sender<Leadership>,
    pub(super) leadership: watch::Receiver<Leadership>,
    pub(super) lease_told: watch::Sender<LeaseProblem>,
    waiting: watch::Sender<Option<String>>,
}

impl StartupState {
    pub(super) fn new(
        settings: &ControllerSettings,
        rules: Option<ElectionTimings>,
        (signs, watches): (&HealthState, &WatchSet),
        clock: &Clock,
    ) -> Self {
        let (leadership_out, leadership) = watch::channel(Leadership::none(clock.now().mono));
        let (waiting, waited_for) = watch::channel(Some("no answer yet".to_owned()));
        let (lease_told, lease_trouble) = watch::channel(None);
        let mut checks = signs.checks(settings, watches);
        checks.push(Check::new("api-server", Scope::Ready, wait_for_api_server::check(waited_for)));
        if let Some(rules) = rules {
            let alive = election::is_alive(leadership.clone(), clock.clone());
            let ready = election::is_within_reach(lease_trouble, rules.lease, clock.clone());
            checks.push(Check::new("lease", Scope::Live, alive));
            checks.push(Check::new("lease-within-reach", Scope::Ready, ready));
        }
        Self { checks, leadership_out, leadership, lease_told, waiting }
    }

    /// Waits until the API server answers. The loops that have not begun are not stuck.
    pub(super) async fn reach(
        &self,
        client: &kube::Client,
        signs: &HealthState,
        clock: &Clock,
        shutdown: &mut Shutdown,
    ) -> StartupOutcome {
        let told = |why| {
            signs.beat();
            self.leadership_out.send_modify(|known| known.loop_alive_at = clock.now().mono);
            self.waiting.send_replace(why);
        };
        wait_for_api_server::reach(client, shutdown, told).await
    }
}
