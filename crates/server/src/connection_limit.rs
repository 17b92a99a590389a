//! Limits the open connections of a port and chooses which one ends when there are too many.
//!
//! - Invariant: one address cannot push out the clients of others. A connection of the address with the most ends:
//!   useless ones first, then those that were silent for the longest.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// How long a newcomer may take until its handshake is done. A server that is under attack itself does one in a few
/// milliseconds.
pub const SHAKING: Duration = Duration::from_millis(500);

/// How long it may take until it is of use, the handshake included.
pub const CHANCE: Duration = Duration::from_secs(2);

/// The open connections.
///
/// A new connection has a grace period in which it cannot be pushed out by its own address: an address with too many
/// connections loses the last one, not the first.
///
/// There is no fixed limit per address: API servers are few, but all of them may use one address (a proxy, an agent of
/// a managed control plane, a masquerading node), and that address may then have all places that no other one wants. A
/// client with very many addresses still gets a share for each; client certificates help against that.
#[derive(Debug)]
pub struct ConnectionLimit {
    most: usize,
    state: Mutex<ConnectionTable>,
}

#[derive(Debug, Default)]
struct ConnectionTable {
    next: u64,
    seats: BTreeMap<u64, ConnectionSlot>,
    /// How many each address has.
    counts: HashMap<IpAddr, usize>,
}

#[derive(Debug)]
struct ConnectionSlot {
    from: IpAddr,
    began: Instant,
    shaken: bool,
    /// When it was last of use.
    of_use: Option<Instant>,
    leave: Arc<Notify>,
}

impl ConnectionSlot {
    fn has_its_chance(&self, now: Instant) -> bool {
        let limit = if self.shaken { CHANCE } else { SHAKING };
        self.of_use.is_none() && now.duration_since(self.began) < limit
    }
}

/// One connection's place; given back when dropped.
#[derive(Debug)]
pub struct ConnectionGuard {
    crowd: Arc<ConnectionLimit>,
    number: u64,
    leave: Arc<Notify>,
}

impl ConnectionLimit {
    /// Room for so many.
    pub fn new(most: usize) -> Self {
        Self { most, state: Mutex::default() }
    }

    /// A place for somebody new from this address. If there are too many, somebody is told to leave; `None` if that could
    /// only be somebody who has a right to be here.
    pub fn enter(self: &Arc<Self>, from: IpAddr) -> Option<ConnectionGuard> {
        let (from, now) = (from.to_canonical(), Instant::now());
        let leave = Arc::new(Notify::new());
        let mut state = self.lock();
        if state.seats.len() >= self.most {
            let number = state.to_go(from, now)?;
            state.remove(number)?.leave.notify_one();
        }
        let number = state.next;
        state.next += 1;
        *state.counts.entry(from).or_default() += 1;
        let seat =
            ConnectionSlot { from, began: now, shaken: false, of_use: None, leave: Arc::clone(&leave) };
        state.seats.insert(number, seat);
        drop(state);
        Some(ConnectionGuard { crowd: Arc::clone(self), number, leave })
    }

    fn lock(&self) -> MutexGuard<'_, ConnectionTable> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionTable {
    /// Who goes for somebody new from this address.
    fn to_go(&self, from: IpAddr, now: Instant) -> Option<u64> {
        let own = self.counts.get(&from).copied().unwrap_or(0);
        let (richest, most) =
            self.counts.iter().map(|(from, count)| (*from, *count)).max_by_key(|one| one.1)?;
        let beyond_its_share = most > own + 1;
        let whose = if beyond_its_share { richest } else { from };
        let of_it = || self.seats.iter().filter(|(_, seat)| seat.from == whose);
        // Numbers grow, so of those who never were of use the first in the order is the oldest.
        let idle = of_it().filter(|(_, seat)| !seat.has_its_chance(now)).min_by_key(|(_, seat)| seat.of_use);
        let youngest = || of_it().next_back().filter(|_| beyond_its_share);
        idle.or_else(youngest).map(|(number, _)| *number)
    }

    fn remove(&mut self, number: u64) -> Option<ConnectionSlot> {
        let seat = self.seats.remove(&number)?;
        if let Some(count) = self.counts.get_mut(&seat.from) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&seat.from);
            }
        }
        Some(seat)
    }
}

impl ConnectionGuard {
    /// The handshake is done.
    pub fn is_shaken(&self) {
        if let Some(seat) = self.crowd.lock().seats.get_mut(&self.number) {
            seat.shaken = true;
        }
    }

    /// What was asked here was answered, and made sense.
    pub fn was_of_use(&self) {
        if let Some(seat) = self.crowd.lock().seats.get_mut(&self.number) {
            seat.of_use = Some(Instant::now());
        }
    }

    /// Waits until somebody else needs the place.
    pub async fn is_needed(&self) {
        self.leave.notified().await;
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.crowd.lock().remove(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::{advance, timeout};

    const ONE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
    const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));
    const THIRD: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 3));

    async fn leaves(place: &ConnectionGuard) -> bool {
        timeout(Duration::from_millis(1), place.is_needed()).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn who_was_of_no_use_goes_first_and_then_who_was_silent_for_the_longest() {
        let crowd = Arc::new(ConnectionLimit::new(3));
        let [old, mute, young] = [ONE; 3].map(|from| crowd.enter(from).unwrap());
        advance(Duration::from_secs(1)).await;
        young.was_of_use();
        advance(Duration::from_secs(1)).await;
        old.was_of_use();

        let new = crowd.enter(ONE).unwrap();
        assert!(leaves(&mute).await && !leaves(&old).await && !leaves(&young).await && !leaves(&new).await);
        advance(Duration::from_secs(1)).await;
        new.was_of_use();
        let newer = crowd.enter(ONE).unwrap();
        assert!(leaves(&young).await && !leaves(&old).await && !leaves(&newer).await);
        drop(mute);
        drop(newer);
        let _last = crowd.enter(ONE).unwrap();
        assert!(!leaves(&old).await && !leaves(&new).await, "there was a place");
    }

    #[tokio::test(start_paused = true)]
    async fn a_newcomer_has_its_chance_and_who_comes_too_many_is_turned_away() {
        let crowd = Arc::new(ConnectionLimit::new(2));
        let [mute, shaken] = [ONE; 2].map(|from| crowd.enter(from).unwrap());
        shaken.is_shaken();
        advance(SHAKING - Duration::from_millis(2)).await;
        assert!(crowd.enter(ONE).is_none());
        advance(Duration::from_millis(2)).await;
        let third = crowd.enter(ONE).unwrap();
        assert!(leaves(&mute).await && !leaves(&shaken).await);
        assert!(crowd.enter(ONE).is_none(), "both have their chance");
        third.was_of_use();
        advance(CHANCE - SHAKING - Duration::from_millis(5)).await;
        let fourth = crowd.enter(ONE).unwrap();
        assert!(leaves(&third).await, "who was of use once has had its chance");
        advance(Duration::from_millis(5)).await;
        assert!(crowd.enter(ONE).is_some());
        assert!(leaves(&shaken).await && !leaves(&fourth).await);
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_more_than_a_share_makes_room_for_others_and_not_the_other_way_round() {
        let crowd = Arc::new(ConnectionLimit::new(8));
        let first = crowd.enter(OTHER).unwrap();
        first.was_of_use();
        let flood: Vec<ConnectionGuard> = (0..7).map(|_| crowd.enter(ONE).unwrap()).collect();
        assert!(crowd.enter(ONE).is_none(), "nobody of others goes for it, nor of its own before its time");
        let mut others = vec![first];
        for number in 2..=4 {
            others.push(crowd.enter(OTHER).unwrap_or_else(|| panic!("{number}")));
        }
        // The last come are the first to go: the others had less of their chance left.
        let mut stay = Vec::new();
        for place in &flood {
            stay.push(!leaves(place).await);
        }
        assert_eq!(stay, [true, true, true, true, false, false, false]);
        assert!(crowd.enter(ONE).is_none(), "four each");
        let third = crowd.enter(THIRD);
        assert!(third.is_some(), "one of them goes");
        drop((flood, third));
        let state = crowd.lock();
        assert_eq!(state.counts, [(OTHER, state.seats.len())].into(), "who left takes no place");
    }
}
