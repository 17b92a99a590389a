//! Mirrors a line of a watch, and the metadata of a list.
//!
//! - See `decode/frames.rs` and `decode/list.rs` for how bodies are split.

use super::Text;
use serde::Deserialize;
use serde_json::value::RawValue;

/// An object's kind.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct KindJson<'a> {
    #[serde(borrow)]
    pub kind: Text<'a>,
}

/// A list's `metadata`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ListMetaJson<'a> {
    #[serde(borrow)]
    pub resource_version: Text<'a>,
    #[serde(borrow, rename = "continue")]
    pub continue_token: Text<'a>,
}

/// One line of a watch.
#[derive(Debug, Deserialize)]
pub struct WatchLineJson<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub object: &'a RawValue,
}
