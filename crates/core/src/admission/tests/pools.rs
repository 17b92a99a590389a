//! Tests the validation of pools, alone and together.

use super::{pool, pool_node};
use crate::admission::LabelSelector;
use crate::admission::pool::*;
use crate::taint::TaintEffect;
use crate::testkit::taint;
use crate::time::Wall;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// Without the finding about a label like that of [`pool`], which reads well in tests.
fn reasons(assessment: &PoolAssessment) -> String {
    let message = assessment.findings.iter().map(|finding| finding.reason);
    let reasons: Vec<&str> =
        message.filter(|reason| *reason != Reason::LabelOfKubelets).map(Reason::as_str).collect();
    for finding in &assessment.findings {
        assert!(!finding.message.is_empty() && !finding.message.ends_with('.'), "{finding:?}");
    }
    alloc::format!("{} {}", assessment.validity.as_str(), reasons.join(" ")).trim().into()
}

fn alone(pool: DedicatedPool) -> String {
    reasons(&assess(&[pool], None, RecordTrust::Pools)[0])
}

#[test]
fn faults_of_a_pool_by_itself() {
    let changed = |change: &dyn Fn(&mut DedicatedPool)| {
        let mut one = pool("a", 1);
        change(&mut one);
        alone(one)
    };
    assert_eq!(changed(&|_| {}), "Applied");
    for key in ["", "a b", "/x", "a/b/c"] {
        assert_eq!(changed(&|pool| pool.taint.key = key.into()), "Refused BadTaint", "{key}");
    }
    assert_eq!(changed(&|pool| pool.taint.value = "a b".into()), "Refused BadTaint");
    assert_eq!(
        changed(&|pool| pool.taint.effects = vec![TaintEffect::new("noschedule")]),
        "Refused BadTaint"
    );
    assert_eq!(
        changed(&|pool| pool.taint.effects = vec![TaintEffect::PreferNoSchedule]),
        "Applied TaintRepelsNoPods"
    );
    for (key, reserved) in [
        ("node.kubernetes.io/not-ready", true),
        ("node-role.kubernetes.io/control-plane", true),
        ("node-role.kubernetes.io/master", true),
        ("kubernetes.io/x", true),
        ("x.k8s.io/y", true),
        ("node-role.kubernetes.io/gpu", false),
        ("node-restriction.kubernetes.io/pool", false),
        ("example.com.node-restriction.kubernetes.io/pool", false),
        ("mykubernetes.io/x", false),
        ("nvidia.com/gpu", false),
    ] {
        let taint = changed(&|pool| pool.taint.key = key.into());
        assert_eq!(taint, if reserved { "Refused ReservedTaint" } else { "Applied" }, "{key}");
        let label = PoolLabel { key: key.into(), value: "v".into() };
        let label = changed(&|pool| pool.label = Some(label.clone()));
        assert_eq!(label, if reserved { "Refused ReservedLabel" } else { "Applied" }, "{key}");
    }
    let label = |key: &str, value: &str| PoolLabel { key: key.into(), value: value.into() };
    assert_eq!(changed(&|pool| pool.label = Some(label("a b", ""))), "Refused BadLabel");
    assert_eq!(changed(&|pool| pool.label = Some(label("a", "/"))), "Refused BadLabel");
    assert_eq!(changed(&|pool| pool.members = PoolMembers::default()), "Refused NoMembers");
    let odd = || Some(LabelSelector::of_labels([("a b", "")]));
    assert_eq!(changed(&|pool| pool.members.selector = odd()), "Refused BadSelector");
    assert_eq!(changed(&|pool| pool.users.namespaces = odd()), "Refused BadSelector");
    assert_eq!(changed(&|pool| pool.users = PoolUsers::default()), "Applied NoUsers");
    let all = || Some(LabelSelector::default());
    assert_eq!(changed(&|pool| pool.users.namespaces = all()), "Applied AllNamespacesMayUse");
    assert_eq!(changed(&|pool| (pool.leaving, pool.taint.key) = (true, "".into())), "Applied");
}

#[test]
fn of_two_pools_with_the_same_claim_the_older_one_wins() {
    let same_taint = DedicatedPool {
        taint: pool("a", 1).taint,
        label: Some(PoolLabel { key: "other".into(), value: "x".into() }),
        ..pool("b", 2)
    };
    let same_label = DedicatedPool { label: Some(pool("a", 1).label()), ..pool("c", 3) };
    let all = assess(&[same_label, same_taint.clone(), pool("a", 1)], None, RecordTrust::Pools);
    let reported: Vec<String> = all.iter().map(reasons).collect();
    assert_eq!(reported, ["Refused LabelOverlaps", "Refused TaintOverlaps", "Applied"]);
    // The same age: by name. A pool that is refused or being deleted is in no other pool's way.
    let twin = DedicatedPool { created: Some(Wall::from_secs(1)), ..same_taint.clone() };
    let reported: Vec<String> =
        assess(&[twin, pool("a", 1)], None, RecordTrust::Pools).iter().map(reasons).collect();
    assert_eq!(reported, ["Refused TaintOverlaps", "Applied"]);
    let gone = DedicatedPool { leaving: true, ..pool("a", 1) };
    assert_eq!(reasons(&assess(&[gone, same_taint.clone()], None, RecordTrust::Pools)[1]), "Applied");
    let broken = DedicatedPool { members: PoolMembers::default(), ..pool("a", 1) };
    assert_eq!(reasons(&assess(&[broken, same_taint], None, RecordTrust::Pools)[1]), "Applied");
}

#[test]
fn faults_of_a_pool_on_these_nodes() {
    let open = pool_node("open", "", "");
    let reported = |pools: &[DedicatedPool], nodes: &[PoolNode]| -> Vec<String> {
        assess(pools, Some(nodes), RecordTrust::Pools).iter().map(reasons).collect()
    };
    assert_eq!(reported(&[pool("a", 1)], &[open.clone(), pool_node("n", "pool=a", "")]), ["Applied"]);
    assert_eq!(reported(&[pool("a", 1)], core::slice::from_ref(&open)), ["Applied SelectsNothing"]);
    let control = pool_node("c", "pool=a node-role.kubernetes.io/control-plane", "");
    assert_eq!(
        reported(&[pool("a", 1)], &[open.clone(), control]),
        ["Applied SelectsNothing ControlPlaneNodes"]
    );
    let foreign = pool_node("n", "pool=a", "dedicated=x:NoSchedule");
    assert_eq!(reported(&[pool("a", 1)], &[open.clone(), foreign]), ["Applied NodeConflict"]);
    let both = DedicatedPool {
        members: PoolMembers { names: vec!["n".into()], ..PoolMembers::default() },
        ..pool("b", 2)
    };
    assert_eq!(
        reported(&[both, pool("a", 1)], &[open, pool_node("n", "pool=a", "")]),
        ["Applied NodesOverlap", "Applied"]
    );
}

#[test]
fn the_pool_that_has_the_nodes_is_named() {
    let nodes = [pool_node("n", "pool=a", ""), pool_node("open", "", "")];
    let both = DedicatedPool {
        members: PoolMembers { names: vec!["n".into()], ..PoolMembers::default() },
        ..pool("b", 2)
    };
    let all = assess(&[both, pool("a", 1)], Some(&nodes), RecordTrust::Pools);
    let expected =
        "these nodes belong to another pool (a) and stay there: n; select each node in only one pool";
    let mut others = all[0].findings.iter().filter(|finding| finding.reason == Reason::NodesOverlap);
    assert_eq!(others.next().map(|finding| &*finding.message), Some(expected));
}

#[test]
fn some_node_stays_open_to_all_pods() {
    let validity = |pools: &[DedicatedPool], nodes: &[PoolNode]| -> Vec<PoolValidity> {
        assess(pools, Some(nodes), RecordTrust::Pools).iter().map(|one| one.validity).collect()
    };
    let (a, b) = (pool_node("a", "pool=a", ""), pool_node("b", "pool=b", ""));
    let control = pool_node(
        "c",
        "node-role.kubernetes.io/control-plane",
        "node-role.kubernetes.io/control-plane:NoSchedule",
    );
    let by_hand = pool_node("h", "", "mine=x:NoSchedule");
    let shaky = pool_node("s", "", "node.kubernetes.io/not-ready:NoExecute");
    let pools = [pool("a", 1), pool("b", 2)];
    use PoolValidity::{Applied, Frozen};
    // The older pool is served first; the pool that would take the last node takes none.
    assert_eq!(validity(&pools, &[a.clone(), b.clone()]), [Applied, Frozen]);
    assert_eq!(validity(&pools, &[a.clone(), b.clone(), control, by_hand.clone()]), [Applied, Frozen]);
    assert_eq!(validity(&pools, &[a.clone(), b.clone(), shaky]), [Applied, Applied]);
    assert_eq!(validity(&pools[..1], core::slice::from_ref(&a)), [Frozen]);
    // A control plane node that accepts all pods, as on a small cluster, is an open node.
    let small = pool_node("c", "node-role.kubernetes.io/control-plane", "");
    assert_eq!(validity(&pools, &[a.clone(), b.clone(), small]), [Applied, Applied]);
    // A pool that repels no pods closes no node.
    let soft = DedicatedPool {
        taint: PoolTaint { effects: vec![TaintEffect::PreferNoSchedule], ..pool("a", 1).taint },
        ..pool("a", 1)
    };
    assert_eq!(validity(&[soft], core::slice::from_ref(&a)), [Applied]);
    // No node was open before: no pool is the cause.
    assert_eq!(validity(&pools[..1], &[PoolNode { taints: by_hand.taints, ..a }]), [Applied]);
}

#[test]
fn a_pool_keeps_its_nodes_when_the_last_open_node_disappears() {
    let held = PoolNode {
        record: Some("a".into()),
        ..pool_node("n", "pool=a dedicated=a", "dedicated=a:NoSchedule")
    };
    let new = pool_node("m", "pool=a", "");
    let pools = [pool("a", 1)];
    let nodes = [held.clone(), new.clone()];
    let all = assess(&pools, Some(&nodes), RecordTrust::Pools);
    assert_eq!(reasons(&all[0]), "Frozen LocksOutSystem");
    assert!(all[0].findings.iter().any(|finding| finding.message.contains(": m;")), "{:?}", all[0].findings);
    let validity = [all[0].validity];
    assert_eq!(reconcile(&pools, &validity, &held, RecordTrust::Pools).pool, Some(0));
    assert_eq!(reconcile(&pools, &validity, &new, RecordTrust::Pools), NodePlan::default());
    assert_eq!(assess(&pools, Some(&[held]), RecordTrust::Pools)[0].validity, PoolValidity::Applied);
}

#[test]
fn a_pool_keeps_a_node_that_an_older_pool_claims() {
    let older = DedicatedPool {
        members: PoolMembers { names: vec!["n".into()], ..PoolMembers::default() },
        ..pool("old", 0)
    };
    let pools = [pool("a", 1), older];
    let held = PoolNode { record: Some("a".into()), ..pool_node("n", "pool=a", "dedicated=a:NoSchedule") };
    let free = PoolNode { record: None, ..held.clone() };
    let owner = |node: &PoolNode| reconcile(&pools, &[PoolValidity::Applied; 2], node, RecordTrust::Pools);
    assert_eq!(owner(&held).pool, Some(0));
    assert_eq!(owner(&free).conflict.map(|conflict| conflict.pool), Some(1));
    let nodes = [held, pool_node("open", "", "")];
    let all = assess(&pools, Some(&nodes), RecordTrust::Pools);
    assert_eq!([reasons(&all[0]), reasons(&all[1])], ["Applied", "Applied NodesOverlap"]);
}

#[test]
fn a_label_that_kubelets_may_set_is_reported_and_the_default_is_not_one() {
    let message = |key: Option<&str>, name: &str| {
        let label = key.map(|key| PoolLabel { key: key.into(), value: "v".into() });
        let assessed =
            assess(&[DedicatedPool { label, ..pool(name, 1) }], None, RecordTrust::Pools).remove(0);
        let reasons: Vec<&str> = assessed.findings.iter().map(|finding| finding.reason.as_str()).collect();
        (assessed.validity, reasons.join(" "))
    };
    let plain = |reasons: &str| (PoolValidity::Applied, reasons.into());
    for key in
        ["dedicated", "example.com/pool", "mykubernetes.io/x", "restriction.kubernetes.io.example.com/x"]
    {
        assert_eq!(message(Some(key), "a"), plain("LabelOfKubelets"), "{key}");
    }
    for key in ["node-restriction.kubernetes.io/x", "example.com.node-restriction.kubernetes.io/x"] {
        assert_eq!(message(Some(key), "a"), plain(""), "{key}");
    }
    assert_eq!(message(Some("node-role.kubernetes.io/gpu"), "a"), plain(""));
    assert_eq!(message(None, "a"), plain(""));
    let own = DedicatedPool { label: None, ..pool("a.b", 1) }.label();
    assert_eq!((&*own.key, &*own.value), ("node-restriction.kubernetes.io/pool.a.b", "true"));
    assert_eq!(message(None, &"x".repeat(58)), plain(""));
    assert_eq!(message(None, &"x".repeat(59)), (PoolValidity::Rejected, "BadLabel".into()));
}

#[test]
fn effects_are_added_once() {
    let mut one = pool("a", 1);
    assert_eq!(one.taints(), [taint("dedicated=a:NoSchedule")]);
    one.taint.effects = ["NoExecute", "PreferNoSchedule", "NoExecute"].map(TaintEffect::new).into();
    assert_eq!(one.taints(), [taint("dedicated=a:NoExecute"), taint("dedicated=a:PreferNoSchedule")]);
    assert_eq!(one.barrier(), [taint("dedicated=a:NoExecute")]);
}

/// Except on a node of a pool with a label of the same key, which is a conflict.
#[test]
fn the_label_of_a_pool_on_a_node_that_is_not_its_own_is_a_finding() {
    let (a, b) = (pool("a", 3), pool("b", 1));
    let mut other = pool("c", 2);
    other.label = Some(PoolLabel { key: "team".into(), value: "c".into() });
    other.taint.key = "team".into();
    let pools = [a, b, other];
    for (labels, expected) in [
        ("pool=a dedicated=a", "Applied"),
        ("dedicated=a", "Applied SelectsNothing StrayLabel"),
        ("dedicated=other", "Applied SelectsNothing"),
        ("pool=b dedicated=a", "Applied SelectsNothing"),
        ("pool=c dedicated=a", "Applied SelectsNothing StrayLabel"),
    ] {
        let nodes = [pool_node("open", "", ""), pool_node("n", labels, "")];
        let found = reasons(&assess(&pools, Some(&nodes), RecordTrust::Pools)[0]);
        assert_eq!(found, expected, "{labels}");
    }
}

#[test]
fn a_conflict_names_its_first_node_and_counts_the_others() {
    for (nodes, expected) in [(1, None), (2, Some(" (and 1 more nodes)")), (4, Some(" (and 3 more nodes)"))] {
        let mut all: Vec<PoolNode> =
            (0..nodes).map(|at| pool_node(&format!("n{at}"), "pool=a", "dedicated=x:NoSchedule")).collect();
        all.push(pool_node("open", "", ""));
        let found = assess(&[pool("a", 1)], Some(&all), RecordTrust::Pools).remove(0).findings;
        let conflict = found.iter().find(|one| one.reason == Reason::NodeConflict).expect("another value");
        let more = conflict.message.find(" (and ").map(|at| &conflict.message[at..]);
        assert_eq!(more, expected);
    }
}
