//! Tests verdicts: which pods stay, until when, and for which reason.

use super::*;
use crate::taint::TaintEffect;
use crate::taint_start::{BindingSource, TaintStartSource};
use crate::testkit::{taint, toleration};
use crate::time::Wall;
use crate::toleration::TolerationOperator;
use alloc::vec;

const T0: i64 = 1000;

fn now(seconds: i64) -> Now {
    Now::exact(Mono::from_secs(seconds), Wall::from_secs(1_800_000_000 + seconds))
}

fn instance(key: &str, start: i64) -> TaintInstance {
    let start = TaintStart { at: Mono::from_secs(start), source: TaintStartSource::SeenLive, clamped: false };
    TaintInstance { taint: taint(key), start }
}

fn judged(tolerations: &[Toleration], arrival: i64, taints: &[TaintInstance], at: i64) -> Verdict {
    let arrival = PodBinding { at: Mono::from_secs(arrival), source: BindingSource::SeenLive };
    let subject = PodInput { tolerations, arrival, exemption: None, holds: OrderedHolds::default() };
    judge(&subject, taints, NumericOperators::Off, now(at))
}

fn goes(at: i64) -> Outcome {
    Outcome::Leaves { due: Mono::from_secs(at) }
}

fn until(at: i64) -> Outcome {
    Outcome::StaysUntil(Mono::from_secs(at))
}

#[test]
fn te_17_and_te_19_the_toleration_period_decides() {
    let taint = [instance("a", T0)];
    for (tolerations, expected) in [
        (vec![], goes(T0)),
        (vec![toleration("a", None)], Outcome::Stays(StayReason::Tolerated)),
        (vec![toleration("a", Some(0))], goes(T0)),
        (vec![toleration("a", Some(-5))], goes(T0)),
        (vec![toleration("a", Some(60))], until(T0 + 60)),
        (vec![toleration("a", Some(300)), toleration("a", None)], until(T0 + 300)),
        (vec![toleration("a", None), toleration("a", Some(300))], Outcome::Stays(StayReason::Tolerated)),
        (vec![toleration("b", None)], goes(T0)),
        (vec![toleration("a", Some(i64::MAX))], Outcome::StaysUntil(Mono::NEVER)),
        (vec![toleration("a", Some(18_446_744_074))], until(T0 + 18_446_744_074)),
        (vec![toleration("a", Some(9_223_372_037))], until(T0 + 9_223_372_037)),
    ] {
        assert_eq!(judged(&tolerations, 0, &taint, T0 + 1).outcome, expected, "{tolerations:?}");
    }
}

#[test]
fn a_deadline_is_reached_exactly_on_time() {
    let (taint, tolerations) = ([instance("a", T0)], [toleration("a", Some(60))]);
    assert_eq!(judged(&tolerations, 0, &taint, T0 + 59).outcome, until(T0 + 60));
    assert_eq!(judged(&tolerations, 0, &taint, T0 + 60).outcome, goes(T0 + 60));
}

#[test]
fn te_17_the_earliest_due_date_of_all_taints_decides() {
    let taints = [instance("a", T0), instance("b", T0 + 40)];
    let verdict = judged(&[toleration("a", Some(60)), toleration("b", Some(10))], 0, &taints, T0 + 41);
    assert_eq!((verdict.outcome, verdict.decisive), (until(T0 + 50), Some(1)));
    let verdict = judged(&[toleration("a", Some(60)), toleration("b", None)], 0, &taints, T0 + 41);
    assert_eq!((verdict.outcome, verdict.decisive), (until(T0 + 60), Some(0)));
    let verdict = judged(&[toleration("a", Some(60))], 0, &taints, T0 + 41);
    assert_eq!((verdict.outcome, verdict.decisive), (goes(T0 + 40), Some(1)));
}

#[test]
fn d1_no_pod_is_evicted_the_moment_it_arrives() {
    let (taint, tolerations) = ([instance("a", T0)], [toleration("a", Some(60))]);
    let verdict = judged(&tolerations, T0 + 500, &taint, T0 + 500);
    assert_eq!(verdict.outcome, until(T0 + 560));
    assert_eq!(verdict.reasons[0].counts_from, Mono::from_secs(T0 + 500));
    assert_eq!(verdict.reasons[0].start.at, Mono::from_secs(T0));
}

#[test]
fn d6_exempt_pods_stay_whatever_their_taints() {
    let arrival = PodBinding { at: Mono::from_secs(0), source: BindingSource::SeenLive };
    for (life_phase, mirror, exemption) in [
        (PodLifePhase::Finished, false, Some(EvictionExemption::Finished)),
        (PodLifePhase::Terminating, true, Some(EvictionExemption::Terminating)),
        (PodLifePhase::Live, true, Some(EvictionExemption::Mirror)),
        (PodLifePhase::Live, false, None),
    ] {
        assert_eq!(EvictionExemption::of(life_phase, mirror), exemption);
        let subject = PodInput { tolerations: &[], arrival, exemption, holds: OrderedHolds::default() };
        let verdict = judge(&subject, &[instance("a", T0)], NumericOperators::Off, now(T0));
        let expected = exemption.map_or(goes(T0), |exemption| Outcome::Stays(StayReason::Exempt(exemption)));
        assert_eq!(verdict.outcome, expected);
    }
}

#[test]
fn d11_a_toleration_that_is_not_understood_evicts_no_pod() {
    let unknown = Toleration { operator: TolerationOperator::new("Like"), ..toleration("a", Some(5)) };
    let taint = [instance("a", T0)];
    assert_eq!(
        judged(&[unknown], 0, &taint, T0 + 9).outcome,
        Outcome::Stays(StayReason::UnsupportedToleration)
    );
    let unknown_effect = Toleration { effect: Some(TaintEffect::new("Sooner")), ..toleration("a", None) };
    assert_eq!(
        judged(core::slice::from_ref(&unknown_effect), 0, &taint, T0).outcome,
        Outcome::Stays(StayReason::UnsupportedToleration)
    );
    // Another taint that is understood still counts.
    let taints = [instance("a", T0), instance("b", T0)];
    assert_eq!(judged(&[unknown_effect], 0, &taints, T0).outcome, goes(T0));
}

#[test]
fn te_21_without_taints_there_are_no_reasons() {
    let verdict = judged(&[], 0, &[], T0);
    assert_eq!(
        verdict,
        Verdict { outcome: Outcome::Stays(StayReason::NoTaint), reasons: vec![], decisive: None }
    );
}

/// NL-48: which of both taints evicts, when, and the reasons, during a hold and after it.
#[test]
fn nl_48_held_time_stops_two_taints_and_moves_their_due_dates() {
    const NOT_READY: &str = "node.kubernetes.io/not-ready";
    let held = |key, taint_at, other_at, tolerations: &[Toleration], arrival: i64, at: i64| {
        // On hold from T0 + 20 to T0 + 50, and again from T0 + 100 on.
        let mut holds = HoldHistory::default();
        holds.begin(Mono::from_secs(T0 + 20));
        if at >= T0 + 50 {
            holds.end(Mono::from_secs(T0 + 50));
        }
        if at >= T0 + 100 {
            holds.begin(Mono::from_secs(T0 + 100));
        }
        let taints = [instance(key, taint_at), instance("k", other_at)];
        let arrival = PodBinding { at: Mono::from_secs(arrival), source: BindingSource::SeenLive };
        let subject = PodInput { tolerations, arrival, exemption: None, holds: OrderedHolds::default() };
        let verdict = judge_held(&subject, &taints, &holds, NumericOperators::Off, now(at));
        let responses = toleration_matching::match_taints(
            tolerations,
            taints.iter().map(|one| &one.taint),
            NumericOperators::Off,
        );
        let at = Mono::from_secs(at);
        assert_eq!(
            outcome(&subject, &taints, &holds, &responses, at),
            verdict.outcome,
            "both calls make the same decision"
        );
        (verdict.outcome, verdict.decisive)
    };
    let stays = (Outcome::Stays(StayReason::OnHold), None);
    let both = |own, other| vec![toleration(NOT_READY, own), toleration("k", other)];
    for (tolerations, arrival, at, expected) in [
        // During the hold, with or without a period; a taint of another origin evicts as usual.
        (both(Some(60), None), 0, T0 + 30, stays),
        (both(Some(0), None), 0, T0 + 30, stays),
        (both(Some(10), None), 0, T0 + 30, stays),
        (both(None, None), 0, T0 + 30, (Outcome::Stays(StayReason::Tolerated), None)),
        (both(Some(60), Some(40)), 0, T0 + 30, (until(T0 + 40), Some(1))),
        (both(Some(60), Some(0)), 0, T0 + 30, (goes(T0), Some(1))),
        (vec![toleration("k", None)], 0, T0 + 30, stays),
        (vec![toleration(NOT_READY, Some(60))], 0, T0 + 30, (goes(T0), Some(1))),
        // After it: thirty seconds later, or what was left of them when the pod was bound.
        (both(Some(60), None), 0, T0 + 50, (until(T0 + 90), Some(0))),
        (both(Some(60), None), 0, T0 + 90, (goes(T0 + 90), Some(0))),
        (both(Some(60), None), T0 + 40, T0 + 60, (until(T0 + 110), Some(0))),
        (both(Some(60), None), T0 + 50, T0 + 60, (until(T0 + 110), Some(0))),
        (both(Some(60), None), T0 + 55, T0 + 60, (until(T0 + 115), Some(0))),
        (both(Some(0), None), 0, T0 + 50, (goes(T0 + 30), Some(0))),
        (both(Some(60), Some(80)), 0, T0 + 60, (until(T0 + 80), Some(1))),
        (both(Some(i64::MAX), None), 0, T0 + 60, (Outcome::StaysUntil(Mono::NEVER), Some(0))),
        // A second time.
        (both(Some(60), None), 0, T0 + 200, stays),
    ] {
        let reported = held(NOT_READY, T0, T0, &tolerations, arrival, at);
        assert_eq!(reported, expected, "{tolerations:?} from {arrival} at {at}");
    }
    // A taint that is added during the hold; and one that is not from node health.
    assert_eq!(held(NOT_READY, T0 + 40, T0, &both(Some(60), None), 0, T0 + 60), (until(T0 + 110), Some(0)));
    let tolerations = [toleration("mine", Some(60)), toleration("k", None)];
    assert_eq!(held("mine", T0, T0, &tolerations, 0, T0 + 30), (until(T0 + 60), Some(0)));
    assert_eq!(held("mine", T0, T0, &tolerations, 0, T0 + 60), (goes(T0 + 60), Some(0)));
}

/// On hold and also not understood: on hold, because that ends; exempt takes precedence over both.
#[test]
fn nl_48_a_hold_precedes_not_understood_and_exemptions_precede_both() {
    let mut holds = HoldHistory::default();
    holds.begin(Mono::from_secs(T0));
    let taints = [instance("a", T0), instance("node.kubernetes.io/unreachable", T0)];
    let tolerations = [Toleration { operator: TolerationOperator::new("Like"), ..toleration("a", Some(5)) }];
    let arrival = PodBinding { at: Mono::from_secs(0), source: BindingSource::SeenLive };
    for (tolerations, exemption, expected) in [
        (&tolerations[..], None, StayReason::UnsupportedToleration),
        (&[toleration("a", None)], None, StayReason::OnHold),
        (
            &[toleration("a", None)],
            Some(EvictionExemption::Finished),
            StayReason::Exempt(EvictionExemption::Finished),
        ),
    ] {
        let subject = PodInput { tolerations, arrival, exemption, holds: OrderedHolds::default() };
        let verdict = judge_held(&subject, &taints, &holds, NumericOperators::Off, now(T0 + 9));
        assert_eq!(verdict.outcome, Outcome::Stays(expected), "{tolerations:?}");
    }
    let only = Toleration { effect: Some(TaintEffect::new("Sooner")), ..toleration("a", None) };
    let subject = PodInput { tolerations: &[only], arrival, exemption: None, holds: OrderedHolds::default() };
    let verdict = judge_held(&subject, &taints, &holds, NumericOperators::Off, now(T0 + 9));
    assert_eq!(verdict.outcome, Outcome::Stays(StayReason::OnHold), "the other one is not understood");
}
