//! Runs `taintward board`: serves the board of the current cluster on this machine until a signal stops it.

mod board_args;

pub(crate) use board_args::{BoardArgs, BoardOptions};

use crate::board::{BoardListener, BoardSource, CommandRunner};
use crate::cluster_state::{ClusterReader, ClusterStateError};
use crate::output;
use crate::runtime::Runtime;
use crate::say;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};

/// Exit codes of `taintward board`.
pub(crate) const EXIT_CODES: [(u8, &str); 2] = [
    (0, "A signal stopped the board"),
    (1, "The cluster could not be reached, the port could not be opened, or the command line is invalid"),
];

/// Why the board cannot be served.
#[derive(Debug, thiserror::Error)]
enum BoardError {
    #[error(transparent)]
    Cluster(#[from] ClusterStateError),
    #[error(
        "cannot listen on 127.0.0.1:{port}: {why}; choose another port with --port, or omit it for any free one"
    )]
    Listen { port: u16, why: io::Error },
    #[error("cannot start the async runtime: {0}")]
    Start(#[from] io::Error),
    #[error(transparent)]
    Print(#[from] output::PrintError),
}

pub(crate) fn run(options: &BoardOptions) -> ExitCode {
    say::exit_code(serve(options))
}

fn serve(options: &BoardOptions) -> Result<(), BoardError> {
    Runtime::new()?.block_on(async {
        let BoardOptions { port, cluster, namespace, flags } = options;
        let listener = BoardListener::open(*port).await;
        let listener = listener.map_err(|why| BoardError::Listen { port: *port, why })?;
        let reader = ClusterReader::of(cluster).await?;
        let (mut interrupt, mut end) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let clock = reader.clock.clone();
        let source = BoardSource {
            streams: reader.connected.streams.clone(),
            cluster: reader.place(),
            namespace: namespace.clone(),
            now: Box::new(move || clock.now()),
            speed: Box::new(|| 1.0),
            commands: Arc::new(CommandRunner::new(flags.clone())),
            sandbox: None,
        };
        output::print(&format!("The board of {} is at {}\n", reader.place(), listener.url()))?;
        say::note("the board only reads the cluster; press Ctrl-C to stop it");
        tokio::select! {
            never = listener.serve(source) => match never {},
            _ = interrupt.recv() => {}
            _ = end.recv() => {}
        }
        Ok(())
    })
}
