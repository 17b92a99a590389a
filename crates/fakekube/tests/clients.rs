//! Tests slow, silent and vanished clients on real sockets, with short limits.
//!
//! - See `hostile.rs` for hostile requests.

#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

#[path = "parts/cluster.rs"]
mod cluster;

use fakekube::api::{ApiServer, ResourcePath, WriteOptions};
use fakekube::resource::known;
use fakekube::serve::{ApiListener, ListenerLimits};
use serde_json::json;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use testkit::wait::let_time_pass;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The limits under test.
const SHORT: Duration = Duration::from_millis(400);

/// On a busy machine, everything arrives within this if it arrives at all.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Limits so large that none takes effect, except those that a test sets.
fn limits() -> ListenerLimits {
    let long = TIMEOUT * 4;
    ListenerLimits { head: long, body: long, stall: long, silence: long, ..ListenerLimits::default() }
}

struct ClientsHarness {
    address: SocketAddr,
    server: ApiServer,
}

impl ClientsHarness {
    async fn set(limits: ListenerLimits) -> Self {
        Self::with_tls(limits, false).await
    }

    async fn with_tls(limits: ListenerLimits, tls: bool) -> Self {
        let server = cluster::with_nodes(2);
        let listening = ApiListener::open("127.0.0.1:0".parse().unwrap(), tls).await.unwrap().within(limits);
        let address = listening.address();
        tokio::spawn(listening.serve(server.clone()));
        Self { address, server }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    async fn send(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = self.connect().await;
        stream.write_all(bytes).await.unwrap();
        stream
    }

    async fn get(&self, path: &str) -> TcpStream {
        self.send(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{}\r\n", self.entry()).as_bytes()).await
    }

    fn entry(&self) -> String {
        format!("authorization: Bearer {}\r\n", self.server.token().text())
    }

    /// A POST with the beginning of its body.
    fn post(&self, length: usize, begun: &str) -> Vec<u8> {
        let head = "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json";
        format!("{head}\r\n{}content-length: {length}\r\n\r\n{begun}", self.entry()).into_bytes()
    }

    /// Sends a request of another client. Returns how long it took.
    async fn responses(&self) -> Duration {
        let began = Instant::now();
        let mut stream =
            self.send(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await;
        let mut response = String::new();
        timeout(TIMEOUT, stream.read_to_string(&mut response))
            .await
            .expect("the server does not respond")
            .unwrap();
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
        began.elapsed()
    }

    /// Writes objects of a few megabytes each.
    fn write(&self, count: usize, name: &str) {
        let on = ResourcePath::object(known("", "configmaps"), "default", "");
        for number in 0..count {
            let object = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("{name}{number}")},
                "data": {"a": "x".repeat(900_000)},
            });
            self.server.create(&on, object, &WriteOptions::by("test")).unwrap();
        }
    }
}

fn config(name: &str, padding: usize) -> String {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "x".repeat(padding)},
    })
    .to_string()
}

/// The first line of an answer.
async fn status(stream: &mut TcpStream) -> String {
    let mut bytes = [0; 256];
    let count = timeout(TIMEOUT, stream.read(&mut bytes)).await.expect("no answer").unwrap();
    String::from_utf8_lossy(&bytes[..count]).lines().next().unwrap_or_default().to_owned()
}

/// Whether the server has closed the connection.
async fn ends(stream: &mut TcpStream) -> bool {
    let mut bytes = vec![0; 64 << 10];
    let read_on = async { while stream.read(&mut bytes).await.is_ok_and(|count| count > 0) {} };
    timeout(TIMEOUT, read_on).await.is_ok()
}

#[tokio::test]
async fn a_body_sent_byte_by_byte_times_out_and_blocks_no_other_client() {
    let harness = ClientsHarness::set(ListenerLimits { body: SHORT, ..limits() }).await;
    let stream = harness.send(&harness.post(100_000, "{")).await;
    let (mut from, mut to) = stream.into_split();
    let dripping = tokio::spawn(async move {
        while to.write_all(b" ").await.is_ok() {
            let_time_pass(Duration::from_millis(10), "a slow client").await;
        }
    });
    let began = Instant::now();
    assert!(harness.responses().await < TIMEOUT);
    let mut response = vec![0; 4096];
    let count = timeout(TIMEOUT, from.read(&mut response)).await.expect("there is no timeout").unwrap();
    let response = String::from_utf8_lossy(&response[..count]);
    assert!(response.starts_with("HTTP/1.1 504"), "{response}");
    assert!(response.contains("\"reason\":\"Timeout\""), "{response}");
    assert!(began.elapsed() >= SHORT / 2, "too early: {:?}", began.elapsed());
    timeout(TIMEOUT, dripping).await.expect("the connection stays open").unwrap();
}

#[tokio::test]
async fn large_bodies_that_do_not_come_hold_up_large_ones_for_a_while_and_small_ones_never() {
    let harness = ClientsHarness::set(ListenerLimits { body: SHORT * 6, large_bodies: 1, ..limits() }).await;
    let slow = String::from_utf8(harness.post(2_000_000, "")).unwrap();
    let slow = slow.replace("content-length", "expect: 100-continue\r\ncontent-length");
    let mut slow = harness.send(slow.as_bytes()).await;
    assert!(status(&mut slow).await.contains("100"), "it reads the body, and so has the permit");
    slow.write_all(&[b' '; 200_000]).await.unwrap();
    let_time_pass(
        SHORT * 2,
        "the time limit of the large body begins now, and must end later than that of the slow one",
    )
    .await;
    let (small, large) = (config("small", 10), config("large", 500_000));
    let mut large = harness.send(&harness.post(large.len(), &large)).await;
    let mut small = harness.send(&harness.post(small.len(), &small)).await;
    assert!(status(&mut small).await.contains("201"));
    let mut nothing = [0; 1];
    assert!(timeout(SHORT / 4, large.read(&mut nothing)).await.is_err(), "the permit came too early");
    assert!(status(&mut large).await.contains("201"));
}

#[tokio::test]
async fn a_connection_without_a_complete_request_is_closed() {
    let tried: [&[u8]; 4] = [b"", b"P", b"PRI * HTTP/2.0\r\n", b"GET /readyz HTTP/1.1\r\nhost:"];
    for message in tried {
        let harness = ClientsHarness::set(ListenerLimits { head: SHORT, connections: 1, ..limits() }).await;
        let mut mute = harness.send(message).await;
        let waited = harness.responses().await;
        assert!(waited >= SHORT / 2, "{message:?}: too early: {waited:?}");
        assert!(ends(&mut mute).await, "{message:?}");
    }
}

#[tokio::test]
async fn a_connection_that_never_starts_tls_is_closed() {
    let harness = ClientsHarness::with_tls(ListenerLimits { head: SHORT, ..limits() }, true).await;
    assert!(ends(&mut harness.connect().await).await);
}

#[tokio::test]
async fn a_connection_that_never_reads_is_closed() {
    let harness = ClientsHarness::set(ListenerLimits { stall: SHORT, connections: 1, ..limits() }).await;
    harness.write(30, "c");
    let _held = harness.get("/api/v1/configmaps").await;
    let waited = harness.responses().await;
    assert!(waited >= SHORT / 2, "too early: {waited:?}");
}

#[tokio::test]
async fn a_watcher_that_does_not_read_is_ended() {
    let harness = ClientsHarness::set(ListenerLimits { stall: SHORT, connections: 1, ..limits() }).await;
    let mut watcher = harness.get("/api/v1/configmaps?watch=true").await;
    assert!(status(&mut watcher).await.contains("200"));
    harness.write(30, "c");
    let waited = harness.responses().await;
    assert!(waited >= SHORT / 2, "too early: {waited:?}");
}

#[tokio::test]
async fn a_watcher_that_reads_stays_however_long_nothing_happens() {
    let harness =
        ClientsHarness::set(ListenerLimits { stall: SHORT, head: SHORT, body: SHORT, ..limits() }).await;
    let mut watcher = harness.get("/api/v1/configmaps?watch=true&fieldSelector=metadata.name%3Dlast").await;
    assert!(status(&mut watcher).await.contains("200"));
    let mut bytes = vec![0; 2 << 20];
    let sanitized = timeout(SHORT * 4, watcher.read(&mut bytes)).await;
    let reported = sanitized.map_or(0, |read| read.unwrap());
    assert!(!String::from_utf8_lossy(&bytes[..reported]).contains("ADDED"));
    harness.write(3, "other");
    let last = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "last"}});
    let on = ResourcePath::object(known("", "configmaps"), "default", "");
    harness.server.create(&on, last, &WriteOptions::by("test")).unwrap();
    let mut message = String::new();
    while !message.contains("\"last\"") {
        let count = timeout(TIMEOUT, watcher.read(&mut bytes)).await.expect("no event").unwrap();
        assert!(count > 0, "it ended");
        message += &String::from_utf8_lossy(&bytes[..count]);
    }
}

/// A GET as an HTTP/2 client sends it at the start of a connection.
fn http2_get(path: &str, bearer: &str) -> Vec<u8> {
    // In HPACK: GET and http are in the static table; path, authority and authorization are spelled out.
    let mut head = vec![0x82, 0x86, 0x04, u8::try_from(path.len()).unwrap()];
    head.extend_from_slice(path.as_bytes());
    head.extend_from_slice(b"\x01\x09localhost");
    head.extend_from_slice(&[0x0f, 0x08, u8::try_from(bearer.len()).unwrap()]);
    head.extend_from_slice(bearer.as_bytes());
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend_from_slice(&[0, 0, 0, 4, 0, 0, 0, 0, 0]);
    bytes.extend_from_slice(&[0, 0, u8::try_from(head.len()).unwrap(), 1, 5, 0, 0, 0, 1]);
    bytes.extend_from_slice(&head);
    bytes
}

#[tokio::test]
async fn a_client_that_vanishes_without_closing_is_detected() {
    let harness = ClientsHarness::set(ListenerLimits {
        silence: SHORT,
        stall: SHORT,
        head: SHORT,
        connections: 1,
        ..limits()
    })
    .await;
    let bearer = format!("Bearer {}", harness.server.token().text());
    let mut gone = harness.send(&http2_get("/api/v1/nodes?watch=1", &bearer)).await;
    let mut message = vec![0; 4096];
    let mut reported = Vec::new();
    while !String::from_utf8_lossy(&reported).contains("ADDED") {
        let count =
            timeout(TIMEOUT, gone.read(&mut message)).await.expect("the watch does not begin").unwrap();
        assert!(count > 0, "it ended immediately");
        reported.extend_from_slice(&message[..count]);
    }
    let waited = harness.responses().await;
    assert!(waited >= SHORT / 2, "too early: {waited:?}");
}

#[tokio::test]
async fn watchers_that_disconnect_free_their_places() {
    let harness = ClientsHarness::set(ListenerLimits { connections: 50, ..limits() }).await;
    for _ in 0..4 {
        let mut watchers = Vec::new();
        for _ in 0..50 {
            watchers.push(harness.get("/api/v1/nodes?watch=true").await);
        }
        assert!(status(&mut watchers[49]).await.contains("200"));
    }
    harness.responses().await;
}

/// The resident memory of this process.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    pages.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0)
        * rustix::param::page_size()
}

#[tokio::test]
async fn a_thousand_idle_watches_on_sockets_stay_cheap_and_receive_the_one_change() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut handles = getrlimit(Resource::Nofile);
    handles.current = handles.maximum;
    setrlimit(Resource::Nofile, handles).unwrap();
    let harness = ClientsHarness::set(ListenerLimits {
        silence: SHORT,
        stall: SHORT,
        head: SHORT,
        body: SHORT,
        ..limits()
    })
    .await;
    let path = format!("/api/v1/nodes?watch=true&resourceVersion={}", harness.server.store().version());
    let before = resident();
    let mut watchers = Vec::new();
    for _ in 0..1000 {
        let mut watcher = harness.get(&path).await;
        assert!(status(&mut watcher).await.contains("200"));
        watchers.push(watcher);
    }
    let_time_pass(SHORT * 2, "a watch must outlive every limit of a client").await;
    let each = resident().saturating_sub(before) / 1000;
    // Both ends are in this process.
    assert!(each < 64 << 10, "{each} bytes for each watch");
    assert!(harness.responses().await < Duration::from_secs(5), "they block other clients");
    let on = ResourcePath::object(known("", "nodes"), "", "n1");
    harness.server.change(&on, "test", |node| node["metadata"]["labels"]["a"] = json!("b")).unwrap();
    for watcher in &mut watchers {
        let mut bytes = vec![0; 16 << 10];
        let count = timeout(TIMEOUT, watcher.read(&mut bytes)).await.expect("no event").unwrap();
        assert!(String::from_utf8_lossy(&bytes[..count]).contains("MODIFIED"));
    }
}
