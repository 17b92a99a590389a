//! Benchmarks the board: memory, the first paint, bytes and processor time of viewers; and the controller's metrics page.
//!
//! - Writes docs/benchmarks-board.md. See `board/board_report.rs` for budgets and floors.

mod board_process;
mod board_report;

use super::load::{LoadGenerator, pod_path};
use super::report::{command, machine, median, write_page};
use super::sandbox_process::SandboxProcess;
use crate::http;
use crate::sources::{self, ChildGuard};
use anyhow::{Context as _, Result, ensure};
use board_process::{BoardProcess, PATIENCE, read_state};
use board_report::{BoardReading, BoardReport};
use serde_json::{Value, json};
use std::io::Read as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use taintward_envtest::browser::{Browser, PageLoad};
use taintward_envtest::fixtures::set_taints;
use taintward_envtest::usage;

const PODS_PER_NODE: usize = 50;
const VIEWERS: usize = 20;
/// How long viewers watch, and how many pods change per second in that time.
const WATCHED: Duration = Duration::from_secs(30);
const CHANGES_A_SECOND: u32 = 20;

/// The size of the benchmark.
struct Scale {
    pods: usize,
    countdowns: usize,
    /// Of the controller's metrics page.
    nodes: usize,
}

pub(crate) async fn run(quick: bool) -> Result<()> {
    let scale = match quick {
        true => Scale { pods: 3_000, countdowns: 1_000, nodes: 200 },
        false => Scale { pods: 150_000, countdowns: 10_000, nodes: 5_000 },
    };
    let mut report = BoardReport::default();
    let browser = match Browser::start() {
        Ok(browser) => Some(browser),
        Err(why) if quick => {
            eprintln!("skipping the first paint: {why:#}");
            None
        }
        Err(why) => return Err(why.context("cannot measure the first paint without Chromium")),
    };
    let versions = versions(browser)?;
    board(&scale, &mut report).await?;
    metrics_page(&scale, &mut report).await?;
    for label in report.missed() {
        eprintln!("over its budget: {label}");
    }
    if quick {
        return Ok(());
    }
    let page = format!(
        "# The board\n\n[The board](board.md), and the metrics page of the controller. Made by `cargo xtask {}`, with \
         `taintward board` on a sandbox without controllers. {} {versions}\n\n{}{REST}",
        command(),
        machine(),
        report.table()
    );
    write_page("benchmarks-board.md", &page)
}

const REST: &str = "
- **First paint** counts from the request of the page until headless Chromium has drawn the totals of the cluster: the median \
of five loads by the clock, and the work of the page's own thread in the same loads, which other programs do not lengthen. Its \
floor is what any page must do with this state: fetch it from the board and parse it.
- **Viewers** watch for 30 s while another client deletes pods with a countdown. The page draws countdowns without any message. \
The processor time is that of the board, including its watches, divided by the number of viewers. Its floor is the board without a \
viewer during the same deletions, divided by the same number.
- **Memory** is the resident memory of the process `taintward board`: the value after it shows all pods, and the peak until the \
viewers have disconnected.
- **The metrics page** is requested when its last copy is too old to be sent again. Its floor is `/livez` of the same port.
";

/// The versions of Chromium and Taintward; ends the browser.
fn versions(browser: Option<Browser>) -> Result<String> {
    let chromium = match browser {
        Some(mut browser) => browser.evaluate("navigator.userAgent")?.as_str().unwrap_or_default().to_owned(),
        None => String::new(),
    };
    let chromium =
        chromium.split(' ').find_map(|word| word.split_once("Chrome/")).map(|(_, version)| version);
    let printed = Command::new(sources::build_taintward(true)?).args(["version", "--client"]).output()?;
    let printed = String::from_utf8_lossy(&printed.stdout);
    let ours = printed.trim().rsplit(' ').next().unwrap_or_default();
    Ok(format!("Chromium {}; Taintward {ours}.", chromium.unwrap_or("is missing")))
}

async fn board(scale: &Scale, report: &mut BoardReport) -> Result<()> {
    let sandbox = SandboxProcess::start().await?;
    let fleet = LoadGenerator::new(sandbox.api().await?);
    let names: Vec<String> = (0..scale.pods / PODS_PER_NODE).map(|at| format!("node-{at:04}")).collect();
    fleet.create_nodes(&names).await?;
    eprintln!("creating {} pods", scale.pods);
    fleet.create_pods(&names, PODS_PER_NODE, 0).await?;
    let board = BoardProcess::start(sandbox.kubeconfig())?;
    let pods = scale.pods;
    board.until_shown(|parts| parts.iter().map(|part| shown_pods(part)).sum::<usize>() == pods)?;
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    report.line(
        &format!("memory with {pods} pods"),
        megabytes(usage::of(board.pid())?.resident),
        "MB",
        Some(100.0),
    );
    let unreachable = [json!({"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"})];
    for node in &names[..scale.countdowns / PODS_PER_NODE] {
        set_taints(&fleet.api, node, &unreachable).await?;
    }
    let countdowns = scale.countdowns;
    let in_part = |part: &String| part.matches("\",1,1").count();
    board.until_shown(|parts| parts.iter().map(in_part).sum::<usize>() >= countdowns)?;
    let (took, parts) = board.whole_state()?;
    let label = format!("the whole state, {pods} pods and {countdowns} countdowns");
    report.line(&label, parts.iter().map(String::len).sum::<usize>() as f64 / 1e6, "MB", None);
    report.line("the board's time to send it", took.as_secs_f64() * 1e3, "ms", None);
    drop(parts);
    if let Ok(browser) = Browser::start() {
        first_paint(browser, &board, &format!("{countdowns} countdowns and {pods} pods"), report)?;
    }
    viewers(&board, &fleet, report).await?;
    report.line("memory, peak", megabytes(usage::of(board.pid())?.peak), "MB", Some(100.0));
    Ok(())
}

/// How many pods a part of the whole state lists.
fn shown_pods(part: &str) -> usize {
    let part = serde_json::from_str::<Value>(part).unwrap_or_default();
    part["pods"].as_array().map_or(0, Vec::len)
}

fn first_paint(
    mut browser: Browser,
    board: &BoardProcess,
    what: &str,
    report: &mut BoardReport,
) -> Result<()> {
    browser.open(&board.entrance())?;
    browser.until("the cluster", "document.querySelector('#totals b')")?;
    let mut floors = Vec::new();
    let mut loads: Vec<PageLoad> = Vec::new();
    for _ in 0..5 {
        floors.push(browser.evaluate(FETCHED)?.as_f64().context("a number")?);
        loads.push(browser.load(&board.page(), "#totals b")?);
    }
    let floor = Some(median(floors));
    let value = median(loads.iter().map(|load| load.clock));
    let label = format!("first paint with {what}");
    report.add(&BoardReading { label: &label, value, unit: "ms", budget: Some(1_000.0), floor });
    let work = median(loads.iter().map(|load| load.work));
    report.line("first paint: work of the page", work, "ms", Some(1_000.0));
    Ok(())
}

/// Milliseconds until the page has received and parsed the whole state.
const FETCHED: &str = "(async () => {
    const began = performance.now();
    const reader = (await fetch('/events')).body.pipeThrough(new TextDecoderStream()).getReader();
    let [text, isLast] = ['', false];
    while (!isLast) {
        const messages = (text + (await reader.read()).value).split('\\n\\n');
        text = messages.pop();
        for (const message of messages) {
            JSON.parse(message.slice(message.indexOf('data: ') + 6));
            isLast ||= message.includes('event: snapshot');
        }
    }
    reader.cancel();
    return performance.now() - began;
})()";

/// Measures the board while pods change, without and with viewers.
async fn viewers(board: &BoardProcess, fleet: &LoadGenerator, report: &mut BoardReport) -> Result<()> {
    let alone = Deletions::watch(board, fleet, 0).await?;
    let bytes = Arc::new(AtomicU64::new(0));
    for _ in 0..VIEWERS {
        let mut stream = board.events()?;
        read_state(&mut stream)?;
        let bytes = Arc::clone(&bytes);
        // They end with the board.
        thread::spawn(move || {
            let mut buffer = [0; 64 * 1024];
            while let Ok(read @ 1..) = stream.read(&mut buffer) {
                bytes.fetch_add(read as u64, Ordering::Relaxed);
            }
        });
    }
    let seen = Deletions::watch(board, fleet, alone.count).await?;
    let each = |value: f64| value / VIEWERS as f64;
    let label =
        format!("{VIEWERS} viewers, {:.0} pods deleted per second", f64::from(seen.count) / seen.seconds);
    let rate = each(bytes.load(Ordering::Relaxed) as f64 / seen.seconds) / 1e3;
    report.line(&format!("{label}: sent to each, per second"), rate, "kB", Some(20.0));
    report.add(&BoardReading {
        label: &format!("{label}: processor time for each"),
        value: each(seen.percent()),
        unit: "% of a core",
        budget: Some(2.0),
        floor: Some(each(alone.percent())),
    });
    Ok(())
}

/// Pods that were deleted, one after the other, and what the board used in that time.
struct Deletions {
    count: u32,
    seconds: f64,
    /// Processor time of the board.
    cpu: Duration,
}

impl Deletions {
    /// Deletes pods with a countdown, beginning with this number.
    async fn watch(board: &BoardProcess, fleet: &LoadGenerator, first: u32) -> Result<Self> {
        let before = usage::of(board.pid())?.cpu;
        let (began, mut count) = (Instant::now(), 0);
        while began.elapsed() < WATCHED {
            let name = format!("web-frontend-7d9c5b8f6b-{:06}", first + count);
            fleet.api.delete(&pod_path(&name), &json!({})).await?;
            count += 1;
            tokio::time::sleep(Duration::from_secs(1) / CHANGES_A_SECOND).await;
        }
        let seconds = began.elapsed().as_secs_f64();
        Ok(Self { count, seconds, cpu: usage::of(board.pid())?.cpu.saturating_sub(before) })
    }

    /// The percentage of a core.
    fn percent(&self) -> f64 {
        100.0 * self.cpu.as_secs_f64() / self.seconds
    }
}

/// The page `/metrics` of `taintward run` in a large cluster.
async fn metrics_page(scale: &Scale, report: &mut BoardReport) -> Result<()> {
    let sandbox = SandboxProcess::start().await?;
    let fleet = LoadGenerator::new(sandbox.api().await?);
    let names: Vec<String> = (0..scale.nodes).map(|at| format!("node-{at:04}")).collect();
    fleet.create_nodes(&names).await?;
    let port = http::free_port()?;
    let child = Command::new(sources::build_taintward(true)?)
        .args(["run", "--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port=0"])
        .arg("--controllers=taint-eviction-controller,node-lifecycle-controller")
        .arg(format!("--kubeconfig={}", sandbox.kubeconfig().display()))
        .arg(format!("--metrics-port={port}"))
        .stderr(Stdio::null())
        .spawn()?;
    let _process = ChildGuard(child);
    let wanted = format!("taintward_nodes {}", scale.nodes);
    let began = Instant::now();
    while !http::get(port, "/metrics").is_ok_and(|(_, page)| page.contains(&wanted)) {
        ensure!(began.elapsed() < PATIENCE, "the controller does not observe the nodes");
        thread::sleep(Duration::from_millis(200));
    }
    let timed = |path: &str| -> Result<(f64, usize)> {
        let began = Instant::now();
        let size = http::get(port, path)?.1.len();
        Ok((began.elapsed().as_secs_f64() * 1e3, size))
    };
    let (mut times, mut floors, mut size) = (Vec::new(), Vec::new(), 0);
    for _ in 0..20 {
        floors.push(timed("/livez")?.0);
        let (time, length) = timed("/metrics")?;
        times.push(time);
        size = length;
        // Longer than the controller keeps a page.
        thread::sleep(Duration::from_millis(1_100));
    }
    let nodes = scale.nodes;
    report.add(&BoardReading {
        label: &format!("the controller's metrics page with {nodes} nodes, median"),
        value: median(times),
        unit: "ms",
        budget: Some(5.0),
        floor: Some(median(floors)),
    });
    report.line("its size", size as f64 / 1e3, "kB", Some(200.0));
    Ok(())
}
