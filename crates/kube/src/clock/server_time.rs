//! Estimates the time of the API server's clock from the dates of its responses, with its uncertainty.
//!
//! - Invariant: while clocks drift apart by less than [`DRIFT`], the true time is within the bounds, however slow the
//!   link is. One or two wrong dates change nothing if they contradict the others, and otherwise shift the estimate by a
//!   second more than a response takes.

use taintward_core::time::{Mono, Span, Wall};

/// A date has whole seconds: the clock showed up to this much more.
const DATE_STEP: i64 = 1_000_000;

/// How fast two clocks drift apart, in millionths: the maximum rate at which a clock is slewed.
const DRIFT: i64 = 500;

/// Dates are kept for one to two of these intervals.
const HALF: Span = Span::from_secs(150);

/// This many responses that agree are accepted; if they contradict what is known, only if [`ENOUGH_OVER`] lies between
/// them: a date that a cache repeats does not agree with itself for so long.
const ENOUGH: u32 = 3;
const ENOUGH_OVER: Span = Span::from_secs(2);

/// The maximum number of clocks that are distinguished.
const CLOCKS_MAX: usize = 6;

/// A response that took longer proves too little: it agrees with almost any clock. Behind a link where every response
/// takes seconds, bounds that are seconds apart are far better than none: a process without them counts the taints of its
/// first list from that list.
const TRANSIT_MAX: Span = Span::from_secs(10);

/// How far apart the bounds by one date are at most, before clocks drift, if its response took this long.
pub(super) const fn width_max(transit: Span) -> Span {
    Span::from_micros(DATE_STEP).saturating_add(transit)
}

/// Dates outside of the years 2020 to 2099 are ignored.
const PLAUSIBLE: std::ops::Range<Wall> = Wall::from_secs(1_577_836_800)..Wall::from_secs(4_102_444_800);

/// Why a response proves nothing about the server's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IgnoredDate {
    /// It has no `Date`.
    Missing,
    /// Its `Date` does not have the form of HTTP, or there are several.
    Unreadable,
    /// It has an `Age`: it comes from a cache.
    Cached,
    /// It took more than ten seconds: it is hardly known when its `Date` was written.
    Slow,
    /// Its `Date` is decades off.
    Implausible,
    /// It contradicts many others; it is accepted once more responses agree with it.
    Contradicting,
}

/// The bounds by which the server's clock may be ahead of the monotonic clock, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OffsetBounds {
    low: i64,
    high: i64,
}

impl OffsetBounds {
    fn of(date: Wall, sent: Mono, received: Mono) -> Self {
        let date = date.as_micros();
        Self { low: date - received.as_micros(), high: date + DATE_STEP - sent.as_micros() }
    }

    fn meets(self, other: Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }

    fn and(self, other: Self) -> Self {
        Self { low: self.low.max(other.low), high: self.high.min(other.high) }
    }

    fn or(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// The same after clocks have drifted for this long. If drift made the bounds cross, they are swapped.
    fn widened(self, over: Span) -> Self {
        let slack = over.as_micros() / 1_000_000 * DRIFT;
        Self { low: self.low.min(self.high) - slack, high: self.high.max(self.low) + slack }
    }
}

/// The bounds that dates since then allow.
#[derive(Clone, Copy, Debug)]
struct KeptBounds {
    bounds: OffsetBounds,
    since: Mono,
}

/// One clock: dates that agree with each other.
#[derive(Clone, Copy, Debug)]
struct ObservedClock {
    newer: KeptBounds,
    older: Option<KeptBounds>,
    first: Mono,
    last: Mono,
    count: u32,
    believed: bool,
}

impl ObservedClock {
    const fn new(bounds: OffsetBounds, now: Mono) -> Self {
        let newer = KeptBounds { bounds, since: now };
        Self { newer, older: None, first: now, last: now, count: 0, believed: false }
    }

    fn bounds(&self, now: Mono) -> OffsetBounds {
        let (newer, older) = (self.newer, self.older.unwrap_or(self.newer));
        older.bounds.and(newer.bounds).widened(now.since(older.since))
    }

    fn observe(&mut self, bounds: OffsetBounds, now: Mono) {
        if now < self.newer.since.plus(HALF) {
            self.newer.bounds = self.newer.bounds.and(bounds);
        } else {
            self.older = Some(self.newer).filter(|kept| now < kept.since.plus(HALF).plus(HALF));
            self.newer = KeptBounds { bounds, since: now };
        }
        self.last = now;
        self.count = self.count.saturating_add(1);
    }
}

/// What is known about the server's clock, or of several, if the servers behind one address differ by more than dates
/// can hide.
#[derive(Clone, Debug, Default)]
pub(super) struct ServerTime {
    clocks: Vec<ObservedClock>,
}

impl ServerTime {
    /// Returns the time of the server's clock, and its maximum error either way; `None` until enough dates agree.
    pub(super) fn at(&self, now: Mono) -> Option<(Wall, Span)> {
        let believed = self.clocks.iter().filter(|clock| clock.believed);
        let OffsetBounds { low, high } = believed.map(|clock| clock.bounds(now)).reduce(OffsetBounds::or)?;
        let half = (high - low + 1) / 2;
        let wall = Wall::from_micros(now.as_micros().saturating_add(low + half));
        Some((wall, Span::from_micros(half)))
    }

    /// Applies a date.
    pub(super) fn observe(&mut self, date: Wall, sent: Mono, received: Mono) -> Result<(), IgnoredDate> {
        if !PLAUSIBLE.contains(&date) {
            return Err(IgnoredDate::Implausible);
        }
        if received > sent.plus(TRANSIT_MAX) {
            return Err(IgnoredDate::Slow);
        }
        let (bounds, now) = (OffsetBounds::of(date, sent, received), received);
        self.forget(now);
        let known = self.clocks.iter().any(|clock| clock.believed);
        let at = self.clock_of(bounds, now);
        let clock = &mut self.clocks[at];
        clock.observe(bounds, now);
        let ObservedClock { believed, count, first, .. } = *clock;
        if believed {
            return Ok(());
        }
        if count < ENOUGH || (known && now.since(first) < ENOUGH_OVER) {
            return if known { Err(IgnoredDate::Contradicting) } else { Ok(()) };
        }
        clock.believed = true;
        // A clock without dates since then is over: it was set. Otherwise there are two clocks.
        self.clocks.retain(|clock| !clock.believed || clock.last >= first);
        Ok(())
    }

    /// Forgets clocks without recent dates, but not the last accepted one.
    fn forget(&mut self, now: Mono) {
        let latest = self.clocks.iter().filter(|clock| clock.believed).map(|clock| clock.last).max();
        self.clocks.retain(|clock| {
            now < clock.last.plus(HALF).plus(HALF) || (clock.believed && Some(clock.last) == latest)
        });
    }

    /// Returns the index of the clock that the date agrees with: of an accepted one, if possible.
    fn clock_of(&mut self, bounds: OffsetBounds, now: Mono) -> usize {
        let agrees = |clock: &ObservedClock| clock.bounds(now).meets(bounds);
        let believed = self.clocks.iter().position(|clock| clock.believed && agrees(clock));
        if let Some(at) = believed.or_else(|| self.clocks.iter().position(agrees)) {
            return at;
        }
        if self.clocks.len() >= CLOCKS_MAX {
            let oldest = self.clocks.iter().enumerate().min_by_key(|(_, clock)| (clock.believed, clock.last));
            let oldest = oldest.map_or(0, |(at, _)| at);
            self.clocks.remove(oldest);
        }
        self.clocks.push(ObservedClock::new(bounds, now));
        self.clocks.len() - 1
    }
}

#[cfg(test)]
mod tests;
