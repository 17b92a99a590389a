//! Gives pods that wait their turn, because what they wait for may be over.

use super::PolicyGate;
use super::wait_lists::WaitList;
use crate::eviction::work_queue::QueueKey;
use crate::identity::Uid;
use crate::time::Mono;
use alloc::vec::Vec;

impl PolicyGate {
    /// Returns the pods whose turn has come, because what they wait for may be over.
    pub(crate) fn open(&mut self, now: Mono) -> Vec<(QueueKey, Mono)> {
        self.follow_loads();
        let released = self.released();
        let mut turns: Vec<_> = released.iter().filter_map(|pod| self.lists.hasten(pod)).collect();
        while let Some(list) = self.lists.pop_changed() {
            match &list {
                WaitList::Node(policy, _) => turns.extend(self.open_nodes(&policy.clone())),
                _ if self.is_open(&list, now) => turns.extend(self.lists.open(&list)),
                _ => {}
            }
        }
        turns
    }

    /// Nodes have lost pods: their next wave may begin, or other nodes may be emptied.
    fn follow_loads(&mut self) {
        while let Some((node, is_freed)) = self.loads.pop_changed() {
            let next = self.lists.waves_on(&node).next().cloned();
            let others = self.lists.nodes().filter(|_| is_freed);
            let others = others.map(|(uid, node, _)| WaitList::Node(uid.clone(), node.clone()));
            let lists: Vec<WaitList> = next.into_iter().chain(others).collect();
            lists.into_iter().for_each(|list| self.lists.touch(list));
        }
    }

    /// The nodes whose pods have waited longest are emptied next.
    fn open_nodes(&mut self, policy: &Uid) -> Vec<(QueueKey, Mono)> {
        let limit = self.objects.policy(policy).and_then(|policy| policy.nodes_at_once).unwrap_or(u32::MAX);
        let mut turns = Vec::new();
        loop {
            let of_policy = self.lists.nodes().filter(|(uid, ..)| *uid == policy);
            let may_empty = of_policy.filter(|(_, node, _)| self.loads.may_empty(policy, node, limit));
            let oldest = may_empty.min_by_key(|(.., key)| *key).map(|(_, node, _)| node.clone());
            let Some(node) = oldest else { break };
            self.loads.begin_emptying(policy, &node, limit);
            turns.extend(self.lists.open(&WaitList::Node(policy.clone(), node)));
        }
        turns
    }

    /// Whether what the pods of a list wait for may be over.
    fn is_open(&mut self, list: &WaitList, now: Mono) -> bool {
        let policy = |uid: &Uid| self.objects.policy(uid);
        let at = match list {
            WaitList::Budget { budget, is_ready } => match self.objects.budgets.store().get(budget) {
                Some(budget) => self.slots.is_open(budget, *is_ready, None, now),
                None => Ok(()),
            },
            WaitList::Rate(uid) => match policy(uid).and_then(|policy| policy.pods_per_minute) {
                Some(per_minute) => self.rates.is_open(uid, per_minute, now),
                None => Ok(()),
            },
            WaitList::Workload(uid, workload) => {
                let limit = policy(uid).and_then(|policy| policy.unavailable_per_workload);
                let replicas = self.objects.replicas(workload);
                let is_full = limit.zip(replicas).is_some_and(|(limit, replicas)| {
                    self.readiness.unavailable(workload, replicas) >= limit.of(replicas)
                });
                if is_full { Err(None) } else { Ok(()) }
            }
            WaitList::Wave(node, order) => match self.loads.may_begin_wave(node, *order, now) {
                true => Ok(()),
                false => Err(None),
            },
            WaitList::Sync
            | WaitList::Brake(_)
            | WaitList::Policies
            | WaitList::BudgetsOf(_)
            | WaitList::UnknownBudget(_)
            | WaitList::Node(..) => Ok(()),
        };
        if let Err(Some(at)) = at {
            self.lists.touch_at(at, list.clone());
        }
        at.is_ok()
    }
}
