//! # Crowd: who is here, and who goes when there are too many
//! Room:     the open connections, and when each was last of use.
//! Comes in: connections that begin, questions that are answered, connections that end.
//! Goes out: the word to leave.
//! Keeps:    somebody new always gets in. Those who have asked nothing yet go before those who have, and among equals those
//!           who were silent for the longest: holding connections open keeps nobody out.
//! Not here: what leaving means (`connection`).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use tokio::time::Instant;

/// The open connections.
pub(super) struct Crowd {
    most: usize,
    began: Instant,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    seats: BTreeMap<u64, Arc<Seat>>,
}

struct Seat {
    /// When the last answer was given, in microseconds since the crowd began; 0: there was none.
    answered: AtomicU64,
    leave: Notify,
}

/// One connection's place; given back when dropped.
pub(super) struct Place {
    crowd: Arc<Crowd>,
    number: u64,
    seat: Arc<Seat>,
}

impl Crowd {
    pub(super) fn new(most: usize) -> Self {
        Self { most, began: Instant::now(), state: Mutex::default() }
    }

    /// A place for somebody new; if there are too many, somebody is told to leave.
    pub(super) fn enter(self: &Arc<Self>) -> Place {
        let seat = Arc::new(Seat { answered: AtomicU64::new(0), leave: Notify::new() });
        let mut state = self.lock();
        if state.seats.len() >= self.most {
            // Numbers grow, so of those who never asked the first in the order is the oldest.
            let first = state.seats.iter().min_by_key(|(_, seat)| seat.answered.load(Ordering::Relaxed));
            if let Some(number) = first.map(|(number, _)| *number)
                && let Some(seat) = state.seats.remove(&number)
            {
                seat.leave.notify_one();
            }
        }
        let number = state.next;
        state.next += 1;
        state.seats.insert(number, Arc::clone(&seat));
        drop(state);
        Place { crowd: Arc::clone(self), number, seat }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// A question was asked here, and it made sense to look into it.
    pub(super) fn was_of_use(&self) {
        let since = u64::try_from(self.crowd.began.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.seat.answered.store(since.max(1), Ordering::Relaxed);
    }

    /// Whether anything was ever asked here.
    pub(super) fn is_of_use(&self) -> bool {
        self.seat.answered.load(Ordering::Relaxed) > 0
    }

    /// Waits until somebody else needs the place.
    pub(super) async fn is_needed(&self) {
        self.seat.leave.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.crowd.lock().seats.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::{advance, timeout};

    async fn leaves(place: &Place) -> bool {
        timeout(Duration::from_millis(1), place.is_needed()).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn who_never_asked_goes_first_and_then_who_was_silent_for_the_longest() {
        let crowd = Arc::new(Crowd::new(3));
        let [old, mute, young] = [crowd.enter(), crowd.enter(), crowd.enter()];
        advance(Duration::from_secs(1)).await;
        young.was_of_use();
        advance(Duration::from_secs(1)).await;
        old.was_of_use();
        assert!(!mute.is_of_use() && old.is_of_use());

        let new = crowd.enter();
        assert!(leaves(&mute).await && !leaves(&old).await && !leaves(&young).await && !leaves(&new).await);
        advance(Duration::from_secs(1)).await;
        new.was_of_use();
        let newer = crowd.enter();
        assert!(leaves(&young).await && !leaves(&old).await && !leaves(&newer).await);
        drop(mute);
        drop(newer);
        let _last = crowd.enter();
        assert!(!leaves(&old).await && !leaves(&new).await, "there was a place");
    }
}
