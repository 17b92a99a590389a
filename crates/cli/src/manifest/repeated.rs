//! Finds fields that repeat an earlier one of the same map.
//!
//! - kubectl accepts such a file and drops the earlier field, so no API server can report it.

use super::{FieldPath, MapEntry, TextPosition, YamlNode};
use std::fmt;

/// A field whose map has one of the same name before it.
pub(crate) struct RepeatedField<'t> {
    pub(crate) entry: &'t MapEntry,
    pub(crate) earlier: TextPosition,
    /// Its path from the node that was searched.
    pub(crate) path: String,
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
        self.collect_repeated(&FieldPath::Root, &mut repeated);
        repeated
    }

    fn collect_repeated<'t>(&'t self, path: &FieldPath<'_>, to: &mut Vec<RepeatedField<'t>>) {
        for (index, item) in self.items().iter().enumerate() {
            item.collect_repeated(&FieldPath::Item(path, index), to);
        }
        for entry in self.entries() {
            let path = FieldPath::Field(path, &entry.key);
            if let Some(earlier) = entry.earlier {
                to.push(RepeatedField { entry, earlier, path: path.to_string() });
            }
            entry.value.collect_repeated(&path, to);
        }
    }
}
