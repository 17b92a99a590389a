//! # Sheet: an object that is not filled in yet
//! Room:     fields, some of them left open ([`Knob`]), some there only for some choices ([`When`]).
//! Comes in: what `objects` lays down.
//! Goes out: the object for given choices.
//! Keeps:    what is written as YAML, as JSON and as a template is one and the same.
//! Not here: text (`text.rs`), what the choices are (`values.rs`).

use super::values::{Knob, Many, Values, When};
use serde_json::{Map, Value};

/// A value of an object.
#[derive(Clone, Debug)]
pub(crate) enum Sheet {
    Bool(bool),
    Number(i64),
    Text(&'static str),
    /// A text on lines of its own, which are one where it is read; as CEL is written.
    Block(&'static str),
    /// A text that is put together.
    Line(Vec<Bit>),
    /// A choice, and nothing else.
    Knob(Knob),
    Map(Vec<Entry>),
    List(Vec<Item>),
}

/// A piece of a text.
#[derive(Clone, Debug)]
pub(crate) enum Bit {
    Text(&'static str),
    Knob(Knob),
}

/// A field.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(super) key: &'static str,
    pub(super) value: Sheet,
    pub(super) when: Option<When>,
}

/// A member of a list.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(super) value: Sheet,
    /// Why it is there; of one line, or empty.
    pub(super) note: &'static str,
    pub(super) when: Option<When>,
    /// It is there once for each of these; [`Knob::This`] is the one.
    pub(super) each: Option<Many>,
}

impl From<&'static str> for Sheet {
    fn from(text: &'static str) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for Sheet {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

impl From<i64> for Sheet {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<Knob> for Sheet {
    fn from(knob: Knob) -> Self {
        Self::Knob(knob)
    }
}

/// A field that is always there.
pub(super) fn field(key: &'static str, value: impl Into<Sheet>) -> Entry {
    Entry { key, value: value.into(), when: None }
}

/// A member that is always there.
pub(super) fn item(value: impl Into<Sheet>) -> Item {
    Item { value: value.into(), note: "", when: None, each: None }
}

/// An object of these fields.
pub(super) fn map(fields: impl IntoIterator<Item = Entry>) -> Sheet {
    Sheet::Map(fields.into_iter().collect())
}

/// A list of these members.
pub(super) fn list(items: impl IntoIterator<Item = Item>) -> Sheet {
    Sheet::List(items.into_iter().collect())
}

/// A list of objects.
pub(super) fn maps<const N: usize>(items: impl IntoIterator<Item = [Entry; N]>) -> Sheet {
    list(items.into_iter().map(|fields| item(map(fields))))
}

/// A list of texts.
pub(super) fn texts(items: impl IntoIterator<Item = &'static str>) -> Sheet {
    list(items.into_iter().map(item))
}

/// `--flag=`, and then a choice.
pub(super) fn line(text: &'static str, knob: Knob) -> Sheet {
    Sheet::Line(vec![Bit::Text(text), Bit::Knob(knob)])
}

impl Entry {
    pub(super) fn when(self, when: When) -> Self {
        Self { when: Some(when), ..self }
    }
}

impl Item {
    pub(super) fn when(self, when: When) -> Self {
        Self { when: Some(when), ..self }
    }

    pub(super) fn note(self, note: &'static str) -> Self {
        Self { note, ..self }
    }

    pub(super) fn each(self, each: Many) -> Self {
        Self { each: Some(each), ..self }
    }
}

/// Whether something is there.
pub(super) fn holds(when: Option<&When>, values: &Values) -> bool {
    when.is_none_or(|when| when.holds(values))
}

impl Sheet {
    /// The object for these choices.
    pub(super) fn filled(&self, values: &Values) -> Value {
        self.within(values, "")
    }

    /// `this` is the one of [`Item::each`].
    fn within(&self, values: &Values, this: &str) -> Value {
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

impl Item {
    fn members(&self, values: &Values, this: &str) -> Vec<Value> {
        match self.each {
            None => vec![self.value.within(values, this)],
            Some(many) => many.of(values).iter().map(|one| self.value.within(values, one)).collect(),
        }
    }
}

/// A text that is put together.
pub(super) fn joined(bits: &[Bit], values: &Values, this: &str) -> String {
    let piece = |bit: &Bit| match bit {
        Bit::Text(text) => (*text).to_owned(),
        Bit::Knob(knob) => match knob.value(values, this) {
            Value::String(text) => text,
            other => other.to_string(),
        },
    };
    bits.iter().map(piece).collect()
}
