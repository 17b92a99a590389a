//! Defines an object with open choices: fields that take a [`InstallValue`] or depend on a [`Condition`].

use super::values::{Condition, InstallValue, InstallValues, Repeat};
use serde_json::{Map, Value};

/// A value of an object.
#[derive(Clone, Debug)]
pub(crate) enum Template {
    Bool(bool),
    Number(i64),
    Text(&'static str),
    /// A text on lines of its own, which are one where it is read; as CEL is written.
    Block(&'static str),
    /// A text that is put together.
    Line(Vec<TextPart>),
    /// A choice, and nothing else.
    Knob(InstallValue),
    Map(Vec<TemplateEntry>),
    List(Vec<TemplateItem>),
}

/// A piece of a text.
#[derive(Clone, Debug)]
pub(crate) enum TextPart {
    Text(&'static str),
    Knob(InstallValue),
}

/// A field.
#[derive(Clone, Debug)]
pub(crate) struct TemplateEntry {
    pub(super) key: &'static str,
    pub(super) value: Template,
    pub(super) when: Option<Condition>,
}

/// A member of a list.
#[derive(Clone, Debug)]
pub(crate) struct TemplateItem {
    pub(super) value: Template,
    /// Why it is there; of one line, or empty.
    pub(super) note: &'static str,
    pub(super) when: Option<Condition>,
    /// It is there once for each of these; [`InstallValue::This`] is the one.
    pub(super) each: Option<Repeat>,
}

impl From<&'static str> for Template {
    fn from(text: &'static str) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for Template {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

impl From<i64> for Template {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<InstallValue> for Template {
    fn from(knob: InstallValue) -> Self {
        Self::Knob(knob)
    }
}

/// A field that is always there.
pub(super) fn field(key: &'static str, value: impl Into<Template>) -> TemplateEntry {
    TemplateEntry { key, value: value.into(), when: None }
}

/// A member that is always there.
pub(super) fn item(value: impl Into<Template>) -> TemplateItem {
    TemplateItem { value: value.into(), note: "", when: None, each: None }
}

/// An object of these fields.
pub(super) fn map(fields: impl IntoIterator<Item = TemplateEntry>) -> Template {
    Template::Map(fields.into_iter().collect())
}

/// A list of these members.
pub(super) fn list(items: impl IntoIterator<Item = TemplateItem>) -> Template {
    Template::List(items.into_iter().collect())
}

/// A list of objects.
pub(super) fn maps<const N: usize>(items: impl IntoIterator<Item = [TemplateEntry; N]>) -> Template {
    list(items.into_iter().map(|fields| item(map(fields))))
}

/// A list of texts.
pub(super) fn texts(items: impl IntoIterator<Item = &'static str>) -> Template {
    list(items.into_iter().map(item))
}

/// `--flag=`, and then a choice.
pub(super) fn line(text: &'static str, knob: InstallValue) -> Template {
    Template::Line(vec![TextPart::Text(text), TextPart::Knob(knob)])
}

impl TemplateEntry {
    pub(super) fn when(self, when: Condition) -> Self {
        Self { when: Some(when), ..self }
    }
}

impl TemplateItem {
    pub(super) fn when(self, when: Condition) -> Self {
        Self { when: Some(when), ..self }
    }

    pub(super) fn note(self, note: &'static str) -> Self {
        Self { note, ..self }
    }

    pub(super) fn each(self, each: Repeat) -> Self {
        Self { each: Some(each), ..self }
    }
}

/// Whether something is there.
pub(super) fn holds(when: Option<&Condition>, values: &InstallValues) -> bool {
    when.is_none_or(|when| when.holds(values))
}

impl Template {
    /// The object for these choices.
    pub(super) fn filled(&self, values: &InstallValues) -> Value {
        self.within(values, "")
    }

    /// `this` is the one of [`TemplateItem::each`].
    fn within(&self, values: &InstallValues, this: &str) -> Value {
        match self {
            Self::Bool(truth) => Value::Bool(*truth),
            Self::Number(number) => Value::from(*number),
            Self::Text(text) => Value::from(*text),
            Self::Block(lines) => Value::from(lines.lines().collect::<Vec<_>>().join(" ")),
            Self::Line(bits) => Value::from(joined(bits, values, this)),
            Self::Knob(knob) => knob.value(values, this),
            Self::Map(entries) => {
                let there = entries.iter().filter(|entry| holds(entry.when.as_ref(), values));
                let fields = there.map(|entry| (entry.key.to_owned(), entry.value.within(values, this)));
                Value::Object(fields.collect::<Map<_, _>>())
            }
            Self::List(items) => {
                let there = items.iter().filter(|item| holds(item.when.as_ref(), values));
                Value::Array(there.flat_map(|item| item.members(values, this)).collect())
            }
        }
    }
}

impl TemplateItem {
    fn members(&self, values: &InstallValues, this: &str) -> Vec<Value> {
        match self.each {
            None => vec![self.value.within(values, this)],
            Some(many) => many.of(values).iter().map(|one| self.value.within(values, one)).collect(),
        }
    }
}

/// A text that is put together.
pub(super) fn joined(bits: &[TextPart], values: &InstallValues, this: &str) -> String {
    let piece = |bit: &TextPart| match bit {
        TextPart::Text(text) => (*text).to_owned(),
        TextPart::Knob(knob) => match knob.value(values, this) {
            Value::String(text) => text,
            other => other.to_string(),
        },
    };
    bits.iter().map(piece).collect()
}
