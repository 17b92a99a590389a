//! # Filter: whether a node is possible at all
//! Room:     the questions of the scheduler's plugins, in their order; the first no counts, as in the original.
//! Comes in: a pod, a node, the numeric switch.
//! Goes out: nothing to say, or [`Unfit`].
//! Not here: which of the possible nodes is best (`score.rs`).

use super::affinity::Named;
use super::{Candidate, Plugin, Reason, Unfit, Wish, amount};
use crate::matching::{Answer, Match, NumericOperators, answers, tolerates};
use crate::taint::{Effect, Taint, keys};
use crate::toleration::Toleration;
use alloc::vec;
use alloc::vec::Vec;

/// Whether the pod may go to the node (SC-1, SC-4, SC-5; then affinity, then resources).
pub fn filter(wish: &Wish, candidate: &Candidate, numeric: NumericOperators) -> Result<(), Unfit> {
    filter_named(wish, &wish.named(), candidate, numeric)
}

/// [`filter`], with the names the pod asks for already known.
pub(super) fn filter_named(
    wish: &Wish,
    named: &Named<'_>,
    candidate: &Candidate,
    numeric: NumericOperators,
) -> Result<(), Unfit> {
    suits(wish, named, candidate, numeric)?;
    fits(wish, candidate)
}

/// Everything but room: what stays as it is while nodes fill up.
pub(super) fn suits(
    wish: &Wish,
    named: &Named<'_>,
    candidate: &Candidate,
    numeric: NumericOperators,
) -> Result<(), Unfit> {
    let name = candidate.name.as_str();
    match named {
        Named::Conflict => return refuse(Plugin::NodeAffinity, Reason::AffinityConflict),
        Named::Only(names) if !names.contains(name) => return refuse(Plugin::NodeAffinity, Reason::NotNamed),
        Named::Only(_) | Named::Any => {}
    }
    if candidate.unschedulable && !bears_cordon(&wish.tolerations, numeric) {
        return refuse(Plugin::NodeUnschedulable, Reason::Unschedulable);
    }
    if has_untolerated(&wish.tolerations, &candidate.taints, numeric) {
        return refuse(Plugin::TaintToleration, Reason::UntoleratedTaint);
    }
    if !wish.matches(name, &candidate.labels) {
        return refuse(Plugin::NodeAffinity, Reason::NodeAffinity);
    }
    Ok(())
}

/// A no that no preemption can turn into a yes.
fn refuse(by: Plugin, reason: Reason) -> Result<(), Unfit> {
    Err(Unfit { by, reasons: vec![reason], preemption_may_help: false })
}

/// Whether the pod tolerates the taint of a cordoned node, which stands for `spec.unschedulable` itself (SC-4).
fn bears_cordon(tolerations: &[Toleration], numeric: NumericOperators) -> bool {
    let (key, value) = (keys::UNSCHEDULABLE.into(), "".into());
    let taint = Taint { key, value, effect: Effect::NoSchedule, time_added: None };
    tolerations.iter().any(|toleration| tolerates(toleration, &taint, numeric) == Match::Yes)
}

/// Whether a taint keeps the pod off: `NoSchedule` and `NoExecute` do (SC-1, MATCH-8).
pub(super) fn has_untolerated(
    tolerations: &[Toleration],
    taints: &[Taint],
    numeric: NumericOperators,
) -> bool {
    !kept_off_by(tolerations, taints, numeric).is_empty()
}

/// The taints that keep a pod with these tolerations off their node (SC-1).
pub fn kept_off_by<'t>(
    tolerations: &[Toleration],
    taints: &'t [Taint],
    numeric: NumericOperators,
) -> Vec<&'t Taint> {
    untolerated(tolerations, taints, numeric, |effect| {
        matches!(effect, Effect::NoSchedule | Effect::NoExecute)
    })
}

/// The taints with such effects that the pod does not tolerate. A toleration that is not understood tolerates nothing:
/// staying off a node evicts nobody (D11).
pub(super) fn untolerated<'t>(
    tolerations: &[Toleration],
    taints: &'t [Taint],
    numeric: NumericOperators,
    counts: impl Fn(&Effect) -> bool,
) -> Vec<&'t Taint> {
    let taints: Vec<&Taint> = taints.iter().filter(|taint| counts(&taint.effect)).collect();
    let answers = answers(tolerations, taints.iter().copied(), numeric);
    let borne = |taint: &Taint, answer: Answer| match answer {
        Answer::Tolerated(_) => true,
        Answer::Untolerated => false,
        Answer::NotUnderstood(from) => {
            tolerations[from..].iter().any(|toleration| tolerates(toleration, taint, numeric) == Match::Yes)
        }
    };
    let answered = taints.into_iter().zip(answers);
    answered.filter(|&(taint, answer)| !borne(taint, answer)).map(|(taint, _)| taint).collect()
}

/// Whether there is room. All that is missing is said; a resource of which the node has not enough even when it is
/// empty makes preemption pointless.
pub(super) fn fits(wish: &Wish, candidate: &Candidate) -> Result<(), Unfit> {
    let mut reasons = Vec::new();
    let mut preemption_may_help = true;
    if candidate.pods >= candidate.pods_max {
        reasons.push(Reason::TooManyPods);
    }
    for (name, &wanted) in &wish.load.requested {
        let whole = amount(&candidate.allocatable, name);
        let free = whole.saturating_sub(amount(&candidate.used.requested, name));
        if wanted > 0 && wanted > free {
            reasons.push(Reason::Insufficient(name.clone()));
            preemption_may_help &= wanted <= whole;
        }
    }
    if reasons.is_empty() {
        return Ok(());
    }
    Err(Unfit { by: Plugin::NodeResourcesFit, reasons, preemption_may_help })
}
