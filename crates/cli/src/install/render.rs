//! Renders a [`Template`] as YAML, with choices filled in or as expressions of a Helm template.
//!
//! - Invariant: text that looks like a number or boolean is quoted.

use super::template::{Template, TemplateItem, TextPart, holds, joined};
use super::values::{Condition, InstallValues};

/// What is written.
#[derive(Clone, Copy)]
pub(super) enum RenderMode<'v> {
    /// An object for these choices.
    Filled(&'v InstallValues),
    /// A template.
    Template,
}

/// Lists of words up to this length stand on one line.
const LINE: usize = 80;

/// The object, each line ended.
pub(super) fn yaml(sheet: &Template, ink: RenderMode<'_>) -> String {
    let mut page = YamlWriter { ink, text: String::new() };
    page.fields(sheet, 0, "");
    page.text
}

struct YamlWriter<'v> {
    ink: RenderMode<'v>,
    text: String,
}

impl YamlWriter<'_> {
    fn line(&mut self, indent: usize, text: &str) {
        self.text.extend(std::iter::repeat_n(' ', indent));
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// Opens what depends on something; `None` if it is not there.
    fn open(&mut self, when: Option<Condition>, indent: usize) -> Option<()> {
        match (self.ink, when) {
            (RenderMode::Filled(values), when) => holds(when.as_ref(), values).then_some(()),
            (RenderMode::Template, Some(when)) => {
                self.line(indent, &format!("{{{{- if {} }}}}", bare(&when.expression())));
                Some(())
            }
            (RenderMode::Template, None) => Some(()),
        }
    }

    fn close(&mut self, opened: bool, indent: usize) {
        if opened && matches!(self.ink, RenderMode::Template) {
            self.line(indent, "{{- end }}");
        }
    }

    fn note(&mut self, note: &str, indent: usize) {
        if !note.is_empty() {
            self.line(indent, &format!("# {note}"));
        }
    }

    fn fields(&mut self, sheet: &Template, indent: usize, this: &str) {
        let Template::Map(entries) = sheet else { return };
        for entry in entries {
            if self.open(entry.when, indent).is_none() {
                continue;
            }
            self.field(entry.key, &entry.value, indent, this);
            self.close(entry.when.is_some(), indent);
        }
    }

    fn field(&mut self, key: &str, value: &Template, indent: usize, this: &str) {
        match value {
            Template::Map(entries) if entries.is_empty() => self.line(indent, &format!("{key}: {{}}")),
            Template::Map(_) => {
                self.line(indent, &format!("{key}:"));
                self.fields(value, indent + 2, this);
            }
            Template::List(items) => match words(items) {
                Some(words) => self.line(indent, &format!("{key}: {words}")),
                None => {
                    self.line(indent, &format!("{key}:"));
                    items.iter().for_each(|item| self.item(item, indent, this));
                }
            },
            Template::Block(lines) if lines.contains('\n') => {
                self.line(indent, &format!("{key}: >-"));
                lines.lines().for_each(|line| self.line(indent + 2, line));
            }
            single => {
                let written = self.scalar(single, this);
                self.line(indent, &format!("{key}: {written}"));
            }
        }
    }

    fn item(&mut self, item: &TemplateItem, indent: usize, this: &str) {
        if self.open(item.when, indent).is_none() {
            return;
        }
        self.note(item.note, indent);
        match (item.each, self.ink) {
            (None, _) => self.member(&item.value, indent, this),
            (Some(many), RenderMode::Filled(values)) => {
                many.of(values).iter().for_each(|one| self.member(&item.value, indent, one));
            }
            (Some(many), RenderMode::Template) => {
                self.line(indent, &format!("{{{{- range {} }}}}", many.expression()));
                self.member(&item.value, indent, this);
                self.line(indent, "{{- end }}");
            }
        }
        self.close(item.when.is_some(), indent);
    }

    /// A dash, and what belongs to it. An object's first field is always there.
    fn member(&mut self, value: &Template, indent: usize, this: &str) {
        if let Template::Map(_) = value {
            let start = self.text.len() + indent;
            self.fields(value, indent + 2, this);
            self.text.replace_range(start..=start, "-");
        } else {
            let written = self.scalar(value, this);
            self.line(indent, &format!("- {written}"));
        }
    }

    fn scalar(&self, value: &Template, this: &str) -> String {
        match (value, self.ink) {
            (Template::Bool(truth), _) => truth.to_string(),
            (Template::Number(number), _) => number.to_string(),
            (Template::Text(text) | Template::Block(text), _) => quoted(text),
            (Template::Line(bits), RenderMode::Filled(values)) => quoted(&joined(bits, values, this)),
            (Template::Knob(knob), RenderMode::Filled(values)) => match knob.value(values, this) {
                serde_json::Value::String(text) => quoted(&text),
                other => other.to_string(),
            },
            (Template::Line(bits), RenderMode::Template) => template(bits),
            (Template::Knob(knob), RenderMode::Template) if knob.counts() => {
                format!("{{{{ int {} }}}}", knob.expression())
            }
            (Template::Knob(knob), RenderMode::Template) => {
                format!("{{{{ {} | quote }}}}", knob.expression())
            }
            (Template::Map(_) | Template::List(_), _) => String::new(),
        }
    }
}

/// An expression without the brackets around it.
fn bare(expression: &str) -> &str {
    expression.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')).unwrap_or(expression)
}

/// A text that is put together, in a template.
fn template(bits: &[TextPart]) -> String {
    let form: String =
        bits.iter().map(|bit| if let TextPart::Text(text) = bit { text } else { "%s" }).collect();
    let knobs = bits.iter().filter_map(|bit| match bit {
        TextPart::Knob(knob) => Some(format!(" {}", knob.expression())),
        TextPart::Text(_) => None,
    });
    format!("{{{{ printf \"{form}\"{} | quote }}}}", knobs.collect::<String>())
}

/// A list of words on one line, if it is short and the same for all choices.
fn words(items: &[TemplateItem]) -> Option<String> {
    let words: Option<Vec<String>> = items
        .iter()
        .map(|item| match item.value {
            Template::Text(text) if item.when.is_none() && item.note.is_empty() => Some(quoted(text)),
            _ => None,
        })
        .collect();
    let line = format!("[{}]", words?.join(", "));
    (line.len() <= LINE).then_some(line)
}

/// What YAML takes for something else than text, or for its own signs, is put in quotes.
pub(super) fn quoted(text: &str) -> String {
    const TAKEN: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/') || text.starts_with("--");
    let plain = text.bytes().all(|c| c.is_ascii_alphanumeric() || b"_./=:@-".contains(&c));
    let taken = TAKEN.contains(&text.to_ascii_lowercase().as_str()) || text.ends_with(':') || text == "---";
    match begins && plain && !taken {
        true => text.to_owned(),
        false => serde_json::Value::from(text).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        for text in [
            "", "true", "No", "1", "1.5", "0x1f", "*", "-", "---", "a: b", "a:", "#a", "~", "a b", "%",
            "::/0",
        ] {
            let written = quoted(text);
            assert!(written.starts_with('"'), "{written}");
            assert_eq!(serde_saphyr::from_str::<String>(&written).unwrap(), text);
        }
        for text in [
            "taintward",
            "--mode=enforce",
            "/livez",
            "kubernetes.io/hostname",
            "registry.invalid/taintward:0.1.0",
        ] {
            assert_eq!(quoted(text), text);
            assert_eq!(serde_saphyr::from_str::<String>(&quoted(text)).unwrap(), text);
        }
    }
}
