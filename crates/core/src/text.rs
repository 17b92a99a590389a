//! # Text: which characters are not to be shown as they are
//! Room:     the one set of characters that forge lines, steer terminals, turn the reading direction, or cannot be seen.
//! Comes in: a character of text from elsewhere: names, taint values, messages of servers.
//! Goes out: whether whoever shows it shows something else in its place.
//! Not here: what that is: `serve` escapes as JSON does, the client as Rust does, tables have a mark.

/// Control characters (C0, DEL, C1: the terminal's escape sequences begin with them), line and paragraph separators,
/// characters that change the reading direction, and those without width, in which two different names look the same.
pub fn is_hazard(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The two ways in which text is quoted agree: what is a hazard is escaped by Rust, too.
    #[test]
    fn what_is_hazardous_is_never_printed_between_quotes() {
        let hazards = ('\0'..=char::MAX).filter(|&c| is_hazard(c));
        assert!(hazards.clone().all(|c| c.escape_debug().count() > 1));
        assert_eq!(hazards.count(), 65 + 2 + 5 + 7 + 16 + 1);
        assert!("grüße 節 \\ \u{e9} \u{1f600} \u{a0}".chars().all(|c| !is_hazard(c)));
    }
}
