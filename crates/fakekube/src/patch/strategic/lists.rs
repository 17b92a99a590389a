//! Merges lists of strategic merge patches by key, and determines the resulting order.
//!
//! - The order is that of `$setElementOrder`, then of the patch, then of the object.

use super::{
    JsonFields, PATCH, PatchField, PatchTarget, SET_ORDER, merge_fields, target, unknown_directive,
    without_directives,
};
use crate::api_status::StatusError;
use crate::patch::{unexpected, unfit};
use serde_json::Value;
use std::mem::discriminant;

fn no_key(key: &str) -> StatusError {
    unexpected(format!("an item does not contain declared merge key: {key}"))
}

fn bad_type(expected: &str) -> StatusError {
    unexpected(format!("a list or an item of the patch is not {expected}"))
}

/// An item's fields.
fn fields(item: &Value) -> Result<&JsonFields, StatusError> {
    item.as_object().ok_or_else(|| bad_type("an object"))
}

/// The value that identifies an item.
fn key_of<'v>(item: &'v Value, key: Option<&str>) -> Result<&'v Value, StatusError> {
    let Some(key) = key else { return Ok(item) };
    let fields = fields(item)?;
    fields.get(key).ok_or_else(|| no_key(key))
}

/// The index of the item in `list` with the same identifying value.
fn find(list: &[Value], same: &Value, key: Option<&str>) -> Result<Option<usize>, StatusError> {
    for (place, item) in list.iter().enumerate() {
        let found = match (item, key) {
            (item, None) => Some(item),
            (Value::Object(fields), Some(key)) => fields.get(key),
            _ => return Err(unexpected(format!("value for key {place} is not a map"))),
        };
        if found == Some(same) {
            return Ok(Some(place));
        }
    }
    Ok(None)
}

/// Merges `change` into `there` by the field's strategy; `deletes` removes scalars instead.
pub(super) fn merge(
    there: Vec<Value>,
    change: Vec<Value>,
    known: &PatchField,
    deletes: bool,
) -> Result<Vec<Value>, StatusError> {
    if !known.merge.merge && !deletes {
        return Ok(change);
    }
    if there.is_empty() && change.is_empty() {
        return Ok(there);
    }
    let key = known.merge.key.as_deref();
    if !of_objects(&there, &change)? {
        if deletes {
            return Ok(there.into_iter().filter(|item| !change.contains(item)).collect());
        }
        let merged = deduplicated(there.iter().chain(&change).cloned().collect());
        return in_order(merged, &change, &there, None);
    }
    let key = key.ok_or_else(|| unexpected("cannot merge lists without merge key for struct"))?;
    let (there, change) = run_directives(there, change, key)?;
    let merged = merge_items(there.clone(), &change, key, known.spot)?;
    in_order(merged, &change, &there, Some(key))
}

/// Whether the items of both lists are objects; they must all be of one type.
fn of_objects(one: &[Value], other: &[Value]) -> Result<bool, StatusError> {
    let mut items = one.iter().chain(other);
    let first = items.next().ok_or_else(|| unexpected("no elements in any of the given slices"))?;
    if first.is_array() {
        return Err(unfit());
    }
    if items.any(|item| discriminant(item) != discriminant(first)) {
        return Err(unexpected("list element types are not identical"));
    }
    Ok(first.is_object())
}

/// Removes duplicates. The last item replaces a removed one, as in a real server.
fn deduplicated(mut items: Vec<Value>) -> Vec<Value> {
    let mut at = 0;
    while at < items.len() {
        let mut next = at + 1;
        while next < items.len() {
            if items[at] == items[next] {
                items.swap_remove(next);
            } else {
                next += 1;
            }
        }
        at += 1;
    }
    items
}

/// Runs the `$patch` directives among the items of a patch. Returns what remains of both lists.
fn run_directives(
    mut there: Vec<Value>,
    change: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), StatusError> {
    let mut plain = Vec::new();
    let mut replace = false;
    for item in change {
        let fields = fields(&item)?;
        match fields.get(PATCH) {
            None => plain.push(item),
            Some(directive) => match directive.as_str() {
                Some("delete") => {
                    let same = fields.get(key).ok_or_else(|| no_key(key))?;
                    while let Some(place) = find(&there, same, Some(key))? {
                        there.remove(place);
                    }
                }
                Some("replace") => replace = true,
                Some("merge") => {
                    return Err(unexpected("merging lists cannot yet be specified in the patch"));
                }
                _ => return Err(unknown_directive(directive)),
            },
        }
    }
    Ok(if replace { (plain, Vec::new()) } else { (there, plain) })
}

fn merge_items(
    mut there: Vec<Value>,
    change: &[Value],
    key: &str,
    spot: PatchTarget,
) -> Result<Vec<Value>, StatusError> {
    for item in change {
        let same = key_of(item, Some(key))?;
        match find(&there, same, Some(key))? {
            Some(place) => {
                let (old, new) = (fields(&there[place])?.clone(), fields(item)?.clone());
                there[place] = Value::Object(merge_fields(old, new, spot)?);
            }
            None => there.push(item.clone()),
        }
    }
    Ok(there)
}

/// Sorts the items in `wanted` into its order and the others into that of `there`, and interleaves them: an item only
/// in `there` precedes the first wanted item that it preceded before.
fn in_order(
    merged: Vec<Value>,
    wanted: &[Value],
    there: &[Value],
    key: Option<&str>,
) -> Result<Vec<Value>, StatusError> {
    for item in wanted {
        key_of(item, key)?;
    }
    let mut patched = Vec::new();
    let mut others = Vec::new();
    for item in merged {
        let same = key_of(&item, key)?;
        let was = find(there, same, key)?;
        match find(wanted, same, key)? {
            Some(place) => patched.push((place, was, item)),
            None => others.push((was, item)),
        }
    }
    patched.sort_by_key(|(place, _, _)| *place);
    others.sort_by_key(|(was, _)| *was);
    let mut ordered = Vec::with_capacity(patched.len() + others.len());
    let mut others = others.into_iter().peekable();
    for (_, was, item) in patched {
        while let Some((other, _)) = others.peek()
            && other.is_some_and(|other| was.is_some_and(|was| other < was))
        {
            ordered.extend(others.next().map(|(_, item)| item));
        }
        ordered.push(item);
    }
    ordered.extend(others.map(|(_, item)| item));
    Ok(ordered)
}

/// Merges the lists whose order the patch names, and removes them and their orders from the patch.
pub(super) fn merge_ordered(
    into: &mut JsonFields,
    patch: &mut JsonFields,
    spot: PatchTarget,
) -> Result<(), StatusError> {
    let orders: Vec<String> = patch.keys().filter(|name| name.starts_with(SET_ORDER)).cloned().collect();
    for directive in orders {
        let order = patch.remove(&directive).unwrap_or_default();
        let order = items(&order)?;
        let Some(Some(name)) = target(&directive, SET_ORDER) else { return Err(bad_order()) };
        let there = into.get(name).map(items).transpose()?;
        let change = patch.get(name).map(items).transpose()?;
        let known = spot.field(name)?;
        let key = known.merge.key.as_deref();
        check_order(change.unwrap_or_default(), order, key)?;
        let merged = match (there, change) {
            (None, None) => continue,
            (Some(there), None) => there.to_vec(),
            (None, Some(change)) => change.iter().cloned().filter_map(without_directives).collect(),
            (Some(there), Some(change)) => merge(there.to_vec(), change.to_vec(), &known, false)?,
        };
        of_objects(there.unwrap_or_default(), change.unwrap_or_default())?;
        let ordered = in_order(merged, order, there.unwrap_or_default(), key)?;
        into.insert(name.to_owned(), Value::Array(ordered));
        patch.remove(name);
    }
    Ok(())
}

fn bad_order() -> StatusError {
    StatusError::bad_request("invalid patch format of setElementOrder list")
}

fn items(value: &Value) -> Result<&[Value], StatusError> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| bad_type("a list"))
}

/// Checks that the items of a patch occur in the same sequence in the order; deletions do not have to.
fn check_order(change: &[Value], order: &[Value], key: Option<&str>) -> Result<(), StatusError> {
    if change.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut places = order.iter();
    for item in change {
        if key.is_some() {
            fields(item)?;
        }
        if item.get(PATCH).is_some() {
            continue;
        }
        let same = key_of(item, key)?;
        loop {
            match places.next() {
                None => {
                    let why = format!("the order of the patch's list is not that of {SET_ORDER}");
                    return Err(unexpected(why));
                }
                Some(place) if key_of(place, key)? == same => break,
                Some(_) => {}
            }
        }
    }
    Ok(())
}
