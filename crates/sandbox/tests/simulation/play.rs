//! # Play: one world
//! Room:     nodes, pods, taints that come and go, faults, a controller that is killed and started again.
//! Comes in: a seed.
//! Goes out: what the judges found, and the story.
//! Not here: judging.

use super::judge::{Commit, Judge};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use taintward_client::clock::Clock;
use taintward_client::connect::Connected;
use taintward_controller::run::run_on;
use taintward_controller::settings::{Cluster, Election, Marking, Mode, Serving, Settings};
use taintward_controller::shutdown::Shutdown;
use taintward_core::time::Wall;
use taintward_sandbox::api::{Deletion, On, Server, Wish};
use taintward_sandbox::fault::Faults;
use taintward_sandbox::ids::Ids;
use taintward_sandbox::life::Role;
use taintward_sandbox::resource::{Number, known};
use taintward_sandbox::store::{Change, Range};
use taintward_sandbox::world::{self, World};
use tokio::runtime::Builder;
use tokio::task::JoinHandle;

/// A world that is wrong on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Twist {
    None,
    /// Somebody evicts a pod now and then, for no reason.
    EarlyEvictions,
    /// Nobody evicts.
    NoEvictions,
}

/// How it went.
pub(crate) struct Outcome {
    pub(crate) faults: Vec<String>,
    pub(crate) story: Vec<String>,
    pub(crate) deletions: u64,
    pub(crate) crashes: u64,
    pub(crate) broken: u64,
}

/// How long things happen, and how long everything is left alone afterwards, in seconds of the world.
const BUSY: i64 = 600;
const CALM: u64 = 900;

/// The script's own name among the writers.
const SCRIPT: &str = "script";

pub(crate) fn play(seed: u64, twist: Twist) -> Outcome {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let outcome = runtime.block_on(Play::new(seed, twist).run());
    runtime.shutdown_background();
    outcome
}

struct Play {
    world: World,
    ids: Ids,
    faults: Faults,
    twist: Twist,
    log: Arc<Mutex<Vec<Commit>>>,
    /// UIDs of pods that the script deletes.
    ours: Arc<Mutex<Vec<String>>>,
    story: Vec<String>,
    crashes: u64,
    controller: Option<JoinHandle<()>>,
    elected: bool,
}

fn pods() -> Number {
    known("", "pods")
}

fn nodes() -> Number {
    known("", "nodes")
}

impl Play {
    fn new(seed: u64, twist: Twist) -> Self {
        let ids = Ids::new(seed.wrapping_mul(0x9e37_79b9).wrapping_add(7));
        let settings = world::Settings {
            seed,
            start: "2026-01-01T00:00:00Z".parse().unwrap(),
            nodes: 2 + (ids.number() % 3) as usize,
            roles: vec![Role::Namespaces, Role::Nodes, Role::Kubelets],
            ..world::Settings::default()
        };
        let world = World::new(&settings);
        let faults = Faults::new(seed, [0, 40, 12, 5][(ids.number() % 4) as usize]);
        let (log, ours) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
        follow(world.server(), &log, &ours);
        let elected = ids.number().is_multiple_of(2);
        Self {
            world,
            ids,
            faults,
            twist,
            log,
            ours,
            story: Vec::new(),
            crashes: 0,
            controller: None,
            elected,
        }
    }

    async fn run(mut self) -> Outcome {
        let life = tokio::spawn(self.world.life().run());
        self.start();
        let end = self.now() + jiff::SignedDuration::from_secs(BUSY);
        while self.now() < end {
            self.act();
            let pause = Duration::from_millis(self.below(12_000));
            tokio::time::sleep(pause).await;
        }
        self.faults.end();
        if self.controller.is_none() {
            self.start();
        }
        tokio::time::sleep(Duration::from_secs(CALM)).await;
        let now = self.now();
        let mut judge = Judge::default();
        self.log.lock().unwrap().iter().for_each(|commit| judge.hear(commit));
        judge.judge_end(now);
        if let Some(controller) = self.controller.take() {
            controller.abort();
        }
        life.abort();
        let broken = self.faults.counts().values().sum();
        let Judge { faults, deletions, .. } = judge;
        Outcome { faults, story: self.story, deletions, crashes: self.crashes, broken }
    }

    fn now(&self) -> Timestamp {
        self.world.server().clock().now()
    }

    fn below(&self, most: u64) -> u64 {
        self.ids.number() % most
    }

    fn tell(&mut self, what: String) {
        let line = format!("{} {what}", self.now());
        self.story.push(line);
    }

    /// One thing happens.
    fn act(&mut self) {
        match self.below(20) {
            0..=6 => self.new_pod(),
            7..=10 => self.taint(),
            11..=12 => self.untaint(),
            13 => self.tolerate(),
            14 => self.recreate(),
            15 => self.crash(),
            16 if self.controller.is_none() => self.start(),
            17 => self.replace_node(),
            18 if self.twist == Twist::EarlyEvictions => self.wrong_eviction(),
            _ => {}
        }
        if self.controller.is_none() && self.below(2) == 0 {
            self.start();
        }
    }

    fn start(&mut self) {
        if self.twist == Twist::NoEvictions {
            return;
        }
        let server = self.world.server().clone();
        let client = || kube::Client::new(self.faults.before(server.clone()), "default");
        let cluster = Connected {
            client: client(),
            streams: client(),
            lease: client(),
            where_from: "a simulated world".to_owned(),
            default_namespace: "default".to_owned(),
        };
        let clock = Clock::of_runtime(Wall::from_micros(self.now().as_microsecond()));
        let settings = settings(self.elected);
        self.controller = Some(tokio::spawn(async move {
            let (_request, shutdown) = Shutdown::pair();
            // How it ends is nobody's affair here: it is killed or goes on.
            let _ = run_on(cluster, clock, settings, shutdown).await;
        }));
        self.tell("the controller starts".to_owned());
    }

    /// At whatever await point it is.
    fn crash(&mut self) {
        if let Some(controller) = self.controller.take() {
            controller.abort();
            self.crashes += 1;
            self.tell("the controller is killed".to_owned());
        }
    }

    fn names(&self, number: Number) -> Vec<String> {
        let namespace = number.get().namespaced.then_some("default");
        let listed =
            self.world.server().store().list(number, Range { namespace, after: None, limit: 0 }, None);
        let name = |(key, _): (Box<str>, _)| key.rsplit('/').next().unwrap_or_default().to_owned();
        listed.map(|listed| listed.objects.into_iter().map(name).collect()).unwrap_or_default()
    }

    fn pick(&self, number: Number) -> Option<String> {
        let names = self.names(number);
        (!names.is_empty()).then(|| names[self.below(names.len() as u64) as usize].clone())
    }

    fn new_pod(&mut self) {
        let Some(node) = self.pick(nodes()) else { return };
        let name = format!("p{}", self.below(12));
        let tolerations = self.tolerations();
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {
                "nodeName": node, "tolerations": tolerations, "terminationGracePeriodSeconds": self.below(3),
                "containers": [{"name": "c", "image": "i"}],
            },
        });
        if self.world.server().create(&On::object(pods(), "default", ""), pod, &Wish::by(SCRIPT)).is_ok() {
            self.tell(format!("pod {name} on {node}: {tolerations}"));
        }
    }

    fn tolerations(&self) -> Value {
        let one = || {
            let mut one = match self.below(4) {
                0 => json!({"operator": "Exists"}),
                1 => json!({"key": self.key(), "operator": "Equal", "value": "v"}),
                _ => json!({"key": self.key(), "operator": "Exists"}),
            };
            if self.below(3) > 0 {
                one["effect"] = json!("NoExecute");
                if self.below(4) > 0 {
                    one["tolerationSeconds"] = json!([0, 1, 5, 30, 120, 300, -5][self.below(7) as usize]);
                }
            }
            one
        };
        (0..self.below(4)).map(|_| one()).collect()
    }

    fn key(&self) -> &'static str {
        ["a", "b", "c"][self.below(3) as usize]
    }

    fn edit_taints(&mut self, what: &str, edit: impl FnOnce(&mut Vec<Value>)) {
        let Some(node) = self.pick(nodes()) else { return };
        let on = On::object(nodes(), "", &node);
        let done = self.world.server().change(&on, SCRIPT, |node| {
            let mut taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
            edit(&mut taints);
            node["spec"]["taints"] = Value::Array(taints);
        });
        if let Ok(made) = done {
            self.tell(format!("{what} {node}: {}", made.object.value()["spec"]["taints"]));
        }
    }

    fn taint(&mut self) {
        let key = self.key();
        let value = ["", "v", "w"][self.below(3) as usize];
        let effect = ["NoExecute", "NoExecute", "NoExecute", "NoSchedule"][self.below(4) as usize];
        let stamp = self.below(3) == 0;
        let now = self.world.server().clock().stamp();
        self.edit_taints("taint", |taints| {
            taints.retain(|taint| taint["key"] != key || taint["effect"] != effect);
            let mut taint = json!({"key": key, "value": value, "effect": effect});
            if stamp {
                taint["timeAdded"] = json!(now);
            }
            taints.push(taint);
        });
    }

    fn untaint(&mut self) {
        let key = self.key();
        self.edit_taints("untaint", |taints| taints.retain(|taint| taint["key"] != key));
    }

    /// A toleration more.
    fn tolerate(&mut self) {
        let Some(pod) = self.pick(pods()) else { return };
        let more = json!({"key": self.key(), "operator": "Exists", "effect": "NoExecute"});
        let done = self.world.server().change(&On::object(pods(), "default", &pod), SCRIPT, |pod| {
            let mut all = pod["spec"]["tolerations"].as_array().cloned().unwrap_or_default();
            all.push(more.clone());
            pod["spec"]["tolerations"] = Value::Array(all);
        });
        if done.is_ok() {
            self.tell(format!("pod {pod} tolerates {more}"));
        }
    }

    /// The pod goes by our hand; its name may come again.
    fn recreate(&mut self) {
        let Some(pod) = self.pick(pods()) else { return };
        self.delete_pod(&pod);
        self.tell(format!("pod {pod} deleted by hand"));
    }

    fn delete_pod(&self, pod: &str) {
        let on = On::object(pods(), "default", pod);
        if let Some(object) = self.world.server().get(pods(), "default", pod) {
            self.ours.lock().unwrap().push(object["metadata"]["uid"].as_str().unwrap_or_default().to_owned());
        }
        let how = Deletion { grace: Some(0), ..Deletion::default() };
        let _ = self.world.server().delete(&on, &how, &Wish::by(SCRIPT));
    }

    /// A node goes with its pods, and another of its name comes.
    fn replace_node(&mut self) {
        if self.below(3) > 0 {
            return;
        }
        let Some(node) = self.pick(nodes()) else { return };
        let server = self.world.server().clone();
        for pod in self.names(pods()) {
            if server.get(pods(), "default", &pod).is_some_and(|pod| pod["spec"]["nodeName"] == node.as_str())
            {
                self.delete_pod(&pod);
            }
        }
        let _ = server.delete(&On::object(nodes(), "", &node), &Deletion::default(), &Wish::by(SCRIPT));
        let index = node.trim_start_matches('n').parse().unwrap_or(1_usize) - 1;
        self.world.create("", "nodes", "", world::node(index, 2));
        self.tell(format!("node {node} replaced by another of its name"));
    }

    fn wrong_eviction(&mut self) {
        let Some(pod) = self.pick(pods()) else { return };
        let how = Deletion { grace: Some(0), ..Deletion::default() };
        let _ = self.world.server().delete(&On::object(pods(), "default", &pod), &how, &Wish::by("somebody"));
        self.tell(format!("somebody evicts {pod} for no reason"));
    }
}

fn settings(elected: bool) -> Settings {
    Settings {
        cluster: Cluster { relist_every: Some(Duration::from_secs(300)), ..Cluster::default() },
        mode: Mode::Enforce,
        marking: Marking::Always,
        stamp_taints: false,
        numeric_operators: false,
        election: elected.then(Election::default),
        serving: Serving { bind_address: [127, 0, 0, 1].into(), metrics_port: None, secure: None },
    }
}

/// Writes down every commit of nodes and pods. What a kubelet ends was deleted before.
fn follow(server: &Server, log: &Arc<Mutex<Vec<Commit>>>, ours: &Arc<Mutex<Vec<String>>>) {
    let (log, ours, clock) = (Arc::clone(log), Arc::clone(ours), server.clock().clone());
    let existing = |number: Number, node: bool| {
        let listed = server.store().list(number, Range { namespace: None, after: None, limit: 0 }, None);
        let objects = listed.map(|listed| listed.objects).unwrap_or_default();
        let at = server.clock().now();
        objects.into_iter().map(move |(_, object)| Commit {
            at,
            node,
            gone: false,
            object: object.value(),
            ours: true,
        })
    };
    log.lock().unwrap().extend(existing(nodes(), true));
    server.store().follow(Box::new(move |number, event| {
        let node = number == nodes();
        if !node && number != pods() {
            return;
        }
        let by_us = ours.lock().unwrap().iter().any(|uid| **uid == *event.object.uid);
        let gone = event.change == Change::Deleted;
        log.lock().unwrap().push(Commit {
            at: clock.now(),
            node,
            gone,
            object: event.object.value(),
            ours: by_us,
        });
    }));
}
