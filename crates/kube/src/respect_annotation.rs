//! Reads and writes the annotation of a node by which the evictions because of one of its taints respect disruption budgets.
//!
//! - Invariant: a written value is read back equal; a value that is not valid as a whole is undecodable, never half of it.

use crate::api_time::{second_time, time_from_text};
use serde::{Deserialize, Serialize};
use taintward_core::eviction_policy::DEADLINE_MAX;
use taintward_core::fact::{NodeRespect, TaintRespect};
use taintward_core::time::Span;

/// A node has few taints; more entries are a mistake.
const ENTRIES_MAX: usize = 64;

/// An entry.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct TaintRespectJson {
    key: Box<str>,
    #[serde(default, skip_serializing_if = "str::is_empty")]
    value: Box<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time_added: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deadline_seconds: Option<i64>,
}

/// Formats the annotation's value; times have whole seconds.
pub fn encode_respects(taints: &[TaintRespect]) -> String {
    let entries = taints.iter().map(|one| TaintRespectJson {
        key: one.key.clone(),
        value: one.value.clone(),
        time_added: one.time_added.map(|at| second_time(at).into()),
        deadline_seconds: one.deadline.map(|deadline| deadline.as_micros() / 1_000_000),
    });
    serde_json::to_string(&entries.collect::<Vec<_>>()).unwrap_or_default()
}

/// Parses the annotation's value.
pub fn decode_respects(text: &str) -> NodeRespect {
    decoded(text).map_or(NodeRespect::Undecodable, |taints| NodeRespect::Taints(taints.into()))
}

fn decoded(text: &str) -> Option<Vec<TaintRespect>> {
    let entries: Vec<TaintRespectJson> = serde_json::from_str(text).ok()?;
    if entries.len() > ENTRIES_MAX {
        return None;
    }
    let one = |entry: TaintRespectJson| {
        let time_added = match entry.time_added {
            None => None,
            Some(text) => Some(time_from_text(&text).ok()??),
        };
        let deadline = match entry.deadline_seconds.map(Span::from_secs) {
            Some(deadline) if !(Span::from_secs(1)..=DEADLINE_MAX).contains(&deadline) => return None,
            deadline => deadline,
        };
        Some(TaintRespect { key: entry.key, value: entry.value, time_added, deadline })
    };
    entries.into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use taintward_core::time::Wall;

    #[test]
    fn what_is_written_is_read_back() {
        let one = |key: &str, time_added: Option<i64>, deadline: Option<i64>| TaintRespect {
            key: key.into(),
            value: "".into(),
            time_added: time_added.map(Wall::from_secs),
            deadline: deadline.map(Span::from_secs),
        };
        let taints = [one("maintenance", Some(1_800_000_000), Some(1800)), one("b", None, None)];
        let text = encode_respects(&taints);
        assert_eq!(
            text,
            r#"[{"key":"maintenance","timeAdded":"2027-01-15T08:00:00Z","deadlineSeconds":1800},{"key":"b"}]"#
        );
        assert_eq!(decode_respects(&text), NodeRespect::Taints(taints.into()));
    }

    #[test]
    fn an_invalid_value_is_undecodable_as_a_whole() {
        let many = format!("[{}]", vec![r#"{"key":"k"}"#; ENTRIES_MAX + 1].join(","));
        for text in [
            "",
            "yes",
            "{}",
            r#"[{"key":"k","deadlineSeconds":0}]"#,
            r#"[{"key":"k","deadlineSeconds":31536000}]"#,
            r#"[{"key":"k","deadline":"30m"}]"#,
            r#"[{"key":"k","timeAdded":"soon"}]"#,
            r#"[{"key":"k"},{}]"#,
            &many,
        ] {
            assert_eq!(decode_respects(text), NodeRespect::Undecodable, "{text}");
        }
        assert_eq!(decode_respects("[]"), NodeRespect::Taints([].into()));
    }
}
