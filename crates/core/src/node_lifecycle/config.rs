//! Validates the flags of node lifecycle: upstream's with their defaults (NL-2), and two that upstream lacks.

use super::zone::{TaintRate, ZoneState};
use crate::time::Span;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

/// The flags as given. Times are in microseconds and may be invalid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeLifecycleFlags {
    /// `--node-monitor-period`.
    pub monitor_period_micros: i64,
    /// `--node-monitor-grace-period`.
    pub monitor_grace_micros: i64,
    /// `--node-startup-grace-period`.
    pub startup_grace_micros: i64,
    /// `--node-eviction-rate`, per second and zone.
    pub eviction_rate: f64,
    /// `--secondary-node-eviction-rate`.
    pub secondary_eviction_rate: f64,
    /// `--unhealthy-zone-threshold`.
    pub unhealthy_zone_threshold: f64,
    /// `--large-cluster-size-threshold`; a zone with more nodes is large.
    pub large_cluster_size_threshold: i64,
    /// Countdowns are put on hold while all nodes are down (NL-48).
    pub hold_countdowns: bool,
    /// Both taints of a node that is ready again are removed in one write (NL-49).
    pub lift_together: bool,
}

const SECOND: i64 = 1_000_000;

impl Default for NodeLifecycleFlags {
    /// Returns upstream's defaults (NL-2).
    fn default() -> Self {
        Self {
            monitor_period_micros: 5 * SECOND,
            monitor_grace_micros: 50 * SECOND,
            startup_grace_micros: 60 * SECOND,
            eviction_rate: 0.1,
            secondary_eviction_rate: 0.01,
            unhealthy_zone_threshold: 0.55,
            large_cluster_size_threshold: 50,
            hold_countdowns: true,
            lift_together: true,
        }
    }
}

/// The engine's configuration. Only made from valid flags.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NodeLifecycleConfig {
    /// The engine has to be called at least this often, and detects by it that the process stood still.
    monitor_period: Span,
    /// A node without a heartbeat for longer than this is silent.
    monitor_grace: Span,
    /// The same for a node that never had a `Ready` condition.
    startup_grace: Span,
    rate: TaintRate,
    secondary_rate: TaintRate,
    threshold: Fraction,
    large_zone: u32,
    hold_countdowns: bool,
    lift_together: bool,
}

impl Default for NodeLifecycleConfig {
    fn default() -> Self {
        Self::new(&NodeLifecycleFlags::default()).expect("upstream's defaults are valid")
    }
}

impl NodeLifecycleConfig {
    /// Validates the flags (NL-2: upstream accepts anything).
    pub fn new(flags: &NodeLifecycleFlags) -> Result<Self, InvalidFlag> {
        let monitor_period = positive("--node-monitor-period", flags.monitor_period_micros)?;
        let monitor_grace = positive("--node-monitor-grace-period", flags.monitor_grace_micros)?;
        let startup_grace = positive("--node-startup-grace-period", flags.startup_grace_micros)?;
        if monitor_period < PERIOD_MIN {
            return Err(InvalidFlag {
                flag: "--node-monitor-period",
                value: seconds(flags.monitor_period_micros),
                reason: "is shorter than 0.1s: there would be no time for anything else",
                way_out: "set at least 0.1s".into(),
            });
        }
        if monitor_grace < monitor_period {
            return Err(InvalidFlag {
                flag: "--node-monitor-grace-period",
                value: seconds(flags.monitor_grace_micros),
                reason: "is shorter than --node-monitor-period: every node would look silent",
                way_out: format!("set at least {}", seconds(flags.monitor_period_micros)),
            });
        }
        let rate = rate("--node-eviction-rate", flags.eviction_rate)?;
        let secondary_rate = self::rate(SECONDARY, flags.secondary_eviction_rate)?;
        if secondary_rate > rate {
            return Err(InvalidFlag {
                flag: SECONDARY,
                value: flags.secondary_eviction_rate.to_string(),
                reason: "is above --node-eviction-rate: unhealthy zones would be tainted faster than healthy ones",
                way_out: format!("set at most {}", flags.eviction_rate),
            });
        }
        Ok(Self {
            monitor_period,
            monitor_grace,
            startup_grace,
            rate,
            secondary_rate,
            threshold: threshold(flags.unhealthy_zone_threshold)?,
            large_zone: large(flags.large_cluster_size_threshold)?,
            hold_countdowns: flags.hold_countdowns,
            lift_together: flags.lift_together,
        })
    }

    /// Returns the state of a zone with this many ready and not ready nodes (NL-25).
    pub fn zone_state(&self, ready: u32, not_ready: u32) -> ZoneState {
        let all = u64::from(ready) + u64::from(not_ready);
        match (ready, not_ready) {
            (0, 1..) => ZoneState::FullDisruption,
            (_, 3..) if self.threshold.is_reached(u64::from(not_ready), all) => ZoneState::PartialDisruption,
            _ => ZoneState::Normal,
        }
    }

    /// Returns how fast nodes of a zone in this state and of this size may get NoExecute taints (NL-26). A single zone
    /// that is fully disrupted keeps the ordinary rate.
    pub fn taint_rate(&self, state: ZoneState, size: u32) -> TaintRate {
        match state {
            ZoneState::Normal | ZoneState::FullDisruption => self.rate,
            ZoneState::PartialDisruption if size > self.large_zone => self.secondary_rate,
            ZoneState::PartialDisruption => TaintRate::ZERO,
        }
    }

    /// Returns how long a node may be silent, depending on whether it ever had a `Ready` condition.
    pub(super) fn grace_period(&self, has_ready: bool) -> Span {
        if has_ready { self.monitor_grace } else { self.startup_grace }
    }

    /// Returns the shortest time that any node may be silent.
    pub fn grace_min(&self) -> Span {
        self.monitor_grace.min(self.startup_grace)
    }

    /// Whether both taints of a node that is ready again are removed in one write (NL-49).
    pub(super) const fn removes_together(&self) -> bool {
        self.lift_together
    }

    /// Whether countdowns may be put on hold at all (NL-48).
    pub const fn may_hold_countdowns(&self) -> bool {
        self.hold_countdowns
    }

    /// The maximum time without activity of a stream, of the API server or of this process itself, before it
    /// counts as a gap (S7): within it, no more than one heartbeat of a ten-second interval is missed.
    pub const fn gap_max(&self) -> Span {
        Span::from_micros(self.monitor_grace.as_micros() / 4)
    }

    /// If no node at all sent a heartbeat for longer than this, no node is tainted for its silence: the nodes are not
    /// the cause.
    pub(super) const fn all_silent_max(&self) -> Span {
        Span::from_micros(self.monitor_grace.as_micros() / 2)
    }

    /// If no node at all sent a heartbeat for longer than this, countdowns are put on hold (NL-48). In a small healthy
    /// cluster there is silence from one renewal to the next; and no node counts as silent, or is tainted, before this
    /// time is over.
    pub(super) fn hold_after(&self) -> Span {
        self.all_silent_max().max(RENEWAL_LATE)
    }

    /// Whether the grace period is hardly longer than the interval between two renewals: a slightly late renewal would
    /// make a healthy node count as silent.
    pub fn is_grace_short(&self) -> bool {
        self.monitor_grace < RENEWAL_LATE
    }

    /// `--node-monitor-period`.
    pub const fn monitor_period(&self) -> Span {
        self.monitor_period
    }

    /// `--node-monitor-grace-period`.
    pub const fn monitor_grace(&self) -> Span {
        self.monitor_grace
    }
}

/// A flag with an invalid value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidFlag {
    /// The flag.
    pub flag: &'static str,
    /// Its value.
    pub value: String,
    /// What is wrong with it.
    pub reason: &'static str,
    /// The remedy.
    pub way_out: String,
}

impl fmt::Display for InvalidFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={} {}; {}", self.flag, self.value, self.reason, self.way_out)
    }
}

impl core::error::Error for InvalidFlag {}

/// Kubelets renew their leases every 10 s ± 4 %, plus the duration of the request.
const RENEWAL_LATE: Span = Span::from_micros(12_500_000);

/// A fraction of a whole, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Fraction(u32);

impl Fraction {
    /// Whether `part` of `all` is at least this fraction.
    const fn is_reached(self, part: u64, all: u64) -> bool {
        part.saturating_mul(1_000_000) >= all.saturating_mul(self.0 as u64)
    }
}

const SECONDARY: &str = "--secondary-node-eviction-rate";
const THRESHOLD: &str = "--unhealthy-zone-threshold";

/// The engine has to be called once in each period.
const PERIOD_MIN: Span = Span::from_millis(100);

/// A year: a longer period is a mistake, and the limit keeps sums far from overflow.
const PERIOD_MAX_MICROS: i64 = 366 * 86_400 * SECOND;

/// A higher rate is a mistake.
const RATE_MAX: f64 = 10_000.0;

fn seconds(micros: i64) -> String {
    format!("{}s", micros as f64 / SECOND as f64)
}

fn positive(flag: &'static str, micros: i64) -> Result<Span, InvalidFlag> {
    let error =
        |reason, way_out: &str| InvalidFlag { flag, value: seconds(micros), reason, way_out: way_out.into() };
    match micros {
        ..=0 => Err(error("is not a positive time", "set a time such as 5s")),
        micros if micros > PERIOD_MAX_MICROS => Err(error("is longer than a year", "set a time such as 50s")),
        micros => Ok(Span::from_micros(micros)),
    }
}

fn rate(flag: &'static str, value: f64) -> Result<TaintRate, InvalidFlag> {
    let error = |reason, way_out: &str| InvalidFlag {
        flag,
        value: value.to_string(),
        reason,
        way_out: way_out.into(),
    };
    if !(0.0..=RATE_MAX).contains(&value) {
        return Err(error("is not a rate between 0 and 10000 nodes a second", "set a rate such as 0.1"));
    }
    let millionths = (value * 1e6 + 0.5) as u64;
    if millionths == 0 && value > 0.0 {
        return Err(error(
            "is below one node in eleven days",
            "set 0 to add no taints, or at least 0.000001",
        ));
    }
    Ok(TaintRate::from_millionths(millionths))
}

fn threshold(value: f64) -> Result<Fraction, InvalidFlag> {
    let millionths = (value * 1e6 + 0.5) as u32;
    if value > 0.0 && value <= 1.0 && millionths > 0 {
        return Ok(Fraction(millionths));
    }
    Err(InvalidFlag {
        flag: THRESHOLD,
        value: value.to_string(),
        reason: "is not a share above 0 and up to 1",
        way_out: "set a share such as 0.55".into(),
    })
}

fn large(value: i64) -> Result<u32, InvalidFlag> {
    u32::try_from(value).map_err(|_| InvalidFlag {
        flag: "--large-cluster-size-threshold",
        value: value.to_string(),
        reason: "is not a number of nodes",
        way_out: "set a number such as 50".into(),
    })
}

#[cfg(test)]
mod tests;
