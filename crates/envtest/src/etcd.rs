//! Runs the etcd of a cluster, and saves and restores its data.

use crate::cluster_config::{DiskSync, STARTUP_TIMEOUT};
use crate::process::ChildProcess;
use crate::servers;
use crate::wait;
use crate::watchdog::Watchdog;
use anyhow::{Context as _, Result};
use serde_json::Value;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An etcd member, with the same ports and folder for as long as the cluster lives.
#[derive(Debug)]
pub(crate) struct EtcdStore {
    program: ChildProcess,
    binary: PathBuf,
    folder: PathBuf,
    client_port: u16,
    peer_port: u16,
    disk: DiskSync,
    watchdog: Arc<Watchdog>,
}

impl EtcdStore {
    /// Starts an empty member and waits until it listens.
    pub(crate) async fn start(
        binary: &Path,
        folder: &Path,
        disk: DiskSync,
        watchdog: &Arc<Watchdog>,
    ) -> Result<Self> {
        let (client_port, peer_port) = (servers::free_port()?, servers::free_port()?);
        let program = launch(binary, folder, (client_port, peer_port), disk, watchdog)?;
        let (binary, folder, watchdog) = (binary.into(), folder.into(), Arc::clone(watchdog));
        let mut store = Self { program, binary, folder, client_port, peer_port, disk, watchdog };
        store.listening().await?;
        Ok(store)
    }

    /// The port that clients use.
    pub(crate) const fn port(&self) -> u16 {
        self.client_port
    }

    /// The process.
    pub(crate) const fn program(&mut self) -> &mut ChildProcess {
        &mut self.program
    }

    /// Copies its data. etcd is stopped meanwhile, because only then are its files consistent.
    pub(crate) async fn back_up(&mut self) -> Result<()> {
        self.program.kill()?;
        replace(&servers::etcd_data(&self.folder), &self.backup())?;
        self.again().await
    }

    /// Restarts with the last copy.
    pub(crate) async fn restore(&mut self) -> Result<()> {
        self.program.kill()?;
        replace(&self.backup(), &servers::etcd_data(&self.folder))?;
        self.again().await
    }

    /// Compacts the history up to now.
    pub(crate) fn compact(&self) -> Result<()> {
        let etcd = |path: &str, body: String| -> Result<Value> {
            let mut stream = std::net::TcpStream::connect(("127.0.0.1", self.client_port))?;
            let (head, length) =
                ("HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json", body.len());
            write!(stream, "POST {path} {head}\r\nContent-Length: {length}\r\n\r\n{body}")?;
            let mut line = String::new();
            stream.read_to_string(&mut line)?;
            let (head, body) = line.split_once("\r\n\r\n").context("no answer from etcd")?;
            anyhow::ensure!(head.split(' ').nth(1) == Some("200"), "etcd: {line}");
            Ok(serde_json::from_str(body)?)
        };
        let status = etcd("/v3/maintenance/status", "{}".into())?;
        let revision = status["header"]["revision"].as_str().context("etcd tells no revision")?;
        etcd("/v3/kv/compaction", format!(r#"{{"revision":"{revision}","physical":true}}"#)).map(drop)
    }

    fn backup(&self) -> PathBuf {
        self.folder.join("etcd-backup")
    }

    /// Restarts it with its data after it was killed.
    pub(crate) async fn again(&mut self) -> Result<()> {
        let ports = (self.client_port, self.peer_port);
        self.program = launch(&self.binary, &self.folder, ports, self.disk, &self.watchdog)?;
        self.listening().await
    }

    async fn listening(&mut self) -> Result<()> {
        wait::until("etcd to listen", STARTUP_TIMEOUT, async || {
            self.program.expect_running()?;
            Ok(std::net::TcpStream::connect(("127.0.0.1", self.client_port)).ok())
        })
        .await
        .map(drop)
    }
}

fn launch(
    binary: &Path,
    folder: &Path,
    (client_port, peer_port): (u16, u16),
    disk: DiskSync,
    watchdog: &Arc<Watchdog>,
) -> Result<ChildProcess> {
    let mut command = servers::etcd(binary, folder, client_port, peer_port);
    if disk == DiskSync::Unsynced {
        command.arg("--unsafe-no-fsync");
    }
    ChildProcess::start("etcd", command, &folder.join("etcd.log"), watchdog)
}

/// Makes `to` a copy of the folder `from`.
fn replace(from: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        fs::remove_dir_all(to).with_context(|| format!("removing {}", to.display()))?;
    }
    copy(from, to).with_context(|| format!("copying {} to {}", from.display(), to.display()))
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
