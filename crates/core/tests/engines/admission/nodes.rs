//! Tests pools and nodes over time: creation, edits by other clients, deletion.

use crate::admission::cases::any_pool;
use crate::cases::cases;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeSet;
use taintward_core::admission::pool::{
    AppliedMark, DedicatedPool, NodeEdits, NodePlan, NodeRecordAnnotation, PoolNode, PoolValidity,
    RecordEdit, RecordTrust, assess, reconcile, remembered,
};
use taintward_core::taint::{Taint, TaintEffect};
use taintward_core::testkit::{taint, taint_of};

/// A change of the node by another client.
#[derive(Clone, Debug)]
enum Foreign {
    Taint(Taint),
    Untaint(&'static str, &'static str),
    Label(&'static str, &'static str),
    Unlabel(&'static str),
}

fn any_foreign() -> impl Strategy<Value = Foreign> {
    let key = || select(vec!["dedicated", "mine"]);
    let value = || select(vec!["a", "b", "x"]);
    let effect = || select(vec!["NoSchedule", "NoExecute"]);
    prop_oneof![
        (key(), value(), effect())
            .prop_map(|(key, value, effect)| Foreign::Taint(taint_of(key, value, effect))),
        (key(), effect()).prop_map(|(key, effect)| Foreign::Untaint(key, effect)),
        (select(vec!["dedicated", "zone", "pool"]), value())
            .prop_map(|(key, value)| Foreign::Label(key, value)),
        select(vec!["dedicated", "zone", "pool"]).prop_map(Foreign::Unlabel),
    ]
}

fn disturb(node: &mut PoolNode, foreign: &Foreign) {
    match foreign {
        Foreign::Taint(new) => {
            node.taints.retain(|one| !one.is_same(new) || one.value == new.value);
            if !node.taints.contains(new) {
                node.taints.push(new.clone());
            }
        }
        Foreign::Untaint(key, effect) => {
            node.taints.retain(|one| *one.key != **key || one.effect != TaintEffect::new(effect));
        }
        Foreign::Label(key, value) => _ = node.labels.insert((*key).into(), (*value).into()),
        Foreign::Unlabel(key) => _ = node.labels.remove(*key),
    }
}

fn apply(node: &mut PoolNode, edits: &NodeEdits) {
    for gone in &edits.remove_taints {
        let at = node
            .taints
            .iter()
            .position(|one| one == gone)
            .expect("only an existing taint or label is removed");
        node.taints.remove(at);
    }
    for new in &edits.add_taints {
        assert!(!node.taints.iter().any(|one| one.is_same(new)), "an API server would refuse {new}");
        node.taints.push(new.clone());
    }
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

/// Everything on a node, as marks.
fn marks(node: &PoolNode) -> BTreeSet<AppliedMark> {
    let taint = |one: &Taint| AppliedMark::Taint {
        key: one.key.clone(),
        value: one.value.clone(),
        effect: one.effect.clone(),
    };
    let labels =
        node.labels.iter().map(|(key, value)| AppliedMark::Label { key: key.clone(), value: value.clone() });
    node.taints.iter().map(taint).chain(labels).collect()
}

/// Returns the recorded marks that exist on the node.
fn ours(node: &PoolNode) -> BTreeSet<AppliedMark> {
    let record = node.record.as_deref().map(NodeRecordAnnotation::parse).unwrap_or_default();
    let there = marks(node);
    record.marks.into_iter().filter(|mark| there.contains(mark)).collect()
}

fn theirs(node: &PoolNode) -> BTreeSet<AppliedMark> {
    marks(node).difference(&ours(node)).cloned().collect()
}

/// The marks of pools on this node, which is outside of these pools: labels, and taints if no pool wants it. A key by
/// which some pool selects does not count, nor that of the pool that claims the node.
fn strays(
    node: &PoolNode,
    pools: &[DedicatedPool],
    validity: &[PoolValidity],
    outcome: &NodePlan,
) -> BTreeSet<AppliedMark> {
    let own = outcome.pool;
    let selected = |key: &str| {
        let selectors = pools.iter().filter_map(|pool| pool.members.selector.as_ref());
        selectors.flat_map(|selector| selector.0.iter()).any(|one| *one.key == *key)
    };
    let others = pools
        .iter()
        .zip(validity)
        .enumerate()
        .filter(|(at, (_, validity))| Some(*at) != own && **validity != PoolValidity::Rejected);
    let wants = own.or(outcome.conflict.as_ref().map(|conflict| conflict.pool));
    let wanted = wants.map(|at| pools[at].label().key);
    let marks = others.flat_map(|(_, (pool, _))| pool.marks());
    let marks: BTreeSet<AppliedMark> = marks
        .filter(|mark| match mark {
            AppliedMark::Label { key, .. } => Some(key) != wanted.as_ref() && !selected(key),
            AppliedMark::Taint { .. } => wants.is_none(),
        })
        .collect();
    theirs(node).intersection(&marks).cloned().collect()
}

/// Runs one round of the controller, with what it has to remember. Returns the marks of other clients that are lost.
fn round(pools: &mut [DedicatedPool], node: &mut PoolNode, trust: RecordTrust) -> BTreeSet<AppliedMark> {
    for pool in pools.iter_mut() {
        pool.applied_marks = remembered(pool, core::slice::from_ref(node));
    }
    let around = [node.clone(), PoolNode { name: "open".into(), ..PoolNode::default() }];
    let validity: Vec<PoolValidity> =
        assess(pools, Some(&around), trust).iter().map(|one| one.validity).collect();
    let before = node.clone();
    let outcome = reconcile(pools, &validity, node, trust);
    apply(node, &outcome.edits);
    // Marks of no pool stay, and only a pool's own were added. A pool that is rejected since it was changed keeps what it
    // had.
    let lost: BTreeSet<AppliedMark> = theirs(&before).difference(&marks(node)).cloned().collect();
    assert!(theirs(node).is_subset(&theirs(&before)));
    let strays = strays(&before, pools, &validity, &outcome);
    assert!(lost == strays || (lost.is_empty() && outcome == NodePlan::default()), "{lost:?} {strays:?}");
    let own: BTreeSet<AppliedMark> =
        pools.iter().flat_map(|pool| [pool.marks(), pool.applied_marks.clone()].concat()).collect();
    assert!(ours(node).is_subset(&own), "{node:?}");
    let again = reconcile(pools, &validity, node, trust);
    assert!(again.edits.is_empty() && again.pool == outcome.pool, "{again:?}");
    // A node that belongs to a pool has all of the pool's marks.
    if let Some(pool) = outcome.pool {
        assert!(pools[pool].marks().iter().all(|mark| marks(node).contains(mark)));
    }
    lost
}

proptest! {
    #![proptest_config(cases(2_000))]

    /// From creation to deletion no trace is left, whatever existed before and whatever other clients do in between;
    /// and no mark is lost that is not a pool's own.
    #[test]
    fn nothing_is_left_behind_and_no_other_mark_is_removed(
        before in vec(any_foreign(), 0..4),
        mut pools in vec(any_pool(), 1..3),
        meanwhile in vec((any_foreign(), any::<bool>()), 0..6),
        edited in prop::option::of(any_pool()),
        trust in select(vec![RecordTrust::Pools, RecordTrust::Record]),
    ) {
        pools.dedup_by(|one, other| one.name == other.name);
        let mut node = PoolNode { name: "n".into(), ..PoolNode::default() };
        node.labels.insert("pool".into(), "a".into());
        before.iter().for_each(|foreign| disturb(&mut node, foreign));
        let untouched = node.clone();
        let lost = round(&mut pools, &mut node, trust);
        let expected: BTreeSet<AppliedMark> = marks(&untouched).difference(&lost).cloned().collect();
        prop_assert_eq!(theirs(&node), expected.difference(&ours(&node)).cloned().collect());
        for (foreign, rests) in &meanwhile {
            let kept = theirs(&node);
            disturb(&mut node, foreign);
            // Another client's mark that replaces an identical one of a pool cannot be distinguished from it.
            let mut expected = kept;
            expected.extend(theirs(&node));
            let there = marks(&node);
            expected.retain(|mark| there.contains(mark));
            prop_assert_eq!(&theirs(&node), &expected);
            if *rests {
                round(&mut pools, &mut node, trust);
            }
        }
        if let Some(edited) = edited {
            let past = pools[0].applied_marks.clone();
            let name = pools[0].name.clone();
            pools[0] = DedicatedPool { applied_marks: past, name, ..edited };
            pools.dedup_by(|one, other| one.name == other.name);
            round(&mut pools, &mut node, trust);
        }
        let kept = theirs(&node);
        pools.iter_mut().for_each(|pool| pool.leaving = true);
        let lost = round(&mut pools, &mut node, trust);
        prop_assert_eq!(marks(&node), kept.difference(&lost).cloned().collect());
        prop_assert_eq!(node.record, None);
        prop_assert!(pools.iter().all(|pool| remembered(pool, &[]).is_empty()));
    }

    /// Any text in the annotation is parsed, and never removes what is Kubernetes' own.
    #[test]
    fn any_record_is_harmless(record in "\\PC{0,60}|a( (taint|label):[a-z./]{0,30}=[a-z]{0,3}(:NoExecute)?){0,3}", pools in vec(any_pool(), 0..2)) {
        let mut node = PoolNode { name: "n".into(), record: Some(record.into()), ..PoolNode::default() };
        node.taints.push(taint("node.kubernetes.io/not-ready:NoExecute"));
        node.taints.push(taint("quarantine:NoExecute"));
        let validity = vec![PoolValidity::Applied; pools.len()];
        let edits = reconcile(&pools, &validity, &node, RecordTrust::Pools).edits;
        prop_assert_eq!(edits.remove_taints, vec![]);
        let edits = reconcile(&pools, &validity, &node, RecordTrust::Record).edits;
        prop_assert!(edits.remove_taints.iter().all(|one| *one.key == *"quarantine"));
    }
}
