//! # YAML: bodies that are no JSON
//! Room:     one YAML document as a value.
//! Comes in: bytes, which may be anything.
//! Goes out: a value; [`Fault`].
//! Keeps:    size, depth and what aliases multiply are limited.
//! Not here: writing YAML.

use serde_json::Value;

use super::Fault;

/// Larger bodies are refused: a real server takes no more.
const MAX_BYTES: usize = 3 * 1024 * 1024;
/// As deep as JSON may be.
const MAX_DEPTH: usize = 128;
/// Nodes, those that stand for an alias included.
const MAX_NODES: usize = 500_000;

/// Up to here every whole number is exact.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The first document of a body. Of keys that come twice, the last counts.
pub fn yaml_to_json(yaml: &[u8]) -> Result<Value, Fault> {
    if yaml.len() > MAX_BYTES {
        return Err(Fault(format!("limit is {MAX_BYTES}")));
    }
    read(yaml, MAX_NODES)
}

/// The first document of a file, which may be as long as somebody has memory for it.
pub(crate) fn long_yaml_to_json(yaml: &[u8]) -> Result<Value, Fault> {
    read(yaml, yaml.len().max(MAX_NODES))
}

fn read(yaml: &[u8], nodes: usize) -> Result<Value, Fault> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            max_nodes: nodes,
            max_events: nodes.saturating_mul(2),
            max_documents: 1,
            max_reader_input_bytes: None,
            max_total_scalar_bytes: yaml.len().max(64 << 20),
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MAX_NODES,
            max_replay_stack_depth: 32,
        },
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins,
        legacy_octal_numbers: true,
        with_snippet: false,
    };
    let mut value = serde_saphyr::from_slice_with_options(first_document(yaml), options)
        .map_err(|error| Fault(format!("yaml: {error}")))?;
    whole_numbers(&mut value);
    Ok(value)
}

/// Up to the line that begins a second document. Nothing within a document can look like that line.
fn first_document(yaml: &[u8]) -> &[u8] {
    let mut begun = false;
    let mut at = 0;
    for line in yaml.split_inclusive(|byte| *byte == b'\n') {
        let marker = |marker: &[u8]| {
            line.strip_prefix(marker).is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace))
        };
        if begun && (marker(b"---") || marker(b"...")) {
            return &yaml[..at];
        }
        let text = line.trim_ascii();
        begun |= !text.is_empty() && text != b"---" && !text.starts_with(b"#") && !line.starts_with(b"%");
        at += line.len();
    }
    yaml
}

/// Go writes a number without a fraction as a whole one, however it was written.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let whole = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < EXACT);
            if let Some(whole) = whole {
                *value = (whole as i64).into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(entries) => entries.values_mut().for_each(whole_numbers),
        _ => {}
    }
}
