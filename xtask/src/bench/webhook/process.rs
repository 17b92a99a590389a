//! Runs the built webhook as a child process with its own certificate.

use super::super::flood::cgroup::CgroupLimit;
use super::review_client::ReviewClient;
use crate::http;
use crate::sources::ChildGuard;
use anyhow::{Context as _, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use taintward_envtest::{Account, Cluster, usage};

/// The webhook's process, ended when dropped.
pub(crate) struct WebhookProcess {
    child: ChildGuard,
    pub(crate) asker: ReviewClient,
    /// The port of metrics and health; 0 if they share the port of reviews.
    pub(crate) metrics: u16,
    bundle: Vec<u8>,
    binary: PathBuf,
    folder: PathBuf,
}

impl Drop for WebhookProcess {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl WebhookProcess {
    pub(crate) async fn start(binary: &Path, cluster: &Cluster) -> Result<Self> {
        Self::run(binary, cluster, Command::new(binary), 0).await
    }

    /// Starts it as installed: in a cgroup, with a separate port for metrics and health.
    pub(crate) async fn within(binary: &Path, cluster: &Cluster, confined: &CgroupLimit) -> Result<Self> {
        Self::run(binary, cluster, confined.command(binary), http::free_port()?).await
    }

    async fn run(binary: &Path, cluster: &Cluster, mut command: Command, metrics: u16) -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("taintward-bench-webhook-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()])?;
        let (certificate, key) = (folder.join("tls.crt"), folder.join("tls.key"));
        fs::write(&certificate, made.cert.pem())?;
        fs::write(&key, made.signing_key.serialize_pem())?;
        let port = http::free_port()?;
        let child = command
            .args(["webhook", "--bind-address=127.0.0.1"])
            .arg(format!("--secure-port={port}"))
            .arg(format!("--metrics-port={metrics}"))
            .arg(format!("--kubeconfig={}", cluster.kubeconfig(Account::Admin, 0).display()))
            .arg(format!("--tls-cert-file={}", certificate.display()))
            .arg(format!("--tls-private-key-file={}", key.display()))
            .stderr(Stdio::null())
            .spawn()
            .context("starting the webhook")?;
        let asker = ReviewClient::new(port, made.cert.der())?;
        let bundle = made.cert.pem().into_bytes();
        let webhook =
            Self { child: ChildGuard(child), asker, metrics, bundle, binary: binary.to_owned(), folder };
        let until = Instant::now() + Duration::from_secs(30);
        while !webhook.is_ready().await {
            if Instant::now() > until {
                bail!("the webhook is not ready within 30 s");
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(webhook)
    }

    async fn is_ready(&self) -> bool {
        match self.metrics {
            0 => self.asker.is_ready().await,
            port => http::get(port, "/readyz").is_ok_and(|(status, _)| status == 200),
        }
    }

    /// Whether the process still runs.
    pub(crate) fn is_alive(&mut self) -> Result<bool> {
        Ok(self.child.0.try_wait()?.is_none())
    }

    /// What the process has used until now.
    pub(crate) fn usage(&self) -> Result<usage::ProcessUsage> {
        usage::of(self.child.0.id())
    }

    /// The certificate that API servers must trust, PEM.
    pub(crate) fn bundle(&self) -> &[u8] {
        &self.bundle
    }

    /// The program that runs.
    pub(crate) fn binary(&self) -> &Path {
        &self.binary
    }
}
