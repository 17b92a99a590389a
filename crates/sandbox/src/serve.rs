//! # Serve: the server on a socket
//! Room:     listening, TLS, connections; the kubeconfig that leads here.
//! Comes in: an address; a server.
//! Goes out: answers over HTTP/1.1 and HTTP/2.
//! Keeps:    loopback unless told otherwise; at most so many connections.
//! Not here: what is answered (`http`).

use crate::api::Server;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

/// Connections at the same time, at most.
const CONNECTIONS_MOST: usize = 4096;

/// How long a connection may take to say what it wants.
const HEADER_WAIT: Duration = Duration::from_secs(30);

/// An open socket, before anything is answered on it.
pub struct Listening {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<Tls>,
}

struct Tls {
    acceptor: TlsAcceptor,
    /// The certificate clients are to trust.
    pem: String,
}

impl Listening {
    /// Opens a socket, with a certificate of its own making if asked to.
    ///
    /// # Errors
    /// If the address cannot be had, or no certificate be made.
    pub async fn open(address: SocketAddr, tls: bool) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let tls = if tls { Some(Tls::generate(address)?) } else { None };
        Ok(Self { listener, address, tls })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:8001`.
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// A kubeconfig that leads here.
    pub fn kubeconfig(&self) -> String {
        let trust = self.tls.as_ref().map_or_else(String::new, |tls| {
            format!("    certificate-authority-data: {}\n", STANDARD.encode(&tls.pem))
        });
        format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: taintward-sandbox\n  cluster:\n    server: {}\n{trust}\
             users:\n- name: taintward-sandbox\n  user:\n    token: sandbox\ncontexts:\n- name: taintward-sandbox\n  context:\n    \
             cluster: taintward-sandbox\n    user: taintward-sandbox\ncurrent-context: taintward-sandbox\n",
            self.url()
        )
    }

    /// Answers until the task is dropped.
    pub async fn serve(self, server: Server) -> std::convert::Infallible {
        let room = Arc::new(Semaphore::new(CONNECTIONS_MOST));
        loop {
            let Ok(permit) = Arc::clone(&room).acquire_owned().await else { std::future::pending().await };
            let Ok((stream, _)) = self.listener.accept().await else {
                // Out of file handles, most likely: others are closed meanwhile.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let _ = stream.set_nodelay(true);
            let (server, acceptor) = (server.clone(), self.tls.as_ref().map(|tls| tls.acceptor.clone()));
            tokio::spawn(async move {
                match acceptor {
                    None => converse(stream, server).await,
                    Some(acceptor) => {
                        if let Ok(Ok(stream)) =
                            tokio::time::timeout(HEADER_WAIT, acceptor.accept(stream)).await
                        {
                            converse(stream, server).await;
                        }
                    }
                }
                drop(permit);
            });
        }
    }
}

/// One connection, to its end; how it ends is the client's affair.
async fn converse(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, server: Server) {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADER_WAIT);
    builder.http2().timer(TokioTimer::new());
    let service = TowerToHyperService::new(server);
    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
}

impl Tls {
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
