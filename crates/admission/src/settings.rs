//! Holds the validated settings of the webhook server.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use taintward_core::time::Wall;

/// Reads the wall clock.
pub type WallClock = Arc<dyn Fn() -> Wall + Send + Sync>;

/// The settings of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookServerSettings {
    /// The address of the review port, with TLS.
    pub address: SocketAddr,
    /// The address of `/metrics` and health, in plain HTTP; `None`: no separate port.
    pub metrics: Option<SocketAddr>,
    /// The serving certificate.
    pub certificate: CertificateSource,
    /// The CAs of client certificates; `None`: all clients are accepted.
    pub clients: Option<ClientCaSettings>,
    /// The limits for clients.
    pub limits: ServerLimits,
}

/// Only clients with a certificate are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCaSettings {
    /// A PEM file of CAs: one of them must have signed it.
    pub file: PathBuf,
    /// Its common name is one of these; empty: any.
    pub names: Vec<String>,
}

/// The source of the serving certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateSource {
    /// PEM files, reloaded when they change.
    Files {
        /// The certificate, followed by its intermediates.
        certificate: PathBuf,
        /// The private key.
        key: PathBuf,
        /// How often they are checked.
        every: Duration,
    },
    /// A self-signed one, stored in a Secret: the caller of the server rotates it with `certificate::rotation`.
    SelfSigned {
        /// The names of the Service: `taintward-webhook.taintward.svc`.
        names: Vec<String>,
    },
}

/// The limits for clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerLimits {
    /// Concurrent connections; with one more, one of them is closed or the new one is refused
    /// (`taintward_server::connection_limit`).
    pub connections: usize,
    /// The timeout until a connection's first request, TLS included.
    pub head: Duration,
    /// The timeout until a body has arrived.
    pub body: Duration,
    /// The longest body, in bytes.
    pub body_bytes: usize,
    /// The memory of all incomplete bodies together, in bytes; beyond that, the oldest one is given up.
    pub bodies_bytes: usize,
    /// The memory of all unsent long responses together, in bytes; beyond that, pods are allowed without a patch.
    pub responses_bytes: usize,
    /// The timeout while a client does not receive what it is sent.
    pub stall: Duration,
    /// The timeout between requests of a client. Above the 90 s after which API servers close the connection
    /// themselves, so that no request meets a connection that is being closed.
    pub idle: Duration,
    /// After this much silence the server probes whether the client is still connected.
    pub silence: Duration,
    /// How long new connections are accepted after the request to stop, until its effect spreads.
    pub farewell: Duration,
    /// The timeout until all requests in flight have a response, after that.
    pub drain: Duration,
}

impl ServerLimits {
    /// For the memory that `taintward install` gives (`server::memory_budget` computes it).
    pub const STANDARD: Self = Self {
        // Within the memory that `server::memory_budget` computes: enough for the connections of half a second, at a
        // thousand a second.
        connections: 512,
        head: Duration::from_secs(10),
        // An API server gives a webhook 10 s by default, and this one 2 s.
        body: Duration::from_secs(10),
        // An object and the old one, 3 MiB each at most, every character written as six (`\u003c`), and the envelope.
        // It is filtered as it arrives, and little of it is kept.
        body_bytes: 37 << 20,
        bodies_bytes: 16 << 20,
        responses_bytes: 8 << 20,
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
