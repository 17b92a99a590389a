//! Starts sandboxes and processes of Taintward that Prometheus scrapes under one job.

use super::prometheus::PrometheusServer;
use crate::http;
use anyhow::{Context as _, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use taintward_envtest::{ChildProcess, ProcessFolder, TestApi, wait};

/// Longer than a start takes on a busy machine.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(120);

/// One installation; the label `job` distinguishes installations.
#[derive(Clone, Copy)]
pub(crate) struct ScrapeJob<'a> {
    /// The folder of the programs; they end when it is dropped.
    pub(crate) folder: &'a ProcessFolder,
    pub(crate) prometheus: &'a PrometheusServer,
    /// The program `taintward`.
    pub(crate) binary: &'a Path,
    pub(crate) name: &'a str,
}

/// A sandbox.
pub(crate) struct SandboxServer {
    pub(crate) process: ChildProcess,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) api: TestApi,
}

/// A process of Taintward with metrics.
pub(crate) struct ScrapedProcess {
    /// Ended when dropped.
    _process: ChildProcess,
    pub(crate) port: u16,
}

impl ScrapeJob<'_> {
    /// Starts a sandbox without Taintward, unless flags say otherwise, and waits until it answers.
    pub(crate) async fn sandbox(&self, flags: &[&str]) -> Result<SandboxServer> {
        static SANDBOXES: AtomicUsize = AtomicUsize::new(0);
        let number = SANDBOXES.fetch_add(1, Ordering::Relaxed);
        let kubeconfig = self.folder.path().join(format!("sandbox-{number}.yaml"));
        let mut command = Command::new(self.binary);
        command.args(["sandbox", "--plain", "--without=taintward", "--kubeconfig-out"]).arg(&kubeconfig);
        let mut process = self.folder.run("sandbox", {
            command.args(flags);
            command
        })?;
        let api = wait::until("the sandbox to answer", STARTUP_TIMEOUT, async || {
            process.expect_running()?;
            let Ok(api) = TestApi::from_kubeconfig(&kubeconfig).await else { return Ok(None) };
            Ok(api.text("/readyz").await.is_ok().then_some(api))
        })
        .await?;
        Ok(SandboxServer { process, kubeconfig, api })
    }

    /// Starts `taintward run` and waits until it is ready and scraped.
    pub(crate) async fn run(&self, kubeconfig: &Path, flags: &[&str]) -> Result<ScrapedProcess> {
        self.start("run", kubeconfig, flags).await
    }

    /// Starts `taintward webhook` in the same way.
    pub(crate) async fn webhook(&self, kubeconfig: &Path, flags: &[&str]) -> Result<ScrapedProcess> {
        self.start("webhook", kubeconfig, flags).await
    }

    async fn start(&self, word: &str, kubeconfig: &Path, flags: &[&str]) -> Result<ScrapedProcess> {
        let port = http::free_port()?;
        let mut command = Command::new(self.binary);
        command.args([word, "--bind-address=127.0.0.1", &format!("--metrics-port={port}"), "--kubeconfig"]);
        command.arg(kubeconfig).args(flags);
        let mut process = self.folder.run(&format!("taintward-{word}"), command)?;
        wait::until(&format!("taintward {word} of {} to be ready", self.name), STARTUP_TIMEOUT, async || {
            process.expect_running()?;
            Ok(http::get(port, "/readyz").is_ok_and(|(status, _)| status == 200).then_some(()))
        })
        .await?;
        self.prometheus.scrape(self.name, port).await?;
        Ok(ScrapedProcess { _process: process, port })
    }

    /// Ends a process, and stops scraping it.
    pub(crate) fn end(&self, process: ScrapedProcess) -> Result<()> {
        self.prometheus.forget(process.port)
    }

    /// Runs a command of Taintward to its end.
    pub(crate) fn command(&self, kubeconfig: &Path, words: &[&str]) -> Result<()> {
        let mut command = Command::new(self.binary);
        let done =
            command.args(words).arg("--kubeconfig").arg(kubeconfig).output().context("starting taintward")?;
        ensure!(
            done.status.success(),
            "taintward {}: {}",
            words.join(" "),
            String::from_utf8_lossy(&done.stderr)
        );
        Ok(())
    }

    /// Waits until an expression about this job has a result: `METRIC{job="..."} CONDITION`.
    pub(crate) async fn until(&self, metric: &str, condition: &str) -> Result<()> {
        self.prometheus.until(&format!("{metric}{{job=\"{}\"}} {condition}", self.name)).await
    }
}
