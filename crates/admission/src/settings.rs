//! Holds the validated settings of the webhook server.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use taintward_core::time::Wall;

/// Reads the wall clock.
pub type WallClock = Arc<dyn Fn() -> Wall + Send + Sync>;

/// Everything the server needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookServerSettings {
    /// Where questions are answered, with TLS.
    pub address: SocketAddr,
    /// Where `/metrics` and health are shown, in plain HTTP; `None`: nowhere.
    pub metrics: Option<SocketAddr>,
    /// Which certificate is shown.
    pub certificate: CertificateSource,
    /// Whose certificate clients must show; `None`: everybody is let in.
    pub clients: Option<ClientCaSettings>,
    /// What clients may cost.
    pub limits: ServerLimits,
}

/// Only clients are let in that show a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCaSettings {
    /// A PEM file: one of these has signed it.
    pub file: PathBuf,
    /// Its common name is one of these; empty: any.
    pub names: Vec<String>,
}

/// Which certificate is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateSource {
    /// PEM files, followed as they change.
    Files {
        /// The certificate, followed by its intermediates.
        certificate: PathBuf,
        /// The private key.
        key: PathBuf,
        /// How often they are looked at.
        every: Duration,
    },
    /// One of our own making, kept in a Secret: whoever runs the server asks `certificate::rotation` and shows it.
    SelfSigned {
        /// The names of the Service: `taintward-webhook.taintward.svc`.
        names: Vec<String>,
    },
}

/// What clients may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerLimits {
    /// Connections at the same time; with one more, one of them is closed or the new one is refused
    /// (`taintward_server::connection_limit`).
    pub connections: usize,
    /// Until a connection has asked something, TLS included.
    pub head: Duration,
    /// Until a body has arrived.
    pub body: Duration,
    /// The longest body, in bytes.
    pub body_bytes: usize,
    /// What is kept of all bodies on their way together, in bytes; with more, that which is on its way for the longest is
    /// given up.
    pub bodies_bytes: usize,
    /// Long answers on their way together, in bytes; with more, nothing is added to the pod.
    pub answers_bytes: usize,
    /// While a client takes nothing of what it is sent.
    pub stall: Duration,
    /// While a client that has asked before asks nothing. Above the 90 s after which API servers close it themselves, so
    /// that no question meets a connection that is being closed.
    pub idle: Duration,
    /// After so much silence a client is asked whether it is still there.
    pub silence: Duration,
    /// While new connections are still taken after the request to stop, as news of it spreads.
    pub farewell: Duration,
    /// Until everything in hand is answered, after that.
    pub drain: Duration,
}

impl ServerLimits {
    /// For the memory that `taintward install` gives (`server::room` reckons it).
    pub const STANDARD: Self = Self {
        // With `server::room`, which reckons the memory, so many that those which come in half a second, a thousand a
        // second, have room.
        connections: 512,
        head: Duration::from_secs(10),
        // An API server gives a webhook 10 s, and ours 2 s.
        body: Duration::from_secs(10),
        // An object and the old one, 3 MiB each at most, every character written as six (`\u003c`), and something
        // around them. It is read as it comes, and little of it is kept.
        body_bytes: 37 << 20,
        bodies_bytes: 16 << 20,
        answers_bytes: 8 << 20,
        stall: Duration::from_secs(10),
        idle: Duration::from_secs(120),
        silence: Duration::from_secs(30),
        farewell: Duration::from_secs(3),
        drain: Duration::from_secs(10),
    };
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self::STANDARD
    }
}
