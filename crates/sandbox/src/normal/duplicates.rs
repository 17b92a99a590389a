//! # Duplicates: names that come twice
//! Room:     one pass over JSON, keeping nothing but the names of the objects that are open.
//! Comes in: bytes; the fields nobody knows, if they are known already (`normal`).
//! Goes out: strict validation's words, in the order of the text.
//! Not here: whether the JSON is well-formed otherwise; which fields are unknown.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::MAX_COMPLAINTS;
use serde_json::Value;

/// `duplicate field "spec.x"` for each name an object has twice. Of bytes that are no JSON, those up to where they are.
pub fn duplicates(json: &[u8]) -> Vec<String> {
    complaints(json, &[])
}

/// All that strict validation says of a body: [`duplicates`], and `unknown` ([`super::Normal::unknown`]) in their places.
///
/// What stands within a field nobody knows is nobody's business. At most a hundred complaints, each once.
pub fn complaints(json: &[u8], unknown: &[String]) -> Vec<String> {
    let unknown = unknown.iter().map(String::as_str).collect();
    let mut found = Found { path: String::new(), unknown, told: HashSet::new(), complaints: Vec::new() };
    let mut json = serde_json::Deserializer::from_slice(json);
    // What is no JSON is told by who parses it.
    let _ = Place(&mut found).deserialize(&mut json);
    found.complaints
}

/// Whether any object in the text has a name twice; `read` is what a reader made of it, who keeps one of them. Much
/// cheaper than to say which.
pub fn has_duplicates(json: &[u8], read: &Value) -> bool {
    names(json) != fields(read)
}

/// How many names stand in well-formed JSON: colons outside of strings.
fn names(json: &[u8]) -> usize {
    let (mut count, mut inside, mut escaped) = (0, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = inside,
            b'"' => inside = !inside,
            b':' if !inside => count += 1,
            _ => {}
        }
    }
    count
}

/// How many fields there are in a value, and below it.
fn fields(value: &Value) -> usize {
    match value {
        Value::Object(object) => object.len() + object.values().map(fields).sum::<usize>(),
        Value::Array(items) => items.iter().map(fields).sum(),
        _ => 0,
    }
}

struct Found<'a> {
    path: String,
    unknown: HashSet<&'a str>,
    told: HashSet<String>,
    complaints: Vec<String>,
}

impl Found<'_> {
    fn step(&mut self, name: &str) {
        if !self.path.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(name);
    }

    /// Whether the field at the path is one nobody knows; if so, it is told.
    fn is_unknown(&mut self) -> bool {
        if self.unknown.is_empty() {
            return false;
        }
        let words = format!("unknown field {:?}", self.path);
        let unknown = self.unknown.contains(words.as_str());
        if unknown {
            self.complain(words);
        }
        unknown
    }

    fn complain(&mut self, words: String) {
        if self.complaints.len() < MAX_COMPLAINTS && self.told.insert(words.clone()) {
            self.complaints.push(words);
        }
    }
}

/// A value somewhere.
struct Place<'a, 'b>(&'a mut Found<'b>);

impl<'de> DeserializeSeed<'de> for Place<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Place<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let mut seen = HashSet::new();
        let length = self.0.path.len();
        while let Some(name) = entries.next_key::<String>()? {
            self.0.step(&name);
            if self.0.is_unknown() {
                entries.next_value::<IgnoredAny>()?;
            } else {
                if !seen.insert(name) {
                    self.0.complain(format!("duplicate field {:?}", self.0.path));
                }
                entries.next_value_seed(Place(self.0))?;
            }
            self.0.path.truncate(length);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let length = self.0.path.len();
        for at in 0.. {
            self.0.path.push_str(&format!("[{at}]"));
            if items.next_element_seed(Place(self.0))?.is_none() {
                break;
            }
            self.0.path.truncate(length);
        }
        self.0.path.truncate(length);
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}
