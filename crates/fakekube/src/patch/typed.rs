//! Collects, merges and removes field paths of objects by their [`MergeRule`]s.

use super::field_set::{FieldSet, field_step, key_step, value_step};
use super::merge_rule::{MergeGrain, MergeRule, SchemaKind, ValueForm};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// What tells an item of a list apart, or why nothing does.
pub(super) fn item_step(item: &Value, list: MergeRule) -> Result<String, String> {
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

/// The items of a list by what tells them apart, in the order they first occur; those without a step are left out.
pub(super) fn by_step(items: &[Value], list: MergeRule) -> Vec<(String, Vec<&Value>)> {
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

/// The places an object has.
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

/// `live` with `config` merged into it; of two values that are owned as a whole, the second is taken.
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

/// Items that both have stand in the order of `config`; items of `live` alone stay where they are among them.
fn merge_items(live: &[Value], config: &[Value], rule: MergeRule) -> Vec<Value> {
    let step = |item| item_step(item, rule).ok();
    let live: Vec<(String, &Value)> = live.iter().filter_map(|item| Some((step(item)?, item))).collect();
    let config: Vec<(String, &Value)> = config.iter().filter_map(|item| Some((step(item)?, item))).collect();
    // A doubled item can't be merged with: it is as if there were null.
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

/// `value` without the places in `gone`; what becomes empty becomes null.
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
