//! Computes the server's and our time limit of a request, and how late it may still be carried out.

use std::time::Duration;
use taintward_core::time::Span;

/// Less than this to wait for an answer is not worth asking.
const CLIENT_MIN: Duration = Duration::from_millis(200);

/// How long a request that the server is to spend long on may be on its way: connections stand, and requests are small.
const TRANSIT_MAX: Duration = Duration::from_millis(500);

/// How long requests may take.
#[derive(Clone, Copy, Debug)]
pub struct RequestTimeouts {
    /// What the server is told (`?timeout=`): it gives up by itself after this (P44). Whole seconds count.
    pub server: Duration,
    /// When we stop waiting, counted from the call, waiting for a turn included (P21).
    pub client: Duration,
}

impl Default for RequestTimeouts {
    fn default() -> Self {
        Self { server: Duration::from_secs(2), client: Duration::from_secs(3) }
    }
}

impl RequestTimeouts {
    /// After this much time nothing that was asked for can be carried out any more: the request reached the server at
    /// the latest when we stopped waiting, and the server gives up by itself. What S2 and S5 reckon with.
    pub fn longest(self) -> Span {
        let micros = (self.server + self.client).as_micros();
        Span::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
    }

    /// The same, or less, so that nothing is carried out any more after `left`. The server counts in whole seconds and
    /// gets one at least; `None` if there is no time left beside that.
    #[must_use]
    pub fn within(self, left: Span) -> Option<Self> {
        let left = Duration::from_micros(u64::try_from(left.as_micros()).unwrap_or(0));
        let half = Duration::from_secs((left / 2).as_secs().max(1));
        let server = self.server.min(half);
        let client = self.client.min(left.saturating_sub(server));
        (client >= CLIENT_MIN).then_some(Self { server, client })
    }

    /// The same for a request whose like went unanswered: as much of `left` as there is goes to the server (P44).
    ///
    /// An admission webhook or a server that takes 2 to 4 s would otherwise see every try of ours end before its time.
    /// What is added up is not what the others are reckoned with, server and client one after the other, which allows for
    /// a request that arrives as late as we stop waiting: here it is on its way for half a second at most, and nothing is
    /// carried out after `left`, nor after [`RequestTimeouts::longest`] (S2, S5). One that takes longer to arrive finds that we
    /// have given up at `left`, and with the stream the server gives up, too.
    #[must_use]
    pub fn stretched(self, left: Span) -> Option<Self> {
        let client = Duration::from_micros(left.min(self.longest()).as_micros().unsigned_abs());
        let server = Duration::from_secs(client.saturating_sub(TRANSIT_MAX).as_secs());
        let usual = self.within(left)?;
        Some(if server > usual.server { Self { server, client } } else { usual })
    }
}
