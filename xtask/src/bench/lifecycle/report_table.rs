//! Formats the table of docs/benchmarks-lifecycle.md.

use super::readings::{LifecycleReading, LifecycleReadings};
use super::{LifecycleContender, LifecycleSizes};
use crate::bench::report::{command, machine, met};
use std::fmt::Write as _;

/// The seconds between renewals in a cluster with default settings.
const USUAL: f64 = 10.0;

/// The form of a goal.
#[derive(Clone, Copy)]
enum LifecycleGoal {
    None,
    /// The reading of kube-controller-manager divided by Taintward's is at least this.
    Smaller(f64),
    /// Taintward's reading is at most this.
    AtMost(f64),
}

struct LifecycleLine {
    label: String,
    ours: f64,
    original: f64,
    show: fn(f64) -> String,
    goal: LifecycleGoal,
}

pub(super) fn table(sizes: &LifecycleSizes, readings: &LifecycleReadings) -> String {
    let mut text =
        "| | Taintward | kube-controller-manager | ratio | goal | |\n|---|---:|---:|---:|---:|---|\n"
            .to_owned();
    for line in lines(sizes, readings) {
        let ratio = line.original / line.ours;
        let (goal, met) = match line.goal {
            LifecycleGoal::None => (String::new(), ""),
            LifecycleGoal::Smaller(least) => (format!("1/{least:.0}"), met(ratio >= least)),
            LifecycleGoal::AtMost(most) => (format!("≤ {}", (line.show)(most)), met(line.ours <= most)),
        };
        let (ours, original) = ((line.show)(line.ours), (line.show)(line.original));
        let _ = writeln!(text, "| {} | {ours} | {original} | 1/{ratio:.1} | {goal} | {met} |", line.label);
    }
    text
}

fn lines(sizes: &LifecycleSizes, readings: &LifecycleReadings) -> Vec<LifecycleLine> {
    let both = |of: fn(&LifecycleReading) -> f64| {
        (readings.few(LifecycleContender::Ours, of), readings.few(LifecycleContender::Original, of))
    };
    let many = |of: fn(&LifecycleReading) -> f64| {
        (readings.many(LifecycleContender::Ours, of), readings.many(LifecycleContender::Original, of))
    };
    let line = |label: String, (ours, original): (f64, f64), show, goal| LifecycleLine {
        label,
        ours,
        original,
        show,
        goal,
    };
    let (few, lot) = (sizes.nodes, sizes.many);
    let usual = |per_renewal: f64| per_renewal * sizes.many as f64 / USUAL;
    let here = many(LifecycleReading::share);
    let scaled = many(LifecycleReading::per_renewal);
    vec![
        line(
            format!("{few} nodes: processor time for each renewal"),
            both(LifecycleReading::per_renewal),
            microseconds,
            LifecycleGoal::Smaller(10.0),
        ),
        line(
            format!("{few} nodes: share of a core"),
            both(LifecycleReading::share),
            percent,
            LifecycleGoal::None,
        ),
        line(
            format!("{few} nodes: memory"),
            both(|reading| reading.resident),
            megabytes,
            LifecycleGoal::Smaller(20.0),
        ),
        line(
            "from the end of the grace period to the taint, median".into(),
            (readings.delay(LifecycleContender::Ours), readings.delay(LifecycleContender::Original)),
            seconds,
            LifecycleGoal::AtMost(1.0),
        ),
        line(
            "the same, maximum".into(),
            (
                readings.longest_delay(LifecycleContender::Ours),
                readings.longest_delay(LifecycleContender::Original),
            ),
            seconds,
            LifecycleGoal::None,
        ),
        line(
            format!("{lot} nodes: share of a core, each renewing every {} s", sizes.many_period.as_secs()),
            here,
            percent,
            LifecycleGoal::None,
        ),
        line(
            format!(
                "{lot} nodes: share of a core at a renewal every {USUAL:.0} s, computed from the processor time for each"
            ),
            (usual(scaled.0), usual(scaled.1)),
            percent,
            LifecycleGoal::AtMost(0.05),
        ),
        line(
            format!("{lot} nodes: memory"),
            many(|reading| reading.resident),
            megabytes,
            LifecycleGoal::None,
        ),
    ]
}

fn microseconds(seconds: f64) -> String {
    format!("{:.0} µs", seconds * 1e6)
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn megabytes(bytes: f64) -> String {
    format!("{:.1} MB", bytes / 1e6)
}

fn seconds(seconds: f64) -> String {
    format!("{seconds:.2} s")
}

/// The whole document.
pub(super) fn page(sizes: &LifecycleSizes, rounds: usize, table: &str) -> String {
    format!(
        "# Node lifecycle compared with kube-controller-manager\n\nMade by `cargo xtask {}`: `taintward run` and \
         kube-controller-manager v1.36.3, each with only node-lifecycle-controller and default flags, except the grace period \
         ({} s; {} s for the big fleet) and the client limits of kube-controller-manager, which are lifted. They take turns on \
         the same nodes of one API server with etcd 3.6.16; rounds: {rounds}. {} nodes in {} zones, with a status of about \
         4 KB, each renew their lease every {} s. {} nodes each renew it every {} s, because two cores cannot process more \
         writes beside the rest. {}\n\nProcessor time is the time that the process used in {} s at rest, divided by the \
         renewals that the API server answered in that time. The delay counts from the last renewal that the API server \
         answered.\n\n{table}",
        command(),
        sizes.grace.as_secs(),
        sizes.many_grace.as_secs(),
        sizes.nodes,
        sizes.zones,
        sizes.period.as_secs(),
        sizes.many,
        sizes.many_period.as_secs(),
        machine(),
        sizes.window.as_secs(),
    )
}
