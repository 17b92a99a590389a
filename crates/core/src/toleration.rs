//! Defines [`Toleration`], an element of `spec.tolerations`; its period plays no part in matching (MATCH-5).
//!
//! - See `toleration_matching.rs` for which taint it tolerates.

mod daemon_set;

pub use daemon_set::daemon_tolerations;

use crate::taint::TaintEffect;
use crate::time::Span;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// How a toleration's key and value are compared with a taint's (MATCH-2, MATCH-4).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum TolerationOperator {
    /// No operator: compares as `Equal`, but has another identity (MATCH-2).
    Unset,
    /// Values must be equal.
    Equal,
    /// Any value.
    Exists,
    /// The taint's value is a smaller number (MATCH-6).
    Lt,
    /// The taint's value is a greater number (MATCH-6).
    Gt,
    /// An operator this version does not know: never a reason to evict (D11).
    Unknown(Box<str>),
}

impl TolerationOperator {
    /// Parses an operator, case-sensitively.
    pub fn new(text: &str) -> Self {
        match text {
            "" => Self::Unset,
            "Equal" => Self::Equal,
            "Exists" => Self::Exists,
            "Lt" => Self::Lt,
            "Gt" => Self::Gt,
            other => Self::Unknown(other.into()),
        }
    }

    /// The operator as the API writes it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Unset => "",
            Self::Equal => "Equal",
            Self::Exists => "Exists",
            Self::Lt => "Lt",
            Self::Gt => "Gt",
            Self::Unknown(text) => text,
        }
    }
}

/// How long a pod may stay once a taint counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TolerationPeriod {
    /// For this long; zero means that the pod is evicted immediately.
    For(Span),
    /// Indefinitely.
    Forever,
}

/// One toleration of a pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Toleration {
    /// The key; empty means every key.
    pub key: Box<str>,
    /// How it is compared.
    pub operator: TolerationOperator,
    /// The value it is compared with.
    pub value: Box<str>,
    /// The effect it matches; `None` (an empty string in the API) means every effect.
    pub effect: Option<TaintEffect>,
    /// `tolerationSeconds` as written; any 64-bit number is legal (VAL-2).
    pub seconds: Option<i64>,
}

/// Positions in a pod's list of tolerations, and the seconds each gets.
pub type SecondsChanges = Vec<(usize, Option<i64>)>;

impl Toleration {
    /// One that tolerates any value of a taint with this key and effect, indefinitely.
    pub(crate) fn exists(key: &str, effect: TaintEffect) -> Self {
        let (key, value) = (key.into(), "".into());
        Self { key, operator: TolerationOperator::Exists, value, effect: Some(effect), seconds: None }
    }

    /// Key, effect, operator and value agree (MATCH-2).
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.key == other.key
            && self.effect == other.effect
            && self.operator == other.operator
            && self.value == other.value
    }

    /// How long this toleration lets the pod stay (TE-17b, TE-19): without seconds indefinitely, with zero and negative
    /// ones not at all; a value that would overflow upstream (TE-20) saturates (D7).
    pub fn period(&self) -> TolerationPeriod {
        self.seconds
            .map_or(TolerationPeriod::Forever, |seconds| TolerationPeriod::For(Span::from_secs(seconds)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn match_2_no_operator_is_another_identity_than_equal() {
        assert_ne!(TolerationOperator::new(""), TolerationOperator::new("Equal"));
        for text in ["", "Equal", "Exists", "Lt", "Gt", "equal", "Like"] {
            assert_eq!(TolerationOperator::new(text).as_str(), text);
        }
    }

    #[test]
    fn seconds_become_a_toleration_period() {
        let of = |seconds| {
            let (key, value) = ("k".into(), "".into());
            Toleration { key, operator: TolerationOperator::Exists, value, effect: None, seconds }.period()
        };
        assert_eq!(of(None), TolerationPeriod::Forever);
        for now in [0, -1, i64::MIN] {
            assert_eq!(of(Some(now)), TolerationPeriod::For(Span::ZERO));
        }
        assert_eq!(of(Some(300)), TolerationPeriod::For(Span::from_secs(300)));
        assert_eq!(of(Some(18_446_744_074)), TolerationPeriod::For(Span::from_secs(18_446_744_074)));
        assert_eq!(of(Some(i64::MAX)), TolerationPeriod::For(Span::from_micros(i64::MAX)));
    }
}
