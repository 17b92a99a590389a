//! Checks that an applied configuration fits its type, with an API server's messages.

use super::field_set::readable;
use super::merge_rule::{MergeGrain, MergeRule, SchemaKind};
use super::typed::item_step;
use crate::schema::Shape;
use serde_json::Value;
use std::collections::BTreeSet;

/// The faults of a configuration as one text; `Ok` if there are none.
pub(super) fn check(config: &Value, rule: MergeRule) -> Result<(), String> {
    let mut faults = Vec::new();
    walk(config, rule, &mut String::new(), &mut faults);
    match faults.as_slice() {
        [] => Ok(()),
        [fault] => Err(fault.clone()),
        faults => Err(faults.iter().fold("errors:".into(), |all, fault| format!("{all}\n  {fault}"))),
    }
}

fn walk(value: &Value, rule: MergeRule, path: &mut String, faults: &mut Vec<String>) {
    let mut fault = |what: String, path: &str| {
        faults.push(if path.is_empty() { what } else { format!("{path}: {what}") });
    };
    match (rule.what, value) {
        (_, Value::Null) => {}
        (SchemaKind::Scalar(shape), value) => {
            if let Some(what) = scalar_fault(shape, value) {
                fault(what, path);
            }
        }
        (SchemaKind::Object(_) | SchemaKind::Map(_), Value::Object(fields)) => {
            for (name, value) in fields {
                let length = path.len();
                path.push('.');
                path.push_str(name);
                match rule.field(name) {
                    Some(rule) => walk(value, rule, path, faults),
                    None => {
                        faults.push(format!("{path}: field not declared in schema"));
                        path.truncate(length);
                        return;
                    }
                }
                path.truncate(length);
            }
        }
        (SchemaKind::Object(_) | SchemaKind::Map(_), other) => {
            fault(format!("expected map, got {}", other), path)
        }
        (SchemaKind::List(_), Value::Array(items)) => walk_items(items, rule, path, faults),
        (SchemaKind::List(_), other) => fault(format!("expected list, got {}", other), path),
        (SchemaKind::Any, _) => {}
    }
}

fn walk_items(items: &[Value], rule: MergeRule, path: &mut String, faults: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        let length = path.len();
        let step = match rule.grain {
            MergeGrain::Keyed(_) | MergeGrain::Set => match item_step(item, rule) {
                Ok(step) => readable(&step),
                Err(what) => {
                    faults.push(format!("{path}: element {index}: {what}"));
                    return;
                }
            },
            _ => format!("[{index}]"),
        };
        if !seen.insert(step.clone()) {
            faults.push(format!("{path}: duplicate entries for key {step}"));
        }
        path.push_str(&step);
        walk(item, rule.item(), path, faults);
        path.truncate(length);
    }
}

fn scalar_fault(shape: &Shape, value: &Value) -> Option<String> {
    let (fits, wanted) = match shape {
        Shape::Bool => (value.is_boolean(), "boolean"),
        Shape::Int32 | Shape::Int64 | Shape::Float64 => (value.is_number(), "numeric (int or float)"),
        Shape::String | Shape::Bytes => (value.is_string(), "string"),
        _ => (!value.is_object() && !value.is_array(), "any scalar"),
    };
    (!fits).then(|| format!("expected {wanted}, got {value}"))
}
