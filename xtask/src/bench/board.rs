//! Benchmarks the board: memory, the first paint, bytes and processor time of viewers; and the controller's metrics page.
//!
//! - Writes docs/benchmarks-board.md.

use super::load::{LoadGenerator, names, pod_name, pod_path};
use super::readings::Readings;
use super::report::{Goal, KILOBYTES, MEGABYTES, MILLISECONDS, PERCENT, Report};
use crate::board_session::{BoardSession, read_state};
use crate::server_process::{SandboxProcess, ServerProcess, start_board};
use crate::{http, sources};
use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use std::io::Read as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use taintward_envtest::browser::Browser;
use taintward_envtest::wait;

const PODS_PER_NODE: usize = 50;
const VIEWERS: usize = 20;
/// How long viewers watch, and how many pods change per second in that time.
const WATCHED: Duration = Duration::from_secs(30);
const CHANGES_A_SECOND: u32 = 20;
/// How long a program may take to show what it should.
const TIMEOUT: Duration = Duration::from_secs(120);
const MEMORY: Goal = Goal::Limit(100e6);

/// The size of the benchmark.
struct BoardSizes {
    pods: usize,
    countdowns: usize,
    /// Of the controller's metrics page.
    nodes: usize,
}

pub(crate) async fn run(quick: bool) -> Result<()> {
    let sizes = match quick {
        true => BoardSizes { pods: 3_000, countdowns: 1_000, nodes: 200 },
        false => BoardSizes { pods: 150_000, countdowns: 10_000, nodes: 5_000 },
    };
    let program = sources::build_taintward(true)?;
    let mut report = Report::comparison("benchmarks-board.md", "The board", &["", "floor"]);
    let mut browser = match Browser::start() {
        Ok(browser) => Some(browser),
        Err(why) if quick => {
            eprintln!("skipping the first paint: {why:#}");
            None
        }
        Err(why) => return Err(why.context("cannot measure the first paint without Chromium")),
    };
    let chromium = browser.as_mut().map(|browser| browser.evaluate("navigator.userAgent")).transpose()?;
    let version = sources::output(Command::new(&program).args(["version", "--client"]))?;
    measure_board(&program, &sizes, browser, &mut report).await?;
    measure_metrics_page(&program, sizes.nodes, &mut report).await?;
    let measured = format!(
        "[the board](board.md), as `taintward board` on a sandbox without controllers, and the metrics page of the controller. \
         {}; browser: {}.",
        version.trim(),
        chromium.as_ref().and_then(Value::as_str).unwrap_or("none")
    );
    report.publish(quick, &measured, "")
}

async fn measure_board(
    program: &Path,
    sizes: &BoardSizes,
    browser: Option<Browser>,
    report: &mut Report,
) -> Result<()> {
    let sandbox = SandboxProcess::bare(program).await?;
    let fleet = LoadGenerator::new(sandbox.api.clone());
    let BoardSizes { pods, countdowns, .. } = *sizes;
    let nodes = names("node", pods / PODS_PER_NODE);
    fleet.create_nodes(&nodes).await?;
    eprintln!("creating {pods} pods");
    fleet.create_pods(&nodes, PODS_PER_NODE, 0).await?;
    let (board, address) = start_board(program, &sandbox.kubeconfig).await?;
    let session = BoardSession::of(&address)?;
    let read = || read_state(&mut session.events()?);
    until_shown(pods, async || Ok(read()?.iter().map(|part| shown_pods(part)).sum())).await?;
    let memory = board.usage()?.resident as f64;
    report.compare(&format!("memory with {pods} pods"), MEGABYTES, &[memory], MEMORY);
    let unreachable = [json!({"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"})];
    fleet.set_taints(&nodes[..countdowns / PODS_PER_NODE], &unreachable).await?;
    let in_part = |part: &String| part.matches("\",1,1").count();
    until_shown(countdowns, async || Ok(read()?.iter().map(in_part).sum())).await?;
    let began = Instant::now();
    let bytes = read()?.iter().map(String::len).sum::<usize>() as f64;
    let took = began.elapsed().as_secs_f64();
    let label = format!("the whole state, {pods} pods and {countdowns} countdowns");
    report.compare(&label, MEGABYTES, &[bytes], Goal::None);
    report.compare("the board's time to send it", MILLISECONDS, &[took], Goal::None);
    if let Some(browser) = browser {
        let label = format!("first paint with {countdowns} countdowns and {pods} pods");
        measure_paint(browser, &address, &label, report)?;
    }
    measure_viewers(&board, &session, &fleet, report).await?;
    report.compare("memory, peak", MEGABYTES, &[board.usage()?.peak as f64], MEMORY);
    Ok(())
}

/// Waits until a program shows this number.
async fn until_shown(wanted: usize, shown: impl AsyncFn() -> Result<usize>) -> Result<()> {
    wait::until(&format!("{wanted} to be shown"), TIMEOUT, async || {
        let is_shown = shown().await? >= wanted;
        tokio::time::sleep(Duration::from_millis(200)).await;
        Ok(is_shown.then_some(()))
    })
    .await
}

/// How many pods a part of the whole state lists.
fn shown_pods(part: &str) -> usize {
    let part = serde_json::from_str::<Value>(part).unwrap_or_default();
    part["pods"].as_array().map_or(0, Vec::len)
}

fn measure_paint(mut browser: Browser, address: &str, label: &str, report: &mut Report) -> Result<()> {
    browser.open(address)?;
    browser.until("the cluster", "document.querySelector('#totals b')")?;
    let page = browser.evaluate("location.href")?;
    let page = page.as_str().context("an address")?;
    let [mut clock, mut work, mut floor] = [const { Vec::new() }; 3];
    for _ in 0..5 {
        floor.push(browser.evaluate(FETCHED)?.as_f64().context("a number")? / 1e3);
        let load = browser.load(page, "#totals b")?;
        clock.push(load.clock / 1e3);
        work.push(load.work / 1e3);
    }
    let [clock, work, floor] =
        [clock, work, floor].map(|readings| readings.into_iter().collect::<Readings>().median());
    report.compare(label, MILLISECONDS, &[clock, floor], Goal::Limit(1.0));
    report.compare("first paint: work of the page", MILLISECONDS, &[work], Goal::Limit(1.0));
    Ok(())
}

/// Milliseconds until the page has received and parsed the whole state.
const FETCHED: &str = "(async () => {
    const began = performance.now();
    const reader = (await fetch('events')).body.pipeThrough(new TextDecoderStream()).getReader();
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
async fn measure_viewers(
    board: &ServerProcess,
    session: &BoardSession,
    fleet: &LoadGenerator,
    report: &mut Report,
) -> Result<()> {
    let alone = Deletions::watch(board, fleet, 0).await?;
    let bytes = Arc::new(AtomicU64::new(0));
    for _ in 0..VIEWERS {
        let mut stream = session.events()?;
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
    let sent = each(bytes.load(Ordering::Relaxed) as f64 / seen.seconds);
    report.compare(&format!("{label}: sent to each, per second"), KILOBYTES, &[sent], Goal::Limit(20e3));
    let shares = [each(seen.share), each(alone.share)];
    let label = format!("{label}: processor time for each, of a core");
    report.compare(&label, PERCENT, &shares, Goal::Limit(0.02));
    Ok(())
}

/// Pods that were deleted, one after the other, and what the board used in that time.
struct Deletions {
    count: u32,
    seconds: f64,
    /// Of a core.
    share: f64,
}

impl Deletions {
    /// Deletes pods with a countdown, beginning with this number.
    async fn watch(board: &ServerProcess, fleet: &LoadGenerator, first: u32) -> Result<Self> {
        let before = board.usage()?.cpu;
        let (began, mut count) = (Instant::now(), 0);
        while began.elapsed() < WATCHED {
            fleet.api.delete(&pod_path(&pod_name(first + count)), &json!({})).await?;
            count += 1;
            tokio::time::sleep(Duration::from_secs(1) / CHANGES_A_SECOND).await;
        }
        let seconds = began.elapsed().as_secs_f64();
        let cpu = board.usage()?.cpu.saturating_sub(before);
        Ok(Self { count, seconds, share: cpu.as_secs_f64() / seconds })
    }
}

/// The page `/metrics` of `taintward run` in a large cluster.
async fn measure_metrics_page(program: &Path, nodes: usize, report: &mut Report) -> Result<()> {
    let sandbox = SandboxProcess::bare(program).await?;
    LoadGenerator::new(sandbox.api.clone()).create_nodes(&names("node", nodes)).await?;
    let mut command = Command::new(program);
    command.args(["run", "--leader-elect=false"]);
    command.arg("--controllers=taint-eviction-controller,node-lifecycle-controller");
    let controller = ServerProcess::start(command, &sandbox.kubeconfig).await?;
    until_shown(nodes, async || Ok(controller.metric("taintward_nodes")?.unwrap_or_default() as usize))
        .await?;
    let timed = |path: &str| -> Result<(f64, usize)> {
        let began = Instant::now();
        let size = http::get(controller.port, path)?.1.len();
        Ok((began.elapsed().as_secs_f64(), size))
    };
    let (mut times, mut floors, mut size) = (Readings::default(), Readings::default(), 0);
    for _ in 0..20 {
        floors.add(timed("/livez")?.0);
        let (time, length) = timed("/metrics")?;
        times.add(time);
        size = length;
        // Longer than the controller keeps a page.
        thread::sleep(Duration::from_millis(1_100));
    }
    let label = format!("the controller's metrics page with {nodes} nodes, median");
    report.compare(&label, MILLISECONDS, &[times.median(), floors.median()], Goal::Limit(0.005));
    report.compare("its size", KILOBYTES, &[size as f64], Goal::Limit(200e3));
    Ok(())
}
