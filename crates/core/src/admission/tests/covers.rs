//! Tests that the index of covering tolerations gives the same results as comparing all pairs (AD-10).

use crate::admission::pod_toleration_restriction::merge;
use crate::admission::toleration_coverage::{TolerationCoverage, is_superset};
use crate::taint::TaintEffect;
use crate::testkit::toleration_of;
use crate::toleration::Toleration;
use alloc::format;
use alloc::vec::Vec;
use proptest::collection::vec as vec_of;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

/// The rule as written: compares each with every other.
fn merged_by_hand(all: &[Toleration]) -> Vec<Toleration> {
    let mut kept: Vec<Toleration> = Vec::new();
    for (at, one) in all.iter().enumerate() {
        let covered = kept.iter().any(|other| is_superset(other, one))
            || all[at + 1..].iter().any(|later| later != one && is_superset(later, one));
        if !covered {
            kept.push(one.clone());
        }
    }
    kept
}

fn any_toleration() -> impl Strategy<Value = Toleration> {
    let operator = select(alloc::vec!["", "Equal", "Exists", "Exists", "Lt", "Like"]);
    let effect = option::of(select(alloc::vec!["NoExecute", "NoExecute", "NoSchedule", "Odd"]));
    (
        select(alloc::vec!["", "a", "b"]),
        operator,
        select(alloc::vec!["", "v", "w"]),
        effect,
        option::of(-1..3_i64),
    )
        .prop_map(|(key, operator, value, effect, seconds)| Toleration {
            seconds,
            ..toleration_of(key, operator, value, effect.unwrap_or(""))
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn ad_10_equals_comparing_all_pairs(first in vec_of(any_toleration(), 0..14), second in vec_of(any_toleration(), 0..6)) {
        prop_assert_eq!(merge(&first, &second), merged_by_hand(&[&first[..], &second[..]].concat()));
    }
}

/// Lists of 20,000 in which everything resembles everything else: each is compared with twelve at most.
#[test]
fn ad_10_hostile_lists_do_not_cost_quadratic_time() {
    const MANY: i64 = 20_000;
    /// Two of each shelf: of a key or every key, an effect or every effect, a value or every value.
    const COMPARED_MAX: usize = 12;
    let no_execute = || Some(TaintEffect::NoExecute);
    let build =
        |make: &dyn Fn(i64) -> (i64, &'static str, Option<TaintEffect>, Option<i64>)| -> Vec<Toleration> {
            let one = |number| {
                let (value, operator, effect, seconds) = make(number);
                let value = format!("v{value}");
                Toleration { effect, seconds, ..toleration_of("k", operator, &value, "") }
            };
            (0..MANY).map(one).collect()
        };
    for (left, list) in [
        // Increasing seconds: only the last is left. Decreasing seconds: only the first.
        (1, build(&|number| (0, "Exists", no_execute(), Some(number)))),
        (1, build(&|number| (0, "Equal", no_execute(), Some(-number)))),
        // Equal seconds; each covers the others, and the last is left.
        (1, build(&|number| (number, "Exists", None, Some(number)))),
        // None covers any.
        (20_000, build(&|number| (number, "Equal", no_execute(), Some(number)))),
        (20_000, build(&|number| (0, "", no_execute(), Some(number)))),
        (20_000, build(&|number| (0, "Gt", None, Some(number)))),
        // Half of them are covered by a toleration of every effect at the end.
        (
            1,
            build(&|number| {
                (0, "Exists", (number < MANY / 2).then_some(TaintEffect::NoSchedule), Some(number))
            }),
        ),
    ] {
        let covers: TolerationCoverage<'_> = list.iter().collect();
        let most = list.iter().map(|one| covers.candidates(one).count()).max();
        assert!(most.is_some_and(|most| most <= COMPARED_MAX), "{most:?} for {:?}", list[1]);
        assert_eq!(merge(&list, &list).len(), left, "{:?}", list[1]);
    }
}
