//! # Yaml: values as YAML
//! Room:     writing YAML as Go's library does: sorted keys, no needless quotes, lines of about eighty letters.
//! Comes in: a value.
//! Goes out: text that reads back as the same value.
//! Not here: reading YAML (`normal`).

use serde_json::Value;
use std::fmt::Write as _;

/// After so many letters a line ends at the next space.
const WIDTH: usize = 80;

/// A value as a document.
pub(super) fn document(value: &Value) -> String {
    let mut writer = Writer::default();
    match value {
        Value::Object(map) if !map.is_empty() => writer.map(value, 0, false),
        Value::Array(all) if !all.is_empty() => writer.list(all, 0),
        other => writer.scalar(other, 0, true),
    }
    if !writer.text.ends_with('\n') {
        writer.text.push('\n');
    }
    writer.text
}

#[derive(Default)]
struct Writer {
    text: String,
}

impl Writer {
    /// Begins a line, unless this is where one begins.
    fn line(&mut self, indent: usize) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.extend(std::iter::repeat_n(' ', indent));
    }

    fn column(&self) -> usize {
        let line = self.text.rsplit('\n').next().unwrap_or_default();
        line.chars().count()
    }

    /// A map; its first key may stand where a list's dash has been written.
    fn map(&mut self, value: &Value, indent: usize, mut after_dash: bool) {
        for (key, value) in value.as_object().into_iter().flatten() {
            if !std::mem::take(&mut after_dash) {
                self.line(indent);
            }
            self.string(key, indent, false);
            self.text.push(':');
            match value {
                Value::Object(map) if !map.is_empty() => self.map(value, indent + 2, false),
                Value::Array(all) if !all.is_empty() => self.list(all, indent),
                scalar => {
                    self.text.push(' ');
                    self.scalar(scalar, indent, true);
                }
            }
        }
    }

    fn list(&mut self, all: &[Value], indent: usize) {
        for value in all {
            self.line(indent);
            self.text.push_str("- ");
            match value {
                Value::Object(map) if !map.is_empty() => self.map(value, indent + 2, true),
                Value::Array(inner) if !inner.is_empty() => self.list(inner, indent + 2),
                scalar => self.scalar(scalar, indent, true),
            }
        }
    }

    fn scalar(&mut self, value: &Value, indent: usize, breaks: bool) {
        match value {
            Value::String(text) => self.string(text, indent, breaks),
            // Empty maps and lists, numbers, switches and nothing look as in JSON.
            other => _ = write!(self.text, "{other}"),
        }
    }

    fn string(&mut self, text: &str, indent: usize, breaks: bool) {
        let printable = text.chars().all(|letter| letter == '\n' || !letter.is_control());
        let spaced = text.starts_with([' ', '\n']) || text.contains(" \n") || text.ends_with(' ');
        if is_other(text) || !printable || (text.contains('\n') && (spaced || !breaks)) {
            let quoted = Value::from(text).to_string();
            self.folded(&quoted, indent, breaks);
        } else if text.contains('\n') {
            self.literal(text, indent + 2);
        } else if is_plain(text) {
            self.folded(text, indent, breaks);
        } else {
            self.folded(&format!("'{}'", text.replace('\'', "''")), indent, breaks);
        }
    }

    /// Lines as they are.
    fn literal(&mut self, text: &str, indent: usize) {
        self.text.push('|');
        match text.strip_suffix('\n') {
            None => self.text.push('-'),
            Some(rest) if rest.ends_with('\n') => self.text.push('+'),
            Some(_) => {}
        }
        for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
            self.text.push('\n');
            if !line.is_empty() {
                self.text.extend(std::iter::repeat_n(' ', indent));
                self.text.push_str(line);
            }
        }
        self.text.push('\n');
    }

    /// One long line, which may go on in the next where a single space stands.
    fn folded(&mut self, text: &str, indent: usize, breaks: bool) {
        let mut column = self.column();
        let mut letters = text.chars().peekable();
        let mut before = '\0';
        while let Some(letter) = letters.next() {
            let single = letter == ' ' && before != ' ' && letters.peek().is_some_and(|next| *next != ' ');
            if single && breaks && column > WIDTH {
                self.line(indent + 2);
                column = indent + 2;
            } else {
                self.text.push(letter);
                column += 1;
            }
            before = letter;
        }
    }
}

/// Whether text without quotes would be read as something else than text.
fn is_other(text: &str) -> bool {
    const WORDS: [&str; 12] = ["", "~", "null", "true", "false", "yes", "no", "on", "off", "y", "n", "<<"];
    const NUMBERS: [&str; 3] = [".inf", "-.inf", ".nan"];
    let lower = text.to_ascii_lowercase();
    let number = text.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first));
    let parts = text.replace('_', "");
    let digits = parts.trim_start_matches(['+', '-']);
    let radix = |prefix: &str, base: u32| {
        digits.strip_prefix(prefix).is_some_and(|digits| i64::from_str_radix(digits, base).is_ok())
    };
    // 2001-01-01 and what follows is a time, 1:30 a number of base sixty.
    let date = text.len() >= 8
        && text.as_bytes()[..4].iter().all(u8::is_ascii_digit)
        && text.as_bytes()[4] == b'-'
        && text.bytes().all(|byte| byte.is_ascii_digit() || b"-:.TtZz+ ".contains(&byte));
    let sixty = text.contains(':') && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b':');
    WORDS.contains(&lower.as_str())
        || NUMBERS.contains(&lower.as_str())
        || number && (digits.parse::<f64>().is_ok() || date || sixty)
        || radix("0x", 16)
        || radix("0b", 2)
        || radix("0o", 8)
}

/// Whether text needs no quotes.
fn is_plain(text: &str) -> bool {
    let first = text.chars().next().unwrap_or(' ');
    let dashed =
        |lead: &str| text.strip_prefix(lead).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    !"#,[]{}&*!|>'\"%@`".contains(first)
        && !["-", "?", ":"].into_iter().any(dashed)
        && !text.starts_with("---")
        && !text.starts_with("...")
        && !text.starts_with(' ')
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
}

#[cfg(test)]
mod tests {
    use super::document;
    use crate::normal::yaml_to_json;
    use serde_json::json;

    #[test]
    fn what_is_written_reads_back() {
        let value = json!({"a": "1", "yes": "on", "n": "", "b": "x\ny\n", "c": "x\ny", "d": "x\n\n", "e": " x",
            "f": "a: b", "g": "# no", "h": "it's", "i": [], "j": {}, "k": [1, [2, 3], {"l": ["m"]}], "o": null,
            "p": "2001-01-01T00:00:00Z", "q": "x ".repeat(99), "r": "tab\there", "s": "0x1f", "t": "-", "u": true,
            "v": format!("'{}", "long words ".repeat(20)), "w": "1e3", "x": "a:b", "z": "- x"});
        let text = document(&value);
        assert_eq!(yaml_to_json(text.as_bytes()).ok(), Some(value), "{text}");
    }

    #[test]
    fn it_looks_as_go_writes_it() {
        let value = json!({"data": {"a": "1", "b": "x\ny\n", "yes": "on"}, "items": [{"b": 1, "a": []}]});
        let text = "data:\n  a: \"1\"\n  b: |\n    x\n    y\n  \"yes\": \"on\"\nitems:\n- a: []\n  b: 1\n";
        assert_eq!(document(&value), text);
    }
}
