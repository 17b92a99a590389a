//! Forecasts when nodes that fall silent now would get `unreachable:NoExecute` (NL-46).
//!
//! - See `config.rs` for rates and thresholds.

use super::config::NodeLifecycleConfig;
use super::zone::{TaintRate, ZoneKey, ZoneState};
use crate::time::{Mono, Span};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// A node of a zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneMember {
    /// Its zone.
    pub zone: ZoneKey,
    /// Whether it is ready by its condition.
    pub ready: bool,
    /// It does not count in its zone (NL-25).
    pub excluded: bool,
    /// Whether it becomes silent now.
    pub silent: bool,
}

/// What would follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SilenceForecast {
    /// No zone would have a healthy node left: no node gets a NoExecute taint, existing ones are removed, and
    /// countdowns are put on hold (NL-27, NL-48).
    pub all_down: bool,
    /// When each node that becomes silent is tainted, in the order given; `None`: not while its zone is in this state
    /// (NL-26), or because all zones are fully disrupted.
    pub tainted: Vec<Option<Mono>>,
    /// The resulting states of the zones.
    pub zones: BTreeMap<ZoneKey, ZoneState>,
}

#[derive(Default)]
struct ReadyCounts {
    ready: u32,
    not_ready: u32,
}

/// Computes when nodes that become silent at `now` would be tainted (NL-12, NL-22 to NL-27).
pub fn foresee(nodes: &[ZoneMember], config: &NodeLifecycleConfig, now: Mono) -> SilenceForecast {
    let mut counts: BTreeMap<&ZoneKey, ReadyCounts> = BTreeMap::new();
    for node in nodes.iter().filter(|node| !node.excluded) {
        let zone = counts.entry(&node.zone).or_default();
        let number = if node.ready && !node.silent { &mut zone.ready } else { &mut zone.not_ready };
        *number += 1;
    }
    let state = |counts: &ReadyCounts| config.zone_state(counts.ready, counts.not_ready);
    let all_down = !counts.is_empty() && counts.values().all(|zone| state(zone) == ZoneState::FullDisruption);
    let silent_from = now.plus(config.monitor_grace());
    let mut turns: BTreeMap<&ZoneKey, u64> = BTreeMap::new();
    let mut tainted = Vec::new();
    for node in nodes.iter().filter(|node| node.silent) {
        let no_counts = ReadyCounts::default();
        let zone = counts.get(&node.zone).unwrap_or(&no_counts);
        let rate = config.taint_rate(state(zone), zone.ready + zone.not_ready);
        let turn = turns.entry(&node.zone).or_default();
        tainted.push(wait(rate, *turn).filter(|_| !all_down).map(|wait| silent_from.plus(wait)));
        *turn += 1;
    }
    let zones = counts.iter().map(|(key, zone)| ((*key).clone(), state(zone))).collect();
    SilenceForecast { all_down, tainted, zones }
}

/// Returns how long a node waits behind `before` others; `None`: indefinitely.
fn wait(rate: TaintRate, before: u64) -> Option<Span> {
    let millionths = u128::from(rate.as_millionths());
    if millionths == 0 {
        return None;
    }
    let micros = (u128::from(before) * 1_000_000_000_000).div_ceil(millionths);
    Some(Span::from_micros(i64::try_from(micros).unwrap_or(i64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::super::config::NodeLifecycleFlags;
    use super::super::zone::ZoneLabels;
    use super::*;

    fn nodes(zone: &str, ready: usize, silent: usize) -> Vec<ZoneMember> {
        let zone = ZoneKey::of(ZoneLabels { zone: Some(zone), ..ZoneLabels::default() });
        let node = |silent| ZoneMember { zone: zone.clone(), ready: true, excluded: false, silent };
        (0..ready).map(|_| node(false)).chain((0..silent).map(|_| node(true))).collect()
    }

    fn seconds(nodes: &[ZoneMember]) -> Vec<Option<i64>> {
        let foreseen = foresee(nodes, &NodeLifecycleConfig::default(), Mono::from_secs(1000));
        foreseen.tainted.iter().map(|at| at.map(|at| at.as_micros() / 1_000_000 - 1000)).collect()
    }

    #[test]
    fn nl_22_23_nodes_are_tainted_one_after_the_other_at_the_zones_rate() {
        assert_eq!(seconds(&nodes("a", 9, 1)), [Some(50)]);
        assert_eq!(seconds(&nodes("a", 9, 3)), [Some(50), Some(60), Some(70)]);
        let two_zones = [nodes("a", 9, 2), nodes("b", 9, 1)].concat();
        assert_eq!(seconds(&two_zones), [Some(50), Some(60), Some(50)], "zones do not wait for each other");
    }

    #[test]
    fn nl_26_a_small_zone_that_is_mostly_down_stops_and_a_large_one_slows_down() {
        assert_eq!(seconds(&nodes("a", 2, 3)), [None; 3]);
        let large = seconds(&nodes("a", 40, 60));
        assert_eq!(large[..2], [Some(50), Some(150)]);
        assert_eq!(seconds(&nodes("a", 1, 50))[..2], [Some(50), Some(150)], "more than fifty nodes are many");
        let excluded: Vec<ZoneMember> =
            nodes("a", 2, 3).into_iter().map(|node| ZoneMember { excluded: true, ..node }).collect();
        assert_eq!(seconds(&excluded)[0], Some(50), "an excluded node does not cause a disruption");
    }

    #[test]
    fn nl_27_a_whole_zone_keeps_its_rate_and_all_zones_down_stop() {
        let one_zone = [nodes("a", 0, 2), nodes("b", 1, 0)].concat();
        assert_eq!(seconds(&one_zone), [Some(50), Some(60)]);
        let everything = [nodes("a", 0, 2), nodes("b", 0, 1)].concat();
        assert_eq!(seconds(&everything), [None; 3]);
        assert!(foresee(&everything, &NodeLifecycleConfig::default(), Mono::from_secs(0)).all_down);
    }

    #[test]
    fn a_rate_of_zero_means_no_taint() {
        let flags = NodeLifecycleFlags {
            eviction_rate: 0.0,
            secondary_eviction_rate: 0.0,
            ..NodeLifecycleFlags::default()
        };
        let config = NodeLifecycleConfig::new(&flags).expect("a rate of zero is allowed");
        assert_eq!(foresee(&nodes("a", 3, 1), &config, Mono::from_secs(0)).tainted, [None]);
    }
}
