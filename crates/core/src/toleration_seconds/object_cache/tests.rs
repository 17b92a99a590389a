//! Tests what events of nodes and pods change, what is counted, and what is forgotten.

use super::*;
use crate::identity::{PodName, ResourceVersion};
use crate::node_lifecycle::ZoneLabels;
use crate::testkit::node_health_tolerations;
use crate::toleration_seconds::RecordAnnotations;

fn now() -> Now {
    Now::exact(Mono::from_secs(100), Wall::from_secs(1_800_000_100))
}

/// A node that is silent without a time in its taints.
fn silent(version: u64) -> HoldNodeFact {
    HoldNodeFact {
        name: NodeName::new("n1"),
        uid: Uid::new("uid-n1"),
        version: Some(ResourceVersion(version)),
        zone: ZoneKey::of(ZoneLabels::default()),
        is_silent: true,
        silent_since: None,
        request: NodeHoldRequest::default(),
    }
}

fn ready(version: u64) -> HoldNodeFact {
    HoldNodeFact { is_silent: false, ..silent(version) }
}

fn held(name: &str, version: u64) -> HeldPodFact {
    HeldPodFact {
        id: PodId::new(Uid::new(name), PodName::new("shop", name)),
        node: NodeName::new("n1"),
        version: Some(ResourceVersion(version)),
        tolerations: node_health_tolerations(Some(300), Some(300)),
        bound: None,
        record: RecordState::Absent,
        records: RecordAnnotations::default(),
        is_annotated: false,
        requested: None,
    }
}

fn node_reference(uid: &str) -> ObjectRef {
    ObjectRef::node(&NodeName::new("n1"), Some(Uid::new(uid)))
}

fn pod_reference(name: &str) -> ObjectRef {
    ObjectRef { name: name.into(), uid: Some(Uid::new(name)), node: None }
}

fn put_node(cache: &mut SecondsCache, fact: HoldNodeFact, listed: bool) -> bool {
    cache.applied(fact, listed, now());
    !cache.take_changed_nodes().is_empty()
}

fn put(cache: &mut SecondsCache, fact: HeldPodFact, listed: bool) -> bool {
    cache.applied(fact, listed, now());
    !cache.take_changed_pods().is_empty()
}

fn is_silent(cache: &SecondsCache) -> bool {
    cache.node(&NodeName::new("n1")).is_some_and(|node| node.silent_since() == Some(now().wall))
}

#[test]
fn an_older_event_of_a_node_changes_nothing_except_in_a_list() {
    let mut cache = SecondsCache::default();
    assert!(put_node(&mut cache, silent(5), true) && is_silent(&cache));
    assert!(!put_node(&mut cache, ready(4), false) && is_silent(&cache));
    assert!(put_node(&mut cache, ready(5), false) && !is_silent(&cache), "the same version is not older");
    assert!(put_node(&mut cache, silent(3), true) && is_silent(&cache), "the store was restored");
    let again = HoldNodeFact { uid: Uid::new("again"), ..ready(1) };
    assert!(put_node(&mut cache, again, false) && !is_silent(&cache), "another node has other versions");
    ObjectIndex::<HoldNodeFact>::deleted(&mut cache, node_reference("uid-n1"), now());
    assert!(cache.take_changed_nodes().is_empty(), "the node that is gone is not this one");
    ObjectIndex::<HoldNodeFact>::undecodable(&mut cache, node_reference("again"), now());
    assert_eq!((cache.take_changed_nodes().len(), cache.counts()), (1, (0, 0)));
    assert!(cache.node(&NodeName::new("n1")).is_none(), "nothing is kept of it");
}

#[test]
fn a_list_ends_nodes_and_pods_that_it_does_not_contain() {
    let mut cache = SecondsCache::default();
    ObjectIndex::<HoldNodeFact>::list_completed(&mut cache, now());
    ObjectIndex::<HeldPodFact>::list_completed(&mut cache, now());
    assert!(!cache.is_synced(), "no list has started");
    let list_nodes = |cache: &mut SecondsCache, fact: Option<HoldNodeFact>| {
        ObjectIndex::<HoldNodeFact>::list_started(cache, None);
        fact.into_iter().for_each(|fact| cache.applied(fact, true, now()));
        ObjectIndex::<HoldNodeFact>::list_completed(cache, now());
    };
    let list_pods = |cache: &mut SecondsCache, facts: Vec<HeldPodFact>| {
        ObjectIndex::<HeldPodFact>::list_started(cache, None);
        facts.into_iter().for_each(|fact| cache.applied(fact, true, now()));
        ObjectIndex::<HeldPodFact>::list_completed(cache, now());
    };
    list_nodes(&mut cache, Some(silent(5)));
    assert!(!cache.is_synced());
    list_pods(&mut cache, [held("a", 5), held("b", 5)].into());
    assert_eq!((cache.is_synced(), cache.counts()), (true, (1, 2)));
    list_nodes(&mut cache, None);
    assert_eq!(cache.counts(), (0, 2), "pods of a node that is gone are gone when their watch says so");
    assert!(!cache.node(&NodeName::new("n1")).is_some_and(HoldNodeEntry::is_known));
    list_pods(&mut cache, [held("a", 5)].into());
    assert_eq!(cache.counts(), (0, 1));
    ObjectIndex::<HeldPodFact>::list_started(&mut cache, None);
    cache.take_changed_pods();
    assert!(!put(&mut cache, held("a", 4), false), "an older event changes nothing");
    ObjectIndex::<HeldPodFact>::list_completed(&mut cache, now());
    assert_eq!(cache.counts(), (0, 1), "and yet shows that the pod exists");
    ObjectIndex::<HeldPodFact>::undecodable(&mut cache, pod_reference("a"), now());
    assert_eq!(cache.counts(), (0, 0));
    assert!(cache.nodes().next().is_none());
    assert_eq!(cache.shared.tolerations.values().count(), 0, "its tolerations take no memory");
}

#[test]
fn a_pod_changes_with_what_decides() {
    let mut cache = SecondsCache::default();
    assert!(put(&mut cache, held("a", 5), false) && !put(&mut cache, held("a", 6), false));
    let fewer = HeldPodFact { tolerations: node_health_tolerations(Some(60), Some(60)), ..held("a", 7) };
    assert!(put(&mut cache, fewer.clone(), false) && !put(&mut cache, fewer.clone(), false));
    let bound = HeldPodFact { bound: Some(Wall::from_secs(7)), ..fewer };
    assert!(put(&mut cache, bound.clone(), false));
    let undecodable = HeldPodFact { record: RecordState::Undecodable, ..bound };
    assert!(put(&mut cache, undecodable.clone(), false));
    assert_eq!(
        cache.stats(3),
        TolerationSecondsStats { waiting: 3, undecodable: 1, ..TolerationSecondsStats::default() }
    );
    assert_eq!(cache.take_undecodable_records().count(), 1);
    assert!(!put(&mut cache, undecodable, false));
    assert_eq!(cache.take_undecodable_records().count(), 0, "it is reported once");
    assert!(put(&mut cache, held("a", 8), false));
    assert_eq!((cache.stats(0), cache.counts()), (TolerationSecondsStats::default(), (0, 1)));
    assert_eq!(cache.take_undecodable_records().count(), 0);
}
