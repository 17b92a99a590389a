//! Runs each task for all contenders in alternation, so that a slow minute of the machine affects all of them.

use super::cpu_load::CpuLoad;
use super::load::LoadGenerator;
use super::{BenchArgs, BenchContender, Contenders, floor};
use crate::contender::Contender;
use anyhow::{Context as _, Result, bail};
use futures::StreamExt as _;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use taintward_envtest::{ChildProcess, Cluster, usage};

/// What a reading measures: the rows of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MeasuredRow {
    /// Bytes, after the first list, at rest.
    Resident,
    /// Bytes, the peak so far.
    Peak,
    /// Seconds of processor time from the start until at rest.
    SyncCpu,
    /// Seconds from the start until ready.
    SyncTime,
    /// Pods per second, from the first taint until the last pod is gone.
    Rate,
    /// Seconds of processor time for that.
    RateCpu,
    /// As `Rate`, while other work keeps all cores busy.
    ContendedRate,
    /// As `RateCpu`, while other work keeps all cores busy.
    ContendedCpu,
    /// Seconds from the taint until the only pod of its node is gone.
    One,
    /// Seconds from the taint until the last of the node's hundred pods is gone.
    Last,
}

/// Readings by row and column.
#[derive(Default)]
pub(crate) struct BenchResults(BTreeMap<(MeasuredRow, BenchContender), Vec<f64>>);

impl BenchResults {
    fn add(&mut self, row: MeasuredRow, who: BenchContender, reading: f64) {
        self.0.entry((row, who)).or_default().push(reading);
    }

    pub(crate) fn median(&self, row: MeasuredRow, who: BenchContender) -> Option<f64> {
        let mut readings = self.0.get(&(row, who))?.clone();
        readings.sort_by(f64::total_cmp);
        readings.get(readings.len() / 2).copied()
    }
}

/// Longer than any working contender needs.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(600);

/// A program that uses less processor time than this in a second is at rest.
const REST: Duration = Duration::from_millis(30);

fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|index| format!("{prefix}-{index}")).collect()
}

/// Starts a contender and waits until it is at rest.
async fn settled(cluster: &Cluster, contender: &Contender) -> Result<(ChildProcess, Duration)> {
    let start = Instant::now();
    let mut program = contender.start(cluster).await?;
    let ready = start.elapsed();
    let mut before = usage::of(program.pid())?.cpu;
    let mut still = 0;
    while still < 3 {
        if start.elapsed() > STARTUP_TIMEOUT {
            bail!("{contender:?} is not at rest after {} s", STARTUP_TIMEOUT.as_secs());
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        program.expect_running()?;
        let cpu = usage::of(program.pid())?.cpu;
        still = if cpu.saturating_sub(before) < REST { still + 1 } else { 0 };
        before = cpu;
    }
    Ok((program, ready))
}

/// Measures the time from the taint to the deletion, for one pod and for the last of a hundred.
pub(crate) async fn latency(
    cluster: &Cluster,
    fleet: &LoadGenerator,
    contenders: &Contenders,
    arguments: &BenchArgs,
    results: &mut BenchResults,
) -> Result<()> {
    let node = names("latency", 1);
    fleet.create_nodes(&node).await?;
    for round in 0..arguments.rounds() {
        for (who, contender) in contenders.among(
            &[BenchContender::Ours, BenchContender::Original, BenchContender::Floor, BenchContender::Earlier],
            round,
        ) {
            eprintln!("latency, round {}: {who:?}", round + 1);
            let program = match contender {
                Some(contender) => Some(settled(cluster, &contender).await?.0),
                None => None,
            };
            for (row, pods, repeats) in [(MeasuredRow::One, 1, 7), (MeasuredRow::Last, 100, 3)] {
                for _ in 0..repeats {
                    let reading =
                        time_to_gone(fleet, &node, pods, program.is_none()).await.with_context(|| {
                            program.as_ref().map(ChildProcess::last_words).unwrap_or_default()
                        })?;
                    eprintln!("  {row:?} {:.1} ms", reading.as_secs_f64() * 1e3);
                    results.add(row, who, reading.as_secs_f64());
                }
            }
        }
    }
    fleet.delete_nodes(&node).await
}

/// The floor evicts as soon as the API server has answered the request for the taint: no controller can observe it
/// earlier.
async fn time_to_gone(
    fleet: &LoadGenerator,
    node: &[String],
    pods: usize,
    by_floor: bool,
) -> Result<Duration> {
    fleet.create_pods(node, pods, 0).await?;
    let names = if by_floor { floor::names(fleet).await? } else { Vec::new() };
    // Long enough for every informer to observe the pods.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let path = format!("/api/v1/pods?watch=true&resourceVersion=0&fieldSelector=spec.nodeName%3D{}", node[0]);
    let mut events = fleet.api.watch(&path).await?;
    let start = Instant::now();
    fleet.taint(node).await?;
    floor::evict(fleet, &names).await?;
    let mut gone = 0;
    while gone < pods {
        let event = tokio::time::timeout(Duration::from_secs(60), events.next()).await;
        match event.context("a pod did not leave within a minute")? {
            Some(event) => gone += usize::from(event?.starts_with("{\"type\":\"DELETED\"")),
            // A busy server drops watchers that do not keep up.
            None => {
                fleet.wait_empty(STARTUP_TIMEOUT).await?;
                break;
            }
        }
    }
    let elapsed = start.elapsed();
    fleet.untaint(node).await?;
    Ok(elapsed)
}

/// Taints all nodes at the same time.
pub(crate) async fn throughput(
    cluster: &Cluster,
    fleet: &LoadGenerator,
    contenders: &Contenders,
    arguments: &BenchArgs,
    results: &mut BenchResults,
) -> Result<()> {
    let nodes = names("throughput", arguments.nodes);
    fleet.create_nodes(&nodes).await?;
    for round in 0..arguments.rounds() {
        for (who, contender) in contenders.among(
            &[
                BenchContender::Ours,
                BenchContender::Original,
                BenchContender::Floor,
                BenchContender::Jobs,
                BenchContender::Earlier,
            ],
            round,
        ) {
            eprintln!("evictions per second, round {}: {who:?}", round + 1);
            fleet.create_pods(&nodes, arguments.pods_per_node, 0).await?;
            let pods = nodes.len() * arguments.pods_per_node;
            let Some(contender) = contender else {
                let names = floor::names(fleet).await?;
                let start = Instant::now();
                floor::evict(fleet, &names).await?;
                results.add(MeasuredRow::Rate, who, pods as f64 / start.elapsed().as_secs_f64());
                continue;
            };
            let (rate, cpu) = emptied(cluster, fleet, &contender, &nodes, pods, false).await?;
            results.add(MeasuredRow::Rate, who, rate);
            results.add(MeasuredRow::RateCpu, who, cpu);
        }
    }
    fleet.delete_nodes(&nodes).await
}

/// The same with fewer nodes and more rounds, while every core has other work, too: single readings then depend on
/// which process gets a core first.
pub(crate) async fn contended(
    cluster: &Cluster,
    fleet: &LoadGenerator,
    contenders: &Contenders,
    arguments: &BenchArgs,
    results: &mut BenchResults,
) -> Result<()> {
    let nodes = names("contended", arguments.contended_nodes());
    fleet.create_nodes(&nodes).await?;
    for round in 0..arguments.contended_rounds() {
        for (who, contender) in contenders
            .among(&[BenchContender::Ours, BenchContender::Original, BenchContender::Earlier], round)
        {
            eprintln!("evictions per second on busy cores, round {}: {who:?}", round + 1);
            fleet.create_pods(&nodes, arguments.pods_per_node, 0).await?;
            let pods = nodes.len() * arguments.pods_per_node;
            let contender = contender.context("a contender without program")?;
            let (rate, cpu) = emptied(cluster, fleet, &contender, &nodes, pods, true).await?;
            results.add(MeasuredRow::ContendedRate, who, rate);
            results.add(MeasuredRow::ContendedCpu, who, cpu);
        }
    }
    fleet.delete_nodes(&nodes).await
}

/// Taints the nodes and waits until the last of their pods is gone. Returns pods per second, and the contender's
/// processor time in seconds.
async fn emptied(
    cluster: &Cluster,
    fleet: &LoadGenerator,
    contender: &Contender,
    nodes: &[String],
    pods: usize,
    contended: bool,
) -> Result<(f64, f64)> {
    let (program, _) = settled(cluster, contender).await?;
    let hog = contended.then(CpuLoad::start);
    let before = usage::of(program.pid())?.cpu;
    let start = Instant::now();
    fleet.taint(nodes).await?;
    fleet.wait_empty(STARTUP_TIMEOUT).await.with_context(|| program.last_words())?;
    let took = start.elapsed();
    drop(hog);
    let cpu = usage::of(program.pid())?.cpu.saturating_sub(before);
    let rate = pods as f64 / took.as_secs_f64();
    eprintln!("  {rate:.0}/s");
    fleet.untaint(nodes).await?;
    Ok((rate, cpu.as_secs_f64()))
}

/// Measures the first list, and the memory after it.
pub(crate) async fn memory(
    cluster: &Cluster,
    fleet: &LoadGenerator,
    contenders: &Contenders,
    arguments: &BenchArgs,
    results: &mut BenchResults,
) -> Result<()> {
    let nodes = names("memory", arguments.pods.div_ceil(100));
    fleet.create_nodes(&nodes).await?;
    eprintln!("creating {} pods", nodes.len() * 100);
    fleet.create_pods(&nodes, 100, 0).await?;
    for round in 0..arguments.rounds() {
        for (who, contender) in contenders
            .among(&[BenchContender::Ours, BenchContender::Original, BenchContender::Earlier], round)
        {
            eprintln!("memory, round {}: {who:?}", round + 1);
            let (program, ready) =
                settled(cluster, &contender.context("a contender without program")?).await?;
            let usage = usage::of(program.pid())?;
            results.add(MeasuredRow::Resident, who, usage.resident as f64);
            results.add(MeasuredRow::Peak, who, usage.peak as f64);
            results.add(MeasuredRow::SyncCpu, who, usage.cpu.as_secs_f64());
            results.add(MeasuredRow::SyncTime, who, ready.as_secs_f64());
        }
    }
    Ok(())
}
