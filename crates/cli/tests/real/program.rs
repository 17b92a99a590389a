//! Runs the built program against a cluster: ports, health, metrics, log, exit.

use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;
use taintward_envtest::{Account, ChildProcess, Cluster, wait};

/// On a busy machine, everything arrives within this if it arrives at all.
pub(crate) const STARTUP_TIMEOUT: Duration = Duration::from_secs(60);

/// One process.
pub(crate) struct Taintward {
    program: ChildProcess,
    port: u16,
}

/// A loopback port that is free at the moment.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

/// The binary with a clean environment.
pub(crate) fn binary() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
    command.env_clear();
    command
}

impl Taintward {
    /// Starts with a kubeconfig, without waiting.
    pub(crate) fn start(cluster: &Cluster, kubeconfig: &Path, flags: &[&str]) -> Self {
        let port = free_port();
        let mut command = binary();
        command
            .args(["run", "--log-format=json"])
            .arg(format!("--metrics-port={port}"))
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .args(flags);
        Self { program: cluster.run("taintward", command).unwrap(), port }
    }

    /// Starts under its own account and waits until it acts.
    pub(crate) async fn acting(cluster: &Cluster, flags: &[&str]) -> Self {
        let mut taintward = Self::start(cluster, &cluster.kubeconfig(Account::Taintward, 0), flags);
        taintward.ready().await;
        taintward.leads().await;
        taintward
    }

    /// Waits until it is ready.
    pub(crate) async fn ready(&mut self) {
        let port = self.port;
        wait::until("taintward to be ready", STARTUP_TIMEOUT, async || {
            self.program.expect_running()?;
            Ok(get(port, "/readyz").filter(|(status, _)| *status == 200))
        })
        .await
        .unwrap();
    }

    /// Waits until it leads.
    pub(crate) async fn leads(&self) {
        wait::until("taintward to lead", STARTUP_TIMEOUT, async || Ok(self.is_leading().then_some(())))
            .await
            .unwrap();
    }

    pub(crate) fn is_leading(&self) -> bool {
        self.sum("leader_election_master_status", "") == Some(1.0)
    }

    /// Sends a GET to its own port; `None` while it does not listen.
    pub(crate) fn get(&self, path: &str) -> Option<(u16, String)> {
        get(self.port, path)
    }

    /// The sum of all series of a metric; `None` if there is none, or the port is closed.
    fn sum(&self, name: &str, label: &str) -> Option<f64> {
        let (_, text) = self.get("/metrics")?;
        let is_of = |line: &&str| {
            line.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '{']) && rest.contains(label))
        };
        let values: Option<Vec<f64>> =
            text.lines().filter(is_of).map(|line| line.rsplit_once(' ')?.1.parse().ok()).collect();
        values.filter(|values| !values.is_empty()).map(|values| values.iter().sum())
    }

    /// The same, of a process that listens.
    pub(crate) fn metric(&self, name: &str) -> f64 {
        self.metric_with(name, "")
    }

    /// The same, for the series with this value of a label.
    pub(crate) fn metric_with(&self, name: &str, label: &str) -> f64 {
        self.sum(name, label).unwrap_or_else(|| panic!("no metric {name} {label}"))
    }

    /// The log so far, one record per line.
    pub(crate) fn log(&self) -> Vec<Value> {
        self.program.output().lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The records that contain these words.
    pub(crate) fn message(&self, words: &str) -> Vec<Value> {
        self.log().into_iter().filter(|record| record.to_string().contains(words)).collect()
    }

    /// Waits until the log contains these words.
    pub(crate) async fn contains(&self, words: &str) {
        let message = async || Ok((!self.message(words).is_empty()).then_some(()));
        wait::until(&format!("the log to say {words:?}"), STARTUP_TIMEOUT, message).await.unwrap();
    }

    pub(crate) fn program(&self) -> &ChildProcess {
        &self.program
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        self.program.kill().unwrap();
    }

    /// SIGTERM, and 5 s to end.
    pub(crate) fn stop(&mut self) -> ExitStatus {
        self.program.stop(Duration::from_secs(5)).unwrap()
    }

    /// Waits until it has ended by itself.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        wait::until("taintward to end", STARTUP_TIMEOUT, async || Ok(self.program.ended())).await.unwrap()
    }
}

impl Drop for Taintward {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("taintward's last words:\n{}", self.program.last_words());
            return;
        }
        // Whatever a test is about: the process checks each of its requests.
        let violations = self.message("a request violates a property");
        assert!(violations.is_empty(), "{violations:?}");
    }
}

fn get(port: u16, path: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").ok()?;
    let mut response = String::new();
    stream.read_to_string(&mut response).ok()?;
    let (head, body) = response.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, body.into()))
}
