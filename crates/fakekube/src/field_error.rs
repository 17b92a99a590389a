//! Describes what is wrong with fields of an object, with a real server's messages.

use crate::api_status::StatusError;
use serde_json::{Value, json};
use std::fmt;

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldErrorKind {
    /// The field is missing.
    Required,
    /// The value is invalid.
    Invalid,
    /// The value is not one of the few that are supported.
    NotSupported,
    /// The value occurs twice.
    Duplicate,
    /// The field may not be set, or may not change.
    Forbidden,
    /// Too many bytes.
    TooLong,
    /// Too many elements.
    TooMany,
    /// A number where text belongs, or the like.
    TypeInvalid,
}

impl FieldErrorKind {
    /// The `reason` of a Status' cause, and the start of its message.
    const fn texts(self) -> (&'static str, &'static str) {
        match self {
            Self::Required => ("FieldValueRequired", "Required value"),
            Self::Invalid => ("FieldValueInvalid", "Invalid value"),
            Self::NotSupported => ("FieldValueNotSupported", "Unsupported value"),
            Self::Duplicate => ("FieldValueDuplicate", "Duplicate value"),
            Self::Forbidden => ("FieldValueForbidden", "Forbidden"),
            Self::TooLong => ("FieldValueTooLong", "Too long"),
            Self::TooMany => ("FieldValueTooMany", "Too many"),
            Self::TypeInvalid => ("FieldValueTypeInvalid", "Invalid value"),
        }
    }
}

/// A fault of one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// The field's path: `spec.tolerations[0].effect`.
    pub field: String,
    /// What kind of fault.
    pub kind: FieldErrorKind,
    /// The value, if the message shows it.
    pub value: Option<Value>,
    /// What the value should be.
    pub detail: String,
}

impl FieldError {
    /// The message without the path.
    fn body(&self) -> String {
        let mut body = self.kind.texts().1.to_owned();
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

/// The error for an object with faults. Two equal faults are one in the message and two among the causes.
pub fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> StatusError {
    let mut messages: Vec<String> = Vec::new();
    for message in errors.iter().map(ToString::to_string) {
        if !messages.contains(&message) {
            messages.push(message);
        }
    }
    let cause = |error: &FieldError| json!({"reason": error.kind.texts().0, "message": error.body(), "field": error.field});
    StatusError::invalid(group, kind, name, &messages, errors.iter().map(cause).collect())
}

/// The faults found so far.
#[derive(Debug, Default)]
pub(crate) struct FieldErrors(Vec<FieldError>);

impl FieldErrors {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn list_mut(&mut self) -> &mut Vec<FieldError> {
        &mut self.0
    }

    pub(crate) fn into_list(self) -> Vec<FieldError> {
        self.0
    }

    /// The error for an object with these faults.
    pub(crate) fn status_error(&self, group: &str, kind: &str, name: &str) -> StatusError {
        invalid(group, kind, name, &self.0)
    }

    fn push(&mut self, field: String, kind: FieldErrorKind, value: Option<Value>, detail: &str) {
        self.0.push(FieldError { field, kind, value, detail: detail.to_owned() });
    }

    pub(crate) fn required(&mut self, field: impl Into<String>, detail: &str) {
        self.push(field.into(), FieldErrorKind::Required, None, detail);
    }

    pub(crate) fn invalid(&mut self, field: impl Into<String>, value: impl Into<Value>, detail: &str) {
        self.push(field.into(), FieldErrorKind::Invalid, Some(value.into()), detail);
    }

    pub(crate) fn unsupported(&mut self, field: impl Into<String>, word: &str, known: &[&str]) {
        let known: Vec<String> = known.iter().map(|word| format!("{word:?}")).collect();
        let detail = format!("supported values: {}", known.join(", "));
        self.push(field.into(), FieldErrorKind::NotSupported, Some(word.into()), &detail);
    }

    pub(crate) fn duplicate(&mut self, field: impl Into<String>, value: impl Into<Value>, detail: &str) {
        self.push(field.into(), FieldErrorKind::Duplicate, Some(value.into()), detail);
    }

    pub(crate) fn forbidden(&mut self, field: impl Into<String>, detail: &str) {
        self.push(field.into(), FieldErrorKind::Forbidden, None, detail);
    }

    pub(crate) fn too_long(&mut self, field: impl Into<String>, limit: usize) {
        self.push(
            field.into(),
            FieldErrorKind::TooLong,
            None,
            &format!("may not be more than {limit} bytes"),
        );
    }

    /// Reports a field that has changed and may not.
    pub(crate) fn immutable(&mut self, field: impl Into<String>) {
        self.push(field.into(), FieldErrorKind::Invalid, None, "field is immutable");
    }

    /// Adds one fault for each message.
    pub(crate) fn each(&mut self, field: &str, value: &str, messages: Vec<String>) {
        for message in messages {
            self.invalid(field, value, &message);
        }
    }

    /// Reports a number below zero.
    pub(crate) fn not_negative(&mut self, field: impl Into<String>, number: Option<i64>) {
        if let Some(number) = number.filter(|number| *number < 0) {
            self.invalid(field, number, "must be greater than or equal to 0");
        }
    }
}
