//! Lists what delays evictions and taints: holds, eviction policies, the brake, zones with too many unhealthy nodes,
//! disruption budgets.

use super::views::{LimitView, PodPhase, PodView};
use crate::eviction_delays::{DueDelays, DuePod, PodWait};
use crate::messages::counted;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use taintward_core::node_lifecycle::{NodeLifecycleConfig, TaintRate, ZoneState};
use taintward_core::time::Now;

/// The maximum number of waits that are shown.
const DELAYS_MAX: usize = 20;

/// A zone's nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ZoneCounts {
    pub(crate) ready: u32,
    pub(crate) not_ready: u32,
}

fn limit(kind: &'static str, about: String, text: String) -> LimitView {
    LimitView { id: format!("{kind} {about}"), kind, about, text }
}

/// The number of held pods in each zone that has any. `zones` has the zone of each node.
pub(crate) fn holds(pods: impl Iterator<Item = PodView>, zones: &HashMap<&str, &str>) -> Vec<LimitView> {
    let mut held: BTreeMap<&str, usize> = BTreeMap::new();
    for pod in pods.filter(|pod| pod.state.phase == PodPhase::Held) {
        *held.entry(zones.get(pod.node.as_str()).copied().unwrap_or_default()).or_default() += 1;
    }
    let view = |(zone, pods): (&str, usize)| {
        let text = match pods {
            1 => "1 pod is held: its countdown is paused until its release.".to_owned(),
            pods => format!("{pods} pods are held: their countdowns are paused until their release."),
        };
        limit("held", named(zone), text)
    };
    held.into_iter().map(view).collect()
}

/// The zones in which node lifecycle controllers taint more slowly or not at all, by their default limits.
pub(crate) fn brakes(zones: &BTreeMap<&str, ZoneCounts>) -> Vec<LimitView> {
    let config = NodeLifecycleConfig::default();
    let state = |counts: &ZoneCounts| config.zone_state(counts.ready, counts.not_ready);
    if !zones.is_empty() && zones.values().all(|counts| state(counts) == ZoneState::FullDisruption) {
        let text = "No node of any zone is ready. Node lifecycle controllers add no NoExecute taints, and remove \
                    those that they added.";
        return vec![limit("slowed", "the cluster".to_owned(), text.to_owned())];
    }
    let view = |(zone, counts): (&&str, &ZoneCounts)| {
        let (bad, all) = (counts.not_ready, counts.ready + counts.not_ready);
        let is_partial = state(counts) == ZoneState::PartialDisruption;
        is_partial.then(|| {
            let rate = config.taint_rate(ZoneState::PartialDisruption, all);
            let then = if rate == TaintRate::ZERO { "to no more nodes" } else { "to more nodes at a low rate" };
            let text = format!(
                "{bad} of {all} nodes are not ready. By default, node lifecycle controllers add NoExecute taints \
                 {then} of this zone."
            );
            limit("slowed", named(zone), text)
        })
    };
    zones.iter().filter_map(view).collect()
}

/// What due pods wait for, each wait once, those of most pods first.
pub(crate) fn delays(delays: &DueDelays, namespace: &str, now: Now) -> Vec<LimitView> {
    let shown = delays.pods().filter(|pod| namespace.is_empty() || pod.namespace == namespace);
    let mut waits = PodWait::of(shown.filter_map(|pod| Some((pod, pod.delay.clone()?))));
    waits.sort_by_key(|wait| (Reverse(wait.pods), wait.first.since));
    let view = |PodWait { first, delay, pods }: PodWait<&DuePod>| {
        let others = match pods - 1 {
            0 => String::new(),
            more => format!(" and {}", counted(more, "more pod")),
        };
        limit("delayed", format!("{}/{}{others}", first.namespace, first.pod), delay.sentence(now))
    };
    waits.into_iter().take(DELAYS_MAX).map(view).collect()
}

/// Budgets that permit no eviction.
pub(crate) fn blocked<'b>(budgets: impl Iterator<Item = &'b (String, Option<String>)>) -> Vec<LimitView> {
    let view = |(name, why): &(String, Option<String>)| Some(limit("blocked", name.clone(), why.clone()?));
    let mut all: Vec<LimitView> = budgets.filter_map(view).collect();
    all.sort();
    all
}

fn named(zone: &str) -> String {
    if zone.is_empty() { "nodes without a zone".to_owned() } else { format!("zone {zone}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slowed(zones: &[(&'static str, u32, u32)]) -> Vec<(String, String)> {
        let counts = |&(zone, ready, not_ready)| (zone, ZoneCounts { ready, not_ready });
        brakes(&zones.iter().map(counts).collect()).into_iter().map(|one| (one.about, one.text)).collect()
    }

    #[test]
    fn a_zone_is_slowed_by_the_rules_of_node_lifecycle() {
        assert_eq!(slowed(&[]), []);
        assert_eq!(slowed(&[("a", 3, 2)]), [], "two nodes do not disrupt a zone");
        let small = slowed(&[("a", 2, 3), ("b", 9, 0)]);
        assert_eq!(small.len(), 1);
        assert!(
            small[0].1.starts_with("3 of 5 nodes are not ready.") && small[0].1.contains("no more nodes"),
            "{small:?}"
        );
        let large = slowed(&[("a", 20, 60)]);
        assert!(large[0].1.contains("at a low rate"), "{large:?}");
        assert_eq!(
            slowed(&[("a", 0, 2), ("b", 1, 0)]),
            [],
            "a zone that is down altogether keeps the ordinary rate"
        );
        assert_eq!(slowed(&[("a", 0, 2), ("b", 0, 1)])[0].0, "the cluster");
    }
}
