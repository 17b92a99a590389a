//! # Ears: the streams that are listened to
//! Room:     a listener for each kind of object, and the ways of its news to the loops that run.
//! Comes in: settings; a client for streams.
//! Goes out: the queues the loops read from; health of each stream.
//! Not here: listening (the client), what the loops do with it.

use super::Signs;
use crate::lifecycle;
use crate::metrics::Resource;
use crate::news::News;
use crate::pools;
use crate::settings::Settings;
use crate::split::{self, Meter, Seen, Way, Ways};
use crate::streams::{self, listener};
use crate::tasks::Tasks;
use kube::Client;
use taintward_client::clock::Clock;
use taintward_client::decode::{Fact, SeenNode, SeenPod};
use taintward_client::listen::{Heard as Word, StreamHealth};
use taintward_core::health::LeaseFact;
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
    /// As the next three, only listened to where dedicated pools are kept.
    pub(super) pools: Ear,
    pub(super) pool_nodes: Ear,
    pub(super) pool_pods: Ear,
    pub(super) namespaces: Ear,
}

/// What the loops read from.
pub(super) struct Heard {
    pub(super) eviction: Option<News>,
    pub(super) node_health: Option<lifecycle::News>,
    pub(super) pools: Option<pools::News>,
}

impl Ears {
    pub(super) fn new(settings: &Settings) -> Self {
        let ear = |resource, twist: fn(u64) -> u64| {
            let (out, health) = watch::channel(StreamHealth::default());
            Ear { resource, out, health, seed: settings.seed.map(twist) }
        };
        Self {
            nodes: ear(Resource::Nodes, |seed| seed),
            pods: ear(Resource::Pods, |seed| !seed),
            leases: ear(Resource::Leases, |seed| seed.rotate_left(17)),
            pools: ear(Resource::Pools, |seed| seed.rotate_left(23)),
            pool_nodes: ear(Resource::PoolNodes, |seed| seed.rotate_left(29)),
            pool_pods: ear(Resource::PoolPods, |seed| seed.rotate_left(37)),
            namespaces: ear(Resource::Namespaces, |seed| seed.rotate_left(41)),
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
        let mut hearing = Hearing { streams, heartbeats, settings, signs, clock, tasks };
        let pools = settings.controllers.dedicated_pools.then(|| pools::News {
            pools: hearing.whole(self.pools),
            nodes: hearing.whole(self.pool_nodes),
            namespaces: hearing.whole(self.namespaces),
            pods: hearing.whole(self.pool_pods),
        });
        if !settings.controllers.look_at_pods() {
            return Heard { eviction: None, node_health: None, pools };
        }
        let nodes = hearing.shared::<SeenNode>(self.nodes);
        let pods = hearing.shared::<SeenPod>(self.pods);
        let leases = nodes.health.is_some().then(|| hearing.leases(self.leases));
        let eviction = nodes.eviction.zip(pods.eviction).map(|(nodes, pods)| News { nodes, pods });
        let node_health = nodes.health.zip(pods.health).zip(leases);
        let node_health = node_health.map(|((nodes, pods), leases)| lifecycle::News { leases, nodes, pods });
        Heard { eviction, node_health, pools }
    }
}

/// News on its way.
type Queue<F> = mpsc::Receiver<Vec<Word<F>>>;

/// Where the halves of one stream come out.
struct Halves<S: Seen> {
    eviction: Option<Queue<S::Eviction>>,
    health: Option<Queue<S::Health>>,
}

/// What listening takes.
struct Hearing<'a> {
    streams: &'a Client,
    heartbeats: &'a Client,
    settings: &'a Settings,
    signs: &'a Signs,
    clock: &'a Clock,
    tasks: &'a mut Tasks,
}

impl Hearing<'_> {
    /// Listens to what both loops look at.
    fn shared<S: Seen + Fact>(&mut self, ear: Ear) -> Halves<S> {
        let controllers = &self.settings.controllers;
        let (eviction, to_eviction) = way(controllers.taint_eviction);
        let (health, to_health) = way(controllers.node_lifecycle.is_some());
        let meter = self.meter(ear.resource);
        let from = self.stream::<S>(self.streams, ear);
        self.tasks.0.push(tokio::spawn(split::run(from, Ways { eviction, health }, meter)));
        Halves { eviction: to_eviction, health: to_health }
    }

    fn leases(&mut self, ear: Ear) -> Queue<LeaseFact> {
        self.alone(self.heartbeats, ear)
    }

    /// Listens to what only pools look at.
    fn whole<F: Fact>(&mut self, ear: Ear) -> Queue<F> {
        self.alone(self.streams, ear)
    }

    fn alone<F: Fact>(&mut self, client: &Client, ear: Ear) -> Queue<F> {
        let meter = self.meter(ear.resource);
        let from = self.stream::<F>(client, ear);
        let (out, to) = mpsc::channel(1);
        self.tasks.0.push(tokio::spawn(split::pass_on(from, out, meter)));
        to
    }

    fn stream<F: Fact>(&mut self, client: &Client, ear: Ear) -> Queue<F> {
        let (out, news) = mpsc::channel(BATCHES_WAITING);
        let listener = listener::<F>(client.clone(), self.settings.cluster.relist_every, ear.seed);
        let watches = self.signs.metrics.watches.clone();
        self.tasks.0.push(tokio::spawn(listener.run(out, ear.out)));
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
