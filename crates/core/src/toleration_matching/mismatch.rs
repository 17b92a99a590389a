//! Explains why no toleration matches a taint: which fields differ, and which toleration is nearest.
//!
//! - Invariant: there is a mismatch exactly if [`tolerates`] returns no.

use super::{NumericOperators, TolerationMatch, canonical_integer, tolerates};
use crate::taint::{Taint, TaintEffect};
use crate::text::distance;
use crate::toleration::{Toleration, TolerationOperator, TolerationPeriod};

/// The maximum edit distance between a key and the taint's that still counts as a typing error.
const LETTERS_MAX: usize = 2;

/// Keys up to this length are not called misspelled: every other short key is a letter or two away.
const SHORT: usize = 4;

/// Which parts of a toleration do not match a taint; at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// It is for another effect.
    pub effect: bool,
    /// It has another key.
    pub key: Option<KeyMismatch>,
    /// Its operator and value do not match the taint's value; compared as if the key were right.
    pub value: Option<ValueMismatch>,
}

/// How different a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyMismatch {
    /// By a letter or two.
    Similar,
    /// Another word.
    Other,
}

/// Why a value does not match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueMismatch {
    /// It has to be equal, and is not.
    Differs,
    /// `Lt` and `Gt` are compared only with the gate on (MATCH-6).
    GateOff,
    /// The taint's value is not an integer in its canonical form (MATCH-6).
    TaintNoNumber,
    /// The toleration's value is not an integer in its canonical form (MATCH-6).
    OwnNoNumber,
    /// `Lt`, and the taint's number is not smaller.
    NotLess,
    /// `Gt`, and the taint's number is not greater.
    NotGreater,
}

/// The nearest of the tolerations that do not match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NearestToleration {
    /// Its position.
    pub position: usize,
    /// Which parts do not match.
    pub miss: Mismatch,
}

impl Mismatch {
    /// Returns the mismatch; `None` if the toleration tolerates the taint, or might (D11).
    pub fn of(toleration: &Toleration, taint: &Taint, numeric: NumericOperators) -> Option<Self> {
        if tolerates(toleration, taint, numeric) != TolerationMatch::No {
            return None;
        }
        let effect = match &toleration.effect {
            None | Some(TaintEffect::Unknown(_)) => false,
            Some(effect) => *effect != taint.effect,
        };
        // The meaning of key and value for an unknown operator is unknown.
        if matches!(toleration.operator, TolerationOperator::Unknown(_)) {
            return Some(Self { effect, key: None, value: None });
        }
        let fits = toleration.key.is_empty() || toleration.key == taint.key;
        let key = (!fits).then(|| key(&toleration.key, &taint.key));
        Some(Self { effect, key, value: value(toleration, taint, numeric) })
    }

    /// The number of parts that do not match; `None` if the key is a different word.
    const fn distance(self) -> Option<usize> {
        let key = match self.key {
            None => 0,
            Some(KeyMismatch::Similar) => 1,
            Some(KeyMismatch::Other) => return None,
        };
        Some(key + self.effect as usize + self.value.is_some() as usize)
    }
}

fn key(own: &str, of_taint: &str) -> KeyMismatch {
    let long = own.len().min(of_taint.len()) > SHORT;
    match long && distance(own, of_taint, LETTERS_MAX).is_some() {
        true => KeyMismatch::Similar,
        false => KeyMismatch::Other,
    }
}

fn value(toleration: &Toleration, taint: &Taint, numeric: NumericOperators) -> Option<ValueMismatch> {
    match &toleration.operator {
        TolerationOperator::Exists | TolerationOperator::Unknown(_) => None,
        TolerationOperator::Unset | TolerationOperator::Equal => {
            (toleration.value != taint.value).then_some(ValueMismatch::Differs)
        }
        TolerationOperator::Lt | TolerationOperator::Gt if numeric == NumericOperators::Off => {
            Some(ValueMismatch::GateOff)
        }
        operator => match (canonical_integer(&taint.value), canonical_integer(&toleration.value)) {
            (_, None) => Some(ValueMismatch::OwnNoNumber),
            (None, _) => Some(ValueMismatch::TaintNoNumber),
            (Some(taint), Some(own)) if *operator == TolerationOperator::Lt => {
                (taint >= own).then_some(ValueMismatch::NotLess)
            }
            (Some(taint), Some(own)) => (taint <= own).then_some(ValueMismatch::NotGreater),
        },
    }
}

/// Returns the toleration with the fewest parts that do not match, the first of equal ones; `None` if each is for
/// another key, or one of them matches.
pub fn nearest(
    tolerations: &[Toleration],
    taint: &Taint,
    numeric: NumericOperators,
) -> Option<NearestToleration> {
    let mut best: Option<(usize, NearestToleration)> = None;
    for (position, toleration) in tolerations.iter().enumerate() {
        let miss = Mismatch::of(toleration, taint, numeric)?;
        let Some(distance) = miss.distance() else { continue };
        if best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, NearestToleration { position, miss }));
        }
    }
    best.map(|(_, near)| near)
}

/// Returns the most patient of the tolerations after `used` that would also match this taint and let the pod stay
/// longer if they came first (MATCH-9).
pub fn more_patient(
    tolerations: &[Toleration],
    used: usize,
    taint: &Taint,
    numeric: NumericOperators,
) -> Option<usize> {
    let mut most: (TolerationPeriod, Option<usize>) = (tolerations.get(used)?.period(), None);
    for (position, toleration) in tolerations.iter().enumerate().skip(used + 1) {
        let period = toleration.period();
        if period > most.0 && tolerates(toleration, taint, numeric) == TolerationMatch::Yes {
            most = (period, Some(position));
        }
    }
    most.1
}

#[cfg(test)]
mod tests;
