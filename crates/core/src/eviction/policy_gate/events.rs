//! Applies what the watches of policies, budgets, workloads and namespaces deliver, and what pods do by themselves.

use super::PolicyGate;
use super::subject::GateSubject;
use super::wait_lists::WaitList;
use crate::eviction_policy::{
    BudgetFact, EvictionPolicyFact, NamespaceLabelsFact, ReplicatedKind, WorkloadFact,
};
use crate::identity::Uid;
use crate::object_event::{ObjectEvent, ObjectIndex as _};
use crate::time::{Mono, Now};
use crate::workload::Workload;
use alloc::vec::Vec;

/// What follows from a change of policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PolicyChange {
    /// Nothing.
    Nothing,
    /// Every pod that waits is decided about again.
    Decide,
    /// The same, and every ready pod and every terminating pod has to be counted.
    Count,
}

impl PolicyGate {
    /// An event of the policy watch.
    pub(crate) fn apply_policies(
        &mut self,
        event: ObjectEvent<EvictionPolicyFact>,
        now: Now,
    ) -> PolicyChange {
        let had_policies = self.objects.has_policies();
        self.objects.policies.apply(event, now);
        self.status_changed = true;
        match self.objects.policies.take_changed() {
            true => self.settle_policies(had_policies, now.mono),
            false => PolicyChange::Nothing,
        }
    }

    /// The kind of policies is installed, or is not.
    pub(crate) fn set_definition_absent(&mut self, absent: bool, now: Mono) -> PolicyChange {
        let had_policies = self.objects.has_policies();
        let has_changed = core::mem::replace(&mut self.objects.definition_absent, absent) != absent;
        if has_changed && (had_policies || self.objects.has_policies()) {
            return self.settle_policies(had_policies, now);
        }
        PolicyChange::Nothing
    }

    fn settle_policies(&mut self, had_policies: bool, now: Mono) -> PolicyChange {
        let Self { objects, invalid, rates, readiness, loads, forced, .. } = self;
        *invalid =
            objects.policies().filter(|fact| !fact.policy.is_valid()).map(|fact| fact.uid.clone()).collect();
        for fact in objects.policies() {
            if let Some(per_minute) = fact.policy.pods_per_minute {
                rates.begin(&fact.uid, per_minute, now);
            }
            if let Some(limit) = fact.policy.nodes_at_once {
                loads.apply_limit(&fact.uid, limit);
            }
        }
        forced.retain(|uid, _| objects.policy(uid).is_some());
        rates.retain(|uid| objects.policy(uid).is_some_and(|policy| policy.pods_per_minute.is_some()));
        let is_counted = objects.policies().any(|fact| fact.policy.unavailable_per_workload.is_some());
        let begins = is_counted != readiness.is_counted();
        if begins {
            readiness.set_counted(is_counted);
        }
        match begins || objects.has_policies() && !had_policies {
            true => PolicyChange::Count,
            false => PolicyChange::Decide,
        }
    }

    /// An event of the budget watch.
    pub(crate) fn apply_budgets(&mut self, event: ObjectEvent<BudgetFact>, now: Now) -> PolicyChange {
        let known =
            |uid: &Uid| self.objects.budgets.store().get(uid).map(|fact| fact.budget.namespace.clone());
        let changed = match &event {
            ObjectEvent::Applied { fact, .. } => Some((fact.uid.clone(), fact.budget.namespace.clone())),
            ObjectEvent::Deleted(object) | ObjectEvent::Undecodable(object) => {
                object.uid.clone().and_then(|uid| Some((uid.clone(), known(&uid)?)))
            }
            _ => None,
        };
        self.objects.budgets.apply(event, now);
        if !self.objects.budgets.take_changed() {
            return PolicyChange::Nothing;
        }
        self.status_changed |= !self.lists.is_empty();
        if let Some((uid, namespace)) = changed {
            self.slots.budget_changed(&uid);
            self.touch_budget(&uid);
            self.lists.touch(WaitList::BudgetsOf(namespace.clone()));
            self.lists.touch(WaitList::UnknownBudget(namespace));
        } else {
            let is_about_budgets = |list: &WaitList| {
                matches!(
                    list,
                    WaitList::Budget { .. }
                        | WaitList::BudgetsOf(_)
                        | WaitList::UnknownBudget(_)
                        | WaitList::Sync
                )
            };
            self.lists.touch_all(is_about_budgets);
        }
        PolicyChange::Nothing
    }

    /// An event of the watch of a kind of workloads.
    pub(crate) fn apply_workloads(
        &mut self,
        kind: ReplicatedKind,
        event: ObjectEvent<WorkloadFact>,
        now: Now,
    ) -> PolicyChange {
        let workload = match &event {
            ObjectEvent::Applied { fact, .. } => Some(fact.workload.clone()),
            _ => None,
        };
        let store = self.objects.workloads.entry(kind).or_default();
        store.apply(event, now);
        if store.take_changed() {
            match workload {
                Some(workload) => self.touch_workload(&workload),
                None => self.lists.touch_all(|list| matches!(list, WaitList::Workload(..) | WaitList::Sync)),
            }
        }
        PolicyChange::Nothing
    }

    /// An event of the namespace watch.
    pub(crate) fn apply_namespaces(
        &mut self,
        event: ObjectEvent<NamespaceLabelsFact>,
        now: Now,
    ) -> PolicyChange {
        self.objects.namespaces.apply(event, now);
        match self.objects.namespaces.take_changed() && self.is_active() {
            true => PolicyChange::Decide,
            false => PolicyChange::Nothing,
        }
    }

    /// A pod was a ready replica of this workload, and is one of that workload now.
    pub(crate) fn change_readiness(&mut self, before: Option<&Workload>, after: Option<&Workload>) {
        if before == after || !self.readiness.is_counted() {
            return;
        }
        self.readiness.change(before, after);
        after.into_iter().for_each(|workload| self.touch_workload(workload));
    }

    pub(crate) fn touch_budget(&mut self, budget: &Uid) {
        WaitList::of_budget(budget).into_iter().for_each(|list| self.lists.touch(list));
    }

    /// The workload of a ready pod, if ready pods are counted.
    pub(crate) fn ready_workload(&self, workload: Option<&Workload>) -> Option<Workload> {
        workload.filter(|_| self.readiness.is_counted()).cloned()
    }

    /// The eviction of a pod was in flight before there was a policy: it leaves its node under those that limit nodes.
    pub(crate) fn observe_leaving(&mut self, subject: &GateSubject<'_>) {
        let is_limited = |fact: &EvictionPolicyFact| fact.policy.nodes_at_once.is_some();
        if self.objects.selecting(subject).any(is_limited) {
            self.loads.leave(subject.pod, subject.order);
        }
    }

    /// The eviction of a pod may be sent, or it terminates: its node is being emptied under the policies that limit nodes.
    pub(crate) fn observe_emptied(&mut self, subject: &GateSubject<'_>) {
        let Self { objects, loads, .. } = self;
        for fact in objects.selecting(subject).filter(|fact| fact.policy.nodes_at_once.is_some()) {
            loads.is_emptied(&fact.uid, &subject.pod.node);
        }
    }

    /// A pod is found terminating: this process or another client has deleted it, and its node may be emptied now.
    /// `subject` has all NoExecute taints of the node.
    pub(crate) fn observe_terminating(&mut self, subject: &GateSubject<'_>, now: Mono) {
        let Self { objects, loads, rates, .. } = self;
        let policies: Vec<&EvictionPolicyFact> = objects.selecting(subject).collect();
        if policies.is_empty() {
            return;
        }
        let pod = subject.pod;
        let is_own = loads.is_leaving(pod);
        loads.terminate(pod, subject.order);
        for fact in policies {
            if let Some(per_minute) = fact.policy.pods_per_minute.filter(|_| !is_own) {
                rates.observe(&fact.uid, per_minute, now);
            }
        }
        self.observe_emptied(subject);
    }
}
