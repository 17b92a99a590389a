//! Assigns nodes to failure zones (NL-24) and defines the states (NL-25) and taint rates (NL-26) of zones.
//!
//! - See `config.rs` for thresholds and rates, `zones.rs` for how nodes count.

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;

/// The separator between region and zone in a key.
const BETWEEN: &str = ":\0:";

/// The labels that name a node's region and zone; `None`: there is no such label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZoneLabels<'a> {
    /// `failure-domain.beta.kubernetes.io/region`.
    pub beta_region: Option<&'a str>,
    /// `failure-domain.beta.kubernetes.io/zone`.
    pub beta_zone: Option<&'a str>,
    /// `topology.kubernetes.io/region`.
    pub region: Option<&'a str>,
    /// `topology.kubernetes.io/zone`.
    pub zone: Option<&'a str>,
}

/// The zone of a node (NL-24); shared by its nodes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ZoneKey(Arc<str>);

impl ZoneKey {
    /// Makes the key from region and zone, where the deprecated labels take precedence; empty if a node has neither.
    pub fn of(labels: ZoneLabels<'_>) -> Self {
        let region = labels.beta_region.or(labels.region).unwrap_or_default();
        let zone = labels.beta_zone.or(labels.zone).unwrap_or_default();
        if region.is_empty() && zone.is_empty() {
            return Self("".into());
        }
        let mut key = String::with_capacity(region.len() + BETWEEN.len() + zone.len());
        key.push_str(region);
        key.push_str(BETWEEN);
        key.push_str(zone);
        Self(key.into())
    }

    /// The key as metrics have it, including the NUL.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Region and zone.
    pub fn parts(&self) -> (&str, &str) {
        self.0.split_once(BETWEEN).unwrap_or_default()
    }
}

/// Formats `region/zone` for people.
impl fmt::Display for ZoneKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parts() {
            ("", "") => f.write_str("(no zone)"),
            ("", zone) => f.write_str(zone),
            (region, "") => f.write_str(region),
            (region, zone) => write!(f, "{region}/{zone}"),
        }
    }
}

impl fmt::Debug for ZoneKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "zone/{self}")
    }
}

/// The state of a zone (NL-25).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ZoneState {
    /// Enough nodes are ready.
    #[default]
    Normal,
    /// More than two nodes, and at least the threshold's fraction of all, are not ready.
    PartialDisruption,
    /// At least one node is not ready, and no node is ready.
    FullDisruption,
}

/// Tokens per second, in millionths: exact, and equal when they are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TaintRate(u64);

impl TaintRate {
    /// No tokens at all.
    pub const ZERO: Self = Self(0);

    /// A rate of this many millionths of a token per second.
    pub const fn from_millionths(millionths: u64) -> Self {
        Self(millionths)
    }

    /// Millionths of a token per second.
    pub const fn as_millionths(self) -> u64 {
        self.0
    }

    /// Tokens per second, for metrics and messages.
    pub fn per_second(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

/// One zone, for the report at start and for metrics (NL-29).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneReport<'a> {
    /// The zone.
    pub zone: &'a ZoneKey,
    /// Nodes that count.
    pub size: u32,
    /// Of these, not ready by their condition.
    pub unhealthy: u32,
    /// Of the others, silent: about to be declared so.
    pub suspects: u32,
    /// Nodes that do not count (NL-25).
    pub excluded: u32,
    /// The state, or the worst possible state given nodes that are overdue or silent.
    pub state: ZoneState,
    /// The rate at which its nodes may get NoExecute taints now; zero while all zones are fully disrupted.
    pub rate: TaintRate,
    /// Nodes that wait for one.
    pub waiting: usize,
    /// NoExecute taints added since the start.
    pub evictions: u64,
}

impl ZoneReport<'_> {
    /// The percentage of ready nodes; 100 in a zone without nodes that count.
    pub fn health_percent(&self) -> f64 {
        match self.size {
            0 => 100.0,
            size => f64::from(100 * (size - self.unhealthy)) / f64::from(size),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_says_how_many_nodes_are_ready() {
        let zone = ZoneKey::of(ZoneLabels { zone: Some("z"), ..ZoneLabels::default() });
        let percent = |size, unhealthy| {
            let report = ZoneReport {
                zone: &zone,
                size,
                unhealthy,
                suspects: 0,
                excluded: 0,
                state: ZoneState::Normal,
                rate: TaintRate::from_millionths(100_000),
                waiting: 0,
                evictions: 0,
            };
            assert!((report.rate.per_second() - 0.1).abs() < 1e-9);
            report.health_percent()
        };
        assert_eq!([percent(0, 0), percent(8, 2), percent(3, 3)], [100.0, 75.0, 0.0]);
    }
}
