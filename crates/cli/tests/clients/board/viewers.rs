//! Tests many viewers of a board, those that read nothing, and how often the board sends.

use super::client::{BoardAddress, EventStreamClient, STARTUP_TIMEOUT, board_with, has_counting, sandbox};
use crate::cli::running::{RunningSandbox, request};
use crate::cli::timeout::eventually;
use serde_json::{Value, json};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use taintward_envtest::usage;
use testkit::wait::let_time_pass_blocking;
use tokio::net::TcpSocket;

/// How long a busy machine may take until a viewer has received enough.
const TRAFFIC_MAX: Duration = Duration::from_secs(600);

/// `STALL_MAX` of `board.rs`.
const STALL_MAX: Duration = Duration::from_secs(30);

/// How long requests change everything.
const CHANGES_LAST: Duration = Duration::from_secs(3);

#[test]
fn every_viewer_receives_the_same_alongside_one_that_reads_nothing() {
    let (_running, board) = sandbox();
    board.events("").until_pods(18);
    let stopped = board.events("");
    let mut viewers: Vec<EventStreamClient> = (0..100).map(|_| board.events("")).collect();
    for viewer in &mut viewers {
        let (_, kind, snapshot) = viewer.next();
        assert_eq!((kind.as_str(), &snapshot["sandbox"]), ("snapshot", &json!(true)));
    }
    let response = board.act(&json!({"verb": "taint", "node": "n1", "taint": "maintenance=now:NoExecute"}));
    assert_eq!((response.status, response.body.as_str()), (200, r#"{"message":"node/n1 tainted"}"#));
    let mut reported: Vec<(String, Value)> =
        viewers.iter_mut().map(|viewer| viewer.until("a countdown", has_counting)).collect();
    reported.dedup();
    assert_eq!(reported.len(), 1);
    // One that was away gets what it missed, and not everything again.
    let mut events = board.events("");
    let (id, ..) = events.next();
    board.act(&json!({"verb": "untaint", "node": "n1", "taint": "maintenance:NoExecute"}));
    events
        .until("the end of the taint", |message| message["decisions"].to_string().contains("lost the taint"));
    let (_, kind, missed) = board.events(&id).next();
    assert_eq!(kind, "change", "{missed}");
    let (_, kind, _) = board.events("1-1").next();
    assert_eq!(kind, "snapshot", "the id of another process");
    drop(stopped);
}

#[test]
fn a_viewer_gets_at_most_four_messages_a_second() {
    let (_running, board) = sandbox();
    let mut events = board.events("");
    events.until_pods(18);
    let (is_over, requests) = (AtomicBool::new(false), AtomicUsize::new(0));
    let began = Instant::now();
    let times = thread::scope(|scope| {
        scope.spawn(|| {
            for verb in ["cordon", "uncordon"].iter().cycle() {
                if is_over.load(Ordering::Relaxed) || began.elapsed() > STARTUP_TIMEOUT {
                    break;
                }
                assert_eq!(board.act(&json!({"verb": verb, "node": "n1"})).status, 200);
                requests.fetch_add(1, Ordering::Relaxed);
            }
        });
        // The board's own times, because a busy machine delays the reader.
        let time = |message: &Value| message["now"].as_f64().unwrap();
        let (_, first) = events.until("a change", |message| message["nodes"].is_array());
        let mut times = vec![time(&first)];
        while times.last().unwrap() - times[0] <= CHANGES_LAST.as_secs_f64() {
            times.push(time(&events.next().2));
        }
        is_over.store(true, Ordering::Relaxed);
        times
    });
    let (received, requests) = (times.len() - 1, requests.into_inner());
    assert!((6..=13).contains(&received), "{received} messages in {CHANGES_LAST:?}: {times:?}");
    assert!(requests > 4 * received, "{requests} requests are not continuous changes");
}

/// A viewer whose socket takes a few kilobytes.
fn viewer_with_small_buffer(board: &BoardAddress) -> EventStreamClient {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    let stream: TcpStream = runtime.block_on(async {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        socket.connect(board.address).await.unwrap().into_std().unwrap()
    });
    stream.set_nonblocking(false).unwrap();
    board.events_through(stream, "")
}

/// The number of sockets that a process has.
fn sockets(process: u32) -> usize {
    let files = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap().flatten();
    let links = files.filter_map(|file| std::fs::read_link(file.path()).ok());
    links.filter(|link| link.to_string_lossy().starts_with("socket:")).count()
}

#[test]
fn viewers_that_read_nothing_take_little_memory_and_are_disconnected() {
    const PODS: usize = 6000;
    const STALLED: usize = 10;
    /// The stored messages, and for each viewer one copy of the whole state.
    const MEMORY_MAX: usize = 32 << 20;
    let without = "taintward,nodes,kubelets,scheduler";
    let mut running = RunningSandbox::start(&["--plain", "--empty", "--nodes", "1", "--without", without]);
    let buttons = BoardAddress::of(&running.until("/?token="));
    let kubeconfig = running.kubeconfig();
    let spec = json!({"nodeName": "n1", "containers": [{"name": "main", "image": "registry.example/x:1"}],
        "tolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": 3600}]});
    let pod = |index: usize| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "default",
        "name": format!("pod-{index}")}, "spec": spec})
    };
    let pods: Vec<Value> = (0..PODS).map(pod).collect();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": pods}).to_string();
    let response = buttons.act(&json!({"verb": "load", "text": list}));
    assert_eq!(response.status, 200, "{}", response.body);

    let (process, board) = board_with(&kubeconfig);
    let pid = process.child.id();
    let mut reader = board.events("");
    reader.until_pods(PODS);
    let (idle, memory) = (sockets(pid), usage::of(pid).unwrap().resident);
    let stalled: Vec<EventStreamClient> = (0..STALLED).map(|_| viewer_with_small_buffer(&board)).collect();
    let began = Instant::now();
    eventually("all are connected", || (sockets(pid) == idle + STALLED).then_some(()));

    let received = AtomicUsize::new(0);
    let stalled_for = thread::scope(|scope| {
        scope.spawn(|| {
            let mut numbers = Vec::new();
            loop {
                let (id, kind, message) = reader.next();
                assert_eq!(kind, "change", "it misses nothing");
                received.fetch_add(message.to_string().len(), Ordering::Relaxed);
                numbers.push(id.rsplit_once('-').unwrap().1.parse::<usize>().unwrap());
                if message["nodes"].to_string().contains("last") {
                    let expected: Vec<usize> = (numbers[0]..).take(numbers.len()).collect();
                    assert_eq!(numbers, expected);
                    break;
                }
            }
        });
        let taint = |taints: Value| {
            let patch = json!({"spec": {"taints": taints}}).to_string();
            request(&kubeconfig, "PATCH", "/api/v1/nodes/n1", &patch);
            let_time_pass_blocking(Duration::from_millis(300), "about three changes a second");
        };
        let mut stalled_for = None;
        while began.elapsed() < TRAFFIC_MAX
            && (stalled_for.is_none() || received.load(Ordering::Relaxed) < MEMORY_MAX)
        {
            taint(json!([{"key": "k", "effect": "NoExecute"}]));
            taint(json!([]));
            stalled_for = stalled_for.or_else(|| (sockets(pid) == idle).then(|| began.elapsed()));
        }
        taint(json!([{"key": "last", "effect": "NoSchedule"}]));
        stalled_for.expect("all are disconnected")
    });
    assert!(stalled_for >= STALL_MAX, "{stalled_for:?}");
    let (memory, received) = (usage::of(pid).unwrap().peak.saturating_sub(memory), received.into_inner());
    assert!(received >= MEMORY_MAX, "the viewer that reads got {received} bytes");
    assert!(memory < MEMORY_MAX as u64, "{memory} bytes more");
    for viewer in stalled {
        let rest = viewer.rest().expect("the end of the stream");
        assert!(!String::from_utf8_lossy(&rest).contains("\"last\""), "it got {} bytes", rest.len());
    }
}
