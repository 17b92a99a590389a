//! # Turns: what is asked of the API server next
//! Room:     pulling effects; the steps of one eviction: confirm, mark, delete, or withdraw.
//! Comes in: a pull, when there is capacity and the right to act.
//! Goes out: one effect at a time, decided at that moment.
//! Keeps:    condition before DELETE (TE-30); no DELETE without a young confirmation (D5) or before its time (S3).
//! Not here: what the answers mean (`answers.rs`); sending, timeouts, concurrency.

use super::check::Check;
use super::queue::{Attempt, Errand, Grounds, Lane, PodRef, Pulled, Step, Ticket};
use super::roster::{Flags, Pod, Stage};
use super::{ConditionPolicy, Config, Effect, Engine};
use crate::fact::Owner;
use crate::hold::Holds;
use crate::matching::Answer;
use crate::names::{PodName, Version};
use crate::start::StartSource;
use crate::time::{Mono, Now, Span};
use crate::toleration::Patience;
use crate::verdict::{self, Exemption, Outcome, Stay, TaintInstance, Verdict};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Conflicts after which a DELETE demands only the UID, no longer the version: a pod whose status changes faster than
/// it can be read still goes (P45).
pub(super) const VERSION_CONFLICTS_MAX: u32 = 5;

/// A pod that was never tried waits no longer than this after a failed read of its node, whatever the node's pause is:
/// the server may be well again. However many pods become due, a node is not asked more often than that for them.
const FIRST_READ_PAUSE: Span = Span::from_millis(100);

/// A node that nobody wanted to read for so long begins anew: its pauses have been over for a while.
const FAILURES_REMEMBERED: Span = Span::from_secs(75);

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
    slow: bool,
    marked: bool,
    wants_mark: bool,
    check: Check,
    verdict: Verdict,
    taints: Vec<TaintInstance>,
}

impl Situation {
    /// Whether the pod was read recently enough to be deleted by its UID alone.
    fn is_looked_at(&self, now: Mono, age_max: Span) -> bool {
        self.looked.is_some_and(|at| now <= at.plus(age_max))
    }

    /// See [`Engine::mark_meanwhile`].
    fn is_marked_meanwhile(&self, now: Mono, age_max: Span) -> bool {
        let decisive = self.verdict.decisive.and_then(|at| self.taints.get(at));
        let young = decisive.is_some_and(|instance| {
            instance.start.source == StartSource::SeenLive && now <= instance.start.at.plus(age_max)
        });
        let void = matches!(self.check, Check::InFlight { void: true, .. });
        self.wants_mark && self.version.is_some() && young && !void
    }
}

impl Engine {
    /// The next effect of a lane, decided at this moment; `None` if there is nothing to do yet.
    pub fn next(&mut self, lane: Lane, now: Now) -> Option<Effect> {
        if !self.is_synced() {
            return None;
        }
        loop {
            let Pulled { ticket, known_due, is_probe } = self.book.queue.pull(lane, now.mono)?;
            if let Some(known_due) = known_due {
                let mut attempt = Attempt::new(ticket.clone(), Step::Evict);
                attempt.known_due = Some(known_due);
                self.book.queue.attempts.insert(ticket.pod.clone(), attempt);
            }
            let pod = ticket.pod.clone();
            if is_probe && let Some(seat) = self.nodes.get_mut(&pod.node) {
                seat.check = seat.check.without_pause(now.mono);
            }
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
        match situation.step {
            Step::Look => return self.look(ticket.pod, situation.name, now.mono),
            Step::Finish => return self.finish(ticket.pod, situation, now.mono),
            Step::Rest if matches!(situation.verdict.outcome, Outcome::Goes { .. }) => {
                return self.rest(ticket, situation);
            }
            Step::Evict | Step::Withdraw | Step::Rest => {}
        }
        match situation.verdict.outcome {
            Outcome::Goes { due } => self.evict(ticket, situation, due, now.mono),
            Outcome::Stays(Stay::Exempt(exemption)) if exemption != Exemption::Unreadable => Turn::Settled,
            Outcome::Stays(_) | Outcome::StaysUntil(_) if situation.marked => {
                if let Some(attempt) = self.book.queue.attempts.get_mut(&ticket.pod) {
                    (attempt.step, attempt.resume_at) = (Step::Withdraw, None);
                }
                self.unmark(ticket.pod, situation.name)
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
            looked: attempt.looked.map(|(at, _)| at),
            slow: attempt.slow,
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
        if situation.marked {
            attempt.marked_at.get_or_insert(now);
        }
        let known_due = *attempt.known_due.get_or_insert(now);
        let first = attempt.is_first();
        let since = due.max(known_due);
        let age_max = self.config.confirm_age_max;
        let Some(confirmed) = situation.check.fresh(since, now, age_max) else {
            return match first && situation.is_marked_meanwhile(now, age_max) {
                true => self.mark_meanwhile(ticket, situation, now),
                false => self.wait_for_check(ticket, now),
            };
        };
        if situation.version.is_none() && !situation.is_looked_at(now, age_max) {
            return self.look(ticket.pod, situation.name, now);
        }
        if situation.wants_mark {
            return self.mark(ticket.pod, situation);
        }
        let (pod, name, version, slow) =
            (ticket.pod.clone(), situation.name.clone(), situation.version, situation.slow);
        assert_time(&situation, &self.book.holds, due, now);
        if let Some(attempt) = self.book.queue.attempts.get_mut(&pod) {
            attempt.grounds = grounds(situation, due, known_due, confirmed, now);
        }
        let effect = Effect::Delete { pod, name, version, confirmed, slow };
        self.send(&ticket.pod, Errand::Delete, effect)
    }

    fn mark(&mut self, pod: PodRef, situation: Situation) -> Turn {
        let Situation { name, version, generation, slow, .. } = situation;
        let effect = Effect::Mark { pod: pod.clone(), name, version, generation, slow };
        self.send(&pod, Errand::Mark, effect)
    }

    /// Marks a pod while its node is being read: the read first, the mark right behind it, so that the DELETE need only
    /// wait for the slower of both.
    ///
    /// Nothing that is safe depends on their order. The DELETE still wants both: the mark (TE-30) and a confirmation
    /// that is younger than the moment from which the pod had to go (S2, D5). The mark demands the UID and the version
    /// that the pod was judged by (S1). If the read says that the taint is gone, or says nothing, the pod bears a mark
    /// that is taken away again like any other that no DELETE follows (S9). To keep such marks rare, only news that is as
    /// young as a confirmation may be is acted on in this way: a taint that was seen being put on just now, not one that
    /// was found, nor one that a pod has come to since.
    fn mark_meanwhile(&mut self, ticket: Ticket, situation: Situation, now: Mono) -> Turn {
        if matches!(situation.check, Check::InFlight { .. }) {
            return self.mark(ticket.pod, situation);
        }
        let node = ticket.pod.node.clone();
        let turn = self.wait_for_check(ticket, now);
        let seat = self.nodes.get_mut(&node).filter(|_| matches!(turn, Turn::Send(_)));
        if let Some(ticket) = seat.and_then(|seat| seat.parked.pop()) {
            self.book.queue.again(ticket);
        }
        turn
    }

    /// Takes the mark away until the next try, or waits for that without one.
    fn rest(&mut self, ticket: Ticket, situation: Situation) -> Turn {
        let Some(attempt) = self.book.queue.attempts.get_mut(&ticket.pod) else { return Turn::Settled };
        if situation.marked {
            return self.unmark(ticket.pod, situation.name);
        }
        attempt.step = Step::Look;
        attempt.marked_at = None;
        if let Some(at) = attempt.resume_at.take() {
            self.book.queue.later_at(ticket, at);
        }
        Turn::Waits
    }

    fn unmark(&mut self, pod: PodRef, name: PodName) -> Turn {
        let effect = Effect::Unmark { pod: pod.clone(), name };
        self.send(&pod, Errand::Unmark, effect)
    }

    /// Deletes once more what a lost DELETE of ours has begun to delete (P31). It was decided then; what is left to do is
    /// nobody's eviction, so the look that found it so is all the confirmation there need be.
    fn finish(&mut self, pod: PodRef, situation: Situation, now: Mono) -> Turn {
        let looked = situation.looked.filter(|at| now <= at.plus(self.config.confirm_age_max));
        let Some(confirmed) = looked else { return self.look(pod, situation.name, now) };
        let Situation { name, version, slow, .. } = situation;
        let effect = Effect::Delete { pod: pod.clone(), name, version, confirmed, slow };
        self.send(&pod, Errand::Delete, effect)
    }

    /// Reads the pod itself: what is known of it may not be so, or no version can be demanded that would say so (S1).
    fn look(&mut self, pod: PodRef, name: PodName, now: Mono) -> Turn {
        let held = self.nodes.get(&pod.node).and_then(|seat| seat.pod(&pod.uid));
        let known = held.and_then(Pod::version);
        if let Some(attempt) = self.book.queue.attempts.get_mut(&pod) {
            attempt.looked = Some((now, known));
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
            Check::Failed { at, retry_at, tries } => {
                // The pause is for those whose tries have earned it (D3).
                let attempt = self.book.queue.attempts.get(&ticket.pod);
                let first = attempt.is_some_and(Attempt::is_first);
                let may = if first { retry_at.min(at.plus(FIRST_READ_PAUSE)) } else { retry_at };
                if may > now && self.book.queue.outage.counts(at) {
                    self.book.queue.later_at(ticket, may);
                    return Turn::Waits;
                }
                if now > at.plus(FAILURES_REMEMBERED) { 0 } else { tries }
            }
            Check::None | Check::At(_) => 0,
        };
        let node = ticket.pod.node.clone();
        let known = seat.known.as_ref().and_then(|known| known.version);
        seat.check = Check::InFlight { tries, void: false, known };
        seat.parked.push(ticket);
        Turn::Send(Effect::Confirm { node })
    }

    fn send(&mut self, pod: &PodRef, errand: Errand, effect: Effect) -> Turn {
        if let Some(attempt) = self.book.queue.attempts.get_mut(pod) {
            attempt.errand = Some(errand);
        }
        Turn::Send(effect)
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
