//! Formats error chains and untrusted texts for messages: one line, bounded, without control characters.

use std::error::Error;
use taintward_core::text::is_hazard;

/// Returns the first error of a type in a chain of causes. An I/O error hides the error it wraps from the usual walk.
pub(crate) fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut at = Some(error);
    while let Some(error) = at {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        at = wrapped.map(|inner| inner as &(dyn Error + 'static)).or_else(|| error.source());
    }
    None
}

/// Returns what happened, without the names of the layers it passed through.
pub(crate) fn essence(text: &str) -> &str {
    let mut text = text;
    for layer in ["ServiceError: ", "client error (Connect): ", "client error (SendRequest): "] {
        text = text.strip_prefix(layer).unwrap_or(text);
    }
    text
}

/// The longest untrusted text that is quoted in a message, in bytes.
const QUOTED_MAX: usize = 1000;

/// Makes untrusted text fit for a message: bounded, and without characters that move the cursor, break lines or change
/// the reading direction.
pub(crate) fn quiet(text: &str) -> String {
    bounded(text, |_, bytes| bytes >= QUOTED_MAX)
}

/// The same, with at most this many characters.
pub(crate) fn sanitize(text: &str, limit: usize) -> String {
    bounded(text, |characters, _| characters == limit)
}

/// Makes a reason fit for a message, on one line.
pub(crate) fn one_line(text: &str) -> String {
    quiet(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Text up to where the number of its characters, or of the bytes made from them, is large enough.
fn bounded(text: &str, is_enough: impl Fn(usize, usize) -> bool) -> String {
    let mut out = String::new();
    for (at, c) in text.chars().enumerate() {
        if is_enough(at, out.len()) {
            out.push('…');
            break;
        }
        if is_hazard(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_text_is_harmless_and_bounded() {
        assert_eq!(quiet("a\nb\u{1b}[31mc\u{202e}d"), "a\\nb\\u{1b}[31mc\\u{202e}d");
        assert_eq!(quiet("grüße"), "grüße");
        for c in ('\0'..=char::MAX).filter(|&c| is_hazard(c)) {
            assert!(!quiet(&c.to_string()).contains(is_hazard), "{c:?}");
            assert!(!sanitize(&c.to_string(), 9).contains(is_hazard), "{c:?}");
        }
        assert!(quiet(&"x".repeat(100_000)).len() < 1010);
        assert!(quiet(&"\n".repeat(100_000)).len() < 1010);
    }
}
