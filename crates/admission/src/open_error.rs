//! Defines why the webhook's server cannot start.

use std::io;
use std::net::SocketAddr;
use taintward_server::admin::ListenError;
use taintward_server::certificate::CertificateError;

/// Why the server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The port for reviews is not available.
    #[error(
        "cannot listen on {address}: {source}; choose another port with --secure-port or address with --bind-address"
    )]
    Listen {
        /// The address and port.
        address: SocketAddr,
        /// The operating system's reason.
        source: io::Error,
    },
    /// The port for metrics is not available.
    #[error(transparent)]
    Metrics(#[from] ListenError),
    /// There is no usable certificate, or no usable client CA.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The certificate has expired, or is not valid yet.
    #[error(
        "the certificate given with --tls-cert-file is not valid now: {0}; replace it, or correct the clock of this machine"
    )]
    NotNow(String),
}
