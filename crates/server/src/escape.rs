//! Escapes untrusted text so that it cannot forge a line, control a terminal or change the direction.

use std::borrow::Cow;
use taintward_core::text::{is_hazard, push_number};

/// Escapes everything in `text`, as JSON does, that could start a line, control a terminal or change the reading
/// direction.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if text.chars().any(|c| c == '\\' || is_hazard(c)) {
        let mut safe = String::with_capacity(text.len() + 8);
        push_plain(&mut safe, text);
        Cow::Owned(safe)
    } else {
        Cow::Borrowed(text)
    }
}

/// Appends `text`, escaped and between double quotes: a JSON string, which klog's parsers understand as well.
pub fn push_quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            c => push_char(out, c),
        }
    }
    out.push('"');
}

/// Appends `text` escaped, without quotes.
pub fn push_plain(out: &mut String, text: &str) {
    for c in text.chars() {
        push_char(out, c);
    }
}

fn push_char(out: &mut String, c: char) {
    match c {
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c if is_hazard(c) => push_number(out, c),
        c => out.push(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_hazard_is_left() {
        for c in ('\0'..=char::MAX).filter(|&c| is_hazard(c)) {
            assert!(!escaped(&c.to_string()).contains(is_hazard), "{c:?}");
        }
        assert_eq!(escaped("a\u{61c}b\u{200b}c"), "a\\u061cb\\u200bc");
    }
}
