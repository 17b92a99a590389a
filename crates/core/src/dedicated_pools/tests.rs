//! Tests the parts of the engine one by one: conditions, retries, limits, and how long a pool may rely on the guard.

mod guard_writes;

use super::backoff_map::BackoffMap;
use super::conditions::observed_status;
use super::effect::{PoolEffectFailure, PoolEffectKey};
use super::fact::{PoolFact, PoolNamespaceFact, PoolNodeFact};
use super::guard_coverage::GuardCoverage;
use super::in_flight::EffectsInFlight;
use super::pool_cache::PoolCache;
use crate::admission::pool::{
    DedicatedPool, PodOnNodeFact, PoolAssessment, PoolFinding, PoolNode, PoolStatus, PoolValidity, Reason,
};
use crate::admission::request::PodIdentity;
use crate::api_error::ApiFailure;
use crate::engine::Lane;
use crate::identity::{NodeName, PodId, PodName, ResourceVersion, Uid};
use crate::object_event::{ObjectIndex, ObjectRef};
use crate::object_store::StoredObject as _;
use crate::time::{Mono, Now, Wall};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

fn pool_fact(name: &str) -> PoolFact {
    PoolFact {
        uid: Uid::new(name),
        version: None,
        generation: 3,
        finalizers: Vec::new(),
        has_guard_label: false,
        pool: DedicatedPool { name: name.into(), uid: name.into(), ..DedicatedPool::default() },
        recorded: None,
    }
}

fn at(second: i64) -> Mono {
    Mono::from_secs(second)
}

/// Kind, status, reason and message of each condition.
fn conditions(assessment: &PoolAssessment, status: PoolStatus) -> Vec<String> {
    let observed = observed_status(&pool_fact("p"), assessment, status, Wall::from_secs(7));
    assert_eq!((observed.observed, observed.status.evicted), (3, Vec::new()));
    let condition = observed.conditions.iter();
    condition.map(|one| format!("{} {} {}: {}", one.kind, one.status, one.reason, one.message)).collect()
}

#[test]
fn conditions_name_what_keeps_a_pool_from_its_work_and_what_is_advice() {
    let finding = |reason, message: &str| PoolFinding { reason, message: message.into() };
    let nothing = PoolAssessment { validity: PoolValidity::Applied, findings: Vec::new() };
    let status = |violations, elsewhere| PoolStatus { violations, elsewhere, ..PoolStatus::default() };
    assert_eq!(
        conditions(&nothing, status(0, 0)),
        [
            "Ready True Applied: its nodes are dedicated",
            "Offended False NoOffenders: no pod on its nodes is known to be an offender",
            "Advised False NoAdvice: no finding",
        ]
    );
    let offended = |violations| conditions(&nothing, status(violations, 0)).remove(1);
    let rest = "pods that do not belong to the pool run on its nodes: see offenders";
    assert_eq!(offended(1), format!("Offended True Offenders: {rest}"));
    assert_eq!(offended(4), format!("Offended True Offenders: 4 {rest}"));
    let elsewhere = |pods| conditions(&nothing, status(0, pods)).remove(0);
    let rest = "on nodes outside the pool: delete these older pods, or set placement: Allowed";
    assert_eq!(elsewhere(1), format!("Ready False PodsElsewhere: 1 of its pod runs {rest}"));
    assert_eq!(elsewhere(2), format!("Ready False PodsElsewhere: 2 of its pods run {rest}"));
    let advice = Reason::ALL
        .iter()
        .find(|reason| !reason.rejects() && !matches!(reason, Reason::LocksOutSystem | Reason::NodeConflict));
    let advice = *advice.unwrap();
    for hindering in [Reason::BadTaint, Reason::LocksOutSystem, Reason::NodeConflict] {
        let findings =
            [finding(advice, "a"), finding(hindering, "b"), finding(advice, "c"), finding(hindering, "d")];
        let assessment = PoolAssessment { validity: PoolValidity::Applied, findings: findings.into() };
        let found = conditions(&assessment, status(0, 0));
        assert_eq!(found[0], format!("Ready False {}: b; d", hindering.as_str()));
        assert_eq!(found[2], format!("Advised True {}: a; c", advice.as_str()));
    }
}

#[test]
fn the_condition_guarded_says_what_to_do() {
    let message = |coverage: GuardCoverage| coverage.message();
    assert_eq!(message(GuardCoverage::Guarded), "the PoolGuard contains the pool");
    assert!(message(GuardCoverage::Pending).contains("has yet to write the pool"));
    assert!(message(GuardCoverage::TooLarge(70_000)).contains("this one with 70000 bytes"));
    assert!(message(GuardCoverage::Absent).contains("run taintward install --apply again"));
    assert!(message(GuardCoverage::WriteFailed("no route".into())).ends_with(": no route"));
}

#[test]
fn a_failed_request_is_tried_again_after_its_pause() {
    let mut backoff = BackoffMap::default();
    let failure = |failure| PoolEffectFailure { failure, message: "no route".into() };
    let (node, pool) = (PoolEffectKey::Node(NodeName::new("n")), PoolEffectKey::Pool(Uid::new("p")));
    assert!(backoff.may_try(&node, Lane::Fresh, at(10)) && backoff.next_retry_after(at(10)).is_none());
    backoff.fail(node.clone(), failure(ApiFailure::Unavailable), at(10));
    backoff.fail(pool.clone(), failure(ApiFailure::Unavailable), at(20));
    let retries = [&node, &pool].map(|key| backoff.retry_at(key).unwrap());
    let before = Mono::from_micros(retries[0].as_micros() - 1);
    assert_eq!(backoff.next_retry_after(before), Some(retries[0]));
    assert_eq!(backoff.next_retry_after(retries[0]), Some(retries[1]), "this one is due");
    assert!(!backoff.may_try(&node, Lane::All, before) && backoff.may_try(&node, Lane::All, retries[0]));
    assert!(!backoff.may_try(&node, Lane::Fresh, retries[0]), "retries have a lane of their own");
    assert_eq!((backoff.nodes(), backoff.message(&node)), (1, Some("no route")));
    backoff.retain(|key| *key != pool);
    assert_eq!((backoff.retry_at(&pool), backoff.retry_at(&node)), (None, Some(retries[0])));
    backoff.succeed(&node);
    assert_eq!((backoff.retry_at(&node), backoff.nodes()), (None, 0));
}

#[test]
fn an_object_has_its_version_and_differs_in_what_decides() {
    let version = Some(ResourceVersion(7));
    let pool = PoolFact { version, ..pool_fact("p") };
    let node = PoolNodeFact {
        uid: Uid::new("n"),
        version,
        node: PoolNode { name: "n".into(), ..PoolNode::default() },
        ready: true,
    };
    let labels = [("team".into(), "a".into())].into();
    let namespace = PoolNamespaceFact { uid: Uid::new("s"), version, name: "s".into(), labels };
    assert_eq!([pool.version(), node.version(), namespace.version()], [version; 3]);
    let other_version = PoolNamespaceFact { version: None, ..namespace.clone() };
    let other_labels = PoolNamespaceFact { labels: [].into(), ..namespace.clone() };
    assert!(namespace.is_equivalent(&other_version) && !namespace.is_equivalent(&other_labels));
}

#[test]
fn all_kinds_have_to_be_listed_once_there_is_a_pool() {
    let mut cache = PoolCache::default();
    let now = Now::exact(at(1), Wall::from_secs(1));
    let list_pools = |cache: &mut PoolCache, fact: Option<PoolFact>| {
        cache.pools.list_started(None);
        fact.into_iter().for_each(|fact| cache.pools.applied(fact, true, now));
        cache.pools.list_completed(now);
    };
    assert!(!cache.is_synced());
    list_pools(&mut cache, None);
    assert!(cache.is_synced(), "without pools, nothing else is needed");
    list_pools(&mut cache, Some(pool_fact("p")));
    assert!(!cache.is_synced());
    cache.nodes.list_started(None);
    cache.nodes.list_completed(now);
    assert!(!cache.is_synced());
    cache.namespaces.list_started(None);
    cache.namespaces.list_completed(now);
    assert!(!cache.is_synced());
    ObjectIndex::<PodOnNodeFact>::list_started(&mut cache, None);
    ObjectIndex::<PodOnNodeFact>::list_completed(&mut cache, now);
    assert!(cache.is_synced());
}

#[test]
fn what_pods_are_on_nodes_changes_with_events_and_at_the_end_of_a_list() {
    let mut cache = PoolCache::default();
    let now = Now::exact(at(1), Wall::from_secs(1));
    let pod = PodOnNodeFact {
        id: PodId::new(Uid::new("p"), PodName::new("shop", "p")),
        identity: PodIdentity { namespace: "shop".into(), ..PodIdentity::default() },
        node: NodeName::new("n"),
        tolerations: Vec::new(),
        leaving: false,
    };
    let list = |cache: &mut PoolCache, pods: Vec<PodOnNodeFact>| {
        ObjectIndex::<PodOnNodeFact>::list_started(cache, None);
        pods.into_iter().for_each(|pod| cache.applied(pod, true, now));
        ObjectIndex::<PodOnNodeFact>::list_completed(cache, now);
        [cache.take_pods_changed(), cache.take_pods_changed()]
    };
    assert!(!cache.take_pods_changed());
    assert_eq!(list(&mut cache, [pod.clone()].into()), [true, false]);
    assert_eq!(list(&mut cache, [pod.clone()].into()), [false, false], "the same pods");
    assert_eq!(list(&mut cache, Vec::new()), [true, false], "it is gone");
    cache.applied(pod.clone(), false, now);
    assert!(cache.take_pods_changed());
    let object = || ObjectRef::pod(Uid::new("p"), Some(NodeName::new("n")));
    ObjectIndex::<PodOnNodeFact>::undecodable(&mut cache, object(), now);
    assert!(cache.take_pods_changed(), "it cannot be judged");
    ObjectIndex::<PodOnNodeFact>::deleted(&mut cache, object(), now);
    assert!(!cache.take_pods_changed());
}

#[test]
fn each_kind_of_request_has_its_limit() {
    let uid = |number: usize| Uid::new(&format!("u{number}"));
    let count = |key: &dyn Fn(usize) -> PoolEffectKey, has_room: &dyn Fn(&EffectsInFlight) -> bool| {
        let mut in_flight = EffectsInFlight::default();
        let begin = |number: &usize| {
            let has_room = has_room(&in_flight);
            in_flight.begin(key(*number));
            has_room
        };
        (0..20).take_while(begin).count()
    };
    let node = |number| PoolEffectKey::Node(NodeName::new(&format!("n{number}")));
    assert_eq!(count(&|number| PoolEffectKey::Pool(uid(number)), &EffectsInFlight::has_room_for_pools), 4);
    assert_eq!(count(&node, &EffectsInFlight::has_room_for_nodes), 8);
    assert_eq!(count(&|number| PoolEffectKey::Pod(uid(number)), &EffectsInFlight::has_room_for_evictions), 2);
    assert_eq!(count(&node, &EffectsInFlight::has_room_for_evictions), 20, "others do not count");
    let guard_first =
        |number| if number == 0 { PoolEffectKey::Guard } else { PoolEffectKey::Pool(uid(number)) };
    assert_eq!(count(&guard_first, &EffectsInFlight::has_room_for_pools), 4, "the guard is one of them");
}
