//! Finds the tolerations that may cover another one, without comparing all pairs (AD-10).
//!
//! - Invariant: of tolerations that differ only in their seconds, the two longest are kept; they cover all that the
//!   others would.

use crate::taint::TaintEffect;
use crate::toleration::{Toleration, TolerationOperator};
use alloc::collections::{BTreeMap, BTreeSet};

/// Whether the first allows everything that the second does, as AD-10 says: a toleration without operator is never
/// covered by an `Equal` one, and `Lt` and `Gt` cover nothing but themselves.
pub fn is_superset(whole: &Toleration, part: &Toleration) -> bool {
    let every_key = whole.key.is_empty() && whole.operator == TolerationOperator::Exists;
    let key = whole.key == part.key || every_key;
    let effect = whole.effect.is_none() || whole.effect == part.effect;
    whole == part || (key && effect && lasts_as_long(whole, part) && covers_value(whole, part))
}

fn lasts_as_long(whole: &Toleration, part: &Toleration) -> bool {
    match (&whole.effect, whole.seconds) {
        (Some(TaintEffect::NoExecute), Some(most)) => part.seconds.is_some_and(|seconds| seconds <= most),
        _ => true,
    }
}

fn covers_value(whole: &Toleration, part: &Toleration) -> bool {
    match whole.operator {
        TolerationOperator::Exists => true,
        TolerationOperator::Equal | TolerationOperator::Unset => {
            part.operator == TolerationOperator::Equal && part.value == whole.value
        }
        TolerationOperator::Lt | TolerationOperator::Gt | TolerationOperator::Unknown(_) => false,
    }
}

/// How long a toleration lasts as a cover; `None`, no time limit, is the longest.
fn length(toleration: &Toleration) -> (bool, i64) {
    match (&toleration.effect, toleration.seconds) {
        (Some(TaintEffect::NoExecute), Some(most)) => (false, most),
        _ => (true, 0),
    }
}

/// What must be equal for one to cover another, apart from the time: key, effect, and the value unless every value is
/// covered.
type CoverageKey<'t> = (&'t str, Option<&'t TaintEffect>, Option<&'t str>);

/// Tolerations, indexed by what they cover.
#[derive(Default)]
pub(super) struct TolerationCoverage<'t> {
    all: BTreeSet<&'t Toleration>,
    shelves: BTreeMap<CoverageKey<'t>, [Option<&'t Toleration>; 2]>,
}

impl<'t> FromIterator<&'t Toleration> for TolerationCoverage<'t> {
    fn from_iter<I: IntoIterator<Item = &'t Toleration>>(tolerations: I) -> Self {
        let mut covers = Self::default();
        tolerations.into_iter().for_each(|one| covers.add(one));
        covers
    }
}

impl<'t> TolerationCoverage<'t> {
    pub(super) fn add(&mut self, one: &'t Toleration) {
        if !self.all.insert(one) {
            return;
        }
        let value = match one.operator {
            TolerationOperator::Exists => None,
            TolerationOperator::Equal | TolerationOperator::Unset => Some(&*one.value),
            TolerationOperator::Lt | TolerationOperator::Gt | TolerationOperator::Unknown(_) => return,
        };
        let longest = self.shelves.entry((&one.key, one.effect.as_ref(), value)).or_default();
        let mut next = Some(one);
        for place in longest {
            if next.map(length) > place.map(length) {
                core::mem::swap(place, &mut next);
            }
        }
    }

    /// Returns the candidates for covering `part`, two of each shelf: if any toleration but `part` itself covers it,
    /// one of these does.
    pub(super) fn candidates<'s>(&'s self, part: &'s Toleration) -> impl Iterator<Item = &'s Toleration> {
        let value = (part.operator == TolerationOperator::Equal).then_some(&*part.value);
        let keys = [Some(&*part.key), (!part.key.is_empty()).then_some("")];
        let effects = [Some(None), part.effect.as_ref().map(Some)];
        let shelves = keys.into_iter().flatten().flat_map(move |key| {
            effects.into_iter().flatten().flat_map(move |effect| {
                [Some((key, effect, None)), value.map(|value| (key, effect, Some(value)))]
            })
        });
        shelves.flatten().filter_map(|shelf| self.shelves.get(&shelf)).flatten().copied().flatten()
    }

    /// Whether one of them covers `part`, itself included.
    pub(super) fn any(&self, part: &Toleration) -> bool {
        self.all.contains(part) || self.another(part)
    }

    /// Whether one of them, other than itself, covers `part`.
    pub(super) fn another(&self, part: &Toleration) -> bool {
        self.candidates(part).any(|one| one != part && is_superset(one, part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::toleration_of;
    use proptest::prelude::*;

    fn any_toleration() -> impl Strategy<Value = Toleration> {
        let operator = prop::sample::select(alloc::vec!["Exists", "Equal", "", "Lt"]);
        let effect = prop::sample::select(alloc::vec!["", "NoExecute", "NoSchedule"]);
        let seconds = prop::option::of(prop::sample::select(alloc::vec![0_i64, 60, 300, 301]));
        ("[ab]?", operator, "[xy]?", effect, seconds).prop_map(|(key, operator, value, effect, seconds)| {
            Toleration { seconds, ..toleration_of(&key, operator, &value, effect) }
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

        /// The shelves find a cover exactly if comparing all pairs does.
        #[test]
        fn shelves_leave_out_no_cover(
            all in prop::collection::vec(any_toleration(), 0..12),
            part in any_toleration(),
        ) {
            let covers: TolerationCoverage<'_> = all.iter().collect();
            let others = all.iter().any(|one| *one != part && is_superset(one, &part));
            prop_assert_eq!(covers.another(&part), others);
            prop_assert_eq!(covers.any(&part), others || all.contains(&part));
        }
    }

    #[test]
    fn of_many_that_differ_in_seconds_the_longest_covers() {
        let lasting = |seconds| Toleration { seconds, ..toleration_of("k", "Exists", "", "NoExecute") };
        for order in [[10, 20, 30], [30, 20, 10], [20, 30, 10]] {
            let all = order.map(|seconds| lasting(Some(seconds)));
            let mut covers: TolerationCoverage<'_> = all.iter().collect();
            assert!(covers.another(&lasting(Some(29))) && !covers.another(&lasting(Some(30))));
            assert!(!covers.another(&lasting(None)));
            let forever = lasting(None);
            covers.add(&forever);
            assert!(covers.another(&lasting(Some(30))) && covers.any(&forever));
        }
    }
}
