//! Tests that the token bucket is exact and starts empty (S6, NL-22, NL-23, NL-41), and states and rates of zones.

use super::{TokenBucket, TurnResult, Zone, ZoneMembership, Zones};
use crate::identity::NodeName;
use crate::node_lifecycle::{
    NodeLifecycleConfig, NodeLifecycleFlags, TaintRate, ZoneKey, ZoneLabels, ZoneState,
};
use crate::time::{Mono, Span};
use alloc::vec;
use alloc::vec::Vec;

const RATE: TaintRate = TaintRate::from_millionths(100_000);

fn at(micros: i64) -> Mono {
    Mono::from_micros(micros)
}

fn config_of(flags: NodeLifecycleFlags) -> NodeLifecycleConfig {
    NodeLifecycleConfig::new(&flags).expect("the flags are valid")
}

#[test]
fn s6_it_starts_empty_and_holds_one() {
    let mut bucket = TokenBucket::empty(RATE, at(0));
    assert!(!bucket.has_token(at(9_999_999)));
    assert!(bucket.has_token(at(10_000_000)));
    assert_eq!(bucket.token_at(at(0)), Some(at(10_000_000)));
    // After an hour's rest there is no more than one.
    bucket.take(at(3_600_000_000));
    assert!(!bucket.has_token(at(3_609_999_999)) && bucket.has_token(at(3_610_000_000)));
    assert_eq!(bucket.token_at(at(3_620_000_000)), None, "a token is available");
}

/// S6: a zone that appears has no token, and only the node whose turn it is ends it.
#[test]
fn s6_a_new_zone_waits_for_its_token_and_a_turn_is_the_nodes_own() {
    let (mut zones, config) = (Zones::default(), NodeLifecycleConfig::default());
    let zone = ZoneKey::of(ZoneLabels { zone: Some("z"), ..ZoneLabels::default() });
    let now = at(5_000_000);
    zones.move_node(None, Some((zone.clone(), ZoneMembership::Ready)), &config, now);
    let first = zones.next_token_at(&zone, now).expect("it comes");
    assert!(first > now && !zones.has_free_token(&zone, first.minus(Span::from_micros(1))));
    assert!(zones.has_free_token(&zone, first));
    let [one, other] = ["one", "other"].map(NodeName::new);
    zones.begin_turn(&zone, &one);
    zones.end_turn(&zone, &other, TurnResult::Open, first);
    assert!(!zones.has_free_token(&zone, first), "it is still the turn of the first");
    zones.end_turn(&zone, &one, TurnResult::Open, first);
    assert!(zones.has_free_token(&zone, first));
}

#[test]
#[should_panic(expected = "S6")]
fn s6_a_token_that_is_not_available_cannot_be_taken() {
    TokenBucket::empty(RATE, at(0)).take(at(9_999_999));
}

#[test]
fn nl_41_rates_change_and_the_level_stays() {
    for rate in [100_000, 1_000_000, 3_333_333] {
        let rate = TaintRate::from_millionths(rate);
        let mut bucket = TokenBucket::empty(rate, at(0));
        bucket.set_rate(TaintRate::ZERO, at(0));
        assert_eq!(bucket.token_at(at(5)), None);
        assert!(!bucket.has_token(Mono::NEVER));
        bucket.set_rate(rate, at(1_000_000));
        let next = bucket.token_at(at(1_000_000)).expect("it comes");
        assert!(bucket.has_token(next) && !bucket.has_token(next.minus(Span::from_micros(1))));
    }
    let mut bucket = TokenBucket::empty(RATE, at(0));
    bucket.set_rate(TaintRate::from_millionths(10_000), at(5_000_000));
    assert_eq!(bucket.token_at(at(5_000_000)), Some(at(55_000_000)), "half of it was filled");
    bucket.set_rate(TaintRate::ZERO, at(60_000_000));
    assert!(!bucket.has_token(at(60_000_000)), "rate zero stops, full or not");
    bucket.drain(at(70_000_000));
    bucket.give_back(at(70_000_000));
    bucket.set_rate(RATE, at(70_000_000));
    assert!(bucket.has_token(at(70_000_000)));
}

#[test]
fn nl_25_states_of_a_zone() {
    use ZoneState::{FullDisruption as Full, Normal, PartialDisruption as Partial};
    let config = NodeLifecycleConfig::default();
    for (ready, not_ready, state) in [
        (0, 0, Normal),
        (1, 0, Normal),
        (0, 1, Full),
        (0, 100, Full),
        (1, 1, Normal),
        (1, 2, Normal),
        (1, 3, Partial),
        (2, 3, Partial),
        (3, 3, Normal),
        (9, 11, Partial),
        (10, 12, Normal),
        (45, 55, Partial),
        (46, 54, Normal),
        (u32::MAX, u32::MAX, Normal),
    ] {
        assert_eq!(config.zone_state(ready, not_ready), state, "{ready} {not_ready}");
    }
    let all =
        config_of(NodeLifecycleFlags { unhealthy_zone_threshold: 1.0, ..NodeLifecycleFlags::default() });
    assert_eq!(all.zone_state(1, 9_999_999), Normal, "all means all");
}

#[test]
fn nl_26_rates_of_a_zone() {
    use ZoneState::{FullDisruption as Full, Normal, PartialDisruption as Partial};
    let config = NodeLifecycleConfig::default();
    let slow = TaintRate::from_millionths(10_000);
    for (state, size, rate) in [
        (Normal, 1, RATE),
        (Normal, 5_000, RATE),
        (Full, 1, RATE),
        (Full, 5_000, RATE),
        (Partial, 50, TaintRate::ZERO),
        (Partial, 51, slow),
    ] {
        assert_eq!(config.taint_rate(state, size), rate, "{state:?} {size}");
    }
}

/// NL-47: a suspected node may be down or not. In both cases the zone's rate is not higher than its true state allows;
/// and once no node is suspected, it is that of its true state.
#[test]
fn nl_47_suspicion_never_raises_the_rate() {
    let config =
        config_of(NodeLifecycleFlags { large_cluster_size_threshold: 6, ..NodeLifecycleFlags::default() });
    for (ready, suspect, not_ready) in (0..=8).flat_map(|ready| {
        (0..=8).flat_map(move |suspect| (0..=8).map(move |not_ready| (ready, suspect, not_ready)))
    }) {
        let mut zone = Zone::new(&config, at(0));
        for (membership, number) in [
            (ZoneMembership::Ready, ready),
            (ZoneMembership::Suspect, suspect),
            (ZoneMembership::NotReady, not_ready),
        ] {
            zone.counts[membership as usize] = number;
        }
        let rate = config.taint_rate(zone.worst_case_state(&config), zone.size());
        let truths = (not_ready..=not_ready + suspect)
            .map(|down| config.taint_rate(config.zone_state(zone.size() - down, down), zone.size()));
        assert_eq!(truths.min(), Some(rate), "{ready} ready, {suspect} suspected, {not_ready} not ready");
    }
}

fn zone(name: &str) -> ZoneKey {
    ZoneKey::of(ZoneLabels { zone: Some(name), ..ZoneLabels::default() })
}

/// Its old zone counts it no longer; a zone without nodes is gone.
#[test]
fn nl_43_a_node_that_moves_counts_in_its_new_zone() {
    use ZoneMembership::{Excluded, NotReady, Ready};
    let (mut zones, config) = (Zones::default(), NodeLifecycleConfig::default());
    let mut step = |before: Option<(&str, ZoneMembership)>, after: Option<(&str, ZoneMembership)>| {
        let place = |place: Option<(&str, ZoneMembership)>| place.map(|(name, how)| (zone(name), how));
        let changes = zones.move_node(place(before), place(after), &config, at(0));
        let changed: Vec<_> = changes.into_iter().flatten().collect();
        let all_down = (zones.are_all_down(), zones.may_all_be_down());
        (changed, zones.is_empty(), all_down)
    };
    assert_eq!(step(None, Some(("x", Excluded))), (vec![], false, (false, false)), "it does not count");
    assert_eq!(step(Some(("x", Excluded)), None), (vec![], true, (false, false)));
    assert_eq!(step(None, Some(("x", Ready))), (vec![], false, (false, false)));
    let full = vec![(zone("x"), ZoneState::Normal, ZoneState::FullDisruption)];
    assert_eq!(step(Some(("x", Ready)), Some(("x", NotReady))), (full, false, (true, true)));
    assert_eq!(step(Some(("x", NotReady)), Some(("x", NotReady))), (vec![], false, (true, true)));
    assert_eq!(step(None, Some(("y", Ready))), (vec![], false, (false, false)));
    let full = vec![(zone("y"), ZoneState::Normal, ZoneState::FullDisruption)];
    assert_eq!(step(Some(("y", Ready)), Some(("y", NotReady))), (full, false, (true, true)));
    assert_eq!(step(Some(("x", NotReady)), Some(("y", NotReady))), (vec![], false, (true, true)));
    assert_eq!(step(Some(("y", NotReady)), Some(("y", Ready))).2, (false, false));
    assert_eq!(step(Some(("y", Ready)), None).2, (true, true), "the one that moved is left");
    assert_eq!(step(Some(("y", NotReady)), None), (vec![], true, (false, false)));
}
