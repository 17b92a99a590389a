//! Decides the next request when the control loop pulls an effect: read the node, set the condition, delete, or undo.
//!
//! - Invariant: condition before DELETE (TE-30); no DELETE without a live read of the node at most 2 s old (D5) or
//!   before its deadline (S3).
//! - See `responses.rs` for the handling of responses.

use super::cache::{PodEntry, PodFlags};
use super::confirmation::NodeConfirmation;
use super::node_state::NodeState;
use super::notice::EvictionReason;
use super::phase::EvictionPhase;
use super::work_queue::{Dequeued, EvictionAttempt, InFlightRequest, NextStep, QueueKey};
use super::{DisruptionConditionPolicy, EvictionConfig, EvictionEffect, EvictionEngine};
use crate::countdown_hold::HoldHistory;
use crate::engine::Lane;
use crate::fact::PodOwnerKind;
use crate::identity::{PodName, PodRef, ResourceVersion};
use crate::taint_start::TaintStartSource;
use crate::time::{Mono, Now, Span};
use crate::toleration::TolerationPeriod;
use crate::toleration_matching::TaintMatch;
use crate::verdict::{self, EvictionExemption, Outcome, StayReason, TaintInstance, Verdict};
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
enum Dispatch {
    /// Send this.
    Send(EvictionEffect),
    /// It waits for something; another pod's turn.
    Waiting,
    /// It stays after all: nothing more to do.
    Finished,
}

/// All a turn needs to know, read from the state at once.
struct EvictionContext {
    step: NextStep,
    name: PodName,
    generation: u32,
    version: Option<ResourceVersion>,
    looked: Option<Mono>,
    slow: bool,
    marked: bool,
    wants_mark: bool,
    check: NodeConfirmation,
    verdict: Verdict,
    taints: Vec<TaintInstance>,
}

impl EvictionContext {
    /// Whether the pod was read recently enough to be deleted by its UID alone.
    fn is_looked_at(&self, now: Mono, age_max: Span) -> bool {
        self.looked.is_some_and(|at| now <= at.plus(age_max))
    }

    /// See [`EvictionEngine::mark_meanwhile`].
    fn is_marked_meanwhile(&self, now: Mono, age_max: Span) -> bool {
        let decisive = self.verdict.decisive.and_then(|at| self.taints.get(at));
        let young = decisive.is_some_and(|instance| {
            instance.start.source == TaintStartSource::SeenLive && now <= instance.start.at.plus(age_max)
        });
        let void = matches!(self.check, NodeConfirmation::InFlight { void: true, .. });
        self.wants_mark && self.version.is_some() && young && !void
    }
}

impl EvictionEngine {
    /// The next effect of a lane, decided at this moment; `None` if there is nothing to do yet.
    pub(super) fn dequeue_effect(&mut self, lane: Lane, now: Now) -> Option<EvictionEffect> {
        loop {
            let Dequeued { key, known_due, is_probe } = self.state.queue.dequeue(lane, now.mono)?;
            if let Some(known_due) = known_due {
                let mut attempt = EvictionAttempt::new(key.clone(), NextStep::Evict);
                attempt.known_due = Some(known_due);
                self.state.queue.attempts.insert(key.pod.clone(), attempt);
            }
            let pod = key.pod.clone();
            if is_probe && let Some(entry) = self.nodes.get_mut(&pod.node) {
                entry.confirmation = entry.confirmation.without_pause(now.mono);
            }
            match self.dispatch(key, now) {
                Dispatch::Send(effect) => return Some(effect),
                Dispatch::Waiting => {}
                Dispatch::Finished => self.finish_without_eviction(&pod, now.mono),
            }
        }
    }

    fn dispatch(&mut self, key: QueueKey, now: Now) -> Dispatch {
        let attempt = self.state.queue.attempts.get(&key.pod);
        if attempt.is_some_and(|attempt| attempt.in_flight.is_some() || attempt.key != key) {
            // A queue key from before the pod was gone and told of again; its attempt has another one.
            return Dispatch::Waiting;
        }
        let Some(context) = self.context(&key.pod, now) else { return Dispatch::Finished };
        match context.step {
            NextStep::ReadPod => return self.look(key.pod, context.name, now.mono),
            NextStep::Finish => return self.finish(key.pod, context, now.mono),
            NextStep::Rest if matches!(context.verdict.outcome, Outcome::Leaves { .. }) => {
                return self.rest(key, context);
            }
            NextStep::Evict | NextStep::Unmark | NextStep::Rest => {}
        }
        match context.verdict.outcome {
            Outcome::Leaves { due } => self.evict(key, context, due, now.mono),
            Outcome::Stays(StayReason::Exempt(exemption)) if exemption != EvictionExemption::Undecodable => {
                Dispatch::Finished
            }
            Outcome::Stays(_) | Outcome::StaysUntil(_) if context.marked => {
                if let Some(attempt) = self.state.queue.attempts.get_mut(&key.pod) {
                    (attempt.step, attempt.unmark_at) = (NextStep::Unmark, None);
                }
                self.unmark(key.pod, context.name)
            }
            Outcome::Stays(_) | Outcome::StaysUntil(_) => Dispatch::Finished,
        }
    }

    fn context(&mut self, reference: &PodRef, now: Now) -> Option<EvictionContext> {
        let entry = self.nodes.get_mut(&reference.node)?;
        let attempt = self.state.queue.attempts.get_mut(reference)?;
        attempt.retry_at = None;
        entry.pod_mut(&reference.uid)?.set_phase(EvictionPhase::InProgress, &mut self.state.counts);
        let (entry, pod) = (&*entry, entry.pod(&reference.uid)?);
        let subject = pod.input(entry.is_undecodable());
        Some(EvictionContext {
            step: attempt.step,
            name: pod.name.clone(),
            generation: pod.generation,
            version: pod.version().filter(|_| attempt.conflicts < VERSION_CONFLICTS_MAX),
            looked: attempt.pod_read.map(|(at, _)| at),
            slow: attempt.slow,
            marked: pod.flags.has(PodFlags::MARKED),
            wants_mark: wants_mark(&self.config, pod),
            check: entry.confirmation,
            verdict: verdict::judge_held(
                &subject,
                entry.taints(),
                &self.state.holds,
                self.config.numeric,
                now,
            ),
            taints: entry.taints().to_vec(),
        })
    }

    fn evict(&mut self, key: QueueKey, context: EvictionContext, due: Mono, now: Mono) -> Dispatch {
        let Some(attempt) = self.state.queue.attempts.get_mut(&key.pod) else { return Dispatch::Finished };
        attempt.step = NextStep::Evict;
        if context.marked {
            attempt.marked_at.get_or_insert(now);
        }
        let known_due = *attempt.known_due.get_or_insert(now);
        let first = attempt.is_first();
        let since = due.max(known_due);
        let age_max = self.config.confirm_age_max;
        let Some(confirmed) = context.check.fresh(since, now, age_max) else {
            return match first && context.is_marked_meanwhile(now, age_max) {
                true => self.mark_meanwhile(key, context, now),
                false => self.wait_for_check(key, now),
            };
        };
        if context.version.is_none() && !context.is_looked_at(now, age_max) {
            return self.look(key.pod, context.name, now);
        }
        if context.wants_mark {
            return self.mark(key.pod, context);
        }
        let (pod, name, version, slow) =
            (key.pod.clone(), context.name.clone(), context.version, context.slow);
        assert_time(&context, &self.state.holds, due, now);
        if let Some(attempt) = self.state.queue.attempts.get_mut(&pod) {
            attempt.reason = reason(context, due, known_due, confirmed, now);
        }
        let effect = EvictionEffect::DeletePod { pod, name, version, confirmed, slow };
        self.send(&key.pod, InFlightRequest::Delete, effect)
    }

    fn mark(&mut self, pod: PodRef, context: EvictionContext) -> Dispatch {
        let EvictionContext { name, version, generation, slow, .. } = context;
        let effect =
            EvictionEffect::SetDisruptionTarget { pod: pod.clone(), name, version, generation, slow };
        self.send(&pod, InFlightRequest::Mark, effect)
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
    fn mark_meanwhile(&mut self, key: QueueKey, context: EvictionContext, now: Mono) -> Dispatch {
        if matches!(context.check, NodeConfirmation::InFlight { .. }) {
            return self.mark(key.pod, context);
        }
        let node = key.pod.node.clone();
        let turn = self.wait_for_check(key, now);
        let entry = self.nodes.get_mut(&node).filter(|_| matches!(turn, Dispatch::Send(_)));
        if let Some(key) = entry.and_then(|entry| entry.parked.pop()) {
            self.state.queue.requeue(key);
        }
        turn
    }

    /// Takes the mark away until the next try, or waits for that without one.
    fn rest(&mut self, key: QueueKey, context: EvictionContext) -> Dispatch {
        let Some(attempt) = self.state.queue.attempts.get_mut(&key.pod) else { return Dispatch::Finished };
        if context.marked {
            return self.unmark(key.pod, context.name);
        }
        attempt.step = NextStep::ReadPod;
        attempt.marked_at = None;
        if let Some(at) = attempt.unmark_at.take() {
            self.state.queue.later_at(key, at);
        }
        Dispatch::Waiting
    }

    fn unmark(&mut self, pod: PodRef, name: PodName) -> Dispatch {
        let effect = EvictionEffect::ClearDisruptionTarget { pod: pod.clone(), name };
        self.send(&pod, InFlightRequest::Unmark, effect)
    }

    /// Deletes once more what a lost DELETE of ours has begun to delete (P31). It was decided then; what is left to do is
    /// nobody's eviction, so the look that found it so is all the confirmation there need be.
    fn finish(&mut self, pod: PodRef, context: EvictionContext, now: Mono) -> Dispatch {
        let looked = context.looked.filter(|at| now <= at.plus(self.config.confirm_age_max));
        let Some(confirmed) = looked else { return self.look(pod, context.name, now) };
        let EvictionContext { name, version, slow, .. } = context;
        let effect = EvictionEffect::DeletePod { pod: pod.clone(), name, version, confirmed, slow };
        self.send(&pod, InFlightRequest::Delete, effect)
    }

    /// Reads the pod itself: what is known of it may not be so, or no version can be demanded that would say so (S1).
    fn look(&mut self, pod: PodRef, name: PodName, now: Mono) -> Dispatch {
        let held = self.nodes.get(&pod.node).and_then(|entry| entry.pod(&pod.uid));
        let known = held.and_then(PodEntry::version);
        if let Some(attempt) = self.state.queue.attempts.get_mut(&pod) {
            attempt.pod_read = Some((now, known));
        }
        let effect = EvictionEffect::ReadPod { pod: pod.clone(), name };
        self.send(&pod, InFlightRequest::ReadPod, effect)
    }

    /// Without a young confirmation of its node no pod is touched (D5, TE-41): asks for one, or waits for the one
    /// under way.
    fn wait_for_check(&mut self, key: QueueKey, now: Mono) -> Dispatch {
        let Some(entry) = self.nodes.get_mut(&key.pod.node) else { return Dispatch::Finished };
        let tries = match entry.confirmation {
            NodeConfirmation::InFlight { .. } => {
                entry.parked.push(key);
                return Dispatch::Waiting;
            }
            NodeConfirmation::Failed { at, retry_at, tries } => {
                // The pause is for those whose tries have earned it (D3).
                let attempt = self.state.queue.attempts.get(&key.pod);
                let first = attempt.is_some_and(EvictionAttempt::is_first);
                let may = if first { retry_at.min(at.plus(FIRST_READ_PAUSE)) } else { retry_at };
                if may > now && self.state.queue.outage.counts(at) {
                    self.state.queue.later_at(key, may);
                    return Dispatch::Waiting;
                }
                if now > at.plus(FAILURES_REMEMBERED) { 0 } else { tries }
            }
            NodeConfirmation::None | NodeConfirmation::At(_) => 0,
        };
        let node = key.pod.node.clone();
        let known = entry.state.as_ref().and_then(NodeState::version);
        entry.confirmation = NodeConfirmation::InFlight { tries, void: false, known };
        entry.parked.push(key);
        Dispatch::Send(EvictionEffect::ReadNode { node })
    }

    fn send(&mut self, pod: &PodRef, request: InFlightRequest, effect: EvictionEffect) -> Dispatch {
        if let Some(attempt) = self.state.queue.attempts.get_mut(pod) {
            attempt.in_flight = Some(request);
        }
        Dispatch::Send(effect)
    }

    /// An attempt is over without a deletion: the pod goes back to its plan.
    pub(super) fn finish_without_eviction(&mut self, pod: &PodRef, now: Mono) {
        let known_due = self.state.queue.forget(pod).and_then(|attempt| attempt.known_due);
        if let Some(held) = self.nodes.get_mut(&pod.node).and_then(|entry| entry.pod_mut(&pod.uid)) {
            held.set_phase(EvictionPhase::Idle, &mut self.state.counts);
            self.reassess_pod(&pod.node, &pod.uid, known_due, now);
        }
    }
}

/// Whether the condition is to be put on this pod first; an identical one is not written again (TE-31).
fn wants_mark(config: &EvictionConfig, pod: &PodEntry) -> bool {
    let wanted = match config.condition {
        DisruptionConditionPolicy::Always => true,
        DisruptionConditionPolicy::Jobs => pod.owner == PodOwnerKind::Job,
        DisruptionConditionPolicy::Never => false,
    };
    wanted && !pod.flags.has(PodFlags::MARKED)
}

/// No DELETE before its time (S3), nor in time that does not count (NL-48): whatever the verdict says, the taint that it
/// says sends the pod away must not be held, nor have been there for less than what was held of it and the pod bears.
fn assert_time(context: &EvictionContext, holds: &HoldHistory, due: Mono, now: Mono) {
    assert!(due <= now, "S3: a pod is deleted before it is due");
    let Some(at) = context.verdict.decisive else { panic!("a pod is deleted for no taint") };
    let (taint, reason) = (&context.taints[at].taint, &context.verdict.reasons[at]);
    assert!(!holds.is_on_hold(taint), "NL-48: a pod is deleted for a taint whose time is held");
    let Some(TolerationPeriod::For(patience)) = reason.patience else {
        panic!("S3: a pod is deleted that bears it")
    };
    let bears = patience.saturating_add(holds.held_time(taint, reason.counts_from));
    assert!(reason.counts_from.plus(bears) <= now, "S3, NL-48: a pod is deleted before its time");
}

fn reason(
    context: EvictionContext,
    due: Mono,
    known_due: Mono,
    confirmed: Mono,
    decided: Mono,
) -> Option<Box<EvictionReason>> {
    let decisive = context.verdict.decisive?;
    let reason = context.verdict.reasons.get(decisive)?;
    let toleration = match (reason.taint_match, reason.patience) {
        (TaintMatch::Tolerated(position), Some(TolerationPeriod::For(span))) => Some((position, span)),
        (TaintMatch::Tolerated(position), _) => Some((position, Span::ZERO)),
        (TaintMatch::Untolerated | TaintMatch::Unsupported(_), _) => None,
    };
    Some(Box::new(EvictionReason {
        name: context.name,
        taint: context.taints.get(decisive)?.taint.clone(),
        start: reason.start,
        counts_from: reason.counts_from,
        held: reason.held,
        toleration,
        due,
        known_due,
        decided,
        confirmed,
    }))
}
