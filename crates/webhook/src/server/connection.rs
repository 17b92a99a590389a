//! # Connection: one client, from the handshake to the end
//! Room:     TLS, the version of HTTP, and why a connection ends.
//! Comes in: a stream, a certificate, a place.
//! Goes out: answers (`route`).
//! Keeps:    a client that sends nothing, sends slowly, does not read or is gone costs a place for a while, and that place
//!           goes to the next who needs it.
//! Not here: bodies (`body`), who is told to leave (`crowd`).

use super::Common;
use super::crowd::Place;
use super::route;
use crate::metrics::Ended;
use crate::settings::Limits;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;
use taintward_serve::patience::Patient;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// What hyper may read ahead, and have waiting to be written, on an HTTP/1.1 connection.
const BUFFER_MAX: usize = 64 << 10;
/// Streams of one HTTP/2 connection at the same time.
const STREAMS_MOST: u32 = 100;
/// What one HTTP/2 stream may have waiting to be sent.
const SENDING_MOST: usize = 64 << 10;
/// What one HTTP/2 stream may send before anybody reads it, and all of a connection together.
const STREAM_WINDOW: u32 = 256 << 10;
const CONNECTION_WINDOW: u32 = 512 << 10;
/// The longest head of an HTTP/2 request.
const HEAD_MAX: u32 = 16 << 10;
/// HTTP/2 streams that a client opens and takes back before anybody saw them, and those that fail for its mistakes, until
/// the connection is ended.
const RESETS_MOST: usize = 20;
const MISTAKES_MOST: usize = 100;
/// For somebody who must leave to take the answer he waits for.
const LEAVE_MAX: Duration = Duration::from_secs(1);

type Stream = TokioIo<TlsStream<Patient<TcpStream>>>;

/// A conversation in either version of HTTP.
trait Conversation: Future<Output = Result<(), hyper::Error>> {
    /// Answers what is asked already, and then ends.
    fn wind_up(self: Pin<&mut Self>);
}

impl<S> Conversation for http1::Connection<Stream, S>
where
    S: hyper::service::HttpService<Incoming, ResBody = Body>,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    fn wind_up(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

impl<S> Conversation for http2::Connection<Stream, S, TokioExecutor>
where
    S: hyper::service::HttpService<Incoming, ResBody = Body>,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    S::Future: Send + 'static,
{
    fn wind_up(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

type Body = http_body_util::Full<bytes::Bytes>;

/// Serves one connection to its end.
pub(super) async fn serve(
    stream: TcpStream,
    acceptor: Option<TlsAcceptor>,
    place: Place,
    common: Arc<Common>,
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
    place: Place,
    common: &Arc<Common>,
    closes: watch::Receiver<bool>,
) -> Result<(), Ended> {
    let limits = common.limits;
    let acceptor = acceptor.ok_or(Ended::NoCertificate)?;
    let stream = Patient::new(stream, limits.stall);
    let handshake = timeout(limits.head, acceptor.accept(stream));
    let stream = tokio::select! {
        done = handshake => done.ok().and_then(Result::ok).ok_or(Ended::Handshake)?,
        () = place.is_needed() => return Err(Ended::Displaced),
    };
    let second = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let (stream, place) = (TokioIo::new(stream), Arc::new(place));
    let (here, shared) = (Arc::clone(&place), Arc::clone(common));
    let service = service_fn(move |request| {
        let (place, common) = (Arc::clone(&here), Arc::clone(&shared));
        async move { Ok::<_, Infallible>(route::answer(request, &common, &place).await) }
    });
    if second {
        watched(http2_of(&limits).serve_connection(stream, service), &place, limits, closes).await
    } else {
        watched(http1_of(&limits).serve_connection(stream, service), &place, limits, closes).await
    }
}

/// A conversation until it ends, by itself or for a reason of ours.
async fn watched(
    conversation: impl Conversation,
    place: &Place,
    limits: Limits,
    mut closes: watch::Receiver<bool>,
) -> Result<(), Ended> {
    let mut conversation = pin!(conversation);
    let mute = async {
        sleep(limits.head).await;
        if place.is_of_use() {
            std::future::pending().await
        }
    };
    let reason = tokio::select! {
        // How it ends is the client's affair.
        _ = &mut conversation => return Ok(()),
        () = mute => return Err(Ended::Mute),
        () = place.is_needed() => Err(Ended::Displaced),
        // An error says that the server is gone, which is the same.
        _ = closes.wait_for(|&closes| closes) => Ok(()),
    };
    conversation.as_mut().wind_up();
    let limit = if reason.is_ok() { limits.drain } else { LEAVE_MAX };
    let _ = timeout(limit, conversation).await;
    reason
}

fn http1_of(limits: &Limits) -> http1::Builder {
    let mut builder = http1::Builder::new();
    // This limit counts from the last answer on, so it is also that of silence between questions.
    builder.timer(TokioTimer::new()).header_read_timeout(limits.idle).max_buf_size(BUFFER_MAX);
    builder
}

fn http2_of(limits: &Limits) -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .keep_alive_interval(limits.silence)
        .keep_alive_timeout(limits.stall)
        .max_concurrent_streams(STREAMS_MOST)
        .max_send_buf_size(SENDING_MOST)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_header_list_size(HEAD_MAX)
        .max_pending_accept_reset_streams(RESETS_MOST)
        .max_local_error_reset_streams(MISTAKES_MOST);
    builder
}
