//! Serves admission reviews over TLS, with the responses that a test gives.

use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::sync::Arc;
use taintward_envtest::certificates::TestAuthority;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// Listens as long as the task set lives. `respond` creates the response to a request at a path; its UID is added.
pub(crate) async fn listen(
    port: u16,
    authority: &TestAuthority,
    respond: impl AsyncFn(&str, &Value) -> Value + 'static,
) {
    let shown = authority.server("webhook", &["127.0.0.1"]).unwrap();
    let chain = vec![CertificateDer::from_pem_slice(shown.certificate.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(shown.key.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = builder.unwrap().with_no_client_auth().with_single_cert(chain, key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.unwrap();
    let respond = Rc::new(respond);
    tokio::task::spawn_local(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (acceptor, respond) = (acceptor.clone(), Rc::clone(&respond));
            tokio::task::spawn_local(async move {
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let response = service_fn(move |request| {
                    let respond = Rc::clone(&respond);
                    async move { Ok::<_, Infallible>(response(request, &*respond).await) }
                });
                // An API server that has timed out closes the connection.
                let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), response).await;
            });
        }
    });
}

async fn response(
    request: Request<Incoming>,
    respond: &impl AsyncFn(&str, &Value) -> Value,
) -> Response<Full<Bytes>> {
    let path = request.uri().path().to_owned();
    let Ok(body) = request.into_body().collect().await else { return Response::default() };
    let review: Value = serde_json::from_slice(&body.to_bytes()).unwrap();
    let mut response = respond(&path, &review["request"]).await;
    response["uid"] = review["request"]["uid"].clone();
    let response =
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
    Response::new(response.to_string().into())
}
