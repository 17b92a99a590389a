//! Runs `taintward board`: serves the board of the current cluster on this machine until a signal stops it.

use crate::args::kube_args::{ClusterOptions, ServerOptions};
use crate::board::{BoardListener, BoardRecord, BoardSource, CommandRunner};
use crate::cluster_state::{ClusterReader, ClusterStateError};
use crate::completion_kind::CompletionKind;
use crate::history::HistoryError;
use crate::output;
use crate::runtime::Runtime;
use crate::stderr;
use clap::Args;
use std::io;
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};

/// Exit codes of `taintward board`.
pub(crate) const EXIT_CODES: [(u8, &str); 2] = [
    (0, "A signal stopped the board"),
    (1, "The cluster could not be reached, the port could not be opened, or the command line is invalid"),
];

#[derive(Debug, Args)]
pub(crate) struct BoardArgs {
    /// The port on 127.0.0.1 for the board; 0 means any free port
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// Shows pods and workloads of this namespace only. The default is all namespaces
    #[arg(short, long, value_name = "NAME", add = CompletionKind::Namespace.completer())]
    namespace: Option<String>,
    /// A record, for what happened before: a folder that --record-dir named, a file, or the address of a running
    /// controller's --secure-port, such as https://127.0.0.1:10358
    #[arg(long, value_name = "FILE|FOLDER|URL", value_parser = BoardRecord::parse)]
    record: Option<BoardRecord>,
    #[command(flatten)]
    server: ServerOptions,
}

/// Why the board cannot be served.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BoardError {
    #[error(transparent)]
    Cluster(#[from] ClusterStateError),
    #[error(transparent)]
    Record(#[from] HistoryError),
    #[error(
        "cannot listen on 127.0.0.1:{port}: {why}; choose another port with --port, or omit it for any free one"
    )]
    Listen { port: u16, why: io::Error },
    #[error("cannot start the async runtime: {0}")]
    Start(#[from] io::Error),
    #[error(transparent)]
    Print(#[from] output::PrintError),
}

pub(crate) fn run(options: &BoardArgs) -> Result<(), BoardError> {
    let BoardArgs { port, namespace, record, server } = options;
    let record = match record {
        Some(record) => Some((record.clone(), record.past(namespace.as_deref(), server)?)),
        None => None,
    };
    Runtime::new()?.block_on(async {
        let cluster = ClusterOptions::from(server.clone());
        let listener = BoardListener::open(*port).await;
        let listener = listener.map_err(|why| BoardError::Listen { port: *port, why })?;
        let reader = ClusterReader::of(&cluster).await?;
        let (mut interrupt, mut end) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let source = BoardSource {
            streams: reader.connected.streams.clone(),
            cluster: reader.place(),
            namespace: namespace.clone().unwrap_or_default(),
            clock: reader.clock.clock().clone(),
            speed: Box::new(|| 1.0),
            commands: Arc::new(CommandRunner::new(server.flags())),
            record,
            sandbox: None,
        };
        output::print(&format!("The board of {} is at {}\n", reader.place(), listener.url()))?;
        stderr::note("the board only reads the cluster; press Ctrl-C to stop it");
        tokio::select! {
            never = listener.serve(source) => match never {},
            _ = interrupt.recv() => {}
            _ = end.recv() => {}
        }
        Ok(())
    })
}
