//! Accepts connections on the admin ports and bounds what each client may cost.
//!
//! - Invariant: at most [`CONNECTIONS_MAX`] connections per port; [`ConnectionLimit`] chooses which one ends, so that
//!   no client can keep a probe out.

use super::access::{AccessCheck, PathAccess, PortAccess};
use super::reloading_tls::ReloadingTls;
use super::response::{ProtectedPath, protected};
use super::{Admin, AdminResponse};
use crate::certificate::CertificateError;
use crate::connection_limit::ConnectionLimit;
use crate::settings::{self, SecureServing, ServingSettings};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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

/// The timeout for the rest of a connection that a record is sent over.
const RECORD_MAX: Duration = Duration::from_secs(120);

/// Both ports serve the metrics to any client.
const ANYONE: [PortAccess; 2] =
    [PortAccess::of_metrics(PathAccess::Anyone), PortAccess::of_metrics(PathAccess::Anyone)];

/// Open ports that are not served yet.
pub struct AdminListener {
    plain: Option<TcpListener>,
    secure: Option<(TcpListener, ReloadingTls)>,
    /// For each port.
    readers: [PortAccess; 2],
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
        let metrics = if delegated { PathAccess::NoClient } else { PathAccess::Anyone };
        let readers = PortAccess::of_metrics(metrics);
        Ok(Self { plain, secure, readers: [readers.clone(), readers] })
    }

    /// Uses a plain port that is already open.
    pub fn plain(listener: TcpListener) -> Self {
        Self { plain: Some(listener), secure: None, readers: ANYONE }
    }

    /// Uses sockets that are already open.
    #[cfg(test)]
    pub(super) fn of(plain: Option<TcpListener>, secure: Option<(TcpListener, ReloadingTls)>) -> Self {
        Self { plain, secure, readers: ANYONE }
    }

    /// Whether the secure port needs a guard for the metrics.
    pub fn wants_guard(&self) -> bool {
        matches!(self.readers[1].metrics, PathAccess::NoClient)
    }

    /// Whether there is a secure port.
    pub const fn is_secure(&self) -> bool {
        self.secure.is_some()
    }

    /// The same, with a guard of the metrics.
    #[must_use]
    pub fn guarded(mut self, guard: Arc<dyn AccessCheck>) -> Self {
        let [plain, secure] = &mut self.readers;
        plain.metrics = PathAccess::NoClient;
        secure.metrics = PathAccess::Guarded(guard);
        self
    }

    /// The same, with a guard of the record: without one, no client may read it.
    #[must_use]
    pub fn guarded_record(mut self, guard: Arc<dyn AccessCheck>) -> Self {
        self.readers[1].record = PathAccess::Guarded(guard);
        self
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
    readers: PortAccess,
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
    readers: PortAccess,
) {
    let sends_record = AtomicBool::new(false);
    let mut served = pin!(async {
        match acceptor {
            None => converse(stream, &admin, &readers, &sends_record).await,
            Some(acceptor) => match acceptor.accept(stream).await {
                Ok(stream) => converse(stream, &admin, &readers, &sends_record).await,
                Err(error) => {
                    tracing::debug!(err = &error as &dyn std::error::Error, "a TLS handshake failed")
                }
            },
        }
    });
    let mut ended = timeout(CONNECTION_MAX, &mut served).await;
    if ended.is_err() && sends_record.load(Ordering::Relaxed) {
        ended = timeout(RECORD_MAX, served).await;
    }
    if ended.is_err() {
        tracing::debug!("closing the connection of a slow client of metrics or health");
    }
}

/// Serves one request. `sends_record` is set if the response is a record, which takes longer than others.
pub(super) async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    admin: &Admin,
    readers: &PortAccess,
    sends_record: &AtomicBool,
) {
    let service = service_fn(async |request| {
        let rejection: Option<AdminResponse> = readers.rejection(&request).await;
        let is_record = protected(request.uri().path()) == Some(ProtectedPath::Record);
        sends_record.store(is_record && rejection.is_none(), Ordering::Relaxed);
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
