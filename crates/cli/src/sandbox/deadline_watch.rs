//! Follows the pods with a deadline in a sandbox, as `taintward pending -w` does.

use super::kube_client;
use crate::cluster_change::ClusterChange;
use crate::pending::{PendingRow, PendingTracker};
use fakekube::api::ApiServer;
use std::time::Duration;
use taintward_core::fact::NodeFact;
use taintward_core::time::{Mono, Now, Wall};
use taintward_core::toleration_matching::NumericOperators;
use taintward_kube::decode::{DecodedPod, WatchedObject};
use taintward_kube::watch::{StreamHealth, WatchEvent, WatchSettings, Watcher};
use tokio::sync::{mpsc, watch};
use tokio::time::{Interval, MissedTickBehavior};

/// The interval between two checks for pods that are overdue.
const TICK: Duration = Duration::from_millis(250);

/// The maximum number of batches that wait.
const BATCHES_MAX: usize = 16;

/// The pods with a deadline.
pub(crate) struct DeadlineWatch {
    server: ApiServer,
    tracker: PendingTracker,
    nodes: mpsc::Receiver<Vec<WatchEvent<NodeFact>>>,
    pods: mpsc::Receiver<Vec<WatchEvent<DecodedPod>>>,
    tick: Interval,
}

impl DeadlineWatch {
    pub(crate) fn new(server: &ApiServer) -> Self {
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            server: server.clone(),
            tracker: PendingTracker::new(NumericOperators::Off, ""),
            nodes: listen(server),
            pods: listen(server),
            tick,
        }
    }

    /// The cluster's time.
    pub(crate) fn now(&self) -> Now {
        let at = self.server.clock().now().as_microsecond();
        Now::exact(Mono::from_micros(at), Wall::from_micros(at))
    }

    /// Waits for changes that may concern deadlines, and returns what changed, in the order of names.
    pub(crate) async fn next(&mut self) -> Vec<(ClusterChange, PendingRow)> {
        tokio::select! {
            Some(batch) = self.nodes.recv() => self.tracker.nodes(batch, self.now()),
            Some(batch) = self.pods.recv() => self.tracker.pods(batch, self.now()),
            _ = self.tick.tick() => {}
        }
        if self.tracker.is_synced() { self.tracker.changes(self.now()) } else { Vec::new() }
    }

    /// All pods with a deadline, the next one first; `None` before the lists are complete.
    pub(crate) fn rows(&self) -> Option<Vec<PendingRow>> {
        self.tracker.is_synced().then(|| self.tracker.rows())
    }
}

fn listen<F: WatchedObject>(server: &ApiServer) -> mpsc::Receiver<Vec<WatchEvent<F>>> {
    let (out, batches) = mpsc::channel(BATCHES_MAX);
    let (report, _) = watch::channel(StreamHealth::default());
    let watcher = Watcher::<F>::new(kube_client(server), WatchSettings::default());
    tokio::spawn(watcher.run(out, report));
    batches
}
