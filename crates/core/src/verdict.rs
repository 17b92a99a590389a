//! Decides whether a pod stays on a node, stays until a deadline, or is evicted, with one reason per taint.
//!
//! - Takes tolerations, binding time and exemptions of the pod, the NoExecute taint instances of the node, and held
//!   time.
//! - Invariant: pure; the deadline is computed again from the facts each time, never adjusted (D2).

use crate::countdown_hold::HoldHistory;
use crate::fact::PodLifePhase;
use crate::ordered_hold::{HeldDueDate, OrderedHolds};
use crate::taint::{Taint, keys};
use crate::taint_start::{PodBinding, TaintStart};
use crate::time::{Mono, Now, Span};
use crate::toleration::{Toleration, TolerationPeriod};
use crate::toleration_matching::{self, NumericOperators, TaintMatch};
use alloc::vec::Vec;

/// A NoExecute taint while it is continuously on a node, with its start.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TaintInstance {
    /// The current taint; its value may change during the instance's life.
    pub taint: Taint,
    /// Since when; fixed for the instance's life (S4).
    pub start: TaintStart,
}

/// Why a pod may not be evicted whatever its taints (D6, D11; TE-23: upstream has none of these exemptions).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EvictionExemption {
    /// It has succeeded or failed.
    Finished,
    /// It is being deleted already.
    Terminating,
    /// It mirrors a static pod; deleting the mirror changes nothing.
    Mirror,
    /// Its object, or its node's, could not be decoded.
    Undecodable,
}

impl EvictionExemption {
    /// Returns the exemption that follows from a pod's own facts (D6).
    pub const fn of(life_phase: PodLifePhase, mirror: bool) -> Option<Self> {
        match (life_phase, mirror) {
            (PodLifePhase::Terminating, _) => Some(Self::Terminating),
            (PodLifePhase::Finished, _) => Some(Self::Finished),
            (PodLifePhase::Live, true) => Some(Self::Mirror),
            (PodLifePhase::Live, false) => None,
        }
    }
}

/// Why a pod stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StayReason {
    /// The node has no NoExecute taint.
    NoTaint,
    /// Every taint is tolerated indefinitely.
    Tolerated,
    /// A taint would evict it except for a toleration that is not understood; no other taint evicts it (D11).
    UnsupportedToleration,
    /// A taint evicts it, immediately or after a while, but its time is on hold; no other taint evicts it (NL-48).
    OnHold,
    /// It is exempt.
    Exempt(EvictionExemption),
}

/// What happens to a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// It stays.
    Stays(StayReason),
    /// It stays until this moment, unless the facts change.
    StaysUntil(Mono),
    /// It is evicted; it was due at this moment, which is not in the future (S3).
    Leaves {
        /// When its toleration period ended.
        due: Mono,
    },
}

/// One taint's part in a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TaintReason {
    /// The toleration used, or that none matches.
    pub taint_match: TaintMatch,
    /// How long the pod tolerates this taint; `None` if that is not understood.
    pub period: Option<TolerationPeriod>,
    /// Since when the taint exists.
    pub start: TaintStart,
    /// Since when it counts for this pod: the later of its start and the pod's arrival (D1).
    pub counts_from: Mono,
    /// How much of the time since then does not count: in holds that are over (NL-48), and in those that annotations order.
    pub held: Span,
    /// The hold that an annotation orders now ends then.
    pub held_until: Option<Mono>,
    /// It would evict the pod, immediately or after a while, but its time is on hold: the due date is unknown (NL-48).
    pub is_held: bool,
    /// When it evicts the pod; `None`: never, or it is on hold.
    pub due: Option<Mono>,
}

/// An outcome with its reasons.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Verdict {
    /// What happens.
    pub outcome: Outcome,
    /// One reason for each taint instance, in the node's order.
    pub reasons: Vec<TaintReason>,
    /// Position of the taint that decides: the one that is due first.
    pub decisive: Option<usize>,
}

/// The facts about a pod that a verdict needs.
#[derive(Clone, Copy, Debug)]
pub struct PodInput<'a> {
    /// Its tolerations, in its order.
    pub tolerations: &'a [Toleration],
    /// When it was bound to the node.
    pub arrival: PodBinding,
    /// Why it is exempt, if it is.
    pub exemption: Option<EvictionExemption>,
    /// The holds that annotations order.
    pub holds: OrderedHolds<'a>,
}

/// Judges one pod against its node's NoExecute taints (TE-17, TE-19, D1, D2, D6, D7, D11), from the objects alone: no
/// time is held.
///
/// ```
/// use taintward_core::ordered_hold::OrderedHolds;
/// use taintward_core::taint::{Taint, TaintEffect};
/// use taintward_core::taint_start::{BindingSource, PodBinding, TaintStart, TaintStartSource};
/// use taintward_core::time::{Mono, Now, Wall};
/// use taintward_core::toleration_matching::NumericOperators;
/// use taintward_core::verdict::{Outcome, PodInput, TaintInstance, judge};
///
/// let at = |seconds| Now::exact(Mono::from_secs(seconds), Wall::from_secs(1_800_000_000 + seconds));
/// let (key, effect) = ("maintenance".into(), TaintEffect::NoExecute);
/// let tainted = TaintInstance {
///     taint: Taint { key, value: "".into(), effect, time_added: None },
///     start: TaintStart { at: Mono::from_secs(10), source: TaintStartSource::SeenLive, clamped: false },
/// };
/// let pod = PodInput {
///     tolerations: &[],
///     arrival: PodBinding { at: Mono::from_secs(0), source: BindingSource::SeenLive },
///     exemption: None,
///     holds: OrderedHolds::default(),
/// };
/// let verdict = judge(&pod, &[tainted], NumericOperators::Off, at(12));
/// assert_eq!(verdict.outcome, Outcome::Leaves { due: Mono::from_secs(10) });
/// assert!(matches!(judge(&pod, &[], NumericOperators::Off, at(12)).outcome, Outcome::Stays(_)));
/// ```
pub fn judge(
    subject: &PodInput<'_>,
    taints: &[TaintInstance],
    numeric: NumericOperators,
    now: Now,
) -> Verdict {
    judge_held(subject, taints, &HoldHistory::NONE, numeric, now)
}

/// [`judge`] with held time: during a hold, the taints that node health adds evict no pod; after it, each evicts later
/// by the time held (NL-48, D12).
pub fn judge_held(
    subject: &PodInput<'_>,
    taints: &[TaintInstance],
    holds: &HoldHistory,
    numeric: NumericOperators,
    now: Now,
) -> Verdict {
    let matches = toleration_matching::match_taints(
        subject.tolerations,
        taints.iter().map(|instance| &instance.taint),
        numeric,
    );
    let reasons: Vec<_> = reasons(subject, taints, holds, &matches, now.mono).collect();
    let (outcome, decisive) = earliest_deadline(subject, reasons.iter().copied(), now.mono);
    Verdict { outcome, reasons, decisive }
}

/// [`judge_held`] without the reasons, from matches computed before: the engine calls it for each pod of a node, where
/// pods share few lists of tolerations.
pub fn outcome(
    subject: &PodInput<'_>,
    taints: &[TaintInstance],
    holds: &HoldHistory,
    matches: &[TaintMatch],
    now: Mono,
) -> Outcome {
    outcome_with_cause(subject, taints, holds, matches, now).0
}

/// [`outcome`], with the position of the taint that decides.
pub fn outcome_with_cause(
    subject: &PodInput<'_>,
    taints: &[TaintInstance],
    holds: &HoldHistory,
    matches: &[TaintMatch],
    now: Mono,
) -> (Outcome, Option<usize>) {
    earliest_deadline(subject, reasons(subject, taints, holds, matches, now), now)
}

/// One reason for each taint, in their order.
pub(crate) fn reasons<'a>(
    subject: &'a PodInput<'_>,
    taints: &'a [TaintInstance],
    holds: &'a HoldHistory,
    matches: &'a [TaintMatch],
    now: Mono,
) -> impl Iterator<Item = TaintReason> + 'a {
    taints.iter().zip(matches).map(move |(instance, &taint_match)| {
        let period = match taint_match {
            TaintMatch::Untolerated => Some(TolerationPeriod::For(Span::ZERO)),
            TaintMatch::Tolerated(position) => Some(subject.tolerations[position].period()),
            TaintMatch::Unsupported(_) => None,
        };
        let counts_from = instance.start.at.max(subject.arrival.at);
        let spent = holds.held_time(&instance.taint, counts_from);
        let mut reason = TaintReason {
            taint_match,
            period,
            start: instance.start,
            counts_from,
            held: spent,
            held_until: None,
            is_held: false,
            due: None,
        };
        match period {
            Some(TolerationPeriod::For(_)) if holds.is_on_hold(&instance.taint) => reason.is_held = true,
            Some(TolerationPeriod::For(span)) => {
                let unheld = counts_from.plus(span).plus(spent);
                let held = ordered_holds(subject, instance).delay(counts_from, unheld, now);
                let HeldDueDate { due, held_until } = held;
                (reason.due, reason.held_until) = (Some(due), held_until);
                reason.held = spent.saturating_add(due.since(unheld));
            }
            Some(TolerationPeriod::Forever) | None => {}
        }
        reason
    })
}

/// The holds that annotations order, unless there is evidence that the node is gone.
fn ordered_holds<'a>(subject: &PodInput<'a>, instance: &TaintInstance) -> OrderedHolds<'a> {
    match &*instance.taint.key {
        keys::OUT_OF_SERVICE => OrderedHolds::default(),
        _ => subject.holds,
    }
}

/// The earliest due date decides (TE-17b); without taints there is none, and the pod stays (TE-21); a taint whose match
/// is not understood, or whose time is on hold, has none.
fn earliest_deadline(
    subject: &PodInput<'_>,
    reasons: impl Iterator<Item = TaintReason>,
    now: Mono,
) -> (Outcome, Option<usize>) {
    let mut stay = StayReason::NoTaint;
    let mut earliest: Option<(Mono, usize)> = None;
    for (position, reason) in reasons.enumerate() {
        match (reason.due, reason.period) {
            (Some(due), _) if earliest.is_none_or(|(first, _)| due < first) => {
                earliest = Some((due, position))
            }
            (Some(_), _) => {}
            (None, _) if reason.is_held => stay = stay.max(StayReason::OnHold),
            (None, Some(_)) => stay = stay.max(StayReason::Tolerated),
            (None, None) => stay = stay.max(StayReason::UnsupportedToleration),
        }
    }
    let outcome = match (subject.exemption, earliest) {
        (Some(exemption), _) => Outcome::Stays(StayReason::Exempt(exemption)),
        (None, None) => Outcome::Stays(stay),
        (None, Some((due, _))) if due <= now => Outcome::Leaves { due },
        (None, Some((due, _))) => Outcome::StaysUntil(due),
    };
    (outcome, earliest.map(|(_, position)| position))
}

#[cfg(test)]
mod tests;
