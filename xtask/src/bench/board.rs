//! Benchmarks the board: memory, the first message, bytes and processor time of viewers; and the controller's metrics page.
//!
//! - Writes docs/benchmarks-board.md.

use super::load::{LoadGenerator, pod_path};
use super::report::machine;
use super::sandbox_process::SandboxProcess;
use crate::{http, sources};
use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use taintward_envtest::browser::Browser;
use taintward_envtest::fixtures::set_taints;
use taintward_envtest::usage;

const PODS_PER_NODE: usize = 50;
const VIEWERS: usize = 20;
/// How long viewers look, and how many pods change in a second meanwhile.
const WATCHED: Duration = Duration::from_secs(30);
const CHANGES_A_SECOND: u32 = 20;
const PATIENCE: Duration = Duration::from_secs(120);

/// How large it is.
struct Scale {
    pods: usize,
    countdowns: usize,
    /// Of the controller's metrics page.
    nodes: usize,
}

/// The lines of the table.
#[derive(Default)]
struct BoardReport(String);

impl BoardReport {
    fn line(&mut self, label: &str, value: f64, unit: &str, goal: Option<f64>) {
        let (goal, met) = match goal {
            Some(goal) => (format!("{goal} {unit}"), if value <= goal { "met" } else { "missed" }),
            None => (String::new(), ""),
        };
        let line = format!("| {label} | {value:.1} {unit} | {goal} | {met} |\n");
        print!("{line}");
        self.0 += &line;
    }
}

pub(crate) async fn run(quick: bool) -> Result<()> {
    let scale = match quick {
        true => Scale { pods: 3_000, countdowns: 1_000, nodes: 200 },
        false => Scale { pods: 150_000, countdowns: 10_000, nodes: 5_000 },
    };
    let mut report = BoardReport::default();
    memory_and_viewers(&scale, &mut report).await?;
    metrics_page(&scale, &mut report).await?;
    if quick {
        return Ok(());
    }
    let command: Vec<String> = std::env::args().skip(1).collect();
    let page = format!(
        "# The board\n\nMade by `cargo xtask {}`: `taintward board` of a sandbox without controllers; {}\n\n\
         | | | goal | |\n|---|---:|---:|---|\n{}{REST}",
        command.join(" "),
        machine(),
        report.0
    );
    let file = sources::root().join("docs/benchmarks-board.md");
    fs::write(&file, page)?;
    println!("written to {}", file.display());
    Ok(())
}

const REST: &str = "\nThe first message is the whole state, with all pods; its time counts from the request until the last byte is there. \
                    While the viewers look, pods are changed by another client; countdowns are drawn by the page without any \
                    message. Processor time is that of the board, its watches included, shared by all viewers.\n";

async fn memory_and_viewers(scale: &Scale, report: &mut BoardReport) -> Result<()> {
    let sandbox = SandboxProcess::start().await?;
    let fleet = LoadGenerator::new(sandbox.api().await?);
    let names: Vec<String> = (0..scale.pods / PODS_PER_NODE).map(|at| format!("node-{at:04}")).collect();
    fleet.create_nodes(&names).await?;
    eprintln!("creating {} pods", scale.pods);
    fleet.create_pods(&names, PODS_PER_NODE, 0).await?;
    let board = BoardProcess::start(sandbox.kubeconfig())?;
    board.until_told(|text| text.contains("\"problem\":null"))?;
    let pods = scale.pods;
    let usage_then = usage::of(board.pid())?;
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    report.line(&format!("memory with {pods} pods, at most"), megabytes(usage_then.peak), "MB", Some(100.0));
    report.line(&format!("memory with {pods} pods, then"), megabytes(usage_then.resident), "MB", None);
    let (took, bytes) = board.first_message()?;
    report.line(&format!("first message with {pods} pods"), took.as_secs_f64() * 1e3, "ms", None);
    report.line("its size", bytes as f64 / 1e3, "kB", None);
    let tainted = &names[..scale.countdowns / PODS_PER_NODE];
    let unreachable = json!([{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]);
    for node in tainted {
        let taints = unreachable.as_array().context("a list")?;
        set_taints(&fleet.api, node, taints).await?;
    }
    let countdowns = scale.countdowns;
    board.until_told(|text| text.matches("\",1,1").count() >= countdowns)?;
    let (took, _) = board.first_message()?;
    report.line(
        &format!("first message with {countdowns} countdowns"),
        took.as_secs_f64() * 1e3,
        "ms",
        Some(1_000.0),
    );
    match Browser::start() {
        Ok(browser) => {
            let label = format!("first paint in Chromium with {countdowns} countdowns and {pods} pods");
            report.line(&label, first_paint(browser, &board)?, "ms", None);
        }
        Err(why) => eprintln!("the first paint is not measured: {why:#}"),
    }
    viewers(&board, &fleet, report).await
}

/// Milliseconds from the request of the page until its first picture of the cluster, the median of three.
fn first_paint(mut browser: Browser, board: &BoardProcess) -> Result<f64> {
    browser.command("Page.addScriptToEvaluateOnNewDocument", json!({"source": PAINTED}))?;
    // The first one takes the token into a cookie.
    browser.open(&format!("http://{}/?token={}", board.address, board.token))?;
    let mut times = Vec::new();
    for _ in 0..3 {
        browser.open("about:blank")?;
        browser.open(&format!("http://{}/", board.address))?;
        let painted = browser.until("the cluster is painted", "window.painted")?;
        times.push(painted.as_f64().context("a number")?);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[1])
}

/// Notes when the totals are there and drawn.
const PAINTED: &str = "new MutationObserver((_, watcher) => {
    if (document.querySelector('#totals b')) {
        watcher.disconnect();
        requestAnimationFrame(() => setTimeout(() => (window.painted = performance.now())));
    }
}).observe(document, {childList: true, subtree: true})";

/// Viewers, while pods change.
async fn viewers(board: &BoardProcess, fleet: &LoadGenerator, report: &mut BoardReport) -> Result<()> {
    let bytes = Arc::new(AtomicU64::new(0));
    for _ in 0..VIEWERS {
        let mut stream = board.events()?;
        read_message(&mut stream)?;
        let bytes = Arc::clone(&bytes);
        // They end with the board.
        thread::spawn(move || {
            let mut buffer = [0; 64 * 1024];
            while let Ok(read @ 1..) = stream.read(&mut buffer) {
                bytes.fetch_add(read as u64, Ordering::Relaxed);
            }
        });
    }
    let before = usage::of(board.pid())?.cpu;
    let (began, mut changed) = (Instant::now(), 0);
    while began.elapsed() < WATCHED {
        let name = format!("web-frontend-7d9c5b8f6b-{changed:06}");
        fleet.api.delete(&pod_path(&name), &json!({})).await?;
        changed += 1;
        tokio::time::sleep(Duration::from_secs(1) / CHANGES_A_SECOND).await;
    }
    let took = began.elapsed().as_secs_f64();
    let cpu = usage::of(board.pid())?.cpu.saturating_sub(before).as_secs_f64() / took;
    let rate = bytes.load(Ordering::Relaxed) as f64 / took / VIEWERS as f64;
    let label = format!("{VIEWERS} viewers while {:.0} pods a second go", f64::from(changed) / took);
    report.line(&format!("{label}: each is sent, a second"), rate / 1e3, "kB", Some(20.0));
    report.line(
        &format!("{label}: processor time of each"),
        100.0 * cpu / VIEWERS as f64,
        "% of a core",
        Some(2.0),
    );
    Ok(())
}

/// The page `/metrics` of `taintward run` in a large cluster.
async fn metrics_page(scale: &Scale, report: &mut BoardReport) -> Result<()> {
    let sandbox = SandboxProcess::start().await?;
    let fleet = LoadGenerator::new(sandbox.api().await?);
    let names: Vec<String> = (0..scale.nodes).map(|at| format!("node-{at:04}")).collect();
    fleet.create_nodes(&names).await?;
    let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
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
        ensure!(began.elapsed() < PATIENCE, "the controller does not know the nodes");
        thread::sleep(Duration::from_millis(200));
    }
    let mut times = Vec::new();
    let mut size = 0;
    for _ in 0..20 {
        let began = Instant::now();
        size = http::get(port, "/metrics")?.1.len();
        times.push(began.elapsed());
        // Beyond the time for which a page is kept.
        thread::sleep(Duration::from_millis(1_100));
    }
    times.sort();
    let nodes = scale.nodes;
    let median = times[times.len() / 2].as_secs_f64() * 1e3;
    report.line(
        &format!("the controller's metrics page with {nodes} nodes, median"),
        median,
        "ms",
        Some(5.0),
    );
    report.line("its size", size as f64 / 1e3, "kB", Some(200.0));
    Ok(())
}

/// Dead when dropped.
struct ChildGuard(Child);

impl Drop for ChildGuard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `taintward board`.
struct BoardProcess {
    child: ChildGuard,
    address: SocketAddr,
    token: String,
}

impl BoardProcess {
    fn start(kubeconfig: &Path) -> Result<Self> {
        let mut child = Command::new(sources::build_taintward(true)?)
            .arg("board")
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .stdout(Stdio::piped())
            .spawn()?;
        let out = child.stdout.take().context("a pipe")?;
        let child = ChildGuard(child);
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        let (_, url) = line.rsplit_once("http://").context("no address was printed")?;
        let (address, token) = url.trim().split_once("/?token=").context("no token was printed")?;
        Ok(Self { child, address: address.parse()?, token: token.to_owned() })
    }

    fn pid(&self) -> u32 {
        self.child.0.id()
    }

    fn events(&self) -> Result<BufReader<TcpStream>> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let (address, token, port) = (self.address, &self.token, self.address.port());
        let cookie = format!("taintward-board-{port}={token}");
        stream.write_all(
            format!("GET /events HTTP/1.1\r\nhost: {address}\r\ncookie: {cookie}\r\n\r\n").as_bytes(),
        )?;
        Ok(BufReader::new(stream))
    }

    /// How long the whole state takes, and its bytes.
    fn first_message(&self) -> Result<(Duration, usize)> {
        let began = Instant::now();
        let text = read_message(&mut self.events()?)?;
        Ok((began.elapsed(), text.len()))
    }

    /// Asks for the whole state until it is as wanted.
    fn until_told(&self, is_it: impl Fn(&str) -> bool) -> Result<()> {
        let began = Instant::now();
        while !is_it(&read_message(&mut self.events()?)?) {
            ensure!(began.elapsed() < PATIENCE, "the board does not show what it should");
            thread::sleep(Duration::from_millis(500));
        }
        Ok(())
    }
}

/// The data of the next message.
fn read_message(stream: &mut BufReader<TcpStream>) -> Result<String> {
    loop {
        let mut line = String::new();
        ensure!(stream.read_line(&mut line)? > 0, "the stream has ended");
        if let Some(data) = line.strip_prefix("data: ") {
            return Ok(data.to_owned());
        }
    }
}
