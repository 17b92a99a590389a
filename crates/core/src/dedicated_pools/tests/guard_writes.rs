//! Tests when the guard is written, and from when until when a pool may rely on it.

use super::super::effect::{PoolEffect, PoolGuardWrite};
use super::super::guard_size::{GUARD_FRAME, POOL_FRAME};
use super::super::guard_writes::PoolGuardWrites;
use super::super::pool_guard::{GuardDraft, GuardedPool, PoolGuard};
use super::*;
use crate::admission::LabelSelector;
use crate::admission::pool::{PoolTaint, PoolUsers, ServiceAccount};

fn guarded(name: &str) -> GuardedPool {
    GuardedPool {
        name: name.into(),
        uid: Uid::new(name),
        taint: PoolTaint { key: "k".into(), value: "v".into(), effects: Vec::new() },
        users: PoolUsers::default(),
        daemon_sets: crate::admission::pool::DaemonSetPolicy::Allow,
        denial_if_unjudged: true,
        members: ["n1".into()].into(),
    }
}

/// The writes, planned with these pools.
fn planned(pools: &[GuardedPool]) -> PoolGuardWrites {
    let mut writes = PoolGuardWrites::default();
    pools.iter().for_each(|pool| writes.observe(&pool_fact(&pool.name), at(0)));
    writes.plan(GuardDraft::of_pools(pools));
    writes
}

fn write(writes: &mut PoolGuardWrites, second: i64) -> Option<PoolGuard> {
    match writes.check(at(second)) {
        Some(PoolEffect::WriteGuard(guard)) => Some(*guard),
        _ => None,
    }
}

/// The writes after a first write in this second, which succeeded.
fn written(pools: &[GuardedPool], second: i64) -> PoolGuardWrites {
    let mut writes = planned(pools);
    let guard = write(&mut writes, second).unwrap();
    writes.write_succeeded(guard, Some(PoolGuardWrite::default()), at(second));
    writes
}

fn labelled(name: &str) -> PoolFact {
    PoolFact { has_guard_label: true, ..pool_fact(name) }
}

#[test]
fn a_guard_that_is_as_planned_is_written_again_after_a_minute() {
    let mut writes = written(&[guarded("p")], 0);
    assert_eq!(writes.check_at(at(0)), at(60));
    assert_eq!(write(&mut writes, 59), None);
    assert!(write(&mut writes, 60).is_some());
    writes.plan(GuardDraft::of_pools(&[guarded("p")]));
    assert_eq!(writes.check_at(at(60)).since(at(60)).as_micros(), 200_000, "a plan is checked soon");
    assert_eq!(write(&mut writes, 59), None, "it contains the same");
    writes.plan(GuardDraft::of_pools(&[guarded("p"), guarded("q")]));
    assert!(write(&mut writes, 59).is_some());
    let many: Vec<GuardedPool> = (0..3).map(|number| large(&format!("p{number}"))).collect();
    let writes = written(&many, 0);
    assert_eq!(writes.check_at(at(0)), at(1), "pools that are left out may come in at any time");
}

/// A pool of which two fit.
fn large(name: &str) -> GuardedPool {
    let users = PoolUsers { users: ["u".repeat(500_000).into()].into(), ..PoolUsers::default() };
    GuardedPool { users, ..guarded(name) }
}

#[test]
fn a_pool_may_rely_on_the_guard_five_seconds_after_it_is_in_it() {
    let mut writes = written(&[guarded("p")], 10);
    let starts = |writes: &PoolGuardWrites| writes.label_starts_at(&pool_fact("p"), at(10));
    assert_eq!(starts(&writes), Some(at(15)));
    assert_eq!(writes.label_starts_at(&labelled("p"), at(10)), None, "it has the label");
    assert_eq!(writes.coverage(&Uid::new("p"), at(10)), Some(GuardCoverage::Guarded));
    assert_eq!(writes.coverage(&Uid::new("q"), at(10)), Some(GuardCoverage::Pending));
    // Other nodes change nothing; another taint, or another client's removal, begins anew.
    let mut change = |pool: GuardedPool, added: bool, second| {
        writes.plan(GuardDraft::of_pools(&[pool]));
        assert_eq!(starts(&writes), None, "the guard has another form of it");
        let guard = write(&mut writes, second).unwrap();
        let added = if added { [Uid::new("p")].into() } else { [].into() };
        writes.write_succeeded(guard, Some(PoolGuardWrite { added, version: None }), at(second));
        starts(&writes)
    };
    assert_eq!(
        change(GuardedPool { members: ["n2".into()].into(), ..guarded("p") }, false, 20),
        Some(at(15))
    );
    assert_eq!(change(GuardedPool { denial_if_unjudged: false, ..guarded("p") }, false, 30), Some(at(35)));
    assert_eq!(change(guarded("p"), true, 40), Some(at(45)));
}

#[test]
fn a_pool_that_differs_does_not_rely_on_a_guard_whose_writes_fail() {
    let mut writes = written(&[guarded("p"), guarded("q")], 0);
    let changed = GuardedPool { denial_if_unjudged: false, ..guarded("p") };
    writes.plan(GuardDraft::of_pools(&[changed, guarded("q")]));
    for second in [100, 103] {
        let guard = write(&mut writes, second).unwrap();
        writes.write_failed(&guard, "no route".into());
    }
    let ends = |name, second| writes.label_ends_at(&labelled(name), at(second));
    assert_eq!(
        (ends("p", 103), ends("q", 103)),
        (Some(at(105)), None),
        "five seconds after the first attempt"
    );
    assert_eq!(writes.label_ends_at(&pool_fact("p"), at(103)), None, "it has no label");
    assert_eq!(writes.coverage_changes_at(at(104)), Some(at(105)));
    assert_eq!(writes.coverage_changes_at(at(105)), None);
    let covered = |second| writes.coverage(&Uid::new("q"), at(second));
    assert_eq!(covered(104), Some(GuardCoverage::Guarded));
    assert_eq!(covered(105), Some(GuardCoverage::WriteFailed("no route".into())));
    assert_eq!(writes.label_starts_at(&pool_fact("q"), at(104)), Some(at(5)));
    assert_eq!(writes.label_starts_at(&pool_fact("q"), at(105)), None);
    // An attempt that was long ago belongs to an earlier term as the leader.
    assert!(ends("p", 162).is_some());
    assert_eq!(ends("p", 163), None);
    let mut again = writes.clone();
    assert!(write(&mut again, 162).is_some());
    assert_eq!(again.label_ends_at(&labelled("p"), at(162)), Some(at(105)));
    assert!(write(&mut writes, 163).is_some());
    assert_eq!(writes.label_ends_at(&labelled("p"), at(163)), Some(at(168)));
}

#[test]
fn a_guard_has_at_most_the_size_that_is_computed() {
    let users = PoolUsers {
        users: ["u<r".into()].into(),
        service_accounts: [ServiceAccount { namespace: "ns".into(), name: "sa".into() }].into(),
        namespaces: Some(LabelSelector::of_labels([("team", "x")])),
        ..PoolUsers::default()
    };
    let taint = PoolTaint { key: "key".into(), value: "value".into(), effects: Vec::new() };
    let pool = GuardedPool { users, taint, ..guarded("p") };
    let guard = PoolGuard { nodes: ["n1".into()].into(), pools: [pool].into(), ..PoolGuard::default() };
    // A text has two quotes and a comma. Go writes `<` in six characters.
    let users = (2 + 6 + 3) + (2 + 3) + (2 + 3) + r#"{"name":,"namespace":},"#.len();
    let namespaces = (4 + 3) + (1 + 3) + r#"{"key":,"operator":"DoesNotExist","values":[]},"#.len();
    let taints = 3 * (3 + 3) + 2 * (5 + 3);
    let (name, member, node) = (1 + 3, 2 + 3, 2 + 3 + r#":"""#.len());
    let pool = POOL_FRAME + name + member + users + namespaces + taints;
    assert_eq!(guard.encoded_len(), GUARD_FRAME + node + pool);
}
