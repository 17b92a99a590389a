//! Benchmarks node lifecycle against kube-controller-manager with the same nodes, in turns.
//!
//! - Writes docs/benchmarks-lifecycle.md.

use super::readings::Results;
use super::report::{Goal, MEGABYTES, MICROSECONDS, PERCENT, Report, SECONDS, server_version};
use crate::contender::{Contender, ContenderOptions, Contenders};
use crate::server_process::ServerProcess;
use LifecycleRow::*;
use anyhow::{Context as _, Result, ensure};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use std::time::{Duration, Instant};
use taintward_envtest::heartbeats::{Heartbeats, plans};
use taintward_envtest::node_history::{NodeHistory, NodeView};
use taintward_envtest::{Account, Cluster, TestApi, access, wait};

/// How late a renewal may be, as a multiple of the period, before the generator reports that it is late.
const LATE_MAX: f64 = 1.5;

/// kube-controller-manager starts with a queue of work: the benchmark waits until it is empty.
const SETTLING: Duration = Duration::from_secs(20);

/// The seconds between renewals in a cluster with default settings.
const USUAL: f64 = 10.0;

const CONTENDERS: [Contender; 2] = [Contender::Ours, Contender::Original];

/// What is measured: processor time for each renewal, including all other work, the share of a core, memory, and how long after
/// the end of the grace period a node gets its taint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LifecycleRow {
    Renewal,
    Share,
    Resident,
    Delay,
    ManyRenewal,
    ManyShare,
    ManyResident,
}

/// Nodes that renew their leases.
#[derive(Clone, Copy, Debug)]
struct FleetSizes {
    nodes: usize,
    /// How often each renews.
    period: Duration,
    /// `--node-monitor-grace-period`.
    grace: Duration,
    zones: usize,
    /// How long processor time is counted.
    window: Duration,
}

const fn sizes(nodes: usize, period: u64, grace: u64, zones: usize, window: u64) -> FleetSizes {
    let [period, grace, window] =
        [Duration::from_secs(period), Duration::from_secs(grace), Duration::from_secs(window)];
    FleetSizes { nodes, period, grace, zones, window }
}

/// The nodes of the comparison, and those of the big fleet.
const WHOLE: [FleetSizes; 2] = [sizes(5_000, 10, 25, 10, 40), sizes(20_000, 40, 200, 10, 40)];
const QUICK: [FleetSizes; 2] = [sizes(200, 4, 12, 4, 10), sizes(600, 6, 30, 4, 10)];

/// Images that each node's status lists: ten need 3 KB.
const IMAGES: usize = 10;

/// A fleet of one size, and the readings of both programs.
struct LifecycleBench<'a> {
    cluster: &'a Cluster,
    api: &'a TestApi,
    contenders: &'a Contenders,
    sizes: FleetSizes,
    heartbeats: Heartbeats,
    results: &'a mut Results<LifecycleRow>,
}

/// Runs both, and writes the page.
pub(super) async fn run(quick: bool, rounds: usize) -> Result<()> {
    let contenders = &Contenders::new(&CONTENDERS, None)?;
    let ([few, many], rounds) = if quick { (QUICK, 1) } else { (WHOLE, rounds) };
    let cluster = &super::start_cluster().await?;
    let api = &cluster.api(Account::Admin).await?;
    let mut results = Results::default();
    for (sizes, rounds, rows) in
        [(few, rounds, [Renewal, Share, Resident]), (many, 1, [ManyRenewal, ManyShare, ManyResident])]
    {
        let heartbeats = start_fleet(cluster, api, &sizes).await?;
        let results = &mut results;
        let mut bench = LifecycleBench { cluster, api, contenders, sizes, heartbeats, results };
        for round in 0..rounds {
            for who in contenders.in_turn(&CONTENDERS, round) {
                eprintln!("{} nodes, round {}: {who:?}", sizes.nodes, round + 1);
                bench.measure(who, rows).await?;
            }
        }
        drop(bench);
        for path in ["/api/v1/nodes", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"] {
            api.delete(path, &json!({})).await?;
        }
    }
    let measured = format!(
        "`taintward run` and kube-controller-manager {}, each with only node-lifecycle-controller and default flags, except the \
         grace period ({} s; {} s for the big fleet) and the client limits of kube-controller-manager, which are lifted. They take \
         turns on the same nodes of one API server with etcd; rounds: {rounds}. {} nodes in {} zones, with a status of about 4 KB, \
         each renew their lease every {} s. {} nodes each renew it every {} s, because two cores cannot process more writes in \
         addition to the rest. Processor time is the time that the process used in {} s at rest, divided by the renewals that the \
         API server answered in that time. The delay counts from the last renewal that the API server answered.",
        server_version(cluster)?,
        few.grace.as_secs(),
        many.grace.as_secs(),
        few.nodes,
        few.zones,
        few.period.as_secs(),
        many.nodes,
        many.period.as_secs(),
        few.window.as_secs(),
    );
    report(few, many, &results).publish(quick, &measured, "")
}

fn report(few: FleetSizes, many: FleetSizes, results: &Results<LifecycleRow>) -> Report {
    let title = "Node lifecycle compared with kube-controller-manager";
    let mut report =
        Report::comparison("benchmarks-lifecycle.md", title, &["Taintward", "kube-controller-manager"]);
    let median = |row| CONTENDERS.map(|who| results.median(row, who));
    let (few, many, every) = (few.nodes, many.nodes, many.period.as_secs());
    let times = |factor| Goal::Times(1, factor);
    report.compare(
        &format!("{few} nodes: processor time for each renewal"),
        MICROSECONDS,
        &median(Renewal),
        times(10.0),
    );
    report.compare(&format!("{few} nodes: share of a core"), PERCENT, &median(Share), Goal::None);
    report.compare(&format!("{few} nodes: memory"), MEGABYTES, &median(Resident), times(20.0));
    let label = "from the end of the grace period to the taint, median";
    report.compare(label, SECONDS, &median(Delay), Goal::Limit(1.0));
    let longest = CONTENDERS.map(|who| results.max(Delay, who));
    report.compare("the same, maximum", SECONDS, &longest, Goal::None);
    let label = format!("{many} nodes: share of a core, each renewing every {every} s");
    report.compare(&label, PERCENT, &median(ManyShare), Goal::None);
    let usual = median(ManyRenewal).map(|renewal| renewal * many as f64 / USUAL);
    let label = format!(
        "{many} nodes: share of a core at a renewal every {USUAL} s, computed from the processor time for each"
    );
    report.compare(&label, PERCENT, &usual, Goal::Limit(0.05));
    report.compare(&format!("{many} nodes: memory"), MEGABYTES, &median(ManyResident), Goal::None);
    report
}

/// Creates a fleet that renews its leases.
async fn start_fleet(cluster: &Cluster, api: &TestApi, sizes: &FleetSizes) -> Result<Heartbeats> {
    eprintln!("creating {} nodes and leases, renewed every {:?}", sizes.nodes, sizes.period);
    access::grant_node_lifecycle(api).await?;
    wait::until("the namespace of leases", Duration::from_secs(30), async || {
        Ok(api.find("/api/v1/namespaces/kube-node-lease").await?)
    })
    .await?;
    let kubeconfig = cluster.kubeconfig(Account::Admin, 0);
    Heartbeats::start(&kubeconfig, plans(sizes.nodes, sizes.zones, IMAGES), sizes.period).await
}

impl LifecycleBench<'_> {
    /// Measures a program: at rest, and of the smaller fleet also how soon a dead node gets its taint.
    async fn measure(&mut self, who: Contender, rows: [LifecycleRow; 3]) -> Result<()> {
        let flags = [format!("--node-monitor-grace-period={}s", self.sizes.grace.as_secs())];
        let controllers = Some("node-lifecycle-controller");
        let options = ContenderOptions { controllers, flags: &flags, kubeconfig: None };
        let program = self.contenders.start(who, self.cluster, &options).await?;
        let readings = self.at_rest(&program).await.with_context(|| program.process.last_words())?;
        eprintln!("  {readings:?}");
        for (row, reading) in rows.into_iter().zip(readings) {
            self.results.add(row, who, reading);
        }
        if rows.contains(&Renewal) {
            let delays = self.delays().await.with_context(|| program.process.last_words())?;
            eprintln!("  {delays:?}");
            delays.into_iter().for_each(|delay| self.results.add(Delay, who, delay));
        }
        Ok(())
    }

    /// Waits until the start is over, then measures for the whole window: seconds of processor time for each renewal, the share of a
    /// core, and bytes.
    async fn at_rest(&self, program: &ServerProcess) -> Result<[f64; 3]> {
        tokio::time::sleep(SETTLING.max(self.sizes.period)).await;
        self.heartbeats.lateness();
        let (before, began) = (program.usage()?, Instant::now());
        tokio::time::sleep(self.sizes.window).await;
        let (after, took) = (program.usage()?, began.elapsed());
        let lateness = self.heartbeats.lateness();
        eprintln!("  {lateness:?}");
        ensure!(lateness.renewals > 0, "no lease was renewed in {took:?}");
        let cpu = (after.cpu - before.cpu).as_secs_f64();
        Ok([cpu / lateness.renewals as f64, cpu / took.as_secs_f64(), after.resident as f64])
    }

    /// Silences one node of each zone, one after the other, waits for its taint, and revives it. Returns the seconds after the end
    /// of the grace period, which counts from the last renewal that the server answered.
    async fn delays(&self) -> Result<Vec<f64>> {
        let history = NodeHistory::start(&self.cluster.kubeconfig(Account::Admin, 0)).await?;
        let (sizes, heartbeats) = (&self.sizes, &self.heartbeats);
        let grace = SignedDuration::try_from(sizes.grace)?;
        let names: Vec<String> = heartbeats.all().into_iter().take(sizes.zones).collect();
        let mark = history.mark();
        for name in &names {
            heartbeats.silence([name])?;
            // So that the nodes fall silent at different moments of kube-controller-manager's period.
            tokio::time::sleep(Duration::from_millis(730)).await;
        }
        // Long after they were silenced, so that a renewal in flight at that moment counts.
        let mut ends = Vec::new();
        for name in &names {
            ends.push(Timestamp::now() - SignedDuration::try_from(heartbeats.silent_for(name)?)? + grace);
        }
        let all_tainted =
            async || Ok((history.those(NodeView::is_evicting).len() == names.len()).then_some(()));
        wait::until("all silent nodes to be tainted", sizes.grace * 3, all_tainted).await?;
        heartbeats.expect_punctual(sizes.period.mul_f64(LATE_MAX).max(sizes.grace / 2))?;
        let changes = history.since(mark);
        let delay = |(name, end): (&String, Timestamp)| {
            let mut of_node = changes.iter().filter(|change| change.node == *name);
            let tainted = of_node.find(|change| change.sight.as_ref().is_some_and(NodeView::is_evicting))?;
            Some(tainted.at.duration_since(end).as_secs_f64())
        };
        let delays = names.iter().zip(ends).filter_map(delay).collect();
        heartbeats.revive(self.api, &names).await?;
        let none = async || Ok(history.those(NodeView::is_evicting).is_empty().then_some(()));
        wait::until("the taints to be gone", Duration::from_secs(60), none).await?;
        history.expect_whole()?;
        Ok(delays)
    }
}
