//! # Board: the cluster at a glance
//! Room:     a screen that is drawn again when something changes: nodes, taints, countdowns, what happened.
//! Comes in: a world.
//! Goes out: at most as many lines and columns as the terminal has.
//! Not here: what is shown (`scene.rs`, `feed.rs`).

use super::feed;
use super::scene::{Row, Scene};
use std::collections::VecDeque;
use std::io::Write as _;
use std::time::Duration;
use taintward_core::time::Span;
use taintward_sandbox::world::World;

/// How often countdowns are drawn.
const TICK: Duration = Duration::from_millis(250);

/// What is assumed of a terminal that says nothing.
const SIZE: (usize, usize) = (80, 24);

/// Draws until dropped.
pub(crate) async fn run(world: &World, introduction: &[String], speed: f64) {
    let mut scene = Scene::new(world.server().clone());
    let mut lines = feed::follow(world);
    let mut happened = VecDeque::new();
    // The cursor is hidden while the board stands.
    print("\x1b[?25l\x1b[2J");
    loop {
        while let Ok(line) = lines.try_recv() {
            let at = jiff::Zoned::now().strftime("%H:%M:%S").to_string();
            happened.push_back(format!("{at}  {line}"));
        }
        let (columns, rows) = size();
        while happened.len() > rows {
            happened.pop_front();
        }
        print(&drawn(introduction, &scene.rows(), &happened, (columns, rows), speed));
        tokio::time::sleep(TICK).await;
    }
}

/// Gives the terminal back.
pub(crate) fn leave() {
    print("\x1b[?25h\n");
}

fn print(text: &str) {
    let mut out = std::io::stdout();
    // A terminal that is gone needs no picture.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn size() -> (usize, usize) {
    let found = terminal_size::terminal_size();
    found.map_or(SIZE, |(width, height)| (usize::from(width.0).max(20), usize::from(height.0).max(10)))
}

/// The whole picture.
fn drawn(
    introduction: &[String],
    nodes: &[Row],
    happened: &VecDeque<String>,
    (columns, rows): (usize, usize),
    speed: f64,
) -> String {
    let mut lines: Vec<String> = introduction.to_vec();
    lines.push(String::new());
    lines.push(format!(
        "{:<6}{:<5}{:<17}{:>4}  {:<26}{}",
        "NODE", "ZONE", "STATE", "PODS", "TAINTS", "LEAVING"
    ));
    let room = rows.saturating_sub(lines.len() + 6).max(3);
    lines.extend(nodes.iter().take(room).map(|node| row(node, speed)));
    if nodes.len() > room {
        lines.push(format!("... and {} more nodes", nodes.len() - room));
    }
    lines.push(String::new());
    lines.push("WHAT HAPPENED (Ctrl-C ends)".to_owned());
    let left = rows.saturating_sub(lines.len() + 1);
    let first = happened.len().saturating_sub(left);
    lines.extend(happened.iter().skip(first).cloned());
    let mut text = "\x1b[H".to_owned();
    for line in lines.iter().take(rows.saturating_sub(1)) {
        text += &cut(line, columns);
        text += "\x1b[K\r\n";
    }
    text + "\x1b[J"
}

fn row(node: &Row, speed: f64) -> String {
    let Row { name, zone, state, taints, pods, leaving } = node;
    let taints = if taints.is_empty() { "-".to_owned() } else { taints.join(" ") };
    let leaving: Vec<String> =
        leaving.iter().map(|(pod, due)| format!("{pod} {}", countdown(*due, speed))).collect();
    format!("{name:<6}{zone:<5}{state:<17}{pods:>4}  {taints:<26}{}", leaving.join(", "))
}

/// `in 42s`, `now`; in the time of whoever watches.
fn countdown(due: Span, speed: f64) -> String {
    let seconds = due.as_secs_f64() / speed;
    match seconds {
        gone if gone <= 0.0 => "now".to_owned(),
        short if short < 100.0 => format!("in {:.0}s", short.ceil()),
        long => format!("in {:.0}m{:02.0}s", (long / 60.0).floor(), long % 60.0),
    }
}

/// At most so many columns.
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
        let node = |index: usize| Row {
            name: format!("n{index}"),
            zone: "z1".into(),
            state: "Ready".into(),
            taints: vec!["maintenance=now:NoExecute".into()],
            pods: 7,
            leaving: vec![
                ("web-1".into(), Span::from_secs(130)),
                ("a-very-long-name-of-a-pod".into(), Span::ZERO),
            ],
        };
        let nodes: Vec<Row> = (1..60).map(node).collect();
        let happened = (0..100).map(|index| format!("line {index}")).collect();
        let text = drawn(&["hello".into()], &nodes, &happened, (80, 24), 1.0);
        let lines: Vec<&str> = text.trim_start_matches("\x1b[H").split("\x1b[K\r\n").collect();
        assert!(lines.len() <= 24, "{}", lines.len());
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:#?}");
        assert!(text.contains("web-1 in 2m10s"), "{text}");
        assert!(text.contains("line 99"), "the latest is shown");
        assert!(!text.contains("line 1\x1b"), "the oldest is not");
        assert!(text.contains("more nodes"));
    }

    #[test]
    fn countdowns_read_well() {
        assert_eq!(countdown(Span::ZERO, 1.0), "now");
        assert_eq!(countdown(Span::from_millis(1200), 1.0), "in 2s");
        assert_eq!(countdown(Span::from_secs(600), 60.0), "in 10s");
        assert_eq!(countdown(Span::from_secs(300), 1.0), "in 5m00s");
    }
}
