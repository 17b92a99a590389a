//! Runs the controllers of the cluster in one loop: kubelets, scheduler, workload controllers, garbage collector.
//!
//! - Invariant: level-triggered, and the same seed gives the same run.

mod daemonset;
mod delay_queue;
mod deployment;
mod disruption;
mod endings;
mod garbage_collector;
mod informer_cache;
mod job;
mod kubelets;
mod namespace;
mod nodes;
mod pod_gc;
mod pod_summary;
mod pod_writes;
mod pods;
mod record_event;
mod replicaset;
mod scheduler;

pub use endings::RUNS_FOR;
pub use informer_cache::{ChangedObjects, InformerCache};
pub use kubelets::{PRESSURE, SILENCE};
pub use pod_summary::PodSummary;

use fakekube::api::ApiServer;
use fakekube::resource::{ResourceId, known};
use futures::future::{FutureExt as _, select_all};
use jiff::{SignedDuration, Timestamp};

use std::time::Duration;

/// A component of the cluster. Leave it out to run a real one instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Component {
    /// The kubelets of all nodes.
    Kubelets,
    /// Taints of conditions and of cordoned nodes.
    Nodes,
    /// kube-scheduler.
    Scheduler,
    /// Deployments.
    Deployments,
    /// ReplicaSets.
    ReplicaSets,
    /// DaemonSets.
    DaemonSets,
    /// Jobs.
    Jobs,
    /// Status of PodDisruptionBudgets.
    Budgets,
    /// The garbage collector.
    Garbage,
    /// The deletion of pods whose node is gone.
    PodGc,
    /// The emptying of deleted namespaces, and the standard objects of each namespace.
    Namespaces,
}

impl Component {
    /// All components, in the order of their steps.
    pub const ALL: [Self; 11] = [
        Self::Namespaces,
        Self::Nodes,
        Self::Deployments,
        Self::ReplicaSets,
        Self::DaemonSets,
        Self::Jobs,
        Self::Scheduler,
        Self::Kubelets,
        Self::Budgets,
        Self::Garbage,
        Self::PodGc,
    ];

    /// The name in flags.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kubelets => "kubelets",
            Self::Nodes => "nodes",
            Self::Scheduler => "scheduler",
            Self::Deployments => "deployments",
            Self::ReplicaSets => "replicasets",
            Self::DaemonSets => "daemonsets",
            Self::Jobs => "jobs",
            Self::Budgets => "budgets",
            Self::Garbage => "garbage",
            Self::PodGc => "podgc",
            Self::Namespaces => "namespaces",
        }
    }
}

/// The state that a component sees in one step.
pub(crate) struct ReconcileContext<'a> {
    pub(crate) server: &'a ApiServer,
    pub(crate) mirror: &'a InformerCache,
    pub(crate) changed: &'a ChangedObjects,
    pub(crate) now: Timestamp,
}

/// A component.
trait Controller: Send {
    /// Reconciles. Returns when to run again even if nothing has changed.
    fn step(&mut self, view: &ReconcileContext<'_>) -> Option<Timestamp>;
}

/// The resources that the components watch.
const WATCHED: [(&str, &str); 12] = [
    ("", "namespaces"),
    ("", "nodes"),
    ("", "pods"),
    ("", "serviceaccounts"),
    ("", "configmaps"),
    ("apps", "deployments"),
    ("apps", "replicasets"),
    ("apps", "daemonsets"),
    ("apps", "statefulsets"),
    ("apps", "controllerrevisions"),
    ("batch", "jobs"),
    ("policy", "poddisruptionbudgets"),
];

/// Changes within this time are handled together.
const BREATH: Duration = Duration::from_millis(2);

/// Runs all components.
pub struct ReconcileLoop {
    server: ApiServer,
    mirror: InformerCache,
    parts: Vec<(Box<dyn Controller>, Option<Timestamp>)>,
    watched: Vec<ResourceId>,
}

impl ReconcileLoop {
    /// Creates a loop with these components; kubelets renew their leases at this interval.
    pub fn new(server: ApiServer, roles: &[Component], renew: SignedDuration) -> Self {
        let watched: Vec<ResourceId> = WATCHED.iter().map(|(group, plural)| known(group, plural)).collect();
        let part = |role: &Component| -> Box<dyn Controller> {
            match role {
                Component::Kubelets => Box::new(kubelets::KubeletFleet::new(renew)),
                Component::Nodes => Box::new(nodes::NodeController),
                Component::Scheduler => Box::new(scheduler::Scheduler),
                Component::Deployments => Box::<deployment::DeploymentController>::default(),
                Component::ReplicaSets => Box::<replicaset::ReplicaSetController>::default(),
                Component::DaemonSets => Box::<daemonset::DaemonSetController>::default(),
                Component::Jobs => Box::<job::JobController>::default(),
                Component::Budgets => Box::<disruption::DisruptionController>::default(),
                Component::Garbage => Box::<garbage_collector::GarbageCollector>::default(),
                Component::PodGc => Box::<pod_gc::PodGarbageCollector>::default(),
                Component::Namespaces => Box::new(namespace::NamespaceController),
            }
        };
        let parts = Component::ALL
            .iter()
            .filter(|role| roles.contains(role))
            .map(|role| (part(role), None))
            .collect();
        let mirror = InformerCache::new(&watched);
        Self { server, mirror, parts, watched }
    }

    /// Runs until dropped.
    pub async fn run(mut self) -> std::convert::Infallible {
        if self.parts.is_empty() {
            // Without components there is no need for a cache, which takes many times the memory of the objects
            // themselves.
            return std::future::pending().await;
        }
        let mut moved: Vec<_> =
            self.watched.iter().map(|number| self.server.store().moved(*number)).collect();
        loop {
            let wake = self.step();
            let changed = select_all(moved.iter_mut().map(|moved| moved.changed().boxed()));
            let clock = self.server.clock().clone();
            let pause = wake.map(|wake| until(clock.now(), wake));
            match pause {
                Some(pause) => tokio::select! {
                    biased;
                    _ = changed => tokio::time::sleep(BREATH).await,
                    () = clock.sleep(pause) => {}
                },
                None => {
                    let _ = changed.await;
                    tokio::time::sleep(BREATH).await;
                }
            }
        }
    }

    /// Runs one round. Returns when the next one is due at the latest.
    pub fn step(&mut self) -> Option<Timestamp> {
        let changed = self.mirror.refresh(self.server.store());
        let now = self.server.clock().now();
        for (part, wake) in &mut self.parts {
            if !changed.is_empty() || wake.is_some_and(|wake| wake <= now) {
                let (server, mirror) = (&self.server, &self.mirror);
                *wake = part.step(&ReconcileContext { server, mirror, changed: &changed, now });
            }
        }
        self.parts.iter().filter_map(|(_, wake)| *wake).min()
    }
}

/// The time from now until `then`, with a minimum, so that a clock that rounds causes no busy loop.
fn until(now: Timestamp, then: Timestamp) -> Duration {
    let left = then.duration_since(now).max(SignedDuration::from_millis(1));
    left.unsigned_abs()
}

#[cfg(test)]
mod tests;
