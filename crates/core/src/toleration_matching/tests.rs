//! Tests the matching rules with tables, and the index by key against the plain comparison.

use super::*;
use crate::testkit::{taint, taint_of, toleration, toleration_of, toleration_row};
use alloc::boxed::Box;
use alloc::vec;
use proptest::prelude::*;

#[test]
fn match_4_effect_key_operator_value() {
    use TolerationMatch::{No, NotUnderstood, Yes};
    let taint = taint("k=v:NoExecute");
    for (key, operator, value, effect, expected) in [
        ("k", "Equal", "v", "NoExecute", Yes),
        ("k", "", "v", "NoExecute", Yes),
        ("k", "", "v", "", Yes),
        ("k", "", "w", "", No),
        ("k", "Exists", "", "NoExecute", Yes),
        ("k", "Exists", "ignored", "NoExecute", Yes),
        ("", "Exists", "", "", Yes),
        ("", "Exists", "", "NoSchedule", No),
        ("", "Equal", "v", "", Yes),
        ("", "Equal", "w", "", No),
        ("other", "Exists", "", "", No),
        ("k", "exists", "", "", NotUnderstood),
        ("other", "Prefix", "", "NoExecute", NotUnderstood),
        ("k", "Prefix", "", "NoSchedule", No),
        ("k", "Exists", "", "NoExecuteSoon", NotUnderstood),
        ("k", "Equal", "w", "NoExecuteSoon", No),
        ("other", "Exists", "", "NoExecuteSoon", No),
    ] {
        let given = toleration_of(key, operator, value, effect);
        assert_eq!(tolerates(&given, &taint, NumericOperators::Off), expected, "{given:?}");
    }
}

#[test]
fn match_5_seconds_do_not_matter() {
    let taint = taint("k=v:NoExecute");
    for seconds in [None, Some(0), Some(-1), Some(i64::MAX)] {
        for (operator, expected) in [("Equal", TolerationMatch::Yes), ("Gt", TolerationMatch::No)] {
            let given = Toleration { seconds, ..toleration_of("k", operator, "v", "NoExecute") };
            assert_eq!(tolerates(&given, &taint, NumericOperators::Off), expected);
        }
    }
}

#[test]
fn match_6_numbers_compare_strictly_and_only_with_the_gate_on() {
    for (operator, bound, value, expected) in [
        ("Lt", "10", "9", true),
        ("Lt", "10", "10", false),
        ("Gt", "10", "11", true),
        ("Gt", "10", "10", false),
        ("Gt", "-1", "0", true),
        ("Gt", "9223372036854775806", "9223372036854775807", true),
        ("Gt", "1", "9223372036854775808", false),
        ("Gt", "01", "5", false),
        ("Gt", "1", "05", false),
        ("Gt", "+1", "5", false),
        ("Gt", "-0", "5", false),
        ("Gt", "", "5", false),
        ("Gt", "1", "", false),
        ("Gt", " 1", "5", false),
        ("Gt", "1.0", "5", false),
        ("Gt", "-", "5", false),
    ] {
        let given = toleration_of("k", operator, bound, "NoExecute");
        let taint = taint_of("k", value, "NoExecute");
        let on = tolerates(&given, &taint, NumericOperators::On);
        assert_eq!(on == TolerationMatch::Yes, expected, "{value} {operator} {bound}");
        assert_eq!(tolerates(&given, &taint, NumericOperators::Off), TolerationMatch::No);
    }
}

#[test]
fn match_9_the_first_match_counts_not_the_best() {
    let taint = taint("a:NoExecute");
    let short = toleration("a", Some(300));
    let long = toleration("a", None);
    let off = NumericOperators::Off;
    assert_eq!(match_taint(&[short.clone(), long.clone()], &taint, off), TaintMatch::Tolerated(0));
    assert_eq!(match_taint(&[long, short], &taint, off), TaintMatch::Tolerated(0));
    assert_eq!(match_taint(&[], &taint, off), TaintMatch::Untolerated);
}

#[test]
fn an_unknown_toleration_before_the_match_leaves_it_open_one_after_it_does_not() {
    let taint = taint("a:NoExecute");
    let unknown = toleration_row("a Like");
    let known = toleration_row("a Exists");
    let off = NumericOperators::Off;
    assert_eq!(match_taint(&[unknown.clone(), known.clone()], &taint, off), TaintMatch::Unsupported(0));
    assert_eq!(match_taint(&[known, unknown.clone()], &taint, off), TaintMatch::Tolerated(0));
    assert_eq!(match_taint(&[unknown], &taint, off), TaintMatch::Unsupported(0));
}

fn text() -> impl Strategy<Value = Box<str>> {
    prop::sample::select(vec!["", "a", "b", "c", "1", "2", "-3", "007"]).prop_map(Box::from)
}

fn any_toleration() -> impl Strategy<Value = Toleration> {
    let operator = prop::sample::select(vec!["", "Equal", "Exists", "Lt", "Gt", "Like", "Near"]);
    let effect = prop::sample::select(vec!["", "NoExecute", "NoSchedule", "Later", "Never"]);
    (text(), operator, text(), effect).prop_map(|(k, o, v, e)| toleration_of(&k, o, &v, e))
}

fn any_taint() -> impl Strategy<Value = Taint> {
    let effect = prop::sample::select(vec!["NoExecute", "NoExecute", "NoSchedule", "Later"]);
    (text(), text(), effect).prop_map(|(k, v, e)| taint_of(&k, &v, e))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn the_index_gives_the_same_results_as_the_plain_comparison(
        tolerations in prop::collection::vec(any_toleration(), 0..12),
        taints in prop::collection::vec(any_taint(), 0..6),
        on in any::<bool>(),
    ) {
        let numeric = if on { NumericOperators::On } else { NumericOperators::Off };
        let plain: Vec<_> = taints.iter().map(|taint| match_taint(&tolerations, taint, numeric)).collect();
        prop_assert_eq!(by_key::match_taints(&tolerations, taints.iter().collect(), numeric), plain);
    }
}
