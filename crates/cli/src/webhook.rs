//! Runs `taintward webhook`.
//!
//! - See `webhook/webhook_args.rs` for the flags, `webhook/webhook_run.rs` for the work.

mod webhook_args;
mod webhook_run;

pub(crate) use webhook_args::WebhookOptions;

use crate::runtime::Runtime;
use std::error::Error;
use std::io;
use std::process::ExitCode;
use taintward_controller::logging;
use taintward_controller::shutdown::Shutdown;
use webhook_run::{WebhookError, WebhookSettings, run};

/// Why the command failed.
#[derive(Debug, thiserror::Error)]
enum WebhookCommandError {
    #[error("cannot start the async runtime: {0}")]
    Start(#[from] io::Error),
    #[error(transparent)]
    Webhook(#[from] WebhookError),
}

pub(crate) fn serve(options: WebhookOptions) -> ExitCode {
    if let Err(error) = logging::start(options.logging) {
        // A failed write is ignored.
        crate::stderr::error(format!("cannot start logging: {error}"));
        return ExitCode::FAILURE;
    }
    match drive(options.settings) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            tracing::error!(err = &failure as &dyn Error, "the webhook cannot continue");
            ExitCode::FAILURE
        }
    }
}

/// One thread, which answers tens of thousands of reviews per second (docs/benchmarks-webhook.md): with a second one,
/// each review would also cost a context switch.
fn drive(settings: WebhookSettings) -> Result<(), WebhookCommandError> {
    let runtime = Runtime::new()?;
    runtime.block_on(async {
        let shutdown = Shutdown::on_signals()?;
        Ok(run(settings, shutdown).await?)
    })
}
