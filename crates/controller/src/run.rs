//! # Run: the whole controller
//! Room:     wiring the rooms together.
//! Comes in: settings, and the request to stop.
//! Goes out: an error that ends the process, or the end the operator asked for.
//! Not here: flags, signals, log formats.

use crate::admin::{Admin, ListenError, Listening};
use crate::metrics::{About, Metrics};
use crate::settings::{Mode, Settings};
use crate::shutdown::Shutdown;
use std::sync::Arc;
use taintward_core::time::{Mono, Wall};

/// Why the controller could not go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Metrics and health cannot be served.
    #[error(transparent)]
    Listen(#[from] ListenError),
}

/// Serves metrics and health until it is asked to stop.
///
/// # Errors
/// If the controller cannot start.
pub async fn run(settings: Settings, mut shutdown: Shutdown) -> Result<(), RunError> {
    let listening = Listening::open(&settings.serving).await?;
    let about = About {
        version: env!("CARGO_PKG_VERSION"),
        mode: if settings.mode == Mode::Enforce { "enforce" } else { "observe" },
        lease: settings.election.map_or_else(String::new, |election| election.name),
        started: Wall::from_micros(jiff::Timestamp::now().as_microsecond()),
    };
    let metrics = Arc::new(Metrics::new(Arc::new(|| Mono::from_micros(0)), &about));
    let admin = Arc::new(Admin { metrics, checks: Vec::new() });
    tokio::select! {
        never = listening.serve(admin) => match never {},
        () = shutdown.requested() => Ok(()),
    }
}
