//! Serves one connection with TLS and HTTP/1.1.
//!
//! - Invariant: a client that is idle, slow or gone holds its place only for a while, and loses it first when others
//!   need it.

use super::ConnectionContext;
use super::memory_budget::BUFFER;
use super::route;
use crate::metrics::Ended;
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
use taintward_server::io_timeout::TimeoutStream;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// For somebody who must leave to take the answer he waits for.
const LEAVE_MAX: Duration = Duration::from_secs(1);

type ConnectionStream = TokioIo<TlsStream<TimeoutStream<TcpStream>>>;

/// A connection that got through its handshake.
struct ActiveConnection {
    place: ConnectionGuard,
    /// Whether anything was ever asked here.
    asked: AtomicBool,
}

/// Serves one connection to its end.
pub(super) async fn serve(
    stream: TcpStream,
    acceptor: Option<TlsAcceptor>,
    place: ConnectionGuard,
    common: Arc<ConnectionContext>,
    closes: watch::Receiver<bool>,
) {
    common.metrics.connections.inc();
    if let Err(reason) = converse(stream, acceptor, place, &common, closes).await {
        common.metrics.ended.of(reason).inc();
    }
    common.metrics.connections.dec();
}

async fn converse(
    stream: TcpStream,
    acceptor: Option<TlsAcceptor>,
    place: ConnectionGuard,
    common: &Arc<ConnectionContext>,
    closes: watch::Receiver<bool>,
) -> Result<(), Ended> {
    let limits = common.limits;
    let acceptor = acceptor.ok_or(Ended::NoCertificate)?;
    let stream = TimeoutStream::new(stream, limits.stall);
    let narrow = |tls: &mut rustls::ServerConnection| tls.set_buffer_limit(Some(BUFFER));
    let handshake = timeout(limits.head, acceptor.accept_with(stream, narrow));
    let stream = tokio::select! {
        done = handshake => done.ok().and_then(Result::ok).ok_or(Ended::Handshake)?,
        () = place.is_needed() => return Err(Ended::Displaced),
    };
    place.is_shaken();
    let (stream, seat) =
        (TokioIo::new(stream), Arc::new(ActiveConnection { place, asked: AtomicBool::new(false) }));
    let (here, shared) = (Arc::clone(&seat), Arc::clone(common));
    let service = service_fn(move |request| {
        let (seat, common) = (Arc::clone(&here), Arc::clone(&shared));
        async move {
            seat.asked.store(true, Ordering::Relaxed);
            Ok::<_, Infallible>(route::answer(request, &common, &seat.place).await)
        }
    });
    watched(http_of(&limits).serve_connection(stream, service), &seat, limits, closes).await
}

/// A conversation until it ends, by itself or for a reason of ours.
async fn watched<S>(
    conversation: http1::Connection<ConnectionStream, S>,
    seat: &ActiveConnection,
    limits: ServerLimits,
    mut closes: watch::Receiver<bool>,
) -> Result<(), Ended>
where
    S: HttpService<Incoming, ResBody = Full<Bytes>, Error = Infallible>,
{
    let mut conversation = pin!(conversation);
    let mute = async {
        sleep(limits.head).await;
        if seat.asked.load(Ordering::Relaxed) {
            std::future::pending().await
        }
    };
    let reason = tokio::select! {
        // How it ends is the client's affair.
        _ = &mut conversation => return Ok(()),
        () = mute => return Err(Ended::Mute),
        () = seat.place.is_needed() => Err(Ended::Displaced),
        // An error says that the server is gone, which is the same.
        _ = closes.wait_for(|&closes| closes) => Ok(()),
    };
    // Answers what is asked already, and then ends.
    conversation.as_mut().graceful_shutdown();
    let limit = if reason.is_ok() { limits.drain } else { LEAVE_MAX };
    let _ = timeout(limit, conversation).await;
    reason
}

fn http_of(limits: &ServerLimits) -> http1::Builder {
    let mut builder = http1::Builder::new();
    // This limit counts from the last answer on, so it is also that of silence between questions.
    builder.timer(TokioTimer::new()).header_read_timeout(limits.idle).max_buf_size(BUFFER);
    builder
}
