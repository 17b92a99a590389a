//! Starts the watches and connects them to the queues of the control loops.

use super::{EngineQueues, WatchSet, WatchSlot};
use crate::dedicated_pools::{self, PoolStreamDemand};
use crate::eviction;
use crate::fan_out::{self, ConsumerQueue, Consumers, EventMeter, OnDemandConsumer, Split};
use crate::metrics::{ControllerMetrics, Resource};
use crate::node_lifecycle;
use crate::settings::{ControllerSettings, EvictionScope};
use crate::stream_health::{self, listener};
use crate::tasks::TaskSet;
use crate::toleration_seconds::{self, SecondsWatches};
use crate::watch_queues::WatchReceiver;
use kube::Client;
use std::sync::Arc;
use taintward_kube::clock::Clock;
use taintward_kube::decode::{DecodedPod, NamespaceObject, NodeForAllControllers, WatchedObject};
use taintward_kube::watch::{RelistTrigger, StreamHealth, WatchEvent};
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
            demand: PoolStreamDemand::new(relist_now.clone()),
            relist_now,
        }
    }

    /// Starts the watches that the enabled controllers need.
    pub(super) fn listen(
        self,
        (streams, heartbeats): (&Client, &Client),
        settings: &ControllerSettings,
        metrics: &Arc<ControllerMetrics>,
        clock: &Clock,
        tasks: &mut TaskSet,
    ) -> EngineQueues {
        let (relist_now, demanded) = (self.relist_now, self.demand.on());
        let mut hearing = WatchSpawner { streams, settings, metrics, clock, tasks, relist_now, demanded };
        let nodes = hearing.shared::<NodeForAllControllers>(self.nodes);
        let pods = hearing.shared::<DecodedPod>(self.pods);
        let leases = nodes.health.is_some().then(|| hearing.alone(heartbeats, self.leases));
        let (pool_namespaces, seconds_namespaces) = hearing.namespaces(self.namespaces);
        let eviction = nodes.eviction.zip(pods.eviction);
        let eviction = eviction.map(|(nodes, pods)| eviction::watch_queues(nodes, pods, metrics));
        let node_lifecycle = nodes
            .health
            .zip(pods.health)
            .zip(leases)
            .map(|((nodes, pods), leases)| node_lifecycle::watch_queues(leases, nodes, pods));
        let pools = nodes.pools.zip(pods.pools).zip(pool_namespaces).map(|((nodes, pods), namespaces)| {
            let pools = hearing.alone(streams, self.pools);
            (dedicated_pools::watch_queues(pools, nodes, namespaces, pods), self.demand)
        });
        let is_backfilled = settings.controllers.toleration_backfill.is_some();
        let seconds = seconds_namespaces.map(|namespaces| SecondsWatches {
            namespaces,
            policies: is_backfilled.then(|| hearing.alone(streams, self.policies)),
        });
        let toleration_seconds = nodes.toleration_seconds.zip(pods.toleration_seconds);
        let toleration_seconds =
            toleration_seconds.map(|(nodes, pods)| toleration_seconds::watch_queues(nodes, pods, seconds));
        EngineQueues { eviction, node_lifecycle, pools, toleration_seconds }
    }
}

/// The queues for the parts of one watch.
struct SplitQueues<S: Split> {
    eviction: Option<WatchReceiver<S::Eviction>>,
    health: Option<WatchReceiver<S::Health>>,
    pools: Option<WatchReceiver<S::Pools>>,
    toleration_seconds: Option<WatchReceiver<S::Holds>>,
}

/// What starting a watch needs.
struct WatchSpawner<'a> {
    streams: &'a Client,
    settings: &'a ControllerSettings,
    metrics: &'a Arc<ControllerMetrics>,
    clock: &'a Clock,
    tasks: &'a mut TaskSet,
    relist_now: RelistTrigger,
    /// Whether there is a pool, as far as is known.
    demanded: watch::Receiver<bool>,
}

impl WatchSpawner<'_> {
    /// Starts a watch that several loops share. If only pools use it, it runs only while there is one.
    fn shared<S: Split + WatchedObject>(&mut self, slot: WatchSlot) -> SplitQueues<S> {
        let controllers = &self.settings.controllers;
        let scope = controllers.eviction();
        let (eviction, to_eviction) = way(scope.is_some());
        let (health, to_health) = way(controllers.node_lifecycle.is_some());
        let (pools, to_pools) = way(controllers.dedicated_pools);
        let (holds, to_holds) = way(controllers.change_seconds());
        let pools = pools.map(|way| OnDemandConsumer::new(way, self.demanded.clone()));
        let while_demanded = (!controllers.watch_pods()).then(|| self.demanded.clone());
        let meter = self.meter(slot.resource);
        let from = self.stream::<S>(self.streams, slot, while_demanded);
        self.tasks.0.push(tokio::spawn(fan_out::run(
            from,
            Consumers {
                eviction,
                eviction_scope: scope.unwrap_or(EvictionScope::AllPods),
                health,
                pools,
                holds,
            },
            meter,
        )));
        SplitQueues {
            eviction: to_eviction,
            health: to_health,
            pools: to_pools,
            toleration_seconds: to_holds,
        }
    }

    /// Starts a watch for one loop.
    fn alone<F: WatchedObject + Clone>(&mut self, client: &Client, slot: WatchSlot) -> WatchReceiver<F> {
        let meter = self.meter(slot.resource);
        let from = self.stream::<F>(client, slot, None);
        let (out, to) = mpsc::channel(1);
        self.tasks.0.push(tokio::spawn(fan_out::forward(from, [Some(out), None], meter)));
        to
    }

    /// Starts the watch of namespaces, for pools, backfill and the guard; if only pools use it, it runs only while
    /// there is one.
    fn namespaces(
        &mut self,
        slot: WatchSlot,
    ) -> (Option<WatchReceiver<NamespaceObject>>, Option<WatchReceiver<NamespaceObject>>) {
        let controllers = &self.settings.controllers;
        let follows = controllers.follow_namespaces();
        let (pools, to_pools) = way(controllers.dedicated_pools);
        let (seconds, to_seconds) = way(follows);
        if pools.is_some() || seconds.is_some() {
            let meter = self.meter(slot.resource);
            let while_demanded = (!follows).then(|| self.demanded.clone());
            let from = self.stream::<NamespaceObject>(self.streams, slot, while_demanded);
            self.tasks.0.push(tokio::spawn(fan_out::forward(from, [pools, seconds], meter)));
        }
        (to_pools, to_seconds)
    }

    fn stream<F: WatchedObject>(
        &mut self,
        client: &Client,
        slot: WatchSlot,
        while_demanded: Option<watch::Receiver<bool>>,
    ) -> mpsc::Receiver<Vec<WatchEvent<F>>> {
        let (out, change_text) = mpsc::channel(BATCHES_WAITING);
        let (client, relist_now) = (client.clone(), self.relist_now.clone());
        let (relist_every, seed, health) = (self.settings.cluster.relist_every, slot.seed, slot.out.clone());
        let listen = move || {
            let listener = listener::<F>(client.clone(), relist_every, relist_now.clone(), seed);
            listener.run(out.clone(), health.clone())
        };
        self.tasks.0.push(match while_demanded {
            None => tokio::spawn(listen()),
            Some(demanded) => tokio::spawn(stream_health::while_demanded(demanded, slot.out, listen)),
        });
        let watches = self.metrics.watches.clone();
        self.tasks.0.push(tokio::spawn(stream_health::report(slot.resource, slot.health, watches)));
        change_text
    }

    fn meter(&self, resource: Resource) -> EventMeter {
        EventMeter { watches: self.metrics.watches.clone(), clock: self.clock.clone(), resource }
    }
}

fn way<F>(wanted: bool) -> (Option<ConsumerQueue<F>>, Option<WatchReceiver<F>>) {
    let (out, to) = mpsc::channel(1);
    (wanted.then_some(out), wanted.then_some(to))
}
