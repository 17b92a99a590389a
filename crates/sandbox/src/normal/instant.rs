//! # Instant: RFC 3339 as Go reads and writes it
//! Room:     times of the API between text and seconds.
//! Comes in: text.
//! Goes out: [`Instant`]; its text in UTC; Go's words for what is no time.
//! Not here: clocks.

use super::Fault;

const DAY: i64 = 86_400;
const LAYOUT: &str = "2006-01-02T15:04:05Z07:00";
const LAYOUT_MICRO: &str = "2006-01-02T15:04:05.000000Z07:00";

/// A point in time as protobuf has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instant {
    /// Since 1970.
    pub(crate) seconds: i64,
    /// Below a billion.
    pub(crate) nanos: u32,
}

impl Instant {
    /// A text with seconds; a fraction is read and kept.
    pub(crate) fn parse(text: &str) -> Result<Self, Fault> {
        Parser { whole: text, layout: LAYOUT, rest: text }.instant(false)
    }

    /// A text with exactly six digits of a fraction.
    pub(crate) fn parse_micro(text: &str) -> Result<Self, Fault> {
        Parser { whole: text, layout: LAYOUT_MICRO, rest: text }.instant(true)
    }

    /// Go's time that was never set: the beginning of the year 1.
    pub(crate) fn is_zero(self) -> bool {
        self.seconds == days(1, 1, 1) * DAY && self.nanos == 0
    }

    /// In UTC, with microseconds or without a fraction; `None` outside of the years 0 to 9999.
    pub(crate) fn text(self, micro: bool) -> Option<String> {
        if !(days(0, 1, 1) * DAY..days(10_000, 1, 1) * DAY).contains(&self.seconds) {
            return None;
        }
        let (year, month, day) = date(self.seconds.div_euclid(DAY));
        let within = self.seconds.rem_euclid(DAY);
        let (hour, minute, second) = (within / 3600, within / 60 % 60, within % 60);
        let fraction = if micro { format!(".{:06}", self.nanos / 1000) } else { String::new() };
        Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z"))
    }
}

/// Days from 1970 to a day of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March here, so that the leap day is their last.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The opposite of [`days`].
fn date(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// What is left of a text.
struct Parser<'a> {
    whole: &'a str,
    layout: &'static str,
    rest: &'a str,
}

impl Parser<'_> {
    fn instant(mut self, micro: bool) -> Result<Instant, Fault> {
        let year = self.digits(4, "2006")?;
        self.literal("-")?;
        let month = self.ranged("01", "month", 1..=12)?;
        self.literal("-")?;
        let day = self.digits(2, "02")?;
        self.literal("T")?;
        let hour = self.hour()?;
        self.literal(":")?;
        let minute = self.ranged("04", "minute", 0..=59)?;
        self.literal(":")?;
        let second = self.ranged("05", "second", 0..=59)?;
        let nanos = if micro { self.six()? } else { self.fraction() };
        let offset = self.zone()?;
        if !self.rest.is_empty() {
            return Err(self.says(&format!("extra text: {:?}", self.rest)));
        }
        let (next_year, next_month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
        if day < 1 || day > days(next_year, next_month, 1) - days(year, month, 1) {
            return Err(self.says("day out of range"));
        }
        let seconds = days(year, month, day) * DAY + hour * 3600 + minute * 60 + second - offset;
        Ok(Instant { seconds, nanos })
    }

    fn literal(&mut self, expected: &str) -> Result<(), Fault> {
        self.rest = self.rest.strip_prefix(expected).ok_or_else(|| self.bad(expected))?;
        Ok(())
    }

    /// Exactly so many digits.
    fn digits(&mut self, count: usize, element: &str) -> Result<i64, Fault> {
        match self.rest.split_at_checked(count) {
            Some((digits, rest)) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.rest = rest;
                Ok(digits.parse().unwrap_or_default())
            }
            _ => Err(self.bad(element)),
        }
    }

    fn ranged(
        &mut self,
        element: &str,
        named: &str,
        range: std::ops::RangeInclusive<i64>,
    ) -> Result<i64, Fault> {
        let value = self.digits(2, element)?;
        if range.contains(&value) { Ok(value) } else { Err(self.says(&format!("{named} out of range"))) }
    }

    /// Go takes an hour of one digit.
    fn hour(&mut self) -> Result<i64, Fault> {
        let digits = self.rest.bytes().take(2).take_while(u8::is_ascii_digit).count();
        match self.digits(digits.max(1), "15")? {
            hour @ 0..24 => Ok(hour),
            _ => Err(self.says("hour out of range")),
        }
    }

    fn six(&mut self) -> Result<u32, Fault> {
        let fraction = self.rest.split_at_checked(7).filter(|(fraction, _)| {
            fraction.starts_with(['.', ',']) && fraction[1..].bytes().all(|byte| byte.is_ascii_digit())
        });
        let (fraction, rest) = fraction.ok_or_else(|| self.bad(".000000"))?;
        self.rest = rest;
        Ok(fraction[1..].parse::<u32>().unwrap_or_default() * 1000)
    }

    /// A fraction of any length, if there is one.
    fn fraction(&mut self) -> u32 {
        let Some(digits) = self.rest.strip_prefix(['.', ',']) else { return 0 };
        let length = digits.bytes().take_while(u8::is_ascii_digit).count();
        if length == 0 {
            return 0;
        }
        self.rest = &digits[length..];
        let nanos = digits.bytes().take(length).chain(std::iter::repeat(b'0')).take(9);
        nanos.fold(0, |nanos, digit| nanos * 10 + u32::from(digit - b'0'))
    }

    /// Seconds east of Greenwich.
    fn zone(&mut self) -> Result<i64, Fault> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(0);
        }
        let number = |from: usize| {
            let digits = self.rest.get(from..from + 2)?;
            digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<i64>().ok()).flatten()
        };
        let sign = match self.rest.as_bytes() {
            [b'+', _, _, b':', ..] => 1,
            [b'-', _, _, b':', ..] => -1,
            _ => return Err(self.bad("Z07:00")),
        };
        let (Some(hours), Some(minutes)) = (number(1), number(4)) else { return Err(self.bad("Z07:00")) };
        if minutes > 60 {
            return Err(self.says("time zone offset minute out of range"));
        }
        if hours > 24 {
            return Err(self.says("time zone offset hour out of range"));
        }
        self.rest = &self.rest[6..];
        Ok(sign * (hours * 3600 + minutes * 60))
    }

    fn bad(&self, element: &str) -> Fault {
        let (whole, layout, rest) = (self.whole, self.layout, self.rest);
        Fault(format!("parsing time {whole:?} as {layout:?}: cannot parse {rest:?} as {element:?}"))
    }

    fn says(&self, what: &str) -> Fault {
        Fault(format!("parsing time {:?}: {what}", self.whole))
    }
}
