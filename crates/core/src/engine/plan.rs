//! # Plan: from an outcome to a place in the book
//! Room:     the transitions of one pod between quiet, counting, due, in hand and gone.
//! Comes in: a fresh outcome for a pod.
//! Goes out: the pod's stage, the queue's tickets, notices of what changed.
//! Keeps:    a plan is replaced by recomputing it from the facts, never adjusted or kept (D2, TE-18).
//! Not here: the outcome itself (`verdict.rs`).

use super::queue::{Attempt, Errand, PodRef, Step, Ticket};
use super::roster::{Flags, Pod, Stage};
use super::{Book, Notice};
use crate::fact::Standing;
use crate::names::NodeName;
use crate::time::{Mono, Span};
use crate::verdict::{Exemption, Outcome, Stay};

/// How long a mark that nobody acts on is left alone before it is withdrawn: longer than a predecessor's request can
/// be under way, within S9's 60 s.
const WITHDRAW_AFTER: Span = Span::from_secs(30);

/// What was last told of a pod's going.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Told {
    /// Nothing, or that it stays.
    Nothing,
    /// That it has a deadline.
    Countdown,
    /// That it is due.
    Due,
}

fn reference(pod: &Pod, node: &NodeName) -> PodRef {
    PodRef { node: node.clone(), uid: pod.uid.clone() }
}

fn ticket(pod: &Pod, node: &NodeName, due: Mono) -> Ticket {
    Ticket { due, rank: pod.rank(), pod: reference(pod, node) }
}

fn deadline(outcome: Outcome) -> Option<Mono> {
    match outcome {
        Outcome::StaysUntil(until) => Some(until),
        Outcome::Goes { .. } | Outcome::Stays(_) => None,
    }
}

/// What there is to tell of a pod whose plan changes: nothing twice, and nothing of a countdown that only stood still
/// (`goes_on`): that is told once for all (NL-48).
fn news(told: Told, goes_on: bool, outcome: Outcome, reference: impl FnOnce() -> PodRef) -> Option<Notice> {
    match (outcome, told) {
        (Outcome::Goes { .. }, Told::Due) => None,
        (Outcome::Goes { due }, _) => Some(Notice::BecameDue { pod: reference(), due }),
        (Outcome::StaysUntil(_), Told::Countdown) if goes_on => None,
        (Outcome::StaysUntil(until), Told::Nothing) => {
            Some(Notice::CountdownStarted { pod: reference(), until })
        }
        (Outcome::StaysUntil(until), _) => Some(Notice::CountdownMoved { pod: reference(), until }),
        (Outcome::Stays(Stay::Exempt(_) | Stay::Held), _) | (Outcome::Stays(_), Told::Nothing) => None,
        (Outcome::Stays(_), _) => Some(Notice::CountdownCancelled { pod: reference() }),
    }
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
        self.tell_not_understood(pod, outcome, node);
        let known_due = match (pod.stage(), outcome) {
            (Stage::Gone, _) => return,
            (Stage::InHand, _) => match self.give_up(pod, outcome, node) {
                Some(attempt) => attempt.known_due,
                None => return self.keep_in_hand(pod, outcome, node, now),
            },
            (Stage::Due(due), Outcome::Goes { due: same }) if due == same => return,
            (Stage::Counting(at), Outcome::StaysUntil(same)) if at == same => {
                return self.plan_withdrawal(pod, outcome, node, now.plus(WITHDRAW_AFTER));
            }
            (Stage::Held(_), Outcome::Stays(Stay::Held)) => {
                return self.plan_withdrawal(pod, outcome, node, now.plus(WITHDRAW_AFTER));
            }
            (Stage::Quiet | Stage::Counting(_) | Stage::Held(_) | Stage::Due(_), _) => {
                known_due.or_else(|| self.unqueue(pod, node))
            }
        };
        let (told, was_held) = match pod.stage() {
            Stage::Counting(_) => (Told::Countdown, false),
            Stage::Held(told) => (told, true),
            _ if known_due.is_some() => (Told::Due, false),
            _ => (Told::Nothing, false),
        };
        pod.set_stage(Stage::Quiet, &mut self.counts);
        match outcome {
            Outcome::Goes { due } => {
                pod.set_stage(Stage::Due(due), &mut self.counts);
                self.queue.due.insert(ticket(pod, node, due), known_due.unwrap_or(now));
            }
            Outcome::StaysUntil(until) => pod.set_stage(Stage::Counting(until), &mut self.counts),
            Outcome::Stays(Stay::Held) => pod.set_stage(Stage::Held(told), &mut self.counts),
            Outcome::Stays(_) => {}
        }
        let goes_on = was_held && !self.holds.is_on();
        self.notices.extend(news(told, goes_on, outcome, || reference(pod, node)));
        // A pod this process was about to evict bears its own mark, if any, and nobody's request is under way.
        let withdraw_at = if known_due.is_some() { now } else { now.plus(WITHDRAW_AFTER) };
        self.plan_withdrawal(pod, outcome, node, withdraw_at);
    }

    /// A pod that stays and bears the mark is not left with it (S9): a predecessor crashed, or the reason went.
    fn plan_withdrawal(&mut self, pod: &mut Pod, outcome: Outcome, node: &NodeName, at: Mono) {
        let at = match outcome {
            Outcome::Goes { .. } => return,
            Outcome::Stays(Stay::Exempt(exemption)) if exemption != Exemption::Unreadable => return,
            Outcome::Stays(_) => at,
            Outcome::StaysUntil(until) => at.min(until),
        };
        if !pod.flags.has(Flags::MARKED) || pod.standing != Standing::Live {
            return;
        }
        pod.set_stage(Stage::InHand, &mut self.counts);
        let mut attempt = Attempt::new(ticket(pod, node, at), Step::Withdraw);
        attempt.retry_at = Some(at);
        self.queue.later.insert((at, attempt.ticket.clone()));
        let reference = reference(pod, node);
        self.queue.attempts.insert(reference.clone(), attempt);
        self.queue.set_deadline(&reference, deadline(outcome));
    }

    /// Ends an attempt that waits for another try and does not fit the outcome any more, so that the pod is planned
    /// anew at once. One whose turn it is, or whose request is out, asks again by itself.
    fn give_up(&mut self, pod: &mut Pod, outcome: Outcome, node: &NodeName) -> Option<Attempt> {
        let reference = reference(pod, node);
        let attempt = self.queue.attempts.get(&reference)?;
        let retry_at = attempt.retry_at?;
        let fits = match (attempt.step, outcome) {
            (Step::Look | Step::Finish, _) => true,
            (Step::Evict | Step::Rest, outcome) => matches!(outcome, Outcome::Goes { .. }),
            (Step::Withdraw, Outcome::Goes { .. }) => false,
            (Step::Withdraw, Outcome::StaysUntil(until)) => pod.flags.has(Flags::MARKED) && retry_at <= until,
            (Step::Withdraw, Outcome::Stays(Stay::Exempt(exemption))) => exemption == Exemption::Unreadable,
            (Step::Withdraw, Outcome::Stays(_)) => pod.flags.has(Flags::MARKED),
        };
        if fits {
            return None;
        }
        pod.set_stage(Stage::Quiet, &mut self.counts);
        self.queue.forget(&reference)
    }

    /// An attempt goes on; whether its pod has to go may have changed, even if only for a while.
    fn keep_in_hand(&mut self, pod: &Pod, outcome: Outcome, node: &NodeName, now: Mono) {
        let reference = reference(pod, node);
        self.queue.set_deadline(&reference, deadline(outcome));
        let Some(attempt) = self.queue.attempts.get_mut(&reference) else { return };
        match outcome {
            Outcome::Goes { .. } if attempt.wavered => {
                attempt.wavered = false;
                attempt.known_due = Some(now);
            }
            Outcome::Goes { .. } => {}
            Outcome::Stays(_) | Outcome::StaysUntil(_) => attempt.wavered = true,
        }
    }

    fn tell_not_understood(&mut self, pod: &mut Pod, outcome: Outcome, node: &NodeName) {
        let stays = outcome == Outcome::Stays(Stay::NotUnderstood);
        if stays && !pod.flags.has(Flags::NOT_UNDERSTOOD) {
            self.notices.push(Notice::NotUnderstood { pod: reference(pod, node) });
        }
        pod.flags.set(Flags::NOT_UNDERSTOOD, stays);
    }

    /// Takes a due pod's ticket out of the queue; says when it was known to be due. Does nothing for other pods.
    pub(super) fn unqueue(&mut self, pod: &mut Pod, node: &NodeName) -> Option<Mono> {
        let Stage::Due(due) = pod.stage() else { return None };
        pod.set_stage(Stage::Quiet, &mut self.counts);
        self.queue.due.remove(&ticket(pod, node, due))
    }

    /// A pod is gone. An eviction whose request is out is kept for its answer.
    pub(super) fn leave(&mut self, pod: &mut Pod, node: &NodeName) {
        self.unqueue(pod, node);
        pod.set_stage(Stage::Gone, &mut self.counts);
        self.pods -= 1;
        let reference = reference(pod, node);
        match self.queue.attempts.get_mut(&reference) {
            Some(attempt) if attempt.errand.is_some() => attempt.vanished = true,
            _ => {
                self.queue.forget(&reference);
            }
        }
    }

    /// A pod that bears our mark goes, and no DELETE of ours was accepted: somebody else's was, in the moment between the
    /// two (P39), unless the one that is out now was. Only where nothing else went wrong: then there was a moment.
    ///
    /// An API-initiated eviction, a preemption and podgc overwrite the mark; a plain DELETE does not, so that one sign
    /// alone may be chance.
    pub(super) fn overtaken(&mut self, pod: &PodRef) {
        let Some(attempt) = self.queue.attempts.get_mut(pod) else { return };
        if !attempt.marked_here || !attempt.is_smooth() {
            return;
        }
        match attempt.errand {
            Some(Errand::Delete) => attempt.overtaken = true,
            _ => self.notices.push(Notice::Overtaken { pod: pod.clone() }),
        }
    }
}
