//! Tests what a record says of a pod's tolerations, and when one record takes the place of another.

use super::*;

fn held(key: &str, own: i64, given: Option<i64>) -> HeldToleration {
    HeldToleration::recorded(&toleration(key, Some(own)), given).unwrap()
}

/// A record that was changed in second 100, after the countdown had run for 40 s since second 30.
fn record(tolerations: Vec<HeldToleration>) -> HoldRecord {
    HoldRecord::recorded(tolerations, None, at(100), Span::from_secs(40), Some(at(30)))
}

#[test]
fn a_record_applies_while_a_toleration_has_its_seconds_and_not_its_own() {
    let released = record(vec![held("a", 60, Some(30)), held("b", 70, Some(70))]);
    let kept = [toleration("a", Some(30)), toleration("b", Some(70))];
    let one = [toleration("a", Some(30)), toleration("b", Some(1))];
    let other = [toleration("a", Some(1)), toleration("b", Some(1))];
    let of = |record: &HoldRecord, tolerations: &[Toleration]| {
        (record.is_kept_by(tolerations), record.still_applies(tolerations))
    };
    assert_eq!(
        [of(&released, &kept), of(&released, &one), of(&released, &other)],
        [(true, true), (false, true), (false, false)]
    );
    let own = record(vec![held("a", 60, Some(60))]);
    assert_eq!(of(&own, &[toleration("a", Some(60))]), (true, false), "it has its own seconds");
    assert_eq!((released.ran(), released.counted_since()), (Span::from_secs(40), Some(at(30))));
}

#[test]
fn a_record_continues_another_with_the_same_tolerations_and_no_fewer_seconds() {
    let earlier = record(vec![held("a", 60, None), held("b", 70, None)]);
    let clear = [toleration("a", None), toleration("b", None)];
    let continues = |later: Vec<HeldToleration>| record(later).continues(&earlier, &clear);
    assert!(continues(vec![held("a", 60, None), held("b", 70, None)]));
    assert!(continues(vec![held("b", 71, Some(5)), held("a", 60, Some(9)), held("c", 1, None)]));
    assert!(!continues(vec![held("a", 59, None), held("b", 70, None)]), "fewer seconds");
    assert!(!continues(vec![held("a", 60, None)]), "one is missing");
    let only_a = record(vec![held("a", 60, None)]);
    let changed = [toleration("a", None), toleration("b", Some(5))];
    assert!(only_a.continues(&earlier, &changed), "another writer changed b, so it is not of the record");
    let other_value = Toleration { value: "v".into(), ..toleration("a", Some(60)) };
    let other_value = HeldToleration::recorded(&other_value, None).unwrap();
    assert!(!other_value.continues(&held("a", 60, None)), "it is another toleration");
}

#[test]
fn seconds_of_a_released_pod_count_from_the_taint_again() {
    let released = record(vec![held("a", 60, Some(20)), held("b", 70, Some(30))]);
    let tolerations = vec![toleration("a", Some(20)), toleration("b", Some(7)), toleration("c", Some(8))];
    let counted = released.counted_from_taint(tolerations.clone());
    let seconds: Vec<_> = counted.iter().map(|one| one.seconds).collect();
    // 70 s passed from the begin of the countdown to the release; b was changed by another writer.
    assert_eq!(seconds, [Some(90), Some(7), Some(8)]);
    let was_ready = HoldRecord { counted_since: None, ..released.clone() };
    assert_eq!(was_ready.counted_from_taint(tolerations.clone()), tolerations);
    let still_held = record(vec![held("a", 60, None)]);
    assert_eq!(still_held.counted_from_taint(vec![toleration("a", None)]), [toleration("a", None)]);
}
