//! Watches nodes and pods, and follows the pods with a deadline.

use super::PendingRow;
use super::tracker::PendingTracker;
use crate::cluster_change::ClusterChange;
use crate::eviction_delays::DelayWatch;
use std::time::Duration;
use taintward_core::fact::NodeFact;
use taintward_core::object_event::ObjectEvent;
use taintward_core::time::Now;
use taintward_core::toleration_matching::NumericOperators;
use taintward_kube::api::RequestBudget;
use taintward_kube::clock::Clock;
use taintward_kube::decode::{DecodedPod, WatchedObject};
use taintward_kube::watch::{MissingAccess, StreamHealth, StreamPhase, WatchScope, WatchSettings, Watcher};
use tokio::sync::{mpsc, watch};
use tokio::time::{Interval, MissedTickBehavior};

/// The maximum number of batches that wait.
const BATCHES_MAX: usize = 16;

/// The pods with a deadline.
pub(crate) struct DeadlineWatch {
    tracker: PendingTracker,
    nodes: WatchInput<NodeFact>,
    pods: WatchInput<DecodedPod>,
    delays: DelayWatch,
    tick: Interval,
    clock: Clock,
}

/// The watch of one kind.
struct WatchInput<F> {
    batches: mpsc::Receiver<Vec<ObjectEvent<F>>>,
    health: watch::Receiver<StreamHealth>,
}

/// Why a watch does not deliver events.
pub(crate) enum WatchProblem {
    Forbidden(MissingAccess),
    Interrupted(String),
}

impl DeadlineWatch {
    /// Follows the pods of the scope, what delays those that are due, and which holds count. Looks for pods that are overdue at
    /// each tick.
    pub(crate) fn new(
        (client, limit): (&kube::Client, RequestBudget),
        pods: WatchScope,
        numeric: NumericOperators,
        tick: Duration,
        clock: Clock,
    ) -> Self {
        let mut tick = tokio::time::interval(tick);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            tracker: PendingTracker::new(numeric, &pods.namespace),
            nodes: WatchInput::listen(client, &clock, WatchScope::default()),
            pods: WatchInput::listen(client, &clock, pods),
            delays: DelayWatch::start(client.clone(), limit, numeric, clock.clone()),
            tick,
            clock,
        }
    }

    /// The cluster's time, to compare with the times of rows: also its monotonic clock shows the wall clock.
    pub(crate) fn now(&self) -> Now {
        Now::of_wall(self.clock.now().wall)
    }

    /// Waits for events, for another health of a watch, or for the tick, and returns what changed, in the order of names.
    pub(crate) async fn next(&mut self) -> Vec<(ClusterChange, PendingRow)> {
        tokio::select! {
            Some(batch) = self.nodes.batches.recv() => self.tracker.nodes(batch, self.clock.now()),
            Some(batch) = self.pods.batches.recv() => self.tracker.pods(batch, self.clock.now()),
            Ok(()) = self.nodes.health.changed() => {}
            Ok(()) = self.pods.health.changed() => {}
            () = self.delays.changed() => self.tracker.set_delays(self.delays.delays(), self.clock.now()),
            _ = self.tick.tick() => {}
        }
        // All available batches are handled before the output.
        while let Ok(batch) = self.nodes.batches.try_recv() {
            self.tracker.nodes(batch, self.clock.now());
        }
        while let Ok(batch) = self.pods.batches.try_recv() {
            self.tracker.pods(batch, self.clock.now());
        }
        if !self.tracker.is_synced() {
            return Vec::new();
        }
        let changes = self.tracker.changes(self.clock.now());
        let (any, pods) = self.tracker.due_or_held(self.clock.now());
        self.delays.set_needed(any, pods);
        changes
    }

    /// All pods with a deadline, the next one first; `None` before the lists are complete.
    pub(crate) fn rows(&self) -> Option<Vec<PendingRow>> {
        self.tracker.is_synced().then(|| self.tracker.rows())
    }

    /// What could not be read about delays, with its consequence.
    pub(crate) fn unread(&self) -> Option<String> {
        let unread = &self.tracker.delays().unread;
        (!unread.is_empty()).then(|| unread.join("; "))
    }

    /// Why the rows may be old, if they may be.
    pub(crate) fn problem(&self) -> Option<WatchProblem> {
        self.nodes.problem().or_else(|| self.pods.problem())
    }
}

impl<F: WatchedObject> WatchInput<F> {
    fn listen(client: &kube::Client, clock: &Clock, scope: WatchScope) -> Self {
        let (out, batches) = mpsc::channel(BATCHES_MAX);
        let (report, health) = watch::channel(StreamHealth::default());
        let settings = WatchSettings { scope, ..WatchSettings::default() };
        let watcher = Watcher::<F>::new(client.clone(), clock.clone(), settings);
        tokio::spawn(watcher.run(out, report));
        Self { batches, health }
    }

    fn problem(&self) -> Option<WatchProblem> {
        let health = self.health.borrow();
        match (health.missing, &health.phase) {
            (Some(missing), _) => Some(WatchProblem::Forbidden(missing)),
            (None, StreamPhase::Waiting { why, .. }) => Some(WatchProblem::Interrupted(why.clone())),
            (None, _) => None,
        }
    }
}
