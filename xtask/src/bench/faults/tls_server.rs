//! Serves HTTPS on loopback in a thread of its own, so that the waits of the benchmark delay no answer.

use anyhow::Result;
use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::watch;
use tokio::task::{JoinSet, LocalSet};
use tokio_rustls::TlsAcceptor;

/// A body of its own, or one that is passed on.
pub(crate) type ResponseBody = Either<Full<Bytes>, Incoming>;

/// A server, ended when dropped.
pub(crate) struct TlsServer {
    pub(crate) port: u16,
    is_cut: Option<watch::Sender<bool>>,
    thread: Option<JoinHandle<()>>,
}

impl TlsServer {
    /// Starts it with a PEM certificate and key; `service` returns the service of a new connection.
    pub(crate) fn start<S>(
        certificate: &str,
        key: &str,
        service: impl Fn() -> S + Send + 'static,
    ) -> Result<Self>
    where
        S: Service<Request<Incoming>, Response = Response<ResponseBody>, Error = anyhow::Error> + 'static,
    {
        let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes())?];
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes())?;
        let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key)?;
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (is_cut, cuts) = watch::channel(false);
        let thread = std::thread::spawn(move || {
            let local = LocalSet::new();
            if let Err(error) = local.block_on(&runtime, serve(listener, &acceptor, &service, cuts)) {
                eprintln!("error: the HTTPS server of the benchmark ended: {error:#}");
            }
        });
        Ok(Self { port, is_cut: Some(is_cut), thread: Some(thread) })
    }

    /// While it is cut, it closes all connections.
    pub(crate) fn cut(&self, is_cut: bool) {
        self.is_cut.iter().for_each(|sender| _ = sender.send(is_cut));
    }
}

impl Drop for TlsServer {
    fn drop(&mut self) {
        drop(self.is_cut.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

async fn serve<S>(
    listener: TcpListener,
    acceptor: &TlsAcceptor,
    service: &impl Fn() -> S,
    mut cuts: watch::Receiver<bool>,
) -> Result<()>
where
    S: Service<Request<Incoming>, Response = Response<ResponseBody>, Error = anyhow::Error> + 'static,
{
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let (stream, _) = accepted?;
                if *cuts.borrow() {
                    continue;
                }
                stream.set_nodelay(true)?;
                let (acceptor, service) = (acceptor.clone(), service());
                connections.spawn_local(async move {
                    // A client that disconnects is not an error of the benchmark.
                    if let Ok(stream) = acceptor.accept(stream).await {
                        let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
                    }
                });
            }
            changed = cuts.changed() => match changed {
                Ok(()) => if *cuts.borrow_and_update() { connections.abort_all() },
                Err(_) => return Ok(()),
            },
            Some(_) = connections.join_next() => {}
        }
    }
}
