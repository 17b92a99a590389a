//! # Turns: what is asked of the API server next
//! Room:     pulling effects; the steps of one eviction: confirm, mark, delete, or withdraw.
//! Comes in: a pull, when there is capacity and the right to act.
//! Goes out: one effect at a time, decided at that moment.
//! Keeps:    condition first, then DELETE (TE-30); no DELETE without a young confirmation (D5) or before its time (S3).
//! Not here: what the answers mean (`answers.rs`); sending, timeouts, concurrency.

use super::queue::{Attempt, Errand, Grounds, Lane, PodRef, Step, Ticket};
use super::roster::{Check, Flags, Pod, Stage};
use super::{ConditionPolicy, Config, Effect, Engine};
use crate::fact::Owner;
use crate::hold::Holds;
use crate::matching::Answer;
use crate::names::{PodName, Version};
use crate::time::{Mono, Now, Span};
use crate::toleration::Patience;
use crate::verdict::{self, Exemption, Outcome, Stay, TaintInstance, Verdict};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Conflicts after which a DELETE demands only the UID, no longer the version: a pod whose status changes faster than
/// it can be read still goes (P45).
pub(super) const VERSION_CONFLICTS_MAX: u32 = 5;

/// What one turn came to.
enum Turn {
    /// Send this.
    Send(Effect),
    /// It waits for something; another pod's turn.
    Waits,
    /// It stays after all: nothing more to do.
    Settled,
}

/// All a turn needs to know, read from the state at once.
struct Situation {
    step: Step,
    name: PodName,
    generation: u32,
    version: Option<Version>,
    looked: Option<Mono>,
    marked: bool,
    wants_mark: bool,
    check: Check,
    verdict: Verdict,
    taints: Vec<TaintInstance>,
}

impl Engine {
    /// The next effect of a lane, decided at this moment; `None` if there is nothing to do yet.
    pub fn next(&mut self, lane: Lane, now: Now) -> Option<Effect> {
        if !self.is_synced() {
            return None;
        }
        loop {
            let (ticket, known_due) = self.book.queue.pull(lane, now.mono)?;
            if let Some(known_due) = known_due {
                let mut attempt = Attempt::new(ticket.clone(), Step::Evict);
                attempt.known_due = Some(known_due);
                self.book.queue.attempts.insert(ticket.pod.clone(), attempt);
            }
            let pod = ticket.pod.clone();
            match self.turn(ticket, now) {
                Turn::Send(effect) => return Some(effect),
                Turn::Waits => {}
                Turn::Settled => self.settled(&pod, now.mono),
            }
        }
    }

    fn turn(&mut self, ticket: Ticket, now: Now) -> Turn {
        let attempt = self.book.queue.attempts.get(&ticket.pod);
        if attempt.is_some_and(|attempt| attempt.errand.is_some() || attempt.ticket != ticket) {
            // A ticket from before the pod was gone and told of again; its attempt has another one.
            return Turn::Waits;
        }
        let Some(situation) = self.situation(&ticket.pod, now) else { return Turn::Settled };
        if situation.step == Step::Look {
            return self.look(ticket.pod, situation.name, now.mono);
        }
        match situation.verdict.outcome {
            Outcome::Goes { due } => self.evict(ticket, situation, due, now.mono),
            Outcome::Stays(Stay::Exempt(exemption)) if exemption != Exemption::Unreadable => Turn::Settled,
            Outcome::Stays(_) | Outcome::StaysUntil(_) if situation.marked => {
                self.set_step(&ticket.pod, Step::Withdraw);
                let effect = Effect::Unmark { pod: ticket.pod.clone(), name: situation.name };
                self.send(&ticket.pod, Errand::Unmark, effect)
            }
            Outcome::Stays(_) | Outcome::StaysUntil(_) => Turn::Settled,
        }
    }

    fn situation(&mut self, reference: &PodRef, now: Now) -> Option<Situation> {
        let seat = self.nodes.get_mut(&reference.node)?;
        let attempt = self.book.queue.attempts.get_mut(reference)?;
        attempt.retry_at = None;
        seat.pod_mut(&reference.uid)?.set_stage(Stage::InHand, &mut self.book.counts);
        let (seat, pod) = (&*seat, seat.pod(&reference.uid)?);
        let subject = pod.subject(seat.obscured());
        Some(Situation {
            step: attempt.step,
            name: pod.name.clone(),
            generation: pod.generation,
            version: pod.version().filter(|_| attempt.conflicts < VERSION_CONFLICTS_MAX),
            looked: attempt.looked,
            marked: pod.flags.has(Flags::MARKED),
            wants_mark: wants_mark(&self.config, pod),
            check: seat.check,
            verdict: verdict::judge_held(&subject, seat.taints(), &self.book.holds, self.config.numeric, now),
            taints: seat.taints().to_vec(),
        })
    }

    fn evict(&mut self, ticket: Ticket, situation: Situation, due: Mono, now: Mono) -> Turn {
        let Some(attempt) = self.book.queue.attempts.get_mut(&ticket.pod) else { return Turn::Settled };
        attempt.step = Step::Evict;
        let known_due = *attempt.known_due.get_or_insert(now);
        let since = due.max(known_due);
        let Some(confirmed) = situation.check.fresh(since, now, self.config.confirm_age_max) else {
            return self.wait_for_check(ticket, now);
        };
        let looked = situation.looked.is_some_and(|at| now <= at.plus(self.config.confirm_age_max));
        if situation.version.is_none() && !looked {
            return self.look(ticket.pod, situation.name, now);
        }
        let (pod, name, version) = (ticket.pod.clone(), situation.name.clone(), situation.version);
        if situation.wants_mark {
            let effect = Effect::Mark { pod, name, version, generation: situation.generation };
            return self.send(&ticket.pod, Errand::Mark, effect);
        }
        assert_time(&situation, &self.book.holds, due, now);
        if let Some(attempt) = self.book.queue.attempts.get_mut(&pod) {
            attempt.grounds = grounds(situation, due, known_due, confirmed, now);
        }
        let effect = Effect::Delete { pod, name, version, confirmed };
        self.send(&ticket.pod, Errand::Delete, effect)
    }

    /// Reads the pod itself: what is known of it may not be so, or no version can be demanded that would say so (S1).
    fn look(&mut self, pod: PodRef, name: PodName, now: Mono) -> Turn {
        if let Some(attempt) = self.book.queue.attempts.get_mut(&pod) {
            attempt.looked = Some(now);
        }
        let effect = Effect::Look { pod: pod.clone(), name };
        self.send(&pod, Errand::Look, effect)
    }

    /// Without a young confirmation of its node no pod is touched (D5, TE-41): asks for one, or waits for the one
    /// under way.
    fn wait_for_check(&mut self, ticket: Ticket, now: Mono) -> Turn {
        let Some(seat) = self.nodes.get_mut(&ticket.pod.node) else { return Turn::Settled };
        let tries = match seat.check {
            Check::InFlight { .. } => {
                seat.parked.push(ticket);
                return Turn::Waits;
            }
            Check::Failed { retry_at, .. } if retry_at > now => {
                self.book.queue.later_at(ticket, retry_at);
                return Turn::Waits;
            }
            Check::Failed { tries, .. } => tries,
            Check::None | Check::At(_) => 0,
        };
        let node = ticket.pod.node.clone();
        seat.check = Check::InFlight { tries, void: false };
        seat.parked.push(ticket);
        Turn::Send(Effect::Confirm { node })
    }

    fn send(&mut self, pod: &PodRef, errand: Errand, effect: Effect) -> Turn {
        if let Some(attempt) = self.book.queue.attempts.get_mut(pod) {
            attempt.errand = Some(errand);
        }
        Turn::Send(effect)
    }

    fn set_step(&mut self, pod: &PodRef, step: Step) {
        if let Some(attempt) = self.book.queue.attempts.get_mut(pod) {
            attempt.step = step;
        }
    }

    /// An attempt is over without a deletion: the pod goes back to its plan.
    pub(super) fn settled(&mut self, pod: &PodRef, now: Mono) {
        let known_due = self.book.queue.forget(pod).and_then(|attempt| attempt.known_due);
        if let Some(held) = self.nodes.get_mut(&pod.node).and_then(|seat| seat.pod_mut(&pod.uid)) {
            held.set_stage(Stage::Quiet, &mut self.book.counts);
            self.reassess_pod(&pod.node, &pod.uid, known_due, now);
        }
    }
}

/// Whether the condition is to be put on this pod first; an identical one is not written again (TE-31).
fn wants_mark(config: &Config, pod: &Pod) -> bool {
    let wanted = match config.condition {
        ConditionPolicy::Always => true,
        ConditionPolicy::Jobs => pod.owner == Owner::Job,
        ConditionPolicy::Never => false,
    };
    wanted && !pod.flags.has(Flags::MARKED)
}

/// No DELETE before its time (S3), nor in time that does not count (NL-48): whatever the verdict says, the taint that it
/// says sends the pod away must not be held, nor have been there for less than what was held of it and the pod bears.
fn assert_time(situation: &Situation, holds: &Holds, due: Mono, now: Mono) {
    assert!(due <= now, "S3: a pod is deleted before it is due");
    let Some(at) = situation.verdict.decisive else { panic!("a pod is deleted for no taint") };
    let (taint, reason) = (&situation.taints[at].taint, &situation.verdict.reasons[at]);
    assert!(!holds.stop(taint), "NL-48: a pod is deleted for a taint whose time is held");
    let Some(Patience::For(patience)) = reason.patience else { panic!("S3: a pod is deleted that bears it") };
    let bears = patience.saturating_add(holds.spent(taint, reason.counts_from));
    assert!(reason.counts_from.plus(bears) <= now, "S3, NL-48: a pod is deleted before its time");
}

fn grounds(
    situation: Situation,
    due: Mono,
    known_due: Mono,
    confirmed: Mono,
    decided: Mono,
) -> Option<Box<Grounds>> {
    let decisive = situation.verdict.decisive?;
    let reason = situation.verdict.reasons.get(decisive)?;
    let toleration = match (reason.answer, reason.patience) {
        (Answer::Tolerated(position), Some(Patience::For(span))) => Some((position, span)),
        (Answer::Tolerated(position), _) => Some((position, Span::ZERO)),
        (Answer::Untolerated | Answer::NotUnderstood(_), _) => None,
    };
    Some(Box::new(Grounds {
        name: situation.name,
        taint: situation.taints.get(decisive)?.taint.clone(),
        start: reason.start,
        counts_from: reason.counts_from,
        held: reason.spent,
        toleration,
        due,
        known_due,
        decided,
        confirmed,
    }))
}
