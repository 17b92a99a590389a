//! Decides what a pod without a record has kept of a hold, or of a ceiling.

use super::GuardCeiling;
use crate::taint::{Taint, TaintEffect, keys};
use crate::toleration::Toleration;
use crate::toleration_matching::{NumericOperators, TaintMatch, match_taint};

/// What a pod without a record has kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum UnrecordedCause {
    /// It has no seconds: it was held.
    Hold,
    /// It has the ceiling of its namespace: it was guarded.
    Guard,
}

/// Returns what a pod has kept that has no record, and whose tolerations Taintward was the last to write; `None`: nothing
/// that shows.
///
/// Taintward clears the seconds of every toleration that a hold covers, and restores all of them. So a pod whose
/// tolerations of not-ready and unreachable are all without seconds was held; backfill alone, by a policy of `forever`,
/// leaves a pod like that too, which is for the caller to exclude.
pub fn kept_by(tolerations: &[Toleration], ceiling: GuardCeiling) -> Option<UnrecordedCause> {
    let first = |key: &str| {
        let taint =
            Taint { key: key.into(), value: "".into(), effect: TaintEffect::NoExecute, time_added: None };
        match match_taint(tolerations, &taint, NumericOperators::Off) {
            TaintMatch::Tolerated(at) if !tolerations[at].key.is_empty() => Some(tolerations[at].seconds),
            _ => None,
        }
    };
    let seconds = || [keys::NOT_READY, keys::UNREACHABLE].into_iter().filter_map(first);
    match ceiling {
        _ if seconds().next().is_some() && seconds().all(|one| one.is_none()) => Some(UnrecordedCause::Hold),
        GuardCeiling::Seconds(ceiling) if seconds().any(|one| one == Some(ceiling)) => {
            Some(UnrecordedCause::Guard)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toleration::TolerationOperator;
    use alloc::vec::Vec;

    fn tolerations(seconds: &[(&str, Option<i64>)]) -> Vec<Toleration> {
        let of = |(key, seconds): &(&str, Option<i64>)| Toleration {
            key: (*key).into(),
            operator: TolerationOperator::Exists,
            value: "".into(),
            effect: Some(TaintEffect::NoExecute),
            seconds: *seconds,
        };
        seconds.iter().map(of).collect()
    }

    #[test]
    fn a_pod_without_seconds_was_held_and_one_with_the_ceiling_was_guarded() {
        use UnrecordedCause::{Guard, Hold};
        let (ready, reach, hour) = (keys::NOT_READY, keys::UNREACHABLE, GuardCeiling::Seconds(3_600));
        for (seconds, ceiling, expected) in [
            (&[(ready, None), (reach, None)][..], GuardCeiling::None, Some(Hold)),
            (&[(reach, None)], hour, Some(Hold)),
            (&[(ready, Some(300)), (reach, None)], hour, None),
            (&[(ready, Some(300)), (reach, Some(300))], hour, None),
            (&[(ready, Some(3_600)), (reach, Some(3_600))], hour, Some(Guard)),
            (&[(ready, Some(7_200)), (reach, Some(3_600))], hour, Some(Guard)),
            (&[(ready, Some(3_600)), (reach, Some(3_600))], GuardCeiling::None, None),
            (&[("", None)], hour, None),
            (&[("maintenance", None)], hour, None),
            (&[], hour, None),
        ] {
            assert_eq!(kept_by(&tolerations(seconds), ceiling), expected, "{seconds:?} {ceiling:?}");
        }
    }
}
