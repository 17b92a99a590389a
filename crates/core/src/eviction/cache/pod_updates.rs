//! Applies pod facts and lists to the cache.
//!
//! - Invariant: every change counts (TE-10); the binding time never changes while the pod lives (S4).

use super::pod_transition::{LostCause, Transition};
use super::{CacheUpdate, NodeEntry, PodEntry};
use crate::eviction::EvictionPhase;
use crate::eviction::notice::CancellationReason;
use crate::fact::PodFact;
use crate::identity::{NodeName, PodRef, Uid};
use crate::object_event::{ObjectIndex, ObjectRef};
use crate::ordered_hold::HoldWindows;
use crate::taint_start::{self, ObservedVia};
use crate::time::{Mono, Now};
use alloc::vec::Vec;

impl ObjectIndex<PodFact> for CacheUpdate<'_> {
    fn list_started(&mut self, silent_since: Option<Mono>) {
        self.cache.pods_sync.start(silent_since);
        self.cache.nodes.values_mut().for_each(|entry| entry.pods.start_list());
    }

    fn applied(&mut self, fact: PodFact, listed: bool, now: Now) {
        let entry = self.cache.nodes.entry(fact.node.clone());
        let pod = PodRef { node: entry.key().clone(), uid: fact.id.uid().clone() };
        let entry = entry.or_default();
        let Some(known) = entry.pods.get(&pod.uid) else { return self.add_pod(pod, fact, listed, now) };
        let is_edited = *known.tolerations() != *fact.tolerations;
        let goes_on = !is_edited && known.life_phase == fact.life_phase;
        let holds = self.config.hold_windows(fact.holds.as_deref(), known.holds(), now);
        let taint = match goes_on {
            true => None,
            false => known.evicting_taint(entry.taints(), &self.state.holds, self.config.numeric),
        };
        let life_phase = known.life_phase;
        let was_ready = self.state.queue.gate().ready_workload(known.ready_workload());
        let (templates, state) = (&mut self.cache.templates, &mut *self.state);
        let applied = entry.pods.update(&pod.uid, |known| {
            Transition::new(known, &pod.node, state).apply_fact(fact, holds, listed, templates)
        });
        if let Some(known_due) = applied.flatten() {
            // Between two edits it may have tolerated the taints, which a read of the node from before does not exclude (S2).
            let known_due = known_due.map(|known_due| if is_edited { now.mono } else { known_due });
            if is_edited {
                self.state.queue.waver(&pod);
            }
            self.follow_holds(&pod);
            self.reassess_changed_pod(&pod, known_due, taint, now.mono);
            self.follow_for_policies(&pod, Some(life_phase), was_ready, now.mono);
        }
    }

    /// A pod without a node was never known, so its deletion changes nothing.
    fn deleted(&mut self, pod: ObjectRef, _: Now) {
        if let Some(pod) = pod.into_pod() {
            self.delete_pod(&pod);
        }
    }

    /// It stays (D11). Its node may be unknown.
    fn undecodable(&mut self, pod: ObjectRef, now: Now) {
        let Some(uid) = pod.uid else { return };
        let nodes = &mut self.cache.nodes;
        let holds = |(name, entry): (&NodeName, &NodeEntry)| entry.pods.get(&uid).map(|_| name.clone());
        let node = pod.node.or_else(|| nodes.iter().find_map(holds));
        let entry = node.and_then(|node| Some((nodes.get_mut(&node)?, node)));
        let marked = entry.and_then(|(entry, node)| {
            entry.pods.update(&uid, PodEntry::mark_undecodable)?;
            Some(node)
        });
        match marked {
            Some(node) => self.reassess_pod(&PodRef { node, uid }, None, now.mono),
            None => self.cache.pods_sync.mark_undecodable(uid, now.mono),
        }
    }

    fn list_completed(&mut self, _: Now) {
        if !self.cache.pods_sync.complete() {
            return;
        }
        let unseen = self.cache.pods().filter(|(_, pod)| !pod.is_seen());
        let reference = |(node, pod): (&NodeName, &PodEntry)| (node.clone(), pod.uid().clone());
        let gone: Vec<(NodeName, Uid)> = unseen.map(reference).collect();
        for (node, uid) in gone {
            self.delete_pod(&PodRef { node, uid });
        }
    }
}

impl CacheUpdate<'_> {
    fn add_pod(&mut self, pod: PodRef, fact: PodFact, listed: bool, now: Now) {
        let observed = match self.cache.pods_sync.observed_via(&pod.uid, listed) {
            ObservedVia::WatchEvent if self.config.pods_appear_late => {
                ObservedVia::List { absent_until: None }
            }
            observed => observed,
        };
        let arrival = match self.config.starts_as_named {
            true => taint_start::pod_binding_for_display(&fact.arrival, now),
            false => taint_start::pod_binding(&fact.arrival, observed, now),
        };
        let holds = self.config.hold_windows(fact.holds.as_deref(), &HoldWindows::default(), now);
        let mut new = PodEntry::new(fact, arrival, holds, &mut self.cache.templates);
        if self.state.queue.pod_came(&pod) {
            new.set_phase(EvictionPhase::InProgress, &mut self.state.counts);
        }
        let Some(entry) = self.cache.nodes.get_mut(&pod.node) else { return };
        let nothing_to_judge = entry.taints().is_empty() && !new.is_marked();
        entry.pods.insert(new);
        self.state.pods += 1;
        self.follow_holds(&pod);
        if !nothing_to_judge {
            self.reassess_pod(&pod, None, now.mono);
        }
        self.follow_for_policies(&pod, None, None, now.mono);
    }

    /// A pod is gone, and with it whatever was planned for this UID; a new pod of the same name is another pod (D4,
    /// TE-15, TE-40).
    fn delete_pod(&mut self, pod: &PodRef) {
        self.cache.pods_sync.forget(&pod.uid);
        self.cache.held.remove(pod);
        let Some(entry) = self.cache.nodes.get_mut(&pod.node) else { return };
        let Some(mut gone) = entry.pods.remove(&pod.uid) else { return };
        let was_ready = self.state.queue.gate().ready_workload(gone.ready_workload());
        let is_next = matches!(gone.phase(), EvictionPhase::CountingDown(at) if at == entry.wakeup);
        let taint = gone.evicting_taint(entry.taints(), &self.state.holds, self.config.numeric);
        let cause = taint.map(|taint| LostCause { reason: CancellationReason::PodDeleted, taint });
        let transition = Transition::new(&mut gone, &pod.node, self.state).with_cause(cause);
        transition.remove(&mut self.cache.templates);
        self.state.queue.gate_mut().change_readiness(was_ready.as_ref(), None);
        if is_next {
            self.cache.reschedule_wakeup(&pod.node);
        }
        self.cache.remove_empty_entry(&pod.node);
    }
}
