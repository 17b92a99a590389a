//! # Table: the report for people
//! Room:     one head line for each finding, its reason and way out below, wrapped.
//! Comes in: [`Report`]; how wide the paper is, and whether it takes colours.
//! Goes out: text.
//! Keeps:    no line is longer than the paper, and nothing is left out; what stands in files cannot steer a terminal.
//! Not here: the summary (`report.rs`).

use super::report::{Report, Told};
use crate::paint::Color;
use std::fmt::Write as _;
use taintward_core::lint::Severity;

/// What is printed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Paper {
    pub(crate) width: usize,
    pub(crate) paints: bool,
}

/// Where nobody says how wide it is.
const WIDTH: usize = 80;

/// Below that nothing can be read, above it neither.
const WIDTHS: (usize, usize) = (40, 120);

/// The columns before the object: severity and rule.
const INDENT: usize = 15;

impl Paper {
    pub(crate) fn of_standard_output(paints: bool) -> Self {
        let width = terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0));
        Self { width: width.unwrap_or(WIDTH).clamp(WIDTHS.0, WIDTHS.1), paints }
    }
}

pub(super) fn print(report: &Report, paper: Paper) -> String {
    if report.findings.is_empty() {
        return String::new();
    }
    let mut text = "SEVERITY RULE  OBJECT, PLACE\n".to_owned();
    for told in &report.findings {
        one(&mut text, told, paper);
    }
    text
}

fn one(text: &mut String, told: &Told, paper: Paper) {
    let severity = told.rule.severity();
    let word = format!("{:<8}", severity.as_str());
    let word = match severity {
        Severity::Error => Color::Red.of(&word, paper.paints),
        Severity::Warning => Color::Yellow.of(&word, paper.paints),
        Severity::Info => Color::Blue.of(&word, paper.paints),
    };
    let object = harmless(&told.object.to_string());
    let place = harmless(&place(told));
    let room = paper.width - INDENT;
    let head = if object.chars().count() + place.chars().count() + 2 > room || place.is_empty() {
        [wrap(&object, room), wrap(&place, room)].concat()
    } else {
        vec![format!("{object}  {place}")]
    };
    let body = [harmless(&told.reason), format!("fix: {}", harmless(&told.fix))];
    let body = body.iter().flat_map(|sentence| wrap(sentence, room));
    for (index, line) in head.into_iter().chain(body).enumerate() {
        // Writing to a String cannot fail.
        let _ = match index {
            0 => writeln!(text, "{word} {:<5} {line}", told.rule.id()),
            _ => writeln!(text, "{:INDENT$}{line}", ""),
        };
    }
}

/// `web.yaml:3:7`, or the field, where there is no file.
pub(super) fn place(told: &Told) -> String {
    match &told.location {
        Some(location) => {
            let from = location.span.from;
            format!("{}:{}:{}", location.file, from.line, from.column)
        }
        None => told.field.clone(),
    }
}

/// On one line, without anything that steers a terminal.
fn harmless(text: &str) -> String {
    let shown = |sign: char| if sign.is_control() { '\u{fffd}' } else { sign };
    text.chars().map(shown).collect()
}

/// Lines of whole words; a word that is too long by itself is cut where the line ends.
fn wrap(text: &str, room: usize) -> Vec<String> {
    let (mut lines, mut line, mut length) = (Vec::new(), String::new(), 0);
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let mut letters: Vec<char> = word.chars().collect();
        if length > 0 && length + 1 + letters.len() > room {
            lines.push(std::mem::take(&mut line));
            length = 0;
        }
        if length > 0 {
            line.push(' ');
            length += 1;
        }
        while letters.len() > room {
            lines.push(letters.drain(..room).collect());
        }
        length += letters.len();
        line.extend(letters);
    }
    if length > 0 {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn lines_keep_within_their_room_and_lose_nothing() {
        assert_eq!(wrap("", 5), Vec::<String>::new());
        assert_eq!(wrap("aa bb cc", 5), ["aa bb", "cc"]);
        assert_eq!(wrap("a bbbbbbbb c", 5), ["a", "bbbbb", "bbb c"]);
        assert_eq!(wrap("äöü äöü", 3), ["äöü", "äöü"]);
    }
}
