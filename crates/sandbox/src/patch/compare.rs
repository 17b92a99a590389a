//! # Compare: what differs between two objects
//! Room:     places added, changed and removed, as fine as they are owned.
//! Comes in: two objects of a type.
//! Goes out: [`Comparison`].
//! Not here: who did it (`track.rs`, `apply.rs`).

use super::fields::{Fields, field_step};
use super::rule::{Form, Rule};
use super::typed::by_step;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// What differs between two objects. No place is in two of the three.
#[derive(Clone, Debug, Default)]
pub(super) struct Comparison {
    pub(super) added: Fields,
    pub(super) changed: Fields,
    pub(super) removed: Fields,
}

impl Comparison {
    /// What differs.
    pub(super) fn of(old: &Value, new: &Value, rule: Rule) -> Self {
        let mut comparison = Self::default();
        comparison.walk(Some(old), Some(new), rule, &mut Vec::new());
        comparison
    }

    /// What was written.
    pub(super) fn written(&self) -> Fields {
        self.changed.union(&self.added)
    }

    /// The same with each set of places filtered.
    pub(super) fn filtered(self, filter: impl Fn(Fields) -> Fields) -> Self {
        Self { added: filter(self.added), changed: filter(self.changed), removed: filter(self.removed) }
    }

    fn walk(&mut self, old: Option<&Value>, new: Option<&Value>, rule: Rule, path: &mut Vec<String>) {
        match rule.form(old, new) {
            Form::Leaf => {
                if old.is_some() && new.is_some() && old != new {
                    self.changed.insert(path);
                }
            }
            Form::Fields(old, new) => {
                let names: BTreeSet<&String> = [old, new].into_iter().flatten().flat_map(Map::keys).collect();
                for name in names {
                    path.push(field_step(name));
                    let (old, new) = (old.and_then(|of| of.get(name)), new.and_then(|of| of.get(name)));
                    self.walk(old, new, rule.field_or_any(name), path);
                    path.pop();
                }
            }
            Form::Items(old, new) => self.walk_items(old, new, rule, path),
        }
        match (old, new) {
            (None, Some(_)) => self.added.insert(path),
            (Some(_), None) => self.removed.insert(path),
            _ => {}
        }
    }

    /// Items that occur more than once are one place.
    fn walk_items(&mut self, old: &[Value], new: &[Value], rule: Rule, path: &mut Vec<String>) {
        let old = by_step(old, rule);
        let new = by_step(new, rule);
        let then: BTreeMap<&str, &Vec<&Value>> =
            old.iter().map(|(step, same)| (step.as_str(), same)).collect();
        let now: BTreeMap<&str, &Vec<&Value>> =
            new.iter().map(|(step, same)| (step.as_str(), same)).collect();
        let steps: BTreeSet<&str> = then.keys().chain(now.keys()).copied().collect();
        for step in steps {
            let (then, now) = (then.get(step), now.get(step));
            let then = then.map_or(&[][..], |same| same.as_slice());
            let now = now.map_or(&[][..], |same| same.as_slice());
            path.push(step.to_owned());
            match (then, now) {
                ([] | [_], [] | [_]) => {
                    self.walk(then.first().copied(), now.first().copied(), rule.item(), path);
                }
                ([_, _, ..], [_, _, ..]) => {
                    if then != now {
                        self.changed.insert(path);
                    }
                }
                ([_, _, ..], _) => {
                    if let Some(now) = now.first() {
                        self.walk(None, Some(now), rule.item(), path);
                    }
                    self.removed.insert(path);
                }
                (_, _) => {
                    if let Some(then) = then.first() {
                        self.walk(Some(then), None, rule.item(), path);
                    }
                    self.added.insert(path);
                }
            }
            path.pop();
        }
    }
}
