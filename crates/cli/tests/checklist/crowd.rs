//! Checks item 17: thousands of idle, slow or flooding connections alongside a well-behaved client.

use super::harness::{ChecklistHarness, ItemResult, Shown, Yardstick, at_most, demand};
use crate::admission::client::{config, connect, question};
use crate::admission::register::plain_pod;
use rustix::process::{Resource, getrlimit};
use rustls::pki_types::ServerName;
use std::cell::Cell;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use testkit::wait::let_time_pass;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

const CONNECTIONS: u64 = 10_000;
/// Pods have other addresses than API servers.
const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
/// File handles that this process needs for other things.
const OTHERS: u64 = 300;
/// One in this many connections completes the handshake, requests a health check, and then sends a body byte by byte.
const SHAKES: u64 = 40;
/// Streams that a flood opens and resets.
const STREAMS: u32 = 5_000;
const FLOODS: usize = 4;
const LIMIT: Duration = Duration::from_secs(1);
const QUESTIONS: usize = 200;
const STARTUP_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) async fn good_clients(harness: &ChecklistHarness) -> ItemResult {
    let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let connections = CONNECTIONS.min(most.saturating_sub(OTHERS));
    let (yardstick, over) = (Yardstick::lay(), Cell::new(false));
    let bad = async {
        let held = hold(harness, connections).await;
        futures::future::join_all((0..FLOODS).map(|_| flood(harness))).await;
        over.set(true);
        held
    };
    let (took, held) = futures::join!(request(harness, &over), bad);
    let stall = yardstick.worst();
    let (requested, late) = (took.len(), at_most(took, 990));
    demand(held.len() as u64 == connections, format!("only {} connections", held.len()))?;
    demand(
        late < LIMIT + 2 * stall,
        format!("p99 of good clients {late:?}, while the machine held up a sleeper for {stall:?}"),
    )?;
    let metric = |label: &str| harness.hook.metric("taintward_webhook_ended_connections_total", label);
    let open = harness.hook.metric("taintward_webhook_connections", "");
    demand(open <= 600.0, format!("{open} connections are open"))?;
    let figures = format!(
        "{connections} connections, {open} of them open, {} displaced, {} refused; {requested} questions of good clients, p99 {:.0} ms; {} KiB resident",
        metric("displaced"),
        metric("refused"),
        late.as_secs_f64() * 1000.0,
        harness.resident()
    );
    Ok(Shown::with(
        "up to 10,000 connections from another address that send nothing, little or single bytes, and floods of HTTP/2 resets: \
         p99 of good clients is below 1 s, apart from delays of the machine itself, and at most 600 connections are open",
        figures,
    ))
}

/// A client that sends requests repeatedly, on the same connection and on new ones.
async fn request(harness: &ChecklistHarness, over: &Cell<bool>) -> Vec<Duration> {
    let body = question("u", "main", &plain_pod("p")).to_string();
    let (mut took, mut keeps) = (Vec::new(), harness.client().await);
    while took.len() < QUESTIONS || !over.get() {
        let began = Instant::now();
        let response = if took.len() % 4 == 0 {
            harness.client().await.post("/mutate", body.clone()).await
        } else {
            keeps.post("/mutate", body.clone()).await
        };
        assert_eq!(response.unwrap().0, 200);
        took.push(began.elapsed());
        let_time_pass(Duration::from_millis(5), "a good client sends at most two hundred requests a second")
            .await;
    }
    took
}

/// A connection; dropping it closes it.
enum HeldConnection {
    Mute(TcpStream),
    Shaken(Box<tokio_rustls::client::TlsStream<TcpStream>>),
}

/// Connects from an address other than the API servers'.
async fn tcp(harness: &ChecklistHarness) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((ELSEWHERE, 0).into()).unwrap();
    socket.connect((Ipv4Addr::LOCALHOST, harness.hook.port).into()).await.unwrap()
}

async fn hold(harness: &ChecklistHarness, connections: u64) -> Vec<HeldConnection> {
    let connector = TlsConnector::from(Arc::new(config(&harness.authority.certificate, None)));
    let mut held = Vec::new();
    for number in 0..connections {
        if number % SHAKES == 0 {
            let stream = tcp(harness).await;
            // Some connections are rejected before the handshake is done.
            if let Ok(mut stream) =
                connector.connect(ServerName::try_from("localhost").unwrap(), stream).await
            {
                let head = "POST /mutate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 999\r\n\r\n{";
                let _ = stream.write_all(head.as_bytes()).await;
                held.push(HeldConnection::Shaken(Box::new(stream)));
                continue;
            }
        }
        let mut stream = tcp(harness).await;
        if number % 3 == 0 {
            // The beginning of a handshake that never continues.
            let _ = stream.write_all(&[22, 3, 1, 2, 0, 1]).await;
        }
        held.push(HeldConnection::Mute(stream));
        if number % 50 == 0 {
            tokio::task::yield_now().await;
        }
    }
    // Closed connections are noticed only on write, so some send further bytes.
    for one in held.iter_mut().step_by(97) {
        let _ = match one {
            HeldConnection::Mute(stream) => stream.write_all(b"x").await,
            HeldConnection::Shaken(stream) => stream.write_all(b" ").await,
        };
    }
    held
}

/// Opens and resets HTTP/2 streams, though the server does not offer HTTP/2.
async fn flood(harness: &ChecklistHarness) {
    let connector = TlsConnector::from(Arc::new(config(&harness.authority.certificate, None)));
    let mut stream = connect(harness.hook.port, &connector).await.unwrap();
    let mut bytes = [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &frame(4, 0, 0, &[])].concat();
    for number in 0..STREAMS {
        // `GET https / ` of the static table, and the authority `x`.
        bytes.extend(frame(1, 5, 2 * number + 1, &[0x82, 0x87, 0x84, 0x41, 1, b'x']));
        bytes.extend(frame(3, 0, 2 * number + 1, &8_u32.to_be_bytes()));
    }
    // The webhook closes the connection long before everything is sent.
    let _ = timeout(STARTUP_TIMEOUT, stream.write_all(&bytes)).await;
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}
