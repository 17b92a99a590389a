//! # Syntax: what Go says of text that is no JSON
//! Room:     the sentences of a real server's JSON reader.
//! Comes in: text that could not be read, and where.
//! Goes out: the sentence.
//! Not here: text that is JSON, but not what is expected.

use serde_json::error::Category;

/// Why a text is no JSON.
pub(super) fn words(text: &[u8], error: &serde_json::Error) -> String {
    if error.classify() == Category::Eof {
        return "unexpected end of JSON input".to_owned();
    }
    if error.classify() != Category::Syntax {
        return error.to_string();
    }
    let said = error.to_string();
    let before = text.split(|byte| *byte == b'\n').take(error.line().saturating_sub(1));
    let start: usize = before.map(|line| line.len() + 1).sum();
    let at = (start + error.column()).saturating_sub(1);
    let found = |at: usize| text.get(at).map_or(' ', |byte| char::from(*byte));
    if said.starts_with("trailing characters") {
        return format!("invalid character '{}' after top-level value", found(at));
    }
    if said.starts_with("expected ident") {
        return literal(text, at).unwrap_or(said);
    }
    if said.starts_with("key must be a string") {
        return format!("invalid character '{}' looking for beginning of object key string", found(at));
    }
    format!("invalid character '{}' looking for beginning of value", found(at))
}

/// The word that was begun and not ended, looked for around the place where it was noticed.
fn literal(text: &[u8], at: usize) -> Option<String> {
    let start = text.get(..=at)?.iter().rposition(|byte| !byte.is_ascii_alphabetic()).map_or(0, |at| at + 1);
    let word =
        ["null", "true", "false"].into_iter().find(|word| text.get(start) == word.as_bytes().first())?;
    let wrong = word.bytes().enumerate().find(|(index, byte)| text.get(start + index) != Some(byte));
    let (index, expected) = wrong?;
    let Some(found) = text.get(start + index) else { return Some("unexpected end of JSON input".to_owned()) };
    let (found, expected) = (char::from(*found), char::from(expected));
    Some(format!("invalid character '{found}' in literal {word} (expecting '{expected}')"))
}
