//! Waits until the API server answers.

use crate::shutdown::Shutdown;
use std::time::Duration;
use taintward_kube::config::{ProbeError, probe};
use tokio::sync::watch;

/// How long one look at the server may take.
pub(super) const PROBE_MAX: Duration = Duration::from_secs(5);

/// The pause between two looks.
const PROBE_PAUSE: Duration = Duration::from_secs(3);

/// How a wait for the server ended.
pub(super) enum StartupOutcome {
    ToGoOn,
    ToStop,
}

/// Ready once the server has answered.
pub(super) fn check(
    waiting: watch::Receiver<Option<String>>,
) -> impl Fn() -> Result<(), String> + Send + Sync + 'static {
    move || match &*waiting.borrow() {
        None => Ok(()),
        Some(why) => Err(why.clone()),
    }
}

/// Waits until the server answers; says why it does not, to people and, with each look, to `told`: the loops that beat
/// otherwise wait with us. A certificate that does not fit is waited for as well: a clock that is not set yet makes every
/// one look wrong, and the file with the authority may be replaced.
pub(super) async fn reach(
    client: &kube::Client,
    shutdown: &mut Shutdown,
    told: impl Fn(Option<String>),
) -> StartupOutcome {
    loop {
        let answer = tokio::select! {
            biased;
            () = shutdown.requested() => return StartupOutcome::ToStop,
            answer = probe(client, PROBE_MAX) => answer,
        };
        match answer {
            Ok(version) => {
                tracing::info!(version, "the API server answers");
                told(None);
                return StartupOutcome::ToGoOn;
            }
            // Who may do the work need not be allowed to ask for the version.
            Err(ProbeError::Forbidden(_)) => {
                told(None);
                return StartupOutcome::ToGoOn;
            }
            Err(error) => {
                tracing::warn!(err = %error, "waiting for the API server; trying again every 3 s");
                told(Some(error.to_string()));
            }
        }
        tokio::select! {
            biased;
            () = shutdown.requested() => return StartupOutcome::ToStop,
            () = tokio::time::sleep(PROBE_PAUSE) => {}
        }
    }
}
