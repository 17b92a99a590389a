//! Limits the memory of incomplete bodies and unsent responses over all clients.
//!
//! - Invariant: never more than the limit, and no body waits: the oldest incomplete one is given up, so that slow
//!   clients cannot delay fast ones.

use crate::review::{KEPT_MAX, VALUES_MAX};
use crate::settings::ServerLimits;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The estimate for a body before any of it has arrived.
pub(crate) const FLOOR: usize = 4 << 10;

/// What hyper may read ahead; as much may wait to be written, and as much encrypted.
pub(crate) const BUFFER: usize = 16 << 10;

/// A connection: both of hyper's buffers, data waiting encrypted, decrypted data not read yet, an incomplete record,
/// and the state of all that.
const CONNECTION: usize = 5 * BUFFER + (8 << 10);

/// The memory for judging one review, of which there is one at a time: its values, each a few hundred bytes at most
/// with a growing list; its texts twice; and its response.
const JUDGING: usize = VALUES_MAX * 320 + 4 * KEPT_MAX;

/// The memory that `taintward install` gives the program, and the program's memory without requests (20 MB in a cluster
/// of 1000 nodes).
const CONTAINER: usize = 128 << 20;
const IDLE: usize = 24 << 20;

/// Asserts that clients cannot use more memory than the container has.
const _: () = {
    let ServerLimits { connections, bodies_bytes, responses_bytes, .. } = ServerLimits::STANDARD;
    assert!(IDLE + connections * CONNECTION + bodies_bytes + responses_bytes + JUDGING < CONTAINER);
};

/// The memory budget.
#[derive(Debug)]
pub(crate) struct BodyMemoryBudget {
    limit: usize,
    state: Mutex<BudgetState>,
}

#[derive(Debug, Default)]
struct BudgetState {
    used: usize,
    next: u64,
    /// In the order in which they began.
    bodies: BTreeMap<u64, TrackedBody>,
}

#[derive(Debug)]
struct TrackedBody {
    bytes: usize,
    /// It is complete, and stays.
    settled: bool,
    given_up: Arc<Notify>,
}

/// The memory of one body; released when dropped.
#[derive(Debug)]
pub(crate) struct BodyReservation {
    budget: Arc<BodyMemoryBudget>,
    number: u64,
    given_up: Arc<Notify>,
}

/// The body is given up: too many were incomplete, and it was the oldest.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BudgetExceeded;

impl BodyMemoryBudget {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, state: Mutex::default() }
    }

    /// Reserves memory for a new body.
    pub(crate) fn begin(self: &Arc<Self>) -> Result<BodyReservation, BudgetExceeded> {
        let given_up = Arc::new(Notify::new());
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        state
            .bodies
            .insert(number, TrackedBody { bytes: 0, settled: false, given_up: Arc::clone(&given_up) });
        drop(state);
        let share = BodyReservation { budget: Arc::clone(self), number, given_up };
        share.grow(FLOOR).map(|()| share)
    }

    fn lock(&self) -> MutexGuard<'_, BudgetState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(crate) fn used(&self) -> usize {
        self.lock().used
    }
}

impl BudgetState {
    fn remove(&mut self, number: u64) -> Option<TrackedBody> {
        let taken = self.bodies.remove(&number)?;
        self.used -= taken.bytes;
        Some(taken)
    }
}

impl BodyReservation {
    /// Reserves this many more bytes.
    ///
    /// # Errors
    /// If this body is the one that is given up.
    pub(crate) fn grow(&self, bytes: usize) -> Result<(), BudgetExceeded> {
        let mut state = self.budget.lock();
        while state.used.saturating_add(bytes) > self.budget.limit {
            let oldest = state.bodies.iter().find(|(_, taken)| !taken.settled).map(|(number, _)| *number);
            let Some(oldest) = oldest else { return Err(BudgetExceeded) };
            if let Some(taken) = state.remove(oldest) {
                taken.given_up.notify_one();
            }
        }
        let taken = state.bodies.get_mut(&self.number).ok_or(BudgetExceeded)?;
        taken.bytes += bytes;
        state.used += bytes;
        Ok(())
    }

    /// Reserves this many bytes in total.
    ///
    /// # Errors
    /// As [`BodyReservation::grow`].
    pub(crate) fn hold(&self, bytes: usize) -> Result<(), BudgetExceeded> {
        let has =
            self.budget.lock().bodies.get(&self.number).map(|taken| taken.bytes).ok_or(BudgetExceeded)?;
        if bytes > has { self.grow(bytes - has) } else { Ok(()) }
    }

    /// From now on no other body takes this memory.
    pub(crate) fn settle(&self) {
        if let Some(taken) = self.budget.lock().bodies.get_mut(&self.number) {
            taken.settled = true;
        }
    }

    /// Waits until this body is given up.
    pub(crate) async fn is_given_up(&self) {
        self.given_up.notified().await;
    }
}

impl Drop for BodyReservation {
    fn drop(&mut self) {
        self.budget.lock().remove(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_body_makes_room_for_a_new_one() {
        let budget = Arc::new(BodyMemoryBudget::new(4 * FLOOR));
        let [old, young] = [budget.begin().unwrap(), budget.begin().unwrap()];
        assert_eq!(old.grow(FLOOR), Ok(()));
        assert_eq!(budget.used(), 3 * FLOOR);
        assert_eq!(young.grow(2 * FLOOR), Ok(()), "the old one is given up for it");
        assert_eq!(budget.used(), 3 * FLOOR);
        assert_eq!(old.grow(1), Err(BudgetExceeded));
        drop(old);
        assert_eq!(budget.used(), 3 * FLOOR, "it has no memory to release any more");
        drop(young);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn a_complete_body_stays() {
        let budget = Arc::new(BodyMemoryBudget::new(3 * FLOOR));
        let settled = budget.begin().unwrap();
        settled.hold(2 * FLOOR).unwrap();
        settled.settle();
        let young = budget.begin().unwrap();
        assert_eq!(young.hold(2 * FLOOR), Err(BudgetExceeded));
        assert_eq!(budget.used(), 2 * FLOOR);
        assert_eq!(settled.hold(FLOOR), Ok(()), "it has that already");
        drop(settled);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn a_body_that_does_not_fit_even_alone_is_given_up() {
        let budget = Arc::new(BodyMemoryBudget::new(2 * FLOOR));
        let only = budget.begin().unwrap();
        assert_eq!(only.grow(2 * FLOOR), Err(BudgetExceeded));
        assert_eq!(budget.used(), 0);
        assert!(Arc::new(BodyMemoryBudget::new(0)).begin().is_err());
    }
}
