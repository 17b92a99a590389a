//! Starts the compared programs, Taintward and kube-controller-manager, in turns against one cluster.

use crate::server_process::ServerProcess;
use crate::sources;
use anyhow::{Context as _, Result};
use clap::ValueEnum;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use taintward_envtest::{Account, Cluster, wait};

/// The controllers that run in kube-controller-manager. Its eviction controller finds the pods of a node through an index that the
/// DaemonSet controller registers (TE-8). For each controller, the log says when its caches are synced.
const ORIGINAL: &str = "taint-eviction-controller,daemonset-controller";

/// Longer than any sync of 100,000 pods takes on two busy cores.
const TIMEOUT: Duration = Duration::from_secs(300);

/// A column of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Contender {
    /// `taintward run`
    Ours,
    /// kube-controller-manager
    Original,
    /// The same requests from a bare loop that decides nothing
    Floor,
    /// `taintward run --disruption-condition=jobs`
    Jobs,
    /// `taintward run` of the build that `--earlier` names
    #[value(skip)]
    Earlier,
}

/// How a contender runs.
#[derive(Default)]
pub(crate) struct ContenderOptions<'a> {
    /// The only controllers, if not those that evict pods.
    pub(crate) controllers: Option<&'a str>,
    /// Further flags.
    pub(crate) flags: &'a [String],
    /// Instead of that of the contender's account.
    pub(crate) kubeconfig: Option<&'a Path>,
}

/// The programs that take part.
pub(crate) struct Contenders {
    who: Vec<Contender>,
    binary: Option<PathBuf>,
    earlier: Option<PathBuf>,
}

impl Contenders {
    pub(crate) fn new(who: &[Contender], earlier: Option<&Path>) -> Result<Self> {
        let mut who = who.to_vec();
        who.extend(earlier.map(|_| Contender::Earlier));
        let is_built = who.iter().any(|who| matches!(who, Contender::Ours | Contender::Jobs));
        let binary = is_built.then(|| sources::build_taintward(true)).transpose()?;
        Ok(Self { who, binary, earlier: earlier.map(Path::to_owned) })
    }

    /// Only this contender; a program of Taintward that is built already.
    pub(crate) fn of_program(who: Contender, program: &Path) -> Self {
        Self { who: vec![who], binary: Some(program.to_owned()), earlier: None }
    }

    /// The program of Taintward, if it takes part.
    pub(crate) fn program(&self) -> Option<&Path> {
        self.binary.as_deref()
    }

    pub(crate) fn contains(&self, who: Contender) -> bool {
        self.who.contains(&who)
    }

    /// Those of the given columns that take part. Every other round has the reverse order, so that no contender always follows
    /// the same one.
    pub(crate) fn in_turn(&self, columns: &[Contender], round: usize) -> Vec<Contender> {
        let mut order: Vec<_> = columns.iter().copied().filter(|who| self.contains(*who)).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        order
    }

    /// Starts a contender and waits until it is ready to act.
    pub(crate) async fn start(
        &self,
        who: Contender,
        cluster: &Cluster,
        options: &ContenderOptions<'_>,
    ) -> Result<ServerProcess> {
        let account = if who == Contender::Original { Account::Admin } else { Account::Taintward };
        let kubeconfig = options.kubeconfig.map_or_else(|| cluster.kubeconfig(account, 0), Path::to_owned);
        if who == Contender::Original {
            return start_original(cluster, &kubeconfig, options).await;
        }
        let binary = if who == Contender::Earlier { &self.earlier } else { &self.binary };
        let mut flags = options.flags.to_vec();
        flags.extend(options.controllers.map(|names| format!("--controllers={names}")));
        if who == Contender::Jobs {
            flags.push("--disruption-condition=jobs".to_owned());
        }
        if !flags.iter().any(|flag| flag.starts_with("--leader-elect")) {
            flags.push("--leader-elect=false".to_owned());
        }
        let mut command = Command::new(binary.as_ref().context("a contender without a program")?);
        command.arg("run").args(flags);
        ServerProcess::start(command, &kubeconfig).await
    }
}

async fn start_original(
    cluster: &Cluster,
    kubeconfig: &Path,
    options: &ContenderOptions<'_>,
) -> Result<ServerProcess> {
    let controllers = options.controllers.unwrap_or(ORIGINAL);
    // The last of two flags with the same name counts.
    let flags = [options.flags, &[format!("--kubeconfig={}", kubeconfig.display())]].concat();
    let mut process = cluster.controller_manager(controllers, &flags).await?;
    wait::until("kube-controller-manager's caches to be synced", TIMEOUT, async || {
        process.expect_running()?;
        let synced = process.output().matches("Caches are synced").count();
        Ok((synced >= controllers.split(',').count()).then_some(()))
    })
    .await?;
    Ok(ServerProcess { process, port: 0 })
}
