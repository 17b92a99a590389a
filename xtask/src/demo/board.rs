//! Draws the demo: one line per pod, redrawn on a terminal.

use super::stage::{DemoCluster, DemoPod};
use std::io::IsTerminal as _;
use taintward_core::time::Span;
use taintward_core::toleration::TolerationPeriod;
use taintward_core::toleration_matching::TaintMatch;
use taintward_core::verdict::{Outcome, StayReason};

const DIM: &str = "\x1b[2m";
const GREEN: &str = "\x1b[32m";
const YELLOW: &str = "\x1b[33m";
const RED: &str = "\x1b[31m";
const BOLD: &str = "\x1b[1m";
const PLAIN: &str = "\x1b[0m";

pub(crate) struct DemoBoard {
    live: bool,
    /// Lines on the screen that the next drawing replaces.
    drawn: usize,
    /// The last printed state of each pod, without its countdown.
    said: Vec<String>,
}

/// One pod's line.
struct DemoRow {
    colour: &'static str,
    state: String,
    why: String,
    /// Differs only if something happened; the progress of a countdown is not news.
    news: String,
}

impl DemoBoard {
    pub(crate) fn new() -> Self {
        Self { live: std::io::stdout().is_terminal(), drawn: 0, said: Vec::new() }
    }

    /// Prints what the demo does to the cluster.
    pub(crate) fn caption(&mut self, stage: &DemoCluster, text: &str) {
        self.wipe();
        anstream::println!("{BOLD}{:>5.1} s  {text}{PLAIN}", stage.elapsed().as_secs_f64());
    }

    /// Shows which pods are evicted, which have a countdown, which stay, and why.
    pub(crate) fn show(&mut self, stage: &DemoCluster) {
        let rows: Vec<DemoRow> = stage.actors.iter().map(|actor| row(stage, actor)).collect();
        if self.live {
            self.wipe();
            // Long lines are cut, not wrapped: otherwise one line would be two to wipe.
            print!("\x1b[?7l");
            anstream::println!("{DIM}         {:<7} {:<12} {:<11} WHY{PLAIN}", "NODE", "POD", "STATE");
            for (actor, row) in stage.actors.iter().zip(&rows) {
                print_row(String::new(), actor, row);
            }
            print!("\x1b[?7h");
            self.drawn = rows.len() + 1;
            return;
        }
        let first = self.said.is_empty();
        self.said.resize(rows.len(), String::new());
        for ((actor, row), said) in stage.actors.iter().zip(rows).zip(&mut self.said) {
            if *said != row.news {
                let stamp = format!("{:>5.1} s", stage.elapsed().as_secs_f64());
                if !first {
                    print_row(stamp, actor, &row);
                }
                *said = row.news;
            }
        }
    }

    /// Prints the last state and a summary.
    pub(crate) fn close(&mut self, stage: &DemoCluster) {
        if !self.live {
            anstream::println!("{BOLD}{:>5.1} s  at the end{PLAIN}", stage.elapsed().as_secs_f64());
            for actor in &stage.actors {
                print_row(String::new(), actor, &row(stage, actor));
            }
        }
        let left: Vec<_> = stage.actors.iter().filter_map(|actor| actor.left).collect();
        let lateness = left.iter().filter_map(|(at, due)| due.map(|due| at.since(due).as_secs_f64()));
        let worst = lateness.fold(0.0, f64::max);
        anstream::println!(
            "\n{} pods left, none early, the slowest one {worst:.1} s after its deadline; {} stayed.",
            left.len(),
            stage.actors.len() - left.len(),
        );
    }

    fn wipe(&mut self) {
        if self.drawn > 0 {
            print!("\x1b[{}A\x1b[J", self.drawn);
            self.drawn = 0;
        }
    }
}

fn print_row(stamp: String, actor: &DemoPod, row: &DemoRow) {
    let (colour, state) = (row.colour, &row.state);
    anstream::println!(
        "{stamp:>7}  {:<7} {:<12} {colour}{state:<11}{PLAIN} {DIM}{}{PLAIN}",
        actor.node,
        actor.name,
        row.why
    );
}

fn row(stage: &DemoCluster, actor: &DemoPod) -> DemoRow {
    let why = why(actor);
    let (colour, state, news) = match (actor.left, actor.verdict.outcome) {
        (Some((at, due)), _) => {
            let late = due.map_or(0.0, |due| at.since(due).as_secs_f64());
            return DemoRow {
                colour: DIM,
                state: "gone".into(),
                why: format!("{late:.1} s after its deadline: {why}"),
                news: "gone".into(),
            };
        }
        (None, Outcome::Leaves { .. }) => (RED, "leaves now".into(), "now".to_owned()),
        (None, Outcome::StaysUntil(due)) => {
            (YELLOW, format!("in {}", seconds(due.since(stage.now()))), format!("{due:?}"))
        }
        (None, Outcome::Stays(_)) => (GREEN, "stays".into(), format!("stays {why}")),
    };
    DemoRow { colour, state, why, news }
}

/// Whole seconds, rounded up: a countdown shows 1 until it is over. Long countdowns in minutes, also rounded up.
fn seconds(span: Span) -> String {
    match span.as_micros().saturating_add(999_999) / 1_000_000 {
        seconds @ ..120 => format!("{seconds}s"),
        seconds => format!("{}m", seconds.saturating_add(59) / 60),
    }
}

fn why(actor: &DemoPod) -> String {
    let verdict = &actor.verdict;
    if verdict.outcome == Outcome::Stays(StayReason::NoTaint) {
        return "its node has no NoExecute taint".into();
    }
    let position = verdict.decisive.unwrap_or(0);
    let (Some(reason), Some(instance)) = (verdict.reasons.get(position), actor.taints.get(position)) else {
        return String::new();
    };
    let taint = &instance.taint;
    match (reason.taint_match, reason.patience) {
        (TaintMatch::Tolerated(_), Some(TolerationPeriod::For(span))) => {
            format!("tolerates {taint} for {}", seconds(span))
        }
        (TaintMatch::Tolerated(_), _) => format!("tolerates {taint} without a limit"),
        (TaintMatch::Untolerated, _) => format!("does not tolerate {taint}"),
        (TaintMatch::Unsupported(_), _) => format!("its toleration of {taint} is not supported"),
    }
}
