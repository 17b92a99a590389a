//! Represents objects from files as trees ([`YamlNode`]) in which each field has its position ([`TextSpan`]).
//!
//! - Invariant: aliases share their values, so that a text does not grow much when it is parsed.

mod documents;
mod field_path;
pub(crate) mod files;
mod json;
mod parse;
mod repeated;
mod scalar;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use field_path::FieldPath;
pub(crate) use json::excerpt;
pub(crate) use parse::{ParseError, each, each_from};

use std::collections::BTreeSet;
use std::rc::Rc;

/// The largest number of nodes in one object, more than any API server accepts. Smaller in tests, to save time.
const PIECES_MAX: usize = if cfg!(test) { 10_000 } else { 1_000_000 };

/// A position in a text, counted from 1; line 0 is unknown. Each node and each field has two: small ones make reading
/// faster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TextPosition {
    pub(crate) line: u32,
    /// In characters.
    pub(crate) column: u32,
}

impl TextPosition {
    /// The first character of a text.
    pub(crate) const FIRST: Self = Self { line: 1, column: 1 };

    /// The position behind a text that begins here. Byte order marks take no column.
    pub(crate) fn after(self, text: &str) -> Self {
        let lines = text.matches('\n').count();
        let last = text.rsplit('\n').next().unwrap_or_default();
        let columns = last.chars().filter(|&letter| letter != BYTE_ORDER_MARK).count();
        let column = if lines == 0 { self.column } else { Self::FIRST.column };
        Self { line: sum(self.line, lines), column: sum(column, columns) }
    }
}

/// Files are limited to far less.
fn sum(base: u32, more: usize) -> u32 {
    base.saturating_add(u32::try_from(more).unwrap_or(u32::MAX))
}

/// A range; the end is exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TextSpan {
    pub(crate) from: TextPosition,
    pub(crate) to: TextPosition,
}

/// A node of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct YamlNode {
    pub(crate) span: TextSpan,
    pub(crate) value: YamlValue,
}

/// The value of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum YamlValue {
    /// Null: `null`, `~`, or no value at all.
    #[default]
    Null,
    /// Text in quotes, or plain text that no YAML reader takes for another type.
    Text(Rc<str>),
    /// A boolean.
    Truth(bool),
    /// A number as written, and its value if it is whole.
    Number(Rc<str>, Option<i64>),
    /// A list.
    List(Rc<Vec<YamlNode>>),
    /// Fields, in their order.
    Map(Rc<Vec<MapEntry>>),
}

/// A field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MapEntry {
    pub(crate) key: Rc<str>,
    pub(crate) key_span: TextSpan,
    pub(crate) value: YamlNode,
    /// Where the same map has this field before: a mistake, of which the last field counts, as in kubectl.
    pub(crate) earlier: Option<TextPosition>,
}

const BYTE_ORDER_MARK: char = '\u{feff}';

/// The field that merges the fields of another map.
const MERGE: &str = "<<";

/// The depth to which merged maps are followed.
const MERGES_MAX: usize = 8;

impl YamlNode {
    /// The fields as written; none if this is not a map.
    pub(crate) fn entries(&self) -> &[MapEntry] {
        if let YamlValue::Map(entries) = &self.value { entries } else { &[] }
    }

    /// The elements; none if this is not a list.
    pub(crate) fn items(&self) -> &[Self] {
        if let YamlValue::List(items) = &self.value { items } else { &[] }
    }

    /// A field, if it is present and not null. Of duplicates the last counts; a merged one counts only if there is
    /// none.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        self.find(name, MERGES_MAX).filter(|found| found.value != YamlValue::Null)
    }

    fn find(&self, name: &str, depth: usize) -> Option<&Self> {
        let entry = |name: &str| self.entries().iter().rev().find(|entry| *entry.key == *name);
        if let Some(own) = entry(name) {
            return Some(&own.value);
        }
        let merged = &entry(MERGE)?.value;
        let depth = depth.checked_sub(1)?;
        let one = std::slice::from_ref(merged);
        let others = if matches!(merged.value, YamlValue::List(_)) { merged.items() } else { one };
        others.iter().find_map(|other| other.find(name, depth))
    }

    /// A nested field.
    pub(crate) fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |tree, name| tree.get(name))
    }

    /// The same with this `apiVersion` and kind, if it has none of its own.
    pub(crate) fn called(mut self, version: &str, kind: &str) -> Self {
        let YamlValue::Map(entries) = &self.value else { return self };
        let mut entries = entries.to_vec();
        for (name, text) in [("apiVersion", version), ("kind", kind)] {
            if self.get(name).is_none() {
                let value = Self { span: self.span, value: YamlValue::Text(text.into()) };
                entries.push(MapEntry { key: name.into(), key_span: self.span, value, earlier: None });
            }
        }
        self.value = YamlValue::Map(entries.into());
        self
    }

    /// The same without a nested field.
    pub(crate) fn without(&self, path: &[&str]) -> Self {
        let (YamlValue::Map(entries), Some((name, rest))) = (&self.value, path.split_first()) else {
            return self.clone();
        };
        let kept = entries.iter().filter(|entry| *entry.key != **name || !rest.is_empty()).map(|entry| {
            let value = if *entry.key == **name { entry.value.without(rest) } else { entry.value.clone() };
            MapEntry { value, ..entry.clone() }
        });
        Self { span: self.span, value: YamlValue::Map(Rc::new(kept.collect())) }
    }

    /// All fields as written, without merged ones.
    pub(crate) fn names(&self) -> impl Iterator<Item = &MapEntry> {
        self.entries().iter().filter(|entry| *entry.key != *MERGE)
    }

    /// The effective fields: of duplicates the last; of merged ones those that are not overridden.
    pub(crate) fn fields(&self) -> Vec<&MapEntry> {
        let (mut seen, mut all) = (BTreeSet::new(), Vec::new());
        self.gather(MERGES_MAX, &mut seen, &mut all);
        all
    }

    fn gather<'t>(&'t self, depth: usize, seen: &mut BTreeSet<&'t str>, all: &mut Vec<&'t MapEntry>) {
        let last =
            self.entries().iter().rev().filter(|entry| *entry.key != *MERGE && seen.insert(&entry.key));
        let last: Vec<&MapEntry> = last.collect();
        all.extend(last.into_iter().rev());
        let Some(merged) = self.entries().iter().rev().find(|entry| *entry.key == *MERGE) else { return };
        let Some(depth) = depth.checked_sub(1) else { return };
        let one = std::slice::from_ref(&merged.value);
        let others =
            if matches!(merged.value.value, YamlValue::List(_)) { merged.value.items() } else { one };
        others.iter().for_each(|other| other.gather(depth, seen, all));
    }

    /// The text of a field; numbers and booleans as written.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.get(name).map_or("", Self::as_text)
    }

    /// The value as text, whatever it is.
    pub(crate) fn as_text(&self) -> &str {
        match &self.value {
            YamlValue::Text(text) | YamlValue::Number(text, _) => text,
            YamlValue::Truth(true) => "true",
            YamlValue::Truth(false) => "false",
            YamlValue::Null | YamlValue::List(_) | YamlValue::Map(_) => "",
        }
    }

    pub(crate) fn is_text(&self) -> bool {
        matches!(self.value, YamlValue::Text(_))
    }

    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(|field| field.value == YamlValue::Truth(true))
    }
}
