//! Computes the server's and the client's timeout of a request, and how late it may still be carried out.

use std::time::Duration;
use taintward_core::time::Span;

/// Waiting less than this for a response is not worthwhile.
const CLIENT_MIN: Duration = Duration::from_millis(200);

/// How long a request with a long server timeout may be in transit: connections exist already, and requests are small.
const TRANSIT_MAX: Duration = Duration::from_millis(500);

/// The server's longest timeout of a deletion. If a webhook is called twice, once before the pod is marked as deleted and
/// once before it is gone, the first call takes at most this, and a second attempt needs only the other.
const SERVER_MAX: Duration = Duration::from_secs(4);

/// How long requests may take.
#[derive(Clone, Copy, Debug)]
pub struct RequestTimeouts {
    /// The server's own timeout (`?timeout=`): after this it gives up by itself (P44). Whole milliseconds count.
    pub server: Duration,
    /// When the client stops waiting, from the call, including the wait for the rate limit (P21).
    pub client: Duration,
}

impl Default for RequestTimeouts {
    fn default() -> Self {
        Self { server: Duration::from_secs(2), client: Duration::from_secs(3) }
    }
}

/// Below this, what is left is divided more finely than in seconds.
const WHOLE_SECONDS_MIN: Duration = Duration::from_secs(2);

impl RequestTimeouts {
    /// For a read that confirms a decision: it is of use for as long as its age allows the request that it confirms, and
    /// one that takes longer is waited for, too, so that it is known how long reads take.
    pub const CONFIRMING: Self = Self { server: Duration::from_secs(5), client: Duration::from_secs(8) };

    /// After this time no request can be carried out any more: it reached the server before the client stopped waiting,
    /// and the server gives up by itself. S2 and S5 rely on it.
    pub fn longest(self) -> Span {
        let micros = (self.server + self.client).as_micros();
        Span::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
    }

    /// The same, or less, so that nothing is carried out any more after `left`. The server gets whole seconds, or
    /// less than one if little is left; `None` if that is too little.
    #[must_use]
    pub fn within(self, left: Span) -> Option<Self> {
        let left = Duration::from_micros(u64::try_from(left.as_micros()).unwrap_or(0));
        let share = match left >= WHOLE_SECONDS_MIN {
            true => Duration::from_secs((left / 2).as_secs()),
            false => Duration::from_millis(u64::try_from((left * 2 / 5).as_millis()).unwrap_or(0)),
        };
        let server = self.server.min(share);
        let client = self.client.min(left.saturating_sub(server));
        (client >= CLIENT_MIN).then_some(Self { server, client })
    }

    /// The same for a deletion: the server gets as much of `left` as possible, up to four seconds (P44).
    ///
    /// With less, every attempt would time out if an admission webhook or a server takes 2 to 4 s. The sum differs from
    /// that of the others, which add the server's and the client's timeout and so allow for a request that arrives just
    /// when the client stops waiting: here the request is in transit for at most half a second, and nothing is carried
    /// out after `left`, nor after [`RequestTimeouts::longest`] (S2, S5). If it takes longer to arrive, the client has
    /// given up at `left`, and when the stream ends the server gives up, too.
    #[must_use]
    pub fn stretched(self, left: Span) -> Option<Self> {
        let client = Duration::from_micros(left.min(self.longest()).as_micros().unsigned_abs());
        let server = client.saturating_sub(TRANSIT_MAX).min(SERVER_MAX);
        let usual = self.within(left)?;
        Some(if server > usual.server { Self { server, client } } else { usual })
    }

    /// The server's timeout as a value of `?timeout=`.
    pub(crate) fn server_query(self) -> String {
        match self.server.subsec_millis() {
            0 => format!("{}s", self.server.as_secs().max(1)),
            _ => format!("{}ms", self.server.as_millis()),
        }
    }
}
