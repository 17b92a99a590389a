//! Validates custom objects against their schema and CEL rules, with an API server's messages and order.
//!
//! - Invariant: rules are evaluated only if all types are right; a rule without a check stops the server at start.

use super::ResourceDefinition;
use super::read::step;
use crate::field_error::{FieldError, FieldErrorKind};
use crate::resource::Subresource;
use serde_json::Value;
use std::collections::HashSet;

/// The message when rules were not evaluated.
const UNASKED: &str = "some validation rules were not checked because the object was invalid; correct the existing errors \
     to complete validation";

/// The path of a field that has none.
const NOWHERE: &str = "<nil>";

impl ResourceDefinition {
    /// Returns the faults of an object besides `errors`, which were found in its metadata.
    pub(crate) fn judge(
        &self,
        object: &Value,
        subresource: Option<Subresource>,
        errors: &mut Vec<FieldError>,
    ) {
        let place = match subresource {
            Some(Subresource::Status) => ("status", &self.schema["properties"]["status"], &object["status"]),
            _ => ("", &self.schema, object),
        };
        let (path, schema, value) = place;
        if !path.is_empty() && value.is_null() {
            return;
        }
        let mut judge = SchemaValidator { errors, root: path.len(), checks: self.source.checks };
        judge.value(schema, value, &mut path.to_owned());
        judge.lists(schema, value, &mut path.to_owned());
        let blocked = |error: &FieldError| {
            !matches!(
                error.kind,
                FieldErrorKind::Invalid | FieldErrorKind::Duplicate | FieldErrorKind::Forbidden
            )
        };
        match judge.errors.iter().any(blocked) {
            true => judge.report(NOWHERE, FieldErrorKind::Invalid, Some(Value::Null), UNASKED),
            false => judge.rules(schema, value, &mut path.to_owned()),
        }
    }
}

struct SchemaValidator<'f> {
    errors: &'f mut Vec<FieldError>,
    /// The length of the path to the part that is validated; some messages leave it out.
    root: usize,
    checks: &'static [RuleCheck],
}

impl SchemaValidator<'_> {
    fn report(&mut self, field: &str, kind: FieldErrorKind, value: Option<Value>, detail: &str) {
        self.errors.push(FieldError { field: field.to_owned(), kind, value, detail: detail.to_owned() });
    }

    /// The path as messages show it.
    fn within<'p>(&self, path: &'p str) -> &'p str {
        path[self.root..].trim_start_matches('.')
    }

    fn value(&mut self, schema: &Value, value: &Value, path: &mut String) {
        if !self.is_of_type(schema, value, path) {
            self.is_of_words(schema, value, path);
            return;
        }
        self.is_of_words(schema, value, path);
        match value {
            Value::String(text) => self.text(schema, text, path),
            Value::Number(_) => self.number(schema, value, path),
            Value::Array(items) => self.items(schema, items, path),
            Value::Object(_) => self.fields(schema, value, path),
            _ => {}
        }
    }

    fn is_of_type(&mut self, schema: &Value, value: &Value, path: &str) -> bool {
        let whole = value.is_i64() || value.is_u64();
        let found = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) if whole => "integer",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        let wanted = match schema["type"].as_str() {
            None if schema["x-kubernetes-int-or-string"] == true => "integer,string",
            None => return true,
            Some(wanted) => wanted,
        };
        if wanted.split(',').any(|one| one == found) {
            return true;
        }
        let (wanted, found) = match (wanted, found, schema["format"].as_str()) {
            ("integer", "number", Some(format)) => (format, "float64"),
            _ => (wanted, found),
        };
        let detail = format!("{} in body must be of type {wanted}: {found:?}", self.within(path));
        self.report(path, FieldErrorKind::TypeInvalid, Some(found.into()), &detail);
        if found == "float64" {
            self.report_format(wanted, path);
        }
        false
    }

    /// Reports a number of the wrong format, without its path.
    fn report_format(&mut self, format: &str, path: &str) {
        let detail =
            format!("Checked value must be of type integer with format {format} in {}", self.within(path));
        self.report(NOWHERE, FieldErrorKind::Invalid, Some("".into()), &detail);
    }

    fn is_of_words(&mut self, schema: &Value, value: &Value, path: &str) {
        let Some(words) = schema["enum"].as_array().filter(|words| !words.contains(value)) else { return };
        let words: Vec<String> = words.iter().map(Value::to_string).collect();
        let detail = format!("supported values: {}", words.join(", "));
        self.report(path, FieldErrorKind::NotSupported, Some(value.clone()), &detail);
    }

    fn text(&mut self, schema: &Value, text: &str, path: &str) {
        let count = || u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
        if let Some(most) = schema["maxLength"].as_u64().filter(|most| count() > *most) {
            self.report(path, FieldErrorKind::TooLong, None, &format!("may not be more than {most} bytes"));
        }
        if let Some(least) = schema["minLength"].as_u64().filter(|least| count() < *least) {
            let detail = format!("{} in body should be at least {least} chars long", self.within(path));
            self.report(path, FieldErrorKind::Invalid, Some(text.into()), &detail);
        }
        if schema["format"] == "date-time" && text.parse::<jiff::Timestamp>().is_err() {
            let detail = format!("{} in body must be of type date-time: {text:?}", self.within(path));
            self.report(path, FieldErrorKind::TypeInvalid, Some(text.into()), &detail);
        }
    }

    fn number(&mut self, schema: &Value, value: &Value, path: &str) {
        if schema["format"] == "int32" && value.as_i64().is_none_or(|value| i32::try_from(value).is_err()) {
            self.report_format("int32", path);
        }
        let least =
            schema["minimum"].as_i64().filter(|least| value.as_i64().is_some_and(|value| value < *least));
        if let Some(least) = least {
            let detail = format!("{} in body should be greater than or equal to {least}", self.within(path));
            self.report(path, FieldErrorKind::Invalid, Some(value.clone()), &detail);
        }
        let most =
            schema["maximum"].as_i64().filter(|most| value.as_i64().is_some_and(|value| value > *most));
        if let Some(most) = most {
            let detail = format!("{} in body should be less than or equal to {most}", self.within(path));
            self.report(path, FieldErrorKind::Invalid, Some(value.clone()), &detail);
        }
    }

    fn items(&mut self, schema: &Value, items: &[Value], path: &mut String) {
        let count = u64::try_from(items.len()).unwrap_or(u64::MAX);
        if let Some(least) = schema["minItems"].as_u64().filter(|least| count < *least) {
            let detail = format!("{} in body should have at least {least} items", self.within(path));
            self.report(path, FieldErrorKind::Invalid, Some(count.into()), &detail);
        }
        self.not_more(schema, "maxItems", count, path);
        for (at, item) in items.iter().enumerate() {
            self.below(path, FieldStep::Item(at), |judge, path| judge.value(&schema["items"], item, path));
        }
    }

    fn not_more(&mut self, schema: &Value, limit: &str, count: u64, path: &str) {
        if let Some(most) = schema[limit].as_u64().filter(|most| count > *most) {
            let detail = format!("must have at most {most} items");
            self.report(path, FieldErrorKind::TooMany, Some(count.into()), &detail);
        }
    }

    fn fields(&mut self, schema: &Value, value: &Value, path: &mut String) {
        let fields = value.as_object().into_iter().flatten();
        self.not_more(
            schema,
            "maxProperties",
            u64::try_from(fields.clone().count()).unwrap_or(u64::MAX),
            path,
        );
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        for name in required.filter(|name| value.get(name).is_none()) {
            self.below(path, FieldStep::Field(name), |judge, path| {
                judge.report(path, FieldErrorKind::Required, None, "")
            });
        }
        for (name, value) in fields {
            let schema = of_field(schema, name);
            self.below(path, FieldStep::Field(name), |judge, path| judge.value(schema, value, path));
        }
    }

    /// Checks lists whose items must be unique.
    fn lists(&mut self, schema: &Value, value: &Value, path: &mut String) {
        if let (Value::Array(items), Some("set" | "map")) = (value, schema["x-kubernetes-list-type"].as_str())
        {
            self.once(schema, items, path);
        }
        self.inside(schema, value, path, Self::lists);
    }

    fn once(&mut self, schema: &Value, items: &[Value], path: &mut String) {
        let keys: Vec<&str> = schema["x-kubernetes-list-map-keys"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut seen = HashSet::new();
        for (at, item) in items.iter().enumerate() {
            if !keys.is_empty() && !item.is_object() {
                let detail = "must be an object for an array of list-type map";
                let shown = Some(item.clone());
                self.below(path, FieldStep::Item(at), |judge, path| {
                    judge.report(path, FieldErrorKind::Invalid, shown, detail)
                });
                continue;
            }
            let identity = match keys.is_empty() {
                true => item.clone(),
                false => {
                    let of = |key: &&str| item.get(key).map(|value| ((*key).to_owned(), value.clone()));
                    keys.iter().filter_map(of).collect()
                }
            };
            if !seen.insert(identity.to_string()) {
                let shown = Some(identity);
                self.below(path, FieldStep::Item(at), |judge, path| {
                    judge.report(path, FieldErrorKind::Duplicate, shown, "")
                });
            }
        }
    }

    /// Evaluates the rules of the definition.
    fn rules(&mut self, schema: &Value, value: &Value, path: &mut String) {
        for (rule, message) in rules_at(schema) {
            if holds(rule, value, self.checks) == Some(false) {
                let shown = match value {
                    Value::Object(_) | Value::Array(_) => None,
                    scalar => Some(scalar.clone()),
                };
                self.report(path, FieldErrorKind::Invalid, shown, message);
            }
        }
        self.inside(schema, value, path, Self::rules);
    }

    /// Validates the values within this one.
    fn inside(
        &mut self,
        schema: &Value,
        value: &Value,
        path: &mut String,
        check: fn(&mut Self, &Value, &Value, &mut String),
    ) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let schema = of_field(schema, name);
                    self.below(path, FieldStep::Field(name), |judge, path| check(judge, schema, value, path));
                }
            }
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.below(path, FieldStep::Item(at), |judge, path| {
                        check(judge, &schema["items"], item, path)
                    });
                }
            }
            _ => {}
        }
    }

    fn below(&mut self, path: &mut String, at: FieldStep<'_>, check: impl FnOnce(&mut Self, &mut String)) {
        let length = path.len();
        match at {
            FieldStep::Field(name) => step(path, name),
            FieldStep::Item(at) => path.push_str(&format!("[{at}]")),
        }
        check(self, path);
        path.truncate(length);
    }
}

/// One step into a value.
enum FieldStep<'n> {
    Field(&'n str),
    Item(usize),
}

fn of_field<'s>(schema: &'s Value, name: &str) -> &'s Value {
    schema["properties"].get(name).unwrap_or(&schema["additionalProperties"])
}

/// A CEL rule with its whitespace folded, and whether a value satisfies it. The value has the type that the schema
/// demands.
pub type RuleCheck = (&'static str, fn(&Value) -> bool);

/// Whether a value satisfies a rule; `None` if the rule has no check.
fn holds(rule: &str, value: &Value, checks: &[RuleCheck]) -> Option<bool> {
    find(rule, checks).map(|(_, check)| check(value))
}

fn find<'c>(rule: &str, checks: &'c [RuleCheck]) -> Option<&'c RuleCheck> {
    let rule = rule.split_whitespace().collect::<Vec<_>>().join(" ");
    checks.iter().find(|(text, _)| *text == rule)
}

/// The rules of one schema node.
fn rules_at(schema: &Value) -> impl Iterator<Item = (&str, &str)> {
    schema["x-kubernetes-validations"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| (one["rule"].as_str().unwrap_or_default(), one["message"].as_str().unwrap_or_default()))
}

/// # Panics
///
/// If a rule anywhere in a schema has no check, or uses something that these checks do not support.
pub(super) fn expect_checks(schema: &Value, checks: &[RuleCheck]) {
    for (rule, _) in rules_at(schema) {
        assert!(find(rule, checks).is_some(), "there is no check for the rule {rule}");
    }
    let inner = ["items", "additionalProperties"].into_iter().filter_map(|name| schema.get(name));
    let fields = schema["properties"].as_object().into_iter().flatten().map(|(_, schema)| schema);
    inner.chain(fields).for_each(|schema| expect_checks(schema, checks));
}
