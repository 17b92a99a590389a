//! Reads fields of stored objects, with Go's zero values for absent ones.

use jiff::Timestamp;
use serde_json::Value;
use std::borrow::Cow;

/// What stands there, if anything.
pub(super) fn given<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    let mut at = object;
    for name in path.split('.') {
        at = at.get(name)?;
    }
    (!at.is_null()).then_some(at)
}

pub(super) fn string<'a>(object: &'a Value, path: &str) -> &'a str {
    given(object, path).and_then(Value::as_str).unwrap_or_default()
}

/// The text, or what is printed instead if there is none.
pub(super) fn string_or<'a>(object: &'a Value, path: &str, otherwise: &'a str) -> &'a str {
    match string(object, path) {
        "" => otherwise,
        text => text,
    }
}

pub(super) fn number(object: &Value, path: &str) -> i64 {
    given(object, path).and_then(Value::as_i64).unwrap_or_default()
}

pub(super) fn flag(object: &Value, path: &str) -> bool {
    given(object, path).and_then(Value::as_bool).unwrap_or_default()
}

pub(super) fn list<'a>(object: &'a Value, path: &str) -> &'a [Value] {
    given(object, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The texts of a list.
pub(super) fn strings<'a>(object: &'a Value, path: &str) -> Vec<&'a str> {
    list(object, path).iter().filter_map(Value::as_str).collect()
}

/// The keys and texts of a map, in the order of the keys.
pub(super) fn entries<'a>(object: &'a Value, path: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let map = given(object, path).and_then(Value::as_object);
    map.into_iter().flatten().map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
}

/// An annotation or a label; their keys have dots in them, which a path has not.
pub(super) fn entry<'a>(object: &'a Value, path: &str, key: &str) -> Option<&'a str> {
    given(object, path)?.get(key)?.as_str()
}

/// A time, if there is one.
pub(super) fn time(object: &Value, path: &str) -> Option<Timestamp> {
    string(object, path).parse().ok()
}

/// A number or text; also a quantity.
pub(super) fn scalar(value: &Value) -> Cow<'_, str> {
    value.as_str().map_or_else(|| value.to_string().into(), Cow::Borrowed)
}

/// The condition of this type that comes first.
pub(super) fn condition<'a>(object: &'a Value, path: &str, type_: &str) -> Option<&'a Value> {
    list(object, path).iter().find(|condition| string(condition, "type") == type_)
}
