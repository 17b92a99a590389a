//! Runs a sandbox without any of its controllers, as an API server for benchmarks.

use crate::sources::{self, ChildGuard};
use anyhow::{Context as _, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use taintward_envtest::TestApi;

/// All parts that act by themselves.
const WITHOUT: &str =
    "taintward,kubelets,nodes,scheduler,deployments,replicasets,daemonsets,jobs,budgets,garbage,namespaces";

/// How long it may take to answer.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(10);

/// A sandbox process, ended when dropped.
pub(crate) struct SandboxProcess {
    child: ChildGuard,
    kubeconfig: PathBuf,
}

impl SandboxProcess {
    /// Starts a sandbox without nodes, and waits for its first answer.
    pub(crate) async fn start() -> Result<Self> {
        let binary = sources::build_taintward(true)?;
        let kubeconfig = std::env::temp_dir().join(format!("taintward-bench-{}.yaml", std::process::id()));
        let child = Command::new(binary)
            .args(["sandbox", "--plain", "--empty", "--nodes", "0", "--without", WITHOUT, "--kubeconfig-out"])
            .arg(&kubeconfig)
            .stdout(Stdio::null())
            .spawn()
            .context("starting the sandbox")?;
        let sandbox = Self { child: ChildGuard(child), kubeconfig };
        let began = Instant::now();
        loop {
            if began.elapsed() > STARTUP_TIMEOUT {
                bail!("the sandbox does not answer");
            }
            if let Ok(api) = sandbox.api().await
                && api.text("/readyz").await.is_ok()
            {
                return Ok(sandbox);
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub(crate) async fn api(&self) -> Result<TestApi> {
        TestApi::from_kubeconfig(&self.kubeconfig).await
    }

    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.0.id()
    }
}

impl Drop for SandboxProcess {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.kubeconfig);
    }
}
