//! Forwards a contender's requests to the API server as the contender, and answers some of them itself, or late.

use super::tls_server::{ServerBody, TlsServer};
use anyhow::Result;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::{Method, Request, Response, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use taintward_envtest::Cluster;
use taintward_envtest::certificates::SignedIdentity;

/// What the proxy does to requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ProxyFault {
    /// It answers 429 to four of five requests.
    TooManyRequests { retry_after: bool },
    /// As a balancer without a healthy server, it answers 503 to all writes and to every second read.
    Unavailable,
    /// As a balancer that leads elsewhere, it answers with a page of this status to everything.
    Foreign(u16),
    /// The answers to reads of nodes arrive late.
    SlowNodes(Duration),
}

/// What it does to one request.
#[derive(Debug, PartialEq)]
enum ProxyAction {
    Forward(Duration),
    Reject(u16),
}

pub(crate) struct FaultProxy {
    pub(crate) server: TlsServer,
    fault: Arc<Mutex<Option<ProxyFault>>>,
}

/// What all requests share.
struct Upstream {
    client: Client<HttpsConnector<HttpConnector>, Incoming>,
    port: u16,
    fault: Arc<Mutex<Option<ProxyFault>>>,
    requests: AtomicU64,
}

impl FaultProxy {
    /// Opens it in front of the first API server.
    pub(crate) async fn start(cluster: &Cluster, identity: &SignedIdentity) -> Result<Self> {
        let file = |name: &str| fs::read_to_string(cluster.folder().join(name));
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(file("ca.crt")?.as_bytes())?)?;
        let chain = vec![CertificateDer::from_pem_slice(identity.certificate.as_bytes())?];
        let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes())?;
        let config =
            ClientConfig::builder().with_root_certificates(roots).with_client_auth_cert(chain, key)?;
        let connector = HttpsConnectorBuilder::new().with_tls_config(config).https_only().enable_http1();
        let fault = Arc::<Mutex<Option<ProxyFault>>>::default();
        let upstream = Arc::new(Upstream {
            client: Client::builder(TokioExecutor::new()).build(connector.build()),
            port: cluster.port(0),
            fault: Arc::clone(&fault),
            requests: AtomicU64::new(0),
        });
        let respond = move |request| respond(Arc::clone(&upstream), request);
        let server = TlsServer::start(&file("server.crt")?, &file("server.key")?, respond).await?;
        Ok(Self { server, fault })
    }

    /// Changes what it does to requests from now on.
    pub(crate) fn set(&self, fault: Option<ProxyFault>) {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = fault;
    }
}

impl ProxyFault {
    /// Decides about a request; `draw` is a random number below one.
    fn decide(self, method: &Method, path: &str, query: &str, draw: f64) -> ProxyAction {
        let is_read = method == Method::GET;
        match self {
            Self::TooManyRequests { .. } if draw < 0.8 => ProxyAction::Reject(429),
            Self::Foreign(code) => ProxyAction::Reject(code),
            Self::Unavailable if !is_read || draw < 0.5 => ProxyAction::Reject(503),
            Self::SlowNodes(late)
                if is_read && path.starts_with("/api/v1/nodes/") && !query.contains("watch=") =>
            {
                ProxyAction::Forward(late)
            }
            _ => ProxyAction::Forward(Duration::ZERO),
        }
    }
}

async fn respond(upstream: Arc<Upstream>, mut request: Request<Incoming>) -> Result<Response<ServerBody>> {
    let began = Instant::now();
    let fault = *upstream.fault.lock().unwrap_or_else(PoisonError::into_inner);
    let action = fault.map_or(ProxyAction::Forward(Duration::ZERO), |fault| {
        let (uri, number) = (request.uri(), upstream.requests.fetch_add(1, Ordering::Relaxed));
        fault.decide(request.method(), uri.path(), uri.query().unwrap_or_default(), draw(number))
    });
    match action {
        ProxyAction::Reject(code) => {
            let wait = matches!(fault, Some(ProxyFault::TooManyRequests { retry_after: true }));
            Ok(rejection(code, wait)?)
        }
        ProxyAction::Forward(late) => {
            *request.uri_mut() =
                format!("https://127.0.0.1:{}{}", upstream.port, request.uri()).parse::<Uri>()?;
            let response = upstream.client.request(request).await?;
            tokio::time::sleep(late.saturating_sub(began.elapsed())).await;
            Ok(response.map(Either::Right))
        }
    }
}

/// As the API server refuses (429), and as a balancer does (503).
fn rejection(code: u16, retry_after: bool) -> http::Result<Response<ServerBody>> {
    let status =
        r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429}"#;
    let (kind, body) = match code {
        429 => ("application/json", status),
        503 => ("text/plain", "no healthy upstream"),
        _ => ("text/html", "<html><body>The page that you want is not here.</body></html>"),
    };
    let mut response = Response::builder().status(code).header(CONTENT_TYPE, kind);
    if retry_after {
        response = response.header(RETRY_AFTER, "1");
    }
    response.body(Either::Left(Full::new(Bytes::from_static(body.as_bytes()))))
}

/// A number below one, in no order, the same in each run (SplitMix64).
fn draw(number: u64) -> f64 {
    let mut bits = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: &str = "/api/v1/nodes/n1";

    #[test]
    fn each_fault_concerns_its_own_requests() {
        let forward = ProxyAction::Forward(Duration::ZERO);
        let storm = ProxyFault::TooManyRequests { retry_after: true };
        assert_eq!(storm.decide(&Method::GET, NODE, "", 0.79), ProxyAction::Reject(429));
        assert_eq!(storm.decide(&Method::DELETE, NODE, "", 0.8), forward);
        assert_eq!(ProxyFault::Unavailable.decide(&Method::DELETE, NODE, "", 0.99), ProxyAction::Reject(503));
        assert_eq!(ProxyFault::Unavailable.decide(&Method::GET, NODE, "", 0.5), forward);
        let slow = ProxyFault::SlowNodes(Duration::from_secs(4));
        assert_eq!(slow.decide(&Method::GET, NODE, "", 0.0), ProxyAction::Forward(Duration::from_secs(4)));
        assert_eq!(slow.decide(&Method::GET, "/api/v1/nodes", "watch=true", 0.0), forward);
        assert_eq!(slow.decide(&Method::PATCH, NODE, "", 0.0), forward);
    }

    #[test]
    fn draws_are_spread_evenly() {
        let low = (0..10_000).filter(|number| draw(*number) < 0.8).count();
        assert!((7_800..8_200).contains(&low), "{low}");
    }
}
