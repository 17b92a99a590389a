//! Restricts the required node affinity of a pod to the nodes of its pools.
//!
//! - Invariant: the result selects those of the nodes selected before that carry the label of one of the pools;
//!   applying it twice changes nothing.

use super::DedicatedPool;
use crate::admission::label_selector::is_in;
use crate::scheduling::{NodeOperator, NodeRequirement, NodeTerm};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// Returns the requirements of which a node must meet one: pools with the same label key make one requirement with
/// several values.
pub fn alternatives<'p>(pools: impl IntoIterator<Item = &'p DedicatedPool>) -> Vec<NodeRequirement> {
    let mut values: BTreeMap<Box<str>, BTreeSet<Box<str>>> = BTreeMap::new();
    for pool in pools {
        let label = pool.label();
        values.entry(label.key).or_default().insert(label.value);
    }
    values.into_iter().map(|(key, values)| is_in(&key, values.into_iter().collect())).collect()
}

/// Returns the terms of a required node affinity, narrowed to nodes that meet one of `alternatives`.
///
/// Terms are ORed, and the requirements within a term are ANDed: so every term gets the requirement, and is repeated
/// for each of several. A term that requires as much already stays unchanged. An empty term matches nothing and stays
/// empty: with a requirement added, it would match. A pod without affinity gets one term for each.
pub fn narrowed(terms: Option<&[NodeTerm]>, alternatives: &[NodeRequirement]) -> Option<Vec<NodeTerm>> {
    let Some(terms) = terms else {
        let term = |one: &NodeRequirement| NodeTerm { expressions: [one.clone()].into(), fields: Vec::new() };
        return (!alternatives.is_empty()).then(|| alternatives.iter().map(term).collect());
    };
    let mut narrow = Vec::with_capacity(terms.len());
    for term in terms {
        let empty = term.expressions.is_empty() && term.fields.is_empty();
        if empty || alternatives.is_empty() || alternatives.iter().any(|one| requires_no_less(term, one)) {
            narrow.push(term.clone());
            continue;
        }
        for one in alternatives {
            let mut term = term.clone();
            term.expressions.push(one.clone());
            narrow.push(term);
        }
    }
    Some(narrow)
}

fn requires_no_less(term: &NodeTerm, one: &NodeRequirement) -> bool {
    term.expressions.iter().any(|own| {
        own.key == one.key
            && own.operator == NodeOperator::In
            && !own.values.is_empty()
            && own.values.iter().all(|value| one.values.contains(value))
    })
}
