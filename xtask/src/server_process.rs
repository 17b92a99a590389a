//! Starts sandboxes, boards and other servers of Taintward, and waits until they are ready.

use crate::http;
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use taintward_envtest::usage::{self, ProcessUsage};
use taintward_envtest::{ChildProcess, ProcessFolder, TestApi, free_port, wait};

/// Longer than a start with 150,000 pods takes on two busy cores.
const TIMEOUT: Duration = Duration::from_secs(300);

/// A server, ended when dropped. Its folder is removed after it.
pub(crate) struct ServerProcess {
    pub(crate) process: ChildProcess,
    /// The port of metrics and health; 0 if the program is not Taintward.
    pub(crate) port: u16,
}

impl ServerProcess {
    /// Starts `taintward run` or `webhook`, and waits until it is ready.
    pub(crate) async fn start(mut command: Command, kubeconfig: &Path) -> Result<Self> {
        let port = free_port()?;
        command.args(["--bind-address=127.0.0.1", &format!("--metrics-port={port}"), "--kubeconfig"]);
        command.arg(kubeconfig);
        let mut process = ProcessFolder::create("taintward-server")?.run("taintward", command)?;
        wait::until("taintward to be ready", TIMEOUT, async || {
            process.expect_running()?;
            Ok(http::is_ready(port).then_some(()))
        })
        .await?;
        Ok(Self { process, port })
    }

    /// What it has used until now.
    pub(crate) fn usage(&self) -> Result<ProcessUsage> {
        usage::of(self.process.pid())
    }

    /// The value of a series without labels, if its page of metrics has it.
    pub(crate) fn metric(&self, name: &str) -> Result<Option<f64>> {
        let (_, page) = http::get(self.port, "/metrics")?;
        Ok(page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok()))
    }
}

/// Starts `taintward board`, and returns the address that it prints.
pub(crate) async fn start_board(program: &Path, kubeconfig: &Path) -> Result<(ServerProcess, String)> {
    let mut command = Command::new(program);
    command.args(["board", "--kubeconfig"]).arg(kubeconfig);
    let mut process = ProcessFolder::create("taintward-board")?.run("board", command)?;
    let address = board_address(&mut process).await?;
    Ok((ServerProcess { process, port: 0 }, address))
}

/// The address of a board, with its token, once a program has printed it.
pub(crate) async fn board_address(process: &mut ChildProcess) -> Result<String> {
    wait::until("the address of a board", TIMEOUT, async || {
        process.expect_running()?;
        let output = process.output();
        let line = output.lines().find(|line| line.contains("/?token="));
        Ok(line.and_then(|line| Some(line[line.find("http://")?..].trim().to_owned())))
    })
    .await
}

/// `taintward sandbox`, ended when dropped; then its kubeconfig is removed as well.
pub(crate) struct SandboxProcess {
    pub(crate) process: ChildProcess,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) api: TestApi,
}

impl SandboxProcess {
    /// All parts that act by themselves.
    const PARTS: &str = "taintward,kubelets,nodes,scheduler,deployments,replicasets,daemonsets,jobs,budgets,garbage,namespaces";

    /// Starts a sandbox, and waits until it answers.
    pub(crate) async fn start(program: &Path, flags: &[&str]) -> Result<Self> {
        let folder = ProcessFolder::create("taintward-sandbox")?;
        let kubeconfig = folder.path().join("kubeconfig.yaml");
        let mut command = Command::new(program);
        command.args(["sandbox", "--plain", "--kubeconfig-out"]).arg(&kubeconfig).args(flags);
        let mut process = folder.run("sandbox", command)?;
        let api = wait::until("the sandbox to answer", TIMEOUT, async || {
            process.expect_running()?;
            let Ok(api) = TestApi::from_kubeconfig(&kubeconfig).await else { return Ok(None) };
            Ok(api.text("/readyz").await.is_ok().then_some(api))
        })
        .await?;
        Ok(Self { process, kubeconfig, api })
    }

    /// Starts a sandbox without nodes and without any part that acts by itself, as an API server for benchmarks.
    pub(crate) async fn bare(program: &Path) -> Result<Self> {
        Self::start(program, &["--empty", "--nodes=0", "--without", Self::PARTS]).await
    }
}
