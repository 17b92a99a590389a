//! Benchmarks Taintward, kube-controller-manager and the bare requests, each benchmark on a page of docs.

mod board;
mod evictions;
pub(crate) mod faults;
mod flood;
mod full_size;
mod graceful;
mod holds;
mod lifecycle;
mod load;
mod policies;
mod readings;
pub(crate) mod report;
mod sandbox;
mod webhook;

use crate::contender::{Contender, Contenders};
use crate::sources;
use anyhow::Result;
use clap::ValueEnum;
use clap::builder::PossibleValuesParser;
use std::env;
use std::path::PathBuf;
use taintward_envtest::{Audit, Binaries, Cluster, ClusterConfig};

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
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Contender::Ours, Contender::Original, Contender::Floor, Contender::Jobs])]
    contenders: Vec<Contender>,
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

    fn contenders(&self) -> Result<Contenders> {
        Contenders::new(&self.contenders, self.earlier.as_deref())
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
    /// How fast pods are evicted by the eviction API, compared with a bare loop of the same requests
    PoliciesGraceful,
    /// Eviction policies and the brake on a real control plane: 100 replicas, 1000 nodes, about 15 minutes
    PoliciesFull,
    /// How fast pods of silent nodes are held, compared with a bare loop of the same patches
    Holds,
    /// What the board costs with many pods and viewers
    Board,
    /// How evictions continue after faults of the API server, etcd, webhooks and the network, about 40 minutes
    Faults,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Measurement {
    Latency,
    Throughput,
    /// Evictions while other work keeps all cores busy
    Contended,
    Memory,
}

pub(crate) async fn run(arguments: &BenchArgs) -> Result<()> {
    // The measured code runs in other programs.
    let is_apart = matches!(
        arguments.what,
        Some(BenchSubject::Board | BenchSubject::Faults | BenchSubject::PoliciesFull)
    );
    if cfg!(debug_assertions) && !is_apart {
        // The floor runs in this program, and is a lower bound only if it is optimized.
        eprintln!("building the optimized benchmark");
        let words = env::args_os().skip(1);
        return sources::run(
            sources::cargo().args(["run", "--quiet", "--release", "--package", "xtask", "--"]).args(words),
        );
    }
    match arguments.what {
        None => evictions::run(arguments).await,
        Some(BenchSubject::Sandbox) => sandbox::run(arguments.quick, arguments.pods.min(50_000)).await,
        Some(BenchSubject::Lifecycle) => lifecycle::run(arguments.quick, arguments.rounds()).await,
        Some(BenchSubject::Webhook) => webhook::run(arguments.quick).await,
        Some(BenchSubject::Flood) => flood::run(arguments.quick).await,
        Some(BenchSubject::Policies) => policies::run(arguments.quick).await,
        Some(BenchSubject::PoliciesGraceful) => graceful::run(arguments.quick, arguments.rounds()).await,
        Some(BenchSubject::PoliciesFull) => full_size::run(arguments.quick),
        Some(BenchSubject::Holds) => holds::run(arguments.quick, arguments.rounds()).await,
        Some(BenchSubject::Board) => board::run(arguments.quick).await,
        Some(BenchSubject::Faults) => faults::run(arguments).await,
    }
}

/// A control plane without an audit log.
async fn start_cluster() -> Result<Cluster> {
    let tools = Binaries::find_or_build()?;
    Cluster::start(&tools, ClusterConfig { audit: Audit::Off, ..ClusterConfig::default() }).await
}
