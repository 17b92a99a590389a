//! Runs one of the two controllers with the script, on a cluster of its own.

use super::fleet::{Rate, RealFleet};
use super::trail::{Played, Trails};
use crate::real::program::Taintward;
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use taintward_envtest::heartbeats::FakeNode;
use taintward_envtest::node_history::HistoryPosition;
use taintward_envtest::{ChildProcess, Cluster, access, wait};
use testkit::wait::let_time_pass;

/// The only controller that runs.
pub(crate) const CONTROLLER: &str = "node-lifecycle-controller";

/// The controller of a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ControllerKind {
    /// kube-controller-manager.
    Upstream,
    /// `taintward run`.
    Taintward,
}

/// The running controller.
enum RunningLifecycle {
    Nothing,
    Original(ChildProcess),
    Ours(Taintward),
}

/// One side.
pub(crate) struct LifecycleController<'c> {
    pub(crate) controller: ControllerKind,
    pub(crate) fleet: RealFleet,
    cluster: &'c Cluster,
    flags: Vec<String>,
    running: RunningLifecycle,
    /// The allowed sets of own taints of each node.
    expected: BTreeMap<String, Vec<BTreeSet<String>>>,
    began: (String, HistoryPosition, Timestamp),
    pub(crate) played: Vec<Played>,
}

impl<'c> LifecycleController<'c> {
    /// Starts the nodes and the controller.
    pub(crate) async fn start(
        controller: ControllerKind,
        cluster: &'c Cluster,
        plans: Vec<FakeNode>,
        rate: Rate,
        more: &[&str],
    ) -> Self {
        let expected = plans.iter().map(|plan| (plan.name.clone(), vec![BTreeSet::new()])).collect();
        let fleet = RealFleet::start(cluster, plans, rate).await;
        access::grant_node_lifecycle(&fleet.admin).await.unwrap();
        let mut flags = rate.flags();
        flags.extend(more.iter().map(|&flag| flag.to_owned()));
        let began = (String::new(), fleet.record.mark(), Timestamp::now());
        let mut side = Self {
            controller,
            fleet,
            cluster,
            flags,
            running: RunningLifecycle::Nothing,
            expected,
            began,
            played: Vec::new(),
        };
        side.launch().await;
        side
    }

    /// Starts the controller and waits until it acts.
    pub(crate) async fn launch(&mut self) {
        self.running = match self.controller {
            ControllerKind::Upstream => RunningLifecycle::Original(original(self.cluster, &self.flags).await),
            ControllerKind::Taintward => {
                let flags: Vec<String> =
                    [format!("--controllers={CONTROLLER}"), "--leader-elect=false".into()]
                        .into_iter()
                        .chain(self.flags.iter().cloned())
                        .collect();
                let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
                RunningLifecycle::Ours(Taintward::acting(self.cluster, &flags).await)
            }
        };
    }

    /// The minor version of Kubernetes 1.
    pub(crate) fn minor(&self) -> u32 {
        self.cluster.minor()
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        match &mut self.running {
            RunningLifecycle::Nothing => {}
            RunningLifecycle::Original(program) => drop(program.kill().unwrap()),
            RunningLifecycle::Ours(taintward) => taintward.kill(),
        }
        self.running = RunningLifecycle::Nothing;
    }

    fn program(&self) -> &ChildProcess {
        match &self.running {
            RunningLifecycle::Nothing => panic!("no controller runs"),
            RunningLifecycle::Original(program) => program,
            RunningLifecycle::Ours(taintward) => taintward.program(),
        }
    }

    /// SIGSTOP.
    pub(crate) fn pause(&self) {
        self.program().pause().unwrap();
    }

    /// SIGCONT.
    pub(crate) fn resume(&self) {
        self.program().resume().unwrap();
    }

    /// Starts a step.
    pub(crate) fn begin(&mut self, step: &str) {
        self.began = (step.to_owned(), self.fleet.record.mark(), Timestamp::now());
    }

    /// From now on these nodes must have exactly these own taints; all others keep their expectation.
    pub(crate) fn expect<N: AsRef<str>>(&mut self, nodes: impl IntoIterator<Item = N>, own: &[&str]) {
        self.expect_any(nodes, &[own]);
    }

    /// The same, where several results are possible.
    pub(crate) fn expect_any<N: AsRef<str>>(&mut self, nodes: impl IntoIterator<Item = N>, any: &[&[&str]]) {
        let own = |own: &&[&str]| own.iter().map(|&taint| taint.to_owned()).collect();
        let own: Vec<BTreeSet<String>> = any.iter().map(own).collect();
        for node in nodes {
            self.expected.insert(node.as_ref().to_owned(), own.clone());
        }
    }

    /// From now on there must be no such node.
    pub(crate) fn expect_gone(&mut self, node: &str) {
        self.expected.remove(node);
    }

    /// Waits until every node is as expected, then checks that it stays so; records what happened.
    pub(crate) async fn end(&mut self, calm: Duration) {
        let timeout = self.fleet.rate.grace * 2 + Duration::from_secs(25);
        let as_expected = async || Ok(self.unlike().is_empty().then_some(()));
        let reached = wait::until("every node to be as it must be", timeout, as_expected).await;
        let mut wrong = if reached.is_ok() { BTreeMap::new() } else { self.unlike() };
        let_time_pass(calm, "every node must stay as it is").await;
        wrong.extend(self.unlike());
        let (step, mark, since) = self.began.clone();
        println!(
            "{:?}: {step}: {:.1} s",
            self.controller,
            Timestamp::now().duration_since(since).as_secs_f64()
        );
        let trails = Trails::of(&self.fleet.record, mark, since);
        self.played.push(Played { step, trails, wrong: describe(&wrong) });
        self.began = ("between steps".into(), self.fleet.record.mark(), Timestamp::now());
        self.fleet.expect_punctual();
    }

    /// The nodes that are not as expected.
    fn unlike(&self) -> BTreeMap<String, Option<BTreeSet<String>>> {
        let names = self.fleet.record.those(|_| true);
        let all: BTreeSet<&String> = names.iter().chain(self.expected.keys()).collect();
        all.into_iter()
            .map(|name| (name.clone(), self.fleet.own(name)))
            .filter(|(name, own)| match (self.expected.get(name), own) {
                (Some(any), Some(own)) => !any.contains(own),
                (expected, own) => expected.is_some() || own.is_some(),
            })
            .collect()
    }
}

fn describe(wrong: &BTreeMap<String, Option<BTreeSet<String>>>) -> Vec<String> {
    wrong.iter().map(|(name, own)| format!("{name} has {own:?}")).collect()
}

/// Starts kube-controller-manager and waits until it acts.
pub(crate) async fn original(cluster: &Cluster, flags: &[String]) -> ChildProcess {
    let mut program = cluster.controller_manager(CONTROLLER, flags).await.unwrap();
    wait::until("kube-controller-manager's caches", Duration::from_secs(60), async || {
        program.expect_running()?;
        Ok(program.output().contains("Caches are synced").then_some(()))
    })
    .await
    .unwrap();
    program
}
