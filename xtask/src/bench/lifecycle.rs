//! Benchmarks node lifecycle against kube-controller-manager with the same nodes, in turns.
//!
//! - Writes docs/benchmarks-lifecycle.md.

mod readings;
mod report_table;

use super::report;
use crate::contender::Contender;
use crate::sources;
use anyhow::{Context as _, Result};
use readings::{LifecycleReadings, LifecycleSetup};
use std::path::Path;
use std::time::Duration;
use taintward_envtest::heartbeats::{Heartbeats, plans};
use taintward_envtest::node_history::NodeHistory;
use taintward_envtest::{Account, Cluster, access, wait};

/// The only controller that runs.
const CONTROLLER: &str = "node-lifecycle-controller";

/// The sizes of the benchmark.
#[derive(Clone, Copy, Debug)]
struct LifecycleSizes {
    /// Nodes of the comparison, and how often each renews.
    nodes: usize,
    period: Duration,
    /// Nodes of the big fleet, and how often each renews here.
    many: usize,
    many_period: Duration,
    /// Images that each node's status lists: ten need 3 KB.
    images: usize,
    zones: usize,
    /// How long processor time is counted.
    window: Duration,
    /// `--node-monitor-grace-period` of the comparison, and of the big fleet.
    grace: Duration,
    many_grace: Duration,
}

const WHOLE: LifecycleSizes = LifecycleSizes {
    nodes: 5_000,
    period: Duration::from_secs(10),
    many: 20_000,
    many_period: Duration::from_secs(40),
    images: 10,
    zones: 10,
    window: Duration::from_secs(40),
    grace: Duration::from_secs(25),
    many_grace: Duration::from_secs(200),
};

const QUICK: LifecycleSizes = LifecycleSizes {
    nodes: 200,
    period: Duration::from_secs(4),
    many: 600,
    many_period: Duration::from_secs(6),
    zones: 4,
    window: Duration::from_secs(10),
    grace: Duration::from_secs(12),
    many_grace: Duration::from_secs(30),
    ..WHOLE
};

/// A compared program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LifecycleContender {
    Ours,
    Original,
}

/// Runs both, and writes the page.
pub(super) async fn run(quick: bool, rounds: usize) -> Result<()> {
    let binary = sources::build_taintward(true)?;
    let (sizes, rounds) = if quick { (QUICK, 1) } else { (WHOLE, rounds) };
    let cluster = super::start_cluster().await?;
    let mut readings = LifecycleReadings::default();
    compared(&cluster, &binary, &sizes, rounds, &mut readings).await?;
    many(&cluster, &binary, &sizes, &mut readings).await?;
    drop(cluster);
    let table = report_table::table(&sizes, &readings);
    println!("\n{table}");
    if quick {
        println!(
            "This was a quick run: the numbers are not meaningful, and docs/benchmarks-lifecycle.md is not changed."
        );
        return Ok(());
    }
    report::write_above_notes("benchmarks-lifecycle.md", &report_table::page(&sizes, rounds, &table))
}

fn contender(who: LifecycleContender, binary: &Path, grace: Duration) -> Contender {
    let grace = format!("--node-monitor-grace-period={}s", grace.as_secs());
    match who {
        LifecycleContender::Original => Contender::Original { controllers: CONTROLLER, flags: vec![grace] },
        LifecycleContender::Ours => Contender::Taintward {
            binary: binary.to_owned(),
            flags: vec![format!("--controllers={CONTROLLER}"), grace],
        },
    }
}

/// Creates a fleet and waits until it renews its leases in time.
async fn fleet(
    cluster: &Cluster,
    nodes: usize,
    sizes: &LifecycleSizes,
    period: Duration,
) -> Result<Heartbeats> {
    eprintln!("creating {nodes} nodes and leases, renewed every {period:?}");
    let api = cluster.api(Account::Admin).await?;
    access::grant_node_lifecycle(&api).await?;
    wait::until("the namespace of leases", Duration::from_secs(30), async || {
        Ok(api.find("/api/v1/namespaces/kube-node-lease").await?)
    })
    .await?;
    let kubeconfig = cluster.kubeconfig(Account::Admin, 0);
    Heartbeats::start(&kubeconfig, plans(nodes, sizes.zones, sizes.images), period).await
}

/// Measures both in turns: processor time for renewals, memory, and how soon a dead node gets its taint.
async fn compared(
    cluster: &Cluster,
    binary: &Path,
    sizes: &LifecycleSizes,
    rounds: usize,
    readings: &mut LifecycleReadings,
) -> Result<()> {
    let heartbeats = fleet(cluster, sizes.nodes, sizes, sizes.period).await?;
    let kubeconfig = cluster.kubeconfig(Account::Admin, 0);
    let record = NodeHistory::start(&kubeconfig).await?;
    let api = cluster.api(Account::Admin).await?;
    for round in 0..rounds {
        let mut order = [LifecycleContender::Ours, LifecycleContender::Original];
        if round % 2 == 1 {
            order.reverse();
        }
        for who in order {
            eprintln!("{} nodes, round {}: {who:?}", sizes.nodes, round + 1);
            let stage = LifecycleSetup { heartbeats: &heartbeats, window: sizes.window };
            let program = contender(who, binary, sizes.grace).start(cluster).await?;
            let reading =
                stage.at_rest(&program, sizes.period).await.with_context(|| program.last_words())?;
            let delays =
                readings::delays(&stage, &record, &api, sizes).await.with_context(|| program.last_words())?;
            eprintln!("  {reading:?}\n  {delays:?}");
            readings.add(who, reading, delays);
        }
    }
    drop(heartbeats);
    readings::clear(&api).await
}

/// Measures the big fleet: the share of a core that each program needs.
async fn many(
    cluster: &Cluster,
    binary: &Path,
    sizes: &LifecycleSizes,
    readings: &mut LifecycleReadings,
) -> Result<()> {
    let heartbeats = fleet(cluster, sizes.many, sizes, sizes.many_period).await?;
    for who in [LifecycleContender::Ours, LifecycleContender::Original] {
        eprintln!("{} nodes: {who:?}", sizes.many);
        let stage = LifecycleSetup { heartbeats: &heartbeats, window: sizes.window };
        let program = contender(who, binary, sizes.many_grace).start(cluster).await?;
        let reading = stage.at_rest(&program, sizes.period).await.with_context(|| program.last_words())?;
        eprintln!("  {reading:?}");
        readings.add_many(who, reading);
    }
    Ok(())
}
