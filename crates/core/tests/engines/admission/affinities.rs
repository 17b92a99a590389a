//! Tests that a narrowed affinity selects exactly those selected nodes that belong to a pool.

use crate::admission::cases::{any_pool, any_terms};
use crate::cases::cases;
use proptest::prelude::*;
use taintward_core::admission::pool::{alternatives, narrowed};
use taintward_core::scheduling::{Labels, NodeTerm};

/// All nodes of a small case: every mixture of names and labels.
fn nodes() -> Vec<(&'static str, Labels)> {
    let mut all = Vec::new();
    for name in ["a", "n"] {
        for dedicated in [None, Some("a"), Some("b"), Some("5")] {
            for zone in [None, Some("a"), Some("b")] {
                let pairs = [("dedicated", dedicated), ("zone", zone)];
                let there = pairs.into_iter().filter_map(|(key, value)| Some((key.into(), value?.into())));
                all.push((name, there.collect()));
            }
        }
    }
    all
}

fn meant(terms: Option<&[NodeTerm]>, name: &str, labels: &Labels) -> bool {
    terms.is_none_or(|terms| terms.iter().any(|term| term.matches(name, labels)))
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn the_selected_nodes_are_the_old_ones_that_belong_to_the_pools(
        terms in any_terms(),
        pools in prop::collection::vec(any_pool(), 1..4),
    ) {
        let need = alternatives(&pools);
        let after = narrowed(terms.as_deref(), &need);
        for (name, labels) in nodes() {
            let of_pool = pools.iter().any(|pool| {
                let label = pool.label();
                labels.get(&label.key) == Some(&label.value)
            });
            let expected = of_pool && meant(terms.as_deref(), name, &labels);
            prop_assert_eq!(meant(after.as_deref(), name, &labels), expected, "{} {:?}", name, labels);
        }
        prop_assert_eq!(&narrowed(after.as_deref(), &need), &after);
        prop_assert_eq!(narrowed(terms.as_deref(), &[]), terms);
    }
}
