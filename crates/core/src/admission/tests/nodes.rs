//! Tests how pools change nodes, step by step.

use super::{labels, pool, pool_node};
use crate::admission::pool::*;
use crate::admission::request::PodIdentity;
use crate::fact::PodOwnerKind;
use crate::identity::{NodeName, PodId, PodName, Uid};
use crate::testkit::taint;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

/// Applies the edits.
fn apply(node: &mut PoolNode, edits: &NodeEdits) {
    for gone in &edits.remove_taints {
        let at = node.taints.iter().position(|one| one == gone).expect("the taint exists");
        node.taints.remove(at);
    }
    node.taints.extend(edits.add_taints.iter().cloned());
    for gone in &edits.remove_labels {
        assert_eq!(node.labels.remove(&gone.key).as_ref(), Some(&gone.value));
    }
    for new in &edits.add_labels {
        assert_eq!(node.labels.insert(new.key.clone(), new.value.clone()), None);
    }
    match &edits.record {
        Some(RecordEdit::Write(text)) => node.record = Some(text.clone()),
        Some(RecordEdit::Remove) => node.record = None,
        None => {}
    }
}

fn settle(pools: &[DedicatedPool], node: &mut PoolNode) -> NodePlan {
    let validity = vec![PoolValidity::Applied; pools.len()];
    let outcome = reconcile(pools, &validity, node, RecordTrust::Pools);
    apply(node, &outcome.edits);
    assert!(reconcile(pools, &validity, node, RecordTrust::Pools).edits.is_empty(), "{node:?}");
    outcome
}

fn leaving(pool: &DedicatedPool) -> DedicatedPool {
    DedicatedPool { leaving: true, ..pool.clone() }
}

#[test]
fn a_node_joins_and_leaves() {
    let a = pool("a", 1);
    let plain = pool_node("n", "pool=a", "mine:NoSchedule");
    let mut one = plain.clone();
    assert_eq!(settle(core::slice::from_ref(&a), &mut one).pool, Some(0));
    assert_eq!(one.taints, [taint("mine:NoSchedule"), taint("dedicated=a:NoSchedule")]);
    assert_eq!(one.labels, labels("pool=a dedicated=a"));
    assert_eq!(one.record.as_deref(), Some("a taint:dedicated=a:NoSchedule label:dedicated=a"));
    // It no longer matches the selector.
    let mut left = one.clone();
    left.labels.remove("pool");
    assert_eq!(settle(core::slice::from_ref(&a), &mut left).pool, None);
    assert_eq!((left.taints, left.record), (plain.taints.clone(), None));
    // The pool is deleted.
    settle(&[leaving(&a)], &mut one);
    assert_eq!(one, plain);
}

#[test]
fn marks_that_existed_before_the_pool_belong_to_it() {
    let a = pool("a", 1);
    for before in ["dedicated=a:NoSchedule", ""] {
        let mut one = pool_node("n", "pool=a dedicated=a zone=z", before);
        one.taints.push(taint("dedicated=other:NoExecute"));
        assert_eq!(settle(core::slice::from_ref(&a), &mut one).pool, Some(0));
        assert_eq!(one.record.as_deref(), Some("a taint:dedicated=a:NoSchedule label:dedicated=a"));
        settle(&[leaving(&a)], &mut one);
        assert_eq!(one, pool_node("n", "pool=a zone=z", "dedicated=other:NoExecute"));
    }
}

#[test]
fn a_node_that_no_pool_wants_loses_the_marks_of_known_pools_whatever_its_record_says() {
    let (a, b) = (pool("a", 1), pool("b", 2));
    let own = "dedicated=a:NoSchedule mine:NoSchedule";
    let records = [
        None,
        Some(""),
        Some("{}"),
        Some("a"),
        Some("b"),
        Some("a taint:dedicated=a:NoSchedule"),
        Some("a label:dedicated=a"),
        Some("b taint:dedicated=a:NoSchedule"),
        Some("ghost label:dedicated=a"),
    ];
    for (pools, record) in [[a.clone(), b.clone()], [leaving(&a), b.clone()], [b.clone(), leaving(&a)]]
        .into_iter()
        .flat_map(|pools| records.map(|record| (pools.clone(), record)))
    {
        let mut left =
            PoolNode { record: record.map(Into::into), ..pool_node("n", "dedicated=a zone=z", own) };
        assert_eq!(settle(&pools, &mut left).pool, None);
        assert_eq!(left, pool_node("n", "zone=z", "mine:NoSchedule"), "{record:?}");
    }
    // Other values are not the pools' own, and a node that another pool wants keeps a taint of another client.
    let mut other = pool_node("n", "dedicated=x", "dedicated=x:NoSchedule");
    settle(&[a.clone(), b.clone()], &mut other);
    assert_eq!(other, pool_node("n", "dedicated=x", "dedicated=x:NoSchedule"));
    let c = DedicatedPool { taint: PoolTaint { key: "c".into(), ..PoolTaint::default() }, ..b };
    let mut wanted = pool_node("n", "pool=b", "dedicated=a:NoSchedule");
    assert_eq!(settle(&[a, c], &mut wanted).pool, Some(1));
    assert_eq!(wanted.taints, [taint("dedicated=a:NoSchedule"), taint("c:NoSchedule")]);
}

/// A record without marks, written while the node is a member, does not make its marks another client's.
#[test]
fn a_forged_record_of_a_member_is_written_again_with_all_marks() {
    let a = pool("a", 1);
    let mut one = pool_node("n", "pool=a", "");
    settle(core::slice::from_ref(&a), &mut one);
    let before = one.clone();
    for forged in ["{}", "", "a", "a label:dedicated=a", "ghost taint:dedicated=a:NoSchedule"] {
        one.record = Some(forged.into());
        settle(core::slice::from_ref(&a), &mut one);
        assert_eq!(one, before, "{forged}");
    }
}

#[test]
fn a_removed_mark_is_restored_and_an_overwritten_one_is_a_conflict() {
    let a = pool("a", 1);
    let mut one = pool_node("n", "pool=a", "");
    settle(core::slice::from_ref(&a), &mut one);
    one.taints.clear();
    settle(core::slice::from_ref(&a), &mut one);
    assert_eq!(one.taints, [taint("dedicated=a:NoSchedule")]);
    one.taints[0].value = "theirs".into();
    let outcome = settle(core::slice::from_ref(&a), &mut one);
    let message = outcome.conflict.expect("another client changed the taint").message;
    assert!(message.contains("dedicated=theirs:NoSchedule") && message.contains("node n"), "{message}");
    assert_eq!(one, pool_node("n", "pool=a", "dedicated=theirs:NoSchedule"));
    settle(&[leaving(&a)], &mut one);
    assert_eq!(one, pool_node("n", "pool=a", "dedicated=theirs:NoSchedule"));
    // A label with another value is a conflict, too.
    let mut labelled = pool_node("n", "pool=a dedicated=b", "");
    assert!(settle(core::slice::from_ref(&a), &mut labelled).conflict.is_some());
    assert_eq!(labelled, pool_node("n", "pool=a dedicated=b", ""));
}

#[test]
fn a_label_that_attracts_pods_to_a_node_outside_the_pool_is_removed() {
    let a = DedicatedPool { label: None, ..pool("a", 1) };
    let own = "node-restriction.kubernetes.io/pool.a";
    let stray = |text: &str, taints: &str| pool_node("n", &alloc::format!("{text} {own}=true"), taints);
    let mut one = stray("pool=b", "");
    assert_eq!(settle(core::slice::from_ref(&a), &mut one).pool, None);
    assert_eq!(one.labels, labels("pool=b"));
    // Another value attracts no pods.
    let mut other = pool_node("n", &alloc::format!("{own}=false"), "");
    settle(core::slice::from_ref(&a), &mut other);
    assert!(other.labels.contains_key(own));
    // On the pool's own node it stays.
    let mut member = stray("pool=a", "");
    assert_eq!(settle(core::slice::from_ref(&a), &mut member).pool, Some(0));
    assert!(member.labels.contains_key(own));
    // A pool that is refused removes nothing.
    let rejected =
        reconcile(core::slice::from_ref(&a), &[PoolValidity::Rejected], &stray("", ""), RecordTrust::Pools);
    assert!(rejected.edits.is_empty());
    // A label that selects nodes may be why a node belongs to another pool.
    let by_label =
        DedicatedPool { label: Some(PoolLabel { key: "pool".into(), value: "b".into() }), ..pool("c", 2) };
    let mut selected = pool_node("n", "pool=b", "");
    settle(&[a, by_label], &mut selected);
    assert_eq!(selected.labels, labels("pool=b"));
}

#[test]
fn a_changed_pool_and_a_changed_owner() {
    let a = pool("a", 1);
    let mut one = pool_node("n", "pool=a", "");
    settle(core::slice::from_ref(&a), &mut one);
    let mut changed = a.clone();
    changed.taint.value = "new".into();
    changed.label = Some(PoolLabel { key: "dedicated".into(), value: "new".into() });
    changed.applied_marks = a.marks();
    settle(core::slice::from_ref(&changed), &mut one);
    assert_eq!(
        (&one.taints[..], &one.labels),
        (&[taint("dedicated=new:NoSchedule")][..], &labels("pool=a dedicated=new"))
    );
    // The node moves to another pool in one step.
    let b = pool("b", 2);
    one.labels.insert("pool".into(), "b".into());
    assert_eq!(settle(&[changed, b.clone()], &mut one).pool, Some(1));
    assert_eq!(one.taints, [taint("dedicated=b:NoSchedule")]);
    settle(&[leaving(&b)], &mut one);
    assert_eq!(one, pool_node("n", "pool=b", ""));
}

#[test]
fn a_pools_own_label_does_not_keep_a_node_in_it() {
    let mut a = pool("a", 1);
    a.members = PoolMembers { names: vec!["n".into()], selector: None };
    let mut one = pool_node("n", "", "");
    settle(core::slice::from_ref(&a), &mut one);
    a.members = PoolMembers { names: Vec::new(), selector: pool("a", 1).members.selector };
    a.label = Some(PoolLabel { key: "pool".into(), value: "a".into() });
    a.applied_marks = pool("a", 1).marks();
    settle(core::slice::from_ref(&a), &mut one);
    assert_eq!(one, pool_node("n", "", ""));
}

#[test]
fn nl_61_a_kubelet_cannot_have_a_taint_removed_by_claiming_it() {
    let a = pool("a", 1);
    let quarantined = |record: &str| PoolNode {
        record: Some(record.into()),
        ..pool_node("n", "", "quarantine=yes:NoExecute node.kubernetes.io/not-ready:NoExecute")
    };
    for record in [
        "a taint:quarantine=yes:NoExecute taint:node.kubernetes.io/not-ready=:NoExecute",
        "gone taint:quarantine=yes:NoExecute",
    ] {
        let node = quarantined(record);
        let outcome =
            reconcile(&[a.clone(), leaving(&a)], &[PoolValidity::Applied; 2], &node, RecordTrust::Pools);
        assert_eq!(outcome.edits.remove_taints, []);
        // Fully trusted, it removes what is not Kubernetes' own.
        let believed = reconcile(&[], &[], &node, RecordTrust::Record).edits.remove_taints;
        assert_eq!(believed, [taint("quarantine=yes:NoExecute")]);
    }
}

#[test]
fn an_unknown_pool_is_cleaned_up_by_the_record() {
    let mut one = pool_node("n", "pool=a", "");
    settle(&[pool("a", 1)], &mut one);
    let edits = reconcile(&[], &[], &one, RecordTrust::Record).edits;
    apply(&mut one, &edits);
    assert_eq!(one, pool_node("n", "pool=a", ""));
}

#[test]
fn a_refused_pool_keeps_its_nodes_closed() {
    let a = pool("a", 1);
    let mut one = pool_node("n", "pool=a", "");
    settle(core::slice::from_ref(&a), &mut one);
    let mut broken = a.clone();
    broken.taint.key = "a b".into();
    broken.applied_marks = a.marks();
    let validity = [PoolValidity::Rejected];
    assert_eq!(
        reconcile(core::slice::from_ref(&broken), &validity, &one, RecordTrust::Pools),
        NodePlan::default()
    );
    // Nor does it take new ones; and it can be deleted.
    let new = pool_node("m", "pool=a", "");
    assert_eq!(
        reconcile(core::slice::from_ref(&broken), &validity, &new, RecordTrust::Pools),
        NodePlan::default()
    );
    settle(&[leaving(&broken)], &mut one);
    assert_eq!(one, pool_node("n", "pool=a", ""));
}

#[test]
fn a_record_is_parsed_as_written_and_invalid_parts_are_left_out() {
    let text = "a taint:dedicated=a:NoSchedule taint:x.com/y=:NoExecute label:dedicated=a";
    let record = NodeRecordAnnotation::parse(text);
    assert_eq!((record.to_string(), record.marks.len()), (text.to_string(), 3));
    for odd in
        ["", " ", "a", "a taint", "a taint:x", "a taint:x=y", "a label:x", "a lable:x=y", "a =", "a :=:"]
    {
        assert_eq!(NodeRecordAnnotation::parse(odd).marks, [], "{odd}");
    }
    assert_eq!(NodeRecordAnnotation::parse(" a  label:x=y invalid").to_string(), "a label:x=y");
}

#[test]
fn marks_that_the_status_has_to_remember() {
    let a = DedicatedPool {
        applied_marks: vec![AppliedMark::Label { key: "old".into(), value: "1".into() }],
        ..pool("a", 1)
    };
    assert_eq!(remembered(&a, &[]), a.marks());
    let with = |record: &str| PoolNode { record: Some(record.into()), ..pool_node("n", "", "") };
    let both = remembered(&a, &[with("a label:old=1 label:never=2")]);
    assert_eq!(both.len(), 3);
    let going = leaving(&a);
    assert_eq!(
        remembered(&going, &[with("a label:dedicated=a")]),
        [AppliedMark::Label { key: "dedicated".into(), value: "a".into() }]
    );
    assert_eq!(remembered(&going, &[pool_node("n", "", "")]), []);
    // The same mark in the name of another pool is not its own.
    assert_eq!(remembered(&going, &[with("b label:dedicated=a")]), []);
}

fn resident(name: &str, node: &str) -> PodOnNodeFact {
    PodOnNodeFact {
        id: PodId::new(Uid::new(name), PodName::new("ns", name)),
        identity: PodIdentity { namespace: "ns".into(), ..PodIdentity::default() },
        node: NodeName::new(node),
        tolerations: Vec::new(),
        leaving: false,
    }
}

#[test]
fn a_status_counts_pods_and_names_some() {
    let pools = [
        DedicatedPool { daemon_sets: DaemonSetPolicy::Allow, ..pool("a", 1) },
        DedicatedPool { placement: PoolPlacement::Allowed, ..pool("b", 2) },
    ];
    let mut nodes =
        vec![pool_node("a1", "pool=a", ""), pool_node("b1", "pool=b", ""), pool_node("free", "", "")];
    nodes.push(pool_node("a2", "pool=a dedicated=x", ""));
    let nodes: Vec<&PoolNode> = nodes.iter().collect();
    let (a, b, other) = (labels("team=a"), labels("team=b"), labels("team=c"));
    let daemon = PodIdentity { owner: PodOwnerKind::DaemonSet, ..PodIdentity::default() };
    let mut pods = vec![
        (resident("own", "a1"), Some(&a)),
        (resident("astray", "free"), Some(&a)),
        (resident("allowed", "free"), Some(&b)),
        (resident("unknown", "a1"), None),
        (PodOnNodeFact { identity: daemon.clone(), ..resident("agent", "a1") }, Some(&other)),
        (PodOnNodeFact { identity: daemon, ..resident("zealot", "b1") }, Some(&other)),
        (
            PodOnNodeFact { tolerations: super::tolerations("- Exists"), ..resident("smuggled", "b1") },
            Some(&other),
        ),
    ];
    let names: Vec<String> = (0..12).map(|at| alloc::format!("other-{at:02}")).collect();
    pods.extend(names.iter().map(|name| (resident(name, "a1"), Some(&other))));
    let counted = pods.iter().map(|(pod, namespace)| PodOnNode {
        uid: pod.id.uid(),
        name: pod.id.name(),
        identity: &pod.identity,
        namespace: *namespace,
        node: pod.node.as_str(),
        tolerations: &pod.tolerations,
        leaving: pod.leaving,
    });
    let counted = counted.collect();
    let validity = [PoolValidity::Applied; 2];
    let reported = status(&pools, &validity, &nodes, counted, &PoolExemptions::default(), RecordTrust::Pools);
    let counts = |one: &PoolStatus| {
        [one.nodes, one.conflicts, one.pods, one.elsewhere, one.exempt, one.unknown, one.violations]
    };
    // Where other pods are refused, a pod of unknown membership counts as unauthorized.
    assert_eq!(counts(&reported[0]), [1, 1, 1, 1, 1, 1, 13]);
    assert_eq!(counts(&reported[1]), [1, 0, 0, 0, 0, 0, 2]);
    assert_eq!(
        (reported[0].violating_pods.len(), reported[0].violating_pods[0].pod.name()),
        (NAMED_MAX, "other-00")
    );
    assert!(reported[0].violating_pods[0].message.contains("before the taint"));
    assert!(
        reported[1].violating_pods[0].message.contains("toleration 0 (every taint)"),
        "{:?}",
        reported[1].violating_pods
    );
}

/// A pod that a list leaves out is gone, and nothing is kept of pods that are gone.
#[test]
fn residents_come_and_go_with_lists_and_changes() {
    let mut all = PodsOnNodes::default();
    let names = |all: &PodsOnNodes| -> Vec<String> {
        all.of(&|_| true, &|_| false).iter().map(|pod| pod.name.name().into()).collect()
    };
    assert!(!all.put(resident("early", "n1")) && !all.end(), "a partial state, before any list");
    all.begin();
    assert!(all.put(resident("a", "n1")) && all.put(resident("b", "n1")) && !all.is_synced());
    assert!(all.end() && all.is_synced(), "the first complete list is a change");
    assert!(!all.put(resident("a", "n1")), "the same list again is not a change");
    let tolerant = PodOnNodeFact { tolerations: super::tolerations("- Exists"), ..resident("a", "n1") };
    assert!(all.put(tolerant.clone()));
    assert_eq!(
        all.of(&|_| true, &|_| false).iter().map(|pod| pod.tolerations.len()).collect::<Vec<_>>(),
        [1, 0]
    );
    all.begin();
    assert!(!all.put(tolerant.clone()) && all.put(resident("c", "n2")));
    assert!(all.put(PodOnNodeFact { leaving: true, ..tolerant }), "it is being deleted now");
    assert!(all.end(), "b is not in it");
    assert_eq!(names(&all), ["a", "c"]);
    assert!(all.remove(&Uid::new("c"), None) && !all.remove(&Uid::new("c"), None));
    assert_eq!(all.of(&|node| node.as_str() == "n2", &|_| false).len(), 0);
    assert_eq!(all.of(&|_| false, &|identity| &*identity.namespace == "ns").len(), 1);
    all.begin();
    assert!(all.end() && all.is_empty());
}
