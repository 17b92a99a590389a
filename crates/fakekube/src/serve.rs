//! Serves the API on a socket with TLS, and writes the kubeconfig for it.
//!
//! - Invariant: only requests that pass `request_guard.rs` are answered; connections and waits are bounded
//!   ([`ListenerLimits`]).

mod acceptor;
mod bodies;
mod request_guard;
mod site_guard;

use crate::api::ApiServer;
use crate::http::ResponseBody;
use crate::token::BearerToken;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bodies::TimedBody;
use bytes::Bytes;
use futures::future::{BoxFuture, ready};
use http::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use request_guard::RequestGuard;
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

/// Concurrent streams of one HTTP/2 connection, as in a real server.
const STREAMS_MAX: u32 = 250;

/// The send buffer of one HTTP/2 stream.
const SENDING_MAX: usize = 64 << 10;

/// Timeouts and limits of client connections.
#[derive(Clone, Copy, Debug)]
pub struct ListenerLimits {
    /// Concurrent connections.
    pub connections: usize,
    /// Large bodies that are read at the same time; others wait.
    pub large_bodies: usize,
    /// Until a connection has sent its first request, TLS included.
    pub head: Duration,
    /// Until a body has arrived.
    pub body: Duration,
    /// While a client reads nothing of what is sent.
    pub stall: Duration,
    /// How long a connection may be silent before the server sends a ping.
    pub silence: Duration,
}

impl Default for ListenerLimits {
    fn default() -> Self {
        Self {
            connections: 4096,
            large_bodies: 64,
            head: Duration::from_secs(30),
            // A real server allows a minute for a request.
            body: Duration::from_secs(60),
            stall: Duration::from_secs(30),
            silence: Duration::from_secs(30),
        }
    }
}

/// An open socket that is not served yet.
pub struct ApiListener {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<ListenerTls>,
    limits: ListenerLimits,
}

struct ListenerTls {
    acceptor: TlsAcceptor,
    /// The certificate that clients must trust.
    pem: String,
}

impl ApiListener {
    /// Opens a socket; with `tls`, also creates a self-signed certificate.
    ///
    /// # Errors
    /// If the address is not available, or the certificate cannot be created.
    pub async fn open(address: SocketAddr, tls: bool) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let tls = if tls { Some(ListenerTls::generate(address)?) } else { None };
        Ok(Self { listener, address, tls, limits: ListenerLimits::default() })
    }

    /// Replaces the limits.
    #[must_use]
    pub fn within(self, limits: ListenerLimits) -> Self {
        Self { limits, ..self }
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:8001`.
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// A kubeconfig for this server, with a context of this name. Over plain HTTP kubectl never sends the token.
    pub fn kubeconfig(&self, name: &str, token: &BearerToken) -> String {
        let trust = self.tls.as_ref().map_or_else(String::new, |tls| {
            format!("    certificate-authority-data: {}\n", STANDARD.encode(&tls.pem))
        });
        format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: {name}\n  cluster:\n    server: {}\n{trust}\
             users:\n- name: {name}\n  user:\n    token: \"{}\"\ncontexts:\n- name: {name}\n  context:\n    \
             cluster: {name}\n    user: {name}\ncurrent-context: {name}\n",
            self.url(),
            token.text(),
        )
    }

    /// Serves until the task is dropped.
    pub async fn serve(self, server: ApiServer) -> Infallible {
        let limits = self.limits;
        let large = Arc::new(Semaphore::new(limits.large_bodies));
        let guard = Arc::new(RequestGuard::new(self.address, server.token().clone()));
        let tls = self.tls.map(|tls| tls.acceptor);
        let mut arrived = acceptor::accept(self.listener, tls, limits);
        while let Some((stream, permit)) = arrived.recv().await {
            let begun = Arc::default();
            let (server, guard, large) = (server.clone(), Arc::clone(&guard), Arc::clone(&large));
            let service = ConnectionService { server, guard, limits, large, begun };
            tokio::spawn(async move {
                converse(stream, service).await;
                drop(permit);
            });
        }
        std::future::pending().await
    }
}

/// Serves one connection to its end, however that comes about.
async fn converse(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, service: ConnectionService) {
    let limits = service.limits;
    let begun = Arc::clone(&service.begun);
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(limits.head);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(limits.silence)
        .keep_alive_timeout(limits.stall)
        .max_concurrent_streams(STREAMS_MAX)
        .max_send_buf_size(SENDING_MAX);
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
    let mute = async {
        tokio::time::sleep(limits.head).await;
        // The detection of the HTTP version has no timeout of its own.
        if begun.load(Ordering::Relaxed) {
            std::future::pending().await
        }
    };
    tokio::select! {
        _ = connection => {}
        () = mute => {}
    }
}

/// The server, protected from slow clients.
#[derive(Clone)]
struct ConnectionService {
    server: ApiServer,
    guard: Arc<RequestGuard>,
    limits: ListenerLimits,
    large: Arc<Semaphore>,
    /// Whether the connection has sent a request.
    begun: Arc<AtomicBool>,
}

impl<B> tower::Service<Request<B>> for ConnectionService
where
    B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        self.begun.store(true, Ordering::Relaxed);
        if let Err(failure) = self.guard.check(&request) {
            let (head, _) = request.into_parts();
            return Box::pin(ready(Ok(self.server.reject(&head, failure))));
        }
        self.server.call(request.map(|body| TimedBody::new(body, self.limits.body, &self.large)))
    }
}

impl ListenerTls {
    fn generate(address: SocketAddr) -> io::Result<Self> {
        let names = vec!["localhost".to_owned(), address.ip().to_string()];
        let own = rcgen::generate_simple_self_signed(names).map_err(io::Error::other)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(own.signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_single_cert(vec![own.cert.der().clone()], key)
            .map_err(io::Error::other)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)), pem: own.cert.pem() })
    }
}
