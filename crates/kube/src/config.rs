//! Connects to an API server: finds the configuration, builds the clients, and explains what is wrong.
//!
//! - Invariant: a client never repeats a request by itself (P20).

mod coalesce;
mod config_source;
mod connection_attempts;
mod credentials;
mod layers;
mod observe;
mod overrides;
mod probe;
mod server_address;

pub use config_source::entries;
pub use observe::RequestObserver;
pub use overrides::{ConfigOverrides, Impersonation, ServerTrust};
pub use probe::{ProbeError, ServerInfo, greet, probe};

pub(crate) use credentials::NoCredentials;
pub(crate) use observe::date as response_date;

use crate::clock::Clock;
use crate::error_text::sanitized;
use credentials::Credentials;
use kube::{Client, Config};
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;

/// How to connect.
#[derive(Clone, Debug)]
pub struct ConnectSettings {
    /// `--kubeconfig`: only this file.
    pub kubeconfig: Option<PathBuf>,
    /// `--context`: instead of the current one.
    pub context: Option<String>,
    /// Other flags that override the configuration.
    pub overrides: ConfigOverrides,
    /// The `User-Agent`.
    pub user_agent: String,
    /// The timeout for opening a connection, TLS included.
    pub connect_timeout: Duration,
    /// When a connection counts as dead.
    pub keep_alive: KeepAlive,
    /// A person waits: an exec plugin may prompt at the terminal, and its standard error is shown. Otherwise both would
    /// end in a log.
    pub interactive: bool,
    /// The clock for the expiry of credentials.
    pub clock: Clock,
    /// Receives warnings about settings that work but should be changed: a log, or a person.
    pub warn: fn(&str),
}

/// How HTTP/2 pings detect that a connection is dead.
#[derive(Clone, Copy, Debug)]
pub struct KeepAlive {
    /// A connection without traffic is pinged after this long.
    pub after: Duration,
    /// The timeout of the response.
    pub timeout: Duration,
}

impl KeepAlive {
    /// For controllers: a dead connection is dropped within four seconds. The server's events then arrive on a new one,
    /// and a renewal of the lease over a new one fits into the renew deadline (10 s by default): an aborted request
    /// does not close its HTTP/2 connection. The server responds to a ping whatever else it does; a machine that is
    /// short of processor time may take a second for it.
    pub const PROMPT: Self =
        Self { after: Duration::from_millis(1_500), timeout: Duration::from_millis(2_500) };
    /// For interactive commands, over any network: client-go's values.
    pub const PATIENT: Self = Self { after: Duration::from_secs(30), timeout: Duration::from_secs(15) };
}

impl Default for ConnectSettings {
    fn default() -> Self {
        let user_agent = concat!("taintward/", env!("CARGO_PKG_VERSION")).to_owned();
        Self {
            kubeconfig: None,
            context: None,
            overrides: ConfigOverrides::default(),
            user_agent,
            connect_timeout: Duration::from_secs(5),
            keep_alive: KeepAlive::PROMPT,
            interactive: false,
            clock: Clock::system(),
            warn: |warning| tracing::warn!(reason = warning, "the kubeconfig is insecure"),
        }
    }
}

/// Clients, and the source of their configuration. Each has a connection of its own and sends each request once.
#[derive(Clone)]
pub struct Connected {
    /// For single requests.
    pub client: Client,
    /// For lists and watches: efficient with much to read, a few milliseconds slower in a burst.
    pub streams: Client,
    /// For the watch of the nodes' leases: efficient with hundreds of events a second, up to a fifth of a second slower
    /// then.
    pub heartbeats: Client,
    /// For the lease, which must not wait behind anything else (L10).
    pub lease: Client,
    /// The server's host and port, for metrics.
    pub host: String,
    /// For the log: `context "prod" of /etc/kubeconfig, server https://10.0.0.1:6443`.
    pub where_from: String,
    /// The namespace of the context or of the pod's account.
    pub default_namespace: String,
}

/// Why there is no client: what, why, and the remedy.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ConnectError {
    /// The file is missing, unreadable or not a kubeconfig.
    #[error("cannot read kubeconfig {place}: {reason}; {remedy}")]
    Unreadable {
        /// Path of the file.
        place: String,
        /// The error of the system or the parser.
        reason: String,
        /// What the user can do about this cause.
        remedy: &'static str,
    },
    /// The file can be read and is empty.
    #[error("the kubeconfig {place} is empty: it names no cluster; name another file with --kubeconfig")]
    Empty {
        /// Path of the file, or files.
        place: String,
    },
    /// No context was requested and there is no current one.
    #[error("the kubeconfig {place} has no current-context; choose one with --context: {known}")]
    NoContext {
        /// Path of the file, or files.
        place: String,
        /// The existing contexts.
        known: String,
    },
    /// A context, a cluster or a user is not in the file.
    #[error("the kubeconfig {place} has no {kind} \"{name}\"; it has {known}")]
    Unknown {
        /// The kind that was requested.
        kind: &'static str,
        /// Its name, or that of the current context.
        name: String,
        /// Path of the file, or files.
        place: String,
        /// The existing names.
        known: String,
    },
    /// `--server` is not an address.
    #[error(
        "\"{0}\" is not the address of an API server; write --server https://HOST:PORT, or http:// for plain \
         HTTP"
    )]
    Server(String),
    /// The server of a cluster is not an address.
    #[error(
        "the kubeconfig {place} has \"{server}\" as the server of cluster \"{cluster}\", which is not the address of \
         an API server; write https://HOST:PORT, or http:// for plain HTTP"
    )]
    ClusterServer {
        /// Path of the file, or files.
        place: String,
        /// The name of the cluster.
        cluster: String,
        /// The address, without its user information.
        server: String,
    },
    /// The context is incomplete.
    #[error(
        "the kubeconfig {place} is not complete: {reason}; correct it, or choose another context with --context"
    )]
    Incomplete {
        /// Path of the file, or files.
        place: String,
        /// What is missing or wrong.
        reason: String,
    },
    /// A certificate or key of the configuration cannot be used.
    #[error("cannot use a certificate or key in {place}: {reason}; replace it")]
    BadCertificate {
        /// Where the configuration came from.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The credentials cannot be read or used.
    #[error("cannot get credentials from {place}: {reason}; renew them, or choose another user")]
    Credentials {
        /// Where the configuration came from.
        place: String,
        /// The error of the program or the system.
        reason: String,
    },
    /// The proxy cannot be used.
    #[error(
        "cannot use the proxy of {place}: {reason}; write its address with http://, https:// or socks5://"
    )]
    Proxy {
        /// Where the configuration came from.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The account mounted into the pod cannot be used.
    #[error("cannot use the pod's service account: {reason}; mount its token, or pass --kubeconfig")]
    InCluster {
        /// What is missing or wrong.
        reason: String,
    },
    /// There is no configuration anywhere.
    #[error(
        "no cluster is configured: tried --kubeconfig (not given), $KUBECONFIG (not set), {home} (does not \
         exist) and the pod's service account (not in a cluster); give --kubeconfig FILE"
    )]
    Nowhere {
        /// Where a kubeconfig in the home folder would be.
        home: String,
    },
    /// The user agent is not a valid header.
    #[error("\"{0}\" cannot be sent as a user agent; write printable ASCII characters")]
    UserAgent(String),
}

/// Entries of a kubeconfig.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KubeconfigSection {
    /// What `--context` names.
    Contexts,
    /// What `--cluster` names.
    Clusters,
    /// What `--user` names.
    Users,
}

/// A configuration and its source.
#[derive(Debug)]
struct ConfigSource {
    config: Config,
    place: String,
    /// What should be changed.
    warning: Option<String>,
}

/// Formats the names to choose from.
fn names<'n>(of: impl ExactSizeIterator<Item = &'n String>) -> String {
    const SHOWN_MAX: usize = 20;
    let count = of.len();
    let mut names: Vec<_> = of.take(SHOWN_MAX).map(|name| format!("\"{}\"", sanitized(name))).collect();
    match count {
        0 => return "none".to_owned(),
        many if many > SHOWN_MAX => names.push(format!("and {} more", many - SHOWN_MAX)),
        _ => {}
    }
    names.join(", ")
}

/// Why credentials cannot be used.
struct TlsProblem {
    /// Whether it is about certificates and keys.
    of_certificate: bool,
    reason: String,
}

impl TlsProblem {
    fn credentials(reason: impl Into<String>) -> Self {
        Self { of_certificate: false, reason: reason.into() }
    }

    fn certificate(reason: impl Into<String>) -> Self {
        Self { of_certificate: true, reason: reason.into() }
    }

    fn at(self, place: &str) -> ConnectError {
        let (place, reason) = (place.to_owned(), self.reason);
        match self.of_certificate {
            true => ConnectError::BadCertificate { place, reason },
            false => ConnectError::Credentials { place, reason },
        }
    }
}

/// Finds the configuration (the flag, `$KUBECONFIG`, `~/.kube/config`, the pod's account, in this order) and builds
/// clients. Sends nothing; an exec plugin runs at the first request, and if it fails, only that request fails: it may
/// work for the next.
///
/// # Errors
/// What is wrong with the configuration; [`probe`] detects an unreachable server.
pub async fn connect(settings: &ConnectSettings) -> Result<Connected, ConnectError> {
    let source = ConfigSource::find(settings).await?;
    if let Some(warning) = &source.warning {
        (settings.warn)(warning);
    }
    // There is one provider of cryptography per process; it is installed already if this is not the first client.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let started =
        Credentials::start(source.config.clone(), settings.interactive, settings.clock.clone()).await;
    let credentials = started.map_err(|error| error.at(&source.place))?;
    layers::connected(source, credentials, settings)
}
