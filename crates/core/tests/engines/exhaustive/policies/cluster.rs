//! The true state: nodes, pods, the budget, the policy, and what the process has requested.

use super::Scope;
use crate::common::EPOCH;
use crate::common::script::at;
use std::sync::Arc;
use taintward_core::cluster_snapshot::{BudgetStatus, DisruptionBudget};
use taintward_core::eviction::{EvictionConfig, EvictionInput};
use taintward_core::eviction_policy::{
    BudgetFact, EvictionPolicy, EvictionPolicyFact, NamespaceLabelsFact, RecordedPolicyStatus,
    ReplicatedKind, WorkloadFact,
};
use taintward_core::fact::{BindingTimes, HoldPeriod, NodeFact, PodFact, PodLifePhase, PodTemplateFact};
use taintward_core::identity::{PodId, PodName, PodRef, ResourceVersion, Uid};
use taintward_core::object_event::ObjectEvent;
use taintward_core::scheduling::Labels;
use taintward_core::testkit::{node, pod, taint};
use taintward_core::time::{Now, Wall};
use taintward_core::workload::{Workload, WorkloadKind};

/// The taint of all scopes.
const KEY: &str = "maintenance";

/// The nodes; the last one is for replacements and never tainted.
const NODES: [&str; 3] = ["n0", "n1", "n2"];

/// A hold, in seconds: when it begins and ends.
pub(super) type Hold = (i64, i64);

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ScopeNode {
    /// Since when it has the taint.
    pub(super) tainted: Option<i64>,
    pub(super) holds: Vec<Hold>,
    /// A pod was requested to leave it under the present policy, by the present process.
    pub(super) is_begun: bool,
    version: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum PodPresence {
    Running,
    Terminating,
    Gone,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ScopePod {
    pub(super) node: usize,
    pub(super) priority: i32,
    pub(super) presence: PodPresence,
    /// A request of a process that had crashed evicted it.
    pub(super) is_orphaned: bool,
    pub(super) holds: Vec<Hold>,
    pub(super) is_marked: bool,
    version: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct PolicyCluster {
    /// In seconds.
    pub(super) now: i64,
    pub(super) nodes: [ScopeNode; 3],
    pub(super) pods: Vec<ScopePod>,
    /// How many disruptions the budget allows.
    pub(super) budget: Option<u32>,
    budget_version: u64,
    pub(super) policy: Arc<EvictionPolicy>,
    pub(super) has_policy: bool,
    /// The number of policies before this one.
    policy_serial: u64,
    pub(super) is_definition_absent: bool,
    pub(super) replicas: usize,
    pub(super) replaces: bool,
    /// When evictions were sent under a policy, in the last minute.
    pub(super) sent: Vec<i64>,
    /// A taint was removed while the brake was on: nothing is sent until then.
    pub(super) settles_until: i64,
    pub(super) config: Arc<EvictionConfig>,
}

fn wall(second: i64) -> Wall {
    Wall::from_secs(EPOCH + second)
}

fn periods(holds: &[Hold]) -> Option<Box<[HoldPeriod]>> {
    let period = |&(since, until): &Hold| HoldPeriod { since: wall(since), until: wall(until) };
    (!holds.is_empty()).then(|| holds.iter().map(period).collect())
}

fn applied<F>(fact: F) -> ObjectEvent<F> {
    ObjectEvent::Applied { fact, listed: false }
}

fn workload() -> Workload {
    Workload { namespace: "default".into(), kind: WorkloadKind::Deployment, name: "web".into() }
}

fn labels() -> Labels {
    [("app".into(), "web".into())].into()
}

impl PolicyCluster {
    pub(super) fn new(scope: Scope, config: Arc<EvictionConfig>) -> Self {
        let running = |(node, priority)| ScopePod {
            node,
            priority,
            presence: PodPresence::Running,
            is_orphaned: false,
            holds: Vec::new(),
            is_marked: false,
            version: 1,
        };
        Self {
            now: 100,
            nodes: Default::default(),
            replicas: scope.pods.len(),
            pods: scope.pods.into_iter().map(running).collect(),
            budget: scope.budget,
            budget_version: 1,
            policy: Arc::new(scope.policy),
            has_policy: true,
            policy_serial: 0,
            is_definition_absent: false,
            replaces: scope.replaces,
            sent: Vec::new(),
            settles_until: 0,
            config,
        }
    }

    pub(super) fn clock(&self) -> Now {
        at(self.now as f64)
    }

    /// The policy, if it applies.
    pub(super) fn governing(&self) -> Option<&EvictionPolicy> {
        (self.has_policy && !self.is_definition_absent).then_some(&*self.policy)
    }

    // Changes, each with its watch event.

    pub(super) fn change_node(&mut self, at: usize, change: impl FnOnce(&mut ScopeNode)) -> EvictionInput {
        change(&mut self.nodes[at]);
        self.nodes[at].version += 1;
        EvictionInput::Nodes(applied(self.node_fact(at)))
    }

    pub(super) fn change_pod(&mut self, at: usize, change: impl FnOnce(&mut ScopePod)) -> EvictionInput {
        change(&mut self.pods[at]);
        self.pods[at].version += 1;
        match self.pods[at].presence {
            PodPresence::Gone => EvictionInput::Pods(ObjectEvent::Deleted(self.pod_ref(at).into())),
            _ => EvictionInput::Pods(applied(self.pod_fact(at))),
        }
    }

    /// A pod like this one runs on the last node.
    pub(super) fn replace(&mut self, at: usize) -> EvictionInput {
        let new = ScopePod {
            node: 2,
            presence: PodPresence::Running,
            is_orphaned: false,
            is_marked: false,
            ..self.pods[at].clone()
        };
        self.pods.push(new);
        EvictionInput::Pods(applied(self.pod_fact(self.pods.len() - 1)))
    }

    pub(super) fn set_budget(&mut self, allowed: u32) -> Option<EvictionInput> {
        if self.budget.is_none_or(|before| before == allowed) {
            return None;
        }
        self.budget = Some(allowed);
        self.budget_version += 1;
        Some(EvictionInput::Budgets(applied(self.budget_fact(allowed))))
    }

    /// The policy is deleted, or another one of its name created.
    pub(super) fn toggle_policy(&mut self) -> EvictionInput {
        self.forget_begun();
        self.has_policy = !self.has_policy;
        match self.has_policy {
            true => {
                self.policy_serial += 1;
                EvictionInput::Policies(applied(self.policy_fact()))
            }
            false => {
                let object = taintward_core::object_event::ObjectRef {
                    name: "policy".into(),
                    uid: Some(self.policy_fact().uid),
                    node: None,
                };
                EvictionInput::Policies(ObjectEvent::Deleted(object))
            }
        }
    }

    pub(super) fn forget_begun(&mut self) {
        self.nodes.iter_mut().for_each(|node| node.is_begun = false);
    }

    /// What a process that starts receives.
    pub(super) fn listed(&self) -> Vec<EvictionInput> {
        fn list<F>(facts: Vec<F>) -> impl Iterator<Item = ObjectEvent<F>> {
            let events = facts.into_iter().map(|fact| ObjectEvent::Applied { fact, listed: true });
            let started = ObjectEvent::ListStarted { silent_since: None };
            [started].into_iter().chain(events.collect::<Vec<_>>()).chain([ObjectEvent::ListCompleted])
        }
        let policies = if self.has_policy { vec![self.policy_fact()] } else { Vec::new() };
        let namespace = NamespaceLabelsFact {
            uid: Uid::new("default"),
            version: None,
            name: "default".into(),
            labels: Labels::new(),
        };
        let budgets = self.budget.map(|allowed| self.budget_fact(allowed));
        let present = |at: &usize| self.pods[*at].presence != PodPresence::Gone;
        let pods = (0..self.pods.len()).filter(present).map(|at| self.pod_fact(at));
        let mut inputs = vec![EvictionInput::PolicyDefinitionAbsent(self.is_definition_absent)];
        inputs.extend(list(policies).map(EvictionInput::Policies));
        inputs.extend(list(vec![namespace]).map(EvictionInput::Namespaces));
        inputs.extend(list(budgets.into_iter().collect()).map(EvictionInput::Budgets));
        for kind in ReplicatedKind::ALL {
            let is_deployment = kind == ReplicatedKind::Deployment;
            let facts = if is_deployment { vec![self.workload_fact()] } else { Vec::new() };
            inputs.extend(list(facts).map(|event| EvictionInput::Workloads(kind, event)));
        }
        inputs
            .extend(list((0..NODES.len()).map(|at| self.node_fact(at)).collect()).map(EvictionInput::Nodes));
        inputs.extend(list(pods.collect()).map(EvictionInput::Pods));
        inputs
    }

    // Facts.

    pub(super) fn node_fact(&self, at: usize) -> NodeFact {
        let ScopeNode { tainted, holds, version, .. } = &self.nodes[at];
        NodeFact {
            labels: Some(Box::default()),
            holds: periods(holds),
            ..node(NODES[at])
                .at_version(version + 1)
                .tainted(tainted.map(|second| taint(KEY).added(wall(second))))
        }
    }

    pub(super) fn pod_fact(&self, at: usize) -> PodFact {
        let name = format!("p{at}");
        let ScopePod { node, priority, presence, holds, is_marked, version, .. } = &self.pods[at];
        let template =
            PodTemplateFact { labels: labels(), workload: Some(workload()), grace_seconds: Some(30) };
        let is_running = *presence == PodPresence::Running;
        PodFact {
            id: PodId::new(Uid::new(&name), PodName::new("default", &name)),
            priority: *priority,
            marked: *is_marked,
            holds: periods(holds),
            life_phase: if is_running { PodLifePhase::Live } else { PodLifePhase::Terminating },
            arrival: BindingTimes { scheduled: Some(wall(0)), ..BindingTimes::default() },
            ready: Some(true),
            template: Some(Box::new(template)),
            ..pod(&name).on(NODES[*node]).at_version(*version)
        }
    }

    pub(super) fn pod_ref(&self, at: usize) -> PodRef {
        let fact = self.pod_fact(at);
        PodRef { node: fact.node, uid: fact.id.uid().clone() }
    }

    /// The pod of a request.
    pub(super) fn pod_of(pod: &PodRef) -> usize {
        pod.uid.to_string()[1..].parse().expect("names of pods end in their number")
    }

    /// The node of a request.
    pub(super) fn node_of(name: &str) -> usize {
        NODES.iter().position(|node| *node == name).expect("requests are about these nodes")
    }

    pub(super) fn version_of(&self, at: usize) -> Option<ResourceVersion> {
        Some(ResourceVersion(self.pods[at].version))
    }

    fn policy_fact(&self) -> EvictionPolicyFact {
        EvictionPolicyFact {
            uid: Uid::new(&format!("policy-{}", self.policy_serial)),
            version: Some(ResourceVersion(1)),
            generation: 1,
            policy: Arc::clone(&self.policy),
            recorded: RecordedPolicyStatus::default(),
        }
    }

    fn budget_fact(&self, allowed: u32) -> BudgetFact {
        BudgetFact {
            uid: Uid::new("budget"),
            version: Some(ResourceVersion(self.budget_version)),
            budget: DisruptionBudget {
                namespace: "default".into(),
                name: "web".into(),
                selector: Some(Vec::new()),
                floor: None,
                status: Some(BudgetStatus { healthy: allowed, desired: 0 }),
            },
            allowed: Some(allowed),
        }
    }

    fn workload_fact(&self) -> WorkloadFact {
        WorkloadFact {
            uid: Uid::new("web"),
            version: Some(ResourceVersion(1)),
            workload: workload(),
            replicas: u32::try_from(self.replicas).expect("there are few pods"),
        }
    }
}
