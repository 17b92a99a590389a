//! Formats the table of docs/benchmarks.md, and keeps the text below its marker.

use super::measure::{BenchResults, MeasuredRow};
use super::{BenchArgs, BenchContender};
use crate::sources;
use anyhow::{Context as _, Result};
use serde_json::Value;
use std::fs;
use std::process::Command;
use taintward_envtest::Cluster;

/// The text below this line is written by hand; the benchmark keeps it.
const MARKER: &str = "<!-- notes: written by hand, kept by `cargo xtask bench` -->";

/// The form of a goal.
enum ReportGoal {
    /// The reading of kube-controller-manager divided by Taintward's is at least this.
    Smaller(f64),
    /// Taintward's reading divided by that of this column is at least this.
    Times(BenchContender, f64),
}

/// One line of the table.
struct ReportLine {
    label: &'static str,
    row: MeasuredRow,
    /// The contender in the first column.
    ours: BenchContender,
    show: fn(f64) -> String,
    goal: Option<ReportGoal>,
}

const fn line(
    label: &'static str,
    row: MeasuredRow,
    show: fn(f64) -> String,
    goal: Option<ReportGoal>,
) -> ReportLine {
    ReportLine { label, row, ours: BenchContender::Ours, show, goal }
}

const LINES: [ReportLine; 13] = [
    line(
        "memory, all pods listed, at rest",
        MeasuredRow::Resident,
        megabytes,
        Some(ReportGoal::Smaller(50.0)),
    ),
    line("memory, peak", MeasuredRow::Peak, megabytes, None),
    line("processor time to list all pods", MeasuredRow::SyncCpu, seconds, Some(ReportGoal::Smaller(20.0))),
    line("time until ready", MeasuredRow::SyncTime, seconds, None),
    line(
        "evictions per second, against the floor",
        MeasuredRow::Rate,
        rate,
        Some(ReportGoal::Times(BenchContender::Floor, 0.95)),
    ),
    line(
        "evictions per second, against kube-controller-manager",
        MeasuredRow::Rate,
        rate,
        Some(ReportGoal::Times(BenchContender::Original, 1.0)),
    ),
    line("processor time for them", MeasuredRow::RateCpu, seconds, Some(ReportGoal::Smaller(5.0))),
    line(
        "evictions per second on busy cores, against kube-controller-manager",
        MeasuredRow::ContendedRate,
        rate,
        Some(ReportGoal::Times(BenchContender::Original, 1.2)),
    ),
    line(
        "processor time for them, on busy cores",
        MeasuredRow::ContendedCpu,
        seconds,
        Some(ReportGoal::Smaller(5.0)),
    ),
    ReportLine {
        label: "evictions per second, condition for jobs only, against kube-controller-manager",
        row: MeasuredRow::Rate,
        ours: BenchContender::Jobs,
        show: rate,
        goal: Some(ReportGoal::Times(BenchContender::Original, 2.5)),
    },
    ReportLine {
        label: "processor time for them, condition for jobs only",
        row: MeasuredRow::RateCpu,
        ours: BenchContender::Jobs,
        show: seconds,
        goal: None,
    },
    line(
        "from the taint to the deletion, one pod",
        MeasuredRow::One,
        milliseconds,
        Some(ReportGoal::Smaller(1.0 / 0.8)),
    ),
    line(
        "from the taint to the deletion, last of 100 pods",
        MeasuredRow::Last,
        milliseconds,
        Some(ReportGoal::Smaller(1.0)),
    ),
];

pub(crate) fn megabytes(bytes: f64) -> String {
    format!("{:.1} MB", bytes / 1e6)
}

pub(crate) fn seconds(seconds: f64) -> String {
    format!("{seconds:.2} s")
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.1} ms", seconds * 1e3)
}

fn rate(rate: f64) -> String {
    format!("{rate:.0}/s")
}

/// Prints the table; writes it into docs/benchmarks.md unless the run was quick, or skipped a measurement.
pub(crate) fn publish(arguments: &BenchArgs, results: &BenchResults) -> Result<()> {
    let table = table(results);
    println!("\n{table}");
    if arguments.quick {
        println!(
            "This was a quick run: the numbers are not meaningful, and docs/benchmarks.md is not changed."
        );
        return Ok(());
    }
    if LINES.iter().any(|line| results.median(line.row, line.ours).is_none()) {
        println!("The run skipped a measurement: docs/benchmarks.md is not changed.");
        return Ok(());
    }
    write_above_notes("benchmarks.md", &format!("{}\n{table}", head(arguments)))
}

/// Writes a page of `docs`, and keeps the notes below its marker.
pub(crate) fn write_above_notes(name: &str, text: &str) -> Result<()> {
    let old = fs::read_to_string(sources::root().join("docs").join(name)).unwrap_or_default();
    let notes = old.split_once(MARKER).map_or("\n", |(_, notes)| notes);
    write_page(name, &format!("{text}\n{MARKER}{notes}"))
}

/// Writes a page of `docs`.
pub(crate) fn write_page(name: &str, text: &str) -> Result<()> {
    let file = sources::root().join("docs").join(name);
    fs::write(&file, text)?;
    println!("written to {}", file.display());
    Ok(())
}

/// The arguments of this run.
pub(crate) fn command() -> String {
    std::env::args().skip(1).collect::<Vec<_>>().join(" ")
}

/// Whether a goal is met, as a table shows it.
pub(crate) const fn met(is_met: bool) -> &'static str {
    if is_met { "met" } else { "missed" }
}

/// The median of readings; not a number if there are none.
pub(crate) fn median(readings: impl IntoIterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = readings.into_iter().collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The version of the API server.
pub(crate) fn server_version(cluster: &Cluster) -> Result<String> {
    let versions = cluster.kubectl(["version", "--output=json"])?;
    let versions: Value = serde_json::from_str(&versions).context("kubectl's versions")?;
    Ok(versions["serverVersion"]["gitVersion"].as_str().unwrap_or("of an unknown version").to_owned())
}

fn head(arguments: &BenchArgs) -> String {
    let nodes = format!("{} nodes with {} pods each", arguments.nodes, arguments.pods_per_node);
    format!(
        "# Benchmarks\n\nGenerated by `cargo xtask {}`. Medians of {} rounds (latency: 7 and 3 repeats in each). The \
         contenders take turns against the same API server on the same machine.\n\n\
         - machine: {}, {} cores\n- {}; kube-apiserver and kube-controller-manager v1.36.3 (only \
         taint-eviction-controller and, for the index it needs, daemonset-controller; client limits lifted), etcd 3.6.16\n\
         - {} pods of about 4 KB for memory; {nodes} tainted at the same time for evictions\n- floor: a loop \
         that sends only the PATCH of the condition and the DELETE for known pods, 32 at a time\n- busy cores: in addition to the API \
         server, etcd and the contender, one thread for each core keeps it busy; {} nodes, {} rounds\n",
        command(),
        arguments.rounds(),
        processor(),
        std::thread::available_parallelism().map_or(0, usize::from),
        rustc(),
        arguments.pods,
        arguments.contended_nodes(),
        arguments.contended_rounds(),
    )
}

/// The machine and the compiler, in words.
pub(crate) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{}, {cores} cores; {}.", processor(), rustc())
}

fn processor() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    model.map_or_else(|| "unknown processor".to_owned(), |(_, name)| name.trim().to_owned())
}

fn rustc() -> String {
    let output = Command::new("rustc").arg("--version").output();
    output.map_or_else(|_| "rustc".into(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn table(results: &BenchResults) -> String {
    let columns = ["", "Taintward", "kube-controller-manager", "floor", "ratio", "goal", "", "earlier build"];
    let earlier = LINES.iter().any(|line| results.median(line.row, BenchContender::Earlier).is_some());
    let columns = &columns[..if earlier { 8 } else { 7 }];
    let mut cells = vec![columns.iter().map(|&name| name.to_owned()).collect::<Vec<_>>()];
    for line in &LINES {
        let reading = |who| results.median(line.row, who);
        let shown = |who| reading(who).map_or_else(|| "–".to_owned(), line.show);
        let (ratio, goal, met) = judge(line, &reading);
        let (original, floor) = (shown(BenchContender::Original), shown(BenchContender::Floor));
        let row = [line.label.into(), shown(line.ours), original, floor, ratio, goal, met];
        let before = Some(BenchContender::Earlier).filter(|_| earlier && line.ours == BenchContender::Ours);
        cells.push(row.into_iter().chain(earlier.then(|| before.map_or_else(String::new, shown))).collect());
    }
    let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let mut text = String::new();
    for (index, row) in cells.iter().enumerate() {
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let padding = " ".repeat(width - cell.chars().count());
            text += &if column == 0 { format!("| {cell}{padding} ") } else { format!("| {padding}{cell} ") };
        }
        text += "|\n";
        if index == 0 {
            for (column, width) in widths.iter().enumerate() {
                text += &format!("|{}{}", "-".repeat(width + 1), if column == 0 { "-" } else { ":" });
            }
            text += "|\n";
        }
    }
    text
}

fn judge(line: &ReportLine, reading: &dyn Fn(BenchContender) -> Option<f64>) -> (String, String, String) {
    let ours = reading(line.ours);
    let (ratio, least, words) = match line.goal {
        None => return (ratio_text(reading(BenchContender::Original), ours), String::new(), String::new()),
        Some(ReportGoal::Smaller(times)) => {
            (divide(reading(BenchContender::Original), ours), times, format!("1/{times:.1}"))
        }
        Some(ReportGoal::Times(who, times)) => (divide(ours, reading(who)), times, format!("{times:.2} ×")),
    };
    let text = match (&line.goal, ratio) {
        (_, None) => "–".to_owned(),
        (Some(ReportGoal::Smaller(_)), Some(ratio)) => format!("1/{ratio:.1}"),
        (_, Some(ratio)) => format!("{ratio:.2} ×"),
    };
    let met = ratio.map_or("–", |ratio| met(ratio >= least));
    (text, words, met.to_owned())
}

fn ratio_text(original: Option<f64>, ours: Option<f64>) -> String {
    divide(original, ours).map_or_else(|| "–".to_owned(), |ratio| format!("1/{ratio:.1}"))
}

fn divide(over: Option<f64>, under: Option<f64>) -> Option<f64> {
    Some(over? / under.filter(|under| *under > 0.0)?)
}
