//! The properties: which requests a policy, a hold or the brake forbids, and which pods may stay. They read the true state
//! only, without code of the engine.

use super::cluster::{Hold, PodPresence, PolicyCluster};
use taintward_core::eviction::EvictionEffect;
use taintward_core::eviction_policy::EvictionPolicy;

/// How long a node counts for the brake after its pods became due, in seconds.
const COUNTS_FOR: i64 = 300;

impl PolicyCluster {
    /// Why a request must not be sent now, while others are in flight.
    pub(super) fn forbids(
        &self,
        effect: &EvictionEffect,
        flights: &[EvictionEffect],
    ) -> Option<&'static str> {
        let pod = match effect {
            EvictionEffect::SetDisruptionTarget { pod, .. }
            | EvictionEffect::DeletePod { pod, .. }
            | EvictionEffect::EvictPod { pod, .. } => Self::pod_of(pod),
            EvictionEffect::ReadNode { .. }
            | EvictionEffect::ReadPod { .. }
            | EvictionEffect::ClearDisruptionTarget { .. } => return None,
        };
        let node = &self.nodes[self.pods[pod].node];
        if node.tainted.is_none() {
            return Some("the pod is not due");
        }
        if self.is_held(pod) {
            return Some("the pod is held");
        }
        if self.is_braked() {
            return Some("the brake is on");
        }
        let by_eviction_api = matches!(effect, EvictionEffect::EvictPod { .. });
        let Some(policy) = self.governing() else {
            return by_eviction_api.then_some("no policy demands the eviction API");
        };
        if !policy.is_valid() {
            return Some("the policy is invalid");
        }
        let others = flights.iter().filter_map(evicted).filter(|other| *other != pod);
        let is_mark = matches!(effect, EvictionEffect::SetDisruptionTarget { .. });
        self.budget_forbids(policy, pod, by_eviction_api, flights)
            .or_else(|| self.rate_forbids(policy, is_mark))
            .or_else(|| self.nodes_forbid(policy, pod))
            .or_else(|| self.replicas_forbid(policy, others.count()))
            .or_else(|| self.order_forbids(policy, pod))
    }

    fn budget_forbids(
        &self,
        policy: &EvictionPolicy,
        pod: usize,
        by_eviction_api: bool,
        flights: &[EvictionEffect],
    ) -> Option<&'static str> {
        if policy.budgets.is_none() {
            return by_eviction_api.then_some("the policy does not respect budgets");
        }
        if !by_eviction_api {
            let is_forced = self.forced_at(pod).is_some_and(|at| at <= self.now);
            return (!is_forced).then_some("the deadline has not come");
        }
        let is_raced = flights.iter().any(|other| matches!(other, EvictionEffect::EvictPod { .. }));
        (self.budget.is_some() && is_raced).then_some("another eviction of the budget is in flight")
    }

    fn rate_forbids(&self, policy: &EvictionPolicy, is_mark: bool) -> Option<&'static str> {
        let most = policy.pods_per_minute.filter(|_| !is_mark)?;
        (self.sent_recently() >= most as usize).then_some("too many evictions in a minute")
    }

    /// How many evictions were sent in the last minute.
    fn sent_recently(&self) -> usize {
        self.sent.iter().filter(|at| **at > self.now - 60).count()
    }

    fn nodes_forbid(&self, policy: &EvictionPolicy, pod: usize) -> Option<&'static str> {
        let most = policy.nodes_at_once?;
        let own = self.pods[pod].node;
        let others = (0..self.nodes.len()).filter(|node| *node != own && self.is_emptied(*node)).count();
        (others >= most as usize).then_some("too many nodes are emptied")
    }

    /// Whether pods leave a node: one is terminating, or was requested to leave and another one is due. What a request of a
    /// crashed process began does not count: its successor may have begun another node before.
    fn is_emptied(&self, node: usize) -> bool {
        let here = |at: &usize| self.pods[*at].node == node;
        let is_leaving = |at: usize| match self.pods[at].presence {
            PodPresence::Terminating => !self.pods[at].is_orphaned,
            PodPresence::Running => self.nodes[node].is_begun && !self.is_held(at),
            PodPresence::Gone => false,
        };
        self.nodes[node].tainted.is_some() && (0..self.pods.len()).filter(here).any(is_leaving)
    }

    fn replicas_forbid(&self, policy: &EvictionPolicy, in_flight: usize) -> Option<&'static str> {
        let limit = policy.unavailable_per_workload?;
        let running = self.pods.iter().filter(|pod| pod.presence == PodPresence::Running).count();
        let unavailable = self.replicas.saturating_sub(running.saturating_sub(in_flight + 1));
        let most = limit.of(u32::try_from(self.replicas).expect("there are few pods"));
        (unavailable > most as usize).then_some("too many replicas are unavailable")
    }

    fn order_forbids(&self, policy: &EvictionPolicy, pod: usize) -> Option<&'static str> {
        policy.order.filter(|order| order.timeout.is_none())?;
        let own = &self.pods[pod];
        let is_earlier = |at: &usize| {
            let other = &self.pods[*at];
            let is_there = match other.presence {
                PodPresence::Running => !self.is_held(*at),
                PodPresence::Terminating => true,
                PodPresence::Gone => false,
            };
            other.node == own.node && other.priority < own.priority && is_there
        };
        (0..self.pods.len()).any(|at| is_earlier(&at)).then_some("an earlier wave is not gone")
    }

    // What the properties are about.

    fn holds_of(&self, pod: usize) -> impl Iterator<Item = &Hold> {
        let pod = &self.pods[pod];
        self.nodes[pod.node].holds.iter().chain(&pod.holds)
    }

    pub(super) fn is_held(&self, pod: usize) -> bool {
        self.holds_of(pod).any(|(since, until)| (*since..*until).contains(&self.now))
    }

    /// When a pod may be deleted in spite of its budget: the time of holds does not count.
    pub(super) fn forced_at(&self, pod: usize) -> Option<i64> {
        let due = self.nodes[self.pods[pod].node].tainted?;
        let policy = self.governing().filter(|policy| policy.is_valid())?;
        let deadline = policy.budgets?.deadline?.as_micros() / 1_000_000;
        let held = |(since, until): &Hold| (self.now.min(*until) - due.max(*since)).max(0);
        Some(due + deadline + self.holds_of(pod).map(held).sum::<i64>())
    }

    /// How many nodes count for the brake.
    fn braked_nodes(&self) -> usize {
        let counts = |at: &usize| {
            let is_due =
                |pod: usize| self.pods[pod].node == *at && self.is_running(pod) && !self.is_held(pod);
            let has_due = (0..self.pods.len()).any(is_due);
            let had_any = self.pods.iter().any(|pod| pod.node == *at);
            let was_never_held = self.nodes[*at].holds.is_empty();
            self.nodes[*at]
                .tainted
                .is_some_and(|since| has_due || had_any && was_never_held && self.now < since + COUNTS_FOR)
        };
        (0..self.nodes.len()).filter(counts).count()
    }

    fn is_running(&self, pod: usize) -> bool {
        self.pods[pod].presence == PodPresence::Running
    }

    pub(super) fn is_braked(&self) -> bool {
        let limit = self.config.brake.and_then(|limit| limit.nodes);
        limit.is_some_and(|limit| self.braked_nodes() > limit as usize) || self.now < self.settles_until
    }

    pub(super) fn has_deleted(&self) -> bool {
        self.pods.iter().any(|pod| pod.presence != PodPresence::Running)
    }

    /// The pods that must leave and have not.
    pub(super) fn left(&self) -> Vec<usize> {
        let must = |pod: &usize| self.is_running(*pod) && self.nodes[self.pods[*pod].node].tainted.is_some();
        (0..self.pods.len()).filter(must).collect()
    }

    /// Whether something delays the pods that are left for good.
    pub(super) fn may_stay(&self, budget_allows: bool) -> bool {
        let Some(policy) = self.governing() else { return self.is_braked() };
        let has_deadline = policy.budgets.is_some_and(|budgets| budgets.deadline.is_some());
        let needs_budget = policy.budgets.is_some() && self.budget.is_some() && !has_deadline;
        self.is_braked() || !policy.is_valid() || needs_budget && !budget_allows
    }
}

/// The pod that a request evicts.
pub(super) fn evicted(effect: &EvictionEffect) -> Option<usize> {
    match effect {
        EvictionEffect::DeletePod { pod, .. } | EvictionEffect::EvictPod { pod, .. } => {
            Some(PolicyCluster::pod_of(pod))
        }
        _ => None,
    }
}
