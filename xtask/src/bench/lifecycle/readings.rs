//! Measures processor time, memory and taint delay of one controller.

use super::{LifecycleContender, LifecycleSizes};
use crate::bench::report::median;
use anyhow::{Result, ensure};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use std::time::{Duration, Instant};
use taintward_envtest::heartbeats::Heartbeats;
use taintward_envtest::node_history::{NodeHistory, NodeView};
use taintward_envtest::{ChildProcess, TestApi, usage, wait};

/// How late a renewal may be, as a multiple of the period, before the generator reports that it is late.
const LATE_MAX: f64 = 1.5;

/// kube-controller-manager starts with a queue of work: the benchmark waits until it is empty.
const SETTLING: Duration = Duration::from_secs(20);

/// One controller over one window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LifecycleReading {
    /// Seconds of processor time.
    pub(crate) cpu: f64,
    /// The length of the window in seconds.
    pub(crate) took: f64,
    /// Renewals that the API server answered in the window, each an event on the watch of leases.
    pub(crate) renewals: f64,
    /// Bytes.
    pub(crate) resident: f64,
}

impl LifecycleReading {
    /// Seconds of processor time for each renewal, including all other work.
    pub(crate) fn per_renewal(&self) -> f64 {
        self.cpu / self.renewals
    }

    /// The share of one core.
    pub(crate) fn share(&self) -> f64 {
        self.cpu / self.took
    }
}

/// All readings.
#[derive(Default)]
pub(crate) struct LifecycleReadings {
    few: Vec<(LifecycleContender, LifecycleReading)>,
    many: Vec<(LifecycleContender, LifecycleReading)>,
    delays: Vec<(LifecycleContender, f64)>,
}

impl LifecycleReadings {
    pub(crate) fn add(&mut self, who: LifecycleContender, reading: LifecycleReading, delays: Vec<f64>) {
        self.few.push((who, reading));
        self.delays.extend(delays.into_iter().map(|delay| (who, delay)));
    }

    pub(crate) fn add_many(&mut self, who: LifecycleContender, reading: LifecycleReading) {
        self.many.push((who, reading));
    }

    pub(crate) fn few(&self, who: LifecycleContender, of: impl Fn(&LifecycleReading) -> f64) -> f64 {
        median(self.few.iter().filter(|(one, _)| *one == who).map(|(_, reading)| of(reading)))
    }

    pub(crate) fn many(&self, who: LifecycleContender, of: impl Fn(&LifecycleReading) -> f64) -> f64 {
        median(self.many.iter().filter(|(one, _)| *one == who).map(|(_, reading)| of(reading)))
    }

    pub(crate) fn delay(&self, who: LifecycleContender) -> f64 {
        median(self.delays(who))
    }

    pub(crate) fn longest_delay(&self, who: LifecycleContender) -> f64 {
        self.delays(who).fold(0.0, f64::max)
    }

    fn delays(&self, who: LifecycleContender) -> impl Iterator<Item = f64> {
        self.delays.iter().filter(move |(one, _)| *one == who).map(|(_, delay)| *delay)
    }
}

/// The nodes and the window of a measurement.
pub(crate) struct LifecycleSetup<'h> {
    pub(crate) heartbeats: &'h Heartbeats,
    pub(crate) window: Duration,
}

impl LifecycleSetup<'_> {
    /// Waits until the start is over, then measures for the whole window.
    pub(crate) async fn at_rest(&self, program: &ChildProcess, period: Duration) -> Result<LifecycleReading> {
        tokio::time::sleep(SETTLING.max(period)).await;
        self.heartbeats.lateness();
        let (before, began) = (usage::of(program.pid())?, Instant::now());
        tokio::time::sleep(self.window).await;
        let (after, took) = (usage::of(program.pid())?, began.elapsed());
        let lateness = self.heartbeats.lateness();
        eprintln!("  {lateness:?}");
        ensure!(lateness.renewals > 0, "no lease was renewed in {took:?}");
        Ok(LifecycleReading {
            cpu: (after.cpu - before.cpu).as_secs_f64(),
            took: took.as_secs_f64(),
            renewals: lateness.renewals as f64,
            resident: after.resident as f64,
        })
    }
}

/// Silences one node of each zone, one after the other, waits for its taint, and revives it. Returns the seconds after the end
/// of the grace period, which counts from the last renewal that the server answered.
pub(crate) async fn delays(
    stage: &LifecycleSetup<'_>,
    record: &NodeHistory,
    api: &TestApi,
    sizes: &LifecycleSizes,
) -> Result<Vec<f64>> {
    let grace = SignedDuration::try_from(sizes.grace)?;
    let names: Vec<String> = stage.heartbeats.all().into_iter().take(sizes.zones).collect();
    let mark = record.mark();
    for name in &names {
        stage.heartbeats.silence([name])?;
        // So that the nodes fall silent at different moments of kube-controller-manager's period.
        tokio::time::sleep(Duration::from_millis(730)).await;
    }
    // Long after they were silenced, so that a renewal in flight at that moment counts.
    let ends: Vec<Timestamp> = names
        .iter()
        .map(|name| {
            let silent = SignedDuration::try_from(stage.heartbeats.silent_for(name)?)?;
            Ok(Timestamp::now() - silent + grace)
        })
        .collect::<Result<_>>()?;
    let all_tainted = async || Ok((record.those(NodeView::is_evicting).len() == names.len()).then_some(()));
    wait::until("all silent nodes to be tainted", sizes.grace * 3, all_tainted).await?;
    stage.heartbeats.expect_punctual(sizes.period.mul_f64(LATE_MAX).max(sizes.grace / 2))?;
    let mut delays = Vec::new();
    for (name, end) in names.iter().zip(ends) {
        let is_it = |change: &&taintward_envtest::node_history::NodeChangeRecord| {
            change.node == *name && change.sight.as_ref().is_some_and(NodeView::is_evicting)
        };
        let changes = record.since(mark);
        let tainted = changes.iter().find(is_it).map(|change| change.at.duration_since(end).as_secs_f64());
        delays.extend(tainted);
    }
    stage.heartbeats.revive(api, &names).await?;
    let none = async || Ok(record.those(NodeView::is_evicting).is_empty().then_some(()));
    wait::until("the taints to be gone", Duration::from_secs(60), none).await?;
    record.expect_whole()?;
    Ok(delays)
}

/// Deletes all nodes and leases.
pub(crate) async fn clear(api: &TestApi) -> Result<()> {
    for path in ["/api/v1/nodes", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"] {
        api.delete(path, &json!({})).await?;
    }
    Ok(())
}
