//! Prints the taints of nodes with age and note (`--list`).
//!
//! - Invariant: text from the cluster cannot control a terminal.

use super::node_write_error::NodeWriteError;
use super::taint_args::{TaintArgs, TaintOutputFormat};
use crate::messages::with_zone;
use crate::output::{Terminal, harmless};
use crate::taint_note::TaintNote;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use taintward_core::taint::Taint;
use taintward_core::time::{Now, Wall};
use taintward_kube::clock::Clock;
use taintward_kube::node_client::{EditableNode, NodeClient};

/// A row of the table, and the lines below it.
struct TaintRow {
    node: String,
    taint: String,
    since: String,
    note: Option<String>,
}

/// Prints the taints of these nodes, in order, with ages by the API server's clock. Returns the failed reads.
pub(super) async fn show(options: &TaintArgs, nodes: &NodeClient, names: &[String]) -> Vec<NodeWriteError> {
    let (mut rows, mut failures) = (Vec::new(), Vec::new());
    let mut now = Clock::system().now().wall;
    for name in names {
        match nodes.read(name).await {
            Ok(response) => match EditableNode::read(&response.body) {
                Ok(node) => {
                    now = response.date.unwrap_or(now);
                    rows.extend(of(name, &node, now));
                }
                Err(why) => failures.push(NodeWriteError::Reasons(vec![format!(
                    "node {name}: cannot decode the API server's response: {why}"
                )])),
            },
            Err(complaint) => failures.push(complaint.into()),
        }
    }
    let text = match options.output {
        TaintOutputFormat::Name => names.iter().map(|name| format!("node/{name}\n")).collect(),
        _ => table(&rows, &with_zone("SINCE", moment_of(now)), Terminal::of_standard_output(false)),
    };
    if let Err(why) = io::stdout().write_all(text.as_bytes())
        && why.kind() != io::ErrorKind::BrokenPipe
    {
        failures.push(NodeWriteError::Reasons(vec![format!("cannot print the table: {why}")]));
    }
    failures
}

fn of(name: &str, node: &EditableNode, now: Wall) -> Vec<TaintRow> {
    let fact = node.fact();
    let name = harmless(name);
    if fact.taints.is_empty() {
        return vec![TaintRow { node: name, taint: "<none>".to_owned(), since: String::new(), note: None }];
    }
    let each = fact.taints.iter().map(|taint| {
        let note = TaintNote::about(taint, |key| node.annotation(key)).and_then(|note| noted(&note, now));
        TaintRow {
            node: name.clone(),
            taint: harmless(&taint.to_string()),
            since: since(taint, node.taints_changed(), now),
            note,
        }
    });
    each.collect()
}

/// The taint's own time, or the time of the list's last change, which is the same or later.
fn since(taint: &Taint, changed: Option<Wall>, now: Wall) -> String {
    match (taint.time_added, changed) {
        (Some(at), _) => moment(at, now),
        (None, Some(at)) => format!("{} or earlier", moment(at, now)),
        (None, None) => "<unknown>".to_owned(),
    }
}

fn noted(note: &TaintNote, now: Wall) -> Option<String> {
    let reason = note.reason.as_deref().map(harmless);
    let until = note.until.map(|until| match until <= now {
        true => format!("expired at {}", moment(until, now)),
        false => format!("until {}", moment(until, now)),
    });
    match (until, reason) {
        (None, None) => None,
        (Some(one), None) | (None, Some(one)) => Some(one),
        (Some(until), Some(reason)) => Some(format!("{until}: {reason}")),
    }
}

/// `14:03:11, 4m12s ago`, with the date if it is another day.
fn moment(at: Wall, now: Wall) -> String {
    let zone = jiff::tz::TimeZone::system();
    let local =
        |wall: Wall| jiff::Timestamp::from_microsecond(wall.as_micros()).map(|at| at.to_zoned(zone.clone()));
    let (Ok(then), Ok(today)) = (local(at), local(now)) else { return "<unknown>".to_owned() };
    let form = if then.date() == today.date() { "%H:%M:%S" } else { "%Y-%m-%d %H:%M:%S" };
    let seconds = at.as_micros().saturating_sub(now.as_micros()).div_euclid(1_000_000);
    let length = length(seconds.unsigned_abs());
    let relative = if seconds > 0 { format!("in {length}") } else { format!("{length} ago") };
    format!("{}, {relative}", then.strftime(form))
}

/// Two units at most: `4m12s`, `3h5m`, `12d4h`.
fn length(seconds: u64) -> String {
    let two = |large: u64, small: u64, (long, short): (&str, &str)| match small {
        0 => format!("{large}{long}"),
        _ => format!("{large}{long}{small}{short}"),
    };
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => two(seconds / 60, seconds % 60, ("m", "s")),
        3600..86400 => two(seconds / 3600, seconds % 3600 / 60, ("h", "m")),
        _ => two(seconds / 86400, seconds % 86400 / 3600, ("d", "h")),
    }
}

/// The monotonic time is not used here.
fn moment_of(wall: Wall) -> Now {
    Now::of_wall(wall)
}

/// Columns side by side if they fit; otherwise each below the other.
fn table(rows: &[TaintRow], since: &str, paper: Terminal) -> String {
    let widest = |column: fn(&TaintRow) -> &str, head: &str| {
        rows.iter().map(|row| column(row).chars().count()).max().unwrap_or(0).max(head.len())
    };
    let (node, taint) = (widest(|row| &row.node, "NODE"), widest(|row| &row.taint, "TAINT"));
    // Programs get columns, however wide.
    let fits = !paper.is_terminal || node + taint + widest(|row| &row.since, since) + 6 <= paper.width;
    let mut text = String::new();
    // Writing to a string does not fail.
    let mut line = |line: String| {
        let _ = writeln!(text, "{}", line.trim_end());
    };
    if fits && !rows.is_empty() {
        line(format!("{:node$}   {:taint$}   {since}", "NODE", "TAINT"));
    }
    let mut last = "";
    for row in rows {
        if fits {
            line(format!("{:node$}   {:taint$}   {}", row.node, row.taint, row.since));
        } else {
            if row.node != last {
                line(row.node.clone());
            }
            line(format!("  {}", row.taint));
            if !row.since.is_empty() {
                line(format!("    since {}", row.since));
            }
        }
        if let Some(note) = &row.note {
            line(format!("    {note}"));
        }
        last = &row.node;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(node: &str, taint: &str, note: Option<&str>) -> TaintRow {
        let since = "14:03:11, 4m12s ago".to_owned();
        TaintRow { node: node.into(), taint: taint.into(), since, note: note.map(str::to_owned) }
    }

    #[test]
    fn columns_are_side_by_side_if_they_fit() {
        let rows = [
            row("n1", "a=b:NoExecute", Some("until 15:00:00, in 1h: disk")),
            row("n22", "c:NoSchedule", None),
        ];
        let expected = "\
NODE   TAINT           SINCE
n1     a=b:NoExecute   14:03:11, 4m12s ago
    until 15:00:00, in 1h: disk
n22    c:NoSchedule    14:03:11, 4m12s ago
";
        let paper = |width| Terminal { width, paints: false, is_terminal: true };
        assert_eq!(table(&rows, "SINCE", paper(80)), expected);
        let stacked = "\
n1
  a=b:NoExecute
    since 14:03:11, 4m12s ago
    until 15:00:00, in 1h: disk
n22
  c:NoSchedule
    since 14:03:11, 4m12s ago
";
        assert_eq!(table(&rows, "SINCE", paper(40)), stacked);
        let piped = Terminal { is_terminal: false, ..paper(40) };
        assert_eq!(table(&rows, "SINCE", piped), expected, "a pipe has no width");
        assert_eq!(table(&[], "SINCE", paper(80)), "");
    }

    #[test]
    fn lengths_have_two_units_at_most() {
        let lengths = [0, 59, 60, 252, 3600, 7500, 86400, 1_000_000].map(length);
        assert_eq!(lengths, ["0s", "59s", "1m", "4m12s", "1h", "2h5m", "1d", "11d13h"]);
    }
}
