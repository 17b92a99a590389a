//! Delays due pods as the brake and eviction policies say, between the moment at which a pod's turn comes and its first request.
//!
//! - Invariant: brake and policies only delay. A pod that is not due any more leaves the gate, and no request follows.
//! - Invariant: while nothing changes, a pod that waits costs nothing; what may end its reason gives the oldest pods of that
//!   list their turn, which decides again from the facts.
//! - See `policy_gate/brake.rs` for the brake, and `policy_gate/decision.rs` for the order of the checks of policies.

mod brake;
mod braking;
mod budget_slots;
mod decision;
mod events;
mod node_loads;
mod node_respects;
mod objects;
mod opening;
mod rate;
mod readiness;
mod subject;
mod wait_lists;

pub(crate) use braking::DueTaint;
pub(crate) use decision::{EvictionMode, GateDecision};
pub(crate) use events::PolicyChange;
pub(crate) use objects::PolicyObjects;
pub(crate) use subject::GateSubject;
pub(crate) use wait_lists::Delay;

use super::delay_reason::{DelayedEviction, DelayedPods, EvictionDelayReason};
use super::order::EvictionOrder;
use super::work_queue::QueueKey;
use crate::eviction_policy::BudgetFact;
use crate::fact::{NodeRespect, PodTemplateFact};
use crate::identity::{NodeName, PodName, PodRef, Uid};
use crate::time::Mono;
use crate::workload::Workload;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use brake::{Brake, BrakeCount};
use budget_slots::BudgetSlots;
use node_loads::NodeLoads;
use rate::Rates;
use readiness::Readiness;
use wait_lists::{WaitList, WaitLists};

/// Every due pod that a policy governs or the brake delays, and what policies need to know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct PolicyGate {
    objects: PolicyObjects,
    /// Policies with errors.
    invalid: BTreeSet<Uid>,
    lists: WaitLists,
    permits: BTreeMap<PodRef, Permit>,
    loads: NodeLoads,
    slots: BudgetSlots,
    rates: Rates,
    readiness: Readiness,
    /// For each policy, how many pods were deleted in spite of their budgets.
    forced: BTreeMap<Uid, u64>,
    /// What a status reports may have changed.
    status_changed: bool,
    /// The brake, if it is on.
    brake: Option<Brake>,
}

/// A pod whose eviction may be sent under a policy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Permit {
    policy: Uid,
    /// Its workload, if one of its ready replicas leaves with it.
    workload: Option<Workload>,
    /// The budget whose only eviction in flight it is.
    budget: Option<Uid>,
    /// It was ready when it got the permit.
    is_ready: bool,
    /// When its next turn comes, whatever it waits for.
    wake_at: Option<Mono>,
}

impl PolicyGate {
    pub(crate) fn objects(&self) -> &PolicyObjects {
        &self.objects
    }

    /// Whether a pod can have to wait.
    pub(crate) fn is_active(&self) -> bool {
        let has_rules = self.objects.has_policies() || !self.objects.respects().is_empty();
        has_rules || !self.permits.is_empty() || !self.lists.is_empty()
    }

    /// The budgets that select a pod.
    pub(crate) fn budgets(&self, namespace: &str, template: &PodTemplateFact) -> Vec<BudgetFact> {
        self.objects.budgets(namespace, &template.labels).into_iter().cloned().collect()
    }

    /// Whether a policy of an eviction that these taints would demand forbids holds of the pod.
    pub(crate) fn forbids_holds(&self, subject: &GateSubject<'_>) -> bool {
        self.objects.selecting(subject).any(|fact| !fact.policy.allow_holds)
    }

    /// A node has this annotation about its taints, or none. Returns whether that is new.
    pub(crate) fn set_node_respect(&mut self, node: &NodeName, annotation: Option<Box<NodeRespect>>) -> bool {
        self.objects.respects_mut().set(node, annotation)
    }

    /// A pod is due: it waits for its turn.
    pub(crate) fn due(&mut self, pod: &PodRef, order: EvictionOrder) {
        if self.is_active() {
            self.loads.wait(pod, order);
        }
    }

    /// A pod was due before there were policies.
    pub(crate) fn due_before(&mut self, pod: &PodRef, order: EvictionOrder) {
        if !self.loads.is_leaving(pod) {
            self.due(pod, order);
        }
    }

    /// A pod waits although its turn has come.
    pub(crate) fn park(&mut self, key: QueueKey, known_due: Mono, delay: Delay) {
        self.status_changed = true;
        match delay.list {
            // It does not leave, so that no other pod waits for it.
            WaitList::Brake(_) => self.loads.stay(&key.pod),
            _ => self.loads.wait(&key.pod, key.rank),
        }
        self.lists.park(key, known_due, delay);
    }

    /// A pod is not due any more, or its fact has changed. Returns when it was known to be due, if it waited.
    pub(crate) fn withdraw(&mut self, pod: &PodRef) -> Option<Mono> {
        self.loads.stay(pod);
        let waited = self.lists.remove(pod);
        self.status_changed |= waited.is_some();
        waited.map(|waiting| waiting.known_due)
    }

    /// The attempt to evict a pod ended without a deletion.
    pub(crate) fn attempt_ended(&mut self, pod: &PodRef) {
        self.end_permit(pod);
        self.loads.stay(pod);
    }

    /// The deletion of a pod is accepted: its node is not rid of it yet.
    pub(crate) fn accepted(&mut self, pod: &PodRef) {
        self.set_not_due(pod);
        self.loads.accept(pod);
        self.end_permit(pod);
    }

    /// The policy of this name had a pod deleted in spite of its budgets. The watch may have delivered that the pod is gone
    /// before the response came: it needs no permit to count.
    pub(crate) fn count_forced(&mut self, policy: &str) {
        let Some(fact) = self.objects.policies().find(|fact| *fact.policy.name == *policy) else { return };
        let (uid, recorded) = (fact.uid.clone(), fact.recorded.forced);
        let forced = self.forced.entry(uid).or_default();
        *forced = recorded.max(*forced) + 1;
        self.status_changed = true;
    }

    /// A pod is gone, or lives although it was terminating.
    pub(crate) fn pod_gone(&mut self, pod: &PodRef) {
        self.set_not_due(pod);
        self.status_changed |= self.lists.remove(pod).is_some();
        self.end_permit(pod);
        self.slots.forget_unknown(pod);
        self.loads.forget(pod);
    }

    /// No eviction of a pod is in flight any more: it may wait for a retry.
    pub(crate) fn request_ended(&mut self, pod: &PodRef) {
        if let Some(budget) = self.permits.get_mut(pod).and_then(|permit| permit.budget.take()) {
            self.give_back(&budget, pod);
        }
    }

    /// A budget rejected the eviction of a pod.
    pub(crate) fn rejected(&mut self, pod: &PodRef, now: Mono) {
        match self.permits.get(pod).and_then(|permit| Some((permit.budget.clone()?, permit.is_ready))) {
            Some((budget, is_ready)) => {
                let until = self.slots.reject(&budget, is_ready, pod, now);
                self.lists.touch_at(until, WaitList::Budget { budget, is_ready });
            }
            None => _ = self.slots.reject_unknown(pod, now),
        }
        if let Some(permit) = self.permits.get(pod)
            && self.rates.reject(&permit.policy, pod)
        {
            self.lists.touch(WaitList::Rate(permit.policy.clone()));
        }
    }

    fn end_permit(&mut self, pod: &PodRef) {
        let Some(permit) = self.permits.remove(pod) else { return };
        self.status_changed = true;
        self.lists.cancel_wake(permit.wake_at, pod);
        if let Some(workload) = &permit.workload {
            self.readiness.end_leaving(workload);
            self.touch_workload(workload);
        }
        if let Some(budget) = &permit.budget {
            self.give_back(budget, pod);
        }
        if self.rates.forget(&permit.policy, pod) {
            self.lists.touch(WaitList::Rate(permit.policy));
        }
    }

    fn give_back(&mut self, budget: &Uid, pod: &PodRef) {
        if self.slots.give_back(budget, pod) {
            self.touch_budget(budget);
        }
    }

    fn touch_workload(&mut self, workload: &Workload) {
        let limiting = self.objects.policies().filter(|fact| fact.policy.unavailable_per_workload.is_some());
        let lists: Vec<WaitList> =
            limiting.map(|fact| WaitList::Workload(fact.uid.clone(), workload.clone())).collect();
        lists.into_iter().for_each(|list| self.lists.touch(list));
    }

    /// Whether the eviction of a pod may be sent now, and counts as sent; otherwise when.
    pub(crate) fn send(&mut self, pod: &PodRef, now: Mono) -> Result<(), Mono> {
        let Some(policy) = self.permits.get(pod).map(|permit| permit.policy.clone()) else { return Ok(()) };
        let Some(per_minute) = self.objects.policy(&policy).and_then(|policy| policy.pods_per_minute) else {
            return Ok(());
        };
        self.rates.send(&policy, pod, per_minute, now)?;
        self.rates.forget(&policy, pod);
        self.lists.touch(WaitList::Rate(policy));
        Ok(())
    }

    /// Time has passed. Returns the pods that get their turn, whatever they wait for.
    pub(crate) fn tick(&mut self, now: Mono) -> Vec<PodRef> {
        self.brake.iter_mut().for_each(|brake| brake.pass_time(now));
        self.lists.pass_time(now)
    }

    /// When the passing of time alone may give a pod its turn.
    pub(crate) fn next_timer(&self) -> Option<Mono> {
        let brake = self.brake.as_ref().and_then(Brake::next_timer);
        self.lists.next_timer().into_iter().chain(brake).min()
    }

    /// Whether a pod may get its turn without the passing of time.
    pub(crate) fn has_changed(&self) -> bool {
        let has_ended = self.brake.as_ref().is_some_and(Brake::has_ended);
        has_ended || self.lists.has_changed() || self.loads.has_changed()
    }

    /// Gives one pod its turn, whatever it waits for.
    pub(crate) fn hasten(&mut self, pod: &PodRef) -> Option<(QueueKey, Mono)> {
        self.lists.hasten(pod)
    }

    /// The taints or labels of a node have changed: its pods are decided about again.
    pub(crate) fn waiting_on(&self, node: &NodeName) -> Vec<PodRef> {
        self.lists.braked_on(node).cloned().chain(self.loads.waiting_on(node)).collect()
    }

    /// The pods that wait, and what for. `name_of` finds their names.
    pub(crate) fn delays<'a>(
        &'a self,
        name_of: impl Fn(&PodRef) -> Option<&'a PodName>,
    ) -> impl Iterator<Item = DelayedEviction<'a>> {
        self.lists.waiting().filter_map(move |(waiting, list)| {
            let respects = self.objects.respects();
            let of_node = |uid| respects.policy(&waiting.key.pod.node, uid);
            let policy = waiting.policy.as_ref();
            let policy = policy.and_then(|uid| self.objects.policy(uid).or_else(|| of_node(uid)));
            let due = waiting.key.due;
            let budgets = policy.and_then(|policy| policy.budgets);
            let deadline = budgets.and_then(|budgets| budgets.deadline);
            Some(DelayedEviction {
                pod: &waiting.key.pod,
                name: name_of(&waiting.key.pod)?,
                due,
                respects_budgets: budgets.is_some(),
                forced_at: deadline.map(|deadline| due.plus(deadline)),
                policy: policy.map(|policy| &*policy.name),
                reason: self.reason(list),
            })
        })
    }

    fn reason<'a>(&'a self, list: &'a WaitList) -> EvictionDelayReason<'a> {
        match list {
            WaitList::Sync => EvictionDelayReason::Lists,
            WaitList::Brake(key) => {
                let BrakeCount { nodes, limit } = self.brake_count(key);
                EvictionDelayReason::Brake { key, nodes, limit }
            }
            WaitList::Policies => EvictionDelayReason::Policy,
            WaitList::BudgetsOf(_) => EvictionDelayReason::SeveralBudgets,
            WaitList::UnknownBudget(_) => EvictionDelayReason::UnknownBudget,
            WaitList::Budget { budget, .. } => {
                let budget = self.objects.budgets.store().get(budget);
                budget.map_or(EvictionDelayReason::Lists, EvictionDelayReason::Budget)
            }
            WaitList::Workload(_, workload) => EvictionDelayReason::Replicas(workload),
            WaitList::Node(policy, node) => {
                EvictionDelayReason::Nodes { node, emptied: self.loads.emptied(policy) }
            }
            WaitList::Wave(..) => EvictionDelayReason::Order,
            WaitList::Rate(_) => EvictionDelayReason::Rate,
        }
    }

    /// The policy of each pod whose eviction may be sent.
    pub(crate) fn permitted(&self) -> impl Iterator<Item = &Uid> {
        self.permits.values().map(|permit| &permit.policy)
    }

    /// How many pods a policy has deleted in spite of their budgets.
    pub(crate) fn forced(&self, policy: &Uid) -> u64 {
        self.forced.get(policy).copied().unwrap_or_default()
    }

    /// Whether a status may have changed since the last call.
    pub(crate) fn take_changes(&mut self) -> bool {
        core::mem::take(&mut self.status_changed)
    }

    /// The number of pods that wait.
    pub(crate) fn delayed(&self) -> DelayedPods {
        self.lists.count()
    }

    /// When the first of them was due.
    pub(crate) fn oldest_due(&self) -> Option<Mono> {
        self.lists.oldest_due()
    }

    /// The pods whose eviction may be sent, or that terminate.
    pub(crate) fn leaving(&self) -> Vec<PodRef> {
        self.loads.leaving().collect()
    }

    /// All pods that wait.
    pub(crate) fn all(&self) -> Vec<PodRef> {
        self.lists.all()
    }
}
