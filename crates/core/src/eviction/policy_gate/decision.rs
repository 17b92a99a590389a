//! Decides whether a due pod whose turn has come is evicted now, and how, or what it waits for.
//!
//! - Invariant: before its deadline a pod with a budget is evicted only by the eviction API, which asks the budget.
//! - The checks come in the order of how long they may take: waves, nodes, budgets, replicas, rate. What a check takes is
//!   given back when the attempt ends.

use super::node_loads::WaveTurn;
use super::objects::{Governance, Unknown};
use super::subject::GateSubject;
use super::wait_lists::{Delay, WaitList};
use super::{Permit, PolicyGate};
use crate::eviction::notice::GoverningPolicy;
use crate::eviction_policy::{EvictionPolicy, UnavailableLimit, WaveOrder};
use crate::identity::Uid;
use crate::time::Mono;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// How a pod is evicted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct EvictionMode {
    /// By the eviction API, which respects disruption budgets; otherwise by a DELETE.
    pub(crate) respects_budgets: bool,
    /// Its grace period, if that is shorter than its own.
    pub(crate) grace_seconds: Option<u32>,
    /// The name of the policy.
    pub(crate) policy: Option<Box<str>>,
    /// It is deleted in spite of its budgets, because their deadline has come.
    pub(crate) is_forced: bool,
}

impl EvictionMode {
    /// The policy, if there is one.
    pub(crate) fn governing(&self) -> Option<GoverningPolicy> {
        self.policy.clone().map(|name| GoverningPolicy { name, is_forced: self.is_forced })
    }
}

/// What happens to a due pod whose turn has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GateDecision {
    /// It is evicted.
    Open(EvictionMode),
    /// It waits.
    Wait(Delay),
}

impl PolicyGate {
    /// Decides about a due pod whose turn has come.
    pub(crate) fn decide(&mut self, subject: &GateSubject<'_>, now: Mono) -> GateDecision {
        self.status_changed |= self.lists.remove(subject.pod).is_some();
        let (uid, policy) = match self.objects.governance(subject) {
            Governance::None => {
                self.end_permit(subject.pod);
                self.loads.stay(subject.pod);
                return GateDecision::Open(EvictionMode::default());
            }
            Governance::Unknown(unknown) => {
                let list = match unknown {
                    Unknown::Policy => WaitList::Policies,
                    Unknown::Namespaces => WaitList::Sync,
                };
                return self.wait(subject, list, None, subject.next_due);
            }
            Governance::Policy(fact) => (fact.uid.clone(), fact.policy.clone()),
        };
        let forced_at = policy.budgets.and_then(|budgets| budgets.deadline);
        let forced_at = forced_at.map(|deadline| subject.due.plus(deadline));
        let is_forced = forced_at.is_some_and(|at| at <= now);
        let wakes = forced_at.filter(|_| !is_forced).into_iter().chain(subject.next_due);
        let wake_at = wakes.min();
        match self.check(subject, &uid, &policy, policy.budgets.is_some() && !is_forced, now) {
            Err(list) => self.wait(subject, list, Some(uid), wake_at),
            Ok(budget) => {
                self.grant(subject, uid, &policy, budget, wake_at);
                let own = subject.template.grace_seconds;
                let grace =
                    policy.grace_seconds_max.filter(|max| own.is_none_or(|own| own > i64::from(*max)));
                GateDecision::Open(EvictionMode {
                    respects_budgets: policy.budgets.is_some() && !is_forced,
                    grace_seconds: grace,
                    policy: Some(policy.name.clone()),
                    is_forced,
                })
            }
        }
    }

    fn wait(
        &mut self,
        subject: &GateSubject<'_>,
        list: WaitList,
        policy: Option<Uid>,
        wake_at: Option<Mono>,
    ) -> GateDecision {
        self.end_permit(subject.pod);
        GateDecision::Wait(Delay { due: subject.due, list, policy, wake_at })
    }

    /// Returns the budget whose eviction in flight this would be; or what the pod waits for.
    fn check(
        &mut self,
        subject: &GateSubject<'_>,
        uid: &Uid,
        policy: &EvictionPolicy,
        respects_budgets: bool,
        now: Mono,
    ) -> Result<Option<Uid>, WaitList> {
        if self.invalid.contains(uid) {
            return Err(WaitList::Policies);
        }
        let pod = subject.pod;
        let has_permit = self.permits.get(pod).is_some_and(|permit| permit.policy == *uid);
        if let Some(rule) = policy.order.filter(|_| !has_permit) {
            self.check_wave(subject, rule, now)?;
        }
        // Also with a permit: the limit may be new, and the pod may still wait for its place in the minute.
        if let Some(limit) = policy.nodes_at_once
            && !self.loads.begin_emptying(uid, &pod.node, limit)
        {
            return Err(WaitList::Node(uid.clone(), pod.node.clone()));
        }
        let budget = if respects_budgets { self.check_budgets(subject, now)? } else { None };
        if !has_permit {
            if let Some(limit) = policy.unavailable_per_workload {
                self.check_workload(subject, uid, limit)?;
            }
            if let Some(per_minute) = policy.pods_per_minute
                && let Err(at) = self.rates.is_open(uid, per_minute, now)
            {
                let list = WaitList::Rate(uid.clone());
                at.into_iter().for_each(|at| self.lists.touch_at(at, list.clone()));
                return Err(list);
            }
        }
        Ok(budget)
    }

    fn check_wave(&mut self, subject: &GateSubject<'_>, rule: WaveOrder, now: Mono) -> Result<(), WaitList> {
        let node = &subject.pod.node;
        match self.loads.begin_wave(node, subject.order, rule, now) {
            WaveTurn::Later(at) => {
                let list = WaitList::Wave(node.clone(), subject.order);
                at.into_iter().for_each(|at| self.lists.touch_at(at, list.clone()));
                Err(list)
            }
            WaveTurn::Now => {
                if let Some(ends) = self.loads.wave_ends(node) {
                    let waves: Vec<WaitList> = self.lists.waves_on(node).cloned().collect();
                    waves.into_iter().for_each(|wave| self.lists.touch_at(ends, wave));
                }
                Ok(())
            }
        }
    }

    fn check_budgets(&mut self, subject: &GateSubject<'_>, now: Mono) -> Result<Option<Uid>, WaitList> {
        if !self.objects.budgets.store().is_synced() {
            return Err(WaitList::Sync);
        }
        let budgets = self.objects.budgets(subject.namespace, &subject.template.labels);
        let budget = match budgets[..] {
            [] => return self.check_unknown_budget(subject, now),
            [only] => only,
            [_, _, ..] => return Err(WaitList::BudgetsOf(subject.namespace.into())),
        };
        let is_ready = subject.is_ready;
        let list = WaitList::Budget { budget: budget.uid.clone(), is_ready };
        match self.slots.is_open(budget, is_ready, Some(subject.pod), now) {
            Ok(()) => Ok(Some(budget.uid.clone())),
            Err(at) => {
                at.into_iter().for_each(|at| self.lists.touch_at(at, list.clone()));
                Err(list)
            }
        }
    }

    /// No known budget selects the pod, but one may have rejected its eviction.
    fn check_unknown_budget(
        &mut self,
        subject: &GateSubject<'_>,
        now: Mono,
    ) -> Result<Option<Uid>, WaitList> {
        let Some(until) = self.slots.unknown_until(subject.pod, now) else { return Ok(None) };
        let list = WaitList::UnknownBudget(subject.namespace.into());
        self.lists.touch_at(until, list.clone());
        Err(list)
    }

    fn check_workload(
        &self,
        subject: &GateSubject<'_>,
        uid: &Uid,
        limit: UnavailableLimit,
    ) -> Result<(), WaitList> {
        // A pod that is not ready is not missed.
        let Some(workload) = subject.workload else { return Ok(()) };
        if !self.objects.are_workloads_synced() {
            return Err(WaitList::Sync);
        }
        let Some(replicas) = self.objects.replicas(workload) else { return Ok(()) };
        match self.readiness.unavailable(workload, replicas) < limit.of(replicas) {
            true => Ok(()),
            false => Err(WaitList::Workload(uid.clone(), workload.clone())),
        }
    }

    fn grant(
        &mut self,
        subject: &GateSubject<'_>,
        uid: Uid,
        policy: &EvictionPolicy,
        budget: Option<Uid>,
        wake_at: Option<Mono>,
    ) {
        let pod = subject.pod;
        self.status_changed = true;
        self.request_ended(pod);
        budget.iter().for_each(|budget| self.slots.take(budget, pod));
        if let Some(permit) = self.permits.get_mut(pod).filter(|permit| permit.policy == uid) {
            (permit.budget, permit.is_ready) = (budget, subject.is_ready);
            return;
        }
        self.end_permit(pod);
        self.loads.leave(pod, subject.order);
        if let Some(workload) = subject.workload {
            self.readiness.leave(workload);
        }
        if policy.pods_per_minute.is_some() {
            self.rates.prepare(&uid, pod);
        }
        self.lists.wake_at(wake_at, pod);
        let workload = subject.workload.cloned();
        let permit = Permit { policy: uid, workload, budget, is_ready: subject.is_ready, wake_at };
        self.permits.insert(pod.clone(), permit);
    }
}
