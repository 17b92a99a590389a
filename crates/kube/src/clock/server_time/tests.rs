//! Tests the estimate of the API server's time.

use super::*;
use proptest::prelude::*;

/// The time of the server's clock when the monotonic clock shows 0.
const BASE: i64 = 1_800_000_000_000_000;
const SECOND: i64 = 1_000_000;

fn mono(micros: i64) -> Mono {
    Mono::from_micros(micros)
}

/// Applies the response of a server whose clock is `ahead` of the usual one at `at`.
fn response(known: &mut ServerTime, at: i64, ahead: i64) -> Result<(), IgnoredDate> {
    let shows = (BASE + ahead + at).div_euclid(SECOND);
    known.observe(Wall::from_secs(shows), mono(at - 2000), mono(at + 3000))
}

/// Returns the error of the estimate for the usual server, and the claimed maximum error.
fn error(known: &ServerTime, at: i64) -> (i64, i64) {
    let (wall, uncertainty) = known.at(mono(at)).unwrap();
    (wall.as_micros() - BASE - at, uncertainty.as_micros())
}

/// The estimate after requests to a server every two seconds and a bit for a while.
fn requested(ahead: i64, until: i64) -> ServerTime {
    let mut known = ServerTime::default();
    let mut at = 0;
    while at <= until {
        response(&mut known, at, ahead).unwrap();
        at += 2_130_000;
    }
    known
}

#[test]
fn three_dates_are_accepted_immediately_and_two_are_not() {
    let mut known = ServerTime::default();
    for at in [0, 1000] {
        assert_eq!((response(&mut known, at, 0), known.at(mono(at))), (Ok(()), None));
    }
    response(&mut known, 2000, 0).unwrap();
    let (error, uncertainty) = error(&known, 2000);
    assert!(error.abs() <= uncertainty && uncertainty <= 510_000, "{error} {uncertainty}");
}

#[test]
fn many_responses_narrow_the_bounds_to_the_transit_time() {
    let known = requested(0, 100 * SECOND);
    let (error, uncertainty) = error(&known, 100 * SECOND);
    assert!(error.abs() <= uncertainty && uncertainty < 100_000, "{error} {uncertainty}");
}

#[test]
fn a_response_that_takes_longer_than_ten_seconds_proves_nothing() {
    let mut known = requested(0, 100 * SECOND);
    let (at, before) = (110 * SECOND, error(&known, 110 * SECOND));
    let date = Wall::from_micros(BASE + at);
    assert_eq!(known.observe(date, mono(at - 10 * SECOND), mono(at + 1)), Err(IgnoredDate::Slow));
    assert_eq!(error(&known, at), before);
}

/// A process that starts behind a slow link knows the server's time by its first three responses, with as much error as
/// they leave open; and better once the link is fast.
#[test]
fn slow_responses_are_worth_as_much_as_their_duration_leaves_open() {
    for (way, back) in [(SECOND, SECOND), (0, 9 * SECOND), (9 * SECOND, 0), (600_000, 700_000)] {
        let (mut known, mut at) = (ServerTime::default(), 0);
        for number in 0..3 {
            assert_eq!(known.at(mono(at)), None, "{number} of {way} {back}");
            at += way + back;
            let date = Wall::from_secs((BASE + at - back).div_euclid(SECOND));
            known.observe(date, mono(at - way - back), mono(at)).unwrap();
        }
        let (off, uncertainty) = error(&known, at);
        // Clocks may have drifted apart meanwhile.
        let most = (way + back + SECOND) / 2 + 20_000;
        assert!(off.abs() <= uncertainty && uncertainty <= most, "{way} {back}: {off} {uncertainty}");
        at += SECOND;
        response(&mut known, at, 0).unwrap();
        let (off, uncertainty) = error(&known, at);
        assert!(off.abs() <= uncertainty && uncertainty <= 520_000, "{way} {back}: {off} {uncertainty}");
    }
}

/// A slow response agrees with the clock that is known as long as it can: it moves the bounds no farther than they were
/// apart.
#[test]
fn a_slow_response_with_a_wrong_date_hardly_moves_a_clock_that_is_known() {
    for wrong in -9..=9 {
        let mut known = requested(0, 100 * SECOND);
        let at = 110 * SECOND;
        let (off, uncertainty) = error(&known, at);
        let date = Wall::from_micros(BASE + at + wrong * SECOND);
        let _ = known.observe(date, mono(at - 4 * SECOND), mono(at + 4 * SECOND));
        let moved = error(&known, at).0 - off;
        assert!(moved.abs() <= uncertainty, "{wrong} {moved} {uncertainty}");
    }
}

#[test]
fn absurd_dates_change_nothing() {
    let mut known = requested(0, 100 * SECOND);
    let at = 101 * SECOND;
    let before = error(&known, at);
    for year_1_to_9999 in [-62_135_596_800, 0, 253_402_300_799] {
        for _ in 0..10 {
            let message = known.observe(Wall::from_secs(year_1_to_9999), mono(at), mono(at + 1));
            assert_eq!(message, Err(IgnoredDate::Implausible));
        }
    }
    assert_eq!(error(&known, at), before);
}

#[test]
fn a_date_that_a_cache_repeats_is_never_accepted() {
    let mut known = requested(0, 100 * SECOND);
    for at in (101..400).map(|second| second * 1_010_000) {
        let cached = known.observe(Wall::from_micros(BASE).plus(Span::from_secs(50)), mono(at), mono(at + 1));
        assert_eq!(cached, Err(IgnoredDate::Contradicting), "{at}");
        response(&mut known, at + 500_000 + at % 370_000, 0).unwrap();
    }
    let (error, uncertainty) = error(&known, 405 * SECOND);
    assert!(error.abs() <= uncertainty && uncertainty < 300_000, "{error} {uncertainty}");
}

#[test]
fn a_clock_that_was_set_is_followed_after_three_responses_over_two_seconds() {
    for step in [-600 * SECOND, 3 * SECOND, 3600 * SECOND] {
        let mut known = requested(0, 100 * SECOND);
        let at = |number: i64| 110 * SECOND + number * 700_000;
        for number in 0..3 {
            assert_eq!(
                response(&mut known, at(number), step),
                Err(IgnoredDate::Contradicting),
                "{step} {number}"
            );
            assert!(error(&known, at(number)).0.abs() < SECOND, "the old clock counts until then");
        }
        response(&mut known, at(3), step).unwrap();
        let (error, uncertainty) = error(&known, at(3));
        assert!(
            (error - step).abs() <= uncertainty && uncertainty <= 510_000,
            "{step} {error} {uncertainty}"
        );
    }
}

#[test]
fn servers_whose_clocks_differ_are_both_within_the_uncertainty() {
    let mut known = requested(0, 100 * SECOND);
    for number in 0..300 {
        let at = 110 * SECOND + number * 1_130_000;
        let _ = response(&mut known, at, if number % 2 == 0 { 0 } else { 7 * SECOND });
        if number >= 6 {
            let (error, uncertainty) = error(&known, at);
            assert!(
                (0 - error).abs() <= uncertainty && (7 * SECOND - error).abs() <= uncertainty,
                "{number}"
            );
            assert!(uncertainty < 5 * SECOND, "{uncertainty}");
        }
    }
    // The other server is gone: after half of the window or two, nothing is left of its clock.
    for number in 0..400 {
        response(&mut known, 460 * SECOND + number * 1_130_000, 0).unwrap();
    }
    assert!(error(&known, 912 * SECOND).1 < SECOND / 2);
}

#[test]
fn long_silence_makes_the_estimate_less_certain_and_the_next_response_more() {
    let mut known = requested(0, 100 * SECOND);
    let hours = 10 * 3600 * SECOND;
    assert!(error(&known, hours).1 > 17 * SECOND, "half a thousandth of the time");
    response(&mut known, hours, 5 * SECOND).unwrap();
    let (error, uncertainty) = error(&known, hours);
    assert!((error - 5 * SECOND).abs() <= uncertainty && uncertainty < SECOND, "{error} {uncertainty}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// For any transit times, any drift, and any single dates that contradict the others: the true time is within the
    /// bounds; or no farther from them than slow responses leave open, if they do not contradict.
    #[test]
    fn the_true_time_is_within_the_bounds(
        rate in -400_i64..400,
        responses in proptest::collection::vec(
            (1_i64..20 * SECOND, 0_i64..6 * SECOND, 0_i64..6 * SECOND, proptest::option::weighted(0.1, -4000_i64..4000)),
            3..200,
        ),
    ) {
        let mut known = ServerTime::default();
        let mut at = 0;
        let truth = |at: i64| BASE + at + at / SECOND * rate;
        let (mut lies, mut lied, mut slowest, mut slack) = (0, false, 0, 1000);
        for (pause, way, back, lie) in responses {
            at += pause;
            // Wrong dates that agree with each other for long enough are accepted, as they must be.
            let lie = lie.filter(|_| lies < 2).inspect(|_| lies += 1).unwrap_or(0) * SECOND;
            slowest = slowest.max(way + back);
            if lie != 0 && lie.abs() <= 2 * (TRANSIT_MAX.as_micros() + SECOND) {
                lied = true;
            }
            if lied {
                slack = slowest.min(TRANSIT_MAX.as_micros()) + SECOND;
            }
            let date = Wall::from_secs((truth(at) + lie).div_euclid(SECOND));
            let _ = known.observe(date, mono(at - way), mono(at + back));
            at += back;
            if let Some((wall, uncertainty)) = known.at(mono(at)) {
                let off = (wall.as_micros() - truth(at)).abs();
                prop_assert!(off <= uncertainty.as_micros() + slack, "{off} {uncertainty:?}");
            }
        }
    }
}
