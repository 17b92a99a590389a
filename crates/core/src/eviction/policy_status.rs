//! Summarizes what each eviction policy does at this moment, for its status.
//!
//! - Invariant: bounded, however many pods wait.
//! - See `policy_gate.rs` for what delays pods.

use super::EvictionEngine;
use super::delay_reason::{DelayCategory, DelayedEviction};
use crate::eviction_policy::{EvictionPolicyFact, PolicyProblem};
use crate::identity::{NodeName, PodName, PodRef, Uid};
use crate::status_condition::{ConditionState, StatusCondition, whole_second};
use crate::time::{Mono, Now, Wall};
use alloc::borrow::ToOwned as _;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

/// The largest number of names in a status.
const NAMES_MAX: usize = 10;

/// What the status of a policy reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvictionPolicyStatus {
    /// The generation of the policy.
    pub observed: i64,
    /// Due pods that it governs.
    pub governed: usize,
    /// How many of them wait, by category.
    pub waiting: BTreeMap<DelayCategory, usize>,
    /// Pods that were deleted in spite of their budgets, by this process or one before it.
    pub forced: u64,
    /// The pod that has waited longest.
    pub oldest: Option<OldestDelay>,
    /// The pods that have waited longest, at most ten.
    pub names: Vec<PodName>,
    /// `Ready` and `Blocked`.
    pub conditions: Vec<StatusCondition>,
}

impl EvictionPolicyStatus {
    /// Whether the policy is valid.
    pub fn is_ready(&self) -> bool {
        self.is_true("Ready")
    }

    /// Whether a pod waits for something that only a person can change.
    pub fn is_blocked(&self) -> bool {
        self.is_true("Blocked")
    }

    fn is_true(&self, kind: &str) -> bool {
        self.condition(kind).is_some_and(|condition| *condition.status == *"True")
    }

    /// The condition of this kind.
    pub fn condition(&self, kind: &str) -> Option<&StatusCondition> {
        self.conditions.iter().find(|condition| *condition.kind == *kind)
    }
}

/// The pod that has waited longest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OldestDelay {
    /// Its name.
    pub pod: PodName,
    /// Its node.
    pub node: NodeName,
    /// The part of the policy that delays it.
    pub category: DelayCategory,
    /// What it waits for, in a sentence.
    pub message: String,
    /// When it was due, in whole seconds.
    pub since: Wall,
}

/// What is counted for one policy.
#[derive(Default)]
struct Tally<'a> {
    governed: usize,
    waiting: BTreeMap<DelayCategory, usize>,
    /// The first pods by due date.
    first: BTreeSet<(Mono, &'a PodName)>,
    oldest: Option<DelayedEviction<'a>>,
    /// The first pod whose wait does not end by itself.
    endless: Option<DelayedEviction<'a>>,
}

impl<'a> Tally<'a> {
    fn add(&mut self, delayed: DelayedEviction<'a>) {
        self.governed += 1;
        *self.waiting.entry(delayed.reason.category()).or_default() += 1;
        let key = |one: &DelayedEviction<'a>| (one.due, one.name);
        self.first.insert(key(&delayed));
        if self.first.len() > NAMES_MAX {
            self.first.pop_last();
        }
        let is_earlier =
            |than: &Option<DelayedEviction<'a>>| than.as_ref().is_none_or(|than| key(&delayed) < key(than));
        if delayed.reason.remedy().is_some() && is_earlier(&self.endless) {
            self.endless = Some(delayed.clone());
        }
        if is_earlier(&self.oldest) {
            self.oldest = Some(delayed);
        }
    }

    fn status(self, fact: &EvictionPolicyFact, forced: u64, now: Now) -> EvictionPolicyStatus {
        let recorded = &fact.recorded.conditions;
        let condition = |kind, state| StatusCondition::at(kind, state, recorded, (fact.generation, now.wall));
        let conditions = [("Ready", ready(fact)), ("Blocked", self.blocked(fact))];
        let conditions = conditions.map(|(kind, state)| condition(kind, state)).into();
        let oldest = self.oldest.map(|oldest| OldestDelay {
            pod: oldest.name.clone(),
            node: oldest.pod.node.clone(),
            category: oldest.reason.category(),
            message: oldest.reason.to_string(),
            since: whole_second(now.wall_of(oldest.due)),
        });
        EvictionPolicyStatus {
            observed: fact.generation,
            governed: self.governed,
            waiting: self.waiting,
            forced: forced.max(fact.recorded.forced),
            oldest,
            names: self.first.into_iter().map(|(_, name)| name.clone()).collect(),
            conditions,
        }
    }

    fn blocked(&self, fact: &EvictionPolicyFact) -> ConditionState {
        let state = |is_true, reason, message| ConditionState { is_true, reason, message };
        let Some(endless) = &self.endless else {
            let message = "no pod waits for something that only a person can change";
            return state(false, "NotBlocked", message.to_owned());
        };
        let has_deadline = fact.policy.budgets.is_some_and(|budgets| budgets.deadline.is_some());
        let message = format!("pod {} {}", endless.name, endless.reason);
        let for_deadline = endless.reason.category() == DelayCategory::Budget && has_deadline;
        let remedy = endless.reason.remedy().filter(|_| !for_deadline);
        let message = remedy.map_or(message.clone(), |remedy| format!("{message}: {remedy}"));
        match endless.reason.category() {
            _ if for_deadline => state(false, "WaitsForDeadline", message),
            DelayCategory::Budget => state(true, "BudgetNeverAllows", message),
            _ => state(true, "InvalidPolicy", message),
        }
    }
}

fn ready(fact: &EvictionPolicyFact) -> ConditionState {
    let problems = fact.policy.problems();
    let is_true = !problems.iter().any(PolicyProblem::is_error);
    let messages: Vec<String> = problems.iter().map(|problem| problem.to_string()).collect();
    let (reason, otherwise) = match (is_true, problems.is_empty()) {
        (false, _) => ("Invalid", ""),
        (true, false) => ("AppliedWithWarnings", ""),
        (true, true) => ("Applied", "the policy governs the evictions that it selects"),
    };
    let message = if problems.is_empty() { otherwise.to_owned() } else { messages.join("; ") };
    ConditionState { is_true, reason, message }
}

impl EvictionEngine {
    /// Whether a policy, or the annotation of a node, needs to know disruption budgets.
    pub fn needs_budgets(&self) -> bool {
        let objects = self.state.queue.gate().objects();
        !objects.respects().is_empty() || objects.policies().any(|fact| fact.policy.budgets.is_some())
    }

    /// Whether a policy needs to know the replicas of workloads.
    pub fn needs_workloads(&self) -> bool {
        let mut policies = self.state.queue.gate().objects().policies();
        policies.any(|fact| fact.policy.unavailable_per_workload.is_some())
    }

    /// Returns the due pods that policies delay, and what each waits for.
    pub fn delayed(&self) -> impl Iterator<Item = DelayedEviction<'_>> {
        self.state.queue.gate().delays(|pod| self.cache.name(pod))
    }

    /// Returns the pods whose holds a policy forbids.
    pub fn pods_with_forbidden_holds(&self) -> impl Iterator<Item = &PodRef> {
        self.cache.with_forbidden_holds()
    }

    /// Returns each policy with its status.
    pub fn policy_statuses(&self, now: Now) -> Vec<(&EvictionPolicyFact, EvictionPolicyStatus)> {
        let gate = self.state.queue.gate();
        let mut tallies: BTreeMap<&str, Tally<'_>> = BTreeMap::new();
        for delayed in self.delayed() {
            if let Some(policy) = delayed.policy {
                tallies.entry(policy).or_default().add(delayed);
            }
        }
        let sent: BTreeMap<&Uid, usize> = gate.permitted().fold(BTreeMap::new(), |mut sent, policy| {
            *sent.entry(policy).or_default() += 1;
            sent
        });
        let statuses = gate.objects().policies().map(|fact| {
            let mut tally = tallies.remove(&*fact.policy.name).unwrap_or_default();
            tally.governed += sent.get(&fact.uid).copied().unwrap_or_default();
            (fact, tally.status(fact, gate.forced(&fact.uid), now))
        });
        statuses.collect()
    }

    /// Whether a status may have changed since the last call.
    pub fn take_policy_changes(&mut self) -> bool {
        self.state.queue.gate_mut().take_changes()
    }
}
