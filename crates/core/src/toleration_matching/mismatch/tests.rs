//! Tests that exactly the differing fields are reported, and that correcting them makes a match.

use super::*;
use crate::testkit::{taint, taint_of, toleration_of, toleration_row};
use crate::toleration_matching::{TaintMatch, match_taint};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use proptest::prelude::*;

#[test]
fn match_4_parts_that_do_not_match_are_named() {
    use KeyMismatch::{Other, Similar};
    use ValueMismatch::{Differs, GateOff, NotGreater, NotLess, OwnNoNumber, TaintNoNumber};
    let (on, off) = (NumericOperators::On, NumericOperators::Off);
    let miss = |effect, key, value| Some(Mismatch { effect, key, value });
    let taint = taint("dedicated=5:NoExecute");
    for (text, numeric, expected) in [
        ("dedicated Equal 5 NoExecute", off, None),
        ("dedicated Exists", off, None),
        ("dedicated Like", off, None),
        ("dedicated Equal 6 NoExecute", off, miss(false, None, Some(Differs))),
        ("dedicated - 5 NoSchedule", off, miss(true, None, None)),
        ("dedicated - 6 NoSchedule", off, miss(true, None, Some(Differs))),
        ("dedicatd Exists - NoExecute", off, miss(false, Some(Similar), None)),
        ("other Exists - NoExecute", off, miss(false, Some(Other), None)),
        ("other Equal 6 NoSchedule", off, miss(true, Some(Other), Some(Differs))),
        ("- Equal 6", off, miss(false, None, Some(Differs))),
        ("dedicated Gt 1", off, miss(false, None, Some(GateOff))),
        ("dedicated Gt 1", on, None),
        ("dedicated Gt 5", on, miss(false, None, Some(NotGreater))),
        ("dedicated Lt 5", on, miss(false, None, Some(NotLess))),
        ("dedicated Lt 05", on, miss(false, None, Some(OwnNoNumber))),
        ("dedicated Like - NoSchedule", off, miss(true, None, None)),
    ] {
        assert_eq!(Mismatch::of(&toleration_row(text), &taint, numeric), expected, "{text}");
    }
    let worded = Taint { value: "db".into(), ..taint };
    let miss = Mismatch::of(&toleration_row("dedicated Gt 1"), &worded, on).unwrap();
    assert_eq!(miss.value, Some(TaintNoNumber));
}

#[test]
fn the_nearest_has_the_fewest_faults_and_the_same_key() {
    let short = taint("a:NoExecute");
    assert_eq!(nearest(&[toleration_row("b Exists")], &short, NumericOperators::Off), None);
    let taint = taint("dedicated=db:NoExecute");
    let of = |texts: &[&str]| {
        let all: Vec<Toleration> = texts.iter().map(|text| toleration_row(text)).collect();
        nearest(&all, &taint, NumericOperators::Off).map(|near| near.position)
    };
    assert_eq!(of(&[]), None);
    assert_eq!(of(&["other Exists", "third Equal db NoExecute"]), None);
    assert_eq!(of(&["other Exists", "dedicated Equal web NoSchedule", "dedicated - web"]), Some(2));
    assert_eq!(of(&["dedicated - web", "dedicated - db NoSchedule"]), Some(0), "the first of equal ones");
    assert_eq!(of(&["dedicated - web", "dedicated - db"]), None, "that one matches");
    assert_eq!(of(&["dedicated - web", "dedicatd - db"]), Some(0), "a key that is misspelled is one, too");
    assert_eq!(of(&["dedicatd - db NoSchedule", "dedicated - web NoSchedule", "dedicatd - db"]), Some(2));
    // Short keys that differ are other keys.
    let near = |key: &str, own: &str| {
        let taint = taint_of(key, "", "NoExecute");
        nearest(&[toleration_row(&format!("{own} Exists"))], &taint, NumericOperators::Off).is_some()
    };
    assert_eq!((near("spot", "spit"), near("spots", "spits")), (false, true));
}

#[test]
fn match_9_a_later_toleration_with_a_longer_period_is_found() {
    let taint = taint("a:NoExecute");
    let of = |texts: &[&str]| {
        let all: Vec<Toleration> = texts.iter().map(|text| toleration_row(text)).collect();
        more_patient(&all, 0, &taint, NumericOperators::Off)
    };
    assert_eq!(of(&["a Exists - NoExecute 300", "a Exists - NoExecute"]), Some(1));
    assert_eq!(
        of(&["a Exists - - 300", "a Exists - - 400", "- Exists - - 500", "a Exists - - 450"]),
        Some(2)
    );
    assert_eq!(of(&["a Exists - NoExecute", "a Exists - NoExecute 300"]), None);
    assert_eq!(of(&["a Exists - NoExecute 300", "a Exists - NoExecute 300"]), None);
    assert_eq!(of(&["a Exists - NoExecute 300", "a Exists - NoSchedule", "b Exists"]), None);
}

fn word() -> impl Strategy<Value = Box<str>> {
    prop::sample::select(alloc::vec!["", "dedicated", "dedicatde", "gpu", "1", "2", "-3", "007"])
        .prop_map(Box::from)
}

fn any_toleration() -> impl Strategy<Value = Toleration> {
    let operator = prop::sample::select(alloc::vec!["", "Equal", "Exists", "Lt", "Gt", "Like"]);
    let effect = prop::sample::select(alloc::vec!["", "NoExecute", "NoSchedule", "Later"]);
    (word(), operator, word(), effect, prop::option::of(-1..500i64)).prop_map(
        |(key, operator, value, effect, seconds)| Toleration {
            seconds,
            ..toleration_of(&key, operator, &value, effect)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn there_is_a_mismatch_if_there_is_no_match_and_correcting_it_makes_one(
        given in any_toleration(),
        (key, value) in (word(), word()),
        on in any::<bool>(),
    ) {
        let numeric = if on { NumericOperators::On } else { NumericOperators::Off };
        let taint = taint_of(&key, &value, "NoExecute");
        let miss = Mismatch::of(&given, &taint, numeric);
        prop_assert_eq!(miss.is_some(), tolerates(&given, &taint, numeric) == TolerationMatch::No);
        if let Some(miss) = miss {
            prop_assert!(miss.effect || miss.key.is_some() || miss.value.is_some());
            let mut mended = given;
            if miss.effect { mended.effect = None; }
            if miss.key.is_some() { mended.key = taint.key.clone(); }
            if miss.value.is_some() { mended.operator = TolerationOperator::Exists; }
            prop_assert_ne!(tolerates(&mended, &taint, numeric), TolerationMatch::No, "{:?}", miss);
        }
    }

    #[test]
    fn a_nearest_toleration_is_reported_only_if_none_matches(
        all in prop::collection::vec(any_toleration(), 0..6),
        (key, value) in (word(), word()),
    ) {
        let taint = taint_of(&key, &value, "NoExecute");
        let off = NumericOperators::Off;
        if let Some(near) = nearest(&all, &taint, off) {
            prop_assert_eq!(match_taint(&all, &taint, off), TaintMatch::Untolerated);
            prop_assert_eq!(Mismatch::of(&all[near.position], &taint, off), Some(near.miss));
        }
        if let TaintMatch::Tolerated(used) = match_taint(&all, &taint, off)
            && let Some(later) = more_patient(&all, used, &taint, off)
        {
            prop_assert!(later > used && all[later].period() > all[used].period());
            let reversed = [all[later].clone(), all[used].clone()];
            prop_assert_eq!(match_taint(&reversed, &taint, off), TaintMatch::Tolerated(0), "it would match there");
        }
    }
}
