//! Tests what admission adds to pods.

use super::pool::{
    DedicatedPool, PoolLabel, PoolMembers, PoolNode, PoolTaint, PoolUsers, PoolViolation, violation,
};
use super::request::{
    AdmittedPod, NodePoolMembership, Operation, PodIdentity, PodRequest, PreviousPod, Requester,
};
use super::*;
use crate::scheduling::Labels;
use crate::testkit::{taints, toleration, toleration_of, toleration_row};
use crate::time::Wall;
use crate::toleration::daemon_tolerations;
use alloc::boxed::Box;
use alloc::vec;
use proptest::prelude::*;

mod claims;
mod covers;
mod entry;
mod evicted;
mod extended;
mod guard;
mod no_execute_guard;
mod nodes;
mod policy;
mod pools;
mod restriction;
mod review;
mod words;

/// Tolerations from rows, separated by `|`.
fn tolerations(rows: &str) -> Vec<Toleration> {
    let one = |row: &str| {
        let read = toleration_row(row);
        let key = match &*read.key {
            "nr" => READY.into(),
            "ur" => REACH.into(),
            _ => read.key,
        };
        Toleration { key, ..read }
    };
    rows.split('|').filter(|row| !row.trim().is_empty()).map(one).collect()
}

/// `dedicated=<name>`, for nodes labeled `pool=<name>` and namespaces labeled `team=<name>`.
fn pool(name: &str, age: i64) -> DedicatedPool {
    DedicatedPool {
        name: name.into(),
        created: Some(Wall::from_secs(age)),
        taint: PoolTaint { key: "dedicated".into(), value: name.into(), effects: Vec::new() },
        label: Some(PoolLabel { key: "dedicated".into(), value: name.into() }),
        members: PoolMembers {
            selector: Some(LabelSelector::of_labels([("pool", name)])),
            ..PoolMembers::default()
        },
        users: PoolUsers {
            namespaces: Some(LabelSelector::of_labels([("team", name)])),
            ..PoolUsers::default()
        },
        ..DedicatedPool::default()
    }
}

fn labels(text: &str) -> Labels {
    let pairs = text.split_whitespace().map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.map(|(key, value)| (key.into(), value.into())).collect()
}

/// Labels, and taints as `key=value:TaintEffect`.
fn pool_node(name: &str, own: &str, own_taints: &str) -> PoolNode {
    PoolNode { name: name.into(), labels: labels(own), taints: taints(own_taints), record: None }
}

fn requester(user: &str, groups: &[&str]) -> Requester {
    Requester { user: user.into(), groups: groups.iter().map(|&group| group.into()).collect() }
}

fn identity(namespace: &str, account: &str) -> PodIdentity {
    PodIdentity { namespace: namespace.into(), service_account: account.into(), ..PodIdentity::default() }
}

/// A user of another team creates a pod, or updates one.
fn requested(pod: AdmittedPod, old: Option<PreviousPod>) -> PodRequest {
    let operation = if old.is_some() { Operation::Update } else { Operation::Create };
    let pod = AdmittedPod { identity: identity("shop", ""), ..pod };
    PodRequest { operation, requester: Some(requester("bob", &["team-b"])), pod, old }
}

fn bearing(text: &str) -> AdmittedPod {
    AdmittedPod { tolerations: tolerations(text), ..AdmittedPod::default() }
}

fn judged(pool: &DedicatedPool, request: &PodRequest, node: NodePoolMembership<'_>) -> Vec<PoolViolation> {
    let namespace = labels("team=b");
    violation(core::slice::from_ref(pool), request, node, Some(&namespace)).0
}

const READY: &str = "node.kubernetes.io/not-ready";
const REACH: &str = "node.kubernetes.io/unreachable";

fn appended(existing: &[Toleration]) -> Vec<Box<str>> {
    default_tolerations(existing, DefaultSeconds::default()).into_iter().map(|added| added.key).collect()
}

#[test]
fn ad_2_a_pod_without_tolerations_gets_both_for_300_seconds() {
    let both = vec![toleration(READY, Some(300)), toleration(REACH, Some(300))];
    assert_eq!(default_tolerations(&[], DefaultSeconds::default()), both);
}

#[test]
fn ad_2_only_key_and_effect_of_existing_tolerations_count() {
    for (key, operator, value, effect, expected) in [
        (READY, "Exists", "", "NoExecute", &[REACH][..]),
        (READY, "Exists", "", "", &[REACH]),
        (READY, "Equal", "x", "NoExecute", &[REACH]),
        (READY, "nonsense", "x", "NoExecute", &[REACH]),
        (REACH, "Exists", "", "NoExecute", &[READY]),
        ("", "Exists", "", "NoExecute", &[]),
        ("", "Exists", "", "", &[]),
        ("", "Exists", "", "NoSchedule", &[READY, REACH]),
        (READY, "Exists", "", "NoSchedule", &[READY, REACH]),
        (READY, "Exists", "", "PreferNoSchedule", &[READY, REACH]),
        (READY, "Exists", "", "noexecute", &[READY, REACH]),
        ("Node.kubernetes.io/not-ready", "Exists", "", "", &[READY, REACH]),
        ("not-ready", "Exists", "", "", &[READY, REACH]),
    ] {
        let existing =
            [toleration_of("other", "Exists", "", ""), toleration_of(key, operator, value, effect)];
        let expected: Vec<Box<str>> = expected.iter().map(|&key| key.into()).collect();
        assert_eq!(appended(&existing), expected, "{key} {operator} {value} {effect}");
    }
}

#[test]
fn ad_3_any_seconds_are_legal() {
    for (not_ready, unreachable) in [(0, -1), (i64::MIN, i64::MAX), (1, 2)] {
        let added = default_tolerations(&[], DefaultSeconds { not_ready, unreachable });
        assert_eq!(added[0].seconds, Some(not_ready));
        assert_eq!(added[1].seconds, Some(unreachable));
    }
}

fn daemons(host_network: bool) -> Vec<Toleration> {
    let mut all: Vec<_> = [
        (READY, "NoExecute"),
        (REACH, "NoExecute"),
        ("node.kubernetes.io/disk-pressure", "NoSchedule"),
        ("node.kubernetes.io/memory-pressure", "NoSchedule"),
        ("node.kubernetes.io/pid-pressure", "NoSchedule"),
        ("node.kubernetes.io/unschedulable", "NoSchedule"),
        ("node.kubernetes.io/network-unavailable", "NoSchedule"),
    ]
    .into_iter()
    .map(|(key, effect)| toleration_of(key, "Exists", "", effect))
    .collect();
    all.truncate(if host_network { 7 } else { 6 });
    all
}

#[test]
fn ds_1_the_tolerations_of_every_daemon_are_in_order() {
    assert_eq!(daemon_tolerations(&[], false), daemons(false));
    assert_eq!(daemon_tolerations(&[], true), daemons(true));
}

#[test]
fn ds_2_the_same_identity_is_replaced_in_place_and_loses_its_seconds() {
    let own = toleration("own", Some(60));
    let timed = toleration(REACH, Some(60));
    let made = daemon_tolerations(&[timed.clone(), own.clone(), timed.clone()], false);
    let endless = toleration(REACH, None);
    assert_eq!(made[..3], [endless.clone(), own, endless]);
    assert_eq!(made[3], daemons(false)[0]);
    assert_eq!(made.len(), 3 + 5);
}

#[test]
fn ds_2_another_identity_is_appended() {
    for other in tolerations(
        "nr - - NoExecute 60 | nr Equal - NoExecute 60 | nr Exists x NoExecute 60 | nr Exists - - 60 |
         nr exists - NoExecute 60 | - Exists - NoExecute 60",
    ) {
        let made = daemon_tolerations(core::slice::from_ref(&other), false);
        assert_eq!(made[0], other);
        assert_eq!(made[1..], daemons(false));
    }
}

fn any_toleration() -> impl Strategy<Value = Toleration> {
    let key = prop::sample::select(vec!["", READY, REACH, "node.kubernetes.io/unschedulable", "own"]);
    let operator = prop::sample::select(vec!["", "Equal", "Exists", "Lt", "?"]);
    let effect = prop::sample::select(vec!["", "NoExecute", "NoSchedule", "?"]);
    let seconds = prop::option::of(any::<i64>());
    (key, operator, prop::sample::select(vec!["", "v"]), effect, seconds).prop_map(
        |(key, operator, value, effect, seconds)| Toleration {
            seconds,
            ..toleration_of(key, operator, value, effect)
        },
    )
}

proptest! {
    /// AD-2, DS-2: adding twice adds nothing more, and existing tolerations keep their positions.
    #[test]
    fn adding_twice_equals_adding_once(own in prop::collection::vec(any_toleration(), 0..8), host: bool) {
        let made = daemon_tolerations(&own, host);
        prop_assert_eq!(&daemon_tolerations(&made, host), &made);
        for (before, after) in own.iter().zip(&made) {
            prop_assert!(before.is_same(after));
        }
        let mut admitted = own;
        admitted.extend(default_tolerations(&admitted, DefaultSeconds::default()));
        prop_assert!(default_tolerations(&admitted, DefaultSeconds::default()).is_empty());
        // A daemon's own tolerations suppress the defaults.
        prop_assert!(default_tolerations(&made, DefaultSeconds::default()).is_empty());
    }
}
