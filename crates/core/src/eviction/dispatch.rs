//! Gives out the effects of the pods whose turn it is.
//!
//! - See `work_queue/turn.rs` for what a turn comes to, `responses.rs` for the handling of responses.

use super::cache::PodFlags;
use super::node_state::NodeState;
use super::phase::EvictionPhase;
use super::{Dispatch, EvictionEffect, EvictionEngine, PodTurn};
use crate::engine::Lane;
use crate::identity::PodRef;
use crate::time::{Mono, Now};
use crate::verdict;

impl EvictionEngine {
    /// The next effect of a lane, decided at this moment; `None` if there is nothing to do yet.
    pub(super) fn dequeue_effect(&mut self, lane: Lane, now: Now) -> Option<EvictionEffect> {
        loop {
            let (pod, is_probe) = self.state.queue.dequeue(lane, now.mono)?;
            if is_probe && let Some(entry) = self.nodes.get_mut(&pod.node) {
                entry.confirmation = entry.confirmation.without_pause(now.mono);
            }
            match self.take_turn(&pod, now) {
                Some(Dispatch::Send(effect)) => return Some(effect),
                Some(Dispatch::Waiting) => {}
                Some(Dispatch::Finished) | None => self.finish_without_eviction(&pod, now.mono),
            }
        }
    }

    fn take_turn(&mut self, pod: &PodRef, now: Now) -> Option<Dispatch> {
        let entry = self.nodes.get_mut(&pod.node)?;
        entry.pod_mut(&pod.uid)?.set_phase(EvictionPhase::InProgress, &mut self.state.counts);
        let mut confirmation = entry.confirmation;
        let held = entry.pod(&pod.uid)?;
        let (holds, numeric) = (&self.state.holds, self.config.numeric);
        let facts = PodTurn {
            name: &held.name,
            generation: held.generation,
            version: held.version(),
            is_marked: held.flags.has(PodFlags::MARKED),
            owner: held.owner,
            verdict: verdict::judge_held(
                &held.input(entry.is_undecodable()),
                entry.taints(),
                holds,
                numeric,
                now,
            ),
            taints: entry.taints(),
            holds,
            node_version: entry.state.as_ref().and_then(NodeState::version),
            confirmation: &mut confirmation,
        };
        let dispatch = self.state.queue.take_turn(pod, facts, &self.config, now.mono);
        entry.confirmation = confirmation;
        Some(dispatch)
    }

    /// An attempt is over without a deletion: the pod goes back to its plan.
    pub(super) fn finish_without_eviction(&mut self, pod: &PodRef, now: Mono) {
        let known_due = self.state.queue.forget(pod);
        if let Some(held) = self.nodes.get_mut(&pod.node).and_then(|entry| entry.pod_mut(&pod.uid)) {
            held.set_phase(EvictionPhase::Idle, &mut self.state.counts);
            self.reassess_pod(&pod.node, &pod.uid, known_due, now);
        }
    }
}
