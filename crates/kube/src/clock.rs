//! Reads the clocks of the system, and waits for a moment of the monotonic clock; nothing else in this crate does.
//!
//! - See `clock/server_time.rs` for the API server's clock.

mod server_time;

pub use server_time::IgnoredDate;

use server_time::{ServerTime, width_max};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use taintward_core::time::{Mono, Now, Span, Wall};
use tokio::sync::watch;
use tokio::time::Instant;

/// The longest single sleep of [`Clock::sleep_until`]. The runtime's timers stop while the machine is suspended and the
/// monotonic clock does not, so a long wait checks the time now and then (P29).
const NAP_MAX: Duration = Duration::from_secs(10);

/// How far the clocks that write times into objects may be from the one whose dates the client sees: those of other API
/// servers, of the scheduler, of the kubelets, of clients that write `timeAdded`.
const AMONG_OTHERS: Span = Span::from_secs(1);

/// How much later than from the second that an object names a process counts that read it in a list, by the API server's
/// clock (S3): it waits for the end of the second on the slowest clock, and its estimate of the server's clock may be
/// slow, too. For a process that has just started, so that no clock has drifted, and whose responses take no longer than a
/// second; behind a slower link, it is as much later as a response takes longer.
pub const NAMED_LATE_MAX: Span = named_late_max(Span::from_secs(1));

/// The same for responses that take up to `transit`.
const fn named_late_max(transit: Span) -> Span {
    Span::from_secs(1).saturating_add(AMONG_OTHERS).saturating_add(width_max(transit))
}

/// A source of [`Now`].
#[derive(Clone, Debug)]
pub struct Clock {
    source: ClockSource,
    server: Option<Arc<Mutex<ServerTime>>>,
}

/// The difference between the local wall clock and the API server's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockOffset {
    /// By how many microseconds the local clock is ahead; negative if it is behind.
    pub ahead_micros: i64,
    /// The maximum error of that, either way.
    pub uncertainty: Span,
}

#[derive(Clone, Debug)]
enum ClockSource {
    System {
        /// By how many microseconds the wall clock is behind the one that is read.
        behind: i64,
    },
    Runtime {
        /// The wall time at the origin of the monotonic clock.
        origin: Wall,
        rate: watch::Receiver<ClockRate>,
        /// By how many microseconds the wall clock was set forward since.
        steps: Arc<AtomicI64>,
    },
}

/// The pace of a clock that follows the runtime's, since its speed was last set.
#[derive(Clone, Copy, Debug)]
pub struct ClockRate {
    /// When that was, on the runtime's clock.
    pub since: Instant,
    /// When that was, on this clock.
    pub wall: Wall,
    /// Seconds of this clock per second of the runtime's; above 0.
    pub speed: f64,
}

impl ClockRate {
    fn shows(&self) -> Wall {
        self.wall.plus(Span::from_micros(micros(self.since.elapsed().mul_f64(self.speed))))
    }
}

impl ClockOffset {
    /// By how many seconds the local clock is ahead; negative if it is behind.
    pub fn ahead_secs_f64(self) -> f64 {
        self.ahead_micros as f64 / 1_000_000.0
    }
}

impl Clock {
    /// The machine's clocks. The monotonic one is the time since boot, which continues during suspend, so that a
    /// machine that wakes up knows that its lease expired long ago (P29).
    pub const fn system() -> Self {
        Self::system_behind(0)
    }

    /// The same with a wall clock that is behind the cluster's by this many microseconds, and is corrected.
    pub const fn system_behind(micros: i64) -> Self {
        Self { source: ClockSource::System { behind: micros }, server: None }
    }

    /// A clock that follows the runtime's: with the runtime's time paused, it is virtual. Both clocks start now, the
    /// wall clock at `wall`.
    pub fn of_runtime(wall: Wall) -> Self {
        Self::of_runtime_at(wall, 1.0)
    }

    /// The same, running this many times as fast: for a cluster with accelerated time.
    ///
    /// # Panics
    /// If `speed` is not a positive number.
    pub fn of_runtime_at(wall: Wall, speed: f64) -> Self {
        assert!(speed.is_finite() && speed > 0.0, "a clock that stands still");
        // Without its sender, the pace never changes.
        Self::of_runtime_at_rate(watch::channel(ClockRate { since: Instant::now(), wall, speed }).1)
    }

    /// The same, at a pace that its sender changes.
    pub fn of_runtime_at_rate(rate: watch::Receiver<ClockRate>) -> Self {
        let origin = rate.borrow().shows();
        Self { source: ClockSource::Runtime { origin, rate, steps: Arc::default() }, server: None }
    }

    /// The same, with the API server's time as wall time, from the dates of its responses: of all clients that are
    /// [`observed`](crate::config::Connected::observed) with a clone of this clock. The monotonic clock is unaffected;
    /// once there are enough responses, a wrong local wall clock, or setting it, has no effect; until then the server's
    /// time is unknown ([`Now::skew_max`]).
    #[must_use]
    pub fn by_the_server(mut self) -> Self {
        self.server = Some(Arc::default());
        self
    }

    /// The same, with a wall clock that is set forward, or back, by `steps` microseconds, now or later; the monotonic
    /// clock is unaffected. For tests, which cannot set the system's clocks.
    #[must_use]
    pub fn stepped_by(mut self, steps: Arc<AtomicI64>) -> Self {
        if let ClockSource::Runtime { steps: own, .. } = &mut self.source {
            *own = steps;
        }
        self
    }

    /// Whether its wall time is the API server's.
    pub const fn is_by_the_server(&self) -> bool {
        self.server.is_some()
    }

    /// Reads both clocks.
    pub fn now(&self) -> Now {
        let (mono, own) = self.own();
        let Some(server) = self.server() else { return Now::exact(mono, own) };
        match server.at(mono) {
            Some((wall, uncertainty)) => Now::new(mono, wall, Some(uncertainty.saturating_add(AMONG_OTHERS))),
            None => Now::new(mono, own, None),
        }
    }

    /// The difference between the local wall clock and the server's; `None` while it is unknown or not observed.
    pub fn offset(&self) -> Option<ClockOffset> {
        let (mono, own) = self.own();
        let (wall, uncertainty) = self.server()?.at(mono)?;
        Some(ClockOffset { ahead_micros: own.as_micros().saturating_sub(wall.as_micros()), uncertainty })
    }

    /// Records the date of a response that has just arrived, to a request sent at `sent`.
    pub(crate) fn observe_date(&self, date: Wall, sent: Mono) -> Result<(), IgnoredDate> {
        let received = self.own().0;
        self.server().map_or(Ok(()), |mut server| server.observe(date, sent, received))
    }

    /// The monotonic clock and the local wall clock.
    pub(crate) fn own(&self) -> (Mono, Wall) {
        match &self.source {
            ClockSource::System { behind } => {
                (since_boot(), Wall::from_micros(wall().as_micros().saturating_add(*behind)))
            }
            ClockSource::Runtime { origin, rate, steps } => {
                let wall = rate.borrow().shows();
                let passed = wall.as_micros().saturating_sub(origin.as_micros());
                let shown = wall.as_micros().saturating_add(steps.load(Ordering::Relaxed));
                (Mono::from_micros(passed), Wall::from_micros(shown))
            }
        }
    }

    fn server(&self) -> Option<MutexGuard<'_, ServerTime>> {
        // A thread that panicked with the lock held left only complete dates.
        Some(self.server.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until the monotonic clock shows `moment`; without end if it is [`Mono::NEVER`].
    pub async fn sleep_until(&self, moment: Mono) {
        loop {
            let left = moment.since(self.own().0);
            if left.as_micros() == 0 {
                return;
            }
            let left = Duration::from_micros(left.as_micros().unsigned_abs());
            match &self.source {
                ClockSource::System { .. } => tokio::time::sleep(left.min(NAP_MAX)).await,
                ClockSource::Runtime { rate, .. } => {
                    let mut rate = rate.clone();
                    let speed = rate.borrow_and_update().speed;
                    let left = left.div_f64(speed).clamp(Duration::from_micros(1), NAP_MAX);
                    tokio::select! {
                        () = tokio::time::sleep(left) => {}
                        // The pace changed: the remaining wait is computed again.
                        Ok(()) = rate.changed() => {}
                    }
                }
            }
        }
    }
}

fn since_boot() -> Mono {
    #[cfg(target_os = "linux")]
    let id = rustix::time::ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let id = rustix::time::ClockId::Monotonic;
    let read = rustix::time::clock_gettime(id);
    Mono::from_micros(read.tv_sec.saturating_mul(1_000_000).saturating_add(read.tv_nsec / 1000))
}

fn wall() -> Wall {
    let now = SystemTime::now();
    Wall::from_micros(match now.duration_since(UNIX_EPOCH) {
        Ok(after) => micros(after),
        Err(before) => -micros(before.duration()),
    })
}

fn micros(length: Duration) -> i64 {
    i64::try_from(length.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use taintward_core::taint_start::{ObservedVia, TaintStartSource, taint_start};
    use taintward_core::testkit::{node, taint};

    #[test]
    fn the_system_clock_advances_and_knows_the_year() {
        let first = Clock::system().now();
        let second = Clock::system().now();
        assert!(second.mono >= first.mono);
        assert!(first.wall > Wall::from_secs(1_700_000_000), "{first:?}");
    }

    #[test]
    fn the_monotonic_clock_is_the_time_since_boot() {
        // /proc/uptime includes suspend; it has two decimals.
        let Ok(text) = std::fs::read_to_string("/proc/uptime") else { return };
        let uptime: f64 = text.split(' ').next().unwrap().parse().unwrap();
        let mono = Clock::system().now().mono.since(Mono::from_micros(0)).as_secs_f64();
        assert!((mono - uptime).abs() < 5.0, "{mono} {uptime}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_runtime_clock_is_virtual() {
        let clock = Clock::of_runtime(Wall::from_secs(1000));
        let start = clock.now();
        clock.sleep_until(start.mono.plus(Span::from_secs(7200))).await;
        let end = clock.now();
        assert_eq!(end.mono.since(start.mono), Span::from_secs(7200));
        assert_eq!(end.wall, Wall::from_secs(8200));
        clock.sleep_until(Mono::from_micros(-5)).await;
        assert_eq!(clock.now(), end);
    }

    #[tokio::test(start_paused = true)]
    async fn a_step_moves_only_the_wall_clock() {
        let steps = Arc::new(AtomicI64::new(0));
        let clock = Clock::of_runtime(Wall::from_secs(1000)).stepped_by(Arc::clone(&steps));
        let start = clock.now();
        steps.store(-600_000_000, Ordering::Relaxed);
        assert_eq!(clock.now(), Now::exact(start.mono, Wall::from_secs(400)));
    }

    #[tokio::test(start_paused = true)]
    async fn the_servers_time_is_known_after_three_dates_and_local_steps_do_not_move_it() {
        let steps = Arc::new(AtomicI64::new(600_000_000));
        let clock = Clock::of_runtime(Wall::from_secs(1_800_000_000)).stepped_by(Arc::clone(&steps));
        let clock = clock.by_the_server();
        let server = |seconds: i64| Wall::from_secs(1_800_000_000 + seconds);
        for _ in 0..3 {
            assert_eq!((clock.now().skew_max, clock.offset()), (None, None));
            clock.observe_date(server(0), clock.now().mono).unwrap();
        }
        let is_near = |now: Now| {
            let off = now.wall.as_micros() - server(0).as_micros() - now.mono.as_micros();
            off.abs() <= 500_001 && now.skew_max.is_some_and(|skew| skew < Span::from_secs(2))
        };
        assert!(is_near(clock.now()), "{:?}", clock.now());
        let ahead = clock.offset().unwrap().ahead_micros;
        assert!((599_000_000..=600_000_000).contains(&ahead), "{ahead}");
        steps.store(-3_600_000_000, Ordering::Relaxed);
        assert!(is_near(clock.clone().now()), "{:?}", clock.now());
        assert!(clock.offset().unwrap().ahead_micros < -3_599_000_000);
    }

    /// For any part of the server's second, and responses of any speed that counts.
    #[tokio::test(start_paused = true)]
    async fn a_listed_start_lies_between_the_named_second_and_the_longest_delay() {
        let mut most = Span::ZERO;
        for tenth in 0..10 {
            for (before, after) in [
                (0, 0),
                (500, 500),
                (1_000, 0),
                (0, 1_000),
                (20, 5),
                (3_000, 3_000),
                (10_000, 0),
                (0, 10_000),
            ] {
                let clock = Clock::of_runtime(Wall::from_secs(7)).by_the_server();
                let shows = |at: Mono| 1_800_000_000_000_000 + tenth * 100_000 + at.as_micros();
                for _ in 0..3 {
                    let sent = clock.now().mono;
                    tokio::time::advance(Duration::from_millis(before)).await;
                    let date = Wall::from_secs(shows(clock.now().mono).div_euclid(1_000_000));
                    tokio::time::advance(Duration::from_millis(after)).await;
                    clock.observe_date(date, sent).unwrap();
                }
                tokio::time::advance(Duration::from_secs(20)).await;
                let named = Wall::from_secs(1_800_000_005);
                let node = node("n1").tainted([taint("k").added(named)]);
                let listed = ObservedVia::List { absent_until: None };
                let start = taint_start(&node.taints[0], &node, listed, clock.now());
                assert_eq!(start.source, TaintStartSource::TimeAdded);
                let late = shows(start.at) - named.as_micros();
                // The second may have been over when the taint was added.
                let transit = Duration::from_millis(1_000.max(before + after));
                let late_max = named_late_max(Span::from_micros(micros(transit)));
                assert!(
                    (1_000_000..=late_max.as_micros()).contains(&late),
                    "{tenth} {before} {after}: {late}"
                );
                most = most.max(Span::from_micros(late));
            }
        }
        assert!(most > Span::from_secs(2), "the limit says something: {most:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_fast_clock_waits_for_its_own_time() {
        let clock = Clock::of_runtime_at(Wall::from_secs(1000), 60.0);
        let (real, start) = (Instant::now(), clock.now());
        clock.sleep_until(start.mono.plus(Span::from_secs(600))).await;
        assert!(clock.now().mono.since(start.mono) >= Span::from_secs(600));
        assert!((10..12).contains(&real.elapsed().as_secs()), "{:?}", real.elapsed());
    }
}
