//! Runs a cluster in memory and virtual time, with controllers that start, crash and stop.

#![allow(dead_code, reason = "each test binary uses some of it")]

use super::wire::{self, Fork, Meddler, Recorder, Sent};
use fakekube::api::{ApiServer, DeleteOptions, ResourcePath, WriteOptions};
use fakekube::fault::{FaultInjector, InjectedFault};
use fakekube::resource::{ResourceId, known};
use fakekube::store::ChangeKind;
use futures::FutureExt as _;
use http::Method;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use taintward_controller::run::{RunError, run_on};
use taintward_controller::settings::{
    ClusterAccess, ControllerSettings, ElectionSettings, EnabledControllers, Marking, ServingSettings,
    WriteMode,
};
use taintward_controller::shutdown::{Shutdown, ShutdownRequest};
use taintward_core::time::Wall;
use taintward_kube::clock::Clock;
use taintward_kube::config::Connected;
use taintward_sandbox::controllers::Component;
use taintward_sandbox::world::{self, World};
use testkit::{ObjectExt as _, pod};
use tokio::task::JoinHandle;

/// L1 allows a second from the deadline to the DELETE; where requests take no time, a tenth must suffice.
pub(crate) const LATE: f64 = 0.1;

/// API times have whole seconds, and no pod may leave early: after a restart a start may count this much later (S3).
pub(crate) const RESOLUTION: f64 = 1.0;

/// The field manager of what scenarios write.
pub(crate) const HAND: &str = "kubectl";

/// One write.
#[derive(Clone, Debug)]
pub(crate) struct StoreCommit {
    pub(crate) at: Timestamp,
    pub(crate) number: ResourceId,
    pub(crate) gone: bool,
    pub(crate) object: Value,
}

/// A pod of a scenario.
#[derive(Clone, Debug)]
pub(crate) struct TestPod {
    pub(crate) name: String,
    pub(crate) uid: String,
}

/// A running controller.
pub(crate) struct HarnessController {
    task: JoinHandle<Result<(), RunError>>,
    request: ShutdownRequest,
}

impl HarnessController {
    /// Kills it wherever it is.
    pub(crate) async fn kill(self) {
        self.task.abort();
        let end = self.task.await;
        assert!(end.is_err_and(|end| end.is_cancelled()), "it ended before it was killed");
    }

    /// Stops it gracefully.
    pub(crate) async fn stop(self) {
        self.request.send();
        self.task.await.unwrap().unwrap();
    }
}

/// A cluster and what happens in it.
pub(crate) struct SandboxHarness {
    pub(crate) world: World,
    /// The faults between the server and controllers: for reads, writes, streams except that of nodes' leases, that
    /// one, and the election.
    pub(crate) faults: FaultInjector,
    pub(crate) write_faults: FaultInjector,
    pub(crate) stream_faults: FaultInjector,
    pub(crate) heartbeat_faults: FaultInjector,
    pub(crate) lease_faults: FaultInjector,
    /// By how many microseconds the controllers' wall clocks were set forward.
    pub(crate) steps: Arc<AtomicI64>,
    /// Intervenes after responses to controllers' requests.
    pub(crate) meddler: Meddler,
    log: Arc<Mutex<Vec<StoreCommit>>>,
    sent: Arc<Mutex<Vec<Sent>>>,
}

pub(crate) fn pods() -> ResourceId {
    known("", "pods")
}

pub(crate) fn nodes() -> ResourceId {
    known("", "nodes")
}

/// Settings with all defaults, without election.
pub(crate) fn alone() -> ControllerSettings {
    ControllerSettings {
        cluster: ClusterAccess { relist_every: Some(Duration::from_secs(300)), ..ClusterAccess::default() },
        controllers: EnabledControllers::default(),
        mode: WriteMode::Enforce,
        marking: Marking::Always,
        stamp_taints: false,
        eviction_policies: false,
        numeric_operators: false,
        exempt_namespaces: Vec::new(),
        election: None,
        serving: ServingSettings { bind_address: [127, 0, 0, 1].into(), metrics_port: None, secure: None },
        seed: Some(7),
        recorder: None,
    }
}

/// The settings of one of several replicas.
pub(crate) fn elected(seed: u64) -> ControllerSettings {
    ControllerSettings { election: Some(ElectionSettings::default()), seed: Some(seed), ..alone() }
}

pub(crate) fn no_execute(key: &str) -> Value {
    json!({"key": key, "value": "v", "effect": "NoExecute"})
}

pub(crate) async fn sleep(seconds: f64) {
    tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
}

pub(crate) fn after(at: Timestamp, seconds: f64) -> Timestamp {
    at.saturating_add(SignedDuration::from_secs_f64(seconds)).unwrap()
}

impl SandboxHarness {
    /// A cluster of `nodes` nodes, `n1` and on, without kubelets: pods stay pending, and deleted ones keep terminating.
    pub(crate) fn new(nodes: usize) -> Self {
        Self::with(nodes, Vec::new())
    }

    /// The same, with kubelets: pods run, and end when they are deleted.
    pub(crate) fn alive(nodes: usize) -> Self {
        Self::with(nodes, vec![Component::Namespaces, Component::Nodes, Component::Kubelets])
    }

    fn with(nodes: usize, roles: Vec<Component>) -> Self {
        Self::of(world::WorldSettings { nodes, roles, ..world::WorldSettings::default() })
    }

    /// A cluster of any kind, at the start time that all of them have.
    pub(crate) fn of(settings: world::WorldSettings) -> Self {
        let start = "2026-01-01T00:00:00.4Z".parse().unwrap();
        let world = World::new(&world::WorldSettings { start, ..settings });
        let log: Arc<Mutex<Vec<StoreCommit>>> = Arc::default();
        let (all, clock) = (Arc::clone(&log), world.server().clock().clone());
        world.server().store().follow(Box::new(move |number, event| {
            let (at, gone) = (clock.now(), event.change == ChangeKind::Deleted);
            all.lock().unwrap().push(StoreCommit { at, number, gone, object: event.object.value() });
        }));
        tokio::spawn(world.life().run());
        let never = || FaultInjector::new(1, 0);
        Self {
            world,
            faults: never(),
            write_faults: never(),
            stream_faults: never(),
            heartbeat_faults: never(),
            lease_faults: never(),
            steps: Arc::default(),
            meddler: Meddler::default(),
            log,
            sent: Arc::default(),
        }
    }

    pub(crate) fn server(&self) -> &ApiServer {
        self.world.server()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.server().clock().now()
    }

    /// Starts a controller and waits until it has listed everything.
    pub(crate) async fn controller(&self, settings: ControllerSettings) -> HarnessController {
        let controller = self.start(settings);
        sleep(1.0).await;
        controller
    }

    /// Starts a controller without waiting.
    pub(crate) fn start(&self, settings: ControllerSettings) -> HarnessController {
        self.start_by(self.clock(), settings)
    }

    /// The clock of a new controller, with the error that the scenario has set.
    pub(crate) fn clock(&self) -> Clock {
        let clock = Clock::of_runtime(Wall::from_micros(self.now().as_microsecond()));
        clock.stepped_by(Arc::clone(&self.steps))
    }

    /// Starts a controller with this clock, without waiting.
    pub(crate) fn start_by(&self, clock: Clock, settings: ControllerSettings) -> HarnessController {
        let recorder = || Recorder {
            server: self.server().clone(),
            meddler: self.meddler.clone(),
            sent: Arc::clone(&self.sent),
        };
        let forked = |which, first: &FaultInjector, second: &FaultInjector| {
            let (first, second) = (first.before(recorder()), second.before(recorder()));
            kube::Client::new(Fork { which, first, second }, "default")
        };
        let cluster = Connected {
            client: forked(wire::is_write, &self.faults, &self.write_faults),
            streams: forked(wire::is_of_leases, &self.stream_faults, &self.heartbeat_faults),
            heartbeats: forked(wire::is_of_leases, &self.stream_faults, &self.heartbeat_faults),
            lease: kube::Client::new(self.lease_faults.before(recorder()), "default"),
            host: "in-process".to_owned(),
            where_from: "a cluster in memory".to_owned(),
            default_namespace: "default".to_owned(),
        };
        let (request, shutdown) = Shutdown::pair();
        let task = tokio::spawn(run_on(cluster, clock, settings, shutdown));
        HarnessController { task, request }
    }

    /// Makes the server unavailable for controllers, but not for their election; `None` ends the outage.
    pub(crate) fn outage(&self, fault: Option<InjectedFault>) {
        for faults in [&self.faults, &self.write_faults, &self.stream_faults, &self.heartbeat_faults] {
            faults.outage(fault);
        }
    }

    /// From now on, a request of a controller takes this many seconds to the server, and its response as many back.
    pub(crate) fn slow_link(&self, each_way: f64) {
        let all = [
            &self.faults,
            &self.write_faults,
            &self.stream_faults,
            &self.heartbeat_faults,
            &self.lease_faults,
        ];
        all.iter().for_each(|faults| faults.slow_link(Duration::from_secs_f64(each_way)));
    }

    /// Lets time pass while controllers are stopped or suspended: only scenarios act.
    pub(crate) fn slumber(&self, seconds: f64) {
        // The first poll moves the time; another would let other tasks run.
        let _ = tokio::time::advance(Duration::from_secs_f64(seconds)).now_or_never();
    }

    /// Creates a pod.
    pub(crate) fn create_pod(&self, name: &str, node: &str, tolerations: &[Value]) -> TestPod {
        self.create_pod_with(name, node, tolerations, |_| {})
    }

    /// Creates a pod with further fields.
    pub(crate) fn create_pod_with(
        &self,
        name: &str,
        node: &str,
        tolerations: &[Value],
        with: impl FnOnce(&mut Value),
    ) -> TestPod {
        let pod = pod(name).on(node).tolerates(tolerations.iter().cloned());
        let mut pod = pod.with("spec.terminationGracePeriodSeconds", 1);
        with(&mut pod);
        let made = self
            .server()
            .create(&ResourcePath::object(pods(), "default", ""), pod, &WriteOptions::by(HAND))
            .unwrap();
        TestPod { name: name.to_owned(), uid: made.object.uid.to_string() }
    }

    /// Changes a pod.
    pub(crate) fn change_pod(&self, pod: &TestPod, change: impl FnOnce(&mut Value)) {
        self.server().change(&ResourcePath::object(pods(), "default", &pod.name), HAND, change).unwrap();
    }

    /// Deletes the pod immediately, by hand.
    pub(crate) fn delete_pod(&self, pod: &TestPod) {
        let how = DeleteOptions { grace: Some(0), ..DeleteOptions::default() };
        self.server()
            .delete(&ResourcePath::object(pods(), "default", &pod.name), &how, &WriteOptions::by(HAND))
            .unwrap();
    }

    pub(crate) fn delete_node(&self, node: &str) {
        self.server()
            .delete(
                &ResourcePath::object(nodes(), "", node),
                &DeleteOptions::default(),
                &WriteOptions::by(HAND),
            )
            .unwrap();
    }

    /// Replaces a node's taints, as `kubectl taint` does. Returns when.
    pub(crate) fn set_taints(&self, node: &str, taints: &[Value]) -> Timestamp {
        let on = ResourcePath::object(nodes(), "", node);
        self.server().change(&on, HAND, |node| node["spec"]["taints"] = taints.into()).unwrap();
        self.now()
    }

    /// When its deletion was accepted.
    pub(crate) fn deleted(&self, pod: &TestPod) -> Option<Timestamp> {
        let log = self.log.lock().unwrap();
        let mut all = log.iter().filter(|one| one.object["metadata"]["uid"] == pod.uid.as_str());
        all.find(|one| one.gone || !one.object["metadata"]["deletionTimestamp"].is_null()).map(|one| one.at)
    }

    /// Asserts that it was deleted at this time or up to `late` later.
    #[track_caller]
    pub(crate) fn went(&self, pod: &TestPod, due: Timestamp, late: f64) {
        let Some(at) = self.deleted(pod) else {
            panic!("{} is there at {}, and was due at {due}", pod.name, self.now())
        };
        let latest = after(due, late);
        assert!(at >= due && at <= latest, "{}: deleted at {at}, not within {due} and {latest}", pod.name);
        assert!(self.now() >= latest, "checked too early");
    }

    /// Asserts that it exists and that no controller has changed it.
    #[track_caller]
    pub(crate) fn stays(&self, pod: &TestPod) {
        assert_eq!(self.deleted(pod), None, "{} is gone", pod.name);
        assert!(self.server().get(pods(), "default", &pod.name).is_some(), "{} is not there", pod.name);
        let log = self.log.lock().unwrap();
        let last = log.iter().rfind(|one| one.object["metadata"]["uid"] == pod.uid.as_str()).unwrap();
        let conditions = last.object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let marked = conditions.iter().any(|one| one["type"] == "DisruptionTarget");
        assert!(!marked, "{} is marked", pod.name);
    }

    /// Requests that reached the server, except reads.
    pub(crate) fn writes(&self) -> Vec<Sent> {
        let changes =
            |sent: &&Sent| sent.method != Method::GET && !sent.path.contains("/selfsubjectaccessreviews");
        self.sent.lock().unwrap().iter().filter(changes).cloned().collect()
    }

    /// Writes about a pod of this name: marks, deletions, events.
    pub(crate) fn writes_on(&self, name: &str) -> Vec<Sent> {
        let path = format!("/api/v1/namespaces/default/pods/{name}");
        let status = format!("{path}/status");
        let about = |sent: &Sent| sent.body["regarding"]["name"] == name;
        let mut all = self.writes();
        all.retain(|sent| sent.path == path || sent.path == status || about(sent));
        all
    }

    /// Every request that reached the server.
    pub(crate) fn sent(&self) -> Vec<Sent> {
        self.sent.lock().unwrap().clone()
    }

    /// Every commit.
    pub(crate) fn commits(&self) -> Vec<StoreCommit> {
        self.commits_of(|_| true)
    }

    /// Commits of one kind.
    pub(crate) fn commits_of(&self, which: impl Fn(&StoreCommit) -> bool) -> Vec<StoreCommit> {
        self.log.lock().unwrap().iter().filter(|one| which(one)).cloned().collect()
    }
}
