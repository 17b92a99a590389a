//! Decides the next request when it is a pod's turn: read the node, set the condition, delete, or undo.
//!
//! - Invariant: condition before DELETE (TE-30); no DELETE without a recent live read of the node (D5) or
//!   before its deadline (S3).

use super::attempt::{EvictionAttempt, PodReading};
use super::delete_throttle::DeleteAdmission;
use super::{InFlightRequest, NextStep, WorkQueue};
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
use alloc::sync::Arc;

/// A pod without an attempt waits no longer than this after a failed read of its node, however long the node's pause
/// is: the server may have recovered. However many pods become due, a node is not read more often than this for them.
const FIRST_READ_PAUSE: Span = Span::from_millis(100);

/// If a node was not read for this long, its failures are forgotten: its pauses have been over for a while.
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
            NextStep::Evict | NextStep::ClearMark | NextStep::Rest => {}
        }
        match self.facts.verdict.outcome {
            Outcome::Leaves { due } => self.evict(due),
            Outcome::Stays(StayReason::Exempt(exemption)) if exemption != EvictionExemption::Undecodable => {
                Dispatch::Finished
            }
            Outcome::Stays(_) | Outcome::StaysUntil(_) if self.facts.is_marked => {
                self.update(|attempt| (attempt.step, attempt.clear_mark_at) = (NextStep::ClearMark, None));
                self.clear_mark()
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

    /// The version that a request has as precondition.
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
        let mode = &self.facts.mode;
        let by_eviction_api = mode.respects_budgets;
        let fresh = self.facts.confirmation.fresh(due.max(known_due), now, self.config);
        let Some(confirmed) = fresh else {
            return match is_first && !by_eviction_api && self.is_marked_meanwhile() {
                true => self.mark_meanwhile(),
                false => self.wait_for_read(),
            };
        };
        if self.version().is_none() && self.read_at().is_none() {
            return self.read_pod();
        }
        if !by_eviction_api && self.wants_mark() {
            return self.mark();
        }
        if self.wants_newer_read() {
            return self.wait_for_read();
        }
        self.assert_time(due);
        let reason = self.reason(due, known_due, confirmed);
        self.update(|attempt| attempt.reason = reason);
        if let Err(until) = self.queue.gate.send(self.pod, self.now) {
            self.queue.postpone(self.pod, until);
            return Dispatch::Waiting;
        }
        match by_eviction_api {
            true => self.evict_by_api(confirmed),
            false => self.delete(confirmed),
        }
    }

    /// The API server sets the condition itself.
    fn evict_by_api(mut self, confirmed: Mono) -> Dispatch {
        self.update(|attempt| attempt.pod_read = None);
        let (pod, name, grace_seconds) =
            (self.pod.clone(), self.facts.name.clone(), self.facts.mode.grace_seconds);
        let effect = EvictionEffect::EvictPod { pod, name, confirmed, grace_seconds };
        self.send(InFlightRequest::Evict, effect)
    }

    fn delete(mut self, confirmed: Mono) -> Dispatch {
        let (version, slow, namespace) = (self.version(), self.is_slow(), self.namespace());
        let slow = match self.queue.deletes.admit(&namespace, slow, self.now) {
            DeleteAdmission::Wait(until) => {
                self.queue.postpone(self.pod, until);
                return Dispatch::Waiting;
            }
            DeleteAdmission::Usual => false,
            DeleteAdmission::Slow => true,
        };
        // A read is for one DELETE: whether this one is rejected or lost, the pod is read again before the next by its UID
        // alone (S10).
        self.update(|attempt| (attempt.is_slow_delete, attempt.pod_read) = (slow, None));
        let (pod, name) = (self.pod.clone(), self.facts.name.clone());
        let grace_seconds = self.facts.mode.grace_seconds;
        let effect = EvictionEffect::DeletePod { pod, name, version, confirmed, slow, grace_seconds };
        self.send(InFlightRequest::Delete, effect)
    }

    /// Whether a deletion that takes long needs a newer confirmation, so that it has nearly all of the time.
    fn wants_newer_read(&self) -> bool {
        let is_slow = self.queue.deletes.is_slow(self.facts.name.namespace(), self.now);
        is_slow && !self.facts.confirmation.is_new(self.now)
    }

    fn namespace(&mut self) -> Arc<str> {
        let name = self.facts.name.namespace();
        self.attempt().and_then(|attempt| attempt.namespace.clone()).unwrap_or_else(|| name.into())
    }

    /// Repeats a lost DELETE that had started the deletion (P31). The eviction was decided then; only its completion is
    /// left, so the read that found the pod in this state is confirmation enough.
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

    /// Marks a pod while its node is being read: the read is sent first and the mark right behind it, so that the
    /// DELETE waits only for the slower of both.
    ///
    /// Safety does not depend on their order. The DELETE still requires both: the mark (TE-30) and a confirmation that
    /// is younger than the moment from which the pod was due (S2, D5). The mark has the UID and the version that the
    /// pod was judged by as preconditions (S1). If the read shows that the taint is gone, or fails, the mark is removed
    /// again like any other that no DELETE follows (S9). To keep such marks rare, only events as recent as a
    /// confirmation may be are handled this way: a taint that was just observed being added, but neither a taint that
    /// was found nor one that existed before the pod.
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

    /// Removes the mark until the next attempt, or just waits if there is none.
    fn rest(mut self) -> Dispatch {
        if self.facts.is_marked {
            return self.clear_mark();
        }
        let Some(attempt) = self.attempt() else { return Dispatch::Finished };
        attempt.step = NextStep::ReadPod;
        attempt.marked_at = None;
        if let Some(at) = attempt.clear_mark_at.take() {
            self.queue.retry_at(self.pod, at);
        }
        Dispatch::Waiting
    }

    fn clear_mark(self) -> Dispatch {
        let effect =
            EvictionEffect::ClearDisruptionTarget { pod: self.pod.clone(), name: self.facts.name.clone() };
        self.send(InFlightRequest::ClearMark, effect)
    }

    /// Reads the pod itself: what is known about it may be outdated, or there is no version for a precondition that
    /// would detect it (S1).
    fn read_pod(mut self) -> Dispatch {
        let read = PodReading { sent: self.now, received: None, known: self.facts.version };
        self.update(|attempt| attempt.pod_read = Some(read));
        let effect = EvictionEffect::ReadPod { pod: self.pod.clone(), name: self.facts.name.clone() };
        self.send(InFlightRequest::ReadPod, effect)
    }

    /// Without a recent confirmation of its node no pod is changed (D5, TE-41): reads the node, or waits for the read
    /// in flight.
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

    /// Reads the node, now or after the pause of its last read.
    fn read_node(&mut self) -> Dispatch {
        let tries = match *self.facts.confirmation {
            NodeConfirmation::Failed { at, retry_at, tries } => {
                // The pause is for pods whose attempts have failed (D3).
                let is_first = self.attempt().is_some_and(|attempt| attempt.is_first());
                let may = if is_first { retry_at.min(at.plus(FIRST_READ_PAUSE)) } else { retry_at };
                let counts = self.queue.rejections.counts(at);
                if may > self.now && counts {
                    self.queue.postpone(self.pod, may);
                    return Dispatch::Waiting;
                }
                if !counts || self.now > at.plus(FAILURES_REMEMBERED) { 0 } else { tries }
            }
            NodeConfirmation::InFlight { .. } | NodeConfirmation::None | NodeConfirmation::At(_) => 0,
        };
        let known = self.facts.node_version;
        let last = self.facts.confirmation.last_read();
        *self.facts.confirmation = NodeConfirmation::InFlight { tries, void: false, known, last };
        Dispatch::Send(EvictionEffect::ReadNode { node: self.pod.node.clone() })
    }

    fn send(mut self, request: InFlightRequest, effect: EvictionEffect) -> Dispatch {
        let (now, namespace) = (self.now, self.namespace());
        self.update(|attempt| {
            (attempt.in_flight, attempt.sent) = (Some(request), now);
            attempt.namespace = Some(namespace);
        });
        Dispatch::Send(effect)
    }

    /// When the pod was read, if that was recently enough to delete it by its UID alone.
    fn read_at(&mut self) -> Option<Mono> {
        let PodReading { sent, received, .. } = self.attempt()?.pod_read?;
        Some(sent).filter(|sent| self.now <= self.config.confirmed_until(*sent, received.unwrap_or(*sent)))
    }

    fn is_slow(&mut self) -> bool {
        self.attempt().is_some_and(|attempt| attempt.slow)
    }

    /// Whether the condition has to be set on this pod first; an identical one is not written again (TE-31).
    fn wants_mark(&self) -> bool {
        let wanted = match self.config.condition {
            DisruptionConditionPolicy::Always => true,
            DisruptionConditionPolicy::Jobs => self.facts.owner == PodOwnerKind::Job,
            DisruptionConditionPolicy::Never => false,
        };
        wanted && !self.facts.is_marked
    }

    /// Asserts that there is no DELETE before its time (S3), nor in time that does not count (NL-48): independently of
    /// the verdict's deadline, the taint that evicts the pod must not be on hold, and must have counted for at least
    /// the toleration period plus the held time.
    fn assert_time(&self, due: Mono) {
        let PodTurn { verdict, taints, holds, .. } = &self.facts;
        assert!(due <= self.now, "S3: a pod is deleted before it is due");
        let Some(at) = verdict.decisive else { panic!("a pod is deleted without a taint") };
        let (taint, reason) = (&taints[at].taint, &verdict.reasons[at]);
        assert!(!holds.is_on_hold(taint), "NL-48: a pod is deleted for a taint whose time is on hold");
        let Some(TolerationPeriod::For(period)) = reason.period else {
            panic!("S3: a pod is deleted for a taint that it tolerates")
        };
        let bears = period.saturating_add(holds.held_time(taint, reason.counts_from));
        assert!(reason.counts_from.plus(bears) <= self.now, "S3, NL-48: a pod is deleted before its time");
    }

    fn reason(&self, due: Mono, known_due: Mono, confirmed: Mono) -> Option<Box<EvictionReason>> {
        let decisive = self.facts.verdict.decisive?;
        let reason = self.facts.verdict.reasons.get(decisive)?;
        let toleration = match (reason.taint_match, reason.period) {
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
            policy: self.facts.mode.governing(),
        }))
    }
}
