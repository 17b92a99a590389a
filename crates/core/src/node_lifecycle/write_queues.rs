//! Queues nodes for the requests that the engine owes them.
//!
//! - Invariant: a node is in at most one queue; it remembers its position itself.

use super::desired_taints::TaintPlan;
use super::managed_taints::ManagedTaint;
use super::zone::ZoneKey;
use crate::identity::NodeName;
use crate::time::Mono;
use alloc::collections::{BTreeMap, BTreeSet};

/// In which queue a node stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum QueuePosition {
    /// In none.
    #[default]
    NotQueued,
    /// Its NoExecute taints are to go, which comes before all else.
    RemoveTaints,
    /// Other taints or labels are to be written, or it is to be read again.
    Repair,
    /// Its conditions are to say Unknown; silent since this moment.
    SetConditionsUnknown(Mono),
    /// In its zone it waits for a NoExecute taint, since this moment, because it is `silent` or says itself that it is not
    /// ready.
    NoExecute { since: Mono, silent: bool },
    /// It waits until then for another try.
    Later(Mono),
}

impl QueuePosition {
    /// The position of a node of which this is to be done; `stale`: it is to be read before it is written to.
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

/// Nodes of one zone that wait for a NoExecute taint, by since when.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
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
pub(super) struct WriteQueues {
    removals: BTreeSet<NodeName>,
    repairs: BTreeSet<NodeName>,
    set_unknown: BTreeSet<(Mono, NodeName)>,
    later: BTreeSet<(Mono, NodeName)>,
    /// Zones in which a node waits.
    zones: BTreeMap<ZoneKey, ZoneQueue>,
}

impl WriteQueues {
    /// Puts a node of this zone into a queue; it is in none.
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

    /// Takes a node of this zone out of the queue in which it stands.
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

    /// The next node that is to be written to or read without waiting for anything.
    pub(super) fn next_repair(&self) -> Option<&NodeName> {
        self.removals.first().or(self.repairs.first())
    }

    /// The next node whose conditions are to say Unknown, and since when it is silent.
    pub(super) fn next_unknown(&self) -> Option<&(Mono, NodeName)> {
        self.set_unknown.first()
    }

    /// The next node that is tried again, and when.
    pub(super) fn next_retry(&self) -> Option<&(Mono, NodeName)> {
        self.later.first()
    }

    /// In each zone, the node that has waited longest for a NoExecute taint; silent ones only if `with_silent`.
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

    /// How many nodes wait in a zone.
    pub(super) fn waiting_in(&self, zone: &ZoneKey) -> usize {
        self.zones.get(zone).map_or(0, |queue| queue.silent.len() + queue.not_ready.len())
    }

    /// Whether another node waits in front of this one, by the same reason.
    pub(super) fn is_behind(&self, name: &NodeName, zone: &ZoneKey, silent: bool) -> bool {
        let queue = self.zones.get(zone).map(|queue| if silent { &queue.silent } else { &queue.not_ready });
        queue.and_then(BTreeSet::first).is_some_and(|(_, first)| first != name)
    }
}
