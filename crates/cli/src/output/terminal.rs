//! Detects the width and colours of standard output, and wraps and cleans text for it.
//!
//! - Invariant: text from objects and files cannot control a terminal.

use std::io::IsTerminal as _;
use taintward_core::text;
use unicode_width::UnicodeWidthChar as _;

/// What is printed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terminal {
    pub(crate) width: usize,
    pub(crate) paints: bool,
    /// Somebody looks at it, and nothing reads it: names may be shortened.
    pub(crate) is_terminal: bool,
}

/// Where nobody says how wide it is.
const WIDTH: usize = 80;

/// Below that nothing can be read; above it no sentence can, though a table can.
const WIDTHS: (usize, usize) = (20, 120);

impl Terminal {
    pub(crate) fn of_standard_output(paints: bool) -> Self {
        let width = terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0));
        let width = width.unwrap_or(WIDTH).max(WIDTHS.0);
        Self { width, paints, is_terminal: std::io::stdout().is_terminal() }
    }

    /// How wide sentences are. Where a program may read them, each is a line: who looks for a word finds it whole.
    pub(crate) fn measure(self) -> usize {
        if self.is_terminal { self.width.clamp(WIDTHS.0, WIDTHS.1) } else { usize::MAX }
    }
}

/// On one line, without anything that steers a terminal or turns the direction of what is read.
pub(crate) fn harmless(text: &str) -> String {
    text::harmless(text).into_owned()
}

/// The same of several lines.
pub(crate) fn harmless_lines(text: &str) -> String {
    text.split('\n').map(harmless).collect::<Vec<_>>().join("\n")
}

/// Lines of whole words; a word that is too long by itself is cut where the line ends.
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

/// How many columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// How many columns a letter takes.
fn columns(letter: char) -> usize {
    letter.width().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_within_their_room_and_lose_nothing() {
        assert_eq!(wrap("", 5), Vec::<String>::new());
        assert_eq!(wrap("aa bb cc", 5), ["aa bb", "cc"]);
        assert_eq!(wrap("a bbbbbbbb c", 5), ["a", "bbbbb", "bbb c"]);
        assert_eq!(wrap("äöü äöü", 3), ["äöü", "äöü"]);
        assert_eq!(wrap("節点節点 x", 4), ["節点", "節点", "x"]);
    }

    #[test]
    fn nothing_steers_a_terminal() {
        assert_eq!(
            harmless("a\x1b[31mb\r\n\u{202e}c\u{9b}"),
            "a\u{fffd}[31mb\u{fffd}\u{fffd}\u{fffd}c\u{fffd}"
        );
        assert_eq!(harmless("\u{2028}\u{61c}\u{feff}"), "\u{fffd}".repeat(3), "as in the log");
        assert_eq!(harmless("節 ä"), "節 ä");
    }
}
