//! # Reach: waiting for the API server
//! Room:     looks at the server until it answers.
//! Comes in: a client, the request to stop.
//! Goes out: whether to go on; an error that waiting cannot heal.
//! Not here: one look (the client).

use super::PROBE_MAX;
use crate::shutdown::Shutdown;
use std::time::Duration;
use taintward_client::connect::{ProbeError, probe};

/// The pause between two looks.
const PROBE_PAUSE: Duration = Duration::from_secs(3);

/// How a wait for the server ended.
pub(super) enum Asked {
    ToGoOn,
    ToStop,
}

/// Waits until the server answers; says why it does not. A certificate that does not fit is not waited for.
pub(super) async fn reach(client: &kube::Client, shutdown: &mut Shutdown) -> Result<Asked, ProbeError> {
    loop {
        let answer = tokio::select! {
            biased;
            () = shutdown.requested() => return Ok(Asked::ToStop),
            answer = probe(client, PROBE_MAX) => answer,
        };
        match answer {
            Ok(version) => {
                tracing::info!(version, "the API server answers");
                return Ok(Asked::ToGoOn);
            }
            // Who may do the work need not be allowed to ask for the version.
            Err(ProbeError::Forbidden(_)) => return Ok(Asked::ToGoOn),
            Err(error @ ProbeError::Certificate(_)) => return Err(error),
            Err(error) => tracing::warn!(err = %error, "waiting for the API server; trying again every 3 s"),
        }
        tokio::select! {
            biased;
            () = shutdown.requested() => return Ok(Asked::ToStop),
            () = tokio::time::sleep(PROBE_PAUSE) => {}
        }
    }
}
