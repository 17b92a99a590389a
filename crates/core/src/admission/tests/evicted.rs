//! Pods on a pool's nodes: who is evicted, who is named, who is let be.

use super::pools::{labels, node, pool};
use crate::admission::pool::*;
use crate::admission::request::Identity;
use crate::fact::Owner;
use crate::names::{NodeName, PodName, Uid};
use crate::scheduling::Labels;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

fn of(namespace: &str) -> Identity {
    Identity { namespace: namespace.into(), ..Identity::default() }
}

fn on(node: &str, name: &str, identity: Identity) -> ResidentFact {
    let (uid, tolerations) = (Uid::new(name), super::tolerations("- Exists"));
    let name = PodName::new(&identity.namespace, name);
    ResidentFact { uid, name, identity, node: NodeName::new(node), tolerations, leaving: false }
}

/// How a pool with one node, `n1`, is doing. The namespace `home` is its own, `lost` is not known.
fn told(pool: &Pool, standing: Standing, pods: &[ResidentFact], exemptions: &Exemptions) -> PoolStatus {
    let (home, other) = (labels("team=a"), Labels::default());
    let residents = pods.iter().map(|pod| Resident {
        uid: &pod.uid,
        name: &pod.name,
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
    let residents: Vec<Resident<'_>> = residents.collect();
    let mut taken = node("n1", "pool=a dedicated=a", "dedicated=a:NoSchedule");
    taken.record = Some("a taint:dedicated=a:NoSchedule label:dedicated=a".into());
    let free = node("free", "", "");
    let holds = standing != Standing::Refused && !pool.leaving;
    for one in residents.iter().filter(|one| one.node == "n1" && holds) {
        let all = status(
            core::slice::from_ref(pool),
            &[standing],
            &[&taken, &free],
            vec![*one],
            exemptions,
            Trust::Pools,
        );
        assert_eq!(is_trespasser(pool, one, exemptions), all[0].offenders > all[0].unknown, "{one:?}");
    }
    status(core::slice::from_ref(pool), &[standing], &[&taken, &free], residents, exemptions, Trust::Pools)
        .remove(0)
}

fn evicted(status: &PoolStatus) -> Vec<&str> {
    status.evicted.iter().map(|one| one.pod.name()).collect()
}

fn everybody() -> Vec<ResidentFact> {
    let daemon = Identity { owner: Owner::DaemonSet, ..of("shop") };
    let mirror = Identity { mirror: true, ..of("shop") };
    vec![
        on("n1", "own", of("home")),
        on("n1", "stranger", of("shop")),
        ResidentFact { leaving: true, ..on("n1", "leaving", of("shop")) },
        on("free", "elsewhere", of("shop")),
        on("n1", "lost", of("lost")),
        on("n1", "system", of("kube-system")),
        on("n1", "trusted", of("monitoring")),
        on("n1", "daemon", daemon),
        on("n1", "static", mirror),
    ]
}

#[test]
fn only_what_is_certainly_of_others_is_evicted() {
    let exemptions = Exemptions::beside(["monitoring"]);
    for enforcement in [Enforcement::Deny, Enforcement::Warn, Enforcement::Off] {
        let pool = Pool { enforcement, ..pool("a", 1) };
        let told = told(&pool, Standing::Applied, &everybody(), &exemptions);
        assert_eq!(told.evicted, [], "{enforcement:?}");
        // Who cannot be told is one of the others only where these are refused.
        let expected = if enforcement == Enforcement::Deny { 4 } else { 3 };
        assert_eq!((told.offenders, told.unknown), (expected, 1), "{enforcement:?}");
    }
    let evicts = Pool { enforcement: Enforcement::Evict, ..pool("a", 1) };
    let told_of = |pool: &Pool, standing| told(pool, standing, &everybody(), &exemptions);
    let applied = told_of(&evicts, Standing::Applied);
    assert_eq!(evicted(&applied), ["daemon", "stranger"]);
    assert_eq!((applied.offenders, applied.unknown, applied.exempt, applied.pods), (4, 1, 3, 1));
    assert_eq!(evicted(&told_of(&evicts, Standing::Frozen)), ["daemon", "stranger"]);
    assert!(told_of(&evicts, Standing::Refused).evicted.is_empty(), "its rules do not hold");
    let leaving = Pool { leaving: true, ..evicts.clone() };
    assert!(told_of(&leaving, Standing::Applied).evicted.is_empty());
    let daemons = Pool { daemon_sets: DaemonSets::Allow, ..evicts };
    assert_eq!(evicted(&told_of(&daemons, Standing::Applied)), ["stranger"]);
}

#[test]
fn what_its_users_made_stays_and_what_they_may_have_made_too() {
    let users = Users { users: ["ann".into()].into(), ..Users::default() };
    let by_user = Pool { uid: "u-1".into(), users, enforcement: Enforcement::Evict, ..pool("a", 1) };
    let made = Identity { made_for: "u-0,u-1".into(), ..of("shop") };
    let pods = [on("n1", "made", made), on("n1", "forgotten", of("shop"))];
    let told = told(&by_user, Standing::Applied, &pods, &Exemptions::default());
    assert_eq!((told.pods, told.unknown, told.offenders), (1, 1, 1));
    assert_eq!(told.evicted, [], "it may be one of ann's");
    assert!(told.named[0].message.contains("not known whether"), "{:?}", told.named);
}

#[test]
fn lists_are_short_and_the_systems_pods_come_last() {
    let evicts = Pool { enforcement: Enforcement::Evict, daemon_sets: DaemonSets::Allow, ..pool("a", 1) };
    let many = |namespace: &'static str, count: usize| {
        (0..count).map(move |at| on("n1", &format!("{namespace}-{at:03}"), of(namespace)))
    };
    let pods: Vec<ResidentFact> =
        many("kube-system", 30).chain(many("monitoring", 4)).chain(many("shop", 50)).collect();
    let told = told(&evicts, Standing::Applied, &pods, &Exemptions::beside(["monitoring"]));
    assert_eq!((told.exempt, told.offenders), (34, 50));
    let named: Vec<String> = told.exempted.iter().map(|one| one.pod.name().into()).collect();
    assert_eq!(named.len(), NAMED_MOST);
    assert_eq!(
        named[..5],
        ["monitoring-000", "monitoring-001", "monitoring-002", "monitoring-003", "kube-system-000"]
    );
    assert_eq!(told.exempted[0].message, "its namespace is exempt");
    assert_eq!((told.named.len(), told.evicted.len()), (NAMED_MOST, 50));
}
