//! Starts Taintward or kube-controller-manager against a cluster and waits until it has listed everything.

use crate::http;
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use taintward_envtest::{Account, ChildProcess, Cluster, wait};

/// The controllers that run in kube-controller-manager. Its eviction controller finds the pods of a node through an index that the
/// DaemonSet controller registers (TE-8). For each controller, the log says when its caches are synced.
const ORIGINAL: &str = "taint-eviction-controller,daemonset-controller";

/// Longer than any sync of 100,000 pods takes on two busy cores.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(300);

/// A program that evicts pods or manages the taints of nodes.
#[derive(Clone, Debug)]
pub(crate) enum Contender {
    /// The binary, with further flags.
    Taintward { binary: PathBuf, flags: Vec<String> },
    /// kube-controller-manager with only these controllers, with further flags.
    Original { controllers: &'static str, flags: Vec<String> },
}

impl Contender {
    /// The evictions of kube-controller-manager.
    pub(crate) fn original() -> Self {
        Self::Original { controllers: ORIGINAL, flags: Vec::new() }
    }

    /// The account that it uses unless a kubeconfig is given.
    const fn account(&self) -> Account {
        match self {
            Self::Taintward { .. } => Account::Taintward,
            Self::Original { .. } => Account::Admin,
        }
    }

    /// Starts it and waits until it is ready to act.
    pub(crate) async fn start(&self, cluster: &Cluster) -> Result<ChildProcess> {
        self.start_with(cluster, &cluster.kubeconfig(self.account(), 0), http::free_port()?).await
    }

    /// Starts it with this kubeconfig and, for Taintward, this port of metrics and health.
    pub(crate) async fn start_with(
        &self,
        cluster: &Cluster,
        kubeconfig: &Path,
        port: u16,
    ) -> Result<ChildProcess> {
        let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
        match self {
            Self::Taintward { binary, flags } => {
                let mut command = Command::new(binary);
                command.args(["run", "--bind-address=127.0.0.1", &kubeconfig]);
                command.arg(format!("--metrics-port={port}")).args(flags);
                if !flags.iter().any(|flag| flag.starts_with("--leader-elect")) {
                    command.arg("--leader-elect=false");
                }
                let mut program = cluster.run("taintward", command)?;
                wait::until("taintward to be ready", STARTUP_TIMEOUT, async || {
                    program.expect_running()?;
                    Ok(http::get(port, "/readyz").is_ok_and(|(status, _)| status == 200).then_some(()))
                })
                .await?;
                Ok(program)
            }
            Self::Original { controllers, flags } => {
                // The last of two flags with the same name counts.
                let flags = [&flags[..], &[kubeconfig]].concat();
                let mut program = cluster.controller_manager(controllers, &flags).await?;
                wait::until("kube-controller-manager's caches to be synced", STARTUP_TIMEOUT, async || {
                    program.expect_running()?;
                    let synced = program.output().matches("Caches are synced").count();
                    Ok((synced >= controllers.split(',').count()).then_some(()))
                })
                .await?;
                Ok(program)
            }
        }
    }
}
