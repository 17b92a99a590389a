//! Tests which pods on the nodes of a pool are evicted, named or ignored.

use super::{labels, pool, pool_node};
use crate::admission::pool::*;
use crate::admission::request::PodIdentity;
use crate::fact::PodOwnerKind;
use crate::identity::{NodeName, PodId, PodName, Uid};
use crate::scheduling::Labels;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

fn of(namespace: &str) -> PodIdentity {
    PodIdentity { namespace: namespace.into(), ..PodIdentity::default() }
}

fn on(node: &str, name: &str, identity: PodIdentity) -> PodOnNodeFact {
    let (uid, tolerations) = (Uid::new(name), super::tolerations("- Exists"));
    let name = PodName::new(&identity.namespace, name);
    PodOnNodeFact {
        id: PodId::new(uid, name),
        identity,
        node: NodeName::new(node),
        tolerations,
        leaving: false,
    }
}

/// Returns the status of a pool with one node, `n1`. The namespace `home` belongs to the pool, `lost` is unknown.
fn reported(
    pool: &DedicatedPool,
    validity: PoolValidity,
    pods: &[PodOnNodeFact],
    exemptions: &PoolExemptions,
) -> PoolStatus {
    let (home, other) = (labels("team=a"), Labels::default());
    let residents = pods.iter().map(|pod| PodOnNode {
        uid: pod.id.uid(),
        name: pod.id.name(),
        identity: &pod.identity,
        namespace: match &*pod.identity.namespace {
            "home" => Some(&home),
            "lost" => None,
            _ => Some(&other),
        },
        node: pod.node.as_str(),
        tolerations: &pod.tolerations,
        leaving: pod.leaving,
    });
    let residents: Vec<PodOnNode<'_>> = residents.collect();
    let mut taken = pool_node("n1", "pool=a dedicated=a", "dedicated=a:NoSchedule");
    taken.record = Some("a taint:dedicated=a:NoSchedule label:dedicated=a".into());
    let free = pool_node("free", "", "");
    let holds = validity != PoolValidity::Rejected && !pool.leaving;
    for one in residents.iter().filter(|one| one.node == "n1" && holds) {
        let all = status(
            core::slice::from_ref(pool),
            &[validity],
            &[&taken, &free],
            vec![*one],
            exemptions,
            RecordTrust::Pools,
        );
        assert_eq!(is_unauthorized(pool, one, exemptions), all[0].violations > all[0].unknown, "{one:?}");
    }
    status(
        core::slice::from_ref(pool),
        &[validity],
        &[&taken, &free],
        residents,
        exemptions,
        RecordTrust::Pools,
    )
    .remove(0)
}

fn evicted(status: &PoolStatus) -> Vec<&str> {
    status.evicted.iter().map(|one| one.pod.name()).collect()
}

fn everybody() -> Vec<PodOnNodeFact> {
    let daemon = PodIdentity { owner: PodOwnerKind::DaemonSet, ..of("shop") };
    let mirror = PodIdentity { mirror: true, ..of("shop") };
    vec![
        on("n1", "own", of("home")),
        on("n1", "stranger", of("shop")),
        PodOnNodeFact { leaving: true, ..on("n1", "leaving", of("shop")) },
        on("free", "elsewhere", of("shop")),
        on("n1", "lost", of("lost")),
        on("n1", "system", of("kube-system")),
        on("n1", "trusted", of("monitoring")),
        on("n1", "daemon", daemon),
        on("n1", "static", mirror),
    ]
}

#[test]
fn only_certainly_unauthorized_pods_are_evicted() {
    let exemptions = PoolExemptions::beside(["monitoring"]);
    for enforcement in [PoolEnforcement::Deny, PoolEnforcement::Warn, PoolEnforcement::Off] {
        let pool = DedicatedPool { enforcement, ..pool("a", 1) };
        let reported = reported(&pool, PoolValidity::Applied, &everybody(), &exemptions);
        assert_eq!(reported.evicted, [], "{enforcement:?}");
        // A pod of unknown membership counts as unauthorized only where such pods are refused.
        let expected = if enforcement == PoolEnforcement::Deny { 4 } else { 3 };
        assert_eq!((reported.violations, reported.unknown), (expected, 1), "{enforcement:?}");
    }
    let evicts = DedicatedPool { enforcement: PoolEnforcement::Evict, ..pool("a", 1) };
    let reported_of = |pool: &DedicatedPool, validity| reported(pool, validity, &everybody(), &exemptions);
    let applied = reported_of(&evicts, PoolValidity::Applied);
    assert_eq!(evicted(&applied), ["daemon", "stranger"]);
    assert_eq!((applied.violations, applied.unknown, applied.exempt, applied.pods), (4, 1, 3, 1));
    assert_eq!(evicted(&reported_of(&evicts, PoolValidity::Frozen)), ["daemon", "stranger"]);
    assert!(
        reported_of(&evicts, PoolValidity::Rejected).evicted.is_empty(),
        "the rules of a refused pool do not apply"
    );
    let leaving = DedicatedPool { leaving: true, ..evicts.clone() };
    assert!(reported_of(&leaving, PoolValidity::Applied).evicted.is_empty());
    let daemons = DedicatedPool { daemon_sets: DaemonSetPolicy::Allow, ..evicts };
    assert_eq!(evicted(&reported_of(&daemons, PoolValidity::Applied)), ["stranger"]);
}

#[test]
fn pods_that_its_users_created_or_may_have_created_stay() {
    let users = PoolUsers { users: ["ann".into()].into(), ..PoolUsers::default() };
    let by_user =
        DedicatedPool { uid: "u-1".into(), users, enforcement: PoolEnforcement::Evict, ..pool("a", 1) };
    let made = PodIdentity { made_for: "u-0,u-1".into(), ..of("shop") };
    let pods = [on("n1", "made", made), on("n1", "forgotten", of("shop"))];
    let reported = reported(&by_user, PoolValidity::Applied, &pods, &PoolExemptions::default());
    assert_eq!((reported.pods, reported.unknown, reported.violations), (1, 1, 1));
    assert_eq!(reported.evicted, [], "it may be one of ann's");
    assert!(reported.violating_pods[0].message.contains("unknown whether"), "{:?}", reported.violating_pods);
}

#[test]
fn lists_are_bounded_and_the_systems_pods_come_last() {
    let evicts = DedicatedPool {
        enforcement: PoolEnforcement::Evict,
        daemon_sets: DaemonSetPolicy::Allow,
        ..pool("a", 1)
    };
    let many = |namespace: &'static str, count: usize| {
        (0..count).map(move |at| on("n1", &format!("{namespace}-{at:03}"), of(namespace)))
    };
    let pods: Vec<PodOnNodeFact> =
        many("kube-system", 30).chain(many("monitoring", 4)).chain(many("shop", 50)).collect();
    let reported = reported(&evicts, PoolValidity::Applied, &pods, &PoolExemptions::beside(["monitoring"]));
    assert_eq!((reported.exempt, reported.violations), (34, 50));
    let named: Vec<String> = reported.exempt_pods.iter().map(|one| one.pod.name().into()).collect();
    assert_eq!(named.len(), NAMED_MAX);
    assert_eq!(
        named[..5],
        ["monitoring-000", "monitoring-001", "monitoring-002", "monitoring-003", "kube-system-000"]
    );
    assert_eq!(reported.exempt_pods[0].message, "its namespace is exempt");
    assert_eq!((reported.violating_pods.len(), reported.evicted.len()), (NAMED_MAX, 50));
}

#[test]
fn no_more_than_a_thousand_pods_are_evicted_at_a_time() {
    let evicts = DedicatedPool { enforcement: PoolEnforcement::Evict, ..pool("a", 1) };
    for (count, expected) in [(999, 999), (1_001, 1_000)] {
        let pods: Vec<PodOnNodeFact> =
            (0..count).map(|at| on("n1", &format!("p{at:04}"), of("shop"))).collect();
        let reported = reported(&evicts, PoolValidity::Applied, &pods, &PoolExemptions::default());
        assert_eq!((reported.violations, reported.evicted.len()), (count, expected));
    }
}
