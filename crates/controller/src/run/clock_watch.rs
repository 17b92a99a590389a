//! Reports the offset between the local clock and the API server's: metrics, and one warning per episode.

use crate::metrics::ControllerMetrics;
use std::sync::Arc;
use taintward_core::time::Span;
use taintward_kube::clock::{Clock, ClockOffset};

/// How often the offset is checked.
const PERIOD: Span = Span::from_secs(5);

/// The offset that causes a warning; the episode ends below half of it.
const WARNED_OF_SECS: f64 = 5.0;

/// How many responses in a row without a usable date cause a warning.
const UNDATED_RESPONSES_MAX: u64 = 10;

/// Reports as long as the process lives, if the clock follows the server's time.
pub(super) async fn report(clock: Clock, metrics: Arc<ControllerMetrics>) {
    let mut episode = ClockEpisode::Well;
    while clock.is_by_the_server() {
        let offset = clock.offset();
        metrics.server_time.is(offset);
        episode = episode.next(offset, metrics.requests.dates_ignored());
        clock.sleep_until(clock.now().mono.plus(PERIOD)).await;
    }
}

/// What was logged last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClockEpisode {
    Well,
    Unknown,
    Off,
}

impl ClockEpisode {
    fn next(self, offset: Option<ClockOffset>, ignored: u64) -> Self {
        let Some(offset) = offset else {
            if self == Self::Well && ignored >= UNDATED_RESPONSES_MAX {
                tracing::warn!(
                    consequence = "countdowns of listed taints and pods start when the list is read",
                    remedy = "find the proxy that strips or caches the header, and exempt the API server",
                    "the API server's responses have no usable Date header, so its time is unknown"
                );
                return Self::Unknown;
            }
            return self;
        };
        let ahead = offset.ahead_secs_f64();
        let certain = ahead.abs() - offset.uncertainty.as_secs_f64();
        match self {
            Self::Off if ahead.abs() < WARNED_OF_SECS / 2.0 => {
                tracing::info!("this machine's clock agrees with the API server's again");
                Self::Well
            }
            Self::Off => Self::Off,
            _ if certain > WARNED_OF_SECS => {
                tracing::warn!(
                    offset_seconds = (ahead * 10.0).round() / 10.0,
                    consequence = "the times in this log are wrong; countdowns use the API server's clock",
                    remedy = "synchronize the clock of this machine (NTP)",
                    "this machine's clock differs from the API server's"
                );
                Self::Off
            }
            _ => Self::Well,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(seconds: i64) -> Option<ClockOffset> {
        Some(ClockOffset { ahead_micros: seconds * 1_000_000, uncertainty: Span::from_millis(500) })
    }

    #[test]
    fn each_episode_is_reported_once() {
        for sign in [1, -1] {
            let mut episode = ClockEpisode::Well;
            for (seconds, expected) in [
                (0, ClockEpisode::Well),
                (5, ClockEpisode::Well),
                (6, ClockEpisode::Off),
                (600, ClockEpisode::Off),
                (3, ClockEpisode::Off),
                (2, ClockEpisode::Well),
                (4, ClockEpisode::Well),
            ] {
                episode = episode.next(by(seconds * sign), 0);
                assert_eq!(episode, expected, "{seconds}");
            }
        }
    }

    #[test]
    fn answers_without_a_date_are_warned_of_once_there_are_some() {
        assert_eq!(ClockEpisode::Well.next(None, 9), ClockEpisode::Well);
        assert_eq!(ClockEpisode::Well.next(None, 10), ClockEpisode::Unknown);
        assert_eq!(ClockEpisode::Unknown.next(None, 11), ClockEpisode::Unknown);
        assert_eq!(ClockEpisode::Unknown.next(by(0), 11), ClockEpisode::Well);
        assert_eq!(ClockEpisode::Unknown.next(by(60), 11), ClockEpisode::Off);
    }
}
