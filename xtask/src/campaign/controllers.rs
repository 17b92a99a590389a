//! Runs the controller of a campaign, in one replica or two, and keeps what each process recorded.

use super::campaign_cluster::{CALM, CampaignCluster};
use crate::contender::{Contender, ContenderOptions, Contenders};
use crate::http;
use crate::server_process::ServerProcess;
use anyhow::{Context as _, Result, ensure};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use taintward_envtest::{Account, wait};

/// A replica that is not the leader waits for the lease of a dead one.
const LEADER_TIMEOUT: Duration = Duration::from_secs(60);
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// How the controller is started.
#[derive(Clone, Copy)]
pub(crate) struct CampaignSettings<'a> {
    pub(crate) who: Contender,
    pub(crate) contenders: &'a Contenders,
    pub(crate) is_elected: bool,
    pub(crate) has_policies: bool,
    /// Where each process of Taintward has a folder for its record.
    pub(crate) folder: &'a Path,
}

/// The replicas of an episode.
pub(crate) struct CampaignControllers<'a> {
    settings: CampaignSettings<'a>,
    replicas: Vec<ServerProcess>,
    records: Vec<PathBuf>,
    /// The logs of the processes that have ended.
    log: String,
}

impl<'a> CampaignControllers<'a> {
    pub(crate) async fn start(campaign: &CampaignCluster, settings: CampaignSettings<'a>) -> Result<Self> {
        let mut this = Self { settings, replicas: Vec::new(), records: Vec::new(), log: String::new() };
        for replica in 0..if settings.is_elected { 2 } else { 1 } {
            let process = this.launch(campaign, replica).await?;
            this.replicas.push(process);
        }
        if settings.is_elected {
            this.leader().await?;
        }
        Ok(this)
    }

    async fn launch(&mut self, campaign: &CampaignCluster, replica: usize) -> Result<ServerProcess> {
        let CampaignSettings { who, contenders, is_elected, has_policies, folder } = self.settings;
        let mut flags = Vec::new();
        if who != Contender::Original {
            let record = folder.join(format!("record-{}", self.records.len()));
            flags.push(format!("--record-dir={}", record.display()));
            flags.push(format!("--leader-elect={is_elected}"));
            flags.extend(has_policies.then(|| "--eviction-policies".to_owned()));
            self.records.push(record);
        }
        // The second replica has another way to the API.
        let other = campaign.cluster.kubeconfig(Account::Taintward, CALM);
        let kubeconfig = if replica == 0 { &campaign.kubeconfig } else { &other };
        let options = ContenderOptions { controllers: None, flags: &flags, kubeconfig: Some(kubeconfig) };
        contenders.start(who, &campaign.cluster, &options).await
    }

    /// Waits until a replica leads, and returns its number.
    pub(crate) async fn leader(&mut self) -> Result<usize> {
        let replicas = &mut self.replicas;
        wait::until("a replica to lead", LEADER_TIMEOUT, async || {
            let leads = |replica: &ServerProcess| {
                let page = http::get(replica.port, "/metrics").map(|(_, page)| page).unwrap_or_default();
                page.lines()
                    .any(|line| line.starts_with("leader_election_master_status") && line.ends_with(" 1"))
            };
            replicas.iter_mut().try_for_each(|replica| replica.process.expect_running())?;
            Ok(replicas.iter().position(leads))
        })
        .await
    }

    pub(crate) fn kill(&mut self, replica: usize) -> Result<()> {
        self.replicas[replica].process.kill()?;
        self.log += &self.replicas[replica].process.output();
        Ok(())
    }

    pub(crate) fn pause(&self, replica: usize) -> Result<()> {
        self.replicas[replica].process.pause()
    }

    pub(crate) fn resume(&self, replica: usize) -> Result<()> {
        self.replicas[replica].process.resume()
    }

    pub(crate) async fn restart(&mut self, campaign: &CampaignCluster, replica: usize) -> Result<()> {
        self.replicas[replica] = self.launch(campaign, replica).await?;
        Ok(())
    }

    /// Stops all replicas. Fails if one has ended by itself, or does not end.
    pub(crate) fn stop(&mut self) -> Result<()> {
        for replica in &mut self.replicas {
            replica.process.expect_running()?;
            replica.process.stop(STOP_TIMEOUT)?;
            self.log += &replica.process.output();
        }
        Ok(())
    }

    /// What all processes have logged.
    pub(crate) fn log(&self) -> &str {
        &self.log
    }

    /// Replays each record: the engines have to decide the same again, and each request has to keep all properties.
    pub(crate) fn replay(&self) -> Result<()> {
        for record in &self.records {
            let program = self.settings.contenders.program().context("a record without a program")?;
            let done = Command::new(program).args(["replay", "--check"]).arg(record).output()?;
            let mut printed = String::from_utf8_lossy(&done.stdout).into_owned();
            let _ = write!(printed, "{}", String::from_utf8_lossy(&done.stderr));
            ensure!(done.status.success(), "the replay of {} fails: {}", record.display(), printed.trim());
        }
        Ok(())
    }
}
