//! Builds the list of pods that leave at one moment, with what blocks overdue ones.
//!
//! - See `watch.rs` for `-w`.

use super::row::{PendingRow, table};
use crate::active_controllers::ActiveControllers;
use crate::cluster_state::ClusterState;
use crate::messages::{paragraph, stamp};
use crate::output::{PrintOptions, Printable};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use taintward_core::cluster_snapshot::ClusterSnapshot;
use taintward_core::forecast::{ForecastOptions, NodeForecast, PodForecast, forecast, leaves_at};
use taintward_core::time::Mono;
use taintward_core::verdict::{self, EvictionExemption, PodInput};

/// The list.
pub(super) struct PendingList<'s> {
    state: &'s ClusterState,
    enforcers: Option<ActiveControllers>,
    rows: Vec<PendingRow>,
    /// Pods that would have to leave, and are being deleted and there all the same.
    deleted: Vec<String>,
    all_namespaces: bool,
    /// What another command needs to ask about the same files.
    offline: String,
}

/// Names that are shown.
const NAMED_MOST: usize = 5;

/// The sentence for a namespace in which no pod leaves; pods that leave in other namespaces are counted.
pub(super) fn empty_list(namespace: &str, elsewhere: &BTreeMap<String, usize>) -> String {
    let here = match namespace {
        "" => return "No pods are counting down.".to_owned(),
        one => format!("No pods are counting down in namespace {one}"),
    };
    let others: Vec<String> =
        elsewhere.iter().take(NAMED_MOST).map(|(space, count)| format!("{count} in {space}")).collect();
    match others.is_empty() {
        true => format!("{here}."),
        false => format!("{here}; there are {}: use -n or -A.", others.join(", ")),
    }
}

/// How many count down in each namespace.
pub(super) fn by_namespace(state: &ClusterState) -> BTreeMap<String, usize> {
    let question = ForecastOptions { until: Mono::NEVER, places_max: 0, about: &[] };
    let forecast = forecast(&state.snapshot, &[], question);
    let mut counts = BTreeMap::new();
    for fate in forecast.nodes.iter().flat_map(|node| &node.pods).filter(|fate| fate.at().is_some()) {
        let space = state.snapshot.pods()[fate.pod as usize].name.namespace().to_owned();
        *counts.entry(space).or_default() += 1;
    }
    counts
}

impl<'s> PendingList<'s> {
    pub(super) fn of(
        state: &'s ClusterState,
        enforcers: Option<ActiveControllers>,
        namespace: &str,
        offline: String,
    ) -> Self {
        let question = ForecastOptions { until: Mono::NEVER, places_max: 0, about: &state.about };
        let forecast = forecast(&state.snapshot, &[], question);
        let of_node = |node: &NodeForecast| -> Vec<PendingRow> {
            node.pods.iter().filter_map(|fate| PendingRow::of_forecast(&state.snapshot, node, fate)).collect()
        };
        let mut rows: Vec<PendingRow> = forecast.nodes.iter().flat_map(of_node).collect();
        rows.retain(|row| namespace.is_empty() || row.namespace() == namespace);
        rows.sort_by(|a, b| a.order().cmp(&b.order()));
        let deleted = |node: &NodeForecast| -> Vec<String> {
            node.pods.iter().filter_map(|fate| deleted(&state.snapshot, node, fate)).collect()
        };
        let deleted = forecast.nodes.iter().flat_map(deleted).collect();
        Self { state, enforcers, rows, deleted, all_namespaces: namespace.is_empty(), offline }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether a controller seems to evict; pods that are being deleted and do not go.
    pub(super) fn remarks(&self) -> Vec<String> {
        let no_controller = self.enforcers.as_ref().and_then(ActiveControllers::remark);
        no_controller.into_iter().chain(self.held()).collect()
    }

    /// No countdown runs for pods that are being deleted.
    fn held(&self) -> Option<String> {
        let first = self.deleted.first()?;
        let (space, pod) = first.split_once('/').unwrap_or(("", first));
        let named = self.deleted.iter().take(NAMED_MOST).map(String::as_str).collect::<Vec<_>>().join(", ");
        let (count, be, more) = match self.deleted.len() {
            1 => ("1 pod".to_owned(), "is", String::new()),
            many if many > NAMED_MOST => {
                (format!("{many} pods"), "are", format!(" and {} more", many - NAMED_MOST))
            }
            many => (format!("{many} pods"), "are", String::new()),
        };
        Some(format!(
            "{count} with a taint to leave {be} being deleted already, and not gone yet: {named}{more}; taintward explain \
             pod/{pod} -n {space}{} says what holds the first",
            self.offline
        ))
    }

    fn overdue(&self) -> impl Iterator<Item = &PendingRow> {
        let now = self.state.snapshot.now();
        self.rows.iter().filter(move |row| row.is_overdue(now))
    }

    /// What is known to be in the way of pods that should be gone.
    fn in_the_way(&self) -> Option<String> {
        let (overdue, marked) =
            (self.overdue().count(), self.overdue().filter(|row| row.is_marked()).count());
        let first = self.overdue().next()?;
        let pods = |count: usize| if count == 1 { "1 pod".to_owned() } else { format!("{count} pods") };
        let marked = match marked {
            0 => "none of them is marked for deletion: nobody has tried yet".to_owned(),
            count => format!("{count} of them marked for deletion, which was not accepted yet"),
        };
        Some(format!(
            "{} should be gone. In the way: {marked}. taintward explain pod/{} -n {}{} says more of the first.",
            pods(overdue),
            first.pod(),
            first.namespace(),
            self.offline
        ))
    }
}

/// A pod that is being deleted, and would have to leave if it were not.
fn deleted(snapshot: &ClusterSnapshot, node: &NodeForecast, fate: &PodForecast) -> Option<String> {
    let pod = &snapshot.pods()[fate.pod as usize];
    let subject = PodInput { exemption: None, ..snapshot.subject(pod) };
    let leaves = || verdict::judge(&subject, &node.after, snapshot.numeric(), snapshot.now());
    (pod.exemption == Some(EvictionExemption::Terminating) && leaves_at(leaves().outcome).is_some())
        .then(|| pod.name.as_str().to_owned())
}

impl Printable for PendingList<'_> {
    fn object(&self) -> Value {
        let now = self.state.snapshot.now();
        json!({
            "apiVersion": "taintward.io/v1alpha1",
            "kind": "PendingList",
            "complete": self.state.gaps.is_empty(),
            "from": self.state.from,
            "asOf": stamp(now.mono),
            "enforcement": self.enforcers.as_ref().map(ActiveControllers::object),
            "items": self.rows.iter().map(|row| row.object(now)).collect::<Vec<_>>(),
            "notes": self.state.notes.iter().cloned().chain(self.held()).collect::<Vec<_>>(),
            "gaps": self.state.gaps.iter().map(ToString::to_string).collect::<Vec<_>>(),
        })
    }

    fn names(&self) -> Vec<String> {
        self.rows.iter().map(|row| format!("pod/{}", row.pod())).collect()
    }

    fn human(&self, view: &PrintOptions) -> String {
        let rows = view.in_order(&self.rows);
        let mut text = table(rows, self.all_namespaces, self.state.snapshot.now()).print(view);
        if let Some(sentence) = self.in_the_way().filter(|_| view.headers) {
            text.push('\n');
            paragraph(&mut text, &sentence, view);
        }
        if !self.state.gaps.is_empty() {
            text.push('\n');
            paragraph(&mut text, "This list is partial: not everything could be read, see above.", view);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::active_controllers::LeaseHolder;
    use crate::cluster_state::{StateSource, read};
    use crate::described::{check, schema};
    use taintward_core::toleration_matching::NumericOperators;

    #[test]
    fn the_schema_describes_what_is_printed() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cmd/explain.in/cluster.yaml");
        let as_of = Some("2026-11-21T14:00:00Z".parse().unwrap());
        let state =
            read(&StateSource::Files(vec![file.into()], Box::default()), as_of, NumericOperators::Off)
                .unwrap();
        for enforcers in [
            None,
            Some(ActiveControllers {
                ours: LeaseHolder::Absent,
                place: "kube-system",
                upstreams: LeaseHolder::Held("a".into()),
            }),
        ] {
            let list = PendingList::of(&state, enforcers, "", String::new());
            assert_eq!(list.rows.len(), 6);
            check(&schema("pending.schema.json"), &list.object());
        }
    }
}
