//! # Verdict: who stays, who goes, when, and why
//! Room:     the one decision everything shares: the controller, explanations, previews, tests.
//! Comes in: a pod's tolerations, arrival and standing; the node's NoExecute taint instances; when time was held; the time.
//! Goes out: an [`Outcome`], and for people a [`Verdict`] with one reason per taint.
//! Keeps:    pure; the deadline is computed from the facts each time, never patched (D2).
//! Not here: remembering (`engine`), doing, or telling.

use crate::fact::Standing;
use crate::hold::Holds;
use crate::matching::{self, Answer, NumericOperators};
use crate::start::{Arrival, Start};
use crate::taint::Taint;
use crate::time::{Mono, Now, Span};
use crate::toleration::{Patience, Toleration};
use alloc::vec::Vec;

/// A NoExecute taint while it is continuously on a node, with its start.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TaintInstance {
    /// The taint as it stands; its value may change during the instance's life.
    pub taint: Taint,
    /// Since when; fixed for the instance's life (S4).
    pub start: Start,
}

/// Why a pod may not be evicted whatever the taints say (D6, D11; TE-23: the original knows none of these).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Exemption {
    /// It has succeeded or failed.
    Finished,
    /// It is being deleted already.
    Terminating,
    /// It mirrors a static pod; deleting the mirror changes nothing.
    Mirror,
    /// Its object, or its node's, could not be decoded.
    Unreadable,
}

impl Exemption {
    /// The exemption that a pod's own facts give it (D6).
    pub const fn of(standing: Standing, mirror: bool) -> Option<Self> {
        match (standing, mirror) {
            (Standing::Terminating, _) => Some(Self::Terminating),
            (Standing::Finished, _) => Some(Self::Finished),
            (Standing::Live, true) => Some(Self::Mirror),
            (Standing::Live, false) => None,
        }
    }
}

/// Why a pod stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stay {
    /// The node has no NoExecute taint.
    NoTaint,
    /// Every taint is tolerated for ever.
    Tolerated,
    /// A taint would send it away but for a toleration that is not understood; nothing else sends it away (D11).
    NotUnderstood,
    /// A taint sends it away, at once or after a while, but its time is held; nothing else sends it away (NL-48).
    Held,
    /// It is none of our business.
    Exempt(Exemption),
}

/// What happens to a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// It stays.
    Stays(Stay),
    /// It stays until this moment, unless the facts change.
    StaysUntil(Mono),
    /// It goes; it was due at this moment, which is not in the future (S3).
    Goes {
        /// When its patience ended.
        due: Mono,
    },
}

/// One taint's part in a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reason {
    /// The toleration used, or that there is none.
    pub answer: Answer,
    /// How long the pod bears this taint; `None` where that is not understood.
    pub patience: Option<Patience>,
    /// Since when the taint is there.
    pub start: Start,
    /// Since when it counts for this pod: the later of its start and the pod's arrival (D1).
    pub counts_from: Mono,
    /// How much of the time since then did not count, in holds that are over (NL-48).
    pub spent: Span,
    /// It would send the pod away, at once or after a while, but its time is held: there is no saying when (NL-48).
    pub is_held: bool,
    /// When it sends the pod away; `None`: never, or it is held.
    pub due: Option<Mono>,
}

/// An outcome with its reasons.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Verdict {
    /// What happens.
    pub outcome: Outcome,
    /// One reason for each taint instance, in the node's order.
    pub reasons: Vec<Reason>,
    /// Position of the taint that decides: the one that is due first.
    pub decisive: Option<usize>,
}

/// What a verdict needs to know of a pod.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Its tolerations, in its order.
    pub tolerations: &'a [Toleration],
    /// When it came to the node.
    pub arrival: Arrival,
    /// Whether it is out of reach.
    pub exemption: Option<Exemption>,
}

/// Judges one pod against its node's NoExecute taints (TE-17, TE-19, D1, D2, D6, D7, D11), by what the objects say alone:
/// no time is held.
pub fn judge(
    subject: &Subject<'_>,
    taints: &[TaintInstance],
    numeric: NumericOperators,
    now: Now,
) -> Verdict {
    judge_held(subject, taints, &Holds::NONE, numeric, now)
}

/// [`judge`], where time may be held: while it is, the taints that node health puts on send nobody away; after that,
/// each does so as much later as it was held (NL-48, D12).
pub fn judge_held(
    subject: &Subject<'_>,
    taints: &[TaintInstance],
    holds: &Holds,
    numeric: NumericOperators,
    now: Now,
) -> Verdict {
    let answers =
        matching::answers(subject.tolerations, taints.iter().map(|instance| &instance.taint), numeric);
    let reasons: Vec<_> = reasons(subject, taints, holds, &answers).collect();
    let (outcome, decisive) = weigh(subject, reasons.iter().copied(), now.mono);
    Verdict { outcome, reasons, decisive }
}

/// [`judge_held`] without the reasons, from answers computed before: what the engine asks for each pod of a node, whose
/// pods share few sets of tolerations.
pub fn outcome(
    subject: &Subject<'_>,
    taints: &[TaintInstance],
    holds: &Holds,
    answers: &[Answer],
    now: Mono,
) -> Outcome {
    decided(subject, taints, holds, answers, now).0
}

/// [`outcome`], with the position of the taint that decides.
pub fn decided(
    subject: &Subject<'_>,
    taints: &[TaintInstance],
    holds: &Holds,
    answers: &[Answer],
    now: Mono,
) -> (Outcome, Option<usize>) {
    weigh(subject, reasons(subject, taints, holds, answers), now)
}

fn reasons<'a>(
    subject: &'a Subject<'_>,
    taints: &'a [TaintInstance],
    holds: &'a Holds,
    answers: &'a [Answer],
) -> impl Iterator<Item = Reason> + 'a {
    taints.iter().zip(answers).map(|(instance, &answer)| {
        let patience = match answer {
            Answer::Untolerated => Some(Patience::For(Span::ZERO)),
            Answer::Tolerated(position) => Some(subject.tolerations[position].patience()),
            Answer::NotUnderstood(_) => None,
        };
        let counts_from = instance.start.at.max(subject.arrival.at);
        let spent = holds.spent(&instance.taint, counts_from);
        let (is_held, due) = match patience {
            Some(Patience::For(_)) if holds.stop(&instance.taint) => (true, None),
            Some(Patience::For(span)) => (false, Some(counts_from.plus(span).plus(spent))),
            Some(Patience::Forever) | None => (false, None),
        };
        Reason { answer, patience, start: instance.start, counts_from, spent, is_held, due }
    })
}

/// The earliest due date decides (TE-17b); without taints there is none, and the pod stays (TE-21); a taint whose
/// answer is not understood, or whose time is held, has none.
fn weigh(
    subject: &Subject<'_>,
    reasons: impl Iterator<Item = Reason>,
    now: Mono,
) -> (Outcome, Option<usize>) {
    let mut stay = Stay::NoTaint;
    let mut earliest: Option<(Mono, usize)> = None;
    for (position, reason) in reasons.enumerate() {
        match (reason.due, reason.patience) {
            (Some(due), _) if earliest.is_none_or(|(first, _)| due < first) => {
                earliest = Some((due, position))
            }
            (Some(_), _) => {}
            (None, _) if reason.is_held => stay = stay.max(Stay::Held),
            (None, Some(_)) => stay = stay.max(Stay::Tolerated),
            (None, None) => stay = stay.max(Stay::NotUnderstood),
        }
    }
    let outcome = match (subject.exemption, earliest) {
        (Some(exemption), _) => Outcome::Stays(Stay::Exempt(exemption)),
        (None, None) => Outcome::Stays(stay),
        (None, Some((due, _))) if due <= now => Outcome::Goes { due },
        (None, Some((due, _))) => Outcome::StaysUntil(due),
    };
    (outcome, earliest.map(|(_, position)| position))
}

#[cfg(test)]
mod tests;
