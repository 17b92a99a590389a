//! # Check: whether what is applied fits its type
//! Room:     undeclared fields, wrong scalars, items that can't be told apart.
//! Comes in: an applied configuration and its type.
//! Goes out: a real server's sentences, one for each fault.
//! Not here: defaults, validation of values.

use super::fields::readable;
use super::go;
use super::rule::{Grain, Rule, What};
use super::typed::item_step;
use crate::schema::Shape;
use serde_json::Value;
use std::collections::BTreeSet;

/// The faults of a configuration as one text; `Ok` if there are none.
pub(super) fn check(config: &Value, rule: Rule) -> Result<(), String> {
    let mut faults = Vec::new();
    walk(config, rule, &mut String::new(), &mut faults);
    match faults.as_slice() {
        [] => Ok(()),
        [fault] => Err(fault.clone()),
        faults => Err(faults.iter().fold("errors:".into(), |all, fault| format!("{all}\n  {fault}"))),
    }
}

fn walk(value: &Value, rule: Rule, path: &mut String, faults: &mut Vec<String>) {
    let mut fault = |what: String, path: &str| {
        faults.push(if path.is_empty() { what } else { format!("{path}: {what}") });
    };
    match (rule.what, value) {
        (_, Value::Null) => {}
        (What::Scalar(shape), value) => {
            if let Some(what) = scalar_fault(shape, value) {
                fault(what, path);
            }
        }
        (What::Object(_) | What::Map(_), Value::Object(fields)) => {
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
        (What::Object(_) | What::Map(_), other) => fault(format!("expected map, got {}", shown(other)), path),
        (What::List(_), Value::Array(items)) => walk_items(items, rule, path, faults),
        (What::List(_), other) => fault(format!("expected list, got {}", shown(other)), path),
        (What::Any, _) => {}
    }
}

fn walk_items(items: &[Value], rule: Rule, path: &mut String, faults: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        let length = path.len();
        let step = match rule.grain {
            Grain::Keyed(_) | Grain::Set => match item_step(item, rule) {
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

/// A value as a real server shows it: by address of what it keeps it in.
fn shown(value: &Value) -> String {
    format!("&{{{}}}", go::print(value))
}

fn scalar_fault(shape: &Shape, value: &Value) -> Option<String> {
    match shape {
        Shape::Bool => (!value.is_boolean()).then(|| format!("expected boolean, got {}", shown(value))),
        Shape::Int32 | Shape::Int64 | Shape::Uint32 | Shape::Uint64 | Shape::Float64 => {
            let found = go::type_name(value);
            (!value.is_number()).then(|| format!("expected numeric (int or float), got {found}"))
        }
        Shape::String | Shape::Bytes | Shape::Duration => (!value.is_string())
            .then(|| format!("expected string, got &value.valueUnstructured{{Value:{}}}", go::print(value))),
        _ => (value.is_object() || value.is_array())
            .then(|| format!("expected any scalar, got {}", shown(value))),
    }
}
