//! Moves a pod between its phases (idle, counting down, due, in progress, deleted) after an outcome.
//!
//! - Invariant: a plan is computed again from the facts, never adjusted (D2, TE-18).

use super::cache::{PodEntry, PodFlags};
use super::phase::{EvictionPhase, LastNotice};
use super::{EvictionNotice, EvictionState};
use crate::fact::PodLifePhase;
use crate::identity::{NodeName, PodRef};
use crate::time::{Mono, Span};
use crate::verdict::{EvictionExemption, Outcome, StayReason};

/// How long a mark that nobody acts on is left alone before it is withdrawn: longer than a predecessor's request can
/// be under way, within S9's 60 s.
const WITHDRAW_AFTER: Span = Span::from_secs(30);

fn reference(pod: &PodEntry, node: &NodeName) -> PodRef {
    PodRef { node: node.clone(), uid: pod.uid.clone() }
}

/// What there is to tell of a pod whose plan changes: nothing twice, and nothing of a countdown that only stood still
/// (`goes_on`): that is told once for all (NL-48).
fn notice_for(
    last_notice: LastNotice,
    goes_on: bool,
    outcome: Outcome,
    reference: impl FnOnce() -> PodRef,
) -> Option<EvictionNotice> {
    match (outcome, last_notice) {
        (Outcome::Leaves { .. }, LastNotice::Due) => None,
        (Outcome::Leaves { due }, _) => Some(EvictionNotice::BecameDue { pod: reference(), due }),
        (Outcome::StaysUntil(_), LastNotice::Countdown) if goes_on => None,
        (Outcome::StaysUntil(until), LastNotice::None) => {
            Some(EvictionNotice::CountdownStarted { pod: reference(), until })
        }
        (Outcome::StaysUntil(until), _) => Some(EvictionNotice::CountdownMoved { pod: reference(), until }),
        (Outcome::Stays(StayReason::Exempt(_) | StayReason::OnHold), _)
        | (Outcome::Stays(_), LastNotice::None) => None,
        (Outcome::Stays(_), _) => Some(EvictionNotice::CountdownCancelled { pod: reference() }),
    }
}

impl EvictionState {
    /// Brings a pod's phase in line with an outcome; `known_due`: when a pod just taken out of the queue was known to
    /// be due.
    pub(super) fn apply_outcome(
        &mut self,
        pod: &mut PodEntry,
        outcome: Outcome,
        node: &NodeName,
        known_due: Option<Mono>,
        now: Mono,
    ) {
        self.notice_unsupported_toleration(pod, outcome, node);
        let known_due = match (pod.phase(), outcome) {
            (EvictionPhase::Deleted, _) => return,
            (EvictionPhase::InProgress, _) => {
                let is_marked = pod.flags.has(PodFlags::MARKED);
                match self.queue.reconsider(&reference(pod, node), outcome, is_marked, now) {
                    Some(known_due) => known_due,
                    None => return,
                }
            }
            (EvictionPhase::Due(due), Outcome::Leaves { due: same }) if due == same => return,
            (EvictionPhase::CountingDown(at), Outcome::StaysUntil(same)) if at == same => {
                return self.schedule_unmark(pod, outcome, node, now.plus(WITHDRAW_AFTER));
            }
            (EvictionPhase::OnHold(_), Outcome::Stays(StayReason::OnHold)) => {
                return self.schedule_unmark(pod, outcome, node, now.plus(WITHDRAW_AFTER));
            }
            (
                EvictionPhase::Idle
                | EvictionPhase::CountingDown(_)
                | EvictionPhase::OnHold(_)
                | EvictionPhase::Due(_),
                _,
            ) => known_due.or_else(|| self.unqueue(pod, node)),
        };
        let (last_notice, was_held) = match pod.phase() {
            EvictionPhase::CountingDown(_) => (LastNotice::Countdown, false),
            EvictionPhase::OnHold(last_notice) => (last_notice, true),
            _ if known_due.is_some() => (LastNotice::Due, false),
            _ => (LastNotice::None, false),
        };
        pod.set_phase(EvictionPhase::Idle, &mut self.counts);
        match outcome {
            Outcome::Leaves { due } => {
                pod.set_phase(EvictionPhase::Due(due), &mut self.counts);
                self.queue.add(reference(pod, node), due, pod.order(), known_due.unwrap_or(now));
            }
            Outcome::StaysUntil(until) => pod.set_phase(EvictionPhase::CountingDown(until), &mut self.counts),
            Outcome::Stays(StayReason::OnHold) => {
                pod.set_phase(EvictionPhase::OnHold(last_notice), &mut self.counts)
            }
            Outcome::Stays(_) => {}
        }
        let goes_on = was_held && !self.holds.is_on();
        self.notices.extend(notice_for(last_notice, goes_on, outcome, || reference(pod, node)));
        // A pod this process was about to evict bears its own mark, if any, and nobody's request is under way.
        let withdraw_at = if known_due.is_some() { now } else { now.plus(WITHDRAW_AFTER) };
        self.schedule_unmark(pod, outcome, node, withdraw_at);
    }

    /// A pod that stays and bears the mark is not left with it (S9): a predecessor crashed, or the reason went.
    fn schedule_unmark(&mut self, pod: &mut PodEntry, outcome: Outcome, node: &NodeName, at: Mono) {
        let at = match outcome {
            Outcome::Leaves { .. } => return,
            Outcome::Stays(StayReason::Exempt(exemption)) if exemption != EvictionExemption::Undecodable => {
                return;
            }
            Outcome::Stays(_) => at,
            Outcome::StaysUntil(until) => at.min(until),
        };
        if !pod.flags.has(PodFlags::MARKED) || pod.standing != PodLifePhase::Live {
            return;
        }
        pod.set_phase(EvictionPhase::InProgress, &mut self.counts);
        self.queue.withdraw_at(at, reference(pod, node), pod.order(), outcome);
    }

    fn notice_unsupported_toleration(&mut self, pod: &mut PodEntry, outcome: Outcome, node: &NodeName) {
        let stays = outcome == Outcome::Stays(StayReason::UnsupportedToleration);
        if stays && !pod.flags.has(PodFlags::NOT_UNDERSTOOD) {
            self.notices.push(EvictionNotice::UnsupportedToleration { pod: reference(pod, node) });
        }
        pod.flags.set(PodFlags::NOT_UNDERSTOOD, stays);
    }

    /// Takes a due pod's queue key out of the queue; says when it was known to be due. Does nothing for other pods.
    pub(super) fn unqueue(&mut self, pod: &mut PodEntry, node: &NodeName) -> Option<Mono> {
        let EvictionPhase::Due(due) = pod.phase() else { return None };
        pod.set_phase(EvictionPhase::Idle, &mut self.counts);
        self.queue.remove(reference(pod, node), due, pod.order())
    }

    /// A pod is gone. An eviction whose request is out is kept for its answer.
    pub(super) fn remove_pod(&mut self, pod: &mut PodEntry, node: &NodeName) {
        self.unqueue(pod, node);
        pod.set_phase(EvictionPhase::Deleted, &mut self.counts);
        self.pods -= 1;
        self.queue.pod_gone(&reference(pod, node));
    }

    /// A pod that bears our mark goes (P39).
    pub(super) fn deleted_by_other(&mut self, pod: &PodRef) {
        if self.queue.is_deleted_by_other(pod) {
            self.notices.push(EvictionNotice::EvictedByOther { pod: pod.clone() });
        }
    }
}
