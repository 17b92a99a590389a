//! # Ears: the streams that are listened to
//! Room:     a listener for each kind of object, and the ways of its news to the loops that run.
//! Comes in: settings; a client for streams.
//! Goes out: the queues the loops read from; health of each stream.
//! Not here: listening (the client), what the loops do with it.

use super::Signs;
use crate::lifecycle;
use crate::metrics::Resource;
use crate::news::News;
use crate::pools::{self, Demand};
use crate::settings::Settings;
use crate::split::{self, Meter, Seen, Way, WayToPools, Ways};
use crate::streams::{self, listener};
use crate::tasks::Tasks;
use kube::Client;
use taintward_client::clock::Clock;
use taintward_client::decode::{Fact, NodeForAll, SeenPod};
use taintward_client::listen::{Heard as Word, RelistNow, StreamHealth};
use taintward_core::time::Mono;
use tokio::sync::{mpsc, watch};

/// Batches of one stream that may wait for a loop.
const BATCHES_WAITING: usize = 2;

/// One stream, before it begins.
pub(super) struct Ear {
    resource: Resource,
    out: watch::Sender<StreamHealth>,
    /// How it is doing.
    pub(super) health: watch::Receiver<StreamHealth>,
    seed: Option<u64>,
}

/// All of them.
pub(super) struct Ears {
    pub(super) nodes: Ear,
    pub(super) pods: Ear,
    /// Only listened to where node health runs.
    pub(super) leases: Ear,
    /// Only listened to where dedicated pools are kept.
    pub(super) pools: Ear,
    /// Only listened to while there is a dedicated pool.
    pub(super) namespaces: Ear,
    /// Whether there is one, as far as is known.
    pub(super) demand: Demand,
    /// Has all of them list again.
    pub(super) relist_now: RelistNow,
}

/// What the loops read from.
pub(super) struct Heard {
    pub(super) eviction: Option<News>,
    pub(super) node_health: Option<lifecycle::News>,
    pub(super) pools: Option<(pools::News, Demand)>,
}

impl Ears {
    pub(super) fn new(settings: &Settings, now: Mono) -> Self {
        let ear = |resource, twist: fn(u64) -> u64| {
            let (out, health) = watch::channel(StreamHealth::default());
            Ear { resource, out, health, seed: settings.seed.map(twist) }
        };
        let relist_now = RelistNow::default();
        Self {
            nodes: ear(Resource::Nodes, |seed| seed),
            pods: ear(Resource::Pods, |seed| !seed),
            leases: ear(Resource::Leases, |seed| seed.rotate_left(17)),
            pools: ear(Resource::Pools, |seed| seed.rotate_left(23)),
            namespaces: ear(Resource::Namespaces, |seed| seed.rotate_left(41)),
            demand: Demand::new(relist_now.clone(), now),
            relist_now,
        }
    }

    /// Begins to listen to what the controllers that run need.
    pub(super) fn listen(
        self,
        (streams, heartbeats): (&Client, &Client),
        settings: &Settings,
        signs: &Signs,
        clock: &Clock,
        tasks: &mut Tasks,
    ) -> Heard {
        let (relist_now, demanded) = (self.relist_now, self.demand.on());
        let mut hearing = Hearing { streams, settings, signs, clock, tasks, relist_now, demanded };
        let nodes = hearing.shared::<NodeForAll>(self.nodes);
        let pods = hearing.shared::<SeenPod>(self.pods);
        let leases = nodes.health.is_some().then(|| hearing.alone(heartbeats, self.leases, None));
        let eviction = nodes.eviction.zip(pods.eviction).map(|(nodes, pods)| News { nodes, pods });
        let node_health = nodes.health.zip(pods.health).zip(leases);
        let node_health = node_health.map(|((nodes, pods), leases)| lifecycle::News { leases, nodes, pods });
        let pools = nodes.pools.zip(pods.pools).map(|(nodes, pods)| {
            let while_demanded = Some(hearing.demanded.clone());
            let pools = hearing.alone(streams, self.pools, None);
            let namespaces = hearing.alone(streams, self.namespaces, while_demanded);
            (pools::News { pools, nodes, namespaces, pods }, self.demand)
        });
        Heard { eviction, node_health, pools }
    }
}

/// News on its way.
type Queue<F> = mpsc::Receiver<Vec<Word<F>>>;

/// Where the parts of one stream come out.
struct Parts<S: Seen> {
    eviction: Option<Queue<S::Eviction>>,
    health: Option<Queue<S::Health>>,
    pools: Option<Queue<S::Pools>>,
}

/// What listening takes.
struct Hearing<'a> {
    streams: &'a Client,
    settings: &'a Settings,
    signs: &'a Signs,
    clock: &'a Clock,
    tasks: &'a mut Tasks,
    relist_now: RelistNow,
    /// Whether there is a pool, as far as is known.
    demanded: watch::Receiver<bool>,
}

impl Hearing<'_> {
    /// Listens to what all loops look at. Where only pools do, there is nothing to listen to without one.
    fn shared<S: Seen + Fact>(&mut self, ear: Ear) -> Parts<S> {
        let controllers = &self.settings.controllers;
        let (eviction, to_eviction) = way(controllers.taint_eviction);
        let (health, to_health) = way(controllers.node_lifecycle.is_some());
        let (pools, to_pools) = way(controllers.dedicated_pools);
        let pools = pools.map(|way| WayToPools::new(way, self.demanded.clone()));
        let while_demanded = (!controllers.look_at_pods()).then(|| self.demanded.clone());
        let meter = self.meter(ear.resource);
        let from = self.stream::<S>(self.streams, ear, while_demanded);
        self.tasks.0.push(tokio::spawn(split::run(from, Ways { eviction, health, pools }, meter)));
        Parts { eviction: to_eviction, health: to_health, pools: to_pools }
    }

    /// Listens to what only one loop looks at.
    fn alone<F: Fact>(
        &mut self,
        client: &Client,
        ear: Ear,
        while_demanded: Option<watch::Receiver<bool>>,
    ) -> Queue<F> {
        let meter = self.meter(ear.resource);
        let from = self.stream::<F>(client, ear, while_demanded);
        let (out, to) = mpsc::channel(1);
        self.tasks.0.push(tokio::spawn(split::pass_on(from, out, meter)));
        to
    }

    fn stream<F: Fact>(
        &mut self,
        client: &Client,
        ear: Ear,
        while_demanded: Option<watch::Receiver<bool>>,
    ) -> Queue<F> {
        let (out, news) = mpsc::channel(BATCHES_WAITING);
        let (client, relist_now) = (client.clone(), self.relist_now.clone());
        let (relist_every, seed, health) = (self.settings.cluster.relist_every, ear.seed, ear.out.clone());
        let listen = move || {
            let listener = listener::<F>(client.clone(), relist_every, relist_now.clone(), seed);
            listener.run(out.clone(), health.clone())
        };
        self.tasks.0.push(match while_demanded {
            None => tokio::spawn(listen()),
            Some(demanded) => tokio::spawn(streams::while_demanded(demanded, ear.out, listen)),
        });
        let watches = self.signs.metrics.watches.clone();
        self.tasks.0.push(tokio::spawn(streams::report(ear.resource, ear.health, watches)));
        news
    }

    fn meter(&self, resource: Resource) -> Meter {
        Meter { watches: self.signs.metrics.watches.clone(), clock: self.clock.clone(), resource }
    }
}

fn way<F>(wanted: bool) -> (Option<Way<F>>, Option<Queue<F>>) {
    let (out, to) = mpsc::channel(1);
    (wanted.then_some(out), wanted.then_some(to))
}
