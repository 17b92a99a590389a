//! Defines time as an input: [`Mono`] for waiting, [`Wall`] for times of the API, [`Span`] for durations.
//!
//! - Arithmetic saturates; there is one conversion from wall time to monotonic time.

/// Microseconds in a second.
const MICROS: i64 = 1_000_000;

/// A duration, never negative, in microseconds; saturates instead of wrapping (D7, TE-20).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Span(i64);

impl Span {
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// A span of `micros` microseconds; negative becomes zero.
    pub const fn from_micros(micros: i64) -> Self {
        Self(if micros < 0 { 0 } else { micros })
    }

    /// A span of `millis` milliseconds; negative becomes zero.
    pub const fn from_millis(millis: i64) -> Self {
        Self::from_micros(millis.saturating_mul(1000))
    }

    /// A span of `seconds` seconds; negative becomes zero, too long becomes the maximum.
    pub const fn from_secs(seconds: i64) -> Self {
        Self::from_micros(seconds.saturating_mul(MICROS))
    }

    /// The length in microseconds.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// The length in seconds, for metrics and messages.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / MICROS as f64
    }

    /// The sum, at most the longest span.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// A moment on a clock that never steps: microseconds since an origin of the caller's choice.
///
/// May be negative: a taint can be older than the process that reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Mono(i64);

impl Mono {
    /// The moment that never comes: the result of a saturated deadline.
    pub const NEVER: Self = Self(i64::MAX);

    /// A moment `micros` microseconds after the origin.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// A moment `seconds` seconds after the origin.
    pub const fn from_secs(seconds: i64) -> Self {
        Self(seconds.saturating_mul(MICROS))
    }

    /// Microseconds since the origin.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// This moment plus a span; saturates at [`Mono::NEVER`] (D7).
    #[must_use]
    pub const fn plus(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// This moment minus a span; saturates at the earliest moment.
    #[must_use]
    pub const fn minus(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }

    /// How long it is since `earlier`; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Span {
        Span::from_micros(self.0.saturating_sub(earlier.0))
    }
}

/// A moment as in the API: microseconds since 1970-01-01T00:00:00Z. Years 1 to 9999 fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Wall(i64);

impl Wall {
    /// A moment `micros` microseconds after the epoch.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// A moment `seconds` seconds after the epoch; saturates.
    pub const fn from_secs(seconds: i64) -> Self {
        Self(seconds.saturating_mul(MICROS))
    }

    /// Microseconds since the epoch.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// This moment plus a span; saturates.
    #[must_use]
    pub const fn plus(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

/// One reading of both clocks, taken together by the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Now {
    /// The clock for waiting.
    pub mono: Mono,
    /// The API server's clock, as far as the caller knows: the server wrote the times that are compared with it.
    pub wall: Wall,
    /// How far `wall` may be from the clocks that wrote those times, either way; `None`: unknown.
    pub skew_max: Option<Span>,
}

impl Now {
    /// A reading of clocks with a maximum skew.
    pub const fn new(mono: Mono, wall: Wall, skew_max: Option<Span>) -> Self {
        Self { mono, wall, skew_max }
    }

    /// A reading in a world with a single wall clock: virtual time, a snapshot.
    pub const fn exact(mono: Mono, wall: Wall) -> Self {
        Self::new(mono, wall, Some(Span::ZERO))
    }

    /// A moment at which both clocks show this time, for what is computed from the times of objects alone.
    pub const fn of_wall(wall: Wall) -> Self {
        Self::exact(Mono::from_micros(wall.as_micros()), wall)
    }

    /// The latest moment at which a clock that wrote `wall` can have shown it; `None` if nothing is known about that
    /// clock.
    pub const fn latest_mono_of(self, wall: Wall) -> Option<Mono> {
        match self.skew_max {
            Some(skew_max) => Some(self.mono_of(wall).plus(skew_max)),
            None => None,
        }
    }

    /// The earliest such moment.
    pub const fn earliest_mono_of(self, wall: Wall) -> Option<Mono> {
        match self.skew_max {
            Some(skew_max) => Some(self.mono_of(wall).minus(skew_max)),
            None => None,
        }
    }

    /// Converts a wall-clock moment to the monotonic clock, by this reading; saturates. The result may be in the
    /// future: the caller clamps it.
    pub const fn mono_of(self, wall: Wall) -> Mono {
        Mono(self.mono.0.saturating_add(wall.0.saturating_sub(self.wall.0)))
    }

    /// Converts a monotonic moment to the wall clock, by this reading; saturates.
    pub const fn wall_of(self, mono: Mono) -> Wall {
        Wall(self.wall.0.saturating_add(mono.0.saturating_sub(self.mono.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const YEAR_1: Wall = Wall::from_secs(-62_135_596_800);
    const YEAR_9999: Wall = Wall::from_secs(253_402_300_799);

    #[test]
    fn spans_saturate_where_upstream_wraps() {
        // TE-20: 18446744074 s becomes 0.29 s upstream, 9223372037 s becomes negative.
        for seconds in [9_223_372_036, 9_223_372_037, 18_446_744_073, 18_446_744_074] {
            assert_eq!(Span::from_secs(seconds).as_micros(), seconds * MICROS);
        }
        assert_eq!(Span::from_secs(i64::MAX).as_micros(), i64::MAX);
        assert_eq!(Span::from_secs(i64::MIN), Span::ZERO);
        assert_eq!(Mono::from_secs(5).plus(Span::from_secs(i64::MAX)), Mono::NEVER);
    }

    #[test]
    fn absurd_years_convert_without_wrapping() {
        let now = Now::exact(Mono::from_secs(10), Wall::from_secs(1_800_000_000));
        assert!(now.mono_of(YEAR_1) < Mono::from_secs(-60_000_000_000));
        assert!(now.mono_of(YEAR_9999) > Mono::from_secs(250_000_000_000));
        assert_eq!(now.wall_of(now.mono_of(YEAR_9999)), YEAR_9999);
        assert_eq!(
            now.mono_of(Wall::from_micros(i64::MIN)),
            Mono::from_micros(i64::MIN).plus(now.mono.since(Mono::from_micros(0)))
        );
    }

    #[test]
    fn a_moment_lies_between_its_earliest_and_its_latest() {
        let (mono, wall) = (Mono::from_secs(10), Wall::from_secs(1_800_000_000));
        let of = |skew_max, written| {
            let now = Now::new(mono, wall, skew_max);
            (now.earliest_mono_of(written), now.latest_mono_of(written))
        };
        let written = Wall::from_secs(1_799_999_997);
        assert_eq!(of(Some(Span::ZERO), written), (Some(Mono::from_secs(7)), Some(Mono::from_secs(7))));
        assert_eq!(
            of(Some(Span::from_secs(2)), written),
            (Some(Mono::from_secs(5)), Some(Mono::from_secs(9)))
        );
        assert_eq!(of(None, written), (None, None));
        assert_eq!(of(Some(Span::from_secs(i64::MAX)), YEAR_9999).1, Some(Mono::NEVER));
    }

    #[test]
    fn elapsed_is_never_negative() {
        assert_eq!(Mono::from_secs(1).since(Mono::from_secs(2)), Span::ZERO);
        assert_eq!(Mono::NEVER.since(Mono::from_micros(i64::MIN)), Span::from_micros(i64::MAX));
    }
}
