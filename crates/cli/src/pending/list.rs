//! Builds the list of pods with a deadline at one moment, with the reasons that delay overdue ones.
//!
//! - See `watch.rs` for `-w`.

use super::delayed_rows;
use super::held_rows::HeldRow;
use super::row_table::table;
use super::snapshot::PendingSnapshot;
use super::{PendingArgs, PendingError, PendingRow, counting_toleration, empty_list};
use crate::active_controllers::ActiveControllers;
use crate::cluster_state::ClusterState;
use crate::messages::{self, paragraph, stamp};
use crate::output::{API_VERSION, PrintOptions, Printable, age, enumerated};
use crate::stderr;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};
use std::process::ExitCode;
use taintward_core::cluster_snapshot::ClusterSnapshot;
use taintward_core::forecast::{ForecastOptions, NodeForecast, PodForecast, forecast, leaves_at};
use taintward_core::time::Mono;
use taintward_core::verdict::EvictionExemption;

/// Prints the list; returns whether all of it could be read.
pub(super) fn run(options: &PendingArgs) -> Result<ExitCode, PendingError> {
    let PendingSnapshot { state, enforcers, namespace, elsewhere, delays } = PendingSnapshot::read(options)?;
    stderr::errors(&state.gaps);
    state.notes.iter().for_each(stderr::note);
    let mut list = PendingList::of(&state, enforcers, &namespace, offline(options));
    if let Some(delays) = &delays {
        delayed_rows::add_delays(delays, &mut list.rows);
        delays.unread.iter().for_each(stderr::note);
    }
    if options.state.output.is_for_people() {
        if io::stderr().is_terminal() {
            let context = messages::about(&state.from, state.snapshot.now());
            messages::print_wrapped(&context, &options.state.output.view());
        }
        if list.is_unknown() {
            stderr::line("", "It is unknown which pods are counting down, because no node could be read.");
            return Ok(ExitCode::FAILURE);
        }
        list.remarks().into_iter().for_each(stderr::note);
        if list.is_empty() {
            let partly = if state.gaps.is_empty() { "" } else { "Partial result: " };
            stderr::line(partly, empty_here(&namespace, &elsewhere));
        }
    }
    if !(list.is_empty() && options.state.output.is_for_people()) {
        options.state.output.print(&list)?;
    }
    Ok(if state.gaps.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The flags that another command needs to read the same files.
fn offline(options: &PendingArgs) -> String {
    let files = options.filename.iter().map(|file| format!(" -f {}", file.display()));
    files.chain(options.state.as_of.map(|as_of| format!(" --as-of {as_of}"))).collect()
}

/// The list.
struct PendingList<'s> {
    state: &'s ClusterState,
    enforcers: Option<ActiveControllers>,
    rows: Vec<PendingRow>,
    /// Pods whose countdowns are paused, and until when.
    held: Vec<HeldRow>,
    /// Pods that would have a deadline, but that are already being deleted.
    deleted: Vec<String>,
    all_namespaces: bool,
    /// The flags with which another command reads the same files.
    offline: String,
}

/// The maximum number of names in a sentence.
const NAMED_MAX: usize = 5;

/// The sentence for a namespace without countdowns, with the numbers of countdowns in other namespaces.
fn empty_here(namespace: &str, elsewhere: &BTreeMap<String, usize>) -> String {
    let here = empty_list(namespace);
    let others: Vec<String> =
        elsewhere.iter().take(NAMED_MAX).map(|(space, count)| format!("{count} in {space}")).collect();
    match others.is_empty() {
        true => format!("{here}."),
        false => format!("{here}; other namespaces have countdowns: {}. Use -n or -A.", others.join(", ")),
    }
}

impl<'s> PendingList<'s> {
    fn of(
        state: &'s ClusterState,
        enforcers: Option<ActiveControllers>,
        namespace: &str,
        offline: String,
    ) -> Self {
        let question = ForecastOptions { until: Mono::NEVER, places_max: 0, about: &state.about };
        let forecast = forecast(&state.snapshot, &[], question);
        let of_node = |node: &NodeForecast| -> Vec<PendingRow> {
            node.pods.iter().filter_map(|fate| row(&state.snapshot, node, fate)).collect()
        };
        let mut rows: Vec<PendingRow> = forecast.nodes.iter().flat_map(of_node).collect();
        rows.retain(|row| namespace.is_empty() || row.namespace == namespace);
        rows.sort_by(|a, b| a.order().cmp(&b.order()));
        let deleted = |node: &NodeForecast| -> Vec<String> {
            node.pods.iter().filter_map(|fate| deleted(&state.snapshot, node, fate)).collect()
        };
        let deleted = forecast.nodes.iter().flat_map(deleted).collect();
        let held = |node: &NodeForecast| -> Vec<HeldRow> {
            node.pods.iter().filter_map(|fate| HeldRow::of(&state.snapshot, node, fate)).collect()
        };
        let mut held: Vec<HeldRow> = forecast.nodes.iter().flat_map(held).collect();
        held.retain(|row| namespace.is_empty() || row.namespace == namespace);
        Self { state, enforcers, rows, held, deleted, all_namespaces: namespace.is_empty(), offline }
    }

    fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether no pod could be judged: no node was read.
    fn is_unknown(&self) -> bool {
        !self.state.gaps.is_empty() && self.state.snapshot.nodes().is_empty()
    }

    /// Remarks about missing controllers, and about pods whose deletion is delayed.
    fn remarks(&self) -> Vec<String> {
        let no_controller = self.enforcers.as_ref().and_then(ActiveControllers::remark);
        no_controller.into_iter().chain(self.notes()).collect()
    }

    /// Remarks about pods that are not in the list, or whose deadline is Taintward's own.
    fn notes(&self) -> Vec<String> {
        let guarded = self.rows.iter().filter(|row| row.ceiling_at.is_some()).count();
        let guarded = (guarded > 0).then(|| {
            let be = if guarded == 1 { "pod is" } else { "pods are" };
            format!(
                "{guarded} {be} guarded: these are Taintward's deadlines; without Taintward, kube-controller-manager \
                 evicts at the ceiling, which -o wide shows"
            )
        });
        let now = self.state.snapshot.now();
        let restarted = self.restarted();
        restarted
            .into_iter()
            .chain(self.late())
            .chain(guarded)
            .chain(HeldRow::remark(&self.held, now, &self.offline))
            .chain(self.being_deleted())
            .collect()
    }

    /// The remark about countdowns that kube-controller-manager does not remember.
    fn restarted(&self) -> Option<String> {
        let controllers = self.enforcers.as_ref()?;
        let again = |row| -> Option<(&PendingRow, _)> {
            let row: &PendingRow = row;
            Some((row, controllers.restarted(row.countdown_started_at, row.evicted_at)?))
        };
        let restarted: Vec<_> = self.rows.iter().filter_map(again).collect();
        let (first, countdown) = restarted.first()?;
        let now = self.state.snapshot.now();
        Some(format!(
            "kube-controller-manager became the leader at {}, after the countdowns of {} began; it counts from then, and \
             evicts {}/{} at about {}",
            messages::at_moment(now, countdown.leader_since),
            messages::counted(restarted.len(), "pod"),
            first.namespace,
            first.pod,
            messages::at_moment(now, countdown.expected_at)
        ))
    }

    /// The remark about deadlines that are not exact.
    fn late(&self) -> Option<String> {
        let controllers = self.enforcers.as_ref()?;
        let read = |row: &PendingRow| {
            Some((row.evicted_at, controllers.read_late(row.countdown_started_at, row.evicted_at)?))
        };
        let read: Vec<_> = self.rows.iter().filter_map(read).collect();
        let (evicted_at, first) = read.first()?;
        let now = self.state.snapshot.now();
        Some(format!(
            "Taintward became the leader at {}, after the countdowns of {} began; it may have read their starts from objects, \
             which name whole seconds of other clocks, and evicts each up to {} later than the list shows",
            messages::at_moment(now, first.leader_since),
            messages::counted(read.len(), "pod"),
            age(first.expected_at.since(*evicted_at)),
        ))
    }

    /// The remark about pods that are being deleted, which have no countdown.
    fn being_deleted(&self) -> Option<String> {
        let first = self.deleted.first()?;
        let (space, pod) = first.split_once('/').unwrap_or(("", first));
        Some(format!(
            "{} that NoExecute taints would evict {} already being deleted: {}; taintward explain pod/{pod} -n \
             {space}{} shows what delays the first",
            messages::counted(self.deleted.len(), "pod"),
            if self.deleted.len() == 1 { "is" } else { "are" },
            enumerated(&self.deleted, NAMED_MAX),
            self.offline
        ))
    }

    /// The overdue pods that nothing is known to delay.
    fn overdue(&self) -> impl Iterator<Item = &PendingRow> {
        let now = self.state.snapshot.now();
        self.rows.iter().filter(move |row| row.is_overdue(now) && row.delay.is_none())
    }

    /// The sentence about overdue pods, and why they still exist.
    fn in_the_way(&self) -> Option<String> {
        let (overdue, marked) = (
            self.overdue().count(),
            self.overdue().filter(|row| row.disruption_target == Some(true)).count(),
        );
        let first = self.overdue().next()?;
        let pods =
            |count: usize| if count == 1 { "1 pod is".to_owned() } else { format!("{count} pods are") };
        let marked = match marked {
            0 => "no controller has set the condition DisruptionTarget on any of them".to_owned(),
            1 => "1 of them has the condition DisruptionTarget, but its deletion has not been accepted yet"
                .to_owned(),
            count => format!(
                "{count} of them have the condition DisruptionTarget, but the API server has not accepted their deletion yet"
            ),
        };
        Some(format!(
            "{} overdue; {marked}. taintward explain pod/{} -n {}{} explains the first.",
            pods(overdue),
            first.pod,
            first.namespace,
            self.offline
        ))
    }
}

/// `None` for a pod that stays.
fn row(snapshot: &ClusterSnapshot, node: &NodeForecast, forecast: &PodForecast) -> Option<PendingRow> {
    let evicted_at = forecast.at()?;
    let pod = &snapshot.pods()[forecast.pod as usize];
    let decisive = forecast.decisive? as usize;
    let reason = snapshot.judge(pod, &node.after).reasons[decisive];
    let toleration = counting_toleration(&reason);
    let written = toleration.map(|(at, _)| messages::toleration(&snapshot.shape(pod).spec.tolerations[at]));
    Some(PendingRow {
        namespace: pod.name.namespace().to_owned(),
        pod: pod.name.name().to_owned(),
        uid: pod.uid.to_string(),
        node: snapshot.nodes()[node.node].fact.name.to_string(),
        evicted_at,
        ceiling_at: snapshot.ceiling(pod, &node.after),
        taint: node.after[decisive].taint.to_string(),
        written,
        toleration,
        countdown_started_at: reason.counts_from,
        workload: Some(snapshot.workloads()[pod.workload as usize].clone()),
        disruption_target: Some(pod.marked),
        delay: None,
    })
}

/// A pod that is being deleted, and that would otherwise have a deadline.
fn deleted(snapshot: &ClusterSnapshot, node: &NodeForecast, fate: &PodForecast) -> Option<String> {
    let pod = &snapshot.pods()[fate.pod as usize];
    let leaves = || leaves_at(snapshot.judge_exempt(pod, &node.after).outcome).is_some();
    (pod.exemption == Some(EvictionExemption::Terminating) && leaves()).then(|| pod.name.as_str().to_owned())
}

impl Printable for PendingList<'_> {
    fn object(&self) -> Value {
        let now = self.state.snapshot.now();
        json!({
            "apiVersion": API_VERSION,
            "kind": "PendingList",
            "complete": self.state.gaps.is_empty(),
            "from": self.state.from,
            "asOf": stamp(now.mono),
            "leases": self.enforcers.as_ref().map(ActiveControllers::object),
            "items": self.rows.iter().map(|row| row.object(now, self.enforcers.as_ref())).collect::<Vec<_>>(),
            "held": self.held.iter().map(HeldRow::object).collect::<Vec<_>>(),
            "notes": self.state.notes.iter().cloned().chain(self.notes()).collect::<Vec<_>>(),
            "readErrors": self.state.gaps.iter().map(ToString::to_string).collect::<Vec<_>>(),
        })
    }

    fn names(&self) -> Vec<String> {
        self.rows.iter().map(|row| format!("pod/{}", row.pod)).collect()
    }

    fn human(&self, view: &PrintOptions) -> String {
        let rows = view.in_order(&self.rows);
        let mut text = table(rows, self.all_namespaces, self.state.snapshot.now()).print(view);
        if let Some(sentence) = self.in_the_way().filter(|_| view.headers) {
            text.push('\n');
            paragraph(&mut text, &sentence, view);
        }
        text += &delayed_rows::sentences(&self.rows, self.state.snapshot.now(), view);
        if !self.state.gaps.is_empty() {
            text.push('\n');
            paragraph(&mut text, "This list is partial: some reads failed, see the errors above.", view);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::active_controllers::LeaseHolder;
    use crate::args::kube_args::ClusterOptions;
    use crate::cluster_state::{self, StateSource};
    use crate::described::{check, schema};
    use taintward_core::toleration_matching::NumericOperators;

    #[test]
    fn the_schema_describes_what_is_printed() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cmd/explain.in/cluster.yaml");
        let as_of = Some("2026-11-21T14:00:00Z".parse().unwrap());
        let state = cluster_state::read(
            StateSource::Files(&[file.into()], &ClusterOptions::default()),
            as_of,
            NumericOperators::Off,
        )
        .unwrap();
        for enforcers in [
            None,
            Some(ActiveControllers {
                ours: LeaseHolder::Absent,
                place: "kube-system",
                upstreams: LeaseHolder::Held { holder: "a".into(), since: None },
            }),
            Some(ActiveControllers {
                ours: LeaseHolder::Held { holder: "a".into(), since: Some(state.snapshot.now().wall) },
                place: "kube-system",
                upstreams: LeaseHolder::Absent,
            }),
        ] {
            let leads = matches!(&enforcers, Some(ActiveControllers { ours: LeaseHolder::Held { .. }, .. }));
            let list = PendingList::of(&state, enforcers, "", String::new());
            assert_eq!(list.rows.len(), 6);
            let late = list.notes().iter().any(|note| note.contains("and evicts each up to 4s later"));
            assert_eq!(late, leads, "{:?}", list.notes());
            check(&schema("pending.schema.json"), &list.object());
        }
    }
}
