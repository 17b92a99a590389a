//! Finds where documents begin that no `---` separates: JSON values in a row, and files joined with byte order marks.
//!
//! - Invariant: a text without such places is one part, so that YAML streams reach the parser as they are written.

use super::TextPosition;
use serde::de::IgnoredAny;
use serde_json::Deserializer;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// What precedes a document that is not the first one in a YAML stream.
const MARKER: &str = "\n---";
const JOINED: &str = "\n\u{feff}";

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
    for Cut { end, next } in cuts(text).into_iter().chain([Cut { end: text.len(), next: text.len() }]) {
        parts.push(TextPart { text: &text[from..end.max(from)], from: position });
        position = moved(position, &text[from..next]);
        from = next;
    }
    parts
}

/// The position after this text. Byte order marks take no column.
fn moved(from: TextPosition, over: &str) -> TextPosition {
    let lines = over.matches('\n').count();
    let last = over.rsplit('\n').next().unwrap_or_default();
    let columns = last.chars().filter(|&letter| letter != BYTE_ORDER_MARK).count();
    match lines {
        0 => TextPosition { line: from.line, column: from.column + columns },
        lines => TextPosition { line: from.line + lines, column: columns + 1 },
    }
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
        match (rest.find(MARKER), rest.find(JOINED)) {
            (Some(marker), joined) if joined.is_none_or(|joined| marker < joined) => {
                at += marker + MARKER.len()
            }
            (_, Some(joined)) => {
                let end = at + joined + 1;
                at = end + BYTE_ORDER_MARK.len_utf8();
                cuts.push(Cut { end, next: at });
            }
            (_, None) => return cuts,
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
