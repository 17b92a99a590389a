//! Runs `cargo xtask campaign`: many episodes of faults on a real control plane, each judged by what etcd and the audit log say.
//!
//! - See `campaign_fault.rs` for the faults, `churn.rs` for what changes all the time, `judge.rs` for what is right.
//! - Everything runs below one process and in temporary folders, which end and are removed with it, even if it is killed.

mod campaign_cluster;
mod campaign_fault;
mod campaign_results;
mod churn;
mod controllers;
mod episode;
mod episode_plan;
mod faulty_link;
mod history;
mod inflict;
mod judge;
mod timeline;

use crate::bench::report;
use crate::contender::{Contender, Contenders};
use anyhow::{Context as _, Result, ensure};
use campaign_cluster::CampaignCluster;
use campaign_fault::CampaignFault;
use campaign_results::CampaignResults;
use clap::ValueEnum as _;
use episode::EpisodeResult;
use episode_plan::EpisodePlan;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use std::{env, thread};

/// The episodes after which a new control plane begins, because the audit log grows.
const EPISODES_PER_CLUSTER: u32 = 30;

/// What a control plane and the records of an episode may take, in bytes.
const ROOM: u64 = 2 << 30;

#[derive(clap::Args)]
pub(crate) struct CampaignArgs {
    /// How many episodes to run
    #[arg(long, default_value_t = 500)]
    episodes: u64,
    /// The seed of all episodes; the same seed plans the same episodes
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The number of the first episode, to repeat one
    #[arg(long, default_value_t = 0, conflicts_with = "resume")]
    first: u64,
    /// Run the episodes that an interrupted run with the same seed and faults did not, up to --episodes in all
    #[arg(long)]
    resume: bool,
    /// How many control planes run episodes at the same time; each takes about a third of a core
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=8))]
    parallel: u8,
    /// Only these faults
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<CampaignFault>,
    /// The program that evicts; each run replaces its rows of the table
    #[arg(long, value_enum, default_value_t = Contender::Ours)]
    contender: Contender,
    /// A program of Taintward that is built already, instead of an optimized build
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Write the table into docs/reliability.md
    #[arg(long)]
    publish: bool,
}

impl CampaignArgs {
    /// Of the nightly run, which plans other episodes each night.
    pub(crate) fn nightly() -> Self {
        let seed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_secs() / 86_400);
        let contender = Contender::Ours;
        Self {
            episodes: 500,
            seed,
            first: 0,
            resume: false,
            parallel: 2,
            only: Vec::new(),
            contender,
            program: None,
            publish: false,
        }
    }

    /// The arguments to type for the same results: where a program is and what follows a run is left out.
    fn command(&self) -> String {
        let Self { episodes, seed, first, only, contender, .. } = self;
        let name = |fault: &CampaignFault| fault.describe().0;
        let mut command = format!("campaign --episodes {episodes} --seed {seed}");
        if *first > 0 {
            command += &format!(" --first {first}");
        }
        if !only.is_empty() {
            command += &format!(" --only {}", only.iter().map(name).collect::<Vec<_>>().join(","));
        }
        if let Some(contender) = contender.to_possible_value().filter(|_| *contender != Contender::Ours) {
            command += &format!(" --contender {}", contender.get_name());
        }
        command
    }
}

/// What the threads of a campaign share.
struct CampaignProgress {
    /// The numbers of the episodes that no thread has begun.
    open: VecDeque<u64>,
    results: CampaignResults,
    with_violations: u64,
    /// Episodes that could not be run.
    unfinished: u64,
}

/// A campaign that runs.
struct Campaign<'a> {
    arguments: &'a CampaignArgs,
    contenders: &'a Contenders,
    faults: &'a [CampaignFault],
    began: Instant,
    progress: Mutex<CampaignProgress>,
}

pub(crate) fn run(arguments: &CampaignArgs) -> Result<()> {
    let who = arguments.contender;
    ensure!(matches!(who, Contender::Ours | Contender::Original), "a campaign is for ours or original");
    let chosen: Vec<CampaignFault> = match &*arguments.only {
        [] => CampaignFault::value_variants().to_vec(),
        only => only.to_vec(),
    };
    let is_possible = |fault: &CampaignFault| who == Contender::Ours || !fault.is_own();
    let faults: Vec<CampaignFault> = chosen.into_iter().filter(is_possible).collect();
    ensure!(!faults.is_empty(), "these faults are about Taintward alone");
    check_room()?;
    let contenders = match &arguments.program {
        Some(program) => Contenders::of_program(who, program),
        None => Contenders::new(&[who], None)?,
    };
    let began = Instant::now();
    let progress = Mutex::new(CampaignProgress::new(arguments, &faults)?);
    let campaign = Campaign { arguments, contenders: &contenders, faults: &faults, began, progress };
    thread::scope(|scope| {
        let threads: Vec<_> =
            (0..arguments.parallel).map(|_| scope.spawn(|| campaign.run_episodes())).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("an episode does not panic"))
    })?;
    let table = campaign_results::table();
    println!("\n{table}");
    if arguments.publish {
        report::replace_section("docs/reliability.md", "campaign", &table)?;
    }
    let CampaignProgress { with_violations, unfinished, .. } = *campaign.progress();
    ensure!(
        with_violations + unfinished == 0,
        "of {} episodes, {with_violations} had violations, and {unfinished} could not be run",
        arguments.episodes
    );
    Ok(())
}

impl CampaignProgress {
    fn new(arguments: &CampaignArgs, faults: &[CampaignFault]) -> Result<Self> {
        let names: Vec<String> = faults.iter().map(|fault| fault.describe().0).collect();
        let plan = format!("seed {}, faults {}", arguments.seed, names.join(","));
        let results = match arguments.resume {
            true => CampaignResults::load_unfinished(arguments.contender, arguments.command(), &plan)?,
            false => CampaignResults::new(arguments.command(), plan),
        };
        results.save(arguments.contender)?;
        let numbers = arguments.first..arguments.first + arguments.episodes;
        let open = numbers.filter(|number| !results.is_finished(*number)).collect();
        Ok(Self { open, results, with_violations: 0, unfinished: 0 })
    }
}

impl Campaign<'_> {
    fn progress(&self) -> MutexGuard<'_, CampaignProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one episode after the other, on control planes of its own, until none is left.
    #[tokio::main(flavor = "current_thread")]
    async fn run_episodes(&self) -> Result<()> {
        let (who, mut cluster, mut since_start) = (self.arguments.contender, None, 0);
        loop {
            let Some(number) = self.progress().open.pop_front() else { return Ok(()) };
            let plan = EpisodePlan::of(self.arguments.seed, number, self.faults);
            if since_start == EPISODES_PER_CLUSTER {
                drop(cluster.take());
            }
            if cluster.is_none() {
                (cluster, since_start) = (Some(CampaignCluster::start(who, plan.seed).await?), 0);
            }
            since_start += 1;
            let running = cluster.as_mut().context("a control plane")?;
            let is_well = self.run_episode(running, number, &plan).await?;
            if !is_well {
                // What went wrong may have left its traces in the cluster.
                cluster = None;
            }
        }
    }

    /// Runs an episode, and returns whether all was well.
    async fn run_episode(
        &self,
        cluster: &mut CampaignCluster,
        number: u64,
        plan: &EpisodePlan,
    ) -> Result<bool> {
        let who = self.arguments.contender;
        let folder = campaign_results::folder().join(format!("episode-{}-{number}", self.arguments.seed));
        let ended = episode::run(cluster, self.contenders, who, plan, &folder).await;
        let title = format!("{:5} s  episode {number}: {}", self.began.elapsed().as_secs(), plan.names());
        let mut progress = self.progress();
        let is_well = match ended {
            Ok(result) => {
                print_result(&title, &result, who);
                progress.results.add(&plan.row(), &result.verdict);
                progress.results.finish(number);
                progress.with_violations += u64::from(result.folder.is_some());
                result.folder.is_none()
            }
            Err(error) => {
                eprintln!("{title}: cannot be run: {error:#}");
                progress.unfinished += 1;
                false
            }
        };
        progress.results.save(who)?;
        Ok(is_well)
    }
}

fn print_result(title: &str, result: &EpisodeResult, who: Contender) {
    let verdict = &result.verdict;
    let latest = verdict.late.iter().copied().fold(0.0, f64::max);
    eprintln!("{title}: {} evicted, latest {latest:.2} s", verdict.evicted);
    if who == Contender::Original {
        return;
    }
    for (misdeed, why) in &verdict.misdeeds {
        eprintln!("        VIOLATION: {misdeed:?}: {why}");
    }
    result.failures.iter().for_each(|failure| eprintln!("        VIOLATION: {failure}"));
    if let Some(kept) = &result.folder {
        eprintln!("        logs and records: {}", kept.display());
    }
}

/// Fails early on a machine without room.
fn check_room() -> Result<()> {
    let folder = env::temp_dir();
    let free = rustix::fs::statvfs(&folder).map(|stat| stat.f_bavail * stat.f_frsize);
    let free = free.with_context(|| format!("reading the free space of {}", folder.display()))?;
    ensure!(
        free >= ROOM,
        "{} has {} MB of free space, and a campaign needs {}: free some, or let TMPDIR name another folder",
        folder.display(),
        free >> 20,
        ROOM >> 20
    );
    Ok(())
}
