//! Sends the same review over persistent connections, as fast as possible or at a fixed rate, and measures latency.

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

/// Percentiles of the time that answers took.
#[derive(Clone, Copy)]
pub(crate) struct LatencyPercentiles {
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
    pub(crate) p999: Duration,
}

/// Sends reviews to a webhook on loopback.
#[derive(Clone)]
pub(crate) struct ReviewClient {
    pub(in crate::bench) port: u16,
    pub(in crate::bench) connector: TlsConnector,
}

/// A pod of typical size.
pub(in crate::bench) fn pod(name: &str) -> Value {
    let container = |name: &str| {
        json!({
            "name": name, "image": "registry.example.com/team/app:1.2.3",
            "args": ["--listen=:8080", "--log-level=info"],
            "env": [{"name": "A", "value": "b"}, {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
            "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
            "readinessProbe": {"httpGet": {"path": "/readyz", "port": "http"}, "periodSeconds": 5},
            "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
            "volumeMounts": [{"name": "config", "mountPath": "/etc/config", "readOnly": true}],
            "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
        })
    };
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": "ns-7",
            "labels": {"app.kubernetes.io/name": "app", "pod-template-hash": "7d4b9c6f5d"},
            "annotations": {"prometheus.io/scrape": "true", "checksum/config": "0123456789abcdef0123456789abcdef"},
        },
        "spec": {
            "serviceAccountName": "default", "restartPolicy": "Always", "terminationGracePeriodSeconds": 30,
            "containers": [container("app"), container("proxy")],
            "volumes": [{"name": "config", "configMap": {"name": "app", "defaultMode": 420}}],
            "tolerations": [
                {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
                {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
            ],
        },
    })
}

/// A review of the creation of a pod.
pub(in crate::bench) fn question(namespace: &str, number: usize) -> Bytes {
    let kind = json!({"group": "", "version": "v1", "kind": "Pod"});
    let resource = json!({"group": "", "version": "v1", "resource": "pods"});
    let question = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": format!("705ab4f5-6393-11e8-b7cc-{number:012}"), "kind": kind, "resource": resource,
            "requestKind": kind, "requestResource": resource, "name": "app-7d4b9c6f5d-abcde", "namespace": namespace,
            "operation": "CREATE", "dryRun": false,
            "userInfo": {
                "username": "system:serviceaccount:kube-system:replicaset-controller", "uid": "0",
                "groups": ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
            },
            "object": pod("app-7d4b9c6f5d-abcde"), "oldObject": null,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        },
    });
    Bytes::from(question.to_string())
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
        Ok(Self { port, connector: TlsConnector::from(Arc::new(config)) })
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://127.0.0.1:{}/{path}", self.port)
    }

    pub(crate) async fn is_ready(&self) -> bool {
        let requested = async {
            let request = http::Request::get("/readyz").header("host", "127.0.0.1").body(Full::default())?;
            let response = self.connect().await?.send_request(request).await?;
            anyhow::Ok(response.status() == 200)
        };
        matches!(tokio::time::timeout(Duration::from_secs(2), requested).await, Ok(Ok(true)))
    }

    pub(in crate::bench) async fn connect(&self) -> Result<SendRequest<Full<Bytes>>> {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        stream.set_nodelay(true)?;
        let stream = self.connector.connect(ServerName::try_from("127.0.0.1")?, stream).await?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(sender)
    }

    /// Sends one review, to `/mutate` or `/validate`.
    pub(crate) async fn review(&self, path: &str, review: &Value) -> Result<()> {
        post(&mut self.connect().await?, path, &Bytes::from(review.to_string())).await
    }

    /// Sends reviews without a pause on several connections for this time, and returns the number of answers.
    pub(crate) async fn saturate(&self, connections: usize, lasting: Duration) -> Result<u64> {
        let until = Instant::now() + lasting;
        let mut clients = JoinSet::new();
        for client in 0..connections {
            let (asker, body) = (self.clone(), question("ns-7", client));
            clients.spawn(async move {
                let mut sender = asker.connect().await?;
                let mut responses = 0;
                while Instant::now() < until {
                    request(&mut sender, &body).await?;
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

    /// Sends reviews at a fixed rate, whether or not the last one is answered; times count from the moment when each was due.
    pub(crate) async fn paced(
        &self,
        connections: usize,
        rate: f64,
        lasting: Duration,
    ) -> Result<LatencyPercentiles> {
        let mut clients = JoinSet::new();
        let mut ways = Vec::new();
        for client in 0..connections {
            let (way, mut due) = mpsc::unbounded_channel::<Instant>();
            ways.push(way);
            let (mut sender, body) = (self.connect().await?, question("ns-7", client));
            clients.spawn(async move {
                let mut took = Vec::new();
                while let Some(due) = due.recv().await {
                    request(&mut sender, &body).await?;
                    took.push(due.elapsed());
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
                let _ = ways[number as usize % ways.len()].send(due);
            }
        });
        let mut all = Vec::new();
        while let Some(client) = clients.join_next().await {
            all.extend(client.context("a client panicked")??);
        }
        let wanted = rate * lasting.as_secs_f64();
        ensure!(
            all.len() as f64 > wanted * 0.95,
            "the client could not keep the rate: {} of {wanted:.0} reviews",
            all.len()
        );
        all.sort_unstable();
        let at = |share: f64| all[((all.len() as f64 * share) as usize).min(all.len() - 1)];
        Ok(LatencyPercentiles { p50: at(0.5), p99: at(0.99), p999: at(0.999) })
    }
}

pub(in crate::bench) async fn request(sender: &mut SendRequest<Full<Bytes>>, body: &Bytes) -> Result<()> {
    post(sender, "/mutate?timeout=2s", body).await
}

async fn post(sender: &mut SendRequest<Full<Bytes>>, path: &str, body: &Bytes) -> Result<()> {
    let request = http::Request::post(path)
        .header("host", "127.0.0.1")
        .header("content-type", "application/json")
        .body(Full::new(body.clone()))?;
    sender.ready().await?;
    let response = sender.send_request(request).await?;
    ensure!(response.status() == 200, "{}", response.status());
    response.into_body().collect().await?;
    Ok(())
}
