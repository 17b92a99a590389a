//! Draws the dashboard and redraws it after changes, within the size of the terminal.
//!
//! - See `cluster_view.rs` and `event_log.rs` for its contents.

use super::cluster_view::{ClusterView, NodeRow};
use super::event_log::EventLog;
use crate::cluster_change::OVERDUE_AFTER;
use crate::output::{age, harmless};
use std::collections::VecDeque;
use std::io::Write as _;
use std::time::Duration;
use taintward_core::time::{Mono, Span};
use taintward_sandbox::world::World;
use tokio::time::MissedTickBehavior;

/// The interval between two drawings.
const TICK: Duration = Duration::from_millis(250);

/// The minimum numbers of lines for nodes and for decisions; hints use the rest.
const NODES_SHOWN: usize = 6;
const DECISIONS_SHOWN: usize = 4;

/// The number of decisions that the dashboard keeps; no terminal has more lines.
const DECISIONS_MAX: usize = 500;

/// The minimum width of the column NEXT EVICTIONS: a time and the beginning of a pod's name.
const EVICTIONS_LEAST: usize = 24;

/// The assumed size of a terminal that does not report its size.
const SIZE: (usize, usize) = (80, 24);

/// Draws until dropped.
pub(crate) async fn run(world: &World, introduction: &[String]) {
    let mut scene = ClusterView::new(world.server().clone());
    let mut log = EventLog::follow(world);
    let mut happened = VecDeque::new();
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The cursor is hidden while the dashboard is visible.
    print("\x1b[?25l\x1b[2J");
    loop {
        tokio::select! {
            lines = log.next() => {
                let at = jiff::Zoned::now().strftime("%H:%M:%S").to_string();
                happened.extend(lines.into_iter().map(|line| format!("{at}  {line}")));
                happened.drain(..happened.len().saturating_sub(DECISIONS_MAX));
            }
            _ = tick.tick() => {
                let rows = scene.rows(log.deadlines.rows());
                print(&drawn(introduction, &rows, &happened, size(), log.deadlines.now().mono));
            }
        }
    }
}

/// Restores the cursor.
pub(crate) fn leave() {
    print("\x1b[?25h\n");
}

fn print(text: &str) {
    let mut out = std::io::stdout();
    // An error means that the terminal is closed.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn size() -> (usize, usize) {
    let found = terminal_size::terminal_size();
    found.map_or(SIZE, |(width, height)| (usize::from(width.0).max(20), usize::from(height.0).max(10)))
}

/// The whole picture.
fn drawn(
    introduction: &[String],
    nodes: &[NodeRow],
    happened: &VecDeque<String>,
    (columns, rows): (usize, usize),
    now: Mono,
) -> String {
    // If the rows do not suffice for nodes and decisions, the commands to try are omitted first, then the addresses.
    let essential = introduction.iter().position(String::is_empty).unwrap_or(introduction.len());
    let wanted = nodes.len().min(NODES_SHOWN) + DECISIONS_SHOWN + 5;
    let heads = [introduction.len(), essential, 1, 0];
    let head = heads.into_iter().find(|head| head + wanted <= rows).unwrap_or(usize::from(rows > 12));
    let mut lines: Vec<String> = introduction[..head.min(introduction.len())].to_vec();
    if head > 0 {
        lines.push(String::new());
    }
    let room = rows.saturating_sub(lines.len() + DECISIONS_SHOWN + 5).max(3);
    lines.extend(table(nodes.get(..room).unwrap_or(nodes), columns, now));
    if nodes.len() > room {
        lines.push(format!("... and {} more nodes", nodes.len() - room));
    }
    lines.push(String::new());
    lines.push("DECISIONS (Ctrl-C stops the sandbox)".to_owned());
    let left = rows.saturating_sub(lines.len() + 1);
    let first = happened.len().saturating_sub(left);
    lines.extend(happened.iter().skip(first).cloned());
    let mut text = "\x1b[H".to_owned();
    for line in lines.iter().take(rows.saturating_sub(1)) {
        text += &cut(&harmless(line), columns);
        text += "\x1b[K\r\n";
    }
    text + "\x1b[J"
}

/// Nodes with their heading, as wide as their contents; the column TAINTS shrinks first.
fn table(nodes: &[NodeRow], columns: usize, now: Mono) -> Vec<String> {
    let cells = |node: &NodeRow| {
        let taints = if node.taints.is_empty() { "-".to_owned() } else { node.taints.join(" ") };
        [node.name.clone(), node.zone.clone(), node.state.clone(), node.pods.to_string(), taints]
    };
    let mut table = vec![["NODE", "ZONE", "STATE", "PODS", "TAINTS"].map(String::from)];
    table.extend(nodes.iter().map(cells));
    let width = |column: usize| table.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let mut widths = [width(0), width(1), width(2), width(3), width(4)];
    let fixed: usize = widths[..4].iter().sum::<usize>() + 10;
    widths[4] = widths[4].min(columns.saturating_sub(fixed + EVICTIONS_LEAST).max(8));
    let evictions =
        std::iter::once("NEXT EVICTIONS".to_owned()).chain(nodes.iter().map(|node| evictions(node, now)));
    let line = |(row, evictions): (&[String; 5], String)| {
        let [name, zone, state, pods, taints] = row;
        let [name_width, zone_width, state_width, pods_width, taints_width] = widths;
        let taints = cut(taints, taints_width);
        format!(
            "{name:<name_width$}  {zone:<zone_width$}  {state:<state_width$}  {pods:>pods_width$}  \
             {taints:<taints_width$}  {evictions}"
        )
    };
    table.iter().zip(evictions).map(line).collect()
}

/// The pods that will be evicted from a node, the next first; the time precedes the name, so that it is not cut off.
fn evictions(node: &NodeRow, now: Mono) -> String {
    let each = node.evictions.iter().map(|(pod, at)| format!("{} {pod}", countdown(now, *at)));
    each.collect::<Vec<_>>().join(", ")
}

/// `in 4m12s`, `now`, `overdue 12s`: the words of the board.
fn countdown(now: Mono, at: Mono) -> String {
    let (left, late) = (at.since(now), now.since(at));
    if left >= Span::from_secs(1) {
        format!("in {}", age(left))
    } else if late < OVERDUE_AFTER {
        "now".to_owned()
    } else {
        format!("overdue {}", age(late))
    }
}

/// Limits a line to `columns`.
fn cut(line: &str, columns: usize) -> String {
    match line.char_indices().nth(columns) {
        None => line.to_owned(),
        Some(_) => line.chars().take(columns.saturating_sub(1)).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_fits() {
        let node = |index: usize| NodeRow {
            name: format!("n{index}"),
            zone: "z1".into(),
            state: "Ready".into(),
            taints: vec!["maintenance=now:NoExecute".into()],
            pods: 7,
            evictions: vec![
                ("shop/web-1".into(), Mono::from_secs(130)),
                ("shop/a-very-long-name-of-a-pod".into(), Mono::from_secs(300)),
            ],
        };
        let nodes: Vec<NodeRow> = (1..60).map(node).collect();
        let happened = (0..100).map(|index| format!("line {index}")).collect();
        let text = drawn(&["hello".into()], &nodes, &happened, (80, 24), Mono::from_secs(0));
        let lines: Vec<&str> = text.trim_start_matches("\x1b[H").split("\x1b[K\r\n").collect();
        assert!(lines.len() <= 24, "{}", lines.len());
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:#?}");
        assert!(text.contains("in 2m10s shop/web-1"), "{text}");
        assert!(text.contains("line 99"), "the latest is shown");
        assert!(!text.contains("line 1\x1b"), "the oldest is not");
        assert!(text.contains("more nodes"));
    }

    #[test]
    fn nodes_and_decisions_have_priority_over_hints() {
        let node = |index: usize| NodeRow {
            name: format!("n{index}"),
            zone: "z1".into(),
            state: "Not ready, cordoned, silenced".into(),
            taints: vec!["node.kubernetes.io/unreachable:NoExecute".into()],
            pods: 7,
            evictions: vec![("shop/cart-5e0362fb99-zgl2x".into(), Mono::from_secs(42))],
        };
        let nodes: Vec<NodeRow> = (1..=6).map(node).collect();
        let hints = ["where it is", "export", "", "Try", "this", "or this"].map(String::from);
        let happened: VecDeque<String> = ["something".to_owned()].into();
        for (size, hinted) in [((80, 40), true), ((80, 16), false), ((40, 10), false)] {
            let text = drawn(&hints, &nodes, &happened, size, Mono::from_secs(0));
            assert_eq!(text.contains("or this"), hinted, "{size:?}: {text}");
            assert!(text.contains("n1 ") && text.contains("something"), "{size:?}: {text}");
            assert!(size.0 < 80 || text.contains("in 42s shop/cart-"), "{size:?}: {text}");
        }
    }

    #[test]
    fn countdowns_have_the_words_of_the_board() {
        let at = |seconds: f64| {
            #[allow(clippy::cast_possible_truncation, reason = "tenths of seconds")]
            let now = Mono::from_micros((seconds * 1e6) as i64);
            countdown(now, Mono::from_secs(300))
        };
        assert_eq!(at(0.0), "in 5m");
        assert_eq!(at(48.0), "in 4m12s");
        assert_eq!(at(299.0), "in 1s");
        assert_eq!(at(299.1), "now");
        assert_eq!(at(304.9), "now");
        assert_eq!(at(305.0), "overdue 5s");
    }
}
