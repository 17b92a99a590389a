//! Runs `taintward status`: which replica leads, and what holds, brakes or delays evictions, once or continuously.
//!
//! - See `eviction_delays.rs` for how delays are found out.

mod cluster_status;
mod status_object;
mod status_text;
#[cfg(test)]
mod tests;

use crate::args::kube_args::{ClusterOptions, ServerOptions};
use crate::cluster_state::{ClusterReader, ClusterStateError};
use crate::messages::about;
use crate::output::{OutputArgs, PrintError, Printable as _};
use crate::runtime::Runtime;
use crate::stderr;
use crate::terminal_screen::{TerminalScreen, quit};
use clap::Args;
use cluster_status::ClusterStatus;
use std::io::{self, IsTerminal as _};
use std::process::ExitCode;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// Exit codes of `taintward status`.
pub(crate) const EXIT_CODES: [(u8, &str); 2] = [
    (0, "Everything that the cluster has was read; with -w: the user quit"),
    (1, "A part could not be read, or the command line is invalid; the other parts are printed"),
];

/// The interval between two drawings.
const REDRAWN_EVERY: Duration = Duration::from_secs(2);

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Reads and draws the status again every two seconds, on a terminal
    #[arg(short, long)]
    watch: bool,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    server: ServerOptions,
}

/// Why the status cannot be shown.
#[derive(Debug, thiserror::Error)]
enum StatusError {
    #[error(transparent)]
    ClusterState(#[from] ClusterStateError),
    #[error(transparent)]
    Print(#[from] PrintError),
    #[error("cannot use the terminal: {0}")]
    Terminal(#[from] io::Error),
    #[error("-w draws on a terminal, and standard output is none; omit -w")]
    NoTerminal,
}

impl StatusArgs {
    /// Checks the flags against each other.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        match self.watch && !self.output.is_for_people() {
            true => Err("-w supports the output formats table and wide only; omit -w for the others"),
            false => Ok(()),
        }
    }
}

pub(crate) fn run(options: &StatusArgs) -> ExitCode {
    stderr::exit_code(if options.watch { watch(options) } else { once(options) })
}

fn once(options: &StatusArgs) -> Result<ExitCode, StatusError> {
    let cluster = ClusterOptions::from(options.server.clone());
    let status = Runtime::new()?.block_on(async {
        let reader = ClusterReader::of(&cluster).await?;
        Ok::<_, ClusterStateError>(ClusterStatus::read(&reader).await)
    })?;
    options.output.print(&status)?;
    Ok(if status.read_errors().is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn watch(options: &StatusArgs) -> Result<ExitCode, StatusError> {
    if !io::stdout().is_terminal() {
        return Err(StatusError::NoTerminal);
    }
    let mut cluster = ClusterOptions::from(options.server.clone());
    cluster.server.timeout = cluster.server.timeout.only_each();
    Runtime::new()?.block_on(async {
        let reader = ClusterReader::of(&cluster).await?;
        let (mut interrupt, mut end) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let mut screen = TerminalScreen::enter()?;
        let mut quit = quit();
        let drawing = async {
            loop {
                let status = ClusterStatus::read(&reader).await;
                let mut view = options.output.view();
                // The size of the terminal may have changed.
                view.paper.width = TerminalScreen::size().0;
                let text = format!("{}\n{}", about(&status.from, status.now), status.human(&view));
                screen.draw(&(text + "\nPress q to quit.\n"))?;
                tokio::time::sleep(REDRAWN_EVERY).await;
            }
        };
        tokio::select! {
            failed = drawing => failed,
            _ = interrupt.recv() => Ok(ExitCode::SUCCESS),
            _ = end.recv() => Ok(ExitCode::SUCCESS),
            Some(()) = quit.recv() => Ok(ExitCode::SUCCESS),
        }
    })
}
