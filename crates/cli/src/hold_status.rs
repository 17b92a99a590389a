//! Lists the holds: which nodes have an order, how many of their pods are held, until when, and why.

use crate::messages::{moment, stamp, with_zone};
use crate::output::{API_VERSION, Table, TableColumn};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use taintward_core::time::{Mono, Now, Wall};
use taintward_core::toleration_hold::HoldOrigin;
use taintward_core::toleration_seconds::{NodeHoldRequest, RecordState};
use taintward_kube::api::paged_list::{ListRequest, pages};
use taintward_kube::api::{RequestBudget, RequestError};
use taintward_kube::decode::{Decoded, DecodedPod, WatchedObject as _};
use taintward_kube::hold_request::{HOLD, decode_reason, decode_request};

/// The holds of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct HoldRow {
    /// Pods whose countdowns are paused.
    held: usize,
    /// When the last hold ends.
    until: Option<Wall>,
    by_administrator: bool,
    by_limit: bool,
    reason: Option<String>,
}

/// The nodes with a hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct HoldStatus {
    rows: BTreeMap<String, HoldRow>,
}

#[derive(Default, Deserialize)]
struct NodeMetadata {
    #[serde(default)]
    name: String,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct AnnotatedNode {
    #[serde(default)]
    metadata: NodeMetadata,
}

impl HoldStatus {
    /// Reads the holds; of all nodes if `names` is empty.
    pub(crate) async fn read(
        client: &kube::Client,
        names: &[String],
        now: Wall,
        limit: RequestBudget,
    ) -> Result<Self, RequestError> {
        let mut found = Self::default();
        let is_selected = |name: &str| names.is_empty() || names.iter().any(|selected| selected == name);
        let list = |plural, fields| ListRequest { group: "", plural, namespace: "", selector: "", fields };
        pages(client, list("nodes", ""), limit, &mut |body| {
            let node: AnnotatedNode = serde_json::from_slice(body)?;
            if is_selected(&node.metadata.name) {
                found.add_order(&node.metadata, now);
            }
            Ok(())
        })
        .await?;
        pages(client, list("pods", "spec.nodeName!="), limit, &mut |body| {
            if let Decoded::Object(pod) = DecodedPod::from_json(body)
                && let Some(pod) = pod.for_holds()
                && is_selected(pod.node.as_str())
                && let RecordState::Known(record) = &pod.record
                && !record.is_released()
            {
                let row = found.rows.entry(pod.node.to_string()).or_default();
                row.held += 1;
                row.until = row.until.max(record.order().map(|order| order.ends_at()));
                match record.order().map(|order| order.origin) {
                    Some(HoldOrigin::Limit) => row.by_limit = true,
                    Some(HoldOrigin::Person) | None => row.by_administrator = true,
                }
            }
            Ok(())
        })
        .await?;
        Ok(found)
    }

    /// Adds the order in a node's annotation, if it still counts.
    fn add_order(&mut self, node: &NodeMetadata, now: Wall) {
        let Some(text) = node.annotations.get(HOLD) else { return };
        if let NodeHoldRequest::Hold { until, .. } = decode_request(text)
            && until > now
        {
            let reason = decode_reason(text);
            let row = HoldRow { until: Some(until), by_administrator: true, reason, ..HoldRow::default() };
            self.rows.insert(node.name.clone(), row);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn object(&self) -> Value {
        json!({ "apiVersion": API_VERSION, "kind": "HoldStatus", "items": self.items() })
    }

    /// A row for each node, for programs.
    pub(crate) fn items(&self) -> Vec<Value> {
        let item = |(node, row): (&String, &HoldRow)| {
            json!({
                "node": node,
                "held": row.held,
                "until": row.until.map(|until| stamp(Mono::from_micros(until.as_micros()))),
                "origins": row.origins().map(|(word, _)| word).collect::<Vec<_>>(),
                "reason": row.reason,
            })
        };
        self.rows.iter().map(item).collect()
    }

    pub(crate) fn table(&self, now: Wall) -> Table {
        let now = Now::exact(Mono::from_micros(now.as_micros()), now);
        let mut table = Table::new(vec![
            TableColumn::new("NODE").shortens(),
            TableColumn::new("HELD").right(),
            TableColumn::new(&with_zone("UNTIL", now)),
            TableColumn::new("BY"),
            TableColumn::new("REASON"),
        ]);
        for (node, row) in &self.rows {
            let until = row.until.map(|until| moment(now, Mono::from_micros(until.as_micros())));
            table.push(vec![
                node.as_str().into(),
                row.held.to_string().into(),
                until.unwrap_or_else(|| "<unknown>".to_owned()).into(),
                row.origins().map(|(_, name)| name).collect::<Vec<_>>().join(", ").into(),
                row.reason.clone().unwrap_or_else(|| "-".to_owned()).into(),
            ]);
        }
        table
    }
}

impl HoldRow {
    /// What ordered the holds: for programs, and for people.
    fn origins(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let administrator = self.by_administrator.then_some(("Person", "administrator"));
        let limit = self.by_limit.then_some(("Limit", "--hold-limit"));
        administrator.into_iter().chain(limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_counts_until_it_ends() {
        let order = r#"{"action":"hold","since":"2026-11-24T10:00:00Z","until":"2026-11-24T11:00:00Z","reason":"disk"}"#;
        let release = r#"{"action":"release","at":"2026-11-24T10:30:00Z","mode":"full"}"#;
        let rows = |text: &str, now: &str| {
            let now: jiff::Timestamp = now.parse().unwrap();
            let annotations = [(HOLD.to_owned(), text.to_owned())].into();
            let mut status = HoldStatus::default();
            status.add_order(
                &NodeMetadata { name: "n1".into(), annotations },
                Wall::from_micros(now.as_microsecond()),
            );
            status.object()["items"].clone()
        };
        let held = rows(order, "2026-11-24T10:59:59Z");
        assert_eq!(
            held,
            json!([{"node": "n1", "held": 0, "until": "2026-11-24T11:00:00Z", "origins": ["Person"], "reason": "disk"}])
        );
        for (text, now) in [
            (order, "2026-11-24T11:00:00Z"),
            (release, "2026-11-24T10:31:00Z"),
            ("x", "2026-11-24T10:31:00Z"),
        ] {
            assert_eq!(rows(text, now), json!([]), "{text} {now}");
        }
    }
}
