//! # Miss: why a toleration does not answer a taint
//! Room:     part by part what does not fit; of many tolerations the one that comes nearest; the trap of the first match.
//! Comes in: tolerations, a taint, the numeric switch.
//! Goes out: [`Miss`], [`Near`], positions.
//! Keeps:    there is a miss exactly where [`tolerates`] says no.
//! Not here: words for people; tolerations of which no taint is known (`lint/`).

use super::{Match, NumericOperators, canonical_integer, tolerates};
use crate::lint::distance;
use crate::taint::{Effect, Taint};
use crate::toleration::{Operator, Patience, Toleration};

/// Letters that a key may be away from the taint's and still be taken for a slip of the pen.
const LETTERS_MOST: usize = 2;

/// Keys as short as this are not called misspelt: every other short key is a letter or two away.
const SHORT: usize = 4;

/// What of a toleration does not fit a taint; at least one part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Miss {
    /// It is for another effect.
    pub effect: bool,
    /// Its key is another.
    pub key: Option<KeyMiss>,
    /// Its operator and value do not let the taint's value pass; looked at as if the key were right.
    pub value: Option<ValueMiss>,
}

/// How far away a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyMiss {
    /// A letter or two.
    Similar,
    /// Another word.
    Other,
}

/// Why a value does not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueMiss {
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
pub struct Near {
    /// Its position.
    pub position: usize,
    /// What of it does not fit.
    pub miss: Miss,
}

impl Miss {
    /// What does not fit; `None` where the toleration tolerates the taint, or might (D11).
    pub fn of(toleration: &Toleration, taint: &Taint, numeric: NumericOperators) -> Option<Self> {
        if tolerates(toleration, taint, numeric) != Match::No {
            return None;
        }
        let effect = match &toleration.effect {
            None | Some(Effect::Unknown(_)) => false,
            Some(effect) => *effect != taint.effect,
        };
        // What an unknown operator makes of key and value is not known.
        if matches!(toleration.operator, Operator::Unknown(_)) {
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
            Some(KeyMiss::Similar) => 1,
            Some(KeyMiss::Other) => return None,
        };
        Some(key + self.effect as usize + self.value.is_some() as usize)
    }
}

fn key(own: &str, of_taint: &str) -> KeyMiss {
    let long = own.len().min(of_taint.len()) > SHORT;
    match long && distance(own, of_taint, LETTERS_MOST).is_some() {
        true => KeyMiss::Similar,
        false => KeyMiss::Other,
    }
}

fn value(toleration: &Toleration, taint: &Taint, numeric: NumericOperators) -> Option<ValueMiss> {
    match &toleration.operator {
        Operator::Exists | Operator::Unknown(_) => None,
        Operator::Unset | Operator::Equal => (toleration.value != taint.value).then_some(ValueMiss::Differs),
        Operator::Lt | Operator::Gt if numeric == NumericOperators::Off => Some(ValueMiss::GateOff),
        operator => match (canonical_integer(&taint.value), canonical_integer(&toleration.value)) {
            (_, None) => Some(ValueMiss::OwnNoNumber),
            (None, _) => Some(ValueMiss::TaintNoNumber),
            (Some(taint), Some(own)) if *operator == Operator::Lt => {
                (taint >= own).then_some(ValueMiss::NotLess)
            }
            (Some(taint), Some(own)) => (taint <= own).then_some(ValueMiss::NotGreater),
        },
    }
}

/// The toleration with the fewest parts that do not fit, the first of equals; `None` where each is for another key, or
/// one of them answers.
pub fn nearest(tolerations: &[Toleration], taint: &Taint, numeric: NumericOperators) -> Option<Near> {
    let mut best: Option<(usize, Near)> = None;
    for (position, toleration) in tolerations.iter().enumerate() {
        let miss = Miss::of(toleration, taint, numeric)?;
        let Some(distance) = miss.distance() else { continue };
        if best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, Near { position, miss }));
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
    let mut most: (Patience, Option<usize>) = (tolerations.get(used)?.patience(), None);
    for (position, toleration) in tolerations.iter().enumerate().skip(used + 1) {
        let patience = toleration.patience();
        if patience > most.0 && tolerates(toleration, taint, numeric) == Match::Yes {
            most = (patience, Some(position));
        }
    }
    most.1
}

#[cfg(test)]
mod tests;
