//! Benchmarks how evictions continue after faults of the API server, of etcd, of webhooks and of the network.
//!
//! - Writes docs/reliability.md. See `fault_run.rs` for a run, `fault.rs` for the faults, `verdict.rs` for what is measured.

mod deletion_webhook;
mod fault;
mod fault_report;
mod fault_run;
mod proxy;
mod stage;
mod tls_server;
mod verdict;

use super::BenchArgs;
use super::report::server_version;
use crate::contender::Contender;
use crate::sources;
use anyhow::{Context as _, Result};
pub(crate) use deletion_webhook::{DeletionWebhook, WebhookFault};
pub(crate) use fault::names;
use fault::{FAULTS, Fault};
use fault_run::RunReading;
pub(crate) use proxy::{FaultProxy, ProxyFault};
use stage::Stage;
pub(crate) use stage::{BINDINGS, LEASE, bind_controller_manager, binding_name};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;
use taintward_envtest::audit::AuditTail;
use taintward_envtest::{Account, Binaries, Cluster, ClusterConfig};
use verdict::FaultVerdict;

/// The verdict of a contender on a fault, and when it first was not ready.
type FaultReadings = BTreeMap<(&'static str, Contender), (FaultVerdict, Option<f64>)>;

const PODS_PER_NODE: usize = 20;
const CONTENDERS: [Contender; 3] = [Contender::Ours, Contender::Original, Contender::Earlier];

/// A control plane for the runs of several faults.
struct FaultCluster {
    cluster: Cluster,
    audit: AuditTail,
    always_allow: bool,
}

impl FaultCluster {
    async fn start(always_allow: bool) -> Result<Self> {
        let tools = Binaries::find_or_build()?;
        let cluster =
            Cluster::start(&tools, ClusterConfig { always_allow, ..ClusterConfig::default() }).await?;
        bind_controller_manager(&cluster.api(Account::Admin).await?).await?;
        let audit = cluster.audit_tail();
        Ok(Self { cluster, audit, always_allow })
    }
}

pub(super) async fn run(arguments: &BenchArgs) -> Result<()> {
    let contenders = arguments.contenders()?;
    let rounds = arguments.rounds.unwrap_or(1);
    let pods_per_node = if arguments.quick { 4 } else { PODS_PER_NODE };
    let is_chosen =
        |fault: &&Fault| arguments.only.is_empty() || arguments.only.iter().any(|one| one == fault.name);
    let is_compared = CONTENDERS[..2].iter().all(|who| contenders.contains(*who));
    let (mut readings, mut shared) = (FaultReadings::new(), None::<FaultCluster>);
    let (mut version, mut runs, began) = (String::new(), 0, Instant::now());
    for fault in FAULTS.iter().filter(is_chosen) {
        for who in (0..rounds).flat_map(|round| contenders.in_turn(&CONTENDERS, round)) {
            // Flags are those of Taintward.
            if who == Contender::Original && !fault.flags.is_empty() {
                continue;
            }
            if shared.as_ref().is_none_or(|shared| shared.always_allow != fault.always_allow) {
                // One control plane at a time.
                drop(shared.take());
                shared = Some(FaultCluster::start(fault.always_allow).await?);
            }
            let FaultCluster { cluster, audit, .. } = shared.as_mut().context("a control plane")?;
            version = server_version(cluster)?;
            runs += 1;
            eprintln!("{:4} s  {}: {who:?}", began.elapsed().as_secs(), fault.name);
            match Stage::new(cluster, fault, audit, runs, pods_per_node).run(&contenders, who).await {
                Ok(reading) => {
                    report(&reading);
                    let [log, requests] = &reading.logs;
                    keep(&format!("{}-{who:?}.log", fault.name), log)?;
                    keep(&format!("{}-{who:?}.requests", fault.name), requests)?;
                    let (verdict, unready) = readings.entry((fault.name, who)).or_default();
                    verdict.add(reading.verdict);
                    *unready = unready.or(reading.unready);
                }
                Err(error) => {
                    eprintln!("error: the run failed, and is not in the table: {error:#}");
                    shared = None;
                }
            }
        }
        if is_compared && !arguments.quick {
            keep(&rows_file(fault), &fault_report::rows(fault, &readings))?;
        }
    }
    // Rows of earlier runs stay until their fault is measured again.
    let rows = |fault: &Fault| match arguments.quick || !is_compared {
        true => fault_report::rows(fault, &readings),
        false => fs::read_to_string(folder().join(rows_file(fault))).unwrap_or_default(),
    };
    let rows: Vec<String> = FAULTS.iter().map(rows).collect();
    if !arguments.quick && rows.iter().any(String::is_empty) {
        println!(
            "{}Some faults have not been measured yet: docs/reliability.md is not changed.",
            rows.concat()
        );
        return Ok(());
    }
    fault_report::publish(arguments.quick, &rows.concat(), pods_per_node, &version)
}

/// The files of this benchmark: rows of the table, the logs of the contenders, and their requests.
fn folder() -> PathBuf {
    sources::root().join("target/faults")
}

fn rows_file(fault: &Fault) -> String {
    format!("{}.md", fault.name)
}

fn keep(name: &str, text: &str) -> Result<()> {
    fs::create_dir_all(folder())?;
    Ok(fs::write(folder().join(name), text)?)
}

fn report(RunReading { verdict, unready, responses, .. }: &RunReading) {
    let FaultVerdict { early, wrong, missing, due, late, backlog, since_success, probe } = verdict;
    eprintln!(
        "        early {early}, wrong {wrong}, missing {missing}, due {due}, latest {:.2?}, backlog {backlog:.2?}, \
         after success {since_success:.2?}, new taint {probe:.2?}, not ready {unready:.1?}, DELETE responses {responses:?}",
        late.last()
    );
}
