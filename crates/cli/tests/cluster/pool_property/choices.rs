//! Makes random choices from a seed.

use proptest::prelude::RngExt as _;
use proptest::test_runner::{RngAlgorithm, TestRng};

pub(crate) struct PoolChoices(TestRng);

impl PoolChoices {
    pub(crate) fn of(seed: u64) -> Self {
        // This algorithm accepts any seed but zeros.
        let bytes = [seed.to_le_bytes(), (!seed).to_le_bytes()].concat();
        Self(TestRng::from_seed(RngAlgorithm::XorShift, &bytes))
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0.random_range(0..end)
    }

    /// Returns true with this probability.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }
}
