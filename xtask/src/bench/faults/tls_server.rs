//! Serves HTTPS on loopback, and closes its connections while it is cut.

use anyhow::Result;
use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::net::Ipv4Addr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// A body of its own, or one that is passed on.
pub(crate) type ServerBody = Either<Full<Bytes>, Incoming>;

/// A server, ended when dropped.
pub(crate) struct TlsServer {
    pub(crate) port: u16,
    is_cut: watch::Sender<bool>,
}

impl TlsServer {
    /// Starts it with a PEM certificate and key.
    pub(crate) async fn start<A>(
        certificate: &str,
        key: &str,
        respond: impl Fn(Request<Incoming>) -> A + Clone + Send + 'static,
    ) -> Result<Self>
    where
        A: Future<Output = Result<Response<ServerBody>>> + Send + 'static,
    {
        let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes())?];
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes())?;
        let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key)?;
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let (is_cut, mut cuts) = watch::channel(false);
        tokio::spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                tokio::select! {
                    Ok((stream, _)) = listener.accept() => {
                        if *cuts.borrow() || stream.set_nodelay(true).is_err() {
                            continue;
                        }
                        let (acceptor, service) = (acceptor.clone(), service_fn(respond.clone()));
                        connections.spawn(async move {
                            // A client that disconnects is not an error of the benchmark.
                            if let Ok(stream) = acceptor.accept(stream).await {
                                let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
                            }
                        });
                    }
                    changed = cuts.changed() => match changed {
                        Ok(()) => if *cuts.borrow_and_update() { connections.abort_all() },
                        Err(_) => return,
                    },
                    Some(_) = connections.join_next() => {}
                }
            }
        });
        Ok(Self { port, is_cut })
    }

    /// While it is cut, it closes all connections.
    pub(crate) fn cut(&self, is_cut: bool) {
        self.is_cut.send_replace(is_cut);
    }
}
