//! Tests hostile clients: silent, slow, numerous.

use super::flood::attack::tcp_from;
use super::harness::{HarnessClient, SHORT, ServerHarness, TIMEOUT, connect, limits, question};
use std::sync::Arc;
use std::time::{Duration, Instant};
use taintward_admission::settings::ServerLimits;
use testkit::wait::{let_time_pass, until};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Within this time a good client gets a response, whatever others do. On a shared machine it may take some of it to be
/// scheduled at all.
const SOON: Duration = Duration::from_secs(1);

/// The best of a few attempts: the load of other programs on the machine does not count.
async fn soon(harness: &ServerHarness) {
    let mut took = Vec::new();
    for _ in 0..5 {
        took.push(harness.responds().await);
    }
    assert!(took.iter().any(|took| *took < SOON), "{took:?}");
}

async fn ends(stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> bool {
    let mut bytes = vec![0; 1 << 16];
    let read_on = async { while stream.read(&mut bytes).await.is_ok_and(|count| count > 0) {} };
    timeout(TIMEOUT, read_on).await.is_ok()
}

#[tokio::test]
async fn silent_clients_are_closed_before_and_after_the_handshake() {
    let harness = ServerHarness::set(ServerLimits { head: SHORT, ..limits() }).await;
    let began = Instant::now();
    let mut mute = TcpStream::connect(harness.address).await.unwrap();
    let mut shaken = harness.tls().await;
    let mut half = harness.tls().await;
    half.write_all(b"POST /mutate HTTP/1.1\r\nhost:").await.unwrap();
    let mut good = HarnessClient::connect(&harness).await;
    assert_eq!(good.post("/mutate", question("a", 1)).await.0, 200);
    assert!(ends(&mut mute).await && ends(&mut shaken).await && ends(&mut half).await);
    assert!(began.elapsed() >= SHORT, "too early: {:?}", began.elapsed());
    harness.becomes("taintward_webhook_ended_connections_total{reason=\"mute\"}", 2.0).await;
    harness.becomes("taintward_webhook_ended_connections_total{reason=\"handshake\"}", 1.0).await;
    assert_eq!(
        good.post("/mutate", question("a", 1)).await.0,
        200,
        "a client that has sent a request may take its time"
    );
}

#[tokio::test]
async fn a_client_that_has_sent_a_request_is_closed_after_a_long_silence() {
    let harness = ServerHarness::set(ServerLimits { idle: SHORT, ..limits() }).await;
    let mut one = harness.tls().await;
    one.write_all(b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let began = Instant::now();
    assert!(ends(&mut one).await);
    assert!(began.elapsed() >= SHORT / 2, "too early");
    // A client that sends the next head slowly counts as silent, too.
    let mut dripping = harness.tls().await;
    dripping.write_all(b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\nGET /livez").await.unwrap();
    assert!(ends(&mut dripping).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_of_connections_delay_no_other_client() {
    let most = 200;
    let harness = ServerHarness::set(ServerLimits { connections: most, ..limits() }).await;
    let mut good = HarnessClient::connect(&harness).await;
    assert_eq!(good.post("/mutate", question("a", 1)).await.0, 200);
    let mut held = Vec::new();
    for round in 0..10 {
        for number in 0..300 {
            let mut stream = tcp_from(2, harness.address).await.unwrap();
            if number % 3 == 0 {
                // The beginning of a handshake that never continues.
                let _ = stream.write_all(&[22, 3, 1, 2, 0, 1]).await;
            }
            held.push(stream);
        }
        // A client that keeps sending requests keeps its connection, and new ones from other addresses get one.
        assert_eq!(good.post("/mutate", question("a", 1)).await.0, 200, "round {round}");
        assert_eq!(
            HarnessClient::connect(&harness).await.post("/mutate", question("a", 1)).await.0,
            200,
            "round {round}"
        );
    }
    assert!(harness.value("taintward_webhook_connections") <= most as f64 + 50.0);
    soon(&harness).await;
    let began = Instant::now();
    assert_eq!(good.post("/mutate", question("a", 1)).await.0, 200);
    assert!(began.elapsed() < TIMEOUT);
    let ended =
        |why: &str| harness.value(&format!("taintward_webhook_ended_connections_total{{reason=\"{why}\"}}"));
    assert!(ended("displaced") + ended("refused") >= 2500.0, "{} {}", ended("displaced"), ended("refused"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_shares_an_address_with_a_flood_connects_after_the_floods_grace_period() {
    let harness = ServerHarness::set(ServerLimits { connections: 60, ..limits() }).await;
    let mut held = Vec::new();
    for number in 0..60 {
        let mut stream = harness.tls().await;
        // Health requests, half a request, and invalid ones are not useful for API servers either.
        stream.write_all(b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        let mut byte = [0];
        timeout(TIMEOUT, stream.read_exact(&mut byte)).await.unwrap().unwrap();
        let (length, body) = if number % 2 == 0 { (99, "{") } else { (2, "{}") };
        let head = "POST /mutate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length:";
        stream.write_all(format!("{head} {length}\r\n\r\n{body}").as_bytes()).await.unwrap();
        held.push(stream);
    }
    harness.becomes("taintward_webhook_connections", 60.0).await;
    let accepted = async || Ok(connect(harness.address, &harness.root).await.ok());
    let mut good =
        HarnessClient::over(until("a connection to be accepted", TIMEOUT, accepted).await.unwrap()).await;
    assert_eq!(good.post("/mutate", question("a", 1)).await.0, 200);
    assert!(ends(&mut held[0]).await, "the connection that was silent for the longest is closed");
    // Useful and never silent for long: it stays, whatever other connections do.
    for _ in 0..100 {
        let _ = connect(harness.address, &harness.root).await;
        assert_eq!(good.post("/mutate", question("a", 1)).await.0, 200);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_floods_leave_a_third_client_its_share() {
    let harness = ServerHarness::set(ServerLimits { connections: 60, ..limits() }).await;
    let mut held = Vec::new();
    for number in 0..400_u16 {
        held.push(tcp_from(2 + u8::try_from(number % 2).unwrap(), harness.address).await.unwrap());
    }
    let mut ours = Vec::new();
    for number in 0..15 {
        let mut good = HarnessClient::connect(&harness).await;
        assert_eq!(good.post("/mutate", question("a", 1)).await.0, 200, "{number}");
        ours.push(good);
        held.push(tcp_from(2, harness.address).await.unwrap());
    }
    for good in &mut ours {
        assert_eq!(good.post("/mutate", question("a", 1)).await.0, 200);
    }
}

/// An HTTP/2 frame.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// `POST https://x/mutate`, in HPACK without the table.
fn head_of_a_question() -> Vec<u8> {
    let literal = |name: &[u8], value: &[u8]| {
        [&[0, u8::try_from(name.len()).unwrap()], name, &[u8::try_from(value.len()).unwrap()], value].concat()
    };
    [
        vec![0x83, 0x87],
        literal(b":path", b"/mutate"),
        literal(b":authority", b"x"),
        literal(b"content-type", b"application/json"),
    ]
    .concat()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_unsupported_http_2_delays_no_other_client() {
    let harness = Arc::new(ServerHarness::set(limits()).await);
    let flood = |harness: Arc<ServerHarness>| async move {
        let mut stream = harness.tls().await;
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
        let mut bytes = [&preface[..], &frame(4, 0, 0, &[])].concat();
        for number in 0..20_000_u32 {
            bytes.extend(frame(1, 4, 2 * number + 1, &head_of_a_question()));
            bytes.extend(frame(3, 0, 2 * number + 1, &8_u32.to_be_bytes()));
        }
        let _ = timeout(TIMEOUT, stream.write_all(&bytes)).await;
        ends(&mut stream).await
    };
    let floods: Vec<_> = (0..3).map(|_| tokio::spawn(flood(harness.clone()))).collect();
    let_time_pass(Duration::from_millis(20), "the floods are under way").await;
    soon(&harness).await;
    for flood in floods {
        assert!(flood.await.unwrap(), "the connection is closed");
    }
    soon(&harness).await;
}
