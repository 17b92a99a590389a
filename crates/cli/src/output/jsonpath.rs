//! Evaluates kubectl's JSONPath templates, for `-o jsonpath`, `custom-columns` and `--sort-by`.
//!
//! - Invariant: the output equals kubectl's, which a test compares, except that `*` and `..` visit fields by name, and
//!   that a range inside a range without `{end}` continues to the end of the template.
//! - The JSONPath of RFC 9535 is another language.

mod eval;
mod parse;
mod print;

pub(super) use print::shown;

use eval::FoundValues;
use serde_json::Value;

/// Longer templates are mistakes.
const BYTES_MAX: usize = 1 << 16;

/// A parsed template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JsonPathTemplate {
    text: String,
    parts: Vec<TemplatePart>,
}

/// A part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    /// The steps between braces.
    Action(Vec<PathStep>),
}

/// A step from values to values.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PathStep {
    Field(String),
    Wildcard,
    Descent,
    Slice(SliceStep),
    Union(Vec<Vec<Self>>),
    Filter(Box<FilterStep>),
    /// A text, regardless of the values.
    Quoted(String),
    /// A number or a boolean for each value.
    Literal(Value),
    Range,
    End,
    Unknown(String),
}

/// `[1:3]`, and `[1]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SliceStep {
    from: Option<i64>,
    to: SliceEnd,
    step: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SliceEnd {
    Length,
    Before(i64),
    /// Without an end: one element.
    One,
}

/// `?(@.a=="b")`
#[derive(Clone, Debug, PartialEq, Eq)]
struct FilterStep {
    left: Vec<PathStep>,
    /// The operator and the right side; without them, the left side must exist.
    compared: Option<(String, Vec<PathStep>)>,
}

/// Why a template cannot be parsed or executed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TemplateError {
    #[error("error parsing jsonpath {template}, {why}")]
    Parsing { template: String, why: String },
    #[error("error executing jsonpath {template:?}: {why}")]
    Executing { template: String, why: String },
}

impl JsonPathTemplate {
    pub(crate) fn parse(text: &str) -> Result<Self, TemplateError> {
        let error = |why| TemplateError::Parsing { template: text.to_owned(), why };
        if text.len() > BYTES_MAX {
            let why = format!("it is longer than {} KB", BYTES_MAX >> 10);
            return Err(TemplateError::Parsing { template: "that is given".to_owned(), why });
        }
        Ok(Self { text: text.to_owned(), parts: parse::parse(text).map_err(error)? })
    }

    /// Parses a field: `{.a.b}`, `.a.b`, `{a.b}` and `a.b` are the same.
    pub(crate) fn field(text: &str) -> Result<Self, TemplateError> {
        let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text);
        let inner = inner.strip_prefix('.').unwrap_or(inner);
        if inner.is_empty() || inner.contains(['{', '}']) {
            let why = "unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or \
                       '{.name1.name2}'";
            return Err(TemplateError::Parsing { template: text.to_owned(), why: why.to_owned() });
        }
        Self::parse(&format!("{{.{inner}}}"))
    }

    /// The text for a value.
    pub(crate) fn execute(&self, value: &Value) -> Result<String, TemplateError> {
        let found = self.find(value)?;
        let words = found.iter().map(|found| {
            let words: Vec<String> = found.iter().map(|value| print::printed(value)).collect();
            words.join(" ")
        });
        Ok(words.collect())
    }

    /// The values that each part finds.
    pub(crate) fn find<'v>(&self, value: &'v Value) -> Result<Vec<FoundValues<'v>>, TemplateError> {
        eval::find(&self.parts, value)
            .map_err(|why| TemplateError::Executing { template: self.text.clone(), why })
    }
}

#[cfg(test)]
mod tests;
