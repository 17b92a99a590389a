//! Runs the demo: a real API server, four nodes, twenty pods, and taints that are added and removed.
//!
//! - Fails if a pod is not evicted, or does not stay, as the core's verdict says. See `demo/board.rs` for what it shows.

mod board;
mod stage;

use crate::contender::Contender;
use crate::sources;
use anyhow::{Result, bail};
use board::DemoBoard;
use stage::DemoCluster;
use std::time::{Duration, Instant};
use taintward_envtest::{Account, Binaries, ChildProcess, Cluster, ClusterConfig};

/// The time between two drawings.
const FRAME: Duration = Duration::from_millis(100);

/// The time after the last scene, in which every due pod is evicted.
const EPILOGUE: Duration = Duration::from_secs(5);

#[derive(clap::Args)]
pub(crate) struct DemoArgs {
    /// Evict with kube-controller-manager instead, to compare
    #[arg(long)]
    original: bool,
}

/// A change of a node's taints.
struct DemoScene {
    /// Seconds after the start.
    at: u64,
    node: &'static str,
    /// The node's new taints: key, value, effect.
    taints: &'static [(&'static str, &'static str, &'static str)],
    caption: &'static str,
}

const MAINTENANCE: (&str, &str, &str) = ("maintenance", "disk", "NoExecute");

const SCENES: [DemoScene; 5] = [
    DemoScene {
        at: 1,
        node: "alder",
        taints: &[MAINTENANCE],
        caption: "alder is tainted: some pods leave now, some have a countdown, some stay",
    },
    DemoScene { at: 5, node: "birch", taints: &[MAINTENANCE], caption: "birch gets the same taint" },
    DemoScene {
        at: 8,
        node: "birch",
        taints: &[],
        caption: "birch's taint is removed in time: pods with a countdown stay",
    },
    DemoScene {
        at: 10,
        node: "alder",
        taints: &[MAINTENANCE, ("power", "failing", "NoExecute")],
        caption: "alder gets a second taint: pods that do not tolerate both leave now",
    },
    DemoScene {
        at: 13,
        node: "cedar",
        taints: &[("maintenance", "disk", "NoSchedule")],
        caption: "cedar gets a NoSchedule taint: no pod is evicted",
    },
];

pub(crate) async fn run(arguments: &DemoArgs) -> Result<()> {
    let tools = Binaries::find_or_build()?;
    let (contender, name) = if arguments.original {
        (Contender::original(), "kube-controller-manager")
    } else {
        (
            Contender::Taintward { binary: sources::build_taintward(false)?, flags: Vec::new() },
            "taintward run",
        )
    };
    let start = Instant::now();
    println!("starting etcd and kube-apiserver …");
    let cluster = Cluster::start(&tools, ClusterConfig::default()).await?;
    let mut stage = DemoCluster::set(cluster.api(Account::Admin).await?).await?;
    println!("a real API server is ready after {:.1} s; starting {name} …", start.elapsed().as_secs_f64());
    let mut program = contender.start(&cluster).await?;
    let outcome = play(&mut stage, &mut program).await;
    drop(program);
    drop(cluster);
    outcome?;
    println!("The cluster is removed. The whole demo took {:.0} s.", start.elapsed().as_secs_f64());
    Ok(())
}

async fn play(stage: &mut DemoCluster, program: &mut ChildProcess) -> Result<()> {
    let mut board = DemoBoard::new();
    stage.raise_curtain();
    let mut scenes = SCENES.iter().peekable();
    board.caption(stage, "four nodes, twenty pods, no taints");
    let last = Duration::from_secs(SCENES[SCENES.len() - 1].at) + EPILOGUE;
    while stage.elapsed() < last {
        if let Some(scene) = scenes.next_if(|scene| stage.elapsed() >= Duration::from_secs(scene.at)) {
            stage.set_taints(scene.node, scene.taints).await?;
            board.caption(stage, scene.caption);
        }
        program.expect_running()?;
        stage.look().await?;
        board.show(stage);
        tokio::time::sleep(FRAME).await;
    }
    board.close(stage);
    let wrong = stage.wrong();
    if !wrong.is_empty() {
        bail!(
            "the evictions are wrong: {}.\nThe program's last lines:\n{}",
            wrong.join("; "),
            program.last_words()
        );
    }
    Ok(())
}
