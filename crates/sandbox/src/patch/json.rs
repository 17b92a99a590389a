//! # JSON patch (RFC 6902)
//! Room:     operations on an object, one after the other; all or none.
//! Comes in: an object; a list of operations.
//! Goes out: the object changed, or why not.
//! Keeps:    a real server's own ways: negative indices; `replace` may add a field; a missing one passes for null.
//! Not here: the object's form: what comes out may be no object of any kind any more.

use super::{DEPTH_MAX, PatchError, go, within_depth};
use serde_json::Value;

/// How many operations a patch may have.
const OPERATIONS_MAX: usize = 10_000;

/// How much text all `copy` operations of a patch may add.
const COPIED_BYTES_MAX: usize = 3 * 1024 * 1024;

/// Applies `operations` to `document`.
pub fn json_patch(document: &Value, operations: &Value) -> Result<Value, PatchError> {
    let operations = match operations {
        Value::Null => &[],
        Value::Array(operations) => operations.as_slice(),
        other => {
            return Err(undecodable(&format!(
                "{} into Go value of type []handlers.jsonPatchOp",
                go::json_name(other)
            )));
        }
    };
    operations.iter().try_for_each(check_form)?;
    if operations.len() > OPERATIONS_MAX {
        return Err(PatchError::too_large(&format!(
            "The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {}",
            operations.len()
        )));
    }
    let mut patched = document.clone();
    let mut room = COPIED_BYTES_MAX;
    for operation in operations {
        run(&mut patched, operation, &mut room).ok_or_else(PatchError::unfit)?;
    }
    Ok(patched)
}

fn undecodable(what: &str) -> PatchError {
    PatchError::bad(format!("error decoding patch: json: cannot unmarshal {what}"))
}

fn check_form(operation: &Value) -> Result<(), PatchError> {
    let fields = match operation {
        Value::Null => return Ok(()),
        Value::Object(fields) => fields,
        other => {
            return Err(undecodable(&format!(
                "{} into Go value of type handlers.jsonPatchOp",
                go::json_name(other)
            )));
        }
    };
    for name in ["op", "path", "from"] {
        match fields.get(name) {
            None | Some(Value::Null | Value::String(_)) => {}
            Some(other) => {
                let found = go::json_name(other);
                return Err(undecodable(&format!(
                    "{found} into Go struct field jsonPatchOp.{name} of type string"
                )));
            }
        }
    }
    Ok(())
}

fn run(document: &mut Value, operation: &Value, room: &mut usize) -> Option<()> {
    let text = |name| operation.get(name).and_then(Value::as_str);
    let value = || operation.get("value").cloned().unwrap_or(Value::Null);
    match text("op")? {
        "add" => add(document, text("path")?, value()),
        "remove" => remove(document, text("path")?).map(drop),
        "replace" => replace(document, text("path")?, value()),
        "move" => {
            let moved = remove(document, text("from")?)?;
            add(document, text("path")?, moved)
        }
        "copy" => {
            let copied = find(document, text("from")?)?.cloned().unwrap_or(Value::Null);
            *room = room.checked_sub(copied.to_string().len())?;
            add(document, text("path")?, copied)
        }
        "test" => {
            let path = text("path")?;
            let found = if path.is_empty() { Some(&*document) } else { find(document, path)? };
            (found.unwrap_or(&Value::Null) == operation.get("value").unwrap_or(&Value::Null)).then_some(())
        }
        _ => None,
    }
}

/// The names on the way to a place, and the last one; what stands before the first `/` does not count.
fn split(path: &str) -> Option<(Vec<String>, String)> {
    let mut names: Vec<String> =
        path.split('/').skip(1).map(|name| name.replace("~1", "/").replace("~0", "~")).collect();
    let last = names.pop()?;
    Some((names, last))
}

fn step<'v>(at: &'v mut Value, name: &str) -> Option<&'v mut Value> {
    match at {
        Value::Object(fields) => fields.get_mut(name),
        Value::Array(items) => {
            let index = index(name, items.len())?;
            items.get_mut(index)
        }
        _ => None,
    }
}

/// What holds the last name: an object or a list.
fn parent<'v>(document: &'v mut Value, path: &str) -> Option<(&'v mut Value, String, usize)> {
    let (names, last) = split(path)?;
    let depth = names.len() + 1;
    let at = names.iter().try_fold(document, |at, name| step(at, name))?;
    (at.is_object() || at.is_array()).then_some((at, last, depth))
}

/// `Some(None)` where an object has no such field.
fn find<'v>(document: &'v mut Value, path: &str) -> Option<Option<&'v Value>> {
    let (at, last, _) = parent(document, path)?;
    match at {
        Value::Object(fields) => Some(fields.get(&last)),
        Value::Array(items) => items.get(index(&last, items.len())?).map(Some),
        _ => None,
    }
}

/// A place in a list of `length`; negative ones count from its end.
fn index(name: &str, length: usize) -> Option<usize> {
    let index: i64 = name.parse().ok()?;
    let index = if index < 0 { index.checked_add(i64::try_from(length).ok()?)? } else { index };
    usize::try_from(index).ok()
}

fn add(document: &mut Value, path: &str, value: Value) -> Option<()> {
    let (at, last, depth) = parent(document, path)?;
    if !within_depth(&value, DEPTH_MAX.saturating_sub(depth)) {
        return None;
    }
    match at {
        Value::Object(fields) => {
            fields.insert(last, value);
        }
        Value::Array(items) if last == "-" => items.push(value),
        Value::Array(items) => {
            let index = index(&last, items.len() + 1).filter(|index| *index <= items.len())?;
            items.insert(index, value);
        }
        _ => return None,
    }
    Some(())
}

fn remove(document: &mut Value, path: &str) -> Option<Value> {
    let (at, last, _) = parent(document, path)?;
    match at {
        Value::Object(fields) => fields.remove(&last),
        Value::Array(items) => {
            let index = index(&last, items.len()).filter(|index| *index < items.len())?;
            Some(items.remove(index))
        }
        _ => None,
    }
}

fn replace(document: &mut Value, path: &str, value: Value) -> Option<()> {
    if path.is_empty() {
        let whole = (value.is_object() || value.is_array()) && within_depth(&value, DEPTH_MAX);
        return whole.then(|| *document = value);
    }
    let (at, last, depth) = parent(document, path)?;
    if !within_depth(&value, DEPTH_MAX.saturating_sub(depth)) {
        return None;
    }
    match at {
        Value::Object(fields) => {
            fields.insert(last, value);
        }
        Value::Array(items) => {
            let index = index(&last, items.len())?;
            *items.get_mut(index)? = value;
        }
        _ => return None,
    }
    Some(())
}
