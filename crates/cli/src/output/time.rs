//! Formats times for people: local time with distance, ages as kubectl prints them.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use taintward_core::time::{Span, Wall};

/// `14:03:11, in 4m12s`, or `14:03:11, 4m12s ago`; with the date if it is not today's.
pub(crate) fn when(now: Wall, at: Wall, zone: &TimeZone) -> String {
    let far = at.as_micros().saturating_sub(now.as_micros());
    let length = age(Span::from_micros(far.saturating_abs()));
    let distance = match far / 1_000_000 {
        0 => "now".to_owned(),
        1.. => format!("in {length}"),
        _ => format!("{length} ago"),
    };
    local(now, at, zone).map_or_else(|| distance.clone(), |at| format!("{at}, {distance}"))
}

/// `14:03:11, for 3h12m`, of what lasts since a time; with the date if it is not today's.
pub(crate) fn lasting(now: Wall, since: Wall, zone: &TimeZone) -> String {
    let length = age(Span::from_micros(now.as_micros().saturating_sub(since.as_micros())));
    local(now, since, zone).map_or_else(|| format!("for {length}"), |since| format!("{since}, for {length}"))
}

/// `14:03:11`, or with the date if it is not that of `now`.
pub(crate) fn clock(now: Wall, at: Wall, zone: &TimeZone) -> String {
    local(now, at, zone).unwrap_or_else(|| "a time outside the supported dates".to_owned())
}

/// `14:03:11`, or with the date if it is not today's; `None`: it is later than the latest supported date.
fn local(now: Wall, at: Wall, zone: &TimeZone) -> Option<String> {
    let zoned =
        |wall: Wall| Timestamp::from_microsecond(wall.as_micros()).ok().map(|at| at.to_zoned(zone.clone()));
    let at = zoned(at)?;
    let is_today = zoned(now).is_some_and(|now| now.date() == at.date());
    Some(at.strftime(if is_today { "%H:%M:%S" } else { "%Y-%m-%d %H:%M:%S" }).to_string())
}

/// The time of a result, with the zone of all its times: `2026-11-21 15:00:00 CET`.
pub(crate) fn dated(at: Wall, zone: &TimeZone) -> String {
    let local = Timestamp::from_microsecond(at.as_micros()).map(|at| at.to_zoned(zone.clone()));
    local.map_or_else(
        |_| "a time outside the supported dates".to_owned(),
        |at| at.strftime("%Y-%m-%d %H:%M:%S %Z").to_string(),
    )
}

/// The time zone at this time: `UTC`, `CET`.
pub(crate) fn zone_name(at: Wall, zone: &TimeZone) -> String {
    let local = Timestamp::from_microsecond(at.as_micros()).map(|at| at.to_zoned(zone.clone()));
    local.map_or_else(|_| "UTC".to_owned(), |at| at.strftime("%Z").to_string())
}

/// `4m12s`, `3h10m`, `5d`: as kubectl prints ages. A negative age is zero.
pub(crate) fn age(span: Span) -> String {
    let seconds = (span.as_micros() / 1_000_000).max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    let two = |large: i64, unit: &str, small: i64, lesser: &str| match small {
        0 => format!("{large}{unit}"),
        small => format!("{large}{unit}{small}{lesser}"),
    };
    match () {
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => two(minutes, "m", seconds % 60, "s"),
        () if hours < 3 => format!("{minutes}m"),
        () if hours < 8 => two(hours, "h", minutes % 60, "m"),
        () if hours < 48 => format!("{hours}h"),
        () if days < 8 => two(days, "d", hours % 24, "h"),
        () if days < 730 => format!("{days}d"),
        () if days < 2_920 => two(days / 365, "y", days % 365, "d"),
        () => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_kubectls() {
        let cases = [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (252, "4m12s"),
            (599, "9m59s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (11_400, "3h10m"),
            (28_799, "7h59m"),
            (28_800, "8h"),
            (172_799, "47h"),
            (172_800, "2d"),
            (180_000, "2d2h"),
            (691_199, "7d23h"),
            (691_200, "8d"),
            (63_071_999, "729d"),
            (63_072_000, "2y"),
            (63_158_400, "2y1d"),
            (252_288_000, "8y"),
            (-5, "0s"),
        ];
        for (seconds, words) in cases {
            assert_eq!(age(Span::from_secs(seconds)), words, "{seconds}");
        }
    }

    #[test]
    fn the_zone_is_named_with_the_moment() {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let (winter, summer) = (Wall::from_secs(1_795_262_591), Wall::from_secs(1_780_000_000));
        assert_eq!(dated(winter, &zone), "2026-11-21 13:03:11 CET");
        assert_eq!((zone_name(winter, &zone), zone_name(summer, &zone)), ("CET".into(), "CEST".into()));
        assert_eq!(dated(winter, &TimeZone::UTC), "2026-11-21 12:03:11 UTC");
    }

    #[test]
    fn moments_are_local_and_relative() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        // 2026-11-21T12:03:11Z
        const NOW: i64 = 1_795_262_591;
        let now = Wall::from_secs(NOW);
        let at = |seconds| when(now, Wall::from_secs(NOW + seconds), &zone);
        assert_eq!(at(0), "14:03:11, now");
        assert_eq!(at(252), "14:07:23, in 4m12s");
        assert_eq!(at(-252), "13:58:59, 4m12s ago");
        assert_eq!(at(10 * 3_600), "2026-11-22 00:03:11, in 10h");
        assert_eq!(at(-15 * 3_600), "2026-11-20 23:03:11, 15h ago");
        assert!(
            when(now, Wall::from_micros(i64::MAX), &zone).starts_with("in 2"),
            "later than the latest supported date"
        );
    }
}
