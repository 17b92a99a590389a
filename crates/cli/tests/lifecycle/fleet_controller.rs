//! Starts, kills and restarts Taintward for a fleet.

use super::fleet::RealFleet;
use super::side::CONTROLLER;
use crate::real::program::Taintward;
use jiff::Timestamp;
use std::path::{Path, PathBuf};
use taintward_envtest::{Account, Cluster, access};

/// How many nodes a fleet has: `TAINTWARD_LIFECYCLE_NODES`, or as many as renew in time on two busy cores.
pub(crate) fn size() -> usize {
    let requested = std::env::var("TAINTWARD_LIFECYCLE_NODES").ok();
    requested.map_or(250, |number| number.parse().expect("TAINTWARD_LIFECYCLE_NODES is a number"))
}

/// One process after the other.
pub(crate) struct FleetController {
    running: Taintward,
    kubeconfig: PathBuf,
    flags: Vec<String>,
}

impl FleetController {
    /// Starts it without election, with node lifecycle only, under its own account, and waits until it acts.
    pub(crate) async fn start(cluster: &Cluster, fleet: &RealFleet) -> Self {
        let only = format!("--controllers={CONTROLLER}");
        Self::with(
            cluster,
            fleet,
            &cluster.kubeconfig(Account::Taintward, 0),
            &[&only, "--leader-elect=false"],
        )
        .await
    }

    /// The same with other flags and another path to the server.
    pub(crate) async fn with(
        cluster: &Cluster,
        fleet: &RealFleet,
        kubeconfig: &Path,
        flags: &[&str],
    ) -> Self {
        access::grant_node_lifecycle(&fleet.admin).await.unwrap();
        let mut all = fleet.rate.flags();
        all.extend(flags.iter().map(|&flag| flag.to_owned()));
        let running = launch(cluster, kubeconfig, &all).await;
        Self { running, kubeconfig: kubeconfig.to_owned(), flags: all }
    }

    /// `kill -9`. Returns when.
    pub(crate) fn kill(&mut self) -> Timestamp {
        self.running.kill();
        Timestamp::now()
    }

    /// Starts it again, and waits until it acts.
    pub(crate) async fn launch(&mut self, cluster: &Cluster) {
        self.running = launch(cluster, &self.kubeconfig, &self.flags).await;
    }

    /// SIGTERM: it ends in time, with exit code 0.
    pub(crate) fn stop(mut self) {
        assert_eq!(self.running.stop().code(), Some(0));
    }

    pub(crate) fn it(&self) -> &Taintward {
        &self.running
    }
}

async fn launch(cluster: &Cluster, kubeconfig: &Path, flags: &[String]) -> Taintward {
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut taintward = Taintward::start(cluster, kubeconfig, &flags);
    taintward.ready().await;
    taintward.leads().await;
    taintward
}
