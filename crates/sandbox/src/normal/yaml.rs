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

/// The first document.
pub fn yaml_to_json(yaml: &[u8]) -> Result<Value, Fault> {
    if yaml.len() > MAX_BYTES {
        return Err(Fault(format!("limit is {MAX_BYTES}")));
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            max_nodes: MAX_NODES,
            max_events: 2 * MAX_NODES,
            max_documents: 1,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MAX_NODES,
            max_replay_stack_depth: 32,
        },
        with_snippet: false,
    };
    serde_saphyr::from_slice_with_options(yaml, options)
        .map_err(|error| Fault(format!("error converting YAML to JSON: yaml: {error}")))
}
