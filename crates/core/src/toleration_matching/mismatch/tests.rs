//! Tests that exactly the differing fields are reported, and that correcting them makes a match.

use super::*;
use crate::toleration_matching::{TaintMatch, match_taint};
use alloc::boxed::Box;
use alloc::vec::Vec;
use proptest::prelude::*;

fn taint(key: &str, value: &str, effect: &str) -> Taint {
    Taint { key: key.into(), value: value.into(), effect: TaintEffect::new(effect), time_added: None }
}

/// Parses `key operator value effect seconds`, separated by spaces, with `_` for an empty field.
fn toleration(text: &str) -> Toleration {
    let parts: Vec<&str> = text.split(' ').map(|part| if part == "_" { "" } else { part }).collect();
    let [key, operator, value, effect, seconds] = parts[..] else { panic!("five parts: {text}") };
    Toleration {
        key: key.into(),
        operator: TolerationOperator::new(operator),
        value: value.into(),
        effect: (!effect.is_empty()).then(|| TaintEffect::new(effect)),
        seconds: seconds.parse().ok(),
    }
}

#[test]
fn match_4_parts_that_do_not_match_are_named() {
    use KeyMismatch::{Other, Similar};
    use ValueMismatch::{Differs, GateOff, NotGreater, NotLess, OwnNoNumber, TaintNoNumber};
    let (on, off) = (NumericOperators::On, NumericOperators::Off);
    let miss = |effect, key, value| Some(Mismatch { effect, key, value });
    let taint = taint("dedicated", "5", "NoExecute");
    for (text, numeric, expected) in [
        ("dedicated Equal 5 NoExecute _", off, None),
        ("dedicated Exists _ _ _", off, None),
        ("dedicated Like _ _ _", off, None),
        ("dedicated Equal 6 NoExecute _", off, miss(false, None, Some(Differs))),
        ("dedicated _ 5 NoSchedule _", off, miss(true, None, None)),
        ("dedicated _ 6 NoSchedule _", off, miss(true, None, Some(Differs))),
        ("dedicatd Exists _ NoExecute _", off, miss(false, Some(Similar), None)),
        ("other Exists _ NoExecute _", off, miss(false, Some(Other), None)),
        ("other Equal 6 NoSchedule _", off, miss(true, Some(Other), Some(Differs))),
        ("_ Equal 6 _ _", off, miss(false, None, Some(Differs))),
        ("dedicated Gt 1 _ _", off, miss(false, None, Some(GateOff))),
        ("dedicated Gt 1 _ _", on, None),
        ("dedicated Gt 5 _ _", on, miss(false, None, Some(NotGreater))),
        ("dedicated Lt 5 _ _", on, miss(false, None, Some(NotLess))),
        ("dedicated Lt 05 _ _", on, miss(false, None, Some(OwnNoNumber))),
        ("dedicated Like _ NoSchedule _", off, miss(true, None, None)),
    ] {
        assert_eq!(Mismatch::of(&toleration(text), &taint, numeric), expected, "{text}");
    }
    let worded = Taint { value: "db".into(), ..taint };
    let miss = Mismatch::of(&toleration("dedicated Gt 1 _ _"), &worded, on).unwrap();
    assert_eq!(miss.value, Some(TaintNoNumber));
}

#[test]
fn the_nearest_has_the_fewest_faults_and_the_same_key() {
    let short = taint("a", "", "NoExecute");
    assert_eq!(nearest(&[toleration("b Exists _ _ _")], &short, NumericOperators::Off), None);
    let taint = taint("dedicated", "db", "NoExecute");
    let of = |texts: &[&str]| {
        let all: Vec<Toleration> = texts.iter().map(|text| toleration(text)).collect();
        nearest(&all, &taint, NumericOperators::Off).map(|near| near.position)
    };
    assert_eq!(of(&[]), None);
    assert_eq!(of(&["other Exists _ _ _", "third Equal db NoExecute _"]), None);
    assert_eq!(
        of(&["other Exists _ _ _", "dedicated Equal web NoSchedule _", "dedicated _ web _ _"]),
        Some(2)
    );
    assert_eq!(
        of(&["dedicated _ web _ _", "dedicated _ db NoSchedule _"]),
        Some(0),
        "the first of equal ones"
    );
    assert_eq!(of(&["dedicated _ web _ _", "dedicated _ db _ _"]), None, "that one matches");
}

#[test]
fn match_9_a_later_toleration_with_a_longer_period_is_found() {
    let taint = taint("a", "", "NoExecute");
    let of = |texts: &[&str]| {
        let all: Vec<Toleration> = texts.iter().map(|text| toleration(text)).collect();
        more_patient(&all, 0, &taint, NumericOperators::Off)
    };
    assert_eq!(of(&["a Exists _ NoExecute 300", "a Exists _ NoExecute _"]), Some(1));
    assert_eq!(
        of(&["a Exists _ _ 300", "a Exists _ _ 400", "_ Exists _ _ 500", "a Exists _ _ 450"]),
        Some(2)
    );
    assert_eq!(of(&["a Exists _ NoExecute _", "a Exists _ NoExecute 300"]), None);
    assert_eq!(of(&["a Exists _ NoExecute 300", "a Exists _ NoExecute 300"]), None);
    assert_eq!(of(&["a Exists _ NoExecute 300", "a Exists _ NoSchedule _", "b Exists _ _ _"]), None);
}

fn word() -> impl Strategy<Value = Box<str>> {
    prop::sample::select(alloc::vec!["", "dedicated", "dedicatde", "gpu", "1", "2", "-3", "007"])
        .prop_map(Box::from)
}

fn any_toleration() -> impl Strategy<Value = Toleration> {
    let operator = prop::sample::select(alloc::vec!["", "Equal", "Exists", "Lt", "Gt", "Like"]);
    let effect = prop::sample::select(alloc::vec!["", "NoExecute", "NoSchedule", "Later"]);
    (word(), operator, word(), effect, prop::option::of(-1..500i64)).prop_map(
        |(key, o, value, e, seconds)| {
            let effect = (!e.is_empty()).then(|| TaintEffect::new(e));
            Toleration { key, operator: TolerationOperator::new(o), value, effect, seconds }
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
        let taint = taint(&key, &value, "NoExecute");
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
        let taint = taint(&key, &value, "NoExecute");
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
