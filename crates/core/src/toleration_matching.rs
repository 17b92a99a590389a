//! Decides which toleration of a pod matches each taint of a node (MATCH-4, MATCH-6, MATCH-9).
//!
//! - Invariant: the first matching toleration counts, not the longest one (MATCH-9). Nothing else compares tolerations
//!   with taints.
//! - See `verdict.rs` for how long a pod may stay.

use crate::taint::{Taint, TaintEffect};
use crate::toleration::{Toleration, TolerationOperator};
use alloc::vec::Vec;

mod by_key;
mod mismatch;

pub use mismatch::{KeyMismatch, Mismatch, NearestToleration, ValueMismatch, more_patient, nearest};

/// Whether `Lt` and `Gt` are compared (gate `TaintTolerationComparisonOperators`, MATCH-6). Off, they never match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum NumericOperators {
    /// Upstream's default.
    #[default]
    Off,
    /// The gate is on.
    On,
}

/// Whether one toleration tolerates one taint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TolerationMatch {
    /// It tolerates the taint.
    Yes,
    /// It does not.
    No,
    /// It has an operator or effect that this version does not know, and might (D11, S11).
    NotUnderstood,
}

/// The result of matching a pod's tolerations against one taint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaintMatch {
    /// The toleration at this position is the first that matches.
    Tolerated(usize),
    /// None matches.
    Untolerated,
    /// The toleration at this position might match and precedes any that does: not a reason to evict (D11).
    Unsupported(usize),
}

/// Whether `toleration` tolerates `taint`: effect, then key, then operator and value (MATCH-4).
///
/// An unknown effect of the toleration is judged by its key and value. An unknown operator might give any meaning to
/// key and value, so only its effect can rule it out.
pub fn tolerates(toleration: &Toleration, taint: &Taint, numeric: NumericOperators) -> TolerationMatch {
    let effect_known = match &toleration.effect {
        None => true,
        Some(TaintEffect::Unknown(_)) => false,
        Some(effect) if *effect == taint.effect => true,
        Some(_) => return TolerationMatch::No,
    };
    let matches = match &toleration.operator {
        TolerationOperator::Unknown(_) => return TolerationMatch::NotUnderstood,
        _ if !toleration.key.is_empty() && toleration.key != taint.key => false,
        TolerationOperator::Unset | TolerationOperator::Equal => toleration.value == taint.value,
        TolerationOperator::Exists => true,
        TolerationOperator::Lt | TolerationOperator::Gt => compare(toleration, taint, numeric),
    };
    match (matches, effect_known) {
        (false, _) => TolerationMatch::No,
        (true, true) => TolerationMatch::Yes,
        // The same unknown effect on both sides is a match by MATCH-4; any other is undecided.
        (true, false) if toleration.effect.as_ref() == Some(&taint.effect) => TolerationMatch::Yes,
        (true, false) => TolerationMatch::NotUnderstood,
    }
}

/// `Lt`: the taint's value is smaller than the toleration's; `Gt`: greater; strictly (MATCH-6).
fn compare(toleration: &Toleration, taint: &Taint, numeric: NumericOperators) -> bool {
    if numeric == NumericOperators::Off {
        return false;
    }
    match (canonical_integer(&taint.value), canonical_integer(&toleration.value)) {
        (Some(taint), Some(bound)) if toleration.operator == TolerationOperator::Lt => taint < bound,
        (Some(taint), Some(bound)) => taint > bound,
        _ => false,
    }
}

/// Parses a 64-bit integer in its only canonical form: no `+`, no leading zeros, no `-0`, no spaces (MATCH-6).
pub(crate) fn canonical_integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let canonical = match digits.as_bytes() {
        [b'0'] => digits.len() == text.len(),
        [first, ..] => matches!(first, b'1'..=b'9'),
        [] => false,
    };
    canonical.then(|| text.parse().ok())?
}

/// Returns the first toleration, in the pod's order, that matches this taint (MATCH-9).
pub fn match_taint(tolerations: &[Toleration], taint: &Taint, numeric: NumericOperators) -> TaintMatch {
    let mut unclear = None;
    for (position, toleration) in tolerations.iter().enumerate() {
        match tolerates(toleration, taint, numeric) {
            TolerationMatch::No => {}
            TolerationMatch::Yes => {
                return unclear.map_or(TaintMatch::Tolerated(position), TaintMatch::Unsupported);
            }
            TolerationMatch::NotUnderstood => unclear = unclear.or(Some(position)),
        }
    }
    unclear.map_or(TaintMatch::Untolerated, TaintMatch::Unsupported)
}

/// The product of tolerations and taints up to which comparing all pairs is cheapest.
const EACH_WITH_EACH_MAX: usize = 512;

/// Calls [`match_taint`] for each of the taints, in their order. For everything that an API server accepts, the cost
/// grows with the sum, not the product, of both numbers, so that a hostile pod on a hostile node stays cheap: a
/// toleration with a key is compared with the few taints of that key; one without a key (there may be any number) with
/// those of its effect that no other such toleration was compared with.
pub fn match_taints<'t, T>(
    tolerations: &[Toleration],
    taints: T,
    numeric: NumericOperators,
) -> Vec<TaintMatch>
where
    T: ExactSizeIterator<Item = &'t Taint> + Clone,
{
    if tolerations.len().saturating_mul(taints.len()) <= EACH_WITH_EACH_MAX {
        return taints.map(|taint| match_taint(tolerations, taint, numeric)).collect();
    }
    by_key::match_taints(tolerations, taints.collect(), numeric)
}

#[cfg(test)]
mod tests;
