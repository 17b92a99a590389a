//! Collects, merges, removes, compares and checks fields of objects by their [`MergeRule`]s.

use super::{
    Comparison, FieldSet, FieldSetEntry, MergeGrain, MergeRule, SchemaKind, ValueForm, field_step, key_step,
    readable, value_step,
};
use crate::schema::Shape;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The fields or the value that identify an item of a list, or why nothing does.
fn item_step(item: &Value, list: MergeRule) -> Result<String, String> {
    let MergeGrain::Keyed(keys) = list.grain else {
        return match item {
            Value::Object(_) => Err("associative list without keys has an element that's a map type".into()),
            Value::Array(_) => Err("not supported: associative list with lists as elements".into()),
            Value::Null => Err("associative list without keys has an element that's an explicit null".into()),
            scalar => Ok(value_step(scalar)),
        };
    };
    let fields = match item {
        Value::Object(fields) => fields,
        Value::Null => return Err("associative list with keys may not have a null element".into()),
        _ => return Err("associative list with keys may not have non-map elements".into()),
    };
    let values = keys.names().iter().filter_map(|key| {
        let value = fields.get(*key).cloned().or_else(|| list.key_default(key))?;
        Some(((*key).to_owned(), value))
    });
    let values: Map<String, Value> = values.collect();
    if values.is_empty() {
        let keys: Vec<_> = keys.names().iter().map(|key| format!("{key:?}")).collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have default \
             values for any key fields)",
            keys.join(" ")
        ));
    }
    Ok(key_step(values))
}

/// The items of a list by their identifying step, in the order of first occurrence; items without a step are left out.
fn by_step(items: &[Value], list: MergeRule) -> Vec<(String, Vec<&Value>)> {
    let mut found: Vec<(String, Vec<&Value>)> = Vec::new();
    let mut places = BTreeMap::new();
    for item in items {
        let Ok(step) = item_step(item, list) else { continue };
        match places.get(&step) {
            Some(place) => {
                let (_, same): &mut (_, Vec<_>) = &mut found[*place];
                same.push(item);
            }
            None => {
                places.insert(step.clone(), found.len());
                found.push((step, vec![item]));
            }
        }
    }
    found
}

/// The field paths of an object.
pub(super) fn places(object: &Value, rule: MergeRule) -> FieldSet {
    let mut places = FieldSet::default();
    collect(object, rule, &mut Vec::new(), &mut places);
    places
}

fn collect(value: &Value, rule: MergeRule, path: &mut Vec<String>, into: &mut FieldSet) {
    match rule.form(Some(value), None) {
        ValueForm::Leaf => {
            let parts =
                rule.grain != MergeGrain::Whole && (value.is_null() || value.is_object() || value.is_array());
            let unknown_list = matches!(rule.what, SchemaKind::Any) && value.is_array();
            if !parts || unknown_list {
                into.insert(path);
            }
        }
        ValueForm::Fields(fields, _) => {
            for (name, value) in fields.into_iter().flatten() {
                path.push(field_step(name));
                collect(value, rule.field_or_any(name), path, into);
                let empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
                if empty || !rule.declares(name) {
                    into.insert(path);
                }
                path.pop();
            }
        }
        ValueForm::Items(items, _) => {
            for (step, same) in by_step(items, rule) {
                path.push(step);
                if let [item] = same.as_slice() {
                    collect(item, rule.item(), path, into);
                }
                into.insert(path);
                path.pop();
            }
        }
    }
}

/// `live` with `config` merged into it; where a value is owned as a whole, that of `config` is taken.
pub(super) fn merge(live: Option<&Value>, config: Option<&Value>, rule: MergeRule) -> Option<Value> {
    match rule.form(live, config) {
        ValueForm::Leaf => config.or(live).cloned(),
        ValueForm::Fields(live, config) => {
            let names: BTreeSet<&String> = [live, config].into_iter().flatten().flat_map(Map::keys).collect();
            let merged = names.into_iter().filter_map(|name| {
                let (live, config) = (live.and_then(|of| of.get(name)), config.and_then(|of| of.get(name)));
                Some((name.clone(), merge(live, config, rule.field_or_any(name))?))
            });
            let merged: Map<String, Value> = merged.collect();
            (!merged.is_empty()).then_some(Value::Object(merged))
        }
        ValueForm::Items(live, config) => {
            let merged = merge_items(live, config, rule);
            (!merged.is_empty()).then_some(Value::Array(merged))
        }
    }
}

/// Items in both lists are in the order of `config`; items only in `live` keep their places among them.
fn merge_items(live: &[Value], config: &[Value], rule: MergeRule) -> Vec<Value> {
    let step = |item| item_step(item, rule).ok();
    let live: Vec<(String, &Value)> = live.iter().filter_map(|item| Some((step(item)?, item))).collect();
    let config: Vec<(String, &Value)> = config.iter().filter_map(|item| Some((step(item)?, item))).collect();
    // A duplicate item cannot be merged with: it counts as null.
    let mut there: BTreeMap<&str, &Value> = BTreeMap::new();
    for (step, item) in &live {
        there.entry(step).and_modify(|item| *item = &Value::Null).or_insert(item);
    }
    let wanted: BTreeSet<&str> = config.iter().map(|(step, _)| step.as_str()).collect();
    let mut shared = config.iter().map(|(step, _)| step.as_str()).filter(|step| there.contains_key(step));
    let mut next_shared = shared.next();
    let mut done = BTreeSet::new();
    let mut merged = Vec::new();
    let (mut left, mut right) = (live.iter().peekable(), config.iter().peekable());
    while left.peek().is_some() || right.peek().is_some() {
        if let (Some((step, _)), Some((other, _))) = (left.peek(), right.peek())
            && step != other
            && wanted.contains(step.as_str())
            && next_shared.is_some_and(|next| next != step)
        {
            left.next();
            continue;
        }
        if let Some((step, item)) = left.peek() {
            let same = right.peek().is_some_and(|(other, _)| other == step);
            if !wanted.contains(step.as_str()) {
                merged.extend(merge(Some(item), None, rule.item()));
                left.next();
                continue;
            }
            if same || done.contains(step.as_str()) {
                left.next();
            }
        }
        if let Some((step, item)) = right.next() {
            done.insert(step.as_str());
            merged.extend(merge(there.get(step.as_str()).copied(), Some(item), rule.item()));
            if next_shared == Some(step.as_str()) {
                next_shared = shared.next();
            }
        }
    }
    merged
}

/// `value` without the paths in `gone`; what becomes empty becomes null.
pub(super) fn remove(value: &Value, gone: &FieldSet, rule: MergeRule) -> Option<Value> {
    match rule.form(Some(value), None) {
        ValueForm::Leaf => (!value.is_object() && !value.is_array()).then(|| value.clone()),
        ValueForm::Fields(fields, _) => {
            let left = fields.into_iter().flatten().filter_map(|(name, value)| {
                let left = remove_at(value, gone, &field_step(name), rule.field_or_any(name))?;
                Some((name.clone(), left))
            });
            let left: Map<String, Value> = left.collect();
            (!left.is_empty()).then_some(Value::Object(left))
        }
        ValueForm::Items(items, _) => {
            let left = items.iter().filter_map(|item| match item_step(item, rule) {
                Ok(step) => remove_at(item, gone, &step, rule.item()),
                Err(_) => Some(item.clone()),
            });
            let left: Vec<Value> = left.collect();
            (!left.is_empty()).then_some(Value::Array(left))
        }
    }
}

fn remove_at(value: &Value, gone: &FieldSet, step: &str, rule: MergeRule) -> Option<Value> {
    if gone.has(step) {
        return None;
    }
    match gone.below(step) {
        Some(below) => Some(remove(value, below, rule).unwrap_or_default()),
        None => Some(value.clone()),
    }
}

impl Comparison {
    /// The differences between two values.
    pub(super) fn of(old: &Value, new: &Value, rule: MergeRule) -> Self {
        let found = ComparedField::of(Some(old), Some(new), rule);
        Self { written: found.written.below, removed: found.removed.below }
    }
}

/// The differences at a path and below it.
#[derive(Default)]
struct ComparedField {
    /// What was added or changed.
    written: FieldSetEntry,
    removed: FieldSetEntry,
}

impl ComparedField {
    fn of(old: Option<&Value>, new: Option<&Value>, rule: MergeRule) -> Self {
        if old == new {
            return Self::default();
        }
        let mut found = match rule.form(old, new) {
            ValueForm::Leaf => {
                let mut changed = Self::default();
                changed.written.member = new.is_some();
                changed
            }
            ValueForm::Fields(old, new) => Self::of_fields(old, new, rule),
            ValueForm::Items(old, new) => Self::of_items(old, new, rule),
        };
        found.written.member |= old.is_none();
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

    /// Items that occur more than once share one path.
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

    /// The differences between the items with the same step.
    fn of_same(then: &[&Value], now: &[&Value], rule: MergeRule) -> Self {
        let of = |then: &[&Value], now: &[&Value]| {
            Self::of(then.first().copied(), now.first().copied(), rule.item())
        };
        let mut found = Self::default();
        match (then, now) {
            ([] | [_], [] | [_]) => found = of(then, now),
            ([_, _, ..], [_, _, ..]) => found.written.member = then != now,
            ([_, _, ..], _) => {
                found = of(&[], now);
                found.removed.member = true;
            }
            _ => {
                found = of(then, &[]);
                found.written.member = true;
            }
        }
        found
    }

    fn put(&mut self, step: impl Fn() -> String, found: Self) {
        self.written.below.put(&step, found.written);
        self.removed.below.put(&step, found.removed);
    }
}

/// Validates a configuration; the error has all its faults as one text.
pub(super) fn check(config: &Value, rule: MergeRule) -> Result<(), String> {
    let mut errors = Vec::new();
    walk(config, rule, &mut String::new(), &mut errors);
    match errors.as_slice() {
        [] => Ok(()),
        [error] => Err(error.clone()),
        errors => Err(errors.iter().fold("errors:".into(), |all, error| format!("{all}\n  {error}"))),
    }
}

fn walk(value: &Value, rule: MergeRule, path: &mut String, errors: &mut Vec<String>) {
    let mut error = |what: String, path: &str| {
        errors.push(if path.is_empty() { what } else { format!("{path}: {what}") });
    };
    match (rule.what, value) {
        (_, Value::Null) => {}
        (SchemaKind::Scalar(shape), value) => {
            if let Some(what) = scalar_fault(shape, value) {
                error(what, path);
            }
        }
        (SchemaKind::Object(_) | SchemaKind::Map(_), Value::Object(fields)) => {
            for (name, value) in fields {
                let length = path.len();
                path.push('.');
                path.push_str(name);
                match rule.field(name) {
                    Some(rule) => walk(value, rule, path, errors),
                    None => {
                        errors.push(format!("{path}: field not declared in schema"));
                        path.truncate(length);
                        return;
                    }
                }
                path.truncate(length);
            }
        }
        (SchemaKind::Object(_) | SchemaKind::Map(_), other) => {
            error(format!("expected map, got {}", other), path)
        }
        (SchemaKind::List(_), Value::Array(items)) => walk_items(items, rule, path, errors),
        (SchemaKind::List(_), other) => error(format!("expected list, got {}", other), path),
        (SchemaKind::Any, _) => {}
    }
}

fn walk_items(items: &[Value], rule: MergeRule, path: &mut String, errors: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        let length = path.len();
        let step = match rule.grain {
            MergeGrain::Keyed(_) | MergeGrain::Set => match item_step(item, rule) {
                Ok(step) => readable(&step),
                Err(what) => {
                    errors.push(format!("{path}: element {index}: {what}"));
                    return;
                }
            },
            _ => format!("[{index}]"),
        };
        if !seen.insert(step.clone()) {
            errors.push(format!("{path}: duplicate entries for key {step}"));
        }
        path.push_str(&step);
        walk(item, rule.item(), path, errors);
        path.truncate(length);
    }
}

fn scalar_fault(shape: &Shape, value: &Value) -> Option<String> {
    let (fits, wanted) = match shape {
        Shape::Bool => (value.is_boolean(), "boolean"),
        Shape::Int32 | Shape::Int64 | Shape::Float64 => (value.is_number(), "numeric (int or float)"),
        Shape::String | Shape::Bytes => (value.is_string(), "string"),
        _ => (!value.is_object() && !value.is_array(), "any scalar"),
    };
    (!fits).then(|| format!("expected {wanted}, got {value}"))
}
