//! Runs `taintward webhook` with a certificate in files, and sends reviews to it.

use super::scrape_job::{SandboxServer, ScrapeJob, ScrapedProcess};
use crate::bench::webhook::review_client::ReviewClient;
use crate::http;
use anyhow::Result;
use jiff::{ToSpan as _, Zoned};
use rcgen::{Certificate, CertificateParams, KeyPair, date_time_ymd};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// A webhook with the brake on, and a client that trusts its first certificate.
pub(crate) struct CertifiedWebhook {
    /// Ended when dropped.
    _process: ScrapedProcess,
    client: ReviewClient,
    folder: PathBuf,
}

impl CertifiedWebhook {
    /// Starts a webhook whose certificate expires in this number of days, or in the distant future.
    pub(crate) async fn start(
        job: &ScrapeJob<'_>,
        sandbox: &SandboxServer,
        days: Option<i64>,
    ) -> Result<Self> {
        let folder = job.folder.path().join(format!("{}-certificate", job.name));
        fs::create_dir_all(&folder)?;
        let (certificate, port) = (write_certificate(&folder, days)?, http::free_port()?);
        let flags = [
            "--rules=*,brake".to_owned(),
            format!("--secure-port={port}"),
            format!("--tls-cert-file={}", folder.join("tls.crt").display()),
            format!("--tls-private-key-file={}", folder.join("tls.key").display()),
        ];
        let process = job.webhook(&sandbox.kubeconfig, &flags.each_ref().map(String::as_str)).await?;
        Ok(Self { _process: process, client: ReviewClient::new(port, certificate.der())?, folder })
    }

    /// Writes a certificate that expires in the distant future.
    pub(crate) fn renew(&self) -> Result<()> {
        write_certificate(&self.folder, None).map(drop)
    }

    /// Sends a review of the creation of a pod.
    pub(crate) async fn review_pod(&self, pod: &Value) -> Result<()> {
        self.client.review("/mutate", &review("CREATE", ("Pod", "pods"), pod, &Value::Null)).await
    }

    /// Sends a review of new taints of a node.
    pub(crate) async fn review_taints(&self, node: &Value, taints: &[Value]) -> Result<()> {
        let mut tainted = node.clone();
        tainted["spec"]["taints"] = json!(taints);
        self.client.review("/validate", &review("UPDATE", ("Node", "nodes"), &tainted, node)).await
    }
}

fn review(operation: &str, (kind, resource): (&str, &str), object: &Value, old: &Value) -> Value {
    let kind = json!({"group": "", "version": "v1", "kind": kind});
    let resource = json!({"group": "", "version": "v1", "resource": resource});
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "705ab4f5-6393-11e8-b7cc-000000000001", "kind": kind, "resource": resource, "requestKind": kind,
        "requestResource": resource, "name": object["metadata"]["name"], "namespace": "default", "operation": operation,
        "userInfo": {"username": "jane"}, "object": object, "oldObject": old,
    }})
}

fn write_certificate(folder: &Path, days: Option<i64>) -> Result<Certificate> {
    let key = KeyPair::generate()?;
    let mut parameters = CertificateParams::new(["127.0.0.1".to_owned()])?;
    if let Some(days) = days {
        let end = Zoned::now().checked_add(days.days())?;
        parameters.not_after =
            date_time_ymd(end.year().into(), end.month().unsigned_abs(), end.day().unsigned_abs());
    }
    let certificate = parameters.self_signed(&key)?;
    fs::write(folder.join("tls.crt"), certificate.pem())?;
    fs::write(folder.join("tls.key"), key.serialize_pem())?;
    Ok(certificate)
}
