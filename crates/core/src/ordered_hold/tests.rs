//! Tests due dates with held time.

use super::*;
use crate::time::Wall;

const NOW: i64 = 1_000;

fn at(seconds: i64) -> Mono {
    Mono::from_secs(seconds)
}

fn now(seconds: i64) -> Now {
    Now::exact(at(seconds), Wall::from_secs(1_800_000_000 + seconds))
}

fn windows(periods: &[(i64, i64)]) -> HoldWindows {
    let wall = |seconds| Wall::from_secs(1_800_000_000 + seconds);
    let periods: Vec<_> = periods
        .iter()
        .map(|(since, until)| HoldPeriod { since: wall(*since), until: wall(*until) })
        .collect();
    HoldWindows::placed(Some(&periods), &HoldWindows::default(), now(NOW))
}

/// The due date in seconds, and until when a hold applies.
fn delayed(node: &[(i64, i64)], pod: &[(i64, i64)], (from, due): (i64, i64), now: i64) -> (i64, Option<i64>) {
    let (node, pod) = (windows(node), windows(pod));
    let held = OrderedHolds { node: Some(&node), pod: Some(&pod) }.delay(at(from), at(due), at(now));
    let seconds = |moment: Mono| moment.as_micros() / 1_000_000;
    (seconds(held.due), held.held_until.map(seconds))
}

#[test]
fn held_time_does_not_count() {
    for (node, countdown, expected) in [
        (&[][..], (500, 1_100), (1_100, None)),
        // Over: before the countdown, across its begin, within it.
        (&[(100, 200)], (500, 1_100), (1_100, None)),
        (&[(400, 600)], (500, 1_100), (1_200, None)),
        (&[(600, 700)], (500, 1_100), (1_200, None)),
        (&[(600, 700), (800, 850)], (500, 1_100), (1_250, None)),
        // Active.
        (&[(900, 2_000)], (500, 1_100), (2_200, Some(2_000))),
        (&[(600, 700), (900, 2_000)], (500, 1_100), (2_300, Some(2_000))),
        // Overlapping holds count once.
        (&[(600, 800), (700, 850)], (500, 1_100), (1_350, None)),
        // To come: only if the pod is not due before.
        (&[(1_050, 1_060)], (500, 1_100), (1_110, None)),
        (&[(1_101, 1_200)], (500, 1_100), (1_100, None)),
        (&[(1_100, 1_200)], (500, 1_100), (1_200, None)),
    ] {
        assert_eq!(delayed(node, &[], countdown, NOW), expected, "{node:?} {countdown:?}");
        assert_eq!(delayed(&[], node, countdown, NOW), expected, "of the pod: {node:?} {countdown:?}");
        assert_eq!(delayed(node, node, countdown, NOW), expected, "of both: {node:?} {countdown:?}");
    }
}

/// The pod was due when the hold began, and had not been deleted: it stays until the hold ends, and leaves then.
#[test]
fn a_hold_stops_a_pod_that_is_due_already() {
    let held = |now| delayed(&[(900, 2_000)], &[], (500, 500), now);
    assert_eq!(held(950), (2_000, Some(2_000)));
    assert_eq!(held(1_999), (2_000, Some(2_000)));
    assert_eq!(held(2_000), (1_600, None));
    // It begins now.
    assert_eq!(delayed(&[(900, 2_000)], &[], (500, 500), 900), (2_000, Some(2_000)));
    // At the moment of the taint.
    assert_eq!(delayed(&[(500, 2_000)], &[], (500, 500), NOW), (2_000, Some(2_000)));
}

#[test]
fn the_holds_of_a_pod_are_bounded_in_total() {
    let day = MAX_HOLD.as_micros() / 1_000_000;
    let ever: Vec<_> = (0..10).map(|one| (one * day, (one + 1) * day)).collect();
    assert_eq!(delayed(&[], &ever, (500, 600), NOW), (600 + day, Some(day)));
    assert_eq!(delayed(&[], &ever, (500, 600), 601 + day), (600 + day, Some(600 + day)), "it leaves then");
    // Those of the node come in addition.
    assert_eq!(delayed(&[(900, 2_000)], &ever, (500, 600), NOW).0, 2_000 + day);
}

#[test]
fn no_allowed_clock_makes_a_hold_shorter() {
    let period = HoldPeriod { since: Wall::from_secs(100), until: Wall::from_secs(200) };
    let placed = |skew_max| {
        let now = Now::new(at(150), Wall::from_secs(150), skew_max);
        let window = HoldWindows::placed(Some(&[period]), &HoldWindows::default(), now).0[0];
        (window.begin, window.end)
    };
    assert_eq!(placed(Some(Span::ZERO)), (at(100), at(200)));
    assert_eq!(placed(Some(Span::from_secs(7))), (at(93), at(207)));
    assert_eq!(placed(None), (at(150), at(250)), "in full from when it is first observed");
}

#[test]
fn a_known_hold_stays_where_it_is() {
    let period = HoldPeriod { since: Wall::from_secs(100), until: Wall::from_secs(200) };
    let first =
        HoldWindows::placed(Some(&[period]), &HoldWindows::default(), Now::exact(at(0), Wall::from_secs(0)));
    let stepped = Now::exact(at(10), Wall::from_secs(3_600));
    assert_eq!(HoldWindows::placed(Some(&[period]), &first, stepped), first);
    assert_ne!(HoldWindows::placed(Some(&[period]), &HoldWindows::default(), stepped), first);
    assert!(HoldWindows::placed(None, &first, stepped).is_empty());
}
