//! # Prune: what is not applied any more
//! Room:     takes away what a manager applied before, does not apply now, and nobody else owns.
//! Comes in: the merged object; what the manager owned before; what everybody owns now.
//! Goes out: the object without it.
//! Not here: conflicts.

use super::field_set::FieldSet;
use super::merge_rule::MergeRule;
use super::typed::{places, remove};
use serde_json::{Value, json};

/// `merged` without what only `last` owned.
pub(super) fn prune(merged: &Value, last: &FieldSet, owned: &FieldSet, rule: MergeRule) -> Value {
    if last.is_empty() {
        return merged.clone();
    }
    let without = |gone: &FieldSet| remove(merged, gone, rule).unwrap_or_else(|| json!({}));
    let named = |fields: &FieldSet| fields.with_named(rule);
    let of = |object: &Value| named(&places(object, rule));
    let (all, last) = (of(merged), named(last));
    // Removing an item or a field removes what lies below it; what of that is owned comes back …
    let pruned = without(&last);
    let pruned = without(&all.difference(&of(&pruned).union(&named(owned))));
    // … and so does what was never this manager's to remove.
    without(&all.difference(&of(&pruned)).intersection(&last))
}
