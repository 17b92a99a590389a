//! Reads fields of JSON objects, where absent, `null` and wrongly typed values are empty.

use serde_json::{Map, Value};

/// The value at a path of field names; `null` if there is none.
pub fn at<'a>(value: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().fold(value, |value, name| value.get(name).unwrap_or(&Value::Null))
}

/// The text of a field.
pub fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The whole number of a field, if it has one.
pub fn number(value: &Value, name: &str) -> Option<i64> {
    value.get(name).and_then(Value::as_i64)
}

/// The elements of a field.
pub fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The entries of a field, in the order of their names.
pub fn entries<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = (&'a str, &'a Value)> + use<'a> {
    value
        .get(name)
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.as_str(), value))
}

/// Whether a field is there, and not `null`.
pub fn has(value: &Value, name: &str) -> bool {
    value.get(name).is_some_and(|value| !value.is_null())
}

/// Whether two objects are equal except for one field; an absent value equals an empty object.
pub fn same_but(one: &Value, other: &Value, but: &str) -> bool {
    fn fields<'a>(of: &'a Value, but: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
        of.as_object().into_iter().flatten().filter(move |(name, _)| *name != but)
    }
    fields(one, but).eq(fields(other, but))
}

/// The object in a field, created if absent.
pub fn object<'a>(value: &'a mut Value, name: &str) -> &'a mut Value {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    let inner = &mut value[name];
    if inner.is_null() {
        *inner = Value::Object(Map::new());
    }
    inner
}

/// The elements of a field, mutable.
pub fn list_mut<'a>(value: &'a mut Value, name: &str) -> impl Iterator<Item = &'a mut Value> {
    value.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten()
}

/// Sets a field that is absent or an empty string.
pub fn fill(value: &mut Value, name: &str, with: impl Into<Value>) {
    let Some(fields) = value.as_object_mut() else { return };
    let known = fields.get(name);
    if known.is_none_or(|known| known.is_null() || known.as_str() == Some("")) {
        fields.insert(name.to_owned(), with.into());
    }
}

#[cfg(test)]
mod tests {
    use super::same_but;
    use serde_json::json;

    #[test]
    fn one_field_may_differ_and_no_other() {
        let one = json!({"a": 1, "b": 2});
        assert!(same_but(&one, &json!({"a": 1, "b": 3}), "b"));
        assert!(same_but(&one, &json!({"a": 1}), "b"));
        assert!(!same_but(&one, &json!({"a": 2, "b": 2}), "b"));
        assert!(!same_but(&one, &json!({"a": 1, "b": 2, "c": null}), "b"));
        assert!(same_but(&json!(null), &json!({}), "b"));
    }
}
