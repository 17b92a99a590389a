//! Sends admission reviews over persistent connections, one by one, as fast as possible, or at a fixed rate.

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

/// Sends reviews to a webhook on loopback.
#[derive(Clone)]
pub(crate) struct ReviewClient {
    pub(crate) address: SocketAddr,
    pub(crate) connector: TlsConnector,
}

/// A connection of a client.
pub(crate) type ReviewConnection = SendRequest<Full<Bytes>>;

/// A review of an object, and of what it was before.
pub(crate) fn review(operation: &str, (kind, resource): (&str, &str), object: &Value, old: &Value) -> Value {
    let options = if old.is_null() { "CreateOptions" } else { "UpdateOptions" };
    let kind = json!({"group": "", "version": "v1", "kind": kind});
    let resource = json!({"group": "", "version": "v1", "resource": resource});
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-000000000001", "kind": kind, "resource": resource,
            "requestKind": kind, "requestResource": resource, "name": object["metadata"]["name"],
            "namespace": object["metadata"]["namespace"].as_str().unwrap_or_default(), "operation": operation, "dryRun": false,
            "userInfo": {
                "username": "system:serviceaccount:kube-system:replicaset-controller", "uid": "0",
                "groups": ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
            },
            "object": object, "oldObject": old,
            "options": {"kind": options, "apiVersion": "meta.k8s.io/v1"},
        },
    })
}

impl ReviewClient {
    pub(crate) fn new(port: u16, trusted: &CertificateDer<'_>) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(trusted.clone().into_owned())?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector = TlsConnector::from(Arc::new(config));
        Ok(Self { address: (Ipv4Addr::LOCALHOST, port).into(), connector })
    }

    pub(crate) async fn connect(&self) -> Result<ReviewConnection> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let stream = self.connector.connect(ServerName::from(self.address.ip()), stream).await?;
        let (connection, driver) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(driver);
        Ok(connection)
    }

    /// Sends a review without a pause on several connections for this time, and returns the number of answers.
    pub(crate) async fn saturate(
        &self,
        review: &Bytes,
        connections: usize,
        lasting: Duration,
    ) -> Result<u64> {
        let until = Instant::now() + lasting;
        let mut clients = JoinSet::new();
        for _ in 0..connections {
            let (client, review) = (self.clone(), review.clone());
            clients.spawn(async move {
                let mut connection = client.connect().await?;
                let mut responses = 0;
                while Instant::now() < until {
                    post(&mut connection, "/mutate?timeout=2s", &review).await?;
                    responses += 1;
                }
                anyhow::Ok(responses)
            });
        }
        let mut responses = 0;
        while let Some(client) = clients.join_next().await {
            responses += client.context("a client panicked")??;
        }
        Ok(responses)
    }

    /// Sends a review at a fixed rate, whether or not the last one is answered. Returns how long each took, in seconds from the moment
    /// when it was due.
    pub(crate) async fn paced(
        &self,
        review: &Bytes,
        connections: usize,
        rate: f64,
        lasting: Duration,
    ) -> Result<Vec<f64>> {
        let mut clients = JoinSet::new();
        let mut senders = Vec::new();
        for _ in 0..connections {
            let (sender, mut due) = mpsc::unbounded_channel::<Instant>();
            senders.push(sender);
            let (mut connection, review) = (self.connect().await?, review.clone());
            clients.spawn(async move {
                let mut took = Vec::new();
                while let Some(due) = due.recv().await {
                    post(&mut connection, "/mutate?timeout=2s", &review).await?;
                    took.push(due.elapsed().as_secs_f64());
                }
                anyhow::Ok(took)
            });
        }
        // A separate thread: the runtime's timers count whole milliseconds.
        std::thread::spawn(move || {
            let begin = Instant::now();
            for number in 0_u32.. {
                let due = begin + Duration::from_secs_f64(f64::from(number) / rate);
                if due > begin + lasting {
                    return;
                }
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                // A client that failed returns its own error.
                let _ = senders[number as usize % senders.len()].send(due);
            }
        });
        let mut all = Vec::new();
        while let Some(client) = clients.join_next().await {
            all.extend(client.context("a client panicked")??);
        }
        let (sent, wanted) = (all.len() as f64, rate * lasting.as_secs_f64());
        ensure!(sent > wanted * 0.95, "the client could not keep the rate: {sent} of {wanted:.0} reviews");
        Ok(all)
    }
}

/// Sends one review, to `/mutate` or `/validate`.
pub(crate) async fn post(connection: &mut ReviewConnection, path: &str, body: &Bytes) -> Result<()> {
    let request = http::Request::post(path)
        .header("host", "127.0.0.1")
        .header("content-type", "application/json")
        .body(Full::new(body.clone()))?;
    connection.ready().await?;
    let response = connection.send_request(request).await?;
    ensure!(response.status() == 200, "{}", response.status());
    response.into_body().collect().await?;
    Ok(())
}
