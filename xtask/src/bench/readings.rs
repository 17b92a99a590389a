//! Collects readings of one quantity, and returns their percentiles.

use crate::contender::Contender;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// A reading is stored as a multiple of a billionth of its unit: of a nanosecond if that is the second.
const SCALE: f64 = 1e9;

/// The significant digits that are kept.
const DIGITS: u8 = 3;

/// Readings of one quantity, which is never negative.
pub(crate) struct Readings(Histogram<u64>);

impl Default for Readings {
    fn default() -> Self {
        Self(Histogram::new(DIGITS).expect("three digits are supported"))
    }
}

impl Readings {
    pub(crate) fn add(&mut self, reading: f64) {
        self.0 += (reading * SCALE) as u64;
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.len()
    }

    /// The reading below which this share of all readings lies; not a number if there are none.
    pub(crate) fn at(&self, share: f64) -> f64 {
        if self.0.is_empty() { f64::NAN } else { self.0.value_at_quantile(share) as f64 / SCALE }
    }

    pub(crate) fn median(&self) -> f64 {
        self.at(0.5)
    }
}

impl FromIterator<f64> for Readings {
    fn from_iter<I: IntoIterator<Item = f64>>(readings: I) -> Self {
        let mut all = Self::default();
        readings.into_iter().for_each(|reading| all.add(reading));
        all
    }
}

/// The readings of each row of a table for each contender.
pub(crate) struct Results<R>(BTreeMap<(R, Contender), Readings>);

impl<R> Default for Results<R> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<R: Copy + Ord> Results<R> {
    pub(crate) fn add(&mut self, row: R, who: Contender, reading: f64) {
        self.0.entry((row, who)).or_default().add(reading);
    }

    /// The median of a row; not a number if there are no readings.
    pub(crate) fn median(&self, row: R, who: Contender) -> f64 {
        self.0.get(&(row, who)).map_or(f64::NAN, Readings::median)
    }

    pub(crate) fn max(&self, row: R, who: Contender) -> f64 {
        self.0.get(&(row, who)).map_or(f64::NAN, |readings| readings.at(1.0))
    }
}
