//! Benchmarks evictions: each task runs for all contenders in turns, so that a slow minute of the machine affects all of them.
//!
//! - Writes docs/benchmarks.md.

use super::load::{self, IN_FLIGHT, LoadGenerator, in_parallel, names};
use super::readings::Results;
use super::report::{Goal, MEGABYTES, MILLISECONDS, RATE, Report, SECONDS, server_version};
use super::{BenchArgs, Measurement};
use crate::contender::{Contender, ContenderOptions, Contenders};
use crate::cpu_load::CpuLoad;
use crate::server_process::ServerProcess;
use EvictionRow::*;
use anyhow::{Context as _, Result, bail};
use clap::ValueEnum as _;
use futures::StreamExt as _;
use serde_json::json;
use std::time::{Duration, Instant};
use taintward_envtest::api::PatchType;
use taintward_envtest::{Account, Cluster};

/// What is measured. Of throughput, pods per second count from the first taint until the last pod is gone; of latency, seconds
/// from the taint until the only pod of its node, or the last of a hundred, is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EvictionRow {
    Resident,
    Peak,
    SyncCpu,
    SyncTime,
    Rate,
    RateCpu,
    ContendedRate,
    ContendedCpu,
    One,
    Last,
}

/// Longer than any working contender needs.
const TIMEOUT: Duration = Duration::from_secs(600);

/// A program that uses less processor time than this in a second is at rest.
const REST: Duration = Duration::from_millis(30);

const ALL: [Contender; 5] =
    [Contender::Ours, Contender::Original, Contender::Floor, Contender::Jobs, Contender::Earlier];

/// The contenders of most measurements.
const PROGRAMS: [Contender; 3] = [Contender::Ours, Contender::Original, Contender::Earlier];

struct EvictionBench<'a> {
    arguments: &'a BenchArgs,
    contenders: Contenders,
    cluster: Cluster,
    fleet: LoadGenerator,
    results: Results<EvictionRow>,
}

pub(crate) async fn run(arguments: &BenchArgs) -> Result<()> {
    let contenders = arguments.contenders()?;
    // Quick sizes need at most a minute.
    let quick = BenchArgs { pods: 2000, nodes: 10, pods_per_node: 20, rounds: Some(1), ..arguments.clone() };
    let arguments = if arguments.quick { &quick } else { arguments };
    let cluster = super::start_cluster().await?;
    let fleet = LoadGenerator::new(cluster.api(Account::Admin).await?);
    let mut bench = EvictionBench { arguments, contenders, cluster, fleet, results: Results::default() };
    // Memory comes last, because its pods stay.
    for measurement in Measurement::value_variants().iter().filter(|one| arguments.measure.contains(one)) {
        match measurement {
            Measurement::Latency => bench.latency().await?,
            Measurement::Throughput => bench.throughput(false).await?,
            Measurement::Contended => bench.throughput(true).await?,
            Measurement::Memory => bench.memory().await?,
        }
    }
    bench.publish()
}

impl EvictionBench<'_> {
    /// Starts a contender and waits until it is at rest. Returns how long it took until it was ready.
    async fn settled(&self, who: Contender) -> Result<(ServerProcess, Duration)> {
        let start = Instant::now();
        let mut program = self.contenders.start(who, &self.cluster, &ContenderOptions::default()).await?;
        let ready = start.elapsed();
        let (mut before, mut still) = (program.usage()?.cpu, 0);
        while still < 3 {
            if start.elapsed() > TIMEOUT {
                bail!("{who:?} is not at rest after {} s", TIMEOUT.as_secs());
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
            program.process.expect_running()?;
            let cpu = program.usage()?.cpu;
            still = if cpu.saturating_sub(before) < REST { still + 1 } else { 0 };
            before = cpu;
        }
        Ok((program, ready))
    }

    /// Measures the time from the taint to the deletion, for one pod and for the last of a hundred.
    async fn latency(&mut self) -> Result<()> {
        let node = names("latency", 1);
        self.fleet.create_nodes(&node).await?;
        for round in 0..self.arguments.rounds() {
            let columns = [&ALL[..3], &ALL[4..]].concat();
            for who in self.contenders.in_turn(&columns, round) {
                eprintln!("latency, round {}: {who:?}", round + 1);
                let is_floor = who == Contender::Floor;
                let program = if is_floor { None } else { Some(self.settled(who).await?.0) };
                let last_words = || program.as_ref().map(|program| program.process.last_words());
                for (row, pods, repeats) in [(One, 1, 7), (Last, 100, 3)] {
                    for _ in 0..repeats {
                        let reading = self.time_to_gone(&node, pods, is_floor).await;
                        let reading = reading.with_context(|| last_words().unwrap_or_default())?;
                        eprintln!("  {row:?} {:.1} ms", reading.as_secs_f64() * 1e3);
                        self.results.add(row, who, reading.as_secs_f64());
                    }
                }
            }
        }
        self.fleet.delete_nodes(&node).await
    }

    /// The floor evicts as soon as the API server has answered the request for the taint: no controller can observe it
    /// earlier.
    async fn time_to_gone(&self, node: &[String], pods: usize, by_floor: bool) -> Result<Duration> {
        let fleet = &self.fleet;
        fleet.create_pods(node, pods, 0).await?;
        let names = if by_floor { fleet.pod_names().await? } else { Vec::new() };
        // Long enough for every informer to observe the pods.
        tokio::time::sleep(Duration::from_millis(500)).await;
        let path =
            format!("/api/v1/pods?watch=true&resourceVersion=0&fieldSelector=spec.nodeName%3D{}", node[0]);
        let mut events = fleet.api.watch(&path).await?;
        let start = Instant::now();
        fleet.taint(node).await?;
        evict(fleet, &names).await?;
        let mut gone = 0;
        while gone < pods {
            let event = tokio::time::timeout(Duration::from_secs(60), events.next()).await;
            match event.context("a pod did not leave within a minute")? {
                Some(event) => gone += usize::from(event?.starts_with("{\"type\":\"DELETED\"")),
                // A busy server drops watchers that do not keep up.
                None => {
                    fleet.wait_empty(TIMEOUT).await?;
                    break;
                }
            }
        }
        let elapsed = start.elapsed();
        fleet.untaint(node).await?;
        Ok(elapsed)
    }

    /// Taints all nodes at the same time. With fewer nodes and more rounds if every core has other work, too: single readings then
    /// depend on which process gets a core first.
    async fn throughput(&mut self, contended: bool) -> Result<()> {
        let (arguments, fleet) = (self.arguments, &self.fleet);
        let (nodes, rounds, columns, rows) = match contended {
            true => (
                arguments.contended_nodes(),
                arguments.contended_rounds(),
                &PROGRAMS[..],
                (ContendedRate, ContendedCpu),
            ),
            false => (arguments.nodes, arguments.rounds(), &ALL[..], (Rate, RateCpu)),
        };
        let nodes = names("throughput", nodes);
        fleet.create_nodes(&nodes).await?;
        for round in 0..rounds {
            for who in self.contenders.in_turn(columns, round) {
                let place = if contended { " on busy cores" } else { "" };
                eprintln!("evictions per second{place}, round {}: {who:?}", round + 1);
                fleet.create_pods(&nodes, arguments.pods_per_node, 0).await?;
                let pods = (nodes.len() * arguments.pods_per_node) as f64;
                if who == Contender::Floor {
                    let names = fleet.pod_names().await?;
                    let start = Instant::now();
                    evict(fleet, &names).await?;
                    self.results.add(rows.0, who, pods / start.elapsed().as_secs_f64());
                    continue;
                }
                let (program, _) = self.settled(who).await?;
                let load = contended.then(CpuLoad::start);
                let before = program.usage()?.cpu;
                let start = Instant::now();
                fleet.taint(&nodes).await?;
                fleet.wait_empty(TIMEOUT).await.with_context(|| program.process.last_words())?;
                let rate = pods / start.elapsed().as_secs_f64();
                drop(load);
                let cpu = program.usage()?.cpu.saturating_sub(before);
                eprintln!("  {rate:.0}/s");
                fleet.untaint(&nodes).await?;
                self.results.add(rows.0, who, rate);
                self.results.add(rows.1, who, cpu.as_secs_f64());
            }
        }
        fleet.delete_nodes(&nodes).await
    }

    /// Measures the first list, and the memory after it.
    async fn memory(&mut self) -> Result<()> {
        let nodes = names("memory", self.arguments.pods.div_ceil(100));
        self.fleet.create_nodes(&nodes).await?;
        eprintln!("creating {} pods", nodes.len() * 100);
        self.fleet.create_pods(&nodes, 100, 0).await?;
        for round in 0..self.arguments.rounds() {
            for who in self.contenders.in_turn(&PROGRAMS, round) {
                eprintln!("memory, round {}: {who:?}", round + 1);
                let (program, ready) = self.settled(who).await?;
                let usage = program.usage()?;
                self.results.add(Resident, who, usage.resident as f64);
                self.results.add(Peak, who, usage.peak as f64);
                self.results.add(SyncCpu, who, usage.cpu.as_secs_f64());
                self.results.add(SyncTime, who, ready.as_secs_f64());
            }
        }
        Ok(())
    }

    fn publish(self) -> Result<()> {
        let mut programs = vec!["Taintward", "kube-controller-manager", "floor"];
        programs.extend(self.contenders.contains(Contender::Earlier).then_some("earlier build"));
        let mut report = Report::comparison("benchmarks.md", "Benchmarks", &programs);
        let (original, floor) = (1, 2);
        let times = |factor| Goal::Times(original, factor);
        let lines = [
            ("memory, all pods listed, at rest", Resident, MEGABYTES, times(50.0)),
            ("memory, peak", Peak, MEGABYTES, Goal::None),
            ("processor time to list all pods", SyncCpu, SECONDS, times(20.0)),
            ("time until ready", SyncTime, SECONDS, Goal::None),
            ("evictions per second, against the floor", Rate, RATE, Goal::Times(floor, 0.95)),
            ("evictions per second, against kube-controller-manager", Rate, RATE, times(1.0)),
            ("processor time for them", RateCpu, SECONDS, times(5.0)),
            ("evictions per second on busy cores", ContendedRate, RATE, times(1.2)),
            ("processor time for them, on busy cores", ContendedCpu, SECONDS, times(5.0)),
            ("evictions per second, condition for jobs only", Rate, RATE, times(2.5)),
            ("processor time for them, condition for jobs only", RateCpu, SECONDS, Goal::None),
            ("from the taint to the deletion, one pod", One, MILLISECONDS, times(1.0 / 0.8)),
            ("from the taint to the deletion, last of 100 pods", Last, MILLISECONDS, times(1.0)),
        ];
        for (label, row, unit, goal) in lines {
            let is_for_jobs = label.ends_with("jobs only");
            let ours = if is_for_jobs { Contender::Jobs } else { Contender::Ours };
            let columns = [ours, Contender::Original, Contender::Floor, Contender::Earlier];
            let readings = columns.map(|who| self.results.median(row, who));
            // An earlier build runs without the condition for jobs only.
            report.compare(label, unit, if is_for_jobs { &readings[..3] } else { &readings }, goal);
        }
        let arguments = self.arguments;
        let measured = format!(
            "the contenders take turns against the same kube-apiserver ({}) with etcd on the same machine; medians of {} rounds \
             (latency: 7 and 3 repeats in each). kube-controller-manager runs only taint-eviction-controller and, for the index it \
             needs, daemonset-controller; its client limits are lifted. {} pods of about 4 KB for memory; {} nodes with {} pods each \
             tainted at the same time for evictions. The floor is a loop that sends only the PATCH of the condition and the DELETE \
             for known pods, {IN_FLIGHT} at a time. Busy cores: in addition to the API server, etcd and the contender, one thread \
             for each core keeps it busy; {} nodes, {} rounds.",
            server_version(&self.cluster)?,
            arguments.rounds(),
            arguments.pods,
            arguments.nodes,
            arguments.pods_per_node,
            arguments.contended_nodes(),
            arguments.contended_rounds(),
        );
        report.publish(arguments.quick, &measured, "")
    }
}

/// Evicts known pods with the bare requests, condition and DELETE, as the lower bound of the benchmark.
async fn evict(fleet: &LoadGenerator, names: &[String]) -> Result<()> {
    let condition = json!({"status": {"conditions": [{
        "type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager",
        "message": "Taint manager: deleting due to NoExecute taint", "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]}})
    .to_string();
    in_parallel(names, IN_FLIGHT, async |name| {
        let path = load::pod_path(name);
        fleet.api.patch(&format!("{path}/status"), PatchType::Strategic, &condition).await?;
        fleet.api.delete(&path, &json!({})).await.map(drop)
    })
    .await
}
