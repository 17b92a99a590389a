//! Tests shutdown: requests in flight complete, and no client delays it indefinitely.

use super::harness::{HarnessClient, SHORT, ServerHarness, TIMEOUT, limits, question};
use std::time::Duration;
use taintward_admission::settings::ServerLimits;
use testkit::wait::{let_time_pass, until_true};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

#[tokio::test]
async fn requests_in_flight_complete_and_idle_connections_are_closed() {
    let mut harness = ServerHarness::set(limits()).await;
    let mut idle = harness.tls().await;
    let mut two = HarnessClient::connect(&harness).await;
    assert_eq!(two.post("/mutate", question("a", 1)).await.0, 200);
    // Half of a request has arrived when the server receives the signal to stop.
    let mut busy = harness.tls().await;
    let body = question("a", 100_000);
    let head = "POST /mutate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length:";
    busy.write_all(format!("{head} {}\r\n\r\n", body.len()).as_bytes()).await.unwrap();
    busy.write_all(&body.as_bytes()[..50_000]).await.unwrap();
    harness.becomes("taintward_webhook_connections", 3.0).await;
    let_time_pass(Duration::from_millis(50), "the server reads the half, which no metric shows").await;
    harness.request_stop();
    let mut rest = Vec::new();
    let ended = timeout(TIMEOUT, idle.read_to_end(&mut rest)).await;
    assert!(ended.is_ok() && rest.is_empty(), "an idle connection stays open");
    assert!(!harness.served.is_finished(), "a request is in flight");
    busy.write_all(&body.as_bytes()[50_000..]).await.unwrap();
    let mut response = String::new();
    timeout(TIMEOUT, busy.read_to_string(&mut response)).await.expect("no end").unwrap();
    assert!(response.starts_with("HTTP/1.1 200") && response.contains("connection: close"), "{response}");
    timeout(TIMEOUT, &mut harness.served).await.expect("it does not end").unwrap();
    assert!(tokio::net::TcpStream::connect(harness.address).await.is_err(), "the port is closed");
}

#[tokio::test]
async fn new_connections_are_taken_for_a_while_after_the_request_to_stop() {
    let mut harness = ServerHarness::set(ServerLimits { farewell: SHORT * 3, ..limits() }).await;
    harness.request_stop();
    let mut client = HarnessClient::connect(&harness).await;
    assert_eq!(client.post("/mutate", question("a", 1)).await.0, 200);
    until_true("readiness to change", TIMEOUT, async || client.get("/readyz").await.0 != 200).await;
    drop(client);
    timeout(TIMEOUT, &mut harness.served).await.expect("it does not end").unwrap();
}

#[tokio::test]
async fn a_client_that_never_finishes_does_not_keep_the_server() {
    let mut harness = ServerHarness::set(ServerLimits { drain: SHORT, ..limits() }).await;
    let mut slow = harness.tls().await;
    slow.write_all(
        b"POST /mutate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{",
    )
    .await
    .unwrap();
    let _mute = tokio::net::TcpStream::connect(harness.address).await.unwrap();
    harness.becomes("taintward_webhook_connections", 2.0).await;
    harness.request_stop();
    timeout(TIMEOUT, &mut harness.served).await.expect("it does not end").unwrap();
}
