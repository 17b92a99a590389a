//! Compares two objects at the granularity of field ownership.

use super::field_set::{FieldSet, FieldSetEntry, field_step};
use super::merge_rule::{MergeRule, ValueForm};
use super::typed::by_step;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What differs between two objects. No place is in two of the three.
#[derive(Clone, Debug, Default)]
pub(super) struct Comparison {
    pub(super) added: FieldSet,
    pub(super) changed: FieldSet,
    pub(super) removed: FieldSet,
}

impl Comparison {
    /// What differs.
    pub(super) fn of(old: &Value, new: &Value, rule: MergeRule) -> Self {
        let found = ComparedField::of(Some(old), Some(new), rule);
        Self { added: found.added.below, changed: found.changed.below, removed: found.removed.below }
    }

    /// What was written, and what of it is no more.
    pub(super) fn into_parts(self) -> (FieldSet, FieldSet) {
        let mut written = self.added;
        written.add(&self.changed);
        (written, self.removed)
    }

    /// The same with each set of places filtered.
    pub(super) fn filtered(self, filter: impl Fn(FieldSet) -> FieldSet) -> Self {
        Self { added: filter(self.added), changed: filter(self.changed), removed: filter(self.removed) }
    }
}

/// What differs at a place and below it.
#[derive(Default)]
struct ComparedField {
    added: FieldSetEntry,
    changed: FieldSetEntry,
    removed: FieldSetEntry,
}

impl ComparedField {
    fn of(old: Option<&Value>, new: Option<&Value>, rule: MergeRule) -> Self {
        if old == new {
            return Self::default();
        }
        let mut found = match rule.form(old, new) {
            ValueForm::Leaf => {
                let changed =
                    FieldSetEntry { member: old.is_some() && new.is_some(), ..FieldSetEntry::default() };
                Self { changed, ..Self::default() }
            }
            ValueForm::Fields(old, new) => Self::of_fields(old, new, rule),
            ValueForm::Items(old, new) => Self::of_items(old, new, rule),
        };
        found.added.member |= old.is_none();
        found.removed.member |= new.is_none();
        found
    }

    fn of_fields(
        old: Option<&Map<String, Value>>,
        new: Option<&Map<String, Value>>,
        rule: MergeRule,
    ) -> Self {
        let mut all = Self::default();
        for (name, then) in old.into_iter().flatten() {
            let now = new.and_then(|new| new.get(name));
            if now != Some(then) {
                all.put(|| field_step(name), Self::of(Some(then), now, rule.field_or_any(name)));
            }
        }
        for (name, now) in new.into_iter().flatten() {
            if old.is_none_or(|old| !old.contains_key(name)) {
                all.put(|| field_step(name), Self::of(None, Some(now), rule.field_or_any(name)));
            }
        }
        all
    }

    /// Items that occur more than once are one place.
    fn of_items(old: &[Value], new: &[Value], rule: MergeRule) -> Self {
        let mut all = Self::default();
        let mut now: BTreeMap<String, Vec<&Value>> = by_step(new, rule).into_iter().collect();
        for (step, then) in by_step(old, rule) {
            let found = Self::of_same(&then, &now.remove(&step).unwrap_or_default(), rule);
            all.put(|| step.clone(), found);
        }
        for (step, now) in now {
            all.put(|| step.clone(), Self::of_same(&[], &now, rule));
        }
        all
    }

    /// What differs between the items of one step.
    fn of_same(then: &[&Value], now: &[&Value], rule: MergeRule) -> Self {
        match (then, now) {
            ([] | [_], [] | [_]) => Self::of(then.first().copied(), now.first().copied(), rule.item()),
            ([_, _, ..], [_, _, ..]) => {
                let changed = FieldSetEntry { member: then != now, ..FieldSetEntry::default() };
                Self { changed, ..Self::default() }
            }
            ([_, _, ..], _) => {
                let now = now.first().map(|now| Self::of(None, Some(now), rule.item()));
                let mut found = now.unwrap_or_default();
                found.removed.member = true;
                found
            }
            _ => {
                let then = then.first().map(|then| Self::of(Some(then), None, rule.item()));
                let mut found = then.unwrap_or_default();
                found.added.member = true;
                found
            }
        }
    }

    fn put(&mut self, step: impl Fn() -> String, found: Self) {
        self.added.below.put(&step, found.added);
        self.changed.below.put(&step, found.changed);
        self.removed.below.put(&step, found.removed);
    }
}
