//! Serves the board: a page of this machine that shows nodes, pods and countdowns of a cluster as they change.
//!
//! - Invariant: the board only reads a cluster; its buttons change sandboxes only ([`SandboxControls`]).
//! - See `feed.rs` for its watches, `access.rs` for its access control, `page/` for the page.

mod access;
mod board_record;
mod board_state;
mod cluster_model;
mod command_output;
mod decision_log;
mod feed;
mod limits;
mod node_change;
mod node_object;
mod object_table;
mod pod_table;
mod routes;
#[cfg(test)]
mod tests;
mod views;
mod workload_object;

pub(crate) use board_record::BoardRecord;
pub(crate) use command_output::CommandRunner;
pub(crate) use node_change::NodeChange;
pub(crate) use routes::taint_fault;

use crate::history::HistoryEntry;
use access::{BoardAccess, BoardSecrets};
use board_state::BoardState;
use futures::future::BoxFuture;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use kube::Client;
use routes::BoardServer;
use serde::Deserialize;
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use taintward_kube::clock::Clock;
use taintward_server::connection_limit::ConnectionLimit;
use taintward_server::io_timeout::limit_writes;
use tokio::net::{TcpListener, TcpStream};

/// The maximum number of connections; a viewer has one, and a few more for short requests.
const CONNECTIONS_MAX: usize = 512;

/// How long a browser may take to send a request's head.
const HEAD_MAX: Duration = Duration::from_secs(10);

/// How long a browser may read nothing of a response.
const STALL_MAX: Duration = Duration::from_secs(30);

/// The pause after the operating system refused to accept a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The data of the board.
pub(crate) struct BoardSource {
    /// The client for watches.
    pub(crate) streams: Client,
    /// The cluster, in words.
    pub(crate) cluster: String,
    /// The namespace whose pods and workloads are shown; all if empty.
    pub(crate) namespace: String,
    /// The cluster's time.
    pub(crate) clock: Clock,
    /// Seconds of the cluster in one second.
    pub(crate) speed: Box<dyn Fn() -> f64 + Send + Sync>,
    /// Commands that answer questions.
    pub(crate) commands: Arc<CommandRunner>,
    /// The record, and what it says about the time before; `None`: the board knows what it has seen.
    pub(crate) record: Option<(BoardRecord, Vec<HistoryEntry>)>,
    /// The actions of the buttons; `None`: the board has no buttons.
    pub(crate) sandbox: Option<Arc<dyn SandboxControls>>,
}

/// An action of a button on the sandbox's board.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "verb", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum SandboxAction {
    /// `taint`: `key=value:Effect`
    Taint {
        node: String,
        taint: String,
    },
    /// `taint`: `key:Effect`
    Untaint {
        node: String,
        taint: String,
    },
    Cordon {
        node: String,
    },
    Uncordon {
        node: String,
    },
    /// Stops a node's heartbeats.
    Silence {
        node: String,
    },
    Recover {
        node: String,
    },
    /// `workload`: `Kind/namespace/name`
    Scale {
        workload: String,
        replicas: u32,
    },
    /// `text`: objects in YAML or JSON
    Load {
        text: String,
    },
    Speed {
        speed: f64,
    },
}

impl SandboxAction {
    /// The names in it that become arguments of a command.
    pub(crate) fn names(&self) -> Vec<&str> {
        match self {
            Self::Taint { node, taint } | Self::Untaint { node, taint } => vec![node, taint],
            Self::Cordon { node }
            | Self::Uncordon { node }
            | Self::Silence { node }
            | Self::Recover { node } => {
                vec![node]
            }
            Self::Scale { .. } | Self::Load { .. } | Self::Speed { .. } => Vec::new(),
        }
    }
}

/// Changes a sandbox.
pub(crate) trait SandboxControls: Send + Sync {
    /// Performs the action; returns its result or its error, in a sentence.
    fn act(&self, action: SandboxAction) -> BoxFuture<'_, Result<String, String>>;
}

/// An open port that does not answer yet.
pub(crate) struct BoardListener {
    listener: TcpListener,
    address: SocketAddr,
    secrets: BoardSecrets,
}

impl BoardListener {
    /// Opens a port of loopback; 0 means any free port.
    pub(crate) async fn open(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, secrets: BoardSecrets::random() })
    }

    /// The address to open, with the token.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/?token={}", self.address, self.secrets.token.text())
    }

    /// Shows the cluster until the future is dropped.
    pub(crate) async fn serve(self, source: BoardSource) -> Infallible {
        let Self { listener, address, secrets } = self;
        let button_token = source.sandbox.is_some().then(|| secrets.buttons.text().to_owned());
        let state = Arc::new(BoardState::new(source.cluster.clone(), button_token, source.clock.now()));
        if let Some((_, past)) = &source.record {
            state.update(|model| model.remember(past));
        }
        let access = BoardAccess::new(address, secrets);
        let server = Arc::new(BoardServer { source: Arc::new(source), state, access });
        tokio::select! {
            never = feed::run(&server.source, &server.state) => never,
            never = accept(&listener, &server) => never,
        }
    }
}

async fn accept(listener: &TcpListener, server: &Arc<BoardServer>) -> Infallible {
    let limit = Arc::new(ConnectionLimit::new(CONNECTIONS_MAX));
    loop {
        let Ok((stream, from)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let Some(guard) = limit.admit(from.ip()) else { continue };
        let server = Arc::clone(server);
        tokio::spawn(async move {
            tokio::select! {
                () = converse(stream, &server) => {}
                () = guard.closed_by_limit() => {}
            }
        });
    }
}

/// Serves one connection to its end, and ignores its error.
async fn converse(stream: TcpStream, server: &Arc<BoardServer>) {
    // A message is written whole: waiting for more to send would only delay it.
    let _ = stream.set_nodelay(true);
    let stream = TokioIo::new(limit_writes(stream, STALL_MAX));
    let service = service_fn(async |request| Ok::<_, Infallible>(server.respond(request).await));
    let _ = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_MAX)
        .serve_connection(stream, service)
        .await;
}
