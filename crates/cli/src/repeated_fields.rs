//! Warns of fields in files that repeat an earlier one of the same map.

use crate::manifest::{TextPosition, YamlNode};
use crate::stderr;

/// Warns of the first repeated field of an object.
pub(crate) fn warn(file: &str, tree: &YamlNode) {
    let repeated = tree.repeated();
    let Some(first) = repeated.first() else { return };
    let TextPosition { line, column } = first.entry.key_span.from;
    let more = match repeated.len() {
        1 => String::new(),
        many => format!("; {} more fields of this object are repeated", many - 1),
    };
    stderr::warning(&format!("{file}:{line}:{column}: {first}{more}"));
}
