//! Starts the watches and connects them to the queues of the control loops.
//!
//! - Several loops share a watch of nodes or pods, and each subscribes to its part of the objects.

use super::{EngineQueues, WatchSet, WatchSlot};
use crate::dedicated_pools::{self, PoolStreamDemand};
use crate::eviction::{self, PolicyDemand, PolicyWatches};
use crate::fan_out::{EventForm, FanOut};
use crate::metrics::{ControllerMetrics, Resource};
use crate::node_lifecycle;
use crate::settings::{ControllerSettings, EvictionScope};
use crate::stream_health::{self, listener};
use crate::tasks::TaskSet;
use crate::toleration_seconds::{self, SecondsWatches};
use crate::watch_queues::WatchReceiver;
use kube::Client;
use std::sync::Arc;
use taintward_core::dedicated_pools::PoolNodeFact;
use taintward_core::eviction_policy::NamespaceLabelsFact;
use taintward_core::fact::{NodeFact, PodFact};
use taintward_core::object_event::ObjectEvent;
use taintward_core::toleration_guard::guarded_node;
use taintward_kube::clock::Clock;
use taintward_kube::decode::{
    Decoded, DecodedPod, NamespaceObject, NodeForAllControllers, TemplatedPod, WatchedObject,
};
use taintward_kube::watch::{RelistTrigger, StreamHealth};
use tokio::sync::{mpsc, watch};

/// The largest number of batches of one watch that wait for a loop.
const BATCHES_WAITING: usize = 2;

impl WatchSet {
    pub(super) fn new(settings: &ControllerSettings) -> Self {
        let slot = |resource, twist: fn(u64) -> u64| {
            let (out, health) = watch::channel(StreamHealth::default());
            WatchSlot { resource, out, health, seed: settings.seed.map(twist) }
        };
        let relist_now = RelistTrigger::default();
        Self {
            nodes: slot(Resource::Nodes, |seed| seed),
            pods: slot(Resource::Pods, |seed| !seed),
            leases: slot(Resource::Leases, |seed| seed.rotate_left(17)),
            pools: slot(Resource::Pools, |seed| seed.rotate_left(23)),
            namespaces: slot(Resource::Namespaces, |seed| seed.rotate_left(41)),
            policies: slot(Resource::Policies, |seed| seed.rotate_left(53)),
            eviction_policies: slot(Resource::EvictionPolicies, |seed| seed.rotate_left(7)),
            budgets: slot(Resource::DisruptionBudgets, |seed| seed.rotate_left(11)),
            deployments: slot(Resource::Deployments, |seed| seed.rotate_left(19)),
            replica_sets: slot(Resource::ReplicaSets, |seed| seed.rotate_left(29)),
            stateful_sets: slot(Resource::StatefulSets, |seed| seed.rotate_left(37)),
            policy_demand: PolicyDemand::default(),
            demand: PoolStreamDemand::new(relist_now.clone()),
            relist_now,
        }
    }

    /// Starts the watches that the enabled controllers need.
    pub(super) fn listen(
        self,
        clients: (&Client, &Client),
        settings: &ControllerSettings,
        metrics: &Arc<ControllerMetrics>,
        clock: &Clock,
        tasks: &mut TaskSet,
    ) -> EngineQueues {
        match settings.eviction_policies {
            true => self.listen_to::<TemplatedPod>(clients, settings, metrics, clock, tasks),
            false => self.listen_to::<DecodedPod>(clients, settings, metrics, clock, tasks),
        }
    }

    fn listen_to<P: WatchedPod>(
        self,
        (streams, heartbeats): (&Client, &Client),
        settings: &ControllerSettings,
        metrics: &Arc<ControllerMetrics>,
        clock: &Clock,
        tasks: &mut TaskSet,
    ) -> EngineQueues {
        let controllers = &settings.controllers;
        let fan_out = |slot: &WatchSlot| metrics.watches.undecodable.of(slot.resource);
        let mut nodes = FanOut::<NodeForAllControllers>::new(fan_out(&self.nodes));
        let mut pods = FanOut::<P>::new(fan_out(&self.pods));
        let mut namespaces = FanOut::<NamespaceObject>::new(fan_out(&self.namespaces));
        let relist_now = self.relist_now;
        let mut spawner = WatchSpawner { settings, metrics, clock, tasks, relist_now };

        let policy_demand = self.policy_demand;
        let eviction = controllers.eviction().map(|scope| {
            let (node, pod) = eviction_forms(scope, settings.eviction_policies);
            let queues = eviction::watch_queues(nodes.subscribe(node), pods.subscribe(pod), metrics);
            if !settings.eviction_policies {
                return queues;
            }
            let (budgets, workloads) = (|| Some(policy_demand.budgets()), || Some(policy_demand.workloads()));
            let policies = PolicyWatches {
                policies: spawner.watch(streams, self.eviction_policies, None),
                namespaces: namespaces.subscribe(|namespace, listed| applied(labels_of(namespace), listed)),
                budgets: spawner.watch(streams, self.budgets, budgets()),
                deployments: spawner.watch(streams, self.deployments, workloads()),
                replica_sets: spawner.watch(streams, self.replica_sets, workloads()),
                stateful_sets: spawner.watch(streams, self.stateful_sets, workloads()),
            };
            policies.add_to(queues)
        });
        let node_lifecycle = controllers.node_lifecycle.is_some().then(|| {
            let leases = spawner.watch(heartbeats, self.leases, None);
            let nodes = nodes.subscribe(|node, listed| applied(node.node.health.clone(), listed));
            let pods = pods.subscribe(|pod: &P, listed| applied(pod.pod().health(), listed));
            node_lifecycle::watch_queues(leases, nodes, pods)
        });
        let pools = controllers.dedicated_pools.then(|| {
            let on = || self.demand.on();
            let nodes = nodes.subscribe_while(on(), pool_node);
            let pods =
                pods.subscribe_while(on(), |pod: &P, listed| present(pod, pod.pod().resident(), listed));
            let namespaces = namespaces.subscribe(|namespace, listed| applied(namespace.clone(), listed));
            let pools = spawner.watch(streams, self.pools, None);
            dedicated_pools::watch_queues(pools, nodes, namespaces, pods)
        });
        let toleration_seconds = controllers.change_seconds().then(|| {
            let nodes = nodes.subscribe(|node, listed| applied(node.node.for_holds(), listed));
            let pods = pods.subscribe(|pod: &P, listed| present(pod, pod.pod().for_holds(), listed));
            let is_backfilled = controllers.toleration_backfill.is_some();
            let seconds = controllers.follow_namespaces().then(|| SecondsWatches {
                namespaces: namespaces.subscribe(|namespace, listed| applied(namespace.clone(), listed)),
                policies: is_backfilled.then(|| spawner.watch(streams, self.policies, None)),
            });
            toleration_seconds::watch_queues(nodes, pods, seconds)
        });
        // What only pools need is watched only while there is one.
        let for_pools = |needed: bool| (!needed).then(|| self.demand.on());
        spawner.share(streams, self.nodes, for_pools(controllers.watch_pods()), nodes);
        spawner.share(streams, self.pods, for_pools(controllers.watch_pods()), pods);
        let are_namespaces_needed = controllers.follow_namespaces() || settings.eviction_policies;
        spawner.share(streams, self.namespaces, for_pools(are_namespaces_needed), namespaces);
        EngineQueues {
            eviction: eviction.map(|queues| (queues, policy_demand)),
            node_lifecycle,
            pools: pools.map(|queues| (queues, self.demand)),
            toleration_seconds,
        }
    }
}

/// A pod as its watch delivers it, with what eviction policies need or without.
trait WatchedPod: WatchedObject + Sync {
    fn pod(&self) -> &DecodedPod;

    /// The pod as taint eviction sees it.
    fn evictable(&self) -> PodFact;
}

impl WatchedPod for DecodedPod {
    fn pod(&self) -> &DecodedPod {
        self
    }

    fn evictable(&self) -> PodFact {
        self.pod.clone()
    }
}

impl WatchedPod for TemplatedPod {
    fn pod(&self) -> &DecodedPod {
        &self.pod
    }

    fn evictable(&self) -> PodFact {
        self.with_template(self.pod.pod.clone())
    }
}

/// The node and the pod as taint eviction sees them.
fn eviction_forms<P: WatchedPod>(
    scope: EvictionScope,
    with_policies: bool,
) -> (EventForm<NodeForAllControllers, NodeFact>, EventForm<P, PodFact>) {
    let pod = |pod: &P, listed| applied(pod.evictable(), listed);
    match scope {
        EvictionScope::AllPods if with_policies => (labelled_node, pod),
        EvictionScope::AllPods => (|node, listed| applied(node.node.taints.clone(), listed), pod),
        EvictionScope::GuardedPods => (
            |node, listed| applied(guarded_node(node.node.taints.clone()), listed),
            |pod, listed| present(pod, pod.pod().for_guard(), listed),
        ),
    }
}

fn labelled_node(node: &NodeForAllControllers, listed: bool) -> ObjectEvent<NodeFact> {
    let undecodable = || ObjectEvent::Undecodable(node.identity().into());
    node.labelled().map_or_else(undecodable, |node| applied(node, listed))
}

fn labels_of(namespace: &NamespaceObject) -> NamespaceLabelsFact {
    let NamespaceObject { uid, version, name, facts } = namespace;
    NamespaceLabelsFact {
        uid: uid.clone(),
        version: *version,
        name: name.clone(),
        labels: facts.labels.clone(),
    }
}

/// The node as pools see it: decoded by itself, because others understand a node of which pools cannot decode their part.
fn pool_node(node: &NodeForAllControllers, listed: bool) -> ObjectEvent<PoolNodeFact> {
    match &node.member {
        Decoded::Object(member) => applied(member.clone(), listed),
        Decoded::Undecodable(_) => ObjectEvent::Undecodable(node.identity().into()),
        Decoded::Unbound(_) => ObjectEvent::Deleted(node.identity().into()),
    }
}

fn applied<F>(fact: F, listed: bool) -> ObjectEvent<F> {
    ObjectEvent::Applied { fact, listed }
}

/// The object, or its deletion if it is not one for this subscriber.
fn present<F>(object: &impl WatchedObject, fact: Option<F>, listed: bool) -> ObjectEvent<F> {
    fact.map_or_else(|| ObjectEvent::Deleted(object.identity().into()), |fact| applied(fact, listed))
}

/// What starting a watch needs.
struct WatchSpawner<'a> {
    settings: &'a ControllerSettings,
    metrics: &'a Arc<ControllerMetrics>,
    clock: &'a Clock,
    tasks: &'a mut TaskSet,
    relist_now: RelistTrigger,
}

impl WatchSpawner<'_> {
    /// Starts a watch that runs always, or while it is demanded.
    fn watch<F: WatchedObject>(
        &mut self,
        client: &Client,
        slot: WatchSlot,
        while_demanded: Option<watch::Receiver<bool>>,
    ) -> WatchReceiver<F> {
        let (out, events) = mpsc::channel(BATCHES_WAITING);
        let (client, clock, relist_now) = (client.clone(), self.clock.clone(), self.relist_now.clone());
        let (relist_every, seed, health) = (self.settings.cluster.relist_every, slot.seed, slot.out.clone());
        let listen = move || {
            let listener =
                listener::<F>(client.clone(), clock.clone(), relist_every, relist_now.clone(), seed);
            listener.run(out.clone(), health.clone())
        };
        self.tasks.0.push(match while_demanded {
            None => tokio::spawn(listen()),
            Some(demanded) => tokio::spawn(stream_health::while_demanded(demanded, slot.out, listen)),
        });
        let (watches, clock) = (self.metrics.watches.clone(), self.clock.clone());
        self.tasks.0.push(tokio::spawn(stream_health::report(slot.resource, slot.health, watches, clock)));
        events
    }

    /// Starts a watch for its subscribers, if it has any.
    fn share<S: WatchedObject + Sync>(
        &mut self,
        client: &Client,
        slot: WatchSlot,
        while_demanded: Option<watch::Receiver<bool>>,
        fan_out: FanOut<S>,
    ) {
        if fan_out.has_subscribers() {
            let events = self.watch(client, slot, while_demanded);
            self.tasks.0.push(tokio::spawn(fan_out.run(events)));
        }
    }
}
