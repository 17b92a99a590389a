//! Formats pods with a deadline as a table.

use super::PendingRow;
use crate::cluster_change::OVERDUE_AFTER;
use crate::color::Color;
use crate::messages::{self, at_moment, moment, with_zone};
use crate::output::{Table, TableCell, TableColumn};
use taintward_core::time::Now;

/// The minimum widths of columns in a list of events, so that rows printed at different times align: they fit a pod of a
/// Deployment, and a deadline in the past.
const EVENT_WIDTH: usize = 12;
const NAMESPACE_WIDTH: usize = 20;
const POD_WIDTH: usize = 40;
const NODE_WIDTH: usize = 30;
const EVICTED_WIDTH: usize = 32;

/// The columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct RowShape {
    event: bool,
    namespace: bool,
}

/// The rows of one list.
pub(super) fn table<'r>(
    rows: impl IntoIterator<Item = &'r PendingRow>,
    with_namespace: bool,
    now: Now,
) -> Table {
    let shape = RowShape { event: false, namespace: with_namespace };
    shaped_table(rows.into_iter().map(|row| ("", row)), shape, now)
}

/// Rows, each with its change.
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
    // Events are printed a few at a time, and form one table.
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
        TableColumn::new(&with_zone("EVICTED", now)).at_least(least(EVICTED_WIDTH)),
        TableColumn::new("NOEXECUTE TAINT").shortens().yields(),
        TableColumn::new("TOLERATION").only_wide(),
        TableColumn::new("WORKLOAD").only_wide(),
        TableColumn::new("SINCE").only_wide(),
        TableColumn::new("CEILING").only_wide(),
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
        let held = |(at, period)| format!("spec.tolerations[{at}] for {}", messages::period(period));
        let workload = row.workload.as_ref().map(ToString::to_string);
        cells.extend([
            row.pod.as_str().into(),
            row.node.as_str().into(),
            leaves(row, now),
            row.taint.strip_suffix(":NoExecute").unwrap_or(&row.taint).into(),
            row.toleration.map_or_else(|| "<none>".to_owned(), held).into(),
            workload.unwrap_or_else(|| "<unknown>".to_owned()).into(),
            at_moment(now, row.countdown_started_at).into(),
            row.ceiling_at.map_or_else(|| "<none>".to_owned(), |at| at_moment(now, at)).into(),
        ]);
        table.push(cells);
    }
    table
}

/// `14:04:11, in 4m11s`, `now`, `waits for a budget, due since 13:55:00, 5m ago`, `overdue since 13:55:00, 5m ago`: a controller has a moment to act.
fn leaves(row: &PendingRow, now: Now) -> TableCell {
    if let Some(delay) = &row.delay {
        return TableCell::new(format!("{}, due since {}", delay.words(), at_moment(now, row.evicted_at)));
    }
    match row.evicted_at.plus(OVERDUE_AFTER) <= now.mono {
        true => {
            TableCell::new(format!("overdue since {}", at_moment(now, row.evicted_at))).colored(Color::Red)
        }
        false if row.is_overdue(now) => TableCell::new("now").colored(Color::Red),
        false => TableCell::new(moment(now, row.evicted_at)),
    }
}
