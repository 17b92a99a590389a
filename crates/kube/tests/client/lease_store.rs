//! Tests that a dead connection is detected in time to renew the lease over another one.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube::client::Body;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use taintward_kube::config::{ConnectSettings, connect};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{self, ServerConfig};

/// An HTTP/2 server that responds to everything, and its certificate.
async fn answering() -> (SocketAddr, String) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(vec!["127.0.0.1".into()]).unwrap();
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let (listener, tls) =
        (TcpListener::bind("127.0.0.1:0").await.unwrap(), TlsAcceptor::from(Arc::new(config)));
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let tls = tls.clone();
            tokio::spawn(async move {
                let stream = tls.accept(stream).await?;
                let response = service_fn(|_: Request<Incoming>| async {
                    Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"{}"))))
                });
                let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                server.serve_connection(TokioIo::new(stream), response).await.map_err(std::io::Error::other)
            });
        }
    });
    (address, cert.pem())
}

/// A relay: connections from before the last change of `cut` transfer nothing any more, and stay open.
async fn relay(to: SocketAddr, cut: watch::Receiver<()>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut here, _)) = listener.accept().await {
            let mut cut = cut.clone();
            cut.mark_unchanged();
            tokio::spawn(async move {
                let mut there = TcpStream::connect(to).await.unwrap();
                tokio::select! {
                    _ = copy_bidirectional(&mut here, &mut there) => {}
                    _ = cut.changed() => std::future::pending().await,
                }
            });
        }
    });
    address
}

/// Removes the kubeconfig file when it is dropped.
struct StoreFile(std::path::PathBuf);

impl Drop for StoreFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn lease() -> Request<Body> {
    let lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/taintward";
    Request::get(lease).body(Body::empty()).unwrap()
}

#[tokio::test]
async fn a_dead_connection_of_the_lease_is_replaced_within_half_the_renew_deadline() {
    let (server, certificate) = answering().await;
    let (cut, may_carry) = watch::channel(());
    let address = relay(server, may_carry).await;
    let place = std::env::temp_dir().join(format!("taintward-lease-{}", std::process::id()));
    let (file, authority) = (StoreFile(place.clone()), StoreFile(place.with_extension("pem")));
    std::fs::write(&authority.0, certificate).unwrap();
    let text = format!(
        "{{clusters: [{{name: c, cluster: {{server: 'https://{address}', certificate-authority: '{}'}}}}], \
         users: [{{name: u, user: {{}}}}], \
         contexts: [{{name: x, context: {{cluster: c, user: u}}}}], current-context: x}}",
        authority.0.display()
    );
    std::fs::write(&file.0, text).unwrap();
    let connected =
        connect(&ConnectSettings { kubeconfig: Some(file.0.clone()), ..ConnectSettings::default() })
            .await
            .unwrap();
    assert!(connected.lease.send(lease()).await.unwrap().status().is_success());

    // From here on time advances only when nothing else can happen.
    tokio::time::pause();
    cut.send(()).unwrap();
    let began = Instant::now();
    connected.lease.send(lease()).await.unwrap_err();
    assert!(began.elapsed() <= Duration::from_millis(5100), "detected as dead after {:?}", began.elapsed());
    tokio::time::resume();
    assert!(connected.lease.send(lease()).await.unwrap().status().is_success(), "over a new connection");
}
