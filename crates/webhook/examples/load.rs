//! # Load: how many questions a second the server answers
//! Room:     a server with a rule that adds one toleration, and clients on keep-alive TLS, in one process.
//! Comes in: `cargo run --release -p taintward-webhook --example load -- CONNECTIONS SECONDS`.
//! Goes out: answers a second, and how long they took.
//! Not here: the rules themselves; a verdict on the figures.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "an example: what cannot be had ends it")]

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use taintward_core::time::{Mono, Wall};
use taintward_webhook::certificate::rotation::Plan;
use taintward_webhook::certificate::{Mint as _, RealMint};
use taintward_webhook::metrics::Metrics;
use taintward_webhook::review::{Malformed, Patch, Request, Reviewer, Toleration, Verdict};
use taintward_webhook::server::{Listening, Service};
use taintward_webhook::settings::{Certificate, Limits, Settings};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

struct AddsOne;

impl Reviewer for AddsOne {
    fn mutate(&self, _: &Request<'_>) -> Result<Verdict, Malformed> {
        let mut patch = Patch::default();
        let toleration = Toleration { key: "example.com/gpu", operator: "Exists", ..Toleration::default() };
        patch.add_tolerations(None, &[toleration]);
        Ok(Verdict { patch, ..Verdict::default() })
    }

    fn validate(&self, _: &Request<'_>) -> Result<Verdict, Malformed> {
        Ok(Verdict::allow())
    }
}

/// A question about a pod of the usual size, 5 KiB.
fn question() -> Bytes {
    let named = r#"{"group":"","version":"v1","kind":"Pod","resource":"pods"}"#;
    let container = r#"{"name":"main","image":"registry.example.com/app:1.2.3","env":[{"name":"A","value":"b"}],"ports":[{"containerPort":8080}],"resources":{"requests":{"cpu":"100m","memory":"128Mi"}}}"#;
    let containers = vec![container; 22].join(",");
    format!(
        r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"705ab4f5-6393-11e8-b7cc-42010a800002","kind":{named},"resource":{named},"operation":"CREATE","userInfo":{{"username":"me","groups":["a","b"]}},"name":"p","namespace":"n","object":{{"kind":"Pod","spec":{{"containers":[{containers}]}}}}}}}}"#
    )
    .into()
}

async fn ask(address: SocketAddr, connector: TlsConnector, until: Instant) -> Vec<Duration> {
    let stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let stream = connector.connect(ServerName::try_from("hook.test").unwrap(), stream).await.unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let body = question();
    let mut took = Vec::new();
    while Instant::now() < until {
        let began = Instant::now();
        let request = http::Request::post("/mutate?timeout=2s")
            .header("host", "hook.test")
            .header("content-type", "application/json")
            .body(Full::new(body.clone()))
            .unwrap();
        sender.ready().await.unwrap();
        let answer = sender.send_request(request).await.unwrap();
        assert_eq!(answer.status(), 200);
        answer.into_body().collect().await.unwrap();
        took.push(began.elapsed());
    }
    took
}

#[tokio::main(flavor = "multi_thread")]
async fn main() {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<u64>().unwrap());
    let (connections, seconds) = (numbers.next().unwrap_or(16), numbers.next().unwrap_or(5));
    let now = Wall::from_secs(i64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_secs()).unwrap());
    let plan = Plan::new(vec!["hook.test".into()]);
    let authority = RealMint.authority(&plan, now).unwrap();
    let serving = RealMint.serving(&authority, &plan, now).unwrap();
    let settings = Settings {
        address: "127.0.0.1:0".parse().unwrap(),
        metrics: None,
        certificate: Certificate::SelfSigned { names: plan.names.clone() },
        limits: Limits::default(),
    };
    let listening = Listening::open(&settings, Arc::new(move || now)).await.unwrap();
    listening.shown().show(serving.pair().unwrap());
    let address = listening.address().unwrap();
    let metrics = Arc::new(Metrics::new(Arc::new(|| Mono::from_secs(0)), "0", now, &[]));
    let service = Service { reviewer: Arc::new(AddsOne), metrics, checks: Vec::new() };
    tokio::spawn(listening.serve(service, std::future::pending()));

    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(authority.certificate)).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = TlsConnector::from(Arc::new(config));
    let until = Instant::now() + Duration::from_secs(seconds);
    let clients: Vec<_> =
        (0..connections).map(|_| tokio::spawn(ask(address, connector.clone(), until))).collect();
    let mut took = Vec::new();
    for client in clients {
        took.extend(client.await.unwrap());
    }
    took.sort();
    let at = |share: usize| took[(took.len() * share / 1000).min(took.len() - 1)];
    let rate = took.len() as u64 / seconds;
    println!("{} bytes a question, {connections} connections: {rate} answers a second", question().len());
    println!("p50 {:?}, p99 {:?}, p99.9 {:?}", at(500), at(990), at(999));
}
