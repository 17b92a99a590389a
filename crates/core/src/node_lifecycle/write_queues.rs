//! Queues nodes for the requests that the engine has to send.
//!
//! - Invariant: a node is in at most one queue; it stores its own position.

use super::desired_taints::TaintPlan;
use super::managed_taints::ManagedTaint;
use super::zone::ZoneKey;
use crate::identity::NodeName;
use crate::time::Mono;
use alloc::collections::{BTreeMap, BTreeSet};

/// The queue of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) enum QueuePosition {
    /// No queue.
    #[default]
    NotQueued,
    /// Its NoExecute taints have to be removed, which precedes everything else.
    RemoveTaints,
    /// Other taints or labels have to be written, or it has to be read again.
    Repair,
    /// Its conditions have to be set to Unknown; silent since this moment.
    SetConditionsUnknown(Mono),
    /// In its zone it waits for a NoExecute taint, since this moment, because it is `silent` or reports itself that it
    /// is not ready.
    NoExecute { since: Mono, silent: bool },
    /// It waits until then for a retry.
    Later(Mono),
}

impl QueuePosition {
    /// Returns the position of a node with these changes; `stale`: it has to be read before it is written to.
    pub(super) fn of(
        plan: &TaintPlan,
        stale: bool,
        needs_repair: bool,
        silent: Option<Mono>,
        ready_since: Mono,
    ) -> Self {
        match (plan.queue, silent) {
            _ if !plan.remove.no_execute().is_empty() && !stale => Self::RemoveTaints,
            _ if needs_repair || stale => Self::Repair,
            (_, Some(since)) if plan.declare => Self::SetConditionsUnknown(since),
            (Some(ManagedTaint::UnreachableNoExecute), Some(since)) => {
                Self::NoExecute { since, silent: true }
            }
            (Some(_), _) => Self::NoExecute { since: ready_since, silent: false },
            (None, _) => Self::NotQueued,
        }
    }
}

/// Nodes of one zone that wait for a NoExecute taint, ordered by since when.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct ZoneQueue {
    silent: BTreeSet<(Mono, NodeName)>,
    not_ready: BTreeSet<(Mono, NodeName)>,
}

impl ZoneQueue {
    fn is_empty(&self) -> bool {
        self.silent.is_empty() && self.not_ready.is_empty()
    }
}

/// All queues.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct WriteQueues {
    removals: BTreeSet<NodeName>,
    repairs: BTreeSet<NodeName>,
    set_unknown: BTreeSet<(Mono, NodeName)>,
    later: BTreeSet<(Mono, NodeName)>,
    /// Zones with a waiting node.
    zones: BTreeMap<ZoneKey, ZoneQueue>,
}

impl WriteQueues {
    /// Puts a node of this zone into a queue; it is not in any.
    pub(super) fn put(&mut self, name: &NodeName, zone: &ZoneKey, position: QueuePosition) {
        let name = name.clone();
        match position {
            QueuePosition::NotQueued => false,
            QueuePosition::RemoveTaints => self.removals.insert(name),
            QueuePosition::Repair => self.repairs.insert(name),
            QueuePosition::SetConditionsUnknown(since) => self.set_unknown.insert((since, name)),
            QueuePosition::Later(at) => self.later.insert((at, name)),
            QueuePosition::NoExecute { since, silent } => {
                let queue = self.zones.entry(zone.clone()).or_default();
                let queue = if silent { &mut queue.silent } else { &mut queue.not_ready };
                queue.insert((since, name))
            }
        };
    }

    /// Removes a node of this zone from its queue.
    pub(super) fn remove(&mut self, name: &NodeName, zone: &ZoneKey, position: QueuePosition) {
        match position {
            QueuePosition::NotQueued => {}
            QueuePosition::RemoveTaints => {
                self.removals.remove(name);
            }
            QueuePosition::Repair => {
                self.repairs.remove(name);
            }
            QueuePosition::SetConditionsUnknown(since) => {
                self.set_unknown.remove(&(since, name.clone()));
            }
            QueuePosition::Later(at) => {
                self.later.remove(&(at, name.clone()));
            }
            QueuePosition::NoExecute { since, silent } => {
                let Some(queue) = self.zones.get_mut(zone) else { return };
                let nodes = if silent { &mut queue.silent } else { &mut queue.not_ready };
                nodes.remove(&(since, name.clone()));
                if queue.is_empty() {
                    self.zones.remove(zone);
                }
            }
        }
    }

    /// Returns the next node that is written to or read without waiting for anything.
    pub(super) fn next_repair(&self) -> Option<&NodeName> {
        self.removals.first().or(self.repairs.first())
    }

    /// Returns the next node whose conditions have to be set to Unknown, and since when it is silent.
    pub(super) fn next_unknown(&self) -> Option<&(Mono, NodeName)> {
        self.set_unknown.first()
    }

    /// Returns the next node that is retried, and when.
    pub(super) fn next_retry(&self) -> Option<&(Mono, NodeName)> {
        self.later.first()
    }

    /// Returns, for each zone, the node that has waited longest for a NoExecute taint; silent ones only if
    /// `with_silent`.
    pub(super) fn next_in_zones(
        &self,
        with_silent: bool,
    ) -> impl Iterator<Item = (&ZoneKey, &(Mono, NodeName))> {
        self.zones.iter().filter_map(move |(zone, queue)| {
            let silent = queue.silent.first().filter(|_| with_silent);
            let first = silent.into_iter().chain(queue.not_ready.first()).min()?;
            Some((zone, first))
        })
    }

    /// Returns how many nodes wait in a zone.
    pub(super) fn waiting_in(&self, zone: &ZoneKey) -> usize {
        self.zones.get(zone).map_or(0, |queue| queue.silent.len() + queue.not_ready.len())
    }

    /// Whether another node waits before this one, for the same reason.
    pub(super) fn is_behind(&self, name: &NodeName, zone: &ZoneKey, silent: bool) -> bool {
        let queue = self.zones.get(zone).map(|queue| if silent { &queue.silent } else { &queue.not_ready });
        queue.and_then(BTreeSet::first).is_some_and(|(_, first)| first != name)
    }
}
