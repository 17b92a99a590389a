//! Explains why no toleration matches a taint: which fields differ, and which toleration is nearest.
//!
//! - Invariant: there is a mismatch exactly where [`tolerates`] says no.

use super::{NumericOperators, TolerationMatch, canonical_integer, tolerates};
use crate::lint::distance;
use crate::taint::{Taint, TaintEffect};
use crate::toleration::{Toleration, TolerationOperator, TolerationPeriod};

/// Letters that a key may be away from the taint's and still be taken for a slip of the pen.
const LETTERS_MOST: usize = 2;

/// Keys as short as this are not called misspelt: every other short key is a letter or two away.
const SHORT: usize = 4;

/// What of a toleration does not fit a taint; at least one part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// It is for another effect.
    pub effect: bool,
    /// Its key is another.
    pub key: Option<KeyMismatch>,
    /// Its operator and value do not let the taint's value pass; looked at as if the key were right.
    pub value: Option<ValueMismatch>,
}

/// How far away a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyMismatch {
    /// A letter or two.
    Similar,
    /// Another word.
    Other,
}

/// Why a value does not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueMismatch {
    /// It has to be equal, and is not.
    Differs,
    /// `Lt` and `Gt` are compared only with the gate on (MATCH-6).
    GateOff,
    /// The taint's value is no whole number in its canonical form (MATCH-6).
    TaintNoNumber,
    /// The toleration's value is no whole number in its canonical form (MATCH-6).
    OwnNoNumber,
    /// `Lt`, and the taint's number is not smaller.
    NotLess,
    /// `Gt`, and the taint's number is not greater.
    NotGreater,
}

/// The toleration that comes nearest, of those that do not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NearestToleration {
    /// Its position.
    pub position: usize,
    /// What of it does not fit.
    pub miss: Mismatch,
}

impl Mismatch {
    /// What does not fit; `None` where the toleration tolerates the taint, or might (D11).
    pub fn of(toleration: &Toleration, taint: &Taint, numeric: NumericOperators) -> Option<Self> {
        if tolerates(toleration, taint, numeric) != TolerationMatch::No {
            return None;
        }
        let effect = match &toleration.effect {
            None | Some(TaintEffect::Unknown(_)) => false,
            Some(effect) => *effect != taint.effect,
        };
        // What an unknown operator makes of key and value is not known.
        if matches!(toleration.operator, TolerationOperator::Unknown(_)) {
            return Some(Self { effect, key: None, value: None });
        }
        let fits = toleration.key.is_empty() || toleration.key == taint.key;
        let key = (!fits).then(|| key(&toleration.key, &taint.key));
        Some(Self { effect, key, value: value(toleration, taint, numeric) })
    }

    /// Parts that do not fit; a key that is another word altogether is nowhere near.
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
    match long && distance(own, of_taint, LETTERS_MOST).is_some() {
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

/// The toleration with the fewest parts that do not fit, the first of equals; `None` where each is for another key, or
/// one of them answers.
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

/// The most patient of the tolerations behind `used` that would answer this taint too and let the pod stay longer, if
/// they were not too late (MATCH-9).
pub fn more_patient(
    tolerations: &[Toleration],
    used: usize,
    taint: &Taint,
    numeric: NumericOperators,
) -> Option<usize> {
    let mut most: (TolerationPeriod, Option<usize>) = (tolerations.get(used)?.patience(), None);
    for (position, toleration) in tolerations.iter().enumerate().skip(used + 1) {
        let patience = toleration.patience();
        if patience > most.0 && tolerates(toleration, taint, numeric) == TolerationMatch::Yes {
            most = (patience, Some(position));
        }
    }
    most.1
}

#[cfg(test)]
mod tests;
