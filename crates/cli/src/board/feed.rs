//! Watches nodes, pods, workloads and budgets for the board, and publishes what changed at most four times a second.

use super::BoardSource;
use super::board_state::BoardState;
use super::node_object::NodeObject;
use super::workload_object::{BudgetObject, DaemonSet, Deployment, StatefulSet, WorkloadObject};
use std::convert::Infallible;
use std::time::Duration;
use taintward_kube::decode::{DecodedPod, WatchedObject};
use taintward_kube::watch::{StreamHealth, StreamPhase, WatchEvent, WatchScope, WatchSettings, Watcher};
use tokio::sync::{mpsc, watch};
use tokio::time::MissedTickBehavior;

/// The interval between two messages to viewers.
const TICK: Duration = Duration::from_millis(250);

/// The maximum number of batches that wait.
const BATCHES_MAX: usize = 16;

/// One batch of a watch.
enum BoardInput {
    Nodes(Vec<WatchEvent<NodeObject>>),
    Pods(Vec<WatchEvent<DecodedPod>>),
    Deployments(Vec<WatchEvent<WorkloadObject<Deployment>>>),
    StatefulSets(Vec<WatchEvent<WorkloadObject<StatefulSet>>>),
    DaemonSets(Vec<WatchEvent<WorkloadObject<DaemonSet>>>),
    Budgets(Vec<WatchEvent<BudgetObject>>),
}

/// The health of a watch.
struct WatchState {
    resource: &'static str,
    health: watch::Receiver<StreamHealth>,
}

impl WatchState {
    /// Why the watch's objects may be missing or old, if they may be.
    fn problem(&self) -> Option<String> {
        let health = self.health.borrow();
        let Self { resource, .. } = self;
        match (health.missing, &health.phase) {
            (Some(missing), _) => Some(format!(
                "cannot show {resource}: the account of this kubeconfig may not {} them; grant it list and watch",
                missing.verb
            )),
            (None, StreamPhase::Waiting { why, .. }) => {
                Some(format!("the shown {resource} may be old: {why}"))
            }
            (None, _) => None,
        }
    }
}

/// Runs the watches until dropped.
pub(super) async fn run(source: &BoardSource, state: &BoardState) -> Infallible {
    let (out, mut inputs) = mpsc::channel(BATCHES_MAX);
    let watches = [
        watch_kind(source, &out, BoardInput::Nodes),
        watch_kind(source, &out, BoardInput::Pods),
        watch_kind(source, &out, BoardInput::Deployments),
        watch_kind(source, &out, BoardInput::StatefulSets),
        watch_kind(source, &out, BoardInput::DaemonSets),
        watch_kind(source, &out, BoardInput::Budgets),
    ];
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            Some(input) = inputs.recv() => {
                let now = (source.now)();
                state.update(|model| match input {
                    BoardInput::Nodes(batch) => model.nodes(batch, now),
                    BoardInput::Pods(batch) => model.pods(batch, now),
                    BoardInput::Deployments(batch) => model.workloads(batch, now),
                    BoardInput::StatefulSets(batch) => model.workloads(batch, now),
                    BoardInput::DaemonSets(batch) => model.workloads(batch, now),
                    BoardInput::Budgets(batch) => model.budgets(batch, now),
                });
            }
            _ = tick.tick() => {
                let problem = watches.iter().find_map(WatchState::problem);
                let listing = || (!state.is_synced()).then(|| "nodes and pods are being listed".to_owned());
                state.publish((source.now)(), (source.speed)(), problem.or_else(listing));
            }
        }
    }
}

fn watch_kind<F: WatchedObject>(
    source: &BoardSource,
    out: &mpsc::Sender<BoardInput>,
    input: fn(Vec<WatchEvent<F>>) -> BoardInput,
) -> WatchState {
    let (batches, mut received) = mpsc::channel(1);
    let (report, health) = watch::channel(StreamHealth::default());
    let is_namespaced = F::RESOURCE != NodeObject::RESOURCE;
    let namespace = if is_namespaced { source.namespace.clone() } else { String::new() };
    let scope = WatchScope { namespace, ..WatchScope::default() };
    let watcher =
        Watcher::<F>::new(source.streams.clone(), WatchSettings { scope, ..WatchSettings::default() });
    let out = out.clone();
    tokio::spawn(async move {
        let forward = async {
            while let Some(batch) = received.recv().await {
                if out.send(input(batch)).await.is_err() {
                    return;
                }
            }
        };
        tokio::join!(watcher.run(batches, report), forward);
    });
    WatchState { resource: F::RESOURCE, health }
}
