//! Delays a due pod for the brake, before policies decide about it.

use super::PolicyGate;
use super::brake::{Brake, BrakeCount};
use super::wait_lists::{Delay, WaitList};
use crate::admission::no_execute_guard::allows;
use crate::eviction::delay_reason::BrakedKey;
use crate::eviction::notice::EvictionNotice;
use crate::identity::{NodeName, PodRef};
use crate::node_limit::NodeLimit;
use crate::taint::Taint;
use crate::time::Mono;
use crate::verdict::TaintInstance;
use alloc::vec::Vec;

/// A taint because of which a pod is due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DueTaint<'a> {
    /// Its position among the node's NoExecute taints.
    pub(crate) position: usize,
    pub(crate) taint: &'a Taint,
    pub(crate) due: Mono,
}

impl PolicyGate {
    pub(crate) fn set_brake(&mut self, limit: Option<NodeLimit>) {
        self.brake = limit.map(Brake::new);
    }

    pub(crate) fn has_brake(&self) -> bool {
        self.brake.is_some()
    }

    /// A node has these NoExecute taints; `None`: it exists no more.
    pub(crate) fn follow_node(
        &mut self,
        node: &NodeName,
        was_known: bool,
        taints: Option<&[TaintInstance]>,
        now: Mono,
    ) {
        if let Some(brake) = &mut self.brake {
            brake.follow_node(node, was_known, taints, now);
        }
    }

    /// A pod is due because of taints with these keys, since these moments.
    pub(crate) fn set_due(&mut self, pod: &PodRef, due: &[(&str, Mono)], now: Mono) {
        if let Some(brake) = &mut self.brake {
            brake.set_due(pod, due, now);
        }
    }

    /// A pod is gone, or its deletion is accepted.
    pub(crate) fn set_not_due(&mut self, pod: &PodRef) {
        // Without a due taint the time does not matter.
        self.set_due(pod, &[], Mono::NEVER);
    }

    /// Removes the taints that are braked, unless the node's annotation allows them. Without any left, the pod waits, at most
    /// until it is due because of another taint.
    pub(crate) fn apply_brake(
        &mut self,
        pod: &PodRef,
        taints: &mut Vec<DueTaint<'_>>,
        allow: Option<&str>,
        (due, next_due): (Mono, Option<Mono>),
        now: Mono,
    ) -> Option<Delay> {
        let brake = self.brake.as_mut()?;
        let keys: Vec<(&str, Mono)> = taints.iter().map(|one| (&*one.taint.key, one.due)).collect();
        brake.set_due(pod, &keys, now);
        let is_braked = |key: &str| brake.is_braked(key) && !allow.is_some_and(|text| allows(text, key));
        let braked = taints.iter().find(|one| is_braked(&one.taint.key))?.taint;
        taints.retain(|one| !is_braked(&one.taint.key));
        if !taints.is_empty() {
            return None;
        }
        brake.engage(&braked.key, &pod.node);
        self.lists.remove(pod);
        self.end_permit(pod);
        Some(Delay { due, list: WaitList::Brake(braked.key.clone()), policy: None, wake_at: next_due })
    }

    /// The pods whose turn has come because a brake has ended: all that wait on the nodes that it counted, for they may wait
    /// for a policy of another taint.
    pub(super) fn released(&mut self) -> Vec<PodRef> {
        let nodes = self.brake.as_mut().map(Brake::take_released).unwrap_or_default();
        nodes.iter().flat_map(|node| self.waiting_on(node)).collect()
    }

    /// How many nodes count for a key.
    pub(super) fn brake_count(&self, key: &str) -> BrakeCount {
        let none = BrakeCount { nodes: 0, limit: 0 };
        self.brake.as_ref().map_or(none, |brake| brake.count_of(key))
    }

    /// The keys that the brake delays.
    pub(crate) fn braked(&self) -> Vec<BrakedKey> {
        let counted = |brake: &Brake, key: &str| {
            let BrakeCount { nodes, limit } = brake.count_of(key);
            BrakedKey { key: key.into(), nodes, limit }
        };
        let brake = self.brake.iter();
        brake.flat_map(|brake| brake.engaged_keys().map(|key| counted(brake, key))).collect()
    }

    /// The number of keys that the brake delays.
    pub(crate) fn braked_keys(&self) -> usize {
        self.brake.as_ref().map_or(0, Brake::engaged)
    }

    pub(crate) fn take_brake_notices(&mut self) -> Vec<EvictionNotice> {
        self.brake.as_mut().map(Brake::take_notices).unwrap_or_default()
    }
}
