//! Formats and parses times as the Kubernetes API does: metav1.Time and metav1.MicroTime.

mod parse;

pub(crate) use parse::{
    InvalidTime, from_http as http_date, from_parts as time_from_parts, from_text as time_from_text,
};

use jiff::Timestamp;
use taintward_core::time::Wall;

/// The earliest moment with a year in the API's text form; the latest is where the time library ends, in 9999.
const YEAR_1: i64 = -62_135_596_800_000_000;

fn timestamp(when: Wall) -> Timestamp {
    Timestamp::from_microsecond(when.as_micros().max(YEAR_1)).unwrap_or(Timestamp::MAX)
}

/// metav1.Time: truncated to whole seconds.
pub(crate) fn second_time(when: Wall) -> String {
    let whole = Wall::from_secs(when.as_micros().div_euclid(1_000_000));
    format!("{:.0}", timestamp(whole))
}

/// metav1.MicroTime: six decimals.
pub(crate) fn micro_time(when: Wall) -> String {
    format!("{:.6}", timestamp(when))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_forms_of_the_api() {
        for (micros, second, micro) in [
            (1_800_000_000_123_456, "2027-01-15T08:00:00Z", "2027-01-15T08:00:00.123456Z"),
            (1_800_000_000_000_000, "2027-01-15T08:00:00Z", "2027-01-15T08:00:00.000000Z"),
            (-1, "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.999999Z"),
            (i64::MAX, "9999-12-30T22:00:00Z", "9999-12-30T22:00:00.999999Z"),
            (i64::MIN, "0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000Z"),
        ] {
            assert_eq!(second_time(Wall::from_micros(micros)), second);
            assert_eq!(micro_time(Wall::from_micros(micros)), micro);
        }
    }
}
