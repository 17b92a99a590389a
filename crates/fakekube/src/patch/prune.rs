//! Removes fields that a manager applied before, no longer applies, and no other manager owns.

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
