//! Detects the width and colors of standard output, and wraps and cleans text for it.
//!
//! - Invariant: text from objects and files cannot control a terminal.

use std::io::IsTerminal as _;
use taintward_core::text;
use unicode_width::UnicodeWidthChar as _;

/// The properties of standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terminal {
    pub(crate) width: usize,
    pub(crate) paints: bool,
    /// It is a terminal, so no program reads the output and names may be shortened.
    pub(crate) is_terminal: bool,
}

/// The width if it is unknown.
const WIDTH: usize = 80;

/// The limits for text: narrower lines are unreadable, and so are wider sentences, but not wider tables.
const WIDTHS: (usize, usize) = (20, 120);

impl Terminal {
    pub(crate) fn of_standard_output(paints: bool) -> Self {
        let width = terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0));
        let width = width.unwrap_or(WIDTH).max(WIDTHS.0);
        Self { width, paints, is_terminal: std::io::stdout().is_terminal() }
    }

    /// The width of sentences. For programs each one is a line, so that a search finds whole phrases.
    pub(crate) fn measure(self) -> usize {
        if self.is_terminal { self.width.clamp(WIDTHS.0, WIDTHS.1) } else { usize::MAX }
    }
}

/// The text on one line, without characters that control a terminal or change the direction of text.
pub(crate) fn harmless(text: &str) -> String {
    text::harmless(text).into_owned()
}

/// The same for several lines.
pub(crate) fn harmless_lines(text: &str) -> String {
    text.split('\n').map(harmless).collect::<Vec<_>>().join("\n")
}

/// Wraps text at words; a word that is too long is split.
pub(crate) fn wrap(text: &str, room: usize) -> Vec<String> {
    let (mut lines, mut line, mut length) = (Vec::new(), String::new(), 0);
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        if length > 0 && length + 1 + width(word) > room {
            lines.push(std::mem::take(&mut line));
            length = 0;
        }
        if length > 0 {
            line.push(' ');
            length += 1;
        }
        for letter in word.chars() {
            if length > 0 && length + columns(letter) > room {
                lines.push(std::mem::take(&mut line));
                length = 0;
            }
            line.push(letter);
            length += columns(letter);
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// The number of columns of a text.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// The number of columns of a character.
fn columns(letter: char) -> usize {
    letter.width().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_lines_fit_and_are_complete() {
        assert_eq!(wrap("", 5), Vec::<String>::new());
        assert_eq!(wrap("aa bb cc", 5), ["aa bb", "cc"]);
        assert_eq!(wrap("a bbbbbbbb c", 5), ["a", "bbbbb", "bbb c"]);
        assert_eq!(wrap("äöü äöü", 3), ["äöü", "äöü"]);
        assert_eq!(wrap("節点節点 x", 4), ["節点", "節点", "x"]);
    }

    #[test]
    fn text_cannot_control_a_terminal() {
        assert_eq!(
            harmless("a\x1b[31mb\r\n\u{202e}c\u{9b}"),
            "a\u{fffd}[31mb\u{fffd}\u{fffd}\u{fffd}c\u{fffd}"
        );
        assert_eq!(harmless("\u{2028}\u{61c}\u{feff}"), "\u{fffd}".repeat(3), "as in the log");
        assert_eq!(harmless("節 ä"), "節 ä");
    }
}
