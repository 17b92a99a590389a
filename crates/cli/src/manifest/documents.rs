//! Finds where documents begin that no `---` separates: JSON values in a row, and files joined with byte order marks.
//!
//! - Invariant: a text without such places is one part, so that YAML streams reach the parser as they are written.

use super::{BYTE_ORDER_MARK, TextPosition};
use memchr::{memchr2_iter, memmem};
use serde::de::IgnoredAny;
use serde_json::Deserializer;

/// The line before a document that is not the first one in a YAML stream.
const MARKER: &str = "---";

/// A part of a text that is a stream of documents by itself.
pub(crate) struct TextPart<'t> {
    /// Without byte order marks around it.
    pub(crate) text: &'t str,
    /// The position of its first character.
    pub(crate) from: TextPosition,
}

/// The end of a part, and the beginning of the next one, in bytes.
struct Cut {
    end: usize,
    next: usize,
}

/// Returns the parts of a text that begins at this position, in order.
pub(crate) fn parts(text: &str, mut position: TextPosition) -> Vec<TextPart<'_>> {
    let mut parts = Vec::new();
    let mut from = text.len() - text.trim_start_matches(BYTE_ORDER_MARK).len();
    let cuts = if may_be_cut(text) { cuts(text) } else { Vec::new() };
    for Cut { end, next } in cuts {
        parts.push(TextPart { text: &text[from..end.max(from)], from: position });
        position = position.after(&text[from..next]);
        from = next;
    }
    parts.push(TextPart { text: &text[from..], from: position });
    parts
}

/// Whether an opening bracket has a closing one before it, or there is a byte order mark. Most texts have neither, and
/// are not parsed to find cuts.
fn may_be_cut(text: &str) -> bool {
    let bytes = text.as_bytes();
    // In this direction, because the indentation of the next line follows most closing brackets.
    let follows = |at: usize| matches!(bytes[..at].trim_ascii_end().last(), Some(b'}' | b']'));
    memchr2_iter(b'{', b'[', bytes).any(follows)
        || memmem::find(bytes, BYTE_ORDER_MARK.encode_utf8(&mut [0; 3]).as_bytes()).is_some()
}

fn cuts(text: &str) -> Vec<Cut> {
    let mut cuts = Vec::new();
    let mut at = 0;
    loop {
        let start = at + blank(&text[at..]);
        // The end of a complete JSON value, at which another document may follow directly.
        if let Some(end) = json_end(&text[start..]) {
            let end = start + end;
            let next = end + blank(&text[end..]);
            if text[next..].starts_with(['{', '[']) || text[end..next].contains(BYTE_ORDER_MARK) {
                cuts.push(Cut { end, next });
                at = next;
                continue;
            }
            at = end;
        }
        let rest = &text[at..];
        let mut lines = rest.match_indices('\n').map(|(end, _)| end + 1);
        let begins =
            |&line: &usize| rest[line..].starts_with(MARKER) || rest[line..].starts_with(BYTE_ORDER_MARK);
        let Some(line) = lines.find(begins) else { return cuts };
        let end = at + line;
        at = end + MARKER.len();
        if text[end..].starts_with(BYTE_ORDER_MARK) {
            at = end + BYTE_ORDER_MARK.len_utf8();
            cuts.push(Cut { end, next: at });
        }
    }
}

fn blank(text: &str) -> usize {
    text.len()
        - text.trim_start_matches(|letter: char| letter.is_whitespace() || letter == BYTE_ORDER_MARK).len()
}

/// The length of the JSON object or array with which the text begins.
fn json_end(text: &str) -> Option<usize> {
    if !text.starts_with(['{', '[']) {
        return None;
    }
    let mut values = Deserializer::from_str(text).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    Some(values.byte_offset())
}
