//! Scores nodes by kube-scheduler's `PodTopologySpread` with its default constraints over hosts and zones.
//!
//! - Constraints in the pod spec are not evaluated.

use super::NodeInfo;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

const HOST: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";

/// `maxSkew` of the default constraints, both of which only prefer.
const HOST_SKEW: f64 = 3.0;
const ZONE_SKEW: f64 = 5.0;

/// Where the pods of each group run. A group: the pods of one ReplicaSet or StatefulSet.
#[derive(Clone, Debug)]
pub(super) struct TopologySpread {
    /// Each node's zone, as a number; zero: none.
    zones: Vec<usize>,
    zone_count: usize,
    /// Whether the node has a host name label, over which pods can be spread.
    hosts: Vec<bool>,
    /// How many pods of a group are on each node.
    counts: BTreeMap<u32, BTreeMap<usize, i64>>,
}

impl TopologySpread {
    pub(super) fn over(candidates: &[NodeInfo]) -> Self {
        let mut known: BTreeMap<Box<str>, usize> = BTreeMap::new();
        let mut zone = |candidate: &NodeInfo| match candidate.labels.get(ZONE) {
            Some(zone) => {
                let next = known.len() + 1;
                *known.entry(zone.clone()).or_insert(next)
            }
            None => 0,
        };
        let zones = candidates.iter().map(&mut zone).collect();
        let hosts = candidates.iter().map(|candidate| candidate.labels.contains_key(HOST)).collect();
        Self { zones, zone_count: known.len() + 1, hosts, counts: BTreeMap::new() }
    }

    /// Adds this many pods of a group to a node.
    pub(super) fn add(&mut self, group: u32, node: usize, more: i64) {
        let count = self.counts.entry(group).or_default().entry(node).or_insert(0);
        *count = count.saturating_add(more).max(0);
    }

    /// Returns a score for each feasible node; `may_count` says for each node whether the pod's own affinity matches
    /// it.
    pub(super) fn scores(&self, group: u32, possible: &[usize], may_count: &[bool]) -> Vec<i64> {
        let none = BTreeMap::new();
        let counts = self.counts.get(&group).unwrap_or(&none);
        let mut in_zone = alloc::vec![0_i64; self.zone_count];
        let mut on_node = alloc::vec![0_i64; self.hosts.len()];
        for (&node, &count) in counts {
            on_node[node] = count;
            in_zone[self.zones[node]] += if may_count[node] { count } else { 0 };
        }
        // Nodes without a zone count as one zone in the number of zones, and are not spread over.
        let mut zone_seen = alloc::vec![false; self.zone_count];
        possible.iter().for_each(|&node| zone_seen[self.zones[node]] = true);
        let zones = zone_seen.iter().filter(|seen| **seen).count();
        let (host_weight, zone_weight) = (weight(possible.len()), weight(zones));
        let crowded = |node: usize| {
            let host = match self.hosts[node] {
                true => on_node[node] as f64 * host_weight + (HOST_SKEW - 1.0),
                false => 0.0,
            };
            let zone = match self.zones[node] {
                0 => 0.0,
                zone => in_zone[zone] as f64 * zone_weight + (ZONE_SKEW - 1.0),
            };
            // Rounds to the nearest; no value is negative.
            (host + zone + 0.5) as i64
        };
        let crowded: Vec<i64> = possible.iter().map(|&node| crowded(node)).collect();
        let least = crowded.iter().copied().min().unwrap_or(0);
        match crowded.iter().copied().max().unwrap_or(0) {
            0 => crowded.iter().map(|_| super::BEST).collect(),
            most => crowded.iter().map(|one| super::BEST * (most + least - one) / most).collect(),
        }
    }
}

/// The more domains there are, the more one pod counts: the logarithm of their number plus two.
fn weight(places: usize) -> f64 {
    let mut rest = (places + 2) as f64;
    let mut halvings = 0.0;
    while rest >= 2.0 {
        rest /= 2.0;
        halvings += 1.0;
    }
    // ln x = 2 artanh ((x - 1) / (x + 1)); the terms shrink to a ninth each.
    let ratio = (rest - 1.0) / (rest + 1.0);
    let (mut power, mut sum, mut odd) = (ratio, 0.0, 1.0);
    for _ in 0..20 {
        sum += power / odd;
        power *= ratio * ratio;
        odd += 2.0;
    }
    halvings * core::f64::consts::LN_2 + 2.0 * sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::node_info;
    use alloc::format;

    fn placed(name: &str, zone: &str) -> NodeInfo {
        let labels = [(HOST, name), (ZONE, zone)].into_iter().filter(|(_, value)| !value.is_empty());
        NodeInfo {
            labels: labels.map(|(key, value)| (key.into(), value.into())).collect(),
            ..node_info(name)
        }
    }

    #[test]
    fn weights_are_natural_logarithms() {
        for places in [0_usize, 1, 2, 5, 6, 30, 998, 4_999] {
            let expected = ((places + 2) as f64).ln();
            assert!((weight(places) - expected).abs() < 1e-12, "{places}: {} {expected}", weight(places));
        }
    }

    /// Computed by hand from upstream's formulas: two zones, n1 and n2 in a, n3 in b; two pods on n1, one on n3.
    #[test]
    fn nodes_with_fewer_pods_of_the_owner_score_higher() {
        let nodes = [placed("n1", "a"), placed("n2", "a"), placed("n3", "b")];
        let mut spread = TopologySpread::over(&nodes);
        let (all, everywhere) = ([0, 1, 2], [true; 3]);
        // Without any pods: 2 + 4 for each.
        assert_eq!(spread.scores(7, &all, &everywhere), [100, 100, 100]);
        spread.add(7, 0, 2);
        spread.add(7, 2, 1);
        // ln 5 = 1.61 per pod on a host, ln 4 = 1.39 in a zone: 12.0, 8.8, 9.0, rounded 12, 9, 9.
        assert_eq!(spread.scores(7, &all, &everywhere), [75, 100, 100]);
        assert_eq!(spread.scores(8, &all, &everywhere), [100, 100, 100], "others do not count");
        // Pods on nodes that the affinity does not match count only for their host.
        assert_eq!(spread.scores(7, &all, &[false, true, true]), [66, 100, 66]);
        spread.add(7, 0, -5);
        spread.add(7, 2, -1);
        assert_eq!(spread.scores(7, &all, &everywhere), [100, 100, 100], "they have left");
    }

    #[test]
    fn nodes_without_topology_labels_are_equal() {
        let nodes: Vec<NodeInfo> = (0..3).map(|at| node_info(&format!("n{at}"))).collect();
        let mut spread = TopologySpread::over(&nodes);
        spread.add(0, 0, 9);
        assert_eq!(spread.scores(0, &[0, 1, 2], &[true; 3]), [100, 100, 100]);
        assert_eq!(spread.scores(0, &[], &[true; 3]), [0_i64; 0]);
    }
}
