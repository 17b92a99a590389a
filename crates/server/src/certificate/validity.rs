//! Parses the validity period and the common name of a certificate in DER.
//!
//! - Invariant: every length is checked.

use taintward_core::time::{Span, Wall};

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SET: u8 = 0x31;
const OBJECT_ID: u8 = 0x06;
const UTF8: u8 = 0x0c;
const PRINTABLE: u8 = 0x13;
/// 2.5.4.3
const COMMON_NAME: [u8; 3] = [0x55, 0x04, 0x03];

/// A validity period, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Validity {
    /// Not before.
    pub from: Wall,
    /// Not after.
    pub until: Wall,
}

impl Validity {
    /// Parses it from a certificate.
    pub fn of(certificate: &[u8]) -> Option<Self> {
        let (times, _) = times_and_subject(certificate)?;
        let (from, rest) = time(times)?;
        let (until, _) = time(rest)?;
        Some(Self { from, until })
    }

    /// Whether it is valid now.
    pub fn holds(self, now: Wall) -> bool {
        self.from <= now && now <= self.until
    }

    /// When two thirds of it are over: the time for a renewal.
    pub fn renewal(self) -> Wall {
        let lifetime = self.until.as_micros().saturating_sub(self.from.as_micros());
        self.from.plus(Span::from_micros(lifetime / 3 * 2))
    }
}

/// Returns the validity, and what follows it: the subject first.
fn times_and_subject(certificate: &[u8]) -> Option<(&[u8], &[u8])> {
    let (whole, _) = take(certificate, SEQUENCE)?;
    let (mut signed, _) = take(whole, SEQUENCE)?;
    if let Some((_, rest)) = take(signed, VERSION) {
        signed = rest;
    }
    // Serial number, algorithm, issuer.
    for tag in [INTEGER, SEQUENCE, SEQUENCE] {
        signed = take(signed, tag)?.1;
    }
    take(signed, SEQUENCE)
}

/// The subject's common name, the last if there are several, as in Go; in the two encodings in use.
pub(super) fn common_name(certificate: &[u8]) -> Option<String> {
    let (_, rest) = times_and_subject(certificate)?;
    let (mut names, _) = take(rest, SEQUENCE)?;
    let mut found = None;
    while !names.is_empty() {
        let (mut set, rest) = take(names, SET)?;
        names = rest;
        while !set.is_empty() {
            let (one, rest) = take(set, SEQUENCE)?;
            set = rest;
            let (kind, text) = take(one, OBJECT_ID)?;
            if kind == COMMON_NAME {
                let (text, _) = take(text, UTF8).or_else(|| take(text, PRINTABLE))?;
                found = Some(std::str::from_utf8(text).ok()?.to_owned());
            }
        }
    }
    found
}

/// One element with this tag: its content, and what follows it.
fn take(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&[found, length], rest) = bytes.split_first_chunk::<2>()?;
    if found != tag {
        return None;
    }
    if length < 0x80 {
        return rest.split_at_checked(length.into());
    }
    let count = usize::from(length & 0x7f);
    // Four bytes of length are more than any certificate needs.
    if count == 0 || count > 4 {
        return None;
    }
    let (digits, rest) = rest.split_at_checked(count)?;
    let length =
        digits.iter().try_fold(0_usize, |sum, digit| sum.checked_mul(256)?.checked_add((*digit).into()))?;
    rest.split_at_checked(length)
}

/// `YYMMDDHHMMSSZ` or `YYYYMMDDHHMMSSZ`, the only valid forms in a certificate.
fn time(bytes: &[u8]) -> Option<(Wall, &[u8])> {
    let (text, rest, year_digits) = match (take(bytes, UTC_TIME), take(bytes, GENERALIZED_TIME)) {
        (Some((text, rest)), _) => (text, rest, 2),
        (_, Some((text, rest))) => (text, rest, 4),
        _ => return None,
    };
    let digits = text.strip_suffix(b"Z")?;
    let (year, fields) = digits.split_at_checked(year_digits)?;
    let year = match (number(year)?, year_digits) {
        (year, 2) if year < 50 => year + 2000,
        (year, 2) => year + 1900,
        (year, _) => year,
    };
    let fields: Vec<i64> = fields.chunks(2).map(number).collect::<Option<_>>()?;
    let [month, day, hour, minute, second] = fields[..] else { return None };
    let plausible =
        (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second < 61;
    plausible.then(|| {
        let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
        (Wall::from_secs(seconds), rest)
    })
}

fn number(digits: &[u8]) -> Option<i64> {
    std::str::from_utf8(digits)
        .ok()
        .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?
        .parse()
        .ok()
}

/// Days from 1970 to a date. Years are counted from March, so that the leap day is the last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let months = (month + 9) % 12;
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leaps + (months * 153 + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(days(1970, 1, 1), 0);
        assert_eq!(days(1969, 12, 31), -1);
        assert_eq!(days(2000, 3, 1), 11_017);
        assert_eq!(days(2024, 2, 29) + 1, days(2024, 3, 1));
        assert_eq!(days(2100, 2, 28) + 1, days(2100, 3, 1));
    }

    #[test]
    fn both_forms_of_a_time_are_parsed() {
        let utc = [&[UTC_TIME, 13][..], b"491231235959Z"].concat();
        assert_eq!(time(&utc), Some((Wall::from_secs(2_524_607_999), &[][..])));
        let utc = [&[UTC_TIME, 13][..], b"700101000000Z"].concat();
        assert_eq!(time(&utc), Some((Wall::from_secs(0), &[][..])));
        let general = [&[GENERALIZED_TIME, 15][..], b"20500101000000Z"].concat();
        assert_eq!(time(&general), Some((Wall::from_secs(2_524_608_000), &[][..])));
        for bad in ["490001000000Z", "4912312359Z", "49123123595x", "+91231235959Z", "491231235959+"] {
            let length = u8::try_from(bad.len()).unwrap();
            assert_eq!(time(&[&[UTC_TIME, length][..], bad.as_bytes()].concat()), None, "{bad}");
        }
    }

    #[test]
    fn a_generated_certificate_has_its_validity_and_pieces_of_it_have_none() {
        let mut wanted = rcgen::CertificateParams::new(vec!["a.test".to_owned()]).unwrap();
        wanted.not_before = rcgen::date_time_ymd(2026, 3, 1);
        wanted.not_after = rcgen::date_time_ymd(2056, 2, 29);
        let made = wanted.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap();
        let der = made.der();
        let validity = Validity::of(der).unwrap();
        let expected = Validity {
            from: Wall::from_secs(days(2026, 3, 1) * 86_400),
            until: Wall::from_secs(days(2056, 2, 29) * 86_400),
        };
        assert_eq!(validity, expected);
        assert!(validity.holds(validity.from) && validity.holds(validity.until));
        assert!(!validity.holds(validity.until.plus(Span::from_secs(1))));
        assert!(validity.renewal() > validity.from && validity.renewal() < validity.until);
        for end in 0..der.len() {
            assert_eq!(Validity::of(&der[..end]), None, "{end} bytes are not a certificate");
        }
    }
}
