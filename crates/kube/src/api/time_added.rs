//! Builds the JSON Patch that sets `timeAdded` of a taint (`--stamp-taints`), with tests against concurrent edits.

use crate::api_time::second_time;
use bytes::Bytes;
use serde_json::json;
use taintward_core::fact::NodeFact;
use taintward_core::identity::ResourceVersion;
use taintward_core::time::Wall;

pub(crate) const JSON_PATCH: &str = "application/json-patch+json";

/// The result of setting `timeAdded`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeAddedResult {
    /// The taint has the time; the node has this version.
    Done(Option<ResourceVersion>),
    /// There is no such taint, or it already has a time: nothing was sent.
    NotNeeded,
}

/// The tests name the node's UID and the whole taint at that position; they fail if another client moved, changed,
/// removed or stamped the taint. Other edits of the node do not matter.
pub(crate) fn patch(node: &NodeFact, index: usize, when: Wall) -> Option<Bytes> {
    let taint = node.taints.get(index).filter(|taint| taint.time_added.is_none())?;
    let mut seen = json!({ "key": &*taint.key, "effect": taint.effect.as_str() });
    if !taint.value.is_empty() {
        seen["value"] = json!(&*taint.value);
    }
    let patch = json!([
        { "op": "test", "path": "/metadata/uid", "value": node.uid.to_string() },
        { "op": "test", "path": format!("/spec/taints/{index}"), "value": seen },
        { "op": "add", "path": format!("/spec/taints/{index}/timeAdded"), "value": second_time(when) },
    ]);
    Some(Bytes::from(patch.to_string()))
}
