//! Tests long, slow and incomplete bodies.

use super::harness::{HarnessClient, SHORT, ServerHarness, TIMEOUT, limits, question};
use std::sync::Arc;
use std::time::Duration;
use taintward_admission::settings::ServerLimits;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

/// The head of a request, announcing this many bytes.
fn head(length: usize) -> Vec<u8> {
    let head = "POST /mutate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length:";
    format!("{head} {length}\r\n\r\n").into_bytes()
}

const CHUNKED: &[u8] = b"POST /mutate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";

/// The longest that an API server can send: two objects of 3 MiB, every character written as six, and the envelope.
const LONGEST: usize = 37 << 20;

#[tokio::test]
async fn the_longest_possible_body_is_answered_and_a_longer_one_refused_by_its_head() {
    let harness = ServerHarness::set(limits()).await;
    let mut client = HarnessClient::connect(&harness).await;
    let escaped = |times: usize| {
        question("a", 0).replace(r#""a":"""#, &format!(r#""a":"{}""#, "\\u003c".repeat(times)))
    };
    for times in [1_420_000, 6 << 20] {
        let (status, body) = client.post("/validate", escaped(times)).await;
        assert_eq!(status, 200, "{body}");
        assert!(body.contains("\"allowed\":true"), "{body}");
    }
    // Just below the limit and just above it: there the beginning has the uid for the response.
    let around = LONGEST - question("a", 0).len();
    assert_eq!(client.post("/mutate", question("a", around)).await.0, 200);
    assert_eq!(harness.value("taintward_webhook_refused_requests_total{reason=\"too_large\"}"), 0.0);
    for (path, allowed) in [("/validate", false), ("/mutate", true)] {
        let (status, body) =
            HarnessClient::connect(&harness).await.post(path, question("unjudged", around)).await;
        assert_eq!(status, 200, "{body}");
        assert!(body.contains(&format!("\"uid\":\"u\",\"allowed\":{allowed}")), "{body}");
    }
    assert_eq!(harness.value("taintward_webhook_refused_requests_total{reason=\"too_large\"}"), 2.0);
    let nothing = format!("[{}", " ".repeat(LONGEST));
    let (status, message) = HarnessClient::connect(&harness).await.post("/validate", nothing).await;
    assert_eq!((status, &*message), (413, "the body has more than 38797312 bytes\n"));
}

#[tokio::test]
async fn a_long_body_is_not_stored_with_or_without_an_announced_length() {
    // The memory of all incomplete bodies is counted as it grows; a thousandth of one of these would be too much.
    let harness = ServerHarness::set(ServerLimits { bodies_bytes: 32 << 10, ..limits() }).await;
    harness.responds().await;
    let (head, tail) =
        question("unjudged", 0).split_once("}}}}").map(|(head, _)| (head.to_owned(), "}}}}")).unwrap();
    let chunk = |bytes: &[u8]| [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat();
    let mebibyte = chunk(&vec![b' '; 1 << 20]);
    let mut streams = Vec::new();
    for mebibytes in [36, 36, 36, 40] {
        let mut stream = harness.tls().await;
        stream.write_all(CHUNKED).await.unwrap();
        stream.write_all(&chunk(head.as_bytes())).await.unwrap();
        for _ in 0..mebibytes {
            stream.write_all(&mebibyte).await.unwrap();
        }
        stream.write_all(&chunk(tail.as_bytes())).await.unwrap();
        stream.write_all(b"0\r\n\r\n").await.unwrap();
        // Data that the socket has no room for waits in the TLS session, and reading does not send it.
        stream.flush().await.unwrap();
        streams.push(stream);
    }
    for stream in &mut streams {
        let mut response = [0; 12];
        timeout(TIMEOUT, stream.read_exact(&mut response)).await.expect("no answer").unwrap();
        assert_eq!(&response, b"HTTP/1.1 200");
    }
    assert_eq!(harness.value("taintward_webhook_refused_requests_total{reason=\"crowded\"}"), 0.0);
    // A client that sends `Expect: 100-continue` does not have to send the body at all.
    let expecting = b"POST /mutate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nexpect: 100-continue\r\ncontent-length: 40000000\r\n\r\n";
    assert!(harness.raw(expecting).await.starts_with("HTTP/1.1 413"));
}

/// A review of a pod that names a node of this length.
fn kept(length: usize) -> String {
    question("a", 0).replace(r#""a":"""#, &format!(r#""nodeName":"{}""#, "x".repeat(length)))
}

#[tokio::test]
async fn a_body_that_arrives_byte_by_byte_is_given_up_in_time_and_delays_no_other() {
    let harness = ServerHarness::set(ServerLimits { body: SHORT, ..limits() }).await;
    let mut stream = harness.tls().await;
    stream.write_all(&head(1000)).await.unwrap();
    let began = std::time::Instant::now();
    let mut response = vec![0; 4096];
    let count = loop {
        let _ = stream.write_all(b" ").await;
        if let Ok(read) = timeout(Duration::from_millis(10), stream.read(&mut response)).await {
            break read.unwrap();
        }
        assert!(began.elapsed() < TIMEOUT, "the server waits without end");
    };
    let response = String::from_utf8_lossy(&response[..count]);
    assert!(response.starts_with("HTTP/1.1 408"), "{response}");
    assert!(response.ends_with("the body did not arrive within 400ms\n"), "{response}");
    assert!(began.elapsed() >= SHORT / 2, "too early: {:?}", began.elapsed());
    assert!(harness.responds().await < TIMEOUT);
    assert_eq!(harness.value("taintward_webhook_refused_requests_total{reason=\"late\"}"), 1.0);
}

#[tokio::test]
async fn too_many_incomplete_bodies_cost_only_the_slowest() {
    let harness = ServerHarness::set(ServerLimits { bodies_bytes: 1 << 20, ..limits() }).await;
    let mut slow = Vec::new();
    // Each uses half of the memory, and never ends.
    for _ in 0..6 {
        let mut stream = harness.tls().await;
        let body = kept(600_000).replace(r#""name":"a""#, r#""name":"unjudged""#);
        let head = String::from_utf8(head(body.len())).unwrap().replace("/mutate", "/validate");
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&body.as_bytes()[..400_000]).await.unwrap();
        stream.flush().await.unwrap();
        slow.push(stream);
    }
    harness.reaches("taintward_webhook_refused_requests_total{reason=\"crowded\"}", 4.0).await;
    // Its uid has arrived, and it gets a response.
    let mut response = [0; 1000];
    let length = timeout(TIMEOUT, slow[0].read(&mut response)).await.expect("no answer").unwrap();
    let response = String::from_utf8_lossy(&response[..length]);
    assert!(response.starts_with("HTTP/1.1 200") && response.contains("\"allowed\":false"), "{response}");
    // A good one as large succeeds, as do small ones, and long ones of which little is kept.
    let mut client = HarnessClient::connect(&harness).await;
    assert_eq!(client.post("/mutate", kept(500_000)).await.0, 200);
    assert_eq!(client.post("/mutate", question("a", 3_000_000)).await.0, 200);
    assert!(harness.responds().await < TIMEOUT);
}

#[tokio::test]
async fn interrupted_bodies_and_vanished_clients_leave_nothing_behind() {
    let harness = ServerHarness::set(limits()).await;
    for bytes in [head(100), [CHUNKED, b"zz\r\n"].concat(), [CHUNKED, b"5\r\nab"].concat()] {
        let mut stream = harness.tls().await;
        stream.write_all(&bytes).await.unwrap();
        drop(stream);
    }
    harness.becomes("taintward_webhook_connections", 0.0).await;
    assert!(harness.responds().await < TIMEOUT);
}

#[tokio::test]
async fn a_client_that_does_not_read_is_cut_off() {
    let harness = ServerHarness::set(ServerLimits { stall: SHORT, ..limits() }).await;
    let mut stream = harness.tls().await;
    let one = [head(question("a", 10).len()), question("a", 10).into_bytes()].concat();
    let many = one.repeat(20);
    // Responses pile up until nothing more can be written.
    let flood = async { while stream.write_all(&many).await.is_ok() {} };
    timeout(TIMEOUT, flood).await.expect("the server waits without end");
    harness.becomes("taintward_webhook_connections", 0.0).await;
    assert!(harness.responds().await < TIMEOUT);
}

#[tokio::test]
async fn reviews_of_many_clients_at_the_same_time_are_all_answered() {
    let harness = Arc::new(ServerHarness::set(limits()).await);
    let requested = (0..200).map(|_| {
        let harness = Arc::clone(&harness);
        tokio::spawn(async move {
            HarnessClient::connect(&harness).await.post("/mutate", question("a", 30_000)).await.0
        })
    });
    for responded in requested.collect::<Vec<_>>() {
        assert_eq!(responded.await.unwrap(), 200);
    }
}
