//! Tests which NoExecute taints the guard rejects.

use super::requester;
use crate::admission::no_execute_guard::*;
use crate::admission::request::Requester;
use crate::testkit::taints;
use alloc::string::String;
use alloc::vec;

const WELL: FleetHealth = FleetHealth { total: 10, healthy: 10, tainted: 0, recently_admitted: 0 };

struct TaintUpdate {
    old: Option<&'static str>,
    new: &'static str,
    allow: Option<&'static str>,
    ready: Option<bool>,
    who: Option<Requester>,
    dedicated: &'static str,
    fleet: Option<FleetHealth>,
}

fn requested() -> TaintUpdate {
    TaintUpdate {
        old: Some(""),
        new: "drain:NoExecute",
        allow: None,
        ready: Some(true),
        who: Some(requester("ann", &[])),
        dedicated: "",
        fleet: Some(WELL),
    }
}

impl TaintUpdate {
    fn judged(&self) -> GuardDecision {
        let (old, new) = (self.old.map(taints), taints(self.new));
        let dedicated = taints(self.dedicated);
        let change = NodeTaintUpdate {
            name: "n1",
            old: old.as_deref(),
            new: &new,
            allow: self.allow,
            ready: self.ready,
            requester: self.who.as_ref(),
            own: &dedicated,
        };
        let guard = NoExecuteGuard { accounts: vec!["pools".into()], ..NoExecuteGuard::default() };
        guard.judge(&change, &dedicated, self.fleet)
    }

    fn pass(&self) -> Option<GuardExemption> {
        match self.judged() {
            GuardDecision::Allowed(pass) => Some(pass),
            GuardDecision::Rejected(_) => None,
        }
    }

    fn rejected(&self) -> String {
        match self.judged() {
            GuardDecision::Rejected(why) => why,
            GuardDecision::Allowed(pass) => panic!("{pass:?}"),
        }
    }
}

const LAST: Option<FleetHealth> =
    Some(FleetHealth { total: 10, healthy: 1, tainted: 0, recently_admitted: 0 });

#[test]
fn the_last_healthy_node_and_the_percentage() {
    for (total, healthy, tainted, underway, allowed) in [
        (10, 10, 0, 0, true),
        (10, 6, 4, 0, true),
        (10, 5, 5, 0, false),
        (10, 10, 0, 4, true),
        (10, 10, 0, 5, false),
        (10, 2, 0, 0, true),
        (10, 2, 0, 1, false),
        (10, 1, 0, 0, false),
        (10, 0, 0, 0, false),
        (1, 1, 0, 0, false),
        (2, 2, 0, 0, true),
        (3, 3, 0, 0, true),
        (3, 2, 1, 0, false),
        (u32::MAX, u32::MAX, u32::MAX, 0, false),
    ] {
        let fleet = Some(FleetHealth { total, healthy, tainted, recently_admitted: underway });
        let judged = TaintUpdate { fleet, ..requested() };
        assert_eq!(judged.pass().is_some(), allowed, "{fleet:?}");
    }
    let why = TaintUpdate { fleet: LAST, ..requested() }.rejected();
    assert!(why.contains("drain:NoExecute") && why.contains("the last healthy node of 10"), "{why}");
    assert!(why.contains("kubectl annotate node n1 taintward.io/allow-no-execute=\"drain\""), "{why}");
    let half = Some(FleetHealth { healthy: 5, tainted: 5, ..WELL });
    let why = TaintUpdate { fleet: half, ..requested() }.rejected();
    assert!(why.contains("6 of 10 nodes would have such a taint, and at most 50 % may"), "{why}");
}

#[test]
fn taints_that_evict_no_pod_are_ignored() {
    for (old, new) in [
        (Some(""), "a:NoSchedule"),
        (Some("a:NoExecute"), "a:NoExecute"),
        (Some("a:NoExecute b:NoExecute"), "b:NoExecute"),
        (Some("a:NoExecute"), ""),
        (None, "a:NoExecute"),
    ] {
        assert_eq!(
            TaintUpdate { old, new, fleet: LAST, ..requested() }.pass(),
            Some(GuardExemption::Harmless),
            "{old:?} {new}"
        );
    }
}

#[test]
fn tainting_a_lost_node_is_allowed() {
    assert_eq!(
        TaintUpdate { ready: Some(false), fleet: LAST, ..requested() }.pass(),
        Some(GuardExemption::NotHealthy)
    );
    let tainted = TaintUpdate {
        old: Some("a=1:NoExecute"),
        new: "a=2:NoExecute b:NoExecute",
        fleet: LAST,
        ..requested()
    };
    assert_eq!(tainted.pass(), Some(GuardExemption::NotHealthy));
    // The taint of a pool evicts none of the pool's pods: the node is in use, and counts.
    let pool = TaintUpdate {
        old: Some("p=a:NoExecute"),
        new: "p=a:NoExecute x:NoExecute",
        dedicated: "p=a:NoExecute",
        ..requested()
    };
    assert_eq!(TaintUpdate { fleet: LAST, ..pool }.pass(), None);
    // With another value the taint evicts the pods that tolerated it.
    let pool = TaintUpdate {
        old: Some("p=a:NoExecute"),
        new: "p=b:NoExecute",
        dedicated: "p=a:NoExecute",
        ..requested()
    };
    assert_eq!(TaintUpdate { fleet: LAST, ..pool }.pass(), None);
}

#[test]
fn unknown_facts_allow_the_change() {
    assert_eq!(TaintUpdate { fleet: None, ..requested() }.pass(), Some(GuardExemption::Unknown));
    assert_eq!(TaintUpdate { ready: None, fleet: LAST, ..requested() }.pass(), Some(GuardExemption::Unknown));
}

#[test]
fn kubernetes_own_taints_are_never_refused_from_its_components() {
    let dead = "node.kubernetes.io/unreachable:NoExecute node.kubernetes.io/out-of-service=x:NoExecute";
    let system = |user: &str, groups: &[&str]| Some(requester(user, groups));
    for (who, new, dedicated, spoken) in [
        (
            system(
                "system:serviceaccount:kube-system:node-controller",
                &["system:serviceaccounts:kube-system"],
            ),
            dead,
            "",
            true,
        ),
        (system("system:kube-controller-manager", &[]), dead, "", true),
        (system("pools", &[]), dead, "", true),
        (None, dead, "", true),
        (system("ann", &[]), dead, "", false),
        (system("system:kube-controller-manager", &[]), "drain:NoExecute", "", false),
        (
            system("system:kube-controller-manager", &[]),
            "node.kubernetes.io/not-ready:NoExecute drain:NoExecute",
            "",
            false,
        ),
        (system("pools", &[]), "p=a:NoExecute", "p=a:NoExecute", true),
        (system("pools", &[]), "p=b:NoExecute", "p=a:NoExecute", false),
        (system("ann", &[]), "p=a:NoExecute", "p=a:NoExecute", false),
    ] {
        let judged = TaintUpdate { who: who.clone(), new, dedicated, fleet: LAST, ..requested() };
        assert_eq!(judged.pass(), spoken.then_some(GuardExemption::Spoken), "{who:?} {new}");
    }
}

#[test]
fn an_override_allows_only_the_keys_it_names() {
    for (allow, allowed) in [
        ("drain", true),
        ("other, drain", true),
        ("*", true),
        ("true", false),
        ("", false),
        ("drain:NoExecute", false),
    ] {
        let judged = TaintUpdate { allow: Some(allow), fleet: LAST, ..requested() };
        assert_eq!(judged.pass(), allowed.then_some(GuardExemption::Overridden), "{allow}");
    }
    let two = TaintUpdate {
        new: "drain:NoExecute more=x:NoExecute",
        allow: Some("drain"),
        fleet: LAST,
        ..requested()
    };
    assert!(two.rejected().contains("=\"drain,more\""), "{}", two.rejected());
}

#[test]
fn nodes_are_counted() {
    let nodes = [
        (true, "", ""),
        (true, "a:NoExecute", "p=a:NoExecute"),
        (false, "a:NoExecute", ""),
        (false, "", ""),
        (true, "p=a:NoExecute b:NoSchedule", "p=a:NoExecute"),
        // A user has added it by hand: on a node without a pool, and on another pool's.
        (true, "p=a:NoExecute", ""),
        (true, "p=a:NoExecute", "p=b:NoExecute"),
    ];
    let nodes = nodes.map(|(ready, text, own)| (ready, taints(text), taints(own)));
    let fleet = FleetHealth::count(nodes.iter().map(|(ready, taints, own)| (*ready, &taints[..], &own[..])));
    assert_eq!(fleet, FleetHealth { total: 7, healthy: 2, tainted: 4, recently_admitted: 0 });
}
