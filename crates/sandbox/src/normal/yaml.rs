//! # YAML: bodies that are no JSON
//! Room:     one YAML document as a value.
//! Comes in: bytes, which may be anything.
//! Goes out: a value; [`Fault`].
//! Keeps:    size, depth and what aliases multiply are limited.
//! Not here: writing YAML.

use serde::de::DeserializeSeed;
use serde_json::Value;

use super::Fault;
use super::bounded::{Bounded, Room};

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

fn read(yaml: &[u8], nodes: usize) -> Result<Value, Fault> {
    let room = Room::of(Room::OBJECT);
    let mut value = with_yaml(first_document(yaml), nodes, Bounded(&room))?;
    whole_numbers(&mut value);
    Ok(value)
}

/// What a seed reads of a document, which may be as long as somebody has memory for it; the seed limits what it keeps.
pub(crate) fn read_long_yaml<'a, S>(yaml: &'a [u8], seed: S) -> Result<S::Value, Fault>
where
    S: DeserializeSeed<'a>,
{
    with_yaml(yaml, yaml.len().max(MAX_NODES), seed)
}

fn with_yaml<'a, S: DeserializeSeed<'a>>(yaml: &'a [u8], nodes: usize, seed: S) -> Result<S::Value, Fault> {
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
    serde_saphyr::with_deserializer_from_slice_with_options(yaml, options, |from| seed.deserialize(from))
        .map_err(|error| Fault(format!("yaml: {error}")))
}

/// Up to the line that begins a second document.
fn first_document(yaml: &[u8]) -> &[u8] {
    documents(yaml).next().map_or(yaml, |(_, document)| document)
}

/// The documents of a text, each with the number of its first line; those without a word in them are none. Nothing
/// within a document can look like the line between two.
pub(crate) fn documents(yaml: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let (mut rest, mut line_number) = (yaml, 1);
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let (length, lines, begun) = document(rest);
            let (found, first) = (&rest[..length], line_number);
            (rest, line_number) = (&rest[length..], line_number + lines);
            if begun {
                return Some((first, found));
            }
        }
        None
    })
}

/// How long the first document is in bytes and in lines, and whether there is anything in it.
fn document(yaml: &[u8]) -> (usize, usize, bool) {
    let (mut begun, mut at, mut lines) = (false, 0, 0);
    for line in yaml.split_inclusive(|byte| *byte == b'\n') {
        let marker = |marker: &[u8]| {
            line.strip_prefix(marker).is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace))
        };
        if begun && (marker(b"---") || marker(b"...")) {
            break;
        }
        let text = line.trim_ascii();
        begun |= !text.is_empty()
            && !matches!(text, b"---" | b"...")
            && !text.starts_with(b"#")
            && !line.starts_with(b"%");
        (at, lines) = (at + line.len(), lines + 1);
    }
    (at, lines, begun)
}

/// Go writes a number without a fraction as a whole one, however it was written.
pub(crate) fn whole_numbers(value: &mut Value) {
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
