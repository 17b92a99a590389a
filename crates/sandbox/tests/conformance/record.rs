//! Makes the records of a case comparable: replaces values that differ from run to run by placeholders.
//!
//! - Versions of objects keep their order; versions of lists and bookmarks do not, because other writers change them.

use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// A step and its response.
pub(crate) struct RecordedStep {
    pub(crate) what: String,
    pub(crate) code: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
    /// The places that are compared; all if empty.
    pub(crate) keep: Vec<&'static str>,
    /// Whether the response is compared.
    pub(crate) compared: bool,
}

/// What precedes an object's version in the server's messages.
const BEFORE_VERSIONS: [&str; 4] =
    ["resource version: ", "in the precondition (", "in record (", "resourceVersion: "];

/// What precedes a version in messages that depends on other writers. A case that needs a version that is too old uses
/// version 1.
const BEFORE_MOVING_VERSIONS: [&str; 2] = ["current: ", "too old resource version: 1 ("];

/// Values of a case's responses that are replaced by placeholders.
#[derive(Default)]
struct SeenResponse {
    own: String,
    versions: BTreeSet<u64>,
    uids: BTreeMap<String, usize>,
    generated: BTreeMap<String, String>,
}

/// The steps of a case, comparable with those on another target or under another name.
pub(crate) fn comparable(own: &str, steps: &[RecordedStep]) -> Vec<Value> {
    let mut seen = SeenResponse { own: own.to_owned(), ..SeenResponse::default() };
    steps.iter().for_each(|step| seen.gather(&step.body));
    steps.iter().filter(|step| step.compared).map(|step| seen.step(step)).collect()
}

impl SeenResponse {
    /// Collects the identities of the steps' objects.
    fn gather(&mut self, value: &Value) {
        match value {
            Value::Array(all) => all.iter().for_each(|value| self.gather(value)),
            Value::Object(object) => {
                if let Some(meta) = object.get("metadata").filter(|meta| has_uid(meta)) {
                    let text = |field: &str| meta[field].as_str().unwrap_or_default();
                    self.versions.extend(text("resourceVersion").parse::<u64>());
                    let (prefix, name) = (text("generateName"), text("name"));
                    if !prefix.is_empty() && name.starts_with(prefix) {
                        let length = name.len() - prefix.len();
                        let placeholder = format!("{prefix}$generated-{}-of-{length}", self.generated.len());
                        self.generated.entry(name.to_owned()).or_insert(placeholder);
                    }
                }
                object.values().for_each(|value| self.gather(value));
            }
            Value::String(text) => {
                for uid in uids(text) {
                    let next = self.uids.len();
                    self.uids.entry(uid.to_owned()).or_insert(next);
                }
            }
            _ => {}
        }
    }

    fn step(&self, step: &RecordedStep) -> Value {
        let headers: Vec<String> =
            step.headers.iter().map(|(name, value)| self.text(&format!("{name}: {value}"))).collect();
        let whole = self.value(&step.body, "", false);
        let rejection = whole["kind"] == "Status" && step.code >= 400;
        let body = if step.keep.is_empty() || rejection {
            whole
        } else {
            step.keep.iter().map(|place| ((*place).to_owned(), picked(&whole, place))).collect()
        };
        json!({"step": self.text(&step.what), "code": step.code, "headers": headers, "body": body})
    }

    fn value(&self, value: &Value, key: &str, of_object: bool) -> Value {
        match value {
            Value::Array(all) => {
                let mut all: Vec<Value> = all.iter().map(|value| self.value(value, key, of_object)).collect();
                // They are sorted by time to the second, so their order varies.
                if key == "managedFields" {
                    all.sort_by_cached_key(Value::to_string);
                }
                all.into()
            }
            Value::Object(object) => self.object(object, key),
            Value::String(text) => self.string(text, key, of_object).into(),
            other => other.clone(),
        }
    }

    fn object(&self, object: &Map<String, Value>, key: &str) -> Value {
        let moment = object.get("seconds").and_then(Value::as_i64).is_some_and(|seconds| seconds > RECENT);
        if moment && object.len() == 2 && object.contains_key("nanos") {
            return "$time".into();
        }
        if key == "columnDefinitions" {
            // The documentation of the API's types, which this project does not contain.
            let kept = object.iter().filter(|(key, _)| *key != "description");
            return kept.map(|(key, value)| (key.clone(), value.clone())).collect();
        }
        let of_object = key == "metadata" && object.get("uid").is_some_and(|uid| uid != "");
        object.iter().map(|(key, value)| (self.text(key), self.value(value, key, of_object))).collect()
    }

    fn string(&self, text: &str, key: &str, of_object: bool) -> String {
        match key {
            "resourceVersion" => self.version(text, of_object),
            "continue" if !text.is_empty() => "$continue".into(),
            "serverAddress" => "$address".into(),
            "cells" if is_age(text) => "$age".into(),
            _ => time(text).unwrap_or_else(|| self.text(text)),
        }
    }

    fn version(&self, text: &str, of_object: bool) -> String {
        match text.parse::<u64>() {
            Ok(0) | Err(_) => text.to_owned(),
            Ok(number) => match self.versions.iter().position(|seen| *seen == number) {
                Some(rank) if of_object => format!("$version-{rank}"),
                _ => "$version".into(),
            },
        }
    }

    /// Replaces names, UIDs and versions within text.
    fn text(&self, text: &str) -> String {
        let mut text = text.replace(&self.own, "$own");
        for uid in uids(&text.clone()) {
            let rank = self.uids.get(uid).map_or("$uid".into(), |rank| format!("$uid-{rank}"));
            text = text.replace(uid, &rank);
        }
        for (name, placeholder) in &self.generated {
            text = text.replace(name, placeholder);
        }
        for before in BEFORE_VERSIONS {
            text = self.versions_after(&text, before);
        }
        for before in BEFORE_MOVING_VERSIONS {
            text = numbers_after(&text, before, |_| "$version".into());
        }
        // A diff of Go structs follows.
        let end = text.find("\n@@ ").unwrap_or(text.len());
        without_objects(&text[..end]).replace("&value.valueUnstructured{Value:1}", "1")
    }

    fn versions_after(&self, text: &str, before: &str) -> String {
        numbers_after(text, before, |digits| {
            let number: Option<u64> = digits.parse().ok();
            let rank = number.and_then(|number| self.versions.iter().position(|seen| *seen == number));
            rank.map_or_else(|| digits.to_owned(), |rank| format!("$version-{rank}"))
        })
    }
}

/// Replaces the digits that follow each `before`.
fn numbers_after(text: &str, before: &str, replace: impl Fn(&str) -> String) -> String {
    let mut pieces = text.split(before);
    let mut whole = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(|c: char| !c.is_ascii_digit()).unwrap_or(piece.len());
        whole += &format!("{before}{}{}", replace(&piece[..end]), &piece[end..]);
    }
    whole
}

/// Removes whole objects from messages: their order and escapes are Go's, and clients do not use them.
fn without_objects(text: &str) -> String {
    const BEFORE: &str = "Invalid value: ";
    let mut pieces = text.split(BEFORE);
    let mut whole = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = ["}\": ", "}: "].iter().filter_map(|end| Some(piece.rfind(end)? + end.len() - 2)).max();
        let printed = end.map_or("", |end| &piece[..end]);
        let object = printed.starts_with(['{', '"']) && printed.contains("managedFields");
        let rest = if object { &piece[printed.len()..] } else { piece };
        whole += &format!("{BEFORE}{}{rest}", if object { "$object" } else { "" });
    }
    whole
}

/// Whether this is the metadata of an object, not of a list or a bookmark. Protobuf has empty UIDs, too.
fn has_uid(meta: &Value) -> bool {
    meta["uid"].as_str().is_some_and(|uid| !uid.is_empty())
}

/// The UIDs in a text.
fn uids(text: &str) -> Vec<&str> {
    const LENGTH: usize = 36;
    let shaped = |piece: &[u8]| {
        piece.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(byte),
        })
    };
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at + LENGTH <= bytes.len() {
        if shaped(&bytes[at..at + LENGTH]) {
            found.push(&text[at..at + LENGTH]);
            at += LENGTH;
        } else {
            at += 1;
        }
    }
    found
}

/// Later times were set by the server; earlier ones by the cases. 2025-01-01.
const RECENT: i64 = 1_735_689_600;

/// A placeholder for a time that the server set, with the same precision.
fn time(text: &str) -> Option<String> {
    let shaped = text.len() >= 20
        && text.is_ascii()
        && text.ends_with('Z')
        && text.as_bytes()[..19].iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            10 => *byte == b'T',
            13 | 16 => *byte == b':',
            _ => byte.is_ascii_digit(),
        });
    (shaped && &text[..4] >= "2025").then(|| format!("$time.{}", text.len() - 20))
}

/// Whether a text is an age in a table: `5s`, `2m3s`.
fn is_age(text: &str) -> bool {
    let units = |c: char| matches!(c, 's' | 'm' | 'h' | 'd' | 'y');
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.ends_with(units)
        && text.chars().all(|c| c.is_ascii_digit() || units(c))
}

/// The values at a place such as `/items/*/metadata/name`.
fn picked(value: &Value, place: &str) -> Value {
    match place.split_once("/*") {
        None => value.pointer(place).cloned().unwrap_or(Value::Null),
        Some((before, rest)) => {
            let list = value.pointer(before).and_then(Value::as_array);
            list.map_or(Value::Null, |list| list.iter().map(|value| picked(value, rest)).collect())
        }
    }
}

/// The differences between two values, one per line.
pub(crate) fn differences(left: &Value, right: &Value) -> Vec<String> {
    let mut found = Vec::new();
    differ(left, right, "", &mut found);
    found
}

fn differ(left: &Value, right: &Value, at: &str, found: &mut Vec<String>) {
    match (left, right) {
        (Value::Object(one), Value::Object(other)) => {
            let keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            for key in keys {
                let place = format!("{at}/{key}");
                match (one.get(key), other.get(key)) {
                    (Some(left), Some(right)) => differ(left, right, &place, found),
                    (Some(left), None) => found.push(format!("{place}: {left} | absent")),
                    (None, Some(right)) => found.push(format!("{place}: absent | {right}")),
                    (None, None) => {}
                }
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (left, right)) in one.iter().zip(other).enumerate() {
                differ(left, right, &format!("{at}/{index}"), found);
            }
        }
        _ if left != right => found.push(format!("{at}: {left} | {right}")),
        _ => {}
    }
}

/// Tests this file before every run, because a custom runner has no unit tests.
pub(crate) fn check() {
    let object = |own: &str, versions: [&str; 2], uid: &str, listed: &str| {
        let item = |version: &str| {
            json!({"metadata": {"uid": uid, "name": format!("{own}-a"), "resourceVersion": version,
                "creationTimestamp": "2026-11-21T08:00:00Z"}, "spec": {"at": "2001-01-01T00:00:00Z"}})
        };
        let body = json!({"metadata": {"resourceVersion": listed, "continue": ""},
            "items": [item(versions[0]), item(versions[1])],
            "message": format!("the UID {uid} in record ({}) of {own}", versions[1]), "cells": ["3s", "b"]});
        let step = RecordedStep {
            what: format!("GET /{own}"),
            code: 200,
            headers: Vec::new(),
            body,
            keep: Vec::new(),
            compared: true,
        };
        Value::Array(comparable(own, &[step]))
    };
    let (one, two) = ("0c2b1e9c-9a58-4b59-a7d4-0f5f2e4d6a01", "aaaaaaaa-9a58-4b59-a7d4-0f5f2e4d6a01");
    let left = object("x", ["9", "10"], one, "10");
    assert_eq!(left, object("why", ["300", "1000"], two, "2000"));
    assert_ne!(left, object("x", ["10", "9"], one, "10"), "versions keep their order");
    assert_ne!(left, object("x", ["10", "10"], one, "10"), "versions keep their identity");
    assert_eq!(
        left[0]["body"]["items"][1],
        json!({"metadata": {"uid": "$uid-0", "name": "$own-a", "resourceVersion": "$version-1",
            "creationTimestamp": "$time.0"}, "spec": {"at": "2001-01-01T00:00:00Z"}})
    );
    assert_eq!(left[0]["body"]["message"], "the UID $uid-0 in record ($version-1) of $own");
    assert_eq!(left[0]["body"]["cells"], json!(["$age", "b"]));
    assert_eq!(picked(&left, "/0/body/items/*/metadata/name"), json!(["$own-a", "$own-a"]));
    let found = differences(&json!({"a": [1, 2], "b": 1}), &json!({"a": [1, 3], "c": 1}));
    assert_eq!(found, ["/a/1: 2 | 3", "/b: 1 | absent", "/c: absent | 1"]);
}
