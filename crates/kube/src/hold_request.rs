//! Reads and writes the annotation by which a hold of a node's pods, or of a pod, is ordered and ended.
//!
//! - Invariant: a written value is read back equal; a value that is not valid as a whole orders nothing (D11).
//! - Invariant: the holds that are over stay in the annotation, so that a process that starts later knows the held time.

use crate::api_time::{micro_time, time_from_text};
use serde::{Deserialize, Serialize};
use taintward_core::fact::HoldPeriod;
use taintward_core::time::Wall;
use taintward_core::toleration_hold::{MAX_HOLD, ReleaseMode};
use taintward_core::toleration_seconds::NodeHoldRequest;

/// The annotation of a node or a pod. Its value is a [`NodeHoldRequest`] with the holds before it.
pub const HOLD: &str = "taintward.io/hold";

/// More holds that are over are merged, or, if another client wrote them, not read.
pub const PAST_MAX: usize = 16;

/// [`HOLD`]'s value.
#[derive(Deserialize, Serialize)]
#[serde(tag = "action", rename_all = "lowercase")]
enum HoldJson {
    /// Hold.
    Hold {
        since: String,
        until: String,
        /// For people.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        past: Vec<PeriodJson>,
    },
    /// Release.
    Release {
        at: String,
        #[serde(default)]
        mode: ReleaseModeJson,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        past: Vec<PeriodJson>,
    },
}

/// A hold that is over.
#[derive(Deserialize, Serialize)]
struct PeriodJson {
    since: String,
    until: String,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum ReleaseModeJson {
    #[default]
    Remainder,
    Full,
}

/// Formats a request as the annotation's value; `None` removes the annotation. The reason is for people; `past` are the
/// holds that are over ([`past_periods`]).
pub fn encode_request(request: NodeHoldRequest, reason: &str, past: &[HoldPeriod]) -> Option<String> {
    let json =
        |period: &HoldPeriod| PeriodJson { since: micro_time(period.since), until: micro_time(period.until) };
    let past = past.iter().map(json).collect();
    let json = match request {
        NodeHoldRequest::None => return None,
        NodeHoldRequest::Hold { since, until } => HoldJson::Hold {
            since: micro_time(since),
            until: micro_time(until),
            reason: reason.to_owned(),
            past,
        },
        NodeHoldRequest::Release { at, mode } => {
            let mode = match mode {
                ReleaseMode::Remainder => ReleaseModeJson::Remainder,
                ReleaseMode::Full => ReleaseModeJson::Full,
            };
            HoldJson::Release { at: micro_time(at), mode, past }
        }
    };
    serde_json::to_string(&json).ok()
}

/// The reason that an administrator gave for a hold in a node's annotation.
pub fn decode_reason(text: &str) -> Option<String> {
    match serde_json::from_str(text).ok()? {
        HoldJson::Hold { reason, .. } => Some(reason).filter(|reason| !reason.is_empty()),
        HoldJson::Release { .. } => None,
    }
}

/// Parses the request in a node's annotation; none, if it cannot be understood (D11).
pub fn decode_request(text: &str) -> NodeHoldRequest {
    let request = || match serde_json::from_str(text).ok()? {
        HoldJson::Hold { since, until, .. } => {
            Some(NodeHoldRequest::Hold { since: time(&since)?, until: time(&until)? })
        }
        HoldJson::Release { at, mode, .. } => {
            let mode = match mode {
                ReleaseModeJson::Remainder => ReleaseMode::Remainder,
                ReleaseModeJson::Full => ReleaseMode::Full,
            };
            Some(NodeHoldRequest::Release { at: time(&at)?, mode })
        }
    };
    request().unwrap_or_default()
}

/// Parses the holds that the annotation orders or has ordered, in their order; `None` if there are none.
///
/// A hold lasts for [`MAX_HOLD`] at most. A release that restores all of the pods' seconds is a hold from the epoch: no
/// time before it counts.
pub fn decode_periods(text: &str) -> Option<Box<[HoldPeriod]>> {
    let (past, last) = match serde_json::from_str(text).ok()? {
        HoldJson::Hold { since, until, past, .. } => {
            (past, Some(HoldPeriod { since: time(&since)?, until: time(&until)? }))
        }
        HoldJson::Release { at, mode: ReleaseModeJson::Full, .. } => {
            let since_ever = HoldPeriod { since: Wall::from_secs(0), until: time(&at)? };
            return Some([since_ever].into());
        }
        HoldJson::Release { past, .. } => (past, None),
    };
    if past.len() > PAST_MAX {
        return None;
    }
    let past = past.iter().map(|one| Some(HoldPeriod { since: time(&one.since)?, until: time(&one.until)? }));
    let bounded =
        |period: HoldPeriod| HoldPeriod { until: period.until.min(period.since.plus(MAX_HOLD)), ..period };
    let mut periods = past.chain(last.map(bounded).map(Some)).collect::<Option<Vec<_>>>()?;
    periods.retain(|period| period.since < period.until);
    periods.sort_unstable();
    (!periods.is_empty()).then(|| periods.into())
}

/// The holds of these that are over or end now, for the next annotation. Two that do not fit are merged into one that
/// contains both: no pod is evicted early.
pub fn past_periods(periods: &[HoldPeriod], now: Wall) -> Vec<HoldPeriod> {
    let ended = |period: &HoldPeriod| HoldPeriod { until: period.until.min(now), ..*period };
    let mut past: Vec<_> = periods.iter().filter(|period| period.since < now).map(ended).collect();
    while past.len() > PAST_MAX {
        let oldest = past.remove(0);
        past[0] = HoldPeriod { since: oldest.since, until: oldest.until.max(past[0].until) };
    }
    past
}

fn time(text: &str) -> Option<Wall> {
    time_from_text(text).ok()?
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use taintward_core::time::Span;

    fn moment() -> impl Strategy<Value = Wall> {
        (0..253_402_000_000_000_000_i64).prop_map(Wall::from_micros)
    }

    fn period() -> impl Strategy<Value = HoldPeriod> {
        (moment(), 1..MAX_HOLD.as_micros())
            .prop_map(|(since, length)| HoldPeriod { since, until: since.plus(Span::from_micros(length)) })
    }

    proptest! {
        #[test]
        fn a_written_request_is_read_back(since in moment(), until in moment(), full: bool, reason in ".*", past in prop::collection::vec(period(), 0..4)) {
            let mode = if full { ReleaseMode::Full } else { ReleaseMode::Remainder };
            for request in [NodeHoldRequest::Hold { since, until }, NodeHoldRequest::Release { at: since, mode }] {
                prop_assert_eq!(decode_request(&encode_request(request, &reason, &past).unwrap()), request);
            }
        }

        #[test]
        fn no_text_causes_a_panic(text in "\\PC*") {
            let _ = (decode_request(&text), decode_periods(&text), decode_reason(&text));
        }
    }

    const HOUR: i64 = 3600;

    fn at(hours: i64) -> Wall {
        Wall::from_secs(1_800_000_000 + hours * HOUR)
    }

    fn periods(all: &[(i64, i64)]) -> Vec<HoldPeriod> {
        all.iter().map(|(since, until)| HoldPeriod { since: at(*since), until: at(*until) }).collect()
    }

    fn decoded(request: NodeHoldRequest, past: &[(i64, i64)]) -> Option<Vec<HoldPeriod>> {
        decode_periods(&encode_request(request, "", &periods(past)).unwrap()).map(Vec::from)
    }

    #[test]
    fn holds_that_are_over_are_kept() {
        let hold = NodeHoldRequest::Hold { since: at(5), until: at(6) };
        assert_eq!(decoded(hold, &[(0, 1)]), Some(periods(&[(0, 1), (5, 6)])));
        assert_eq!(decoded(hold, &[]), Some(periods(&[(5, 6)])));
        let release = |mode| NodeHoldRequest::Release { at: at(6), mode };
        assert_eq!(decoded(release(ReleaseMode::Remainder), &[(5, 6)]), Some(periods(&[(5, 6)])));
        assert_eq!(decoded(release(ReleaseMode::Remainder), &[]), None);
        let since_ever = HoldPeriod { since: Wall::from_secs(0), until: at(6) };
        assert_eq!(decoded(release(ReleaseMode::Full), &[(5, 6)]), Some(vec![since_ever]));
        assert_eq!(
            decoded(NodeHoldRequest::Hold { since: at(0), until: at(99) }, &[]),
            Some(periods(&[(0, 24)]))
        );
        assert_eq!(decoded(NodeHoldRequest::Hold { since: at(2), until: at(1) }, &[]), None);
    }

    #[test]
    fn a_hold_that_is_replaced_ends_now_and_the_oldest_are_merged() {
        assert_eq!(past_periods(&periods(&[(0, 1), (5, 9), (7, 8)]), at(6)), periods(&[(0, 1), (5, 6)]));
        let many: Vec<_> = (0..20).map(|one| (2 * one, 2 * one + 1)).collect();
        let past = past_periods(&periods(&many), at(99));
        assert_eq!((past.len(), past[0]), (PAST_MAX, periods(&[(0, 9)])[0]));
        assert_eq!(past[1..], periods(&many)[5..]);
    }

    #[test]
    fn an_invalid_value_orders_nothing() {
        for text in [
            "",
            "true",
            "{}",
            r#"{"action":"hold"}"#,
            r#"{"action":"hold","since":"x","until":"y"}"#,
            r#"{"action":"hold","since":"2026-11-22T10:00:00Z","until":"2026-11-22T11:00:00Z","past":[{"since":"x"}]}"#,
        ] {
            assert_eq!((decode_request(text), decode_periods(text)), (NodeHoldRequest::None, None), "{text}");
        }
        let many = vec![r#"{"since":"2026-11-22T10:00:00Z","until":"2026-11-22T11:00:00Z"}"#; PAST_MAX + 1]
            .join(",");
        assert_eq!(
            decode_periods(&format!(r#"{{"action":"release","at":"2026-11-22T10:00:00Z","past":[{many}]}}"#)),
            None
        );
    }
}
