//! Formats a pod that leaves as a table row and as JSON.

use crate::color::Color;
use crate::messages::{self, at_moment, moment, stamp, with_zone};
use crate::output::{Table, TableCell, TableColumn};
use serde_json::{Value, json};
use taintward_core::cluster_snapshot::{ClusterSnapshot, Workload};
use taintward_core::forecast::{NodeForecast, PodForecast};
use taintward_core::identity::{PodName, PodRef};
use taintward_core::taint::Taint;
use taintward_core::time::{Mono, Now};
use taintward_core::toleration::TolerationPeriod;
use taintward_core::toleration_matching::TaintMatch;
use taintward_core::verdict::TaintReason;

/// A pod that leaves. Moments are those of the calendar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PendingRow {
    namespace: String,
    pod: String,
    uid: String,
    node: String,
    /// When it leaves, or should have left.
    at: Mono,
    taint: String,
    /// Which toleration holds it until then, and how long; `None`: none.
    toleration: Option<(usize, TolerationPeriod)>,
    /// That toleration itself, where it is known.
    written: Option<String>,
    /// Since when the taint counts for it.
    since: Mono,
    /// `None` where that is not known.
    workload: Option<Workload>,
    /// The condition of a taint eviction is on it; `None` where that is not known.
    marked: Option<bool>,
}

/// `None` where no toleration matches.
fn toleration(reason: &TaintReason) -> Option<(usize, TolerationPeriod)> {
    match (reason.taint_match, reason.patience) {
        (TaintMatch::Tolerated(at), Some(patience @ TolerationPeriod::For(_))) => Some((at, patience)),
        _ => None,
    }
}

impl PendingRow {
    /// `None` for a pod that stays.
    pub(super) fn of_forecast(
        snapshot: &ClusterSnapshot,
        node: &NodeForecast,
        forecast: &PodForecast,
    ) -> Option<Self> {
        let at = forecast.at()?;
        let pod = &snapshot.pods()[forecast.pod as usize];
        let decisive = forecast.decisive? as usize;
        let reason = snapshot.judge(pod, &node.after).reasons[decisive];
        let written = toleration(&reason)
            .map(|(at, _)| messages::toleration(&snapshot.shape(pod).spec.tolerations[at]));
        Some(Self {
            namespace: pod.name.namespace().to_owned(),
            pod: pod.name.name().to_owned(),
            uid: pod.uid.to_string(),
            node: snapshot.nodes()[node.node].fact.name.to_string(),
            at,
            taint: node.after[decisive].taint.to_string(),
            written,
            toleration: toleration(&reason),
            since: reason.counts_from,
            workload: Some(snapshot.workloads()[pod.workload as usize].clone()),
            marked: Some(pod.marked),
        })
    }

    /// Of a pod whose owner and tolerations are not at hand; `at` and `since` are of the calendar.
    pub(super) fn of_countdown(
        pod: &PodRef,
        name: &PodName,
        taint: &Taint,
        reason: &TaintReason,
        (at, since): (Mono, Mono),
    ) -> Self {
        Self {
            namespace: name.namespace().to_owned(),
            pod: name.name().to_owned(),
            uid: pod.uid.to_string(),
            node: pod.node.to_string(),
            at,
            taint: taint.to_string(),
            toleration: toleration(reason),
            written: None,
            since,
            workload: None,
            marked: None,
        }
    }

    pub(super) fn namespace(&self) -> &str {
        &self.namespace
    }

    pub(super) fn pod(&self) -> &str {
        &self.pod
    }

    /// When it leaves, or should have left.
    pub(super) const fn leaves_at(&self) -> Mono {
        self.at
    }

    /// Whether the other row has the same deadline, by the same taint.
    pub(super) fn has_deadline_of(&self, other: &Self) -> bool {
        (self.at, &self.taint) == (other.at, &other.taint)
    }

    /// Whether the condition of a taint eviction is known to be on it.
    pub(super) fn is_marked(&self) -> bool {
        self.marked == Some(true)
    }

    pub(super) fn is_overdue(&self, now: Now) -> bool {
        self.at <= now.mono
    }

    /// What rows are ordered by: the next one due is first.
    pub(super) fn order(&self) -> (Mono, &str, &str) {
        (self.at, &self.namespace, &self.pod)
    }

    /// `14:04:11, in 4m11s`, `overdue since 13:55:00, 5m ago`
    fn leaves(&self, now: Now) -> TableCell {
        match self.is_overdue(now) {
            true => TableCell::new(format!("overdue since {}", at_moment(now, self.at))).colored(Color::Red),
            false => TableCell::new(moment(now, self.at)),
        }
    }

    /// As programs read it.
    pub(super) fn object(&self, now: Now) -> Value {
        json!({
            "namespace": self.namespace,
            "pod": self.pod,
            "uid": (!self.uid.starts_with(crate::cluster_state::NO_UID)).then_some(&self.uid),
            "node": self.node,
            "leavesAt": stamp(self.at),
            "inSeconds": (self.at.as_micros().saturating_sub(now.mono.as_micros())) / 1_000_000,
            "overdue": self.is_overdue(now),
            "taint": self.taint,
            "toleration": self.toleration.map(|(at, patience)| {
                messages::toleration_object(at, self.written.clone(), Some(patience))
            }),
            "since": stamp(self.since),
            "workload": self.workload.as_ref().map(messages::workload),
            "marked": self.marked,
        })
    }
}

/// What most rows of events need, so that those of one moment stand below those of another: a pod of a Deployment, a
/// deadline that is over.
const EVENT_WIDTH: usize = 9;
const NAMESPACE_WIDTH: usize = 20;
const POD_WIDTH: usize = 40;
const NODE_WIDTH: usize = 30;
const LEAVES_WIDTH: usize = 32;

/// Which columns there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct RowShape {
    event: bool,
    namespace: bool,
}

/// The rows of one moment.
pub(super) fn table<'r>(
    rows: impl IntoIterator<Item = &'r PendingRow>,
    with_namespace: bool,
    now: Now,
) -> Table {
    let shape = RowShape { event: false, namespace: with_namespace };
    shaped_table(rows.into_iter().map(|row| ("", row)), shape, now)
}

/// Rows, each with what has happened to it.
pub(super) fn event_table<'r>(
    rows: impl IntoIterator<Item = (&'static str, &'r PendingRow)>,
    with_namespace: bool,
    now: Now,
) -> Table {
    shaped_table(rows, RowShape { event: true, namespace: with_namespace }, now)
}

fn shaped_table<'r>(
    rows: impl IntoIterator<Item = (&'static str, &'r PendingRow)>,
    shape: RowShape,
    now: Now,
) -> Table {
    let mut columns = Vec::new();
    // Events come a few at a time, and are read as one table.
    let least = |width| if shape.event { width } else { 0 };
    if shape.event {
        columns.push(TableColumn::new("EVENT").at_least(EVENT_WIDTH));
    }
    if shape.namespace {
        columns.push(TableColumn::new("NAMESPACE").shortens().yields().at_least(least(NAMESPACE_WIDTH)));
    }
    columns.extend([
        TableColumn::new("POD").shortens().at_least(least(POD_WIDTH)),
        TableColumn::new("NODE").shortens().yields().at_least(least(NODE_WIDTH)),
        TableColumn::new(&with_zone("LEAVES", now)).at_least(least(LEAVES_WIDTH)),
        TableColumn::new("NOEXECUTE TAINT").shortens().yields(),
        TableColumn::new("TOLERATION").only_wide(),
        TableColumn::new("WORKLOAD").only_wide(),
        TableColumn::new("SINCE").only_wide(),
    ]);
    let mut table = Table::new(columns);
    for (event, row) in rows {
        let mut cells: Vec<TableCell> = Vec::new();
        if shape.event {
            cells.push(event.into());
        }
        if shape.namespace {
            cells.push(row.namespace.as_str().into());
        }
        let held = |(at, patience)| format!("spec.tolerations[{at}] for {}", messages::patience(patience));
        let workload = row.workload.as_ref().map(ToString::to_string);
        cells.extend([
            row.pod.as_str().into(),
            row.node.as_str().into(),
            row.leaves(now),
            row.taint.strip_suffix(":NoExecute").unwrap_or(&row.taint).into(),
            row.toleration.map_or_else(|| "<none>".to_owned(), held).into(),
            workload.unwrap_or_else(|| "<unknown>".to_owned()).into(),
            at_moment(now, row.since).into(),
        ]);
        table.push(cells);
    }
    table
}
