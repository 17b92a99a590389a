//! Defines the error of one field, and its text.

use serde_json::{Value, json};
use std::collections::HashSet;
use std::fmt;

/// What kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldErrorKind {
    /// Nothing stands where something must.
    Required,
    /// What stands there is not right.
    Invalid,
    /// What stands there is not one of the few words that may.
    NotSupported,
    /// It stands there twice.
    Duplicate,
    /// Nothing may stand there, or it may not change.
    Forbidden,
    /// Too many bytes.
    TooLong,
    /// Too many elements.
    TooMany,
    /// A number where text belongs, or the like.
    TypeInvalid,
}

impl FieldErrorKind {
    /// The `reason` of a Status' cause.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::TypeInvalid => "FieldValueTypeInvalid",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Duplicate => "Duplicate value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
        }
    }
}

/// One fault of one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// The field's path: `spec.tolerations[0].effect`.
    pub field: String,
    /// What kind of fault.
    pub kind: FieldErrorKind,
    /// What stands there, if the message shows it.
    pub value: Option<Value>,
    /// What should.
    pub detail: String,
}

impl FieldError {
    /// The message without the path.
    pub fn body(&self) -> String {
        let mut body = self.kind.words().to_owned();
        if let Some(value) = &self.value {
            body += &format!(": {value}");
        }
        if !self.detail.is_empty() {
            body += &format!(": {}", self.detail);
        }
        body
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

/// The Status that answers an object with faults. Two equal faults are one in the message and two among the causes.
pub fn status(group: &str, kind: &str, name: &str, faults: &[FieldError]) -> Value {
    let mut seen = HashSet::new();
    let words: Vec<String> =
        faults.iter().map(ToString::to_string).filter(|words| seen.insert(words.clone())).collect();
    let words = match words.as_slice() {
        [] => String::new(),
        [only] => format!(": {only}"),
        several => format!(": [{}]", several.join(", ")),
    };
    let full = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
    let mut details = json!({"kind": kind});
    if !name.is_empty() {
        details["name"] = name.into();
    }
    if !group.is_empty() {
        details["group"] = group.into();
    }
    let causes: Vec<Value> = faults
        .iter()
        .map(|fault| json!({"reason": fault.kind.reason(), "message": fault.body(), "field": fault.field}))
        .collect();
    if !causes.is_empty() {
        details["causes"] = causes.into();
    }
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": format!("{full} {name:?} is invalid{words}"),
        "reason": "Invalid", "details": details, "code": 422,
    })
}

/// The faults found so far.
#[derive(Debug, Default)]
pub(super) struct FieldErrors(pub(super) Vec<FieldError>);

impl FieldErrors {
    fn push(&mut self, field: String, kind: FieldErrorKind, value: Option<Value>, detail: &str) {
        self.0.push(FieldError { field, kind, value, detail: detail.to_owned() });
    }

    pub(super) fn required(&mut self, field: impl Into<String>, detail: &str) {
        self.push(field.into(), FieldErrorKind::Required, None, detail);
    }

    pub(super) fn invalid(&mut self, field: impl Into<String>, value: impl Into<Value>, detail: &str) {
        self.push(field.into(), FieldErrorKind::Invalid, Some(value.into()), detail);
    }

    pub(super) fn unsupported(&mut self, field: impl Into<String>, word: &str, known: &[&str]) {
        let known: Vec<String> = known.iter().map(|word| format!("{word:?}")).collect();
        let detail = format!("supported values: {}", known.join(", "));
        self.push(field.into(), FieldErrorKind::NotSupported, Some(word.into()), &detail);
    }

    pub(super) fn duplicate(&mut self, field: impl Into<String>, value: impl Into<Value>, detail: &str) {
        self.push(field.into(), FieldErrorKind::Duplicate, Some(value.into()), detail);
    }

    pub(super) fn forbidden(&mut self, field: impl Into<String>, detail: &str) {
        self.push(field.into(), FieldErrorKind::Forbidden, None, detail);
    }

    pub(super) fn too_long(&mut self, field: impl Into<String>, limit: usize) {
        self.push(
            field.into(),
            FieldErrorKind::TooLong,
            None,
            &format!("may not be more than {limit} bytes"),
        );
    }

    /// A field that has changed and may not.
    pub(super) fn immutable(&mut self, field: impl Into<String>) {
        self.push(field.into(), FieldErrorKind::Invalid, None, "field is immutable");
    }

    /// One fault for each message.
    pub(super) fn each(&mut self, field: &str, value: &str, messages: Vec<String>) {
        for message in messages {
            self.invalid(field, value, &message);
        }
    }

    /// A number below zero.
    pub(super) fn not_negative(&mut self, field: impl Into<String>, number: Option<i64>) {
        if let Some(number) = number.filter(|number| *number < 0) {
            self.invalid(field, number, "must be greater than or equal to 0");
        }
    }
}
