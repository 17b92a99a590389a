//! Reads the clocks of the system, and waits for a moment of the monotonic clock; nothing else in this crate does.
//!
//! - See `clock/server_time.rs` for the API server's clock.

mod server_time;

pub use server_time::IgnoredDate;

use server_time::ServerTime;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use taintward_core::time::{Mono, Now, Span, Wall};
use tokio::sync::watch;
use tokio::time::Instant;

/// The longest single sleep of [`Clock::sleep_until`]. The runtime's timers stand still while the machine is
/// suspended and the waiting clock does not, so a long wait looks again now and then (P29).
const NAP_MAX: Duration = Duration::from_secs(10);

/// How far the clocks that write to objects may be off the one whose dates we see: those of other API servers, of the
/// scheduler, of the kubelets, of whoever writes `timeAdded`.
const AMONG_OTHERS: Span = Span::from_secs(1);

/// A source of [`Now`].
#[derive(Clone, Debug)]
pub struct Clock {
    source: ClockSource,
    server: Option<Arc<Mutex<ServerTime>>>,
}

/// How far our wall clock is off the API server's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockOffset {
    /// By how many microseconds ours is ahead; below 0, behind.
    pub ahead_micros: i64,
    /// How far that may be wrong, either way.
    pub uncertainty: Span,
}

#[derive(Clone, Debug)]
enum ClockSource {
    System,
    Runtime {
        /// The wall time when the waiting clock began.
        origin: Wall,
        pace: watch::Receiver<RuntimePace>,
        /// By how many microseconds somebody has set the wall clock forward since.
        steps: Arc<AtomicI64>,
    },
}

/// How a clock that follows the runtime's goes since its speed was set last.
#[derive(Clone, Copy, Debug)]
pub struct RuntimePace {
    /// When that was, on the runtime's clock.
    pub since: Instant,
    /// When that was, on this one.
    pub wall: Wall,
    /// Seconds of this clock in one of the runtime's; above 0.
    pub speed: f64,
}

impl RuntimePace {
    fn shows(&self) -> Wall {
        self.wall.plus(Span::from_micros(micros(self.since.elapsed().mul_f64(self.speed))))
    }
}

impl ClockOffset {
    /// By how many seconds ours is ahead; below 0, behind.
    pub fn ahead_secs_f64(self) -> f64 {
        self.ahead_micros as f64 / 1_000_000.0
    }
}

impl Clock {
    /// The machine's clocks. For waiting: time since boot, which goes on during suspend, so a machine that wakes up
    /// knows that its lease is long over (P29).
    pub const fn system() -> Self {
        Self { source: ClockSource::System, server: None }
    }

    /// A clock that follows the runtime's: with the runtime's time paused, it is virtual. Both kinds of time begin
    /// now, the wall clock at `wall`.
    pub fn of_runtime(wall: Wall) -> Self {
        Self::of_runtime_at(wall, 1.0)
    }

    /// The same, running this many times as fast: for a cluster whose time does.
    ///
    /// # Panics
    /// If `speed` is not a positive number.
    pub fn of_runtime_at(wall: Wall, speed: f64) -> Self {
        assert!(speed.is_finite() && speed > 0.0, "a clock that stands still");
        // Without its sender, it keeps its pace.
        Self::of_runtime_paced(watch::channel(RuntimePace { since: Instant::now(), wall, speed }).1)
    }

    /// The same, at a pace that its sender changes.
    pub fn of_runtime_paced(pace: watch::Receiver<RuntimePace>) -> Self {
        let origin = pace.borrow().shows();
        Self { source: ClockSource::Runtime { origin, pace, steps: Arc::default() }, server: None }
    }

    /// The same, showing the API server's time as wall time, from the dates of its answers: of all clients that are
    /// [`observed`](crate::config::Connected::observed) with a clone of this. Waiting is not touched by it, and neither a
    /// wrong wall clock of ours nor setting it has any effect once enough answers came; until then nothing is known of
    /// the server's time ([`Now::skew_max`]).
    #[must_use]
    pub fn by_the_server(mut self) -> Self {
        self.server = Some(Arc::default());
        self
    }

    /// The same, with a wall clock that somebody sets forward by `steps` microseconds, now or later, or back; waiting
    /// is not touched by it. The system's clocks are not ours to set.
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

    /// How far our wall clock is off the server's; `None` while that is not known, or not asked.
    pub fn offset(&self) -> Option<ClockOffset> {
        let (mono, own) = self.own();
        let (wall, uncertainty) = self.server()?.at(mono)?;
        Some(ClockOffset { ahead_micros: own.as_micros().saturating_sub(wall.as_micros()), uncertainty })
    }

    /// An answer to a request that was sent then, and came just now, has this date.
    pub(crate) fn heard_date(&self, date: Wall, sent: Mono) -> Result<(), IgnoredDate> {
        let received = self.own().0;
        self.server().map_or(Ok(()), |mut server| server.observe(date, sent, received))
    }

    /// The waiting clock and our own wall clock.
    pub(crate) fn own(&self) -> (Mono, Wall) {
        match &self.source {
            ClockSource::System => (since_boot(), wall()),
            ClockSource::Runtime { origin, pace, steps } => {
                let wall = pace.borrow().shows();
                let passed = wall.as_micros().saturating_sub(origin.as_micros());
                let shown = wall.as_micros().saturating_add(steps.load(Ordering::Relaxed));
                (Mono::from_micros(passed), Wall::from_micros(shown))
            }
        }
    }

    fn server(&self) -> Option<MutexGuard<'_, ServerTime>> {
        // Whoever panicked over it left dates that were taken in whole.
        Some(self.server.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until the waiting clock shows `moment`; for ever if it is [`Mono::NEVER`].
    pub async fn sleep_until(&self, moment: Mono) {
        loop {
            let left = moment.since(self.own().0);
            if left.as_micros() == 0 {
                return;
            }
            let left = Duration::from_micros(left.as_micros().unsigned_abs());
            match &self.source {
                ClockSource::System => tokio::time::sleep(left.min(NAP_MAX)).await,
                ClockSource::Runtime { pace, .. } => {
                    let mut pace = pace.clone();
                    let speed = pace.borrow_and_update().speed;
                    let left = left.div_f64(speed).clamp(Duration::from_micros(1), NAP_MAX);
                    tokio::select! {
                        () = tokio::time::sleep(left) => {}
                        // Another pace: the rest takes another time.
                        Ok(()) = pace.changed() => {}
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

    #[test]
    fn the_system_clock_advances_and_knows_the_year() {
        let first = Clock::system().now();
        let second = Clock::system().now();
        assert!(second.mono >= first.mono);
        assert!(first.wall > Wall::from_secs(1_700_000_000), "{first:?}");
    }

    #[test]
    fn waiting_time_is_time_since_boot() {
        // /proc/uptime counts suspend too; it has two decimals.
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
    async fn a_step_moves_the_wall_clock_only() {
        let steps = Arc::new(AtomicI64::new(0));
        let clock = Clock::of_runtime(Wall::from_secs(1000)).stepped_by(Arc::clone(&steps));
        let start = clock.now();
        steps.store(-600_000_000, Ordering::Relaxed);
        assert_eq!(clock.now(), Now::exact(start.mono, Wall::from_secs(400)));
    }

    #[tokio::test(start_paused = true)]
    async fn the_servers_time_is_known_after_three_dates_and_no_step_of_ours_moves_it() {
        let steps = Arc::new(AtomicI64::new(600_000_000));
        let clock = Clock::of_runtime(Wall::from_secs(1_800_000_000)).stepped_by(Arc::clone(&steps));
        let clock = clock.by_the_server();
        let server = |seconds: i64| Wall::from_secs(1_800_000_000 + seconds);
        for _ in 0..3 {
            assert_eq!((clock.now().skew_max, clock.offset()), (None, None));
            clock.heard_date(server(0), clock.now().mono).unwrap();
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

    #[tokio::test(start_paused = true)]
    async fn a_fast_clock_waits_for_its_own_time() {
        let clock = Clock::of_runtime_at(Wall::from_secs(1000), 60.0);
        let (real, start) = (Instant::now(), clock.now());
        clock.sleep_until(start.mono.plus(Span::from_secs(600))).await;
        assert!(clock.now().mono.since(start.mono) >= Span::from_secs(600));
        assert!((10..12).contains(&real.elapsed().as_secs()), "{:?}", real.elapsed());
    }
}
