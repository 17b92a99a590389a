//! Starts sandboxes and processes of Taintward that Prometheus scrapes under one job.

use super::prometheus::PrometheusServer;
use crate::server_process::{SandboxProcess, ServerProcess};
use crate::sources;
use crate::webhook_process::WebhookProcess;
use anyhow::Result;
use std::path::Path;
use std::process::Command;

/// One installation; the label `job` distinguishes installations.
#[derive(Clone, Copy)]
pub(crate) struct ScrapeJob<'a> {
    pub(crate) prometheus: &'a PrometheusServer,
    /// The program `taintward`.
    pub(crate) binary: &'a Path,
    pub(crate) name: &'a str,
}

impl ScrapeJob<'_> {
    /// Starts a sandbox without Taintward, and waits until it answers.
    pub(crate) async fn sandbox(&self, flags: &[&str]) -> Result<SandboxProcess> {
        SandboxProcess::start(self.binary, &[&["--without=taintward"], flags].concat()).await
    }

    /// Starts `taintward run` and waits until it is ready and scraped.
    pub(crate) async fn run(&self, sandbox: &SandboxProcess, flags: &[&str]) -> Result<ServerProcess> {
        let mut command = Command::new(self.binary);
        command.arg("run").args(flags);
        let server = ServerProcess::start(command, &sandbox.kubeconfig).await?;
        self.prometheus.scrape(self.name, server.port).await?;
        Ok(server)
    }

    /// Starts `taintward webhook` in the same way, with the brake on.
    pub(crate) async fn webhook(
        &self,
        sandbox: &SandboxProcess,
        days: Option<i64>,
    ) -> Result<WebhookProcess> {
        let program = Command::new(self.binary);
        let webhook = WebhookProcess::start(program, &sandbox.kubeconfig, days, &["--rules=*,brake"]).await?;
        self.prometheus.scrape(self.name, webhook.server.port).await?;
        Ok(webhook)
    }

    /// Ends a process, and stops scraping it.
    pub(crate) fn end(&self, process: ServerProcess) -> Result<()> {
        self.prometheus.forget(process.port)
    }

    /// Runs a command of Taintward to its end.
    pub(crate) fn command(&self, sandbox: &SandboxProcess, words: &[&str]) -> Result<()> {
        let mut command = Command::new(self.binary);
        command.args(words).arg("--kubeconfig").arg(&sandbox.kubeconfig);
        sources::output(&mut command).map(drop)
    }

    /// Waits until an expression about this job has a result: `METRIC{job="..."} CONDITION`.
    pub(crate) async fn until(&self, metric: &str, condition: &str) -> Result<()> {
        self.prometheus.until(&format!("{metric}{{job=\"{}\"}} {condition}", self.name)).await
    }
}
