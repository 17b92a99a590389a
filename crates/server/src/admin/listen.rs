//! Accepts connections on the admin ports and bounds what each client may cost.
//!
//! - Invariant: at most [`CONNECTIONS_MAX`] connections per port; [`ConnectionLimit`] chooses which one ends, so that
//!   no client can keep a probe out.

use super::access::{AccessCheck, MetricsAccess};
use super::reloading_tls::ReloadingTls;
use super::{Admin, AdminResponse};
use crate::certificate::CertificateError;
use crate::connection_limit::ConnectionLimit;
use crate::settings::{self, SecureServing, ServingSettings};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

/// The maximum number of connections of a port.
pub(super) const CONNECTIONS_MAX: usize = 64;
/// The timeout for a request's head.
pub(super) const HEAD_MAX: Duration = Duration::from_secs(5);
/// The timeout for a whole connection: TLS handshake, request, response.
pub(super) const CONNECTION_MAX: Duration = Duration::from_secs(10);
/// The maximum size of a request's head, and of a response that waits in memory for a slow reader.
const BUFFER_MAX: usize = 16 * 1024;
/// The pause after the operating system failed to accept a connection (for lack of file descriptors, for example).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Why a port could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Another program uses the port.
    #[error(
        "cannot listen on {address}: the port is in use; choose another with {flag}, or 0 to switch it off"
    )]
    InUse {
        /// The address and port.
        address: SocketAddr,
        /// The flag that chose the port.
        flag: &'static str,
    },
    /// The operating system rejects for another reason.
    #[error(
        "cannot listen on {address}: {source}; choose another address with --bind-address or port with {flag}"
    )]
    Rejected {
        /// The address and port.
        address: SocketAddr,
        /// The flag that chose the port.
        flag: &'static str,
        /// The operating system's reason.
        source: io::Error,
    },
    /// There is no certificate for the TLS port.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
}

/// Open ports that are not served yet.
pub struct AdminListener {
    plain: Option<TcpListener>,
    secure: Option<(TcpListener, ReloadingTls)>,
    /// For each port.
    readers: [MetricsAccess; 2],
}

impl AdminListener {
    /// Opens the enabled ports.
    ///
    /// # Errors
    /// If a port cannot be opened or there is no certificate.
    pub async fn open(serving: &ServingSettings) -> Result<Self, ListenError> {
        let plain = match serving.metrics_port {
            Some(port) => Some(bind((serving.bind_address, port.get()).into(), "--metrics-port").await?),
            None => None,
        };
        let secure = match &serving.secure {
            Some(SecureServing { port, certificate, .. }) => {
                let tls = ReloadingTls::new(certificate, serving.bind_address)?;
                Some((bind((serving.bind_address, port.get()).into(), "--secure-port").await?, tls))
            }
            None => None,
        };
        let delegated = serving
            .secure
            .as_ref()
            .is_some_and(|secure| secure.readers == settings::MetricsReadersSetting::Delegated);
        // Until a guard is set, no client is admitted.
        let readers = if delegated { MetricsAccess::NoClient } else { MetricsAccess::Anyone };
        Ok(Self { plain, secure, readers: [readers.clone(), readers] })
    }

    /// Uses a plain port that is already open.
    pub fn plain(listener: TcpListener) -> Self {
        Self { plain: Some(listener), secure: None, readers: [MetricsAccess::Anyone, MetricsAccess::Anyone] }
    }

    /// Uses sockets that are already open.
    #[cfg(test)]
    pub(super) fn of(plain: Option<TcpListener>, secure: Option<(TcpListener, ReloadingTls)>) -> Self {
        Self { plain, secure, readers: [MetricsAccess::Anyone, MetricsAccess::Anyone] }
    }

    /// Whether the secure port needs a guard for the metrics.
    pub fn wants_guard(&self) -> bool {
        matches!(self.readers, [_, MetricsAccess::NoClient])
    }

    /// The same, with a guard.
    #[must_use]
    pub fn guarded(self, guard: Arc<dyn AccessCheck>) -> Self {
        Self { readers: [MetricsAccess::NoClient, MetricsAccess::Guarded(guard)], ..self }
    }

    /// Serves until the future is dropped; open connections end with it.
    pub async fn serve(self, admin: Arc<Admin>) -> Infallible {
        let [of_plain, of_secure] = self.readers;
        let plain = async {
            match self.plain {
                Some(listener) => accept(listener, None, admin.clone(), of_plain).await,
                None => std::future::pending().await,
            }
        };
        let secure = async {
            match self.secure {
                Some((listener, tls)) => accept(listener, Some(tls), admin.clone(), of_secure).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            never = plain => never,
            never = secure => never,
        }
    }
}

/// Opens a port that `flag` chose.
///
/// # Errors
/// If it is not available; the reason names the flag.
pub async fn bind(address: SocketAddr, flag: &'static str) -> Result<TcpListener, ListenError> {
    TcpListener::bind(address).await.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => ListenError::InUse { address, flag },
        _ => ListenError::Rejected { address, flag, source },
    })
}

async fn accept(
    listener: TcpListener,
    mut tls: Option<ReloadingTls>,
    admin: Arc<Admin>,
    readers: MetricsAccess,
) -> Infallible {
    let limit = Arc::new(ConnectionLimit::new(CONNECTIONS_MAX));
    let mut connections = JoinSet::new();
    loop {
        let (stream, from) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(
                    err = &error as &dyn std::error::Error,
                    "cannot accept a connection for metrics or health"
                );
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        while connections.try_join_next().is_some() {}
        let Some(guard) = limit.admit(from.ip()) else { continue };
        let acceptor = tls.as_mut().map(ReloadingTls::acceptor);
        let client = client(stream, acceptor, admin.clone(), readers.clone());
        connections.spawn(async move {
            tokio::select! {
                () = client => {}
                () = guard.closed_by_limit() => {}
            }
        });
    }
}

/// Serves one connection, from the TLS handshake on, within its timeout.
pub(super) async fn client(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    acceptor: Option<TlsAcceptor>,
    admin: Arc<Admin>,
    readers: MetricsAccess,
) {
    let served = timeout(CONNECTION_MAX, async {
        match acceptor {
            None => converse(stream, &admin, &readers).await,
            Some(acceptor) => match acceptor.accept(stream).await {
                Ok(stream) => converse(stream, &admin, &readers).await,
                Err(error) => {
                    tracing::debug!(err = &error as &dyn std::error::Error, "a TLS handshake failed")
                }
            },
        }
    });
    if served.await.is_err() {
        tracing::debug!("closing the connection of a slow client of metrics or health");
    }
}

/// Serves one request.
pub(super) async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    admin: &Admin,
    readers: &MetricsAccess,
) {
    let service = service_fn(async |request| {
        let rejection: Option<AdminResponse> = readers.rejection(&request).await;
        Ok::<_, Infallible>(rejection.unwrap_or_else(|| admin.respond_to(&request)))
    });
    let conversation = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_MAX)
        .keep_alive(false)
        .max_buf_size(BUFFER_MAX)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = conversation.await {
        tracing::debug!(
            err = &error as &dyn std::error::Error,
            "the request of a client of metrics or health was invalid"
        );
    }
}
