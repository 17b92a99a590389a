//! Measures how far the clock of this machine differs from the API server's, by the `Date` header of one response.
//!
//! - Invariant: times in objects are compared with the server's clock; a difference that the whole seconds of the
//!   header can explain counts as none.

use taintward_core::time::{Now, Span, Wall};
use taintward_kube::clock::Clock;

/// The header has whole seconds.
const RESOLUTION: i64 = 1_000_000;

/// A clock that follows the server's.
#[derive(Clone, Debug)]
pub(crate) struct ServerClock {
    clock: Clock,
    /// The difference that [`Self::ahead`] returns.
    ahead: i64,
}

impl ServerClock {
    /// This machine's clock.
    pub(crate) fn local() -> Self {
        Self { clock: Clock::system(), ahead: 0 }
    }

    /// The clock of a server whose response arrived between these times of this machine.
    pub(crate) fn of(sent: Wall, received: Wall, date: Option<Wall>) -> Self {
        let ahead = date.map_or(0, |date| ahead(sent, received, date));
        Self { clock: Clock::system_behind(ahead), ahead }
    }

    pub(crate) fn now(&self) -> Now {
        self.clock.now()
    }

    /// The same as a clock for a watcher.
    pub(crate) const fn clock(&self) -> &Clock {
        &self.clock
    }

    /// How far the server's clock is ahead of this machine's, in microseconds; negative: behind.
    pub(crate) const fn ahead(&self) -> i64 {
        self.ahead
    }

    /// The remark about a difference, if there is one.
    pub(crate) fn remark(&self) -> Option<String> {
        let length = crate::output::age(Span::from_micros(self.ahead.saturating_abs()));
        let how = match self.ahead {
            0 => return None,
            1.. => "behind",
            _ => "ahead of",
        };
        Some(format!(
            "this machine's clock is {length} {how} the API server's; the output uses the API server's time"
        ))
    }
}

/// How far the server's clock is ahead; zero if the clocks may be equal.
fn ahead(sent: Wall, received: Wall, date: Wall) -> i64 {
    let (sent, received, date) = (sent.as_micros(), received.as_micros(), date.as_micros());
    let least = date.saturating_sub(received);
    let most = date.saturating_add(RESOLUTION).saturating_sub(sent);
    if least <= 0 && most >= 0 {
        return 0;
    }
    least / 2 + most / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_within_the_whole_seconds_count_as_none() {
        let at = |millis: i64| Wall::from_micros(1_800_000_000_000_000 + millis * 1_000);
        for (sent, received, date, expected) in [
            (200, 300, 0, 0),
            (1_900, 2_100, 1_000, 0),
            (900, 1_100, 1_000, 0),
            (200, 400, 60_000, 60_200),
            (200, 400, -60_000, -59_800),
            (0, 5_000, 3_000, 0),
        ] {
            let found = ahead(at(sent), at(received), at(date));
            assert_eq!(found / 1_000, expected, "{sent} {received} {date}");
        }
        let clock = |date| ServerClock::of(at(200), at(400), date);
        assert_eq!(clock(None).remark(), None);
        let remark = clock(Some(at(-60_000))).remark().unwrap();
        assert_eq!(
            remark,
            "this machine's clock is 59s ahead of the API server's; the output uses the API server's time"
        );
    }
}
