//! Watches nodes, pods, workloads and budgets for the board, and publishes what changed at most four times a second.

use super::BoardSource;
use super::board_state::BoardState;
use super::cluster_model::ClusterModel;
use super::node_object::NodeObject;
use super::workload_object::{DaemonSet, Deployment, StatefulSet};
use crate::eviction_delays::DelayWatch;
use std::convert::Infallible;
use std::time::Duration;
use taintward_core::object_event::ObjectEvent;
use taintward_core::time::Now;
use taintward_core::toleration_matching::NumericOperators;
use taintward_kube::api::RequestBudget;
use taintward_kube::decode::WatchedObject;
use taintward_kube::watch::{StreamHealth, StreamPhase, WatchScope, WatchSettings, Watcher};
use tokio::sync::{mpsc, watch};
use tokio::time::MissedTickBehavior;

/// The interval between two messages to viewers.
const TICK: Duration = Duration::from_millis(250);

/// The maximum number of batches that wait.
const BATCHES_MAX: usize = 16;

/// Adds a batch of a watch to the model.
type ModelUpdate = Box<dyn FnOnce(&mut ClusterModel, Now) + Send>;

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
    let (out, mut updates) = mpsc::channel(BATCHES_MAX);
    let watches = [
        watch_kind(source, &out, ClusterModel::nodes),
        watch_kind(source, &out, ClusterModel::pods),
        watch_kind(source, &out, ClusterModel::workloads::<Deployment>),
        watch_kind(source, &out, ClusterModel::workloads::<StatefulSet>),
        watch_kind(source, &out, ClusterModel::workloads::<DaemonSet>),
        watch_kind(source, &out, ClusterModel::budgets),
    ];
    let (client, limit) = (source.streams.clone(), RequestBudget::default());
    let mut delays = DelayWatch::start(client, limit, NumericOperators::Off, source.clock.clone());
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            Some(update) = updates.recv() => state.update(|model| update(model, source.clock.now())),
            () = delays.changed() => {
                let now = source.clock.now();
                state.update(|model| model.set_delays(delays.delays(), &source.namespace, now));
            }
            _ = tick.tick() => {
                let (any, pods) = state.due_or_held(source.clock.now());
                delays.set_needed(any, pods);
                let problem = watches.iter().find_map(WatchState::problem);
                let listing = || (!state.is_synced()).then(|| "nodes and pods are being listed".to_owned());
                state.publish(source.clock.now(), (source.speed)(), problem.or_else(listing));
            }
        }
    }
}

fn watch_kind<F: WatchedObject>(
    source: &BoardSource,
    out: &mpsc::Sender<ModelUpdate>,
    add: fn(&mut ClusterModel, Vec<ObjectEvent<F>>, Now),
) -> WatchState {
    let (batches, mut received) = mpsc::channel(1);
    let (report, health) = watch::channel(StreamHealth::default());
    let is_namespaced = F::RESOURCE.plural != NodeObject::RESOURCE.plural;
    let namespace = if is_namespaced { source.namespace.clone() } else { String::new() };
    let scope = WatchScope { namespace, ..WatchScope::default() };
    let settings = WatchSettings { scope, ..WatchSettings::default() };
    let watcher = Watcher::<F>::new(source.streams.clone(), source.clock.clone(), settings);
    let out = out.clone();
    tokio::spawn(async move {
        let forward = async {
            while let Some(batch) = received.recv().await {
                let update: ModelUpdate = Box::new(move |model, now| add(model, batch, now));
                if out.send(update).await.is_err() {
                    return;
                }
            }
        };
        tokio::join!(watcher.run(batches, report), forward);
    });
    WatchState { resource: F::RESOURCE.plural, health }
}
