//! Implements sets of field paths (FieldsV1): union, difference, intersection.

mod managed_fields;
mod typed;

pub use managed_fields::{apply, keep_times, track};

use super::{FieldWriter, MergeGrain, MergeRule, SchemaKind, ValueForm};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The differences between two objects.
#[derive(Debug)]
struct Comparison {
    /// What was added or changed.
    written: FieldSet,
    removed: FieldSet,
}

/// A set of field paths. A path in the set does not imply its parents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct FieldSet(BTreeMap<String, FieldSetEntry>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct FieldSetEntry {
    member: bool,
    below: FieldSet,
}

impl FieldSetEntry {
    fn is_empty(&self) -> bool {
        !self.member && self.below.is_empty()
    }
}

/// The step to a field.
fn field_step(name: &str) -> String {
    format!("f:{name}")
}

/// The step to an item that is identified by its value.
fn value_step(value: &Value) -> String {
    format!("v:{value}")
}

/// The step to an item that is identified by some of its fields.
fn key_step(keys: Map<String, Value>) -> String {
    format!("k:{}", Value::Object(keys))
}

impl FieldSet {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn insert(&mut self, path: &[String]) {
        if let Some((step, rest)) = path.split_first() {
            let place = self.0.entry(step.clone()).or_default();
            if rest.is_empty() {
                place.member = true;
            } else {
                place.below.insert(rest);
            }
        }
    }

    /// Adds the fields at a step, if there are any.
    fn put(&mut self, step: impl FnOnce() -> String, place: FieldSetEntry) {
        if !place.is_empty() {
            self.0.insert(step(), place);
        }
    }

    fn has(&self, step: &str) -> bool {
        self.0.get(step).is_some_and(|place| place.member)
    }

    fn contains(&self, path: &[String]) -> bool {
        match path {
            [] => false,
            [step] => self.has(step),
            [step, rest @ ..] => self.below(step).is_some_and(|below| below.contains(rest)),
        }
    }

    /// The subset below a step, if there is any.
    fn below(&self, step: &str) -> Option<&Self> {
        self.0.get(step).map(|place| &place.below).filter(|below| !below.is_empty())
    }

    fn union(&self, other: &Self) -> Self {
        let mut all = self.clone();
        all.add(other);
        all
    }

    /// Adds another set.
    fn add(&mut self, other: &Self) {
        for (step, theirs) in &other.0 {
            match self.0.get_mut(step) {
                Some(place) => {
                    place.member |= theirs.member;
                    place.below.add(&theirs.below);
                }
                None => drop(self.0.insert(step.clone(), theirs.clone())),
            }
        }
    }

    fn difference(&self, other: &Self) -> Self {
        let mut left = self.clone();
        left.take_off(other);
        left
    }

    /// Subtracts another set.
    fn take_off(&mut self, other: &Self) {
        for (step, theirs) in &other.0 {
            let Some(place) = self.0.get_mut(step) else { continue };
            place.member &= !theirs.member;
            place.below.take_off(&theirs.below);
            if place.is_empty() {
                self.0.remove(step);
            }
        }
    }

    fn intersection(&self, other: &Self) -> Self {
        let both = self.0.iter().filter_map(|(step, place)| {
            let theirs = other.0.get(step)?;
            let both = FieldSetEntry {
                member: place.member && theirs.member,
                below: place.below.intersection(&theirs.below),
            };
            (!both.is_empty()).then(|| (step.clone(), both))
        });
        Self(both.collect())
    }

    /// Removes a path and everything below it.
    fn cut(&mut self, path: &[&str]) {
        let Some((name, rest)) = path.split_first() else { return };
        let step = field_step(name);
        if rest.is_empty() {
            self.0.remove(&step);
        } else if let Some(place) = self.0.get_mut(&step) {
            place.below.cut(rest);
            if place.is_empty() {
                self.0.remove(&step);
            }
        }
    }

    /// The subset at or below a path.
    fn only(&self, path: &[&str]) -> Self {
        let Some((name, rest)) = path.split_first() else { return self.clone() };
        let kept = self.0.iter().filter(|(step, _)| **step == field_step(name));
        let kept = kept.filter_map(|(step, place)| {
            let kept = if rest.is_empty() {
                place.clone()
            } else {
                FieldSetEntry { member: false, below: place.below.only(rest) }
            };
            (!kept.is_empty()).then(|| (step.clone(), kept))
        });
        Self(kept.collect())
    }

    /// Adds the declared parent fields of each path.
    fn with_named(&self, rule: MergeRule) -> Self {
        let all = self.0.iter().map(|(step, place)| {
            let (named, below) = match step.strip_prefix("f:") {
                Some(name) => (rule.declares(name), rule.field_or_any(name)),
                None if matches!(rule.grain, MergeGrain::Keyed(_)) => (false, rule.item()),
                None => (false, MergeRule::ANY),
            };
            let member = place.member || (named && !place.below.is_empty());
            (step.clone(), FieldSetEntry { member, below: place.below.with_named(below) })
        });
        Self(all.collect())
    }

    /// Each path in readable form: `.spec.containers[name="web"].image`; deeper paths come later.
    fn paths(&self) -> Vec<(Vec<String>, String)> {
        let mut paths = Vec::new();
        self.collect_paths(&mut Vec::new(), &mut String::new(), &mut paths);
        paths
    }

    fn collect_paths(&self, at: &mut Vec<String>, read: &mut String, paths: &mut Vec<(Vec<String>, String)>) {
        for below in [false, true] {
            for (step, place) in &self.0 {
                let length = read.len();
                at.push(step.clone());
                read.push_str(&readable(step));
                if below {
                    place.below.collect_paths(at, read, paths);
                } else if place.member {
                    paths.push((at.clone(), read.clone()));
                }
                read.truncate(length);
                at.pop();
            }
        }
    }

    /// FieldsV1.
    fn encode(self) -> Value {
        let places = self.0.into_iter().map(|(step, place)| {
            let both = place.member && !place.below.is_empty();
            let mut value = place.below.encode();
            if let (Value::Object(below), true) = (&mut value, both) {
                below.insert(".".into(), Value::Object(Map::new()));
            }
            (step, value)
        });
        places.collect()
    }

    /// From FieldsV1; `None` if it is invalid.
    fn decode(value: &Value) -> Option<Self> {
        let mut fields = Self::default();
        for (step, value) in value.as_object()?.iter().filter(|(step, _)| *step != ".") {
            let below = value.as_object()?;
            let member = below.is_empty() || below.contains_key(".");
            let place = FieldSetEntry { member, below: Self::decode(value)? };
            fields.0.insert(canonical(step)?, place);
        }
        Some(fields)
    }
}

/// A step in canonical encoding.
fn canonical(step: &str) -> Option<String> {
    match step.split_at_checked(2)? {
        ("f:" | "i:", _) => Some(step.to_owned()),
        (kind @ ("k:" | "v:"), rest) => Some(format!("{kind}{}", serde_json::from_str::<Value>(rest).ok()?)),
        _ => None,
    }
}

/// A step in readable form.
fn readable(step: &str) -> String {
    let parsed =
        || step.get(2..).and_then(|rest| serde_json::from_str::<Value>(rest).ok()).unwrap_or_default();
    match step.split_at_checked(2) {
        Some(("f:", name)) => format!(".{name}"),
        Some(("i:", index)) => format!("[{index}]"),
        Some(("v:", _)) => format!("[={}]", parsed()),
        _ => {
            let keys = parsed();
            let keys = keys.as_object().into_iter().flatten();
            let keys: Vec<_> = keys.map(|(key, value)| format!("{key}={value}")).collect();
            format!("[{}]", keys.join(","))
        }
    }
}
