//! Evaluates a parsed template on a value, with kubectl's errors.

use super::print::shown;
use super::{FilterStep, PathStep, SliceEnd, SliceStep, TemplatePart};
use serde_json::Value;
use std::borrow::Cow;
use std::cmp::Ordering;

/// More nested loops are mistakes.
const LOOPS_MAX: usize = 64;

/// The values that a part of a template finds.
pub(crate) type FoundValues<'v> = Vec<Cow<'v, Value>>;

pub(super) fn find<'v>(parts: &[TemplatePart], value: &'v Value) -> Result<Vec<FoundValues<'v>>, String> {
    let mut found = Vec::new();
    walk(parts, 0, &[Cow::Borrowed(value)], 0, &mut found)?;
    Ok(found)
}

/// Executes the parts from `from` on, within this many loops. Returns the part at which the innermost loop ends.
fn walk<'v>(
    parts: &[TemplatePart],
    from: usize,
    value: &[Cow<'v, Value>],
    loops: usize,
    found: &mut Vec<FoundValues<'v>>,
) -> Result<Option<usize>, String> {
    let mut at = from;
    while let Some(part) = parts.get(at) {
        let steps = match part {
            TemplatePart::Text(text) => {
                found.push(vec![Cow::Owned(text.clone().into())]);
                at += 1;
                continue;
            }
            TemplatePart::Action(steps) => steps,
        };
        if steps.contains(&PathStep::End) && loops == 0 {
            return Err("not in range, nothing to end".to_owned());
        }
        let values = along(steps, value.to_vec())?;
        if steps.contains(&PathStep::End) {
            return Ok(Some(at));
        }
        if steps.contains(&PathStep::Range) {
            if loops == LOOPS_MAX {
                return Err(format!("more than {LOOPS_MAX} ranges are nested"));
            }
            let mut end = None;
            for value in &values {
                end = walk(parts, at + 1, std::slice::from_ref(value), loops + 1, found)?.or(end);
            }
            if values.is_empty() {
                // Only to find its end.
                end = walk(parts, at + 1, &[], loops + 1, &mut Vec::new())?;
            }
            at = end.unwrap_or(at);
        } else {
            found.push(values);
        }
        at += 1;
    }
    Ok(None)
}

fn along<'v>(steps: &[PathStep], mut values: FoundValues<'v>) -> Result<FoundValues<'v>, String> {
    for step in steps {
        values = one(step, values)?;
    }
    Ok(values)
}

fn one<'v>(step: &PathStep, values: FoundValues<'v>) -> Result<FoundValues<'v>, String> {
    match step {
        PathStep::Field(name) => {
            Ok(values.iter().filter_map(|value| borrowed(value)?.get(name)).map(Cow::Borrowed).collect())
        }
        PathStep::Wildcard => Ok(values.iter().flat_map(children).collect()),
        PathStep::Descent => Ok(values.iter().flat_map(descendants).collect()),
        PathStep::Slice(slice) => sliced(*slice, &values),
        PathStep::Union(each) => {
            let mut all = Vec::new();
            for steps in each {
                all.extend(along(steps, values.clone())?);
            }
            Ok(all)
        }
        PathStep::Filter(filter) => filtered(filter, &values),
        PathStep::Quoted(text) => Ok(vec![Cow::Owned(text.clone().into())]),
        PathStep::Literal(literal) => Ok(values.iter().map(|_| Cow::Owned(literal.clone())).collect()),
        PathStep::Range => Ok(values),
        PathStep::End => Ok(Vec::new()),
        PathStep::Unknown(word) => Err(format!("unrecognized identifier {word}")),
    }
}

/// Literals have no children.
fn borrowed<'v>(value: &Cow<'v, Value>) -> Option<&'v Value> {
    match value {
        Cow::Borrowed(value) => Some(value),
        Cow::Owned(_) => None,
    }
}

/// The children of a value; for a text its bytes.
fn children<'v>(value: &Cow<'v, Value>) -> FoundValues<'v> {
    match (borrowed(value), &**value) {
        (Some(Value::Object(fields)), _) => fields.values().map(Cow::Borrowed).collect(),
        (Some(Value::Array(items)), _) => items.iter().map(Cow::Borrowed).collect(),
        (_, Value::String(text)) => text.bytes().map(|byte| Cow::Owned(byte.into())).collect(),
        _ => Vec::new(),
    }
}

/// The value itself, and all its descendants with children.
fn descendants<'v>(value: &Cow<'v, Value>) -> FoundValues<'v> {
    let mut found = Vec::new();
    let mut waiting = vec![value.clone()];
    while let Some(value) = waiting.pop() {
        let inside = children(&value);
        if inside.is_empty() {
            continue;
        }
        if !value.is_string() {
            waiting.extend(inside.into_iter().rev());
        }
        found.push(value);
    }
    found
}

fn sliced<'v>(slice: SliceStep, values: &[Cow<'v, Value>]) -> Result<FoundValues<'v>, String> {
    let mut found = Vec::new();
    for value in values.iter().filter(|value| !value.is_null()) {
        let Some(Value::Array(items)) = borrowed(value) else {
            return Err(format!("{} is not array or slice", kind(value)));
        };
        let Some((from, to)) = bounds(slice, i64::try_from(items.len()).unwrap_or(i64::MAX))? else {
            return Ok(found);
        };
        let step = match slice.step.map(usize::try_from) {
            None => 1,
            Some(Ok(step)) if step > 0 => step,
            Some(_) => return Err("step must be > 0".to_owned()),
        };
        found.extend(items[from..to].iter().step_by(step).map(Cow::Borrowed));
    }
    Ok(found)
}

/// The range of a slice; `None`: it is empty.
fn bounds(slice: SliceStep, length: i64) -> Result<Option<(usize, usize)>, String> {
    let written = slice.from.unwrap_or(0);
    let from = if written < 0 { written.saturating_add(length) } else { written };
    let to = match slice.to {
        SliceEnd::Length => length,
        SliceEnd::Before(to) if to < 0 => to.saturating_add(length),
        SliceEnd::Before(to) => to,
        SliceEnd::One if written < 0 => written.saturating_add(1).saturating_add(length),
        SliceEnd::One => written.saturating_add(1),
    };
    if from == to {
        return Ok(None);
    }
    let beyond = |index: i64| Err(format!("array index out of bounds: index {index}, length {length}"));
    if from >= length || from < 0 {
        return beyond(from);
    }
    if to > length || to < 0 {
        return beyond(to.saturating_sub(1));
    }
    if from > to {
        return Err(format!("starting index {from} is greater than ending index {to}"));
    }
    let index = |at: i64| usize::try_from(at).expect("it is not below 0");
    Ok(Some((index(from), index(to))))
}

fn filtered<'v>(filter: &FilterStep, values: &[Cow<'v, Value>]) -> Result<FoundValues<'v>, String> {
    let mut found = Vec::new();
    for value in values {
        let Some(Value::Array(items)) = borrowed(value) else {
            return Err(format!("{} is not array or slice and cannot be filtered", shown(value)));
        };
        for item in items {
            if passes(filter, item)? {
                found.push(Cow::Borrowed(item));
            }
        }
    }
    Ok(found)
}

fn passes(filter: &FilterStep, item: &Value) -> Result<bool, String> {
    let side = |steps: &[PathStep]| along(steps, vec![Cow::Borrowed(item)]);
    let Some((operator, right)) = &filter.compared else {
        // A path beyond the end of a list does not reject an element.
        return Ok(side(&filter.left).map_or(true, |found| !found.is_empty()));
    };
    let single = |found: FoundValues<'_>| match found.len() {
        0 => Ok(None),
        1 => Ok(found.into_iter().next().map(Cow::into_owned)),
        _ => Err("can only compare one element at a time".to_owned()),
    };
    let Some(left) = single(side(&filter.left)?)? else { return Ok(false) };
    let Some(right) = single(side(right)?)? else { return Ok(false) };
    match operator.as_str() {
        "==" => equal(&left, &right),
        "!=" => equal(&left, &right).map(|equal| !equal),
        "<" => ordered(&left, &right).map(Ordering::is_lt),
        "<=" => ordered(&left, &right).map(Ordering::is_le),
        ">" => ordered(&left, &right).map(Ordering::is_gt),
        ">=" => ordered(&left, &right).map(Ordering::is_ge),
        other => Err(format!("unrecognized filter operator {other}")),
    }
}

/// A comparable value: only equal types are comparable, and whole numbers are a type of their own.
enum ComparedValue<'v> {
    Truth(bool),
    Whole(i64),
    Float(f64),
    Text(&'v str),
}

fn basic(value: &Value) -> Result<ComparedValue<'_>, String> {
    match value {
        Value::Bool(truth) => Ok(ComparedValue::Truth(*truth)),
        Value::Number(number) => Ok(number
            .as_i64()
            .map_or(ComparedValue::Float(number.as_f64().unwrap_or(f64::NAN)), ComparedValue::Whole)),
        Value::String(text) => Ok(ComparedValue::Text(text)),
        Value::Null | Value::Array(_) | Value::Object(_) => Err("invalid type for comparison".to_owned()),
    }
}

fn equal(left: &Value, right: &Value) -> Result<bool, String> {
    match (basic(left)?, basic(right)?) {
        (ComparedValue::Truth(left), ComparedValue::Truth(right)) => Ok(left == right),
        _ => ordered(left, right).map(Ordering::is_eq),
    }
}

fn ordered(left: &Value, right: &Value) -> Result<Ordering, String> {
    match (basic(left)?, basic(right)?) {
        (ComparedValue::Whole(left), ComparedValue::Whole(right)) => Ok(left.cmp(&right)),
        (ComparedValue::Float(left), ComparedValue::Float(right)) => Ok(left.total_cmp(&right)),
        (ComparedValue::Text(left), ComparedValue::Text(right)) => Ok(left.cmp(right)),
        (ComparedValue::Truth(_), ComparedValue::Truth(_)) => Err("invalid type for comparison".to_owned()),
        _ => Err("incompatible types for comparison".to_owned()),
    }
}

/// The name of the type in Go.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nil",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
