//! Tests which facts about a node change its stored state.

use super::*;
use crate::testkit::{node, taint};
use alloc::vec;

const NOW: Now = Now::exact(Mono::from_secs(1000), Wall::from_secs(1_800_000_000));

fn fact(uid: &str, version: u64, taints: &[&str]) -> NodeFact {
    let node = node("n1").tainted(taints.iter().map(|key| taint(key))).at_version(version);
    NodeFact { uid: Uid::new(uid), ..node }
}

/// Returns whether the node was replaced, and whether its pods have to be judged again; `None`: the fact is outdated.
fn update(state: &mut Option<NodeState>, fact: NodeFact, source: NodeSource) -> Option<(bool, bool)> {
    match NodeState::update(state, fact, source, &EvictionConfig::default(), NOW, &mut vec![]) {
        NodeChange::Outdated => None,
        NodeChange::Applied { is_other, reassess, .. } => Some((is_other, reassess)),
    }
}

#[test]
fn only_a_newer_or_listed_fact_changes_a_node() {
    let list = NodeSource::List { absent_until: None };
    let mut state = None;
    assert_eq!(update(&mut state, fact("a", 5, &[]), NodeSource::Watch), Some((true, true)));
    assert_eq!(update(&mut state, fact("a", 6, &[]), NodeSource::Watch), Some((false, false)));
    assert_eq!(update(&mut state, fact("a", 7, &["k"]), NodeSource::Watch), Some((false, true)));
    assert_eq!(update(&mut state, fact("a", 6, &[]), NodeSource::Watch), None);
    assert_eq!(update(&mut state, fact("a", 6, &[]), NodeSource::NewerRead), None);
    assert_eq!(update(&mut state, fact("a", 6, &[]), list), Some((true, true)));
    assert_eq!(update(&mut state, fact("b", 8, &[]), NodeSource::Watch), Some((true, true)));
}

#[test]
fn a_node_that_can_be_decoded_again_is_judged_again() {
    let mut state = None;
    update(&mut state, fact("a", 5, &["k"]), NodeSource::Watch);
    let known = state.as_mut().expect("the node is known");
    assert!(known.mark_undecodable() && !known.mark_undecodable() && known.is_undecodable());
    assert_eq!(update(&mut state, fact("a", 6, &["k"]), NodeSource::Watch), Some((false, true)));
    assert!(!state.expect("the node is known").is_undecodable());
}
