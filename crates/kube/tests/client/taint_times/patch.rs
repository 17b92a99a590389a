//! Applies JSON Patches (RFC 6902), as far as the tests need it.

use serde_json::Value;

/// The document after the patch; `None` if a step of it fails.
pub(crate) fn apply(document: &Value, patch: &Value) -> Option<Value> {
    let mut document = document.clone();
    for step in patch.as_array()? {
        let path = step["path"].as_str()?;
        match step["op"].as_str()? {
            "test" => (document.pointer(path)? == step.get("value")?).then_some(())?,
            "remove" => drop(remove(&mut document, path)?),
            "add" => add(&mut document, path, step.get("value")?.clone())?,
            _ => return None,
        }
    }
    Some(document)
}

fn remove(document: &mut Value, path: &str) -> Option<Value> {
    let (parent, name) = path.rsplit_once('/')?;
    match document.pointer_mut(parent)? {
        Value::Array(list) => {
            let place: usize = name.parse().ok()?;
            (place < list.len()).then(|| list.remove(place))
        }
        Value::Object(members) => members.remove(name),
        _ => None,
    }
}

fn add(document: &mut Value, path: &str, value: Value) -> Option<()> {
    let (parent, name) = path.rsplit_once('/')?;
    match document.pointer_mut(parent)? {
        Value::Array(list) => {
            let place = if name == "-" { list.len() } else { name.parse().ok()? };
            (place <= list.len()).then(|| list.insert(place, value))
        }
        Value::Object(members) => {
            members.insert(name.to_owned(), value);
            Some(())
        }
        _ => None,
    }
}
