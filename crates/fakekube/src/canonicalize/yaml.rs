//! Parses YAML bodies with limits on size, depth and aliases.

use serde::de::DeserializeSeed;
use serde_json::Value;

use super::CanonicalizeError;
use super::bounded::{BoundedValue, DecodeBudget};

/// Larger bodies are rejected: a real server takes no more.
const MAX_BYTES: usize = 3 * 1024 * 1024;
/// As deep as JSON may be.
const MAX_DEPTH: usize = 128;
/// The largest number of nodes, expanded aliases included.
const MAX_NODES: usize = 500_000;

/// The largest float below which every whole number is exact.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Parses the first document of a body. Of duplicate keys, the last counts.
pub fn yaml_to_json(yaml: &[u8]) -> Result<Value, CanonicalizeError> {
    if yaml.len() > MAX_BYTES {
        return Err(CanonicalizeError(format!("limit is {MAX_BYTES}")));
    }
    read(yaml, MAX_NODES)
}

fn read(yaml: &[u8], nodes: usize) -> Result<Value, CanonicalizeError> {
    let room = DecodeBudget::of(DecodeBudget::OBJECT);
    let mut value = with_yaml(first_document(yaml), nodes, BoundedValue(&room))?;
    whole_numbers(&mut value);
    Ok(value)
}

/// Deserializes the first document of a text of any length; the seed limits what it keeps.
pub(crate) fn read_long_yaml<'a, S>(yaml: &'a [u8], seed: S) -> Result<S::Value, CanonicalizeError>
where
    S: DeserializeSeed<'a>,
{
    with_yaml(yaml, yaml.len().max(MAX_NODES), seed)
}

fn with_yaml<'a, S: DeserializeSeed<'a>>(
    yaml: &'a [u8],
    nodes: usize,
    seed: S,
) -> Result<S::Value, CanonicalizeError> {
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
        .map_err(|error| CanonicalizeError(format!("yaml: {error}")))
}

/// The text up to the line that begins a second document.
fn first_document(yaml: &[u8]) -> &[u8] {
    &yaml[..YamlDocument::first(yaml).end]
}

/// The documents of a text, each with the number of its first line. Leaves out empty documents. Nothing within a
/// document can look like the line between two.
pub(crate) fn documents(yaml: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let (mut rest, mut line) = (yaml, 1);
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let piece = YamlDocument::first(rest);
            let found = (line + piece.lines_before, &rest[piece.start..piece.end]);
            (rest, line) = (&rest[piece.end..], line + piece.lines);
            if piece.begun {
                return Some(found);
            }
        }
        None
    })
}

/// Where the first document of a text is.
#[derive(Default)]
struct YamlDocument {
    /// After the separator lines before it; those are counted in `lines_before`.
    start: usize,
    lines_before: usize,
    end: usize,
    lines: usize,
    /// Whether the document has any content.
    begun: bool,
}

impl YamlDocument {
    fn first(yaml: &[u8]) -> Self {
        let (mut piece, mut directives) = (Self::default(), false);
        for line in yaml.split_inclusive(|byte| *byte == b'\n') {
            let marker = |marker: &[u8]| {
                line.strip_prefix(marker).is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace))
            };
            if piece.begun && (marker(b"---") || marker(b"...")) {
                break;
            }
            let text = line.trim_ascii();
            let between = matches!(text, b"---" | b"...");
            directives |= line.starts_with(b"%");
            piece.begun |= !text.is_empty() && !between && !text.starts_with(b"#") && !line.starts_with(b"%");
            piece.end += line.len();
            piece.lines += 1;
            // Directives end with the separator line.
            if between && !piece.begun && !directives {
                (piece.start, piece.lines_before) = (piece.end, piece.lines);
            }
        }
        piece
    }
}

/// Writes numbers without a fraction as whole numbers, as Go does.
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
