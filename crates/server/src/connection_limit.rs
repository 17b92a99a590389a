//! Limits the open connections of a port and chooses which one ends when there are too many.
//!
//! - Invariant: one address cannot push out the clients of other addresses. A connection of the address with the most ends:
//!   useless ones first, then those that were silent for the longest.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The timeout of a new connection's handshake. A server under attack still needs only a few milliseconds for one.
pub const HANDSHAKE_MAX: Duration = Duration::from_millis(500);

/// The timeout until the first useful request of a new connection has a response, including the handshake.
pub const FIRST_REQUEST_MAX: Duration = Duration::from_secs(2);

/// The open connections.
///
/// A new connection has a grace period in which it cannot be pushed out by its own address: an address with too many
/// connections loses the last one, not the first.
///
/// There is no fixed limit per address: API servers are few, but all of them may use one address (a proxy, an agent of
/// a managed control plane, a masquerading node), and that address may then have all connections that no other address wants. A
/// client with very many addresses still gets a share for each; client certificates help against that.
#[derive(Debug)]
pub struct ConnectionLimit {
    most: usize,
    state: Mutex<ConnectionTable>,
}

#[derive(Debug, Default)]
struct ConnectionTable {
    next: u64,
    connections: BTreeMap<u64, OpenConnection>,
    /// The number of connections of each address.
    counts: HashMap<IpAddr, usize>,
}

#[derive(Debug)]
struct OpenConnection {
    from: IpAddr,
    opened_at: Instant,
    handshake_done: bool,
    /// When the last useful request got its response.
    last_useful: Option<Instant>,
    close: Arc<Notify>,
}

impl OpenConnection {
    fn is_in_grace_period(&self, now: Instant) -> bool {
        let limit = if self.handshake_done { FIRST_REQUEST_MAX } else { HANDSHAKE_MAX };
        self.last_useful.is_none() && now.duration_since(self.opened_at) < limit
    }
}

/// Keeps one connection within the limit until it is dropped.
#[derive(Debug)]
pub struct ConnectionGuard {
    limit: Arc<ConnectionLimit>,
    number: u64,
    close: Arc<Notify>,
}

impl ConnectionLimit {
    /// Permits at most `most` connections.
    pub fn new(most: usize) -> Self {
        Self { most, state: Mutex::default() }
    }

    /// Admits a new connection from this address. If there are too many, one of them is signalled to close; `None` if
    /// all that could close are in their grace period or belong to an address with fewer connections.
    pub fn admit(self: &Arc<Self>, from: IpAddr) -> Option<ConnectionGuard> {
        let (from, now) = (from.to_canonical(), Instant::now());
        let close = Arc::new(Notify::new());
        let mut state = self.lock();
        if state.connections.len() >= self.most {
            let number = state.connection_to_close(from, now)?;
            state.remove(number)?.close.notify_one();
        }
        let number = state.next;
        state.next += 1;
        *state.counts.entry(from).or_default() += 1;
        let connection = OpenConnection {
            from,
            opened_at: now,
            handshake_done: false,
            last_useful: None,
            close: Arc::clone(&close),
        };
        state.connections.insert(number, connection);
        drop(state);
        Some(ConnectionGuard { limit: Arc::clone(self), number, close })
    }

    fn lock(&self) -> MutexGuard<'_, ConnectionTable> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionTable {
    /// Which connection closes in favour of a new one from this address.
    fn connection_to_close(&self, from: IpAddr, now: Instant) -> Option<u64> {
        let own = self.counts.get(&from).copied().unwrap_or(0);
        let (largest, most) =
            self.counts.iter().map(|(from, count)| (*from, *count)).max_by_key(|one| one.1)?;
        let beyond_its_share = most > own + 1;
        let address = if beyond_its_share { largest } else { from };
        let of_address = || self.connections.iter().filter(|(_, connection)| connection.from == address);
        // Numbers grow, so of connections without a useful request the first in the order is the oldest.
        let idle = of_address()
            .filter(|(_, connection)| !connection.is_in_grace_period(now))
            .min_by_key(|(_, connection)| connection.last_useful);
        let youngest = || of_address().next_back().filter(|_| beyond_its_share);
        idle.or_else(youngest).map(|(number, _)| *number)
    }

    fn remove(&mut self, number: u64) -> Option<OpenConnection> {
        let connection = self.connections.remove(&number)?;
        if let Some(count) = self.counts.get_mut(&connection.from) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&connection.from);
            }
        }
        Some(connection)
    }
}

impl ConnectionGuard {
    /// Records that the handshake is done.
    pub fn on_handshake_done(&self) {
        if let Some(connection) = self.limit.lock().connections.get_mut(&self.number) {
            connection.handshake_done = true;
        }
    }

    /// Records that a request was valid and got a response.
    pub fn on_useful_request(&self) {
        if let Some(connection) = self.limit.lock().connections.get_mut(&self.number) {
            connection.last_useful = Some(Instant::now());
        }
    }

    /// Waits until this connection must close in favour of another.
    pub async fn closed_by_limit(&self) {
        self.close.notified().await;
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.limit.lock().remove(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::{advance, timeout};

    const ONE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
    const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));
    const THIRD: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 3));

    async fn is_closed(guard: &ConnectionGuard) -> bool {
        timeout(Duration::from_millis(1), guard.closed_by_limit()).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn connections_without_useful_requests_close_first_and_then_those_silent_for_the_longest() {
        let limit = Arc::new(ConnectionLimit::new(3));
        let [old, mute, young] = [ONE; 3].map(|from| limit.admit(from).unwrap());
        advance(Duration::from_secs(1)).await;
        young.on_useful_request();
        advance(Duration::from_secs(1)).await;
        old.on_useful_request();

        let new = limit.admit(ONE).unwrap();
        assert!(
            is_closed(&mute).await
                && !is_closed(&old).await
                && !is_closed(&young).await
                && !is_closed(&new).await
        );
        advance(Duration::from_secs(1)).await;
        new.on_useful_request();
        let newer = limit.admit(ONE).unwrap();
        assert!(is_closed(&young).await && !is_closed(&old).await && !is_closed(&newer).await);
        drop(mute);
        drop(newer);
        let _last = limit.admit(ONE).unwrap();
        assert!(!is_closed(&old).await && !is_closed(&new).await, "the limit was not reached");
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_connection_has_a_grace_period_and_one_too_many_is_refused() {
        let limit = Arc::new(ConnectionLimit::new(2));
        let [mute, handshaken] = [ONE; 2].map(|from| limit.admit(from).unwrap());
        handshaken.on_handshake_done();
        advance(HANDSHAKE_MAX - Duration::from_millis(2)).await;
        assert!(limit.admit(ONE).is_none());
        advance(Duration::from_millis(2)).await;
        let third = limit.admit(ONE).unwrap();
        assert!(is_closed(&mute).await && !is_closed(&handshaken).await);
        assert!(limit.admit(ONE).is_none(), "both are in their grace period");
        third.on_useful_request();
        advance(FIRST_REQUEST_MAX - HANDSHAKE_MAX - Duration::from_millis(5)).await;
        let fourth = limit.admit(ONE).unwrap();
        assert!(is_closed(&third).await, "a useful request ends the grace period");
        advance(Duration::from_millis(5)).await;
        assert!(limit.admit(ONE).is_some());
        assert!(is_closed(&handshaken).await && !is_closed(&fourth).await);
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_with_more_than_its_share_loses_connections_to_others_and_not_the_other_way_round() {
        let limit = Arc::new(ConnectionLimit::new(8));
        let first = limit.admit(OTHER).unwrap();
        first.on_useful_request();
        let flood: Vec<ConnectionGuard> = (0..7).map(|_| limit.admit(ONE).unwrap()).collect();
        assert!(
            limit.admit(ONE).is_none(),
            "no other address loses one, nor does this one within the grace period"
        );
        let mut others = vec![first];
        for number in 2..=4 {
            others.push(limit.admit(OTHER).unwrap_or_else(|| panic!("{number}")));
        }
        // The latest close first: the grace period of the others has less time left.
        let mut stay = Vec::new();
        for guard in &flood {
            stay.push(!is_closed(guard).await);
        }
        assert_eq!(stay, [true, true, true, true, false, false, false]);
        assert!(limit.admit(ONE).is_none(), "four each");
        let third = limit.admit(THIRD);
        assert!(third.is_some(), "one of them closes");
        drop((flood, third));
        let state = limit.lock();
        assert_eq!(
            state.counts,
            [(OTHER, state.connections.len())].into(),
            "closed connections do not count"
        );
    }
}
