//! Runs one simulated cluster: controllers, faults, a time of changes and a time of rest.

mod controllers;

use super::delay_checker::DelayChecker;
use super::delays::SimulatedDelays;
use super::eviction_checker::{EvictionChecker, RequestedDeletion};
use super::log::SimulationLog;
use super::mutation::ControllerMutation;
use super::node_checker::NodeChecker;
use controllers::SimulatedController;
use fakekube::fault::{FaultInjector, InjectedFault};
use fakekube::id_generator::IdGenerator;
use fakekube::resource::{ResourceId, known};
use fakekube::store::ListRange;
use jiff::{SignedDuration, Timestamp};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use taintward_sandbox::controllers::Component;
use taintward_sandbox::world::{self, World};
use tokio::runtime::Builder;

/// The result of a run.
pub(crate) struct SimulationOutcome {
    pub(crate) faults: Vec<String>,
    pub(crate) story: Vec<String>,
    /// A hash of all commits, of every resource, including times.
    pub(crate) log: u64,
    pub(crate) deletions: u64,
    pub(crate) crashes: u64,
    pub(crate) slumbers: u64,
    pub(crate) broken: u64,
    /// Nodes that got NoExecute taints.
    pub(crate) tainted: u64,
}

/// The durations of the time of changes and the time of rest, in seconds of the world.
const BUSY: i64 = 600;

/// The largest error of wall clocks, in seconds.
const SKEW_MAX: u64 = 600;
const CALM: u64 = 900;

pub(crate) fn simulate(seed: u64, mutation: ControllerMutation) -> SimulationOutcome {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    // The world starts inside the runtime: outside, time is real.
    let outcome = runtime.block_on(async { SimulationHarness::new(seed, mutation).run().await });
    runtime.shutdown_background();
    outcome
}

pub(crate) struct SimulationHarness {
    pub(crate) world: World,
    pub(crate) mutation: ControllerMutation,
    /// Nothing fails, and no controller is killed or suspended; but the controllers' wall clocks are set.
    pub(crate) peaceful: bool,
    /// The largest error of a controller's wall clock at its start, in seconds, besides that.
    skew: u64,
    /// By how many microseconds wall clocks were set forward while controllers ran.
    steps: Arc<AtomicI64>,
    pub(super) ids: IdGenerator,
    faults: FaultInjector,
    log: SimulationLog,
    requested: Arc<Mutex<Vec<RequestedDeletion>>>,
    /// Whether Taintward runs node lifecycle in this world, and the number of zones.
    pub(crate) health: bool,
    pub(crate) zones: usize,
    /// How evictions are delayed, if they are.
    pub(crate) delays: Option<SimulatedDelays>,
    /// When each controller was started, when they woke up after a sleep, and when faults ended.
    begun: Vec<(usize, Timestamp)>,
    woken: Vec<(Timestamp, Duration)>,
    calm_at: Option<Timestamp>,
    story: Vec<String>,
    crashes: u64,
    slumbers: u64,
    controllers: Vec<Option<SimulatedController>>,
    pub(super) elected: bool,
    /// Violations found besides those in the log.
    wrong: Vec<String>,
    /// How many records were written to `TAINTWARD_RECORDS`.
    records: usize,
}

pub(crate) fn pods() -> ResourceId {
    known("", "pods")
}

pub(crate) fn nodes() -> ResourceId {
    known("", "nodes")
}

pub(crate) fn leases() -> ResourceId {
    known("coordination.k8s.io", "leases")
}

impl SimulationHarness {
    fn new(seed: u64, mutation: ControllerMutation) -> Self {
        let ids = IdGenerator::new(seed.wrapping_mul(0x9e37_79b9).wrapping_add(7));
        let by_chance = !ids.number().is_multiple_of(3);
        let health = mutation.manages_node_health().unwrap_or(by_chance);
        let zones = if health { 1 + (ids.number() % 3) as usize } else { 2 };
        let has_delays = mutation.delays().unwrap_or(seed % 3 == 2);
        let delays = has_delays.then(|| SimulatedDelays::new(seed / 3));
        let roles = [Component::Namespaces, Component::Nodes, Component::Kubelets, Component::Budgets];
        let settings = world::WorldSettings {
            seed,
            start: "2026-01-01T00:00:00Z".parse().unwrap(),
            nodes: if health { 3 + (ids.number() % 4) as usize } else { 2 + (ids.number() % 3) as usize },
            zones,
            renew: SignedDuration::from_secs(if ids.number().is_multiple_of(2) { 10 } else { 20 }),
            // Taintward replaces the component for nodes.
            roles: roles
                .into_iter()
                .filter(|role| !health || *role != Component::Nodes)
                .filter(|role| has_delays || *role != Component::Budgets)
                .collect(),
            ..world::WorldSettings::default()
        };
        let world = World::new(&settings);
        let one_in = [0, 40, 12, 5][(ids.number() % 4) as usize];
        let elected = ids.number().is_multiple_of(2);
        let controllers = if elected && ids.number().is_multiple_of(2) { 2 } else { 1 };
        // Wall clocks may have any error, because starts are read with the server's clock (S3, S4).
        let skew = if one_in == 0 { 0 } else { [0, 0, SKEW_MAX][(ids.number() % 3) as usize] };
        let log = SimulationLog::default();
        log.follow(world.server());
        Self {
            world,
            mutation,
            peaceful: one_in == 0,
            skew,
            steps: Arc::default(),
            ids,
            faults: FaultInjector::new(seed, one_in),
            log,
            requested: Arc::default(),
            health,
            zones,
            delays,
            begun: Vec::new(),
            woken: Vec::new(),
            calm_at: None,
            story: vec![format!(
                "one request in {one_in} breaks; {controllers} controllers, elected: {elected}; clocks wrong by up to {skew} s; \
                 node health: {health}"
            )],
            crashes: 0,
            slumbers: 0,
            controllers: (0..controllers).map(|_| None).collect(),
            elected,
            wrong: Vec::new(),
            records: 0,
        }
    }

    async fn run(mut self) -> SimulationOutcome {
        self.begin_delays();
        let life = tokio::spawn(self.world.life().run());
        self.start_all().await;
        let end = self.now() + SignedDuration::from_secs(BUSY);
        while self.now() < end {
            self.act().await;
            let pause = Duration::from_millis(self.below(12_000));
            tokio::time::sleep(pause).await;
        }
        self.faults.end();
        self.faults.slow_link(Duration::ZERO);
        self.settle_nodes();
        self.settle_delays();
        self.end_stopping().await;
        self.start_all().await;
        self.calm_at = Some(self.now());
        self.send("everything works, and nothing changes".to_owned());
        tokio::time::sleep(Duration::from_secs(CALM)).await;
        for which in 0..self.controllers.len() {
            self.kill(which).await;
        }
        life.abort();
        self.judged()
    }

    fn judged(mut self) -> SimulationOutcome {
        let strict = self.peaceful && self.mutation.hears_all();
        // What delays evictions is not late.
        let undelayed_from = self.calm_at.filter(|_| self.delays.is_none() && self.mutation.hears_all());
        let mut eviction_checker = EvictionChecker::new(strict && self.delays.is_none(), undelayed_from);
        eviction_checker.has_silent_streams = self.faults.counts().contains_key(&InjectedFault::StreamSilent);
        let mut delay_checker = DelayChecker::default();
        let mut node_checker = NodeChecker::new(
            self.peaceful && self.mutation.is_undisturbed(),
            self.mutation.hears_all(),
            self.calm_at.unwrap_or(self.now()),
        );
        for (which, at) in &self.begun {
            node_checker.began(*which, *at);
        }
        for (at, length) in &self.woken {
            node_checker.woke(*at, *length);
            eviction_checker.woke(*at, *length);
        }
        for commit in self.log.commits.lock().unwrap().iter() {
            eviction_checker.receive(commit);
            delay_checker.receive(commit);
            if self.health {
                node_checker.receive(commit);
            }
        }
        eviction_checker.judge_requests(&self.requested.lock().unwrap());
        eviction_checker.judge_end(self.now());
        let mut faults = std::mem::take(&mut self.wrong);
        faults.append(&mut eviction_checker.faults);
        faults.append(&mut delay_checker.faults);
        if self.health {
            node_checker.judge_end(self.now());
            faults.append(&mut node_checker.faults);
        }
        SimulationOutcome {
            faults,
            story: self.story,
            log: self.log.hash(),
            deletions: eviction_checker.deletions,
            crashes: self.crashes,
            slumbers: self.slumbers,
            broken: self.faults.counts().values().sum(),
            tainted: node_checker.tainted,
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.world.server().clock().now()
    }

    pub(crate) fn below(&self, most: u64) -> u64 {
        self.ids.number() % most
    }

    pub(crate) fn send(&mut self, what: String) {
        self.story.push(format!("{:.3} {what}", self.now()));
    }

    /// Marks later writes as the script's, or ends that.
    pub(crate) fn by_hand(&self, by_hand: bool) {
        self.log.by_hand.store(by_hand, Ordering::Relaxed);
    }

    pub(crate) fn names(&self, number: ResourceId) -> Vec<String> {
        let namespace = number.get().namespaced.then_some("default");
        let listed = self.world.server().store().list(number, ListRange { namespace, after: None }, None);
        let name = |(key, _): (Arc<str>, _)| key.rsplit('/').next().unwrap_or_default().to_owned();
        listed.map(|listed| listed.objects.into_iter().map(name).collect()).unwrap_or_default()
    }

    pub(crate) fn pick(&self, number: ResourceId) -> Option<String> {
        let names = self.names(number);
        (!names.is_empty()).then(|| names[self.below(names.len() as u64) as usize].clone())
    }
}
