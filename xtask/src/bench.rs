//! Benchmarks Taintward, kube-controller-manager and the bare requests in turns against one API server.
//!
//! - Writes ratios and goals to standard output and docs/benchmarks.md. See `bench/measure.rs` for the measuring.

mod board;
mod cpu_load;
mod faults;
mod flood;
mod floor;
mod holds;
mod lifecycle;
mod load;
mod measure;
mod policies;
pub(crate) mod report;
mod sandbox;
mod sandbox_process;
pub(crate) mod webhook;

use crate::contender::Contender;
use crate::sources;
use anyhow::Result;
use clap::ValueEnum;
use clap::builder::PossibleValuesParser;
use load::LoadGenerator;
use measure::BenchResults;
use std::env;
use std::path::PathBuf;
use taintward_envtest::{Account, Audit, Binaries, Cluster, ClusterConfig};

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct BenchArgs {
    /// Measure something else instead of evictions
    #[arg(value_enum)]
    what: Option<BenchSubject>,
    /// Run with small numbers, which show that everything works, not how fast it is; writes no file
    #[arg(long)]
    quick: bool,
    /// Pods for the measurements of memory and of the first list
    #[arg(long, default_value_t = 100_000)]
    pods: usize,
    /// Nodes that get the taint at the same time, for the measurement of evictions per second
    #[arg(long, default_value_t = 100)]
    nodes: usize,
    /// Pods on each of them
    #[arg(long, default_value_t = 100)]
    pods_per_node: usize,
    /// Rounds of each measurement [default: 3; of each fault: 1]
    #[arg(long)]
    rounds: Option<usize>,
    /// Only these faults
    #[arg(long, value_delimiter = ',', value_parser = PossibleValuesParser::new(faults::names()))]
    only: Vec<String>,
    /// The programs to compare
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [BenchContender::Ours, BenchContender::Original, BenchContender::Floor, BenchContender::Jobs])]
    contenders: Vec<BenchContender>,
    /// An earlier build of taintward, to compare as well
    #[arg(long, value_name = "PROGRAM")]
    earlier: Option<PathBuf>,
    /// The measurements
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Measurement::Latency, Measurement::Throughput, Measurement::Contended, Measurement::Memory])]
    measure: Vec<Measurement>,
}

impl BenchArgs {
    /// Busy cores make everything slower.
    fn contended_nodes(&self) -> usize {
        self.nodes.div_ceil(4)
    }

    fn contended_rounds(&self) -> usize {
        2 * self.rounds()
    }

    fn rounds(&self) -> usize {
        self.rounds.unwrap_or(3)
    }
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BenchSubject {
    /// The sandbox, compared with a real API server; 50000 pods unless --pods is lower
    Sandbox,
    /// Node lifecycle, compared with kube-controller-manager's, on thousands of nodes that renew their leases
    Lifecycle,
    /// The admission webhook, called directly and by a real API server
    Webhook,
    /// The admission webhook under attack from the pod network, with the memory limit of its pod
    Flood,
    /// What the policies of an installation add to the creation of a pod, on a real API server
    Policies,
    /// How fast pods of silent nodes are held, compared with a bare loop of the same patches
    Holds,
    /// What the board costs with many pods and viewers
    Board,
    /// How evictions continue after faults of the API server, etcd, webhooks and the network, about 40 minutes
    Faults,
}

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum BenchContender {
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Measurement {
    Latency,
    Throughput,
    /// Evictions while other work keeps all cores busy
    Contended,
    Memory,
}

/// Sizes that need at most a minute.
fn quick(arguments: &BenchArgs) -> BenchArgs {
    BenchArgs { pods: 2000, nodes: 10, pods_per_node: 20, rounds: Some(1), ..arguments.clone() }
}

pub(crate) async fn run(arguments: &BenchArgs) -> Result<()> {
    match arguments.what {
        // The measured code runs in other programs.
        Some(BenchSubject::Board) => return board::run(arguments.quick).await,
        Some(BenchSubject::Faults) => return faults::run(arguments).await,
        _ => {}
    }
    if cfg!(debug_assertions) {
        // The floor runs in this program, and is a lower bound only if it is optimized.
        eprintln!("building the optimized benchmark");
        let words = env::args_os().skip(1);
        return sources::run(
            sources::cargo().args(["run", "--quiet", "--release", "--package", "xtask", "--"]).args(words),
        );
    }
    match arguments.what {
        Some(BenchSubject::Sandbox) => {
            return sandbox::run(if arguments.quick { 3000 } else { arguments.pods.min(50_000) }).await;
        }
        Some(BenchSubject::Lifecycle) => return lifecycle::run(arguments.quick, arguments.rounds()).await,
        Some(BenchSubject::Flood) => return flood::run(arguments.quick).await,
        Some(BenchSubject::Holds) => return holds::run(arguments.quick, arguments.rounds()).await,
        Some(BenchSubject::Policies) => return policies::run(arguments.quick).await,
        Some(BenchSubject::Webhook) => return webhook::run(arguments.quick).await,
        Some(BenchSubject::Board | BenchSubject::Faults) | None => {}
    }
    let contender = Contenders::new(arguments)?;
    let arguments = if arguments.quick { quick(arguments) } else { arguments.clone() };
    let cluster = start_cluster().await?;
    let fleet = LoadGenerator::new(cluster.api(Account::Admin).await?);
    let mut results = BenchResults::default();
    if arguments.measure.contains(&Measurement::Latency) {
        measure::latency(&cluster, &fleet, &contender, &arguments, &mut results).await?;
    }
    if arguments.measure.contains(&Measurement::Throughput) {
        measure::throughput(&cluster, &fleet, &contender, &arguments, &mut results).await?;
    }
    if arguments.measure.contains(&Measurement::Contended) {
        measure::contended(&cluster, &fleet, &contender, &arguments, &mut results).await?;
    }
    if arguments.measure.contains(&Measurement::Memory) {
        measure::memory(&cluster, &fleet, &contender, &arguments, &mut results).await?;
    }
    drop(cluster);
    report::publish(&arguments, &results)
}

/// A control plane without an audit log.
async fn start_cluster() -> Result<Cluster> {
    let tools = Binaries::find_or_build()?;
    Cluster::start(&tools, ClusterConfig { audit: Audit::Off, ..ClusterConfig::default() }).await
}

/// The programs behind the columns.
pub(crate) struct Contenders {
    who: Vec<BenchContender>,
    binary: Option<PathBuf>,
    earlier: Option<PathBuf>,
}

impl Contenders {
    fn new(arguments: &BenchArgs) -> Result<Self> {
        let mut who = arguments.contenders.clone();
        who.extend(arguments.earlier.is_some().then_some(BenchContender::Earlier));
        let ours = who.iter().any(|who| matches!(who, BenchContender::Ours | BenchContender::Jobs));
        let binary = ours.then(|| sources::build_taintward(true)).transpose()?;
        Ok(Self { who, binary, earlier: arguments.earlier.clone() })
    }

    /// Those of the given columns that take part, each with its program; the floor has none. Every other round has the
    /// reverse order, so that no contender always follows the same one.
    fn among(&self, columns: &[BenchContender], round: usize) -> Vec<(BenchContender, Option<Contender>)> {
        let part = columns.iter().filter(|who| self.who.contains(who));
        let mut order: Vec<_> = part.map(|&who| (who, self.program(who))).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        order
    }

    fn program(&self, who: BenchContender) -> Option<Contender> {
        let (binary, flags) = match who {
            BenchContender::Floor => return None,
            BenchContender::Original => return Some(Contender::original()),
            BenchContender::Ours => (&self.binary, Vec::new()),
            BenchContender::Jobs => (&self.binary, vec!["--disruption-condition=jobs".to_owned()]),
            BenchContender::Earlier => (&self.earlier, Vec::new()),
        };
        Some(Contender::Taintward { binary: binary.clone()?, flags })
    }
}
