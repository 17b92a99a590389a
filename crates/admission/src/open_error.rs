//! Defines why the webhook's server cannot start.

use std::io;
use std::net::SocketAddr;
use taintward_server::admin::ListenError;
use taintward_server::certificate::CertificateError;

/// Why the server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The port for questions cannot be had.
    #[error(
        "cannot listen on {address}: {source}; choose another port with --secure-port or address with --bind-address"
    )]
    Listen {
        /// The address and port.
        address: SocketAddr,
        /// The operating system's reason.
        source: io::Error,
    },
    /// The port for metrics cannot be had.
    #[error(transparent)]
    Metrics(#[from] ListenError),
    /// There is no certificate to show, or none to measure clients by.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The certificate ended, or has not begun.
    #[error("the certificate given with --tls-cert-file is not valid now: {0}")]
    NotNow(String),
}
