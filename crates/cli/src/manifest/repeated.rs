//! Finds fields that repeat an earlier one of the same map.
//!
//! - kubectl accepts such a file and drops the earlier field, so no API server can report it.

use super::{MapEntry, TextPosition, YamlNode};
use std::fmt;

/// A field whose map has one of the same name before it.
pub(crate) struct RepeatedField<'t> {
    pub(crate) entry: &'t MapEntry,
    pub(crate) earlier: TextPosition,
    /// Its path from the node that was searched.
    pub(crate) path: String,
}

/// A part of a path.
#[derive(Clone, Copy)]
enum Step<'t> {
    Field(&'t str),
    Item(usize),
}

/// `field tolerations is repeated: the earlier one, at line 9, is lost`
impl fmt::Display for RepeatedField<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key, line) = (&self.entry.key, self.earlier.line);
        write!(f, "field {key} is repeated: the earlier one, at line {line}, is lost")
    }
}

impl YamlNode {
    /// The repeated fields of this node and of those below it.
    pub(crate) fn repeated(&self) -> Vec<RepeatedField<'_>> {
        let mut repeated = Vec::new();
        self.collect_repeated(&mut Vec::new(), &mut repeated);
        repeated
    }

    fn collect_repeated<'t>(&'t self, path: &mut Vec<Step<'t>>, to: &mut Vec<RepeatedField<'t>>) {
        for (index, item) in self.items().iter().enumerate() {
            path.push(Step::Item(index));
            item.collect_repeated(path, to);
            path.pop();
        }
        for entry in self.entries() {
            path.push(Step::Field(&entry.key));
            if let Some(earlier) = entry.earlier {
                to.push(RepeatedField { entry, earlier, path: written(path) });
            }
            entry.value.collect_repeated(path, to);
            path.pop();
        }
    }
}

/// `spec.tolerations[0].key`
fn written(path: &[Step<'_>]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Field(key) if text.is_empty() => text += key,
            Step::Field(key) => text += &format!(".{key}"),
            Step::Item(index) => text += &format!("[{index}]"),
        }
    }
    text
}
