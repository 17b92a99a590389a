//! Runs the built `taintward webhook` against a cluster: ports, certificate files, health, metrics and log.

use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;
use taintward_envtest::certificates::TestAuthority;
use taintward_envtest::usage::{self, ProcessUsage};
use taintward_envtest::{ChildProcess, Cluster, wait};

/// On a busy machine, everything arrives within this if it arrives at all.
pub(crate) const STARTUP_TIMEOUT: Duration = Duration::from_secs(60);

/// One process.
pub(crate) struct Hook {
    program: ChildProcess,
    /// The port for API servers.
    pub(crate) port: u16,
    metrics: u16,
}

/// A loopback port that is free at the moment.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

impl Hook {
    /// Starts it without waiting.
    pub(crate) fn start(cluster: &Cluster, kubeconfig: &Path, flags: &[&str]) -> Self {
        Self::on(cluster, kubeconfig, free_port(), flags)
    }

    /// The same, on a port that API servers call already.
    pub(crate) fn on(cluster: &Cluster, kubeconfig: &Path, port: u16, flags: &[&str]) -> Self {
        // A port that was free a moment ago may be offered again.
        let metrics = std::iter::repeat_with(free_port).find(|metrics| *metrics != port).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
        command
            .env_clear()
            .args(["webhook", "--log-format=json", "--bind-address=127.0.0.1"])
            .arg(format!("--secure-port={port}"))
            .arg(format!("--metrics-port={metrics}"))
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .args(flags);
        Self { program: cluster.run("webhook", command).unwrap(), port, metrics }
    }

    /// Waits until it reports ready.
    pub(crate) async fn ready(mut self) -> Self {
        wait::until("the webhook to be ready", STARTUP_TIMEOUT, async || {
            self.program.expect_running()?;
            Ok(self.get("/readyz").filter(|(status, _)| *status == 200))
        })
        .await
        .unwrap_or_else(|why| panic!("{why}; it says {:?}", self.get("/readyz?verbose")));
        self
    }

    /// Sends a GET to the port for metrics and health; `None` while it does not listen.
    pub(crate) fn get(&self, path: &str) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.metrics)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").ok()?;
        let mut response = String::new();
        stream.read_to_string(&mut response).ok()?;
        let (head, body) = response.split_once("\r\n\r\n")?;
        Some((head.split(' ').nth(1)?.parse().ok()?, body.into()))
    }

    /// The sum of all series of a metric with this text in their labels; 0 if there is none.
    pub(crate) fn metric(&self, name: &str, label: &str) -> f64 {
        let text = self.get("/metrics").map(|(_, text)| text).unwrap_or_default();
        let is_of = |line: &&str| {
            line.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '{']) && rest.contains(label))
        };
        text.lines().filter(is_of).filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
    }

    /// Waits until a metric is at least this.
    pub(crate) async fn reaches(&self, name: &str, label: &str, least: f64) {
        let reached = async || Ok((self.metric(name, label) >= least).then_some(()));
        wait::until(&format!("{name} {label} to reach {least}"), STARTUP_TIMEOUT, reached).await.unwrap();
    }

    /// The log records that contain these words.
    pub(crate) fn message(&self, words: &str) -> Vec<Value> {
        let output = self.program.output();
        let records = output.lines().filter(|line| line.contains(words));
        records.filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// All ports of its flags.
    pub(crate) fn ports(&self) -> [u16; 2] {
        [self.port, self.metrics]
    }

    pub(crate) fn pid(&self) -> u32 {
        self.program.pid()
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.program.ended().is_none()
    }

    /// Its present resource usage.
    pub(crate) fn usage(&self) -> ProcessUsage {
        usage::of(self.pid()).unwrap()
    }

    /// The end of its log.
    pub(crate) fn output(&self) -> String {
        self.program.output()
    }

    /// Pauses it, as a suspended host does.
    pub(crate) fn pause(&self) {
        self.program.pause().unwrap();
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        self.program.kill().unwrap();
    }

    /// Sends SIGTERM and waits for a graceful end.
    pub(crate) fn stop(&mut self) -> ExitStatus {
        self.program.stop(STARTUP_TIMEOUT).unwrap()
    }
}

impl Drop for Hook {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the webhook's last words:\n{}", self.program.last_words());
        }
    }
}

/// Certificate files of one webhook, in the cluster's folder.
pub(crate) struct HookFiles {
    certificate: PathBuf,
    key: PathBuf,
}

impl HookFiles {
    /// Files with a first certificate of this authority.
    pub(crate) fn new(cluster: &Cluster, name: &str, authority: &TestAuthority) -> Self {
        let file = |end: &str| cluster.folder().join(format!("{name}.{end}"));
        let files = Self { certificate: file("crt"), key: file("key") };
        files.renew(authority);
        files
    }

    /// Replaces the certificate.
    pub(crate) fn renew(&self, authority: &TestAuthority) {
        let made = authority.server("taintward-webhook", &["127.0.0.1"]).unwrap();
        self.write(&made.certificate, &made.key);
    }

    /// Writes any content.
    pub(crate) fn write(&self, certificate: &str, key: &str) {
        std::fs::write(&self.certificate, certificate).unwrap();
        std::fs::write(&self.key, key).unwrap();
    }

    pub(crate) fn flags(&self) -> [String; 2] {
        [
            format!("--tls-cert-file={}", self.certificate.display()),
            format!("--tls-private-key-file={}", self.key.display()),
        ]
    }
}

/// Borrows the flags, and appends more.
pub(crate) fn all<'f>(flags: &'f [String], more: &[&'f str]) -> Vec<&'f str> {
    flags.iter().map(String::as_str).chain(more.iter().copied()).collect()
}
