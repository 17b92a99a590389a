//! Moves a pod between its phases: idle, counting down, due, in progress, deleted.
//!
//! - Invariant: a plan is computed again from the facts, never adjusted (D2, TE-18).

use super::{PodEntry, PodFlags, TemplateFields, TemplateInterner};
use crate::eviction::EvictionState;
use crate::eviction::notice::{CancellationReason, EvictionNotice};
use crate::eviction::order::{EvictionOrder, PriorityClass};
use crate::eviction::{EvictionPhase, LastNotice};
use crate::fact::{PodFact, PodLifePhase, PodOwnerKind};
use crate::identity::{NodeName, PodRef};
use crate::ordered_hold::HoldWindows;
use crate::taint::Taint;
use crate::time::{Mono, Span};
use crate::verdict::{EvictionExemption, Outcome, StayReason};
use alloc::boxed::Box;

/// How long an unused mark stays before it is removed: longer than a request of the previous process can be in flight,
/// within S9's 60 s.
const WITHDRAW_AFTER: Span = Span::from_secs(30);

/// The priority of the built-in class `system-node-critical`.
const NODE_CRITICAL: i32 = 2_000_001_000;

/// A pod's transition to another phase.
pub(super) struct Transition<'t> {
    pod: &'t mut PodEntry,
    node: &'t NodeName,
    state: &'t mut EvictionState,
    cause: Option<LostCause>,
}

/// What changed for a pod that had to leave: which taint would have evicted it first, and why that one does not.
pub(super) struct LostCause {
    pub(super) reason: CancellationReason,
    pub(super) taint: Taint,
}

impl<'t> Transition<'t> {
    pub(super) fn new(pod: &'t mut PodEntry, node: &'t NodeName, state: &'t mut EvictionState) -> Self {
        Self { pod, node, state, cause: None }
    }

    /// The same, with what the notice about a cancelled countdown says.
    pub(super) fn with_cause(self, cause: Option<LostCause>) -> Self {
        Self { cause, ..self }
    }

    fn reference(&self) -> PodRef {
        PodRef { node: self.node.clone(), uid: self.pod.uid().clone() }
    }

    fn set_phase(&mut self, phase: EvictionPhase) {
        self.pod.set_phase(phase, &mut self.state.counts);
    }

    /// Makes a pod's phase match an outcome; `known_due`: when a pod just taken out of the queue was known to be due.
    pub(super) fn apply_outcome(&mut self, outcome: Outcome, known_due: Option<Mono>, now: Mono) {
        self.notice_unsupported_toleration(outcome);
        let known_due = match (self.pod.phase(), outcome) {
            (EvictionPhase::Deleted, _) => return,
            (EvictionPhase::InProgress, _) => {
                let is_marked = self.pod.is_marked();
                match self.state.queue.reconsider(&self.reference(), outcome, is_marked, now) {
                    Some(known_due) => known_due,
                    None => return,
                }
            }
            (EvictionPhase::Due(due), Outcome::Leaves { due: same }) if due == same => return,
            (EvictionPhase::CountingDown(at), Outcome::StaysUntil(same)) if at == same => {
                return self.schedule_clear_mark(outcome, now.plus(WITHDRAW_AFTER));
            }
            (EvictionPhase::OnHold(_), Outcome::Stays(StayReason::OnHold)) => {
                return self.schedule_clear_mark(outcome, now.plus(WITHDRAW_AFTER));
            }
            (
                EvictionPhase::Idle
                | EvictionPhase::CountingDown(_)
                | EvictionPhase::OnHold(_)
                | EvictionPhase::Due(_),
                _,
            ) => known_due.or_else(|| self.unqueue()),
        };
        let (last_notice, was_held) = match self.pod.phase() {
            EvictionPhase::CountingDown(_) => (LastNotice::Countdown, false),
            EvictionPhase::OnHold(last_notice) => (last_notice, true),
            _ if known_due.is_some() => (LastNotice::Due, false),
            _ => (LastNotice::None, false),
        };
        self.set_phase(EvictionPhase::Idle);
        match outcome {
            Outcome::Leaves { due } => {
                self.set_phase(EvictionPhase::Due(due));
                self.state.queue.add(self.reference(), due, self.pod.order(), known_due.unwrap_or(now));
            }
            Outcome::StaysUntil(until) => self.set_phase(EvictionPhase::CountingDown(until)),
            Outcome::Stays(StayReason::OnHold) => self.set_phase(EvictionPhase::OnHold(last_notice)),
            Outcome::Stays(_) => {}
        }
        let goes_on = was_held && !self.state.holds.is_on();
        let notice = match cancellation(last_notice, outcome) {
            Some(reason) => Some(self.cancelled(reason)),
            None => notice_for(last_notice, goes_on, outcome, || self.reference()),
        };
        self.state.notices.extend(notice);
        // A pod that this process was about to evict can only have its own mark, and no request is in flight.
        let withdraw_at = if known_due.is_some() { now } else { now.plus(WITHDRAW_AFTER) };
        self.schedule_clear_mark(outcome, withdraw_at);
    }

    fn cancelled(&mut self, reason: CancellationReason) -> EvictionNotice {
        let cause = self.cause.take();
        let is_about_taint =
            matches!(reason, CancellationReason::TaintRemoved | CancellationReason::TolerationsChanged);
        let reason = cause.as_ref().filter(|_| is_about_taint).map_or(reason, |cause| cause.reason);
        let taint = cause.map(|cause| Box::new(cause.taint));
        EvictionNotice::CountdownCancelled {
            pod: self.reference(),
            name: self.pod.name().clone(),
            reason,
            taint,
        }
    }

    /// A pod that stays does not keep the mark (S9): the previous process crashed, or the reason is gone.
    fn schedule_clear_mark(&mut self, outcome: Outcome, at: Mono) {
        let at = match outcome {
            Outcome::Leaves { .. } => return,
            Outcome::Stays(StayReason::Exempt(exemption)) if exemption != EvictionExemption::Undecodable => {
                return;
            }
            Outcome::Stays(_) => at,
            Outcome::StaysUntil(until) => at.min(until),
        };
        if !self.pod.is_marked() || self.pod.life_phase != PodLifePhase::Live {
            return;
        }
        self.set_phase(EvictionPhase::InProgress);
        self.state.queue.withdraw_at(at, self.reference(), self.pod.order(), outcome);
    }

    fn notice_unsupported_toleration(&mut self, outcome: Outcome) {
        let stays = outcome == Outcome::Stays(StayReason::UnsupportedToleration);
        if stays && !self.pod.flags.has(PodFlags::NOT_UNDERSTOOD) {
            self.state.notices.push(EvictionNotice::UnsupportedToleration { pod: self.reference() });
        }
        self.pod.flags.set(PodFlags::NOT_UNDERSTOOD, stays);
    }

    /// Removes a due pod's key from the queue. Returns when the pod was known to be due. Does nothing for other pods.
    fn unqueue(&mut self) -> Option<Mono> {
        let EvictionPhase::Due(due) = self.pod.phase() else { return None };
        self.set_phase(EvictionPhase::Idle);
        self.state.queue.remove(self.reference(), due, self.pod.order())
    }

    /// Applies a newer fact; `None`: it changes nothing. Otherwise the pod has to be judged again: returns when it was
    /// known to be due, if it was.
    pub(super) fn apply_fact(
        &mut self,
        fact: PodFact,
        holds: HoldWindows,
        listed: bool,
        templates: &mut TemplateInterner,
    ) -> Option<Option<Mono>> {
        let older = fact.version.is_some() && fact.version < self.pod.version();
        if older && !listed {
            // It exists: a list does not have to repeat what the watch delivers.
            self.pod.flags.set(PodFlags::SEEN, true);
            return None;
        }
        if self.pod.phase() == EvictionPhase::Deleted && fact.life_phase == PodLifePhase::Live {
            if !self.is_back(&fact, listed) {
                self.pod.flags.set(PodFlags::SEEN, true);
                return None;
            }
            self.set_phase(EvictionPhase::Idle);
        }
        if fact.marked_by_another && !self.pod.flags.has(PodFlags::MARKED_BY_ANOTHER) && !listed {
            self.state.notices.push(EvictionNotice::OtherControllerDetected { pod: self.reference() });
        }
        if fact.life_phase == PodLifePhase::Terminating
            && self.pod.life_phase == PodLifePhase::Live
            && fact.marked
        {
            self.notice_deleted_by_other();
        }
        // Its order may change, and with it its place in the queue.
        let known_due = self.unqueue();
        self.pod.update(fact, holds, templates);
        Some(known_due)
    }

    /// Whether a pod whose deletion was accepted still exists, neither terminating nor gone: the store was restored to
    /// an earlier state. Events from before the DELETE may still arrive, so only these count: a list that started after
    /// it was accepted, or a newer version than the one it was accepted for, which a deleted pod cannot get while it
    /// lives.
    fn is_back(&self, fact: &PodFact, listed: bool) -> bool {
        let newer = self.pod.version().is_some() && fact.version > self.pod.version();
        newer || listed && self.pod.flags.has(PodFlags::LISTED_SINCE_GONE)
    }

    /// A pod is gone. An eviction with a request in flight is kept for its response.
    pub(super) fn remove(mut self, templates: &mut TemplateInterner) {
        if self.pod.life_phase == PodLifePhase::Live && self.pod.is_marked() {
            self.notice_deleted_by_other();
        }
        if matches!(self.pod.phase(), EvictionPhase::CountingDown(_)) {
            let notice = self.cancelled(CancellationReason::PodDeleted);
            self.state.notices.push(notice);
        }
        self.unqueue();
        self.set_phase(EvictionPhase::Deleted);
        self.state.pods -= 1;
        self.state.queue.pod_gone(&self.reference());
        templates.give_back(&self.pod.template);
    }

    /// A pod with Taintward's mark is terminating (P39).
    fn notice_deleted_by_other(&mut self) {
        let pod = self.reference();
        if self.state.queue.is_deleted_by_other(&pod) {
            self.state.notices.push(EvictionNotice::EvictedByOther { pod });
        }
    }
}

impl PodEntry {
    /// Applies everything that can change in the life of a pod; its arrival cannot (S4).
    fn update(&mut self, fact: PodFact, holds: HoldWindows, templates: &mut TemplateInterner) {
        self.id = fact.id;
        let is_same = fact.template.is_none() || self.template.fact == fact.template;
        if self.template.tolerations != fact.tolerations || !is_same || self.template.holds != holds {
            let known = self.template.fact.clone();
            templates.give_back(&self.template);
            let fact_template = fact.template.or(known);
            let template = TemplateFields { tolerations: fact.tolerations, fact: fact_template, holds };
            self.template = templates.take(template);
        }
        self.ready = fact.ready.unwrap_or(self.ready);
        self.set_version(fact.version);
        self.priority = fact.priority;
        self.generation = fact.generation;
        self.owner = fact.owner;
        self.life_phase = fact.life_phase;
        self.set_flags(fact.mirror, fact.node_critical, fact.marked, fact.marked_by_another);
        self.flags.set(PodFlags::IGNORES_HOLDS, fact.ignores_holds);
    }

    /// The order of pods that are due at the same instant (TE-46: upstream has none): ordinary pods, then DaemonSet
    /// pods, then node-critical ones, and within each class the lower priority first.
    pub(super) fn order(&self) -> EvictionOrder {
        let class =
            match (self.flags.has(PodFlags::NODE_CRITICAL) || self.priority >= NODE_CRITICAL, self.owner) {
                (true, _) => PriorityClass::NodeCritical,
                (false, PodOwnerKind::DaemonSet) => PriorityClass::DaemonSet,
                (false, _) => PriorityClass::Ordinary,
            };
        EvictionOrder { class, priority: self.priority }
    }
}

/// Returns the notice for a pod whose plan changes: nothing twice, and nothing about a countdown that was only on hold
/// (`goes_on`): one notice covers all of these (NL-48).
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
        (Outcome::Stays(_), _) => None,
    }
}

/// Why a pod's countdown is cancelled, as far as its outcome tells; `None` if it is not. A pod that was due may have been
/// deleted by Taintward itself.
fn cancellation(last_notice: LastNotice, outcome: Outcome) -> Option<CancellationReason> {
    let Outcome::Stays(stay) = outcome else { return None };
    match (stay, last_notice) {
        (_, LastNotice::None) | (StayReason::OnHold, _) => None,
        (StayReason::NoTaint, _) => Some(CancellationReason::TaintRemoved),
        (StayReason::Tolerated, _) => Some(CancellationReason::TolerationsChanged),
        (StayReason::UnsupportedToleration, _) => Some(CancellationReason::UnsupportedToleration),
        (StayReason::Exempt(EvictionExemption::Finished), LastNotice::Countdown) => {
            Some(CancellationReason::PodFinished)
        }
        (StayReason::Exempt(EvictionExemption::Terminating), LastNotice::Countdown) => {
            Some(CancellationReason::PodDeleted)
        }
        (StayReason::Exempt(_), _) => None,
    }
}
