//! Decides the next request when it is a pod's turn: read the node, set the condition, delete, or undo.
//!
//! - Invariant: condition before DELETE (TE-30); no DELETE without a live read of the node at most 2 s old (D5) or
//!   before its deadline (S3).

use super::{EvictionAttempt, InFlightRequest, NextStep, WorkQueue};
use crate::eviction::config::{DisruptionConditionPolicy, EvictionConfig};
use crate::eviction::effect::EvictionEffect;
use crate::eviction::notice::EvictionReason;
use crate::eviction::{Dispatch, NodeConfirmation, PodTurn};
use crate::fact::PodOwnerKind;
use crate::identity::{PodRef, ResourceVersion};
use crate::taint_start::TaintStartSource;
use crate::time::{Mono, Span};
use crate::toleration::TolerationPeriod;
use crate::toleration_matching::TaintMatch;
use crate::verdict::{EvictionExemption, Outcome, StayReason};
use alloc::boxed::Box;

/// A pod that was never tried waits no longer than this after a failed read of its node, whatever the node's pause is:
/// the server may be well again. However many pods become due, a node is not asked more often than that for them.
const FIRST_READ_PAUSE: Span = Span::from_millis(100);

/// A node that nobody wanted to read for so long begins anew: its pauses have been over for a while.
const FAILURES_REMEMBERED: Span = Span::from_secs(75);

impl WorkQueue {
    /// Decides what is sent for a pod whose turn it is.
    pub(in crate::eviction) fn take_turn(
        &mut self,
        pod: &PodRef,
        facts: PodTurn<'_>,
        config: &EvictionConfig,
        now: Mono,
    ) -> Dispatch {
        Turn { queue: self, pod, facts, config, now }.dispatch()
    }
}

/// One turn of a pod.
struct Turn<'t> {
    queue: &'t mut WorkQueue,
    pod: &'t PodRef,
    facts: PodTurn<'t>,
    config: &'t EvictionConfig,
    now: Mono,
}

impl Turn<'_> {
    fn dispatch(mut self) -> Dispatch {
        let Some(attempt) = self.queue.attempts.get(self.pod) else { return Dispatch::Finished };
        let is_leaving = matches!(self.facts.verdict.outcome, Outcome::Leaves { .. });
        match attempt.step {
            NextStep::ReadPod => return self.read_pod(),
            NextStep::Finish => return self.finish(),
            NextStep::Rest if is_leaving => return self.rest(),
            NextStep::Evict | NextStep::Unmark | NextStep::Rest => {}
        }
        match self.facts.verdict.outcome {
            Outcome::Leaves { due } => self.evict(due),
            Outcome::Stays(StayReason::Exempt(exemption)) if exemption != EvictionExemption::Undecodable => {
                Dispatch::Finished
            }
            Outcome::Stays(_) | Outcome::StaysUntil(_) if self.facts.is_marked => {
                self.update(|attempt| (attempt.step, attempt.unmark_at) = (NextStep::Unmark, None));
                self.unmark()
            }
            Outcome::Stays(_) | Outcome::StaysUntil(_) => Dispatch::Finished,
        }
    }

    fn attempt(&mut self) -> Option<&mut EvictionAttempt> {
        self.queue.attempts.get_mut(self.pod)
    }

    fn update(&mut self, change: impl FnOnce(&mut EvictionAttempt)) {
        if let Some(attempt) = self.attempt() {
            change(attempt);
        }
    }

    /// The version that a request demands.
    fn version(&mut self) -> Option<ResourceVersion> {
        let by_uid_only = self.attempt().is_some_and(|attempt| attempt.is_by_uid_only());
        self.facts.version.filter(|_| !by_uid_only)
    }

    fn evict(mut self, due: Mono) -> Dispatch {
        let (now, is_marked) = (self.now, self.facts.is_marked);
        let Some(attempt) = self.attempt() else { return Dispatch::Finished };
        attempt.step = NextStep::Evict;
        if is_marked {
            attempt.marked_at.get_or_insert(now);
        }
        let known_due = *attempt.known_due.get_or_insert(now);
        let is_first = attempt.is_first();
        let fresh = self.facts.confirmation.fresh(due.max(known_due), now, self.config.confirm_age_max);
        let Some(confirmed) = fresh else {
            return match is_first && self.is_marked_meanwhile() {
                true => self.mark_meanwhile(),
                false => self.wait_for_read(),
            };
        };
        if self.version().is_none() && self.read_at().is_none() {
            return self.read_pod();
        }
        if self.wants_mark() {
            return self.mark();
        }
        self.assert_time(due);
        let reason = self.reason(due, known_due, confirmed);
        self.update(|attempt| attempt.reason = reason);
        self.delete(confirmed)
    }

    fn delete(mut self, confirmed: Mono) -> Dispatch {
        let (version, slow) = (self.version(), self.is_slow());
        let (pod, name) = (self.pod.clone(), self.facts.name.clone());
        let effect = EvictionEffect::DeletePod { pod, name, version, confirmed, slow };
        self.send(InFlightRequest::Delete, effect)
    }

    /// Deletes once more what a lost DELETE of ours has begun to delete (P31). It was decided then; what is left to do is
    /// nobody's eviction, so the look that found it so is all the confirmation there need be.
    fn finish(mut self) -> Dispatch {
        match self.read_at() {
            Some(confirmed) => self.delete(confirmed),
            None => self.read_pod(),
        }
    }

    fn mark(mut self) -> Dispatch {
        let (version, slow) = (self.version(), self.is_slow());
        let (pod, name, generation) = (self.pod.clone(), self.facts.name.clone(), self.facts.generation);
        let effect = EvictionEffect::SetDisruptionTarget { pod, name, version, generation, slow };
        self.send(InFlightRequest::Mark, effect)
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
    fn mark_meanwhile(mut self) -> Dispatch {
        if matches!(self.facts.confirmation, NodeConfirmation::InFlight { .. }) {
            return self.mark();
        }
        let read = self.read_node();
        if matches!(read, Dispatch::Send(_)) {
            self.queue.requeue(self.pod);
        }
        read
    }

    /// See [`Turn::mark_meanwhile`].
    fn is_marked_meanwhile(&mut self) -> bool {
        let decisive = self.facts.verdict.decisive.and_then(|at| self.facts.taints.get(at));
        let young = decisive.is_some_and(|instance| {
            let age_max = self.config.confirm_age_max;
            instance.start.source == TaintStartSource::SeenLive && self.now <= instance.start.at.plus(age_max)
        });
        let void = matches!(self.facts.confirmation, NodeConfirmation::InFlight { void: true, .. });
        self.wants_mark() && self.version().is_some() && young && !void
    }

    /// Takes the mark away until the next try, or waits for that without one.
    fn rest(mut self) -> Dispatch {
        if self.facts.is_marked {
            return self.unmark();
        }
        let Some(attempt) = self.attempt() else { return Dispatch::Finished };
        attempt.step = NextStep::ReadPod;
        attempt.marked_at = None;
        if let Some(at) = attempt.unmark_at.take() {
            self.queue.retry_at(self.pod, at);
        }
        Dispatch::Waiting
    }

    fn unmark(self) -> Dispatch {
        let effect =
            EvictionEffect::ClearDisruptionTarget { pod: self.pod.clone(), name: self.facts.name.clone() };
        self.send(InFlightRequest::Unmark, effect)
    }

    /// Reads the pod itself: what is known of it may not be so, or no version can be demanded that would say so (S1).
    fn read_pod(mut self) -> Dispatch {
        let read = Some((self.now, self.facts.version));
        self.update(|attempt| attempt.pod_read = read);
        let effect = EvictionEffect::ReadPod { pod: self.pod.clone(), name: self.facts.name.clone() };
        self.send(InFlightRequest::ReadPod, effect)
    }

    /// Without a young confirmation of its node no pod is touched (D5, TE-41): asks for one, or waits for the one
    /// under way.
    fn wait_for_read(mut self) -> Dispatch {
        let waiting = match self.facts.confirmation {
            NodeConfirmation::InFlight { .. } => Dispatch::Waiting,
            _ => self.read_node(),
        };
        if matches!(self.facts.confirmation, NodeConfirmation::InFlight { .. }) {
            self.queue.parked.entry(self.pod.node.clone()).or_default().push(self.pod.clone());
        }
        waiting
    }

    /// Reads the node, now or after the pause that its last read has earned.
    fn read_node(&mut self) -> Dispatch {
        let tries = match *self.facts.confirmation {
            NodeConfirmation::Failed { at, retry_at, tries } => {
                // The pause is for those whose tries have earned it (D3).
                let is_first = self.attempt().is_some_and(|attempt| attempt.is_first());
                let may = if is_first { retry_at.min(at.plus(FIRST_READ_PAUSE)) } else { retry_at };
                if may > self.now && self.queue.outage.counts(at) {
                    self.queue.retry_at(self.pod, may);
                    return Dispatch::Waiting;
                }
                if self.now > at.plus(FAILURES_REMEMBERED) { 0 } else { tries }
            }
            NodeConfirmation::InFlight { .. } | NodeConfirmation::None | NodeConfirmation::At(_) => 0,
        };
        let known = self.facts.node_version;
        *self.facts.confirmation = NodeConfirmation::InFlight { tries, void: false, known };
        Dispatch::Send(EvictionEffect::ReadNode { node: self.pod.node.clone() })
    }

    fn send(mut self, request: InFlightRequest, effect: EvictionEffect) -> Dispatch {
        self.update(|attempt| attempt.in_flight = Some(request));
        Dispatch::Send(effect)
    }

    /// When the pod was read, if that was recently enough for it to be deleted by its UID alone.
    fn read_at(&mut self) -> Option<Mono> {
        let (at, _) = self.attempt()?.pod_read?;
        Some(at).filter(|at| self.now <= at.plus(self.config.confirm_age_max))
    }

    fn is_slow(&mut self) -> bool {
        self.attempt().is_some_and(|attempt| attempt.slow)
    }

    /// Whether the condition is to be put on this pod first; an identical one is not written again (TE-31).
    fn wants_mark(&self) -> bool {
        let wanted = match self.config.condition {
            DisruptionConditionPolicy::Always => true,
            DisruptionConditionPolicy::Jobs => self.facts.owner == PodOwnerKind::Job,
            DisruptionConditionPolicy::Never => false,
        };
        wanted && !self.facts.is_marked
    }

    /// No DELETE before its time (S3), nor in time that does not count (NL-48): whatever the verdict says, the taint that
    /// it says sends the pod away must not be held, nor have been there for less than what was held of it and the pod
    /// bears.
    fn assert_time(&self, due: Mono) {
        let PodTurn { verdict, taints, holds, .. } = &self.facts;
        assert!(due <= self.now, "S3: a pod is deleted before it is due");
        let Some(at) = verdict.decisive else { panic!("a pod is deleted for no taint") };
        let (taint, reason) = (&taints[at].taint, &verdict.reasons[at]);
        assert!(!holds.is_on_hold(taint), "NL-48: a pod is deleted for a taint whose time is held");
        let Some(TolerationPeriod::For(patience)) = reason.patience else {
            panic!("S3: a pod is deleted that bears it")
        };
        let bears = patience.saturating_add(holds.held_time(taint, reason.counts_from));
        assert!(reason.counts_from.plus(bears) <= self.now, "S3, NL-48: a pod is deleted before its time");
    }

    fn reason(&self, due: Mono, known_due: Mono, confirmed: Mono) -> Option<Box<EvictionReason>> {
        let decisive = self.facts.verdict.decisive?;
        let reason = self.facts.verdict.reasons.get(decisive)?;
        let toleration = match (reason.taint_match, reason.patience) {
            (TaintMatch::Tolerated(position), Some(TolerationPeriod::For(span))) => Some((position, span)),
            (TaintMatch::Tolerated(position), _) => Some((position, Span::ZERO)),
            (TaintMatch::Untolerated | TaintMatch::Unsupported(_), _) => None,
        };
        Some(Box::new(EvictionReason {
            name: self.facts.name.clone(),
            taint: self.facts.taints.get(decisive)?.taint.clone(),
            start: reason.start,
            counts_from: reason.counts_from,
            held: reason.held,
            toleration,
            due,
            known_due,
            decided: self.now,
            confirmed,
        }))
    }
}
