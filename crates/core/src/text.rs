//! Replaces characters of untrusted text that forge lines, control terminals, change the direction or are invisible.

mod quoted;

pub(crate) use quoted::Quoted;
pub use quoted::distance;

use alloc::borrow::Cow;
use alloc::string::{String, ToString as _};
use core::error::Error;
use core::fmt::Write as _;

/// Control characters (C0, DEL, C1: the terminal's escape sequences begin with them), line and paragraph separators,
/// characters that change the reading direction, and those without width, in which two different names look the same.
pub fn is_hazard(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        )
}

/// Returns `text` on one line, with a mark in place of each hazard: for people, not for machines.
pub fn harmless(text: &str) -> Cow<'_, str> {
    match text.contains(is_hazard) {
        true => Cow::Owned(text.replace(is_hazard, "\u{fffd}")),
        false => Cow::Borrowed(text),
    }
}

/// Formats an error with its causes, outermost first. A cause that is already contained in the text before it is not
/// repeated.
pub fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let cause_text = error.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        cause = error.source();
    }
    text
}

/// Appends a character's number as JSON and YAML write it within double quotes: `\u202e`.
pub fn push_number(out: &mut String, c: char) {
    let mut units = [0; 2];
    for unit in c.encode_utf16(&mut units) {
        // Writing to a String cannot fail.
        let _ = write!(out, "\\u{unit:04x}");
    }
}

/// Escapes hazards in a document where hazards other than line ends occur only between double quotes, as in JSON: its
/// meaning stays the same.
pub fn numbered(document: String) -> String {
    let is_meant = |c: char| c != '\n' && is_hazard(c);
    if !document.contains(is_meant) {
        return document;
    }
    let mut out = String::with_capacity(document.len() + 16);
    for c in document.chars() {
        if is_meant(c) { push_number(&mut out, c) } else { out.push(c) }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::fmt;

    #[test]
    fn hazards_are_replaced_by_a_mark_or_a_number() {
        assert!(matches!(harmless("grüße"), Cow::Borrowed("grüße")));
        assert_eq!(harmless("a\n::error::\u{1b}[2J\u{202e}"), "a\u{fffd}::error::\u{fffd}[2J\u{fffd}");
        assert_eq!(numbered("{\n\"a\": \"\u{9b}é\u{202e}\"\n}".into()), "{\n\"a\": \"\\u009bé\\u202e\"\n}");
        for c in ('\0'..=char::MAX).filter(|&c| is_hazard(c)) {
            assert!(!harmless(&String::from(c)).contains(is_hazard), "{c:?}");
        }
    }

    /// The two ways in which text is quoted agree: Rust escapes every hazard, too.
    #[test]
    fn hazards_are_never_printed_between_quotes() {
        let hazards = ('\0'..=char::MAX).filter(|&c| is_hazard(c));
        assert!(hazards.clone().all(|c| c.escape_debug().count() > 1));
        assert_eq!(hazards.count(), 65 + 2 + 5 + 7 + 16 + 1);
        assert!("grüße 節 \\ \u{e9} \u{1f600} \u{a0}".chars().all(|c| !is_hazard(c)));
    }

    #[derive(Debug)]
    struct ChainedFailure(&'static str, Option<&'static Self>);

    impl fmt::Display for ChainedFailure {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for ChainedFailure {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.map(|cause| cause as _)
        }
    }

    #[test]
    fn an_error_names_its_causes_and_none_twice() {
        static END: ChainedFailure = ChainedFailure("connection refused", None);
        static MIDDLE: ChainedFailure = ChainedFailure("cannot connect: connection refused", Some(&END));
        static OUTER: ChainedFailure = ChainedFailure("cannot list pods", Some(&MIDDLE));
        assert_eq!(error_chain(&END), "connection refused");
        assert_eq!(error_chain(&OUTER), "cannot list pods: cannot connect: connection refused");
        static BARE: ChainedFailure = ChainedFailure("cannot list nodes", Some(&END));
        assert_eq!(error_chain(&BARE), "cannot list nodes: connection refused");
    }
}
