//! Tests which seconds guarded pods get, and by which ones taint eviction judges them.

use super::*;
use crate::testkit::{node, node_health_tolerations as both, pod, taint, taint_of, toleration};
use crate::toleration_hold::HeldToleration;
use alloc::vec;
use proptest::prelude::*;

fn write(
    tolerations: &[Toleration],
    record: Option<&GuardRecord>,
    ceiling: GuardCeiling,
) -> Option<GuardWrite> {
    guard_write(tolerations, record, ceiling, &vec![])
}

/// Returns the tolerations of a pod after a write.
fn written(tolerations: &[Toleration], write: &GuardWrite) -> Vec<Toleration> {
    let mut after = tolerations.to_vec();
    for (at, seconds) in &write.seconds {
        after[*at].seconds = *seconds;
    }
    after
}

#[test]
fn a_pod_gets_the_ceiling_and_its_own_seconds_back() {
    let own = both(Some(300), Some(60));
    let on = write(&own, None, GuardCeiling::Seconds(3600)).unwrap();
    let guarded = written(&own, &on);
    assert_eq!(guarded, both(Some(3600), Some(3600)));
    let record = on.record.as_ref();
    assert_eq!(own_tolerations(&guarded, record), own);
    assert_eq!(write(&guarded, record, GuardCeiling::Seconds(3600)), None);
    let lower = write(&guarded, record, GuardCeiling::Seconds(120)).unwrap();
    assert_eq!(written(&guarded, &lower), both(Some(300), Some(120)));
    let off = write(&guarded, record, GuardCeiling::None).unwrap();
    assert_eq!((written(&guarded, &off), off.record), (own.clone(), None));
    assert_eq!(write(&own, None, GuardCeiling::None), None);
}

#[test]
fn a_toleration_with_no_fewer_seconds_than_the_ceiling_is_unchanged() {
    let ceiling = GuardCeiling::Seconds(3600);
    assert_eq!(write(&both(None, None), None, ceiling), None);
    assert_eq!(write(&both(Some(3600), Some(9999)), None, ceiling), None);
    assert_eq!(write(&[toleration("team", Some(5))], None, ceiling), None);
    assert_eq!(write(&[toleration("", Some(5))], None, ceiling), None, "it is for every taint");
    let mixed = write(&both(None, Some(0)), None, ceiling).unwrap();
    assert_eq!(written(&both(None, Some(0)), &mixed), both(None, Some(3600)));
    let equal = write(&both(Some(3600), Some(300)), None, ceiling).unwrap();
    assert_eq!(equal.seconds, [(1, Some(3600))]);
    assert_eq!(equal.record.map(|record| record.tolerations().len()), Some(1), "only the one that it raised");
}

#[test]
fn a_label_that_cannot_be_decoded_changes_nothing() {
    let of = |text: &str| GuardCeiling::of(&[(CEILING_LABEL.into(), text.into())].into());
    assert_eq!(of("3600"), GuardCeiling::Seconds(3600));
    assert_eq!((of("10"), of("604800")), (GuardCeiling::Seconds(10), GuardCeiling::Seconds(604_800)));
    for odd in ["", "9", "604801", "1h", "-3600", "03600", "9223372036854775808"] {
        assert_eq!(of(odd), GuardCeiling::Undecodable, "{odd}");
    }
    assert_eq!(GuardCeiling::of(&Labels::new()), GuardCeiling::None);
    let own = both(Some(300), Some(300));
    assert_eq!(write(&own, None, GuardCeiling::Undecodable), None);
    let on = write(&own, None, GuardCeiling::Seconds(3600)).unwrap();
    assert_eq!(write(&written(&own, &on), on.record.as_ref(), GuardCeiling::Undecodable), None);
}

#[test]
fn seconds_that_another_writer_set_are_the_pods_own() {
    let own = both(Some(300), Some(300));
    let on = write(&own, None, GuardCeiling::Seconds(3600)).unwrap();
    let mut changed = written(&own, &on);
    changed[0].seconds = Some(30);
    let off = write(&changed, on.record.as_ref(), GuardCeiling::None).unwrap();
    assert_eq!(written(&changed, &off), both(Some(30), Some(300)));
    changed[1].seconds = Some(40);
    let record = on.record.unwrap();
    assert!(!record.still_applies(&changed));
    assert_eq!(
        guarded_pod(guardable(changed), Some(&record)),
        None,
        "kube-controller-manager counts by 30 s and 40 s"
    );
}

#[test]
fn backfill_changes_own_seconds_behind_the_ceiling() {
    let own = both(Some(300), Some(300));
    let on = write(&own, None, GuardCeiling::Seconds(3600)).unwrap();
    let guarded = written(&own, &on);
    let changes = vec![(0, Some(600)), (1, Some(900))];
    let write = guard_write(&guarded, on.record.as_ref(), GuardCeiling::Seconds(3600), &changes).unwrap();
    assert_eq!(write.seconds, vec![], "the pod keeps its ceiling");
    assert_eq!(own_tolerations(&guarded, write.record.as_ref()), both(Some(600), Some(900)));
    let forever =
        guard_write(&guarded, on.record.as_ref(), GuardCeiling::Seconds(3600), &vec![(0, None)]).unwrap();
    assert_eq!(written(&guarded, &forever), both(None, Some(3600)));
}

fn guardable(tolerations: Vec<Toleration>) -> PodFact {
    pod("web").tolerates(tolerations)
}

#[test]
fn taint_eviction_judges_guarded_pods_by_their_own_seconds_and_ignores_others() {
    let own = both(Some(300), Some(300));
    let on = write(&own, None, GuardCeiling::Seconds(3600)).unwrap();
    let guarded = guarded_pod(guardable(written(&own, &on)), on.record.as_ref());
    assert_eq!(guarded, Some(PodFact { ignores_holds: true, ..guardable(own.clone()) }));
    assert_eq!(guarded_pod(guardable(own.clone()), None), None);
    let marked = PodFact { marked: true, ..guardable(own.clone()) };
    assert_eq!(
        guarded_pod(marked.clone(), None).unwrap().tolerations,
        [every_taint()],
        "its mark is removed"
    );
    assert_eq!(guarded_pod(PodFact { marked_by_another: true, ..marked }, None), None);
    let taints =
        [taint_of(keys::NOT_READY, "", "NoSchedule"), taint(keys::UNREACHABLE), taint("maintenance")];
    let node = guarded_node(NodeFact { ready_out_of_service: true, ..node("n1").tainted(taints) });
    assert_eq!(node.taints, [taint(keys::UNREACHABLE)]);
    assert!(node.ready_out_of_service, "the metric counts it anyway");
}

fn some_tolerations() -> impl Strategy<Value = Vec<Toleration>> {
    let key =
        prop_oneof![2 => Just(keys::NOT_READY), 2 => Just(keys::UNREACHABLE), 1 => Just("k"), 1 => Just("")];
    let seconds = prop_oneof![2 => (-5_i64..400).prop_map(Some), 1 => Just(None)];
    let operator = prop_oneof![4 => Just("Exists"), 1 => Just("Equal"), 1 => Just("Gt")];
    let one = (key, operator, seconds).prop_map(|(key, operator, seconds)| Toleration {
        operator: TolerationOperator::new(operator),
        ..toleration(key, seconds)
    });
    prop::collection::vec(one, 0..5)
}

proptest! {
    /// With any sequence of ceilings, no toleration ever has fewer seconds than its own, and without a ceiling each has
    /// its own again.
    #[test]
    fn ceilings_come_and_go_without_a_trace(
        own in some_tolerations(),
        ceilings in prop::collection::vec(prop::option::of(60_i64..300), 1..6),
    ) {
        let (mut tolerations, mut record) = (own.clone(), None);
        for ceiling in ceilings.into_iter().chain([None]) {
            let order = ceiling.map_or(GuardCeiling::None, GuardCeiling::Seconds);
            if let Some(write) = write(&tolerations, record.as_ref(), order) {
                tolerations = written(&tolerations, &write);
                record = write.record;
            }
            prop_assert_eq!(write(&tolerations, record.as_ref(), order), None, "the second write changes nothing");
            prop_assert_eq!(&own_tolerations(&tolerations, record.as_ref()), &own);
            for (is, own) in tolerations.iter().zip(&own) {
                prop_assert!(is.seconds == own.seconds || is.seconds == ceiling && is.seconds > own.seconds);
            }
        }
        prop_assert_eq!((tolerations, record), (own, None));
    }
}

/// The record of tolerations of `a` and `b`, with these own and given seconds.
fn recorded(a: (i64, i64), b: (i64, i64)) -> GuardRecord {
    let held =
        |key, (own, given)| HeldToleration::recorded(&toleration(key, Some(own)), Some(given)).unwrap();
    GuardRecord::recorded(vec![held("a", a), held("b", b)]).unwrap()
}

#[test]
fn a_record_is_kept_by_tolerations_with_its_seconds() {
    let record = recorded((60, 100), (70, 100));
    let kept = [toleration("a", Some(100)), toleration("b", Some(100))];
    let one = [toleration("a", Some(100)), toleration("b", Some(99))];
    let other = [toleration("a", Some(99)), toleration("b", Some(99))];
    let of = |tolerations: &[Toleration]| (record.is_kept_by(tolerations), record.still_applies(tolerations));
    assert_eq!([of(&kept), of(&one), of(&other)], [(true, true), (false, true), (false, false)]);
    assert_eq!(GuardRecord::recorded(vec![]), None);
    let equal = HeldToleration::recorded(&toleration("a", Some(60)), Some(60)).unwrap();
    assert_eq!(GuardRecord::recorded(vec![equal]), None, "it was given no more than its own seconds");
}

#[test]
fn a_record_continues_another_that_has_no_more_seconds_left() {
    let earlier = recorded((60, 100), (70, 100));
    let tolerations = [toleration("a", Some(100)), toleration("b", Some(100))];
    let continues = |later: &GuardRecord| later.continues(&earlier, &tolerations);
    assert!(continues(&earlier) && continues(&recorded((60, 300), (71, 300))));
    assert!(!continues(&recorded((59, 100), (70, 100))), "it has fewer seconds of its own");
    let held = HeldToleration::recorded(&toleration("a", Some(60)), Some(100)).unwrap();
    let less = GuardRecord::recorded(vec![held]).unwrap();
    assert!(!continues(&less), "one is missing");
    assert!(
        less.continues(&earlier, &[toleration("a", Some(100)), toleration("b", Some(7))]),
        "b is no longer of it"
    );
}
