//! # Plan: from an outcome to a place in the book
//! Room:     the transitions of one pod between quiet, counting, due, in hand and gone.
//! Comes in: a fresh outcome for a pod.
//! Goes out: the pod's stage, the queue's tickets, notices of what changed.
//! Keeps:    a plan is replaced by recomputing it from the facts, never adjusted (D2).
//! Not here: the outcome itself (`verdict.rs`).

use super::queue::{Attempt, Errand, PodRef, Step, Ticket};
use super::roster::{Flags, Pod, Stage};
use super::{Book, Notice};
use crate::fact::Standing;
use crate::names::{NodeName, Uid};
use crate::time::{Mono, Span};
use crate::verdict::{Outcome, Stay};

/// How long a mark that nobody acts on is left alone before it is withdrawn: longer than a predecessor's request can
/// be under way, within S9's 60 s.
const WITHDRAW_AFTER: Span = Span::from_secs(30);

fn reference(pod: &Pod, node: &NodeName) -> PodRef {
    PodRef { node: node.clone(), uid: pod.uid.clone() }
}

fn ticket(pod: &Pod, node: &NodeName, due: Mono) -> Ticket {
    Ticket { due, rank: pod.rank(), pod: reference(pod, node) }
}

impl Book {
    /// Brings a pod's stage in line with an outcome; `known_due`: when a pod just taken out of the queue was known to
    /// be due.
    pub(super) fn settle(
        &mut self,
        pod: &mut Pod,
        outcome: Outcome,
        node: &NodeName,
        known_due: Option<Mono>,
        now: Mono,
    ) {
        self.tell_held(pod, outcome, node);
        match (pod.stage, outcome) {
            (Stage::Gone, _) => return,
            (Stage::InHand, _) => return self.settle_in_hand(pod, outcome, node),
            (Stage::Due(due), Outcome::Goes { due: same }) if due == same => return,
            (Stage::Counting(at), Outcome::StaysUntil(same)) if at == same => return,
            (Stage::Quiet | Stage::Counting(_) | Stage::Due(_), _) => {}
        }
        let known_due = known_due.or_else(|| self.unqueue(pod, node));
        let was_counting = matches!(pod.stage, Stage::Counting(_));
        self.set_stage(pod, Stage::Quiet);
        match outcome {
            Outcome::Goes { due } => {
                self.set_stage(pod, Stage::Due(due));
                self.queue.due.insert(ticket(pod, node, due), known_due.unwrap_or(now));
                if known_due.is_none() {
                    self.notices.push(Notice::BecameDue { pod: reference(pod, node), due });
                }
            }
            Outcome::StaysUntil(until) => {
                self.set_stage(pod, Stage::Counting(until));
                let pod = reference(pod, node);
                self.notices.push(match was_counting || known_due.is_some() {
                    true => Notice::CountdownMoved { pod, until },
                    false => Notice::CountdownStarted { pod, until },
                });
            }
            Outcome::Stays(Stay::Exempt(_)) => {}
            Outcome::Stays(_) if was_counting || known_due.is_some() => {
                self.notices.push(Notice::CountdownCancelled { pod: reference(pod, node) });
            }
            Outcome::Stays(_) => {}
        }
        self.plan_withdrawal(pod, outcome, node, now);
    }

    /// A pod that stays and bears the mark is not left with it (S9): a predecessor crashed, or the reason went.
    fn plan_withdrawal(&mut self, pod: &mut Pod, outcome: Outcome, node: &NodeName, now: Mono) {
        let at = match outcome {
            Outcome::Goes { .. } | Outcome::Stays(Stay::Exempt(_)) => return,
            Outcome::Stays(_) => now.plus(WITHDRAW_AFTER),
            Outcome::StaysUntil(until) => now.plus(WITHDRAW_AFTER).min(until),
        };
        if !pod.flags.has(Flags::MARKED) || pod.standing != Standing::Live {
            return;
        }
        self.set_stage(pod, Stage::InHand);
        let mut attempt = Attempt::new(ticket(pod, node, at), Step::Withdraw);
        attempt.retry_at = Some(at);
        self.queue.later.insert((at, attempt.ticket.clone()));
        self.queue.attempts.insert(reference(pod, node), attempt);
    }

    /// An eviction under way asks again at its turn; here it is only brought forward if its turn is far and the
    /// outcome no longer fits.
    fn settle_in_hand(&mut self, pod: &Pod, outcome: Outcome, node: &NodeName) {
        let goes = matches!(outcome, Outcome::Goes { .. });
        let reference = reference(pod, node);
        let fits = |attempt: &Attempt| match attempt.step {
            Step::Withdraw => !goes,
            Step::Evict => goes || !pod.flags.has(Flags::MARKED),
            Step::Look => true,
        };
        if self.queue.attempts.get(&reference).is_some_and(|attempt| !fits(attempt)) {
            self.queue.hurry(&reference);
        }
    }

    fn tell_held(&mut self, pod: &mut Pod, outcome: Outcome, node: &NodeName) {
        let held = outcome == Outcome::Stays(Stay::NotUnderstood);
        if held && !pod.flags.has(Flags::HELD) {
            self.notices.push(Notice::NotUnderstood { pod: reference(pod, node) });
        }
        pod.flags.set(Flags::HELD, held);
    }

    /// Takes a due pod's ticket out of the queue; says when it was known to be due. Does nothing for other pods.
    pub(super) fn unqueue(&mut self, pod: &mut Pod, node: &NodeName) -> Option<Mono> {
        let Stage::Due(due) = pod.stage else { return None };
        pod.stage = Stage::Quiet;
        self.queue.due.remove(&ticket(pod, node, due))
    }

    /// Gives a pod another stage, and keeps count.
    pub(super) fn set_stage(&mut self, pod: &mut Pod, stage: Stage) {
        let counts = |stage| usize::from(matches!(stage, Stage::Counting(_)));
        self.counting = self.counting + counts(stage) - counts(pod.stage);
        pod.stage = stage;
    }

    /// A pod is gone. An eviction whose request is out is kept for its answer.
    pub(super) fn leave(&mut self, pod: &mut Pod, node: &NodeName) {
        self.unqueue(pod, node);
        self.set_stage(pod, Stage::Gone);
        self.pods -= 1;
        let reference = reference(pod, node);
        match self.queue.attempts.get_mut(&reference) {
            Some(attempt) if attempt.errand.is_some() => attempt.vanished = true,
            _ => {
                self.queue.forget(&reference);
            }
        }
    }

    /// Whether our own mark for this pod is on its way.
    pub(super) fn is_marking(&self, node: &NodeName, uid: &Uid) -> bool {
        let pod = PodRef { node: node.clone(), uid: uid.clone() };
        self.queue.attempts.get(&pod).is_some_and(|attempt| attempt.errand == Some(Errand::Mark))
    }
}
