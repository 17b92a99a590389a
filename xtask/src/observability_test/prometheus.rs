//! Runs a real Prometheus that scrapes loopback ports each second, and queries it.

use crate::http;
use anyhow::{Context as _, Result, ensure};
use jiff::Timestamp;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use taintward_envtest::{ChildProcess, ProcessFolder, binaries, free_port, wait};

/// Replaces Grafana's `$__rate_interval`, which is at least four scrapes: a longer interval makes smoother lines.
const RATE_INTERVAL: &str = "15s";

/// A Prometheus server, ended when dropped.
pub(crate) struct PrometheusServer {
    process: ChildProcess,
    port: u16,
    folder: PathBuf,
}

/// Seconds since the Unix epoch.
pub(crate) fn unix_now() -> f64 {
    Timestamp::now().as_duration().as_secs_f64()
}

impl PrometheusServer {
    /// Starts it with a file of rules; it does not scrape a process yet.
    pub(crate) async fn start(rules: &str) -> Result<Self> {
        let program = binaries::PROMETHEUS.find_or_build()?;
        let folder = ProcessFolder::create("taintward-prometheus")?;
        let own = folder.path().to_owned();
        fs::create_dir_all(own.join("targets"))?;
        fs::write(own.join("rules.yaml"), rules)?;
        let files = json!({"files": [own.join("targets/*.json")], "refresh_interval": "1s"});
        let config = json!({
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": [own.join("rules.yaml")],
            "scrape_configs": [{"job_name": "taintward", "file_sd_configs": [files]}],
        });
        // JSON is YAML.
        fs::write(own.join("prometheus.yaml"), config.to_string())?;
        let port = free_port()?;
        let mut command = Command::new(program);
        command
            .arg(format!("--config.file={}", own.join("prometheus.yaml").display()))
            .arg(format!("--storage.tsdb.path={}", own.join("data").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"));
        let process = folder.run("prometheus", command)?;
        let mut server = Self { process, port, folder: own };
        wait::until("Prometheus to be ready", Duration::from_secs(60), async || {
            server.process.expect_running()?;
            Ok(http::get(port, "/-/ready").is_ok_and(|(status, _)| status == 200).then_some(()))
        })
        .await?;
        Ok(server)
    }

    /// Scrapes a port until [`Self::forget`]; returns after the first scrape.
    pub(crate) async fn scrape(&self, job: &str, port: u16) -> Result<()> {
        let target = format!("127.0.0.1:{port}");
        let labels = json!({"job": job, "namespace": "taintward-system"});
        let file = json!([{"targets": [target], "labels": labels}]).to_string();
        // Renamed, so that Prometheus never reads a part of it.
        fs::write(self.target(port).with_extension("new"), file)?;
        fs::rename(self.target(port).with_extension("new"), self.target(port))?;
        self.until(&format!("up{{instance=\"{target}\"}} == 1")).await
    }

    /// Stops scraping a port.
    pub(crate) fn forget(&self, port: u16) -> Result<()> {
        Ok(fs::remove_file(self.target(port))?)
    }

    fn target(&self, port: u16) -> PathBuf {
        self.folder.join(format!("targets/{port}.json"))
    }

    /// Waits until an expression has a result.
    pub(crate) async fn until(&self, expr: &str) -> Result<()> {
        wait::until(&format!("Prometheus to see {expr}"), Duration::from_secs(120), async || {
            let data =
                self.get(&format!("/api/v1/query?query={}", utf8_percent_encode(expr, NON_ALPHANUMERIC)))?;
            Ok(data["result"].as_array().is_some_and(|result| !result.is_empty()).then_some(()))
        })
        .await
    }

    /// Alerts that are pending or firing.
    pub(crate) fn alerts(&self) -> Result<Vec<Value>> {
        Ok(self.get("/api/v1/alerts")?["alerts"].as_array().cloned().unwrap_or_default())
    }

    /// The series of a panel's expression from a moment until now, for all installations.
    pub(crate) fn series(&self, expr: &str, since: f64, step: u32) -> Result<Value> {
        let filled = [("$__rate_interval", RATE_INTERVAL), ("$namespace", ".*"), ("$job", ".*")];
        let expr = filled.iter().fold(expr.to_owned(), |expr, (name, value)| expr.replace(name, value));
        let (query, end) = (utf8_percent_encode(&expr, NON_ALPHANUMERIC), unix_now());
        let path = format!("/api/v1/query_range?query={query}&start={since:.3}&end={end:.3}&step={step}");
        Ok(self.get(&path)?["result"].take())
    }

    fn get(&self, path: &str) -> Result<Value> {
        let requested = http::get(self.port, path);
        let (status, body) = requested
            .with_context(|| format!("Prometheus does not answer:\n{}", self.process.last_words()))?;
        let mut response: Value =
            serde_json::from_str(&body).with_context(|| format!("{status} of {path}"))?;
        ensure!(
            response["status"] == "success",
            "Prometheus answers {path} with {status}: {}",
            response["error"]
        );
        Ok(response["data"].take())
    }
}
