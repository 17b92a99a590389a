//! Forecasts when nodes that fall silent now would get `unreachable:NoExecute` (NL-46).
//!
//! - See `config.rs` for rates and thresholds.

use super::config::NodeLifecycleConfig;
use super::zone::{TaintRate, ZoneKey, ZoneState};
use crate::time::{Mono, Span};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// A node among the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneMember {
    /// Where it stands.
    pub zone: ZoneKey,
    /// Ready by its condition.
    pub ready: bool,
    /// It does not count in its zone (NL-25).
    pub excluded: bool,
    /// It falls silent now.
    pub silent: bool,
}

/// What would come of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SilenceForecast {
    /// No zone would have a node left that is well: nobody gets a NoExecute taint, those that are there go, and
    /// countdowns are held (NL-27, NL-48).
    pub all_down: bool,
    /// When each node that falls silent is tainted, in the order they were given; `None`: not while its zone is like
    /// that (NL-26), or because everything is down.
    pub tainted: Vec<Option<Mono>>,
    /// The states of the zones, then.
    pub zones: BTreeMap<ZoneKey, ZoneState>,
}

#[derive(Default)]
struct ReadyCounts {
    ready: u32,
    not_ready: u32,
}

/// When nodes that fall silent at `now` would be tainted (NL-12, NL-22 to NL-27).
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
        let nobody = ReadyCounts::default();
        let zone = counts.get(&node.zone).unwrap_or(&nobody);
        let rate = config.taint_rate(state(zone), zone.ready + zone.not_ready);
        let turn = turns.entry(&node.zone).or_default();
        tainted.push(wait(rate, *turn).filter(|_| !all_down).map(|wait| silent_from.plus(wait)));
        *turn += 1;
    }
    let zones = counts.iter().map(|(key, zone)| ((*key).clone(), state(zone))).collect();
    SilenceForecast { all_down, tainted, zones }
}

/// How long so many others keep one waiting; `None`: for ever.
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
    fn nl_22_23_one_after_the_other_at_the_rate_of_the_zone() {
        assert_eq!(seconds(&nodes("a", 9, 1)), [Some(50)]);
        assert_eq!(seconds(&nodes("a", 9, 3)), [Some(50), Some(60), Some(70)]);
        let two_zones = [nodes("a", 9, 2), nodes("b", 9, 1)].concat();
        assert_eq!(seconds(&two_zones), [Some(50), Some(60), Some(50)], "zones don't wait for each other");
    }

    #[test]
    fn nl_26_a_small_zone_that_is_mostly_down_stops_and_a_large_one_slows_down() {
        assert_eq!(seconds(&nodes("a", 2, 3)), [None; 3]);
        let large = seconds(&nodes("a", 40, 60));
        assert_eq!(large[..2], [Some(50), Some(150)]);
        let excluded: Vec<ZoneMember> =
            nodes("a", 2, 3).into_iter().map(|node| ZoneMember { excluded: true, ..node }).collect();
        assert_eq!(seconds(&excluded)[0], Some(50), "who does not count does not make a disruption");
    }

    #[test]
    fn nl_27_a_whole_zone_keeps_its_rate_and_everything_down_stops() {
        let one_zone = [nodes("a", 0, 2), nodes("b", 1, 0)].concat();
        assert_eq!(seconds(&one_zone), [Some(50), Some(60)]);
        let everything = [nodes("a", 0, 2), nodes("b", 0, 1)].concat();
        assert_eq!(seconds(&everything), [None; 3]);
        assert!(foresee(&everything, &NodeLifecycleConfig::default(), Mono::from_secs(0)).all_down);
    }

    #[test]
    fn no_rate_is_no_taint() {
        let flags = NodeLifecycleFlags {
            eviction_rate: 0.0,
            secondary_eviction_rate: 0.0,
            ..NodeLifecycleFlags::default()
        };
        let config = NodeLifecycleConfig::new(&flags).expect("a rate of zero is allowed");
        assert_eq!(foresee(&nodes("a", 3, 1), &config, Mono::from_secs(0)).tainted, [None]);
    }
}
