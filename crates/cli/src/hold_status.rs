//! Lists the holds: which nodes and pods have an order, how many pods are held, until when, and why.

use crate::messages::{moment, stamp, with_zone};
use crate::output::{API_VERSION, Table, TableColumn};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use taintward_core::identity::Uid;
use taintward_core::time::{Mono, Now, Wall};
use taintward_core::toleration_hold::HoldOrigin;
use taintward_core::toleration_seconds::{NodeHoldRequest, RecordState};
use taintward_kube::api::paged_list::{ListRequest, pages};
use taintward_kube::api::{RequestBudget, RequestError};
use taintward_kube::decode::{Decoded, DecodedPod, WatchedObject as _};
use taintward_kube::hold_request::{HOLD, decode_reason, decode_request};

/// The holds of a node, or the hold of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct HoldRow {
    /// Pods whose countdowns are paused.
    held: usize,
    /// When the last hold ends.
    until: Option<Wall>,
    by_administrator: bool,
    by_limit: bool,
    /// An annotation of this pod orders it.
    by_pod: Option<Uid>,
    /// The hold of the pod does not count, because a policy forbids it.
    is_forbidden: bool,
    reason: Option<String>,
}

/// The nodes and pods with a hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct HoldStatus {
    /// By node, and by namespace and name of the pod, if the hold is that of a pod.
    rows: BTreeMap<(String, Option<String>), HoldRow>,
    /// Taintward evicts, so that the order of a node holds all of its pods.
    holds_all: bool,
}

#[derive(Default, Deserialize)]
struct NamedMetadata {
    #[serde(default)]
    name: String,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct AnnotatedObject {
    #[serde(default)]
    metadata: NamedMetadata,
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
            let node: AnnotatedObject = serde_json::from_slice(body)?;
            if is_selected(&node.metadata.name) {
                found.add_order(&node.metadata, now);
            }
            Ok(())
        })
        .await?;
        pages(client, list("pods", "spec.nodeName!="), limit, &mut |body| {
            let Decoded::Object(decoded) = DecodedPod::from_json(body) else { return Ok(()) };
            let Some(pod) = decoded.for_holds().filter(|pod| is_selected(pod.node.as_str())) else {
                return Ok(());
            };
            let periods =
                decoded.pod.holds.iter().flatten().filter(|period| period.since <= now && now < period.until);
            if let Some(until) = periods.map(|period| period.until).max() {
                let object: AnnotatedObject = serde_json::from_slice(body)?;
                let reason = object.metadata.annotations.get(HOLD).and_then(|text| decode_reason(text));
                let by_pod = Some(pod.id.uid().clone());
                let row = HoldRow { held: 1, until: Some(until), by_pod, reason, ..HoldRow::default() };
                found.rows.insert((pod.node.to_string(), Some(pod.id.name().to_string())), row);
            }
            if let RecordState::Known(record) = &pod.record
                && !record.is_released()
            {
                let row = found.rows.entry((pod.node.to_string(), None)).or_default();
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
    fn add_order(&mut self, node: &NamedMetadata, now: Wall) {
        let Some(text) = node.annotations.get(HOLD) else { return };
        if let NodeHoldRequest::Hold { until, .. } = decode_request(text)
            && until > now
        {
            let reason = decode_reason(text);
            let row = HoldRow { until: Some(until), by_administrator: true, reason, ..HoldRow::default() };
            self.rows.insert((node.name.clone(), None), row);
        }
    }

    /// The same where Taintward evicts.
    pub(crate) fn of_evicting(self, holds_all: bool) -> Self {
        Self { holds_all, ..self }
    }

    /// The same, without holding pods whose holds a policy forbids.
    pub(crate) fn without_forbidden<'u>(mut self, forbidden: impl Iterator<Item = &'u Uid>) -> Self {
        let forbidden: BTreeSet<&Uid> = forbidden.collect();
        for row in self
            .rows
            .values_mut()
            .filter(|row| row.by_pod.as_ref().is_some_and(|pod| forbidden.contains(pod)))
        {
            (row.held, row.is_forbidden) = (0, true);
        }
        self
    }

    /// The holds that annotations of these pods, `namespace/name`, order.
    pub(crate) fn of_pods(mut self, pods: &[String]) -> Self {
        self.rows.retain(|(_, pod), _| pod.as_ref().is_some_and(|pod| pods.contains(pod)));
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn object(&self) -> Value {
        json!({ "apiVersion": API_VERSION, "kind": "HoldStatus", "items": self.items() })
    }

    /// A row for each node and each pod, for programs.
    pub(crate) fn items(&self) -> Vec<Value> {
        let item = |((node, pod), row): (&(String, Option<String>), &HoldRow)| {
            json!({
                "node": node,
                "pod": pod,
                "held": row.held,
                "until": row.until.map(|until| stamp(Mono::from_micros(until.as_micros()))),
                "origins": row.origins().map(|(word, _)| word).collect::<Vec<_>>(),
                "reason": row.reason,
            })
        };
        self.rows.iter().map(item).collect()
    }

    pub(crate) fn table(&self, now: Wall) -> Table {
        let now = Now::of_wall(now);
        let names_pods = self.rows.keys().any(|(_, pod)| pod.is_some());
        let pod_column = names_pods.then(|| TableColumn::new("POD").shortens());
        let mut columns = vec![TableColumn::new("NODE").shortens()];
        columns.extend(pod_column);
        columns.push(TableColumn::new("HELD").right());
        columns.extend([with_zone("UNTIL", now).as_str(), "BY", "REASON"].map(TableColumn::new));
        let mut table = Table::new(columns);
        for ((node, pod), row) in &self.rows {
            let until = row.until.map(|until| moment(now, Mono::from_micros(until.as_micros())));
            let is_whole = self.holds_all && pod.is_none() && row.by_administrator && row.held == 0;
            let held = if is_whole { "all".to_owned() } else { row.held.to_string() };
            let mut cells = vec![node.as_str().into()];
            cells.extend(names_pods.then(|| pod.as_deref().unwrap_or("-").into()));
            cells.extend([
                held.into(),
                until.unwrap_or_else(|| "<unknown>".to_owned()).into(),
                row.origins().map(|(_, name)| name).collect::<Vec<_>>().join(", ").into(),
                row.reason.clone().unwrap_or_else(|| "-".to_owned()).into(),
            ]);
            table.push(cells);
        }
        table
    }
}

impl HoldRow {
    /// What ordered the holds: for programs, and for people.
    fn origins(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let administrator = self.by_administrator.then_some(("Person", "administrator"));
        let limit = self.by_limit.then_some(("Limit", "--hold-limit"));
        let text = match self.is_forbidden {
            true => "annotation of the pod, which a policy forbids",
            false => "annotation of the pod",
        };
        let pod = self.by_pod.as_ref().map(|_| ("Person", text));
        administrator.into_iter().chain(limit).chain(pod)
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
                &NamedMetadata { name: "n1".into(), annotations },
                Wall::from_micros(now.as_microsecond()),
            );
            status.object()["items"].clone()
        };
        let held = rows(order, "2026-11-24T10:59:59Z");
        assert_eq!(
            held,
            json!([{"node": "n1", "pod": null, "held": 0, "until": "2026-11-24T11:00:00Z", "origins": ["Person"],
                "reason": "disk"}])
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
