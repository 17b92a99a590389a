//! Serves one connection with TLS and HTTP/1.1.
//!
//! - Invariant: a client that is idle, slow or gone stays connected only for a while, and is closed first when there
//!   are too many.

use super::ConnectionContext;
use super::memory_budget::BUFFER;
use super::route;
use crate::metrics::ConnectionEnd;
use crate::settings::ServerLimits;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{HttpService, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use taintward_server::connection_limit::ConnectionGuard;
use taintward_server::io_timeout::{TimeoutStream, limit_writes};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// How long a client whose connection is being closed may take to receive its pending response.
const CLOSE_MAX: Duration = Duration::from_secs(1);

type ConnectionStream = TokioIo<TlsStream<TimeoutStream<TcpStream>>>;

/// A connection after its handshake.
struct ActiveConnection {
    guard: ConnectionGuard,
    /// Whether a request ever arrived.
    has_request: AtomicBool,
}

/// Serves one connection to its end.
pub(super) async fn serve(
    stream: TcpStream,
    acceptor: Option<TlsAcceptor>,
    guard: ConnectionGuard,
    common: Arc<ConnectionContext>,
    closes: watch::Receiver<bool>,
) {
    common.metrics.connections.inc();
    if let Err(reason) = serve_requests(stream, acceptor, guard, &common, closes).await {
        common.metrics.ended.of(reason).inc();
    }
    common.metrics.connections.dec();
}

async fn serve_requests(
    stream: TcpStream,
    acceptor: Option<TlsAcceptor>,
    guard: ConnectionGuard,
    common: &Arc<ConnectionContext>,
    closes: watch::Receiver<bool>,
) -> Result<(), ConnectionEnd> {
    let limits = common.limits;
    let acceptor = acceptor.ok_or(ConnectionEnd::NoCertificate)?;
    let stream = limit_writes(stream, limits.stall);
    let narrow = |tls: &mut rustls::ServerConnection| tls.set_buffer_limit(Some(BUFFER));
    let handshake = timeout(limits.head, acceptor.accept_with(stream, narrow));
    let stream = tokio::select! {
        done = handshake => done.ok().and_then(Result::ok).ok_or(ConnectionEnd::Handshake)?,
        () = guard.closed_by_limit() => return Err(ConnectionEnd::Displaced),
    };
    guard.on_handshake_done();
    let (stream, connection) =
        (TokioIo::new(stream), Arc::new(ActiveConnection { guard, has_request: AtomicBool::new(false) }));
    let (connection_ref, context) = (Arc::clone(&connection), Arc::clone(common));
    let service = service_fn(move |request| {
        let (connection, common) = (Arc::clone(&connection_ref), Arc::clone(&context));
        async move {
            connection.has_request.store(true, Ordering::Relaxed);
            Ok::<_, Infallible>(route::response(request, &common, &connection.guard).await)
        }
    });
    serve_until_closed(http_of(&limits).serve_connection(stream, service), &connection, limits, closes).await
}

/// Serves requests until the client closes the connection, a limit is reached or the server ends.
async fn serve_until_closed<S>(
    serving: http1::Connection<ConnectionStream, S>,
    connection: &ActiveConnection,
    limits: ServerLimits,
    mut closes: watch::Receiver<bool>,
) -> Result<(), ConnectionEnd>
where
    S: HttpService<Incoming, ResBody = Full<Bytes>, Error = Infallible>,
{
    let mut serving = pin!(serving);
    let no_request = async {
        sleep(limits.head).await;
        if connection.has_request.load(Ordering::Relaxed) {
            std::future::pending().await
        }
    };
    let reason = tokio::select! {
        // How it ends does not matter here.
        _ = &mut serving => return Ok(()),
        () = no_request => return Err(ConnectionEnd::Silent),
        () = connection.guard.closed_by_limit() => Err(ConnectionEnd::Displaced),
        // An error means that the server is gone, which is the same.
        _ = closes.wait_for(|&closes| closes) => Ok(()),
    };
    // Answers the requests that have already arrived, and then ends.
    serving.as_mut().graceful_shutdown();
    let limit = if reason.is_ok() { limits.drain } else { CLOSE_MAX };
    let _ = timeout(limit, serving).await;
    reason
}

fn http_of(limits: &ServerLimits) -> http1::Builder {
    let mut builder = http1::Builder::new();
    // This limit counts from the last response on, so it also limits the silence between requests.
    builder.timer(TokioTimer::new()).header_read_timeout(limits.idle).max_buf_size(BUFFER);
    builder
}
