//! Bodies that are long, slow, or never come.

use super::stage::{Client, PATIENCE, SHORT, Stage, limits, question};
use std::sync::Arc;
use std::time::Duration;
use taintward_webhook::settings::Limits;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

/// How much memory this process holds, in bytes.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * rustix::param::page_size()
}

/// The head of a question, with so many bytes announced.
fn head(length: usize) -> Vec<u8> {
    let head = "POST /mutate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length:";
    format!("{head} {length}\r\n\r\n").into_bytes()
}

const CHUNKED: &[u8] = b"POST /mutate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";

#[tokio::test]
async fn three_mebibytes_are_answered_and_ten_are_refused() {
    let stage = Stage::set(limits()).await;
    let mut client = Client::connect(&stage).await;
    let (status, body) = client.post("/mutate", question("a", 3 << 20)).await;
    assert_eq!(status, 200, "{body}");
    let (status, said) = client.post("/mutate", question("a", 10 << 20)).await;
    assert_eq!((status, &*said), (413, "the body has more than 8388608 bytes\n"));
    // Just below the limit and just above it.
    let around = (8 << 20) - question("a", 0).len();
    assert_eq!(client.post("/mutate", question("a", around)).await.0, 200);
    assert_eq!(client.post("/mutate", question("a", around + 1)).await.0, 413);
}

#[tokio::test]
async fn a_long_body_is_refused_at_its_length_whether_announced_or_not_and_is_not_kept() {
    let stage = Stage::set(limits()).await;
    stage.answers().await;
    let before = resident();
    let mut chunk = format!("{:x}\r\n", 1 << 20).into_bytes();
    chunk.extend(vec![b' '; 1 << 20]);
    chunk.extend(b"\r\n");
    let mut streams = Vec::new();
    for _ in 0..4 {
        let mut stream = stage.tls().await;
        stream.write_all(CHUNKED).await.unwrap();
        for _ in 0..12 {
            stream.write_all(&chunk).await.unwrap();
        }
        stream.write_all(b"0\r\n\r\n").await.unwrap();
        streams.push(stream);
    }
    for stream in &mut streams {
        let mut answer = [0; 12];
        timeout(PATIENCE, stream.read_exact(&mut answer)).await.expect("no answer").unwrap();
        assert_eq!(&answer, b"HTTP/1.1 413");
    }
    let grown = resident().saturating_sub(before);
    // Four of 8 MiB at once were never there: what is too long is thrown away as it comes.
    assert!(grown < 40 << 20, "{grown} bytes more");
    // Who asks before he sends need not send at all.
    let expecting = b"POST /mutate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nexpect: 100-continue\r\ncontent-length: 10485760\r\n\r\n";
    assert!(stage.raw(expecting).await.starts_with("HTTP/1.1 413"));
}

#[tokio::test]
async fn a_body_that_comes_byte_by_byte_is_given_up_in_its_time_and_holds_up_nobody() {
    let stage = Stage::set(Limits { body: SHORT, ..limits() }).await;
    let mut stream = stage.tls().await;
    stream.write_all(&head(1000)).await.unwrap();
    let began = std::time::Instant::now();
    let mut answer = vec![0; 4096];
    let count = loop {
        let _ = stream.write_all(b" ").await;
        if let Ok(read) = timeout(Duration::from_millis(10), stream.read(&mut answer)).await {
            break read.unwrap();
        }
        assert!(began.elapsed() < PATIENCE, "it is waited for without end");
    };
    let answer = String::from_utf8_lossy(&answer[..count]);
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.ends_with("the body did not arrive within 400ms\n"), "{answer}");
    assert!(began.elapsed() >= SHORT / 2, "too early: {:?}", began.elapsed());
    assert!(stage.answers().await < PATIENCE);
    assert_eq!(stage.value("taintward_webhook_refused_requests_total{reason=\"late\"}"), 1.0);
}

#[tokio::test]
async fn too_many_bodies_on_their_way_cost_the_slowest_and_nobody_else() {
    let stage = Stage::set(Limits { bodies_bytes: 1 << 20, ..limits() }).await;
    let mut slow = Vec::new();
    // Each is half the room there is, and never comes to its end.
    for _ in 0..6 {
        let mut stream = stage.tls().await;
        stream.write_all(&head(600_000)).await.unwrap();
        stream.write_all(&vec![b' '; 400_000]).await.unwrap();
        slow.push(stream);
    }
    stage.reaches("taintward_webhook_refused_requests_total{reason=\"crowded\"}", 4.0).await;
    let mut answer = [0; 12];
    timeout(PATIENCE, slow[0].read_exact(&mut answer)).await.expect("no answer").unwrap();
    assert_eq!(&answer, b"HTTP/1.1 503");
    // A good one as large comes through, as do small ones.
    let mut client = Client::connect(&stage).await;
    assert_eq!(client.post("/mutate", question("a", 500_000)).await.0, 200);
    assert!(stage.answers().await < PATIENCE);
}

#[tokio::test]
async fn a_body_that_breaks_off_and_clients_that_vanish_leave_nothing_behind() {
    let stage = Stage::set(limits()).await;
    for bytes in [head(100), [CHUNKED, b"zz\r\n"].concat(), [CHUNKED, b"5\r\nab"].concat()] {
        let mut stream = stage.tls().await;
        stream.write_all(&bytes).await.unwrap();
        drop(stream);
    }
    stage.becomes("taintward_webhook_connections", 0.0).await;
    assert!(stage.answers().await < PATIENCE);
}

#[tokio::test]
async fn a_client_that_does_not_read_is_cut_off() {
    let stage = Stage::set(Limits { stall: SHORT, ..limits() }).await;
    let mut stream = stage.tls().await;
    let one = [head(question("a", 10).len()), question("a", 10).into_bytes()].concat();
    let many = one.repeat(20);
    // Answers pile up until nothing more can be written.
    let flood = async { while stream.write_all(&many).await.is_ok() {} };
    timeout(PATIENCE, flood).await.expect("it is waited for without end");
    stage.becomes("taintward_webhook_connections", 0.0).await;
    assert!(stage.answers().await < PATIENCE);
}

#[tokio::test]
async fn questions_of_many_clients_at_once_are_all_answered() {
    let stage = Arc::new(Stage::set(limits()).await);
    let asked = (0..200).map(|_| {
        let stage = Arc::clone(&stage);
        tokio::spawn(
            async move { Client::connect(&stage).await.post("/mutate", question("a", 30_000)).await.0 },
        )
    });
    for answered in asked.collect::<Vec<_>>() {
        assert_eq!(answered.await.unwrap(), 200);
    }
}
