//! Runs `taintward webhook` with a certificate in files, and a client that trusts it.

use crate::review_client::{self, ReviewClient, review};
use crate::server_process::ServerProcess;
use anyhow::Result;
use bytes::Bytes;
use jiff::{ToSpan as _, Zoned};
use rcgen::{Certificate, CertificateParams, KeyPair, date_time_ymd};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;
use taintward_envtest::{ProcessFolder, free_port};

/// The webhook's process, ended when dropped.
pub(crate) struct WebhookProcess {
    pub(crate) server: ServerProcess,
    pub(crate) client: ReviewClient,
    /// The certificate that API servers must trust, PEM.
    pub(crate) bundle: String,
    folder: ProcessFolder,
}

impl WebhookProcess {
    /// Starts it as installed, with a separate port for metrics and health. `program` may be a command that starts the program. The
    /// certificate expires in this number of days, or in the distant future.
    pub(crate) async fn start(
        mut program: Command,
        kubeconfig: &Path,
        days: Option<i64>,
        flags: &[&str],
    ) -> Result<Self> {
        let folder = ProcessFolder::create("taintward-webhook")?;
        let (certificate, port) = (write_certificate(folder.path(), days)?, free_port()?);
        program.arg("webhook").arg(format!("--secure-port={port}")).args(flags);
        program.arg("--tls-cert-file").arg(folder.path().join("tls.crt"));
        program.arg("--tls-private-key-file").arg(folder.path().join("tls.key"));
        let server = ServerProcess::start(program, kubeconfig).await?;
        let client = ReviewClient::new(port, certificate.der())?;
        Ok(Self { server, client, bundle: certificate.pem(), folder })
    }

    /// Writes a certificate that expires in the distant future.
    pub(crate) fn renew(&self) -> Result<()> {
        write_certificate(self.folder.path(), None).map(drop)
    }

    /// Sends a review of the creation of a pod.
    pub(crate) async fn review_pod(&self, pod: &Value) -> Result<()> {
        self.send("/mutate", &review("CREATE", ("Pod", "pods"), pod, &Value::Null)).await
    }

    /// Sends a review of new taints of a node, which a person has written.
    pub(crate) async fn review_taints(&self, node: &Value, taints: &[Value]) -> Result<()> {
        let mut tainted = node.clone();
        tainted["spec"]["taints"] = json!(taints);
        let mut review = review("UPDATE", ("Node", "nodes"), &tainted, node);
        review["request"]["userInfo"] = json!({"username": "jane"});
        self.send("/validate", &review).await
    }

    async fn send(&self, path: &str, review: &Value) -> Result<()> {
        let mut connection = self.client.connect().await?;
        review_client::post(&mut connection, path, &Bytes::from(review.to_string())).await
    }
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
