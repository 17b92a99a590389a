//! Starts Taintward or kube-controller-manager against a cluster and waits until it has listed everything.

use crate::http;
use anyhow::Result;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use taintward_envtest::{Account, ChildProcess, Cluster, wait};

/// The controllers that run in kube-controller-manager. Its eviction controller finds the pods of a node through an index that the
/// DaemonSet controller registers (TE-8). For each controller, the log says when its caches are synced.
const ORIGINAL: &str = "taint-eviction-controller,daemonset-controller";

/// Longer than any sync of 100,000 pods takes on two busy cores.
const PATIENCE: Duration = Duration::from_secs(300);

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

    /// Starts it and waits until it is ready to act.
    pub(crate) async fn start(&self, cluster: &Cluster) -> Result<ChildProcess> {
        match self {
            Self::Taintward { binary, flags } => {
                let port = http::free_port()?;
                let mut command = Command::new(binary);
                command
                    .args(["run", "--leader-elect=false", "--bind-address=127.0.0.1"])
                    .arg(format!("--kubeconfig={}", cluster.kubeconfig(Account::Taintward, 0).display()))
                    .arg(format!("--metrics-port={port}"))
                    .args(flags);
                let mut program = cluster.run("taintward", command)?;
                wait::until("taintward to be ready", PATIENCE, async || {
                    program.expect_running()?;
                    Ok(http::get(port, "/readyz").is_ok_and(|(status, _)| status == 200).then_some(()))
                })
                .await?;
                Ok(program)
            }
            Self::Original { controllers, flags } => {
                let mut program = cluster.controller_manager(controllers, flags).await?;
                wait::until("kube-controller-manager's caches to be synced", PATIENCE, async || {
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
