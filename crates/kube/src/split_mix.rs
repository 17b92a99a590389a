//! Generates random numbers that spread retries; equal seeds give equal numbers.

use std::time::Duration;

/// The generator.
#[derive(Clone, Debug)]
pub(crate) struct SplitMix64(pub(crate) u64);

impl SplitMix64 {
    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A duration of at most `most`.
    pub(crate) fn up_to(&mut self, most: Duration) -> Duration {
        most.mul_f64((self.next() >> 11) as f64 / (1_u64 << 53) as f64)
    }
}
