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
use std::env;
use std::path::PathBuf;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The episodes after which a new control plane begins, because the audit log grows.
const EPISODES_PER_CLUSTER: u64 = 30;

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
    /// Continue after the last episode of an interrupted run with the same seed and faults, up to --episodes in all
    #[arg(long)]
    resume: bool,
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
            only: Vec::new(),
            contender,
            program: None,
            publish: false,
        }
    }
}

/// The episodes that did not go well.
#[derive(Default)]
struct BadEpisodes {
    with_violations: u64,
    unfinished: u64,
}

pub(crate) async fn run(arguments: &CampaignArgs) -> Result<()> {
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
    let bad = run_episodes(arguments, &contenders, &faults).await?;
    let table = campaign_results::table();
    println!("\n{table}");
    if arguments.publish {
        report::replace_section("docs/reliability.md", "campaign", &table)?;
    }
    let BadEpisodes { with_violations, unfinished } = bad;
    ensure!(
        with_violations + unfinished == 0,
        "of {} episodes, {with_violations} had violations, and {unfinished} could not be run",
        arguments.episodes
    );
    Ok(())
}

async fn run_episodes(
    arguments: &CampaignArgs,
    contenders: &Contenders,
    faults: &[CampaignFault],
) -> Result<BadEpisodes> {
    let (who, began) = (arguments.contender, Instant::now());
    let names: Vec<String> = faults.iter().map(|fault| fault.describe().0).collect();
    let plan = format!("seed {}, faults {}", arguments.seed, names.join(","));
    let mut results = match arguments.resume {
        true => CampaignResults::load_unfinished(who, &plan)?,
        false => CampaignResults::new(report::command(), plan, arguments.first),
    };
    let (mut bad, mut campaign) = (BadEpisodes::default(), None);
    for number in results.next()..arguments.first + arguments.episodes {
        let plan = EpisodePlan::of(arguments.seed, number, faults);
        if number.is_multiple_of(EPISODES_PER_CLUSTER) {
            drop(campaign.take());
        }
        if campaign.is_none() {
            campaign = Some(CampaignCluster::start(who, plan.seed).await?);
        }
        let cluster = campaign.as_mut().context("a control plane")?;
        let folder = campaign_results::folder().join(format!("episode-{}-{number}", arguments.seed));
        let title = format!("{:5} s  episode {number}: {}", began.elapsed().as_secs(), plan.names());
        match episode::run(cluster, contenders, who, &plan, &folder).await {
            Ok(result) => {
                print_result(&title, &result, who);
                results.add(&plan.row(), &result.verdict);
                if result.folder.is_some() {
                    bad.with_violations += 1;
                    // What went wrong may have left its traces in the cluster.
                    campaign = None;
                }
            }
            Err(error) => {
                eprintln!("{title}: cannot be run: {error:#}");
                bad.unfinished += 1;
                campaign = None;
            }
        }
        results.finish(number);
        results.save(who)?;
    }
    Ok(bad)
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
