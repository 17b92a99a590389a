//! Tests requests over loopback sockets, and slow clients in virtual time.

use super::access::{PathAccess, PortAccess};
use super::listen::{CONNECTION_MAX, CONNECTIONS_MAX, HEAD_MAX, client, converse};
use super::*;
use crate::metrics::{Exposition, MetricsRegistry};
use crate::settings::{SecureServing, ServingCertificate, ServingSettings};
use prometheus_client::registry::Registry;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU16;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use taintward_core::time::Mono;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, duplex};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::{Instant, timeout};

mod readers;
mod tls;

const RECORD: &[u8] = b"a record";

/// A port whose metrics any client may read.
fn anyone() -> PortAccess {
    PortAccess::of_metrics(PathAccess::Anyone)
}

/// Checks: `sync` (ready only) and `engine` (live), each can be made to fail.
#[derive(Default)]
struct TestChecks {
    unsynced: Arc<AtomicBool>,
    stuck: Arc<AtomicBool>,
}

/// A few metrics.
#[derive(Debug)]
struct Series(Registry);

impl Series {
    fn new() -> Self {
        let mut registry = Registry::default();
        let mut metrics = MetricsRegistry::new(&mut registry, Arc::new(|| Mono::from_secs(0)));
        metrics.counter("pods_deleted", "Pods that were deleted");
        Self(registry)
    }
}

impl Render for Series {
    fn render(&self, exposition: Exposition) -> String {
        exposition.render(&self.0)
    }
}

impl TestChecks {
    fn admin(&self) -> Arc<Admin> {
        let check = |broken: &Arc<AtomicBool>, reason: &'static str| {
            let broken = broken.clone();
            move || if broken.load(Ordering::SeqCst) { Err(reason.to_owned()) } else { Ok(()) }
        };
        let checks = vec![
            Check::new("sync", Scope::Ready, check(&self.unsynced, "pods: list not complete\n\u{1b}[31m")),
            Check::new("engine", Scope::Live, check(&self.stuck, "no turn for 30 s")),
        ];
        Arc::new(Admin {
            metrics: Arc::new(Series::new()),
            record: Some(Box::new(|| RECORD.to_vec())),
            checks,
        })
    }

    async fn serve(&self) -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(AdminListener::of(Some(listener), None).serve(self.admin()));
        address
    }
}

async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &str) -> String {
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    let all = timeout(Duration::from_secs(20), stream.read_to_string(&mut response));
    all.await.expect("a response in time").unwrap();
    response
}

/// The status and the body of a response.
async fn request(address: SocketAddr, method: &str, target: &str) -> (u16, String) {
    let stream = TcpStream::connect(address).await.unwrap();
    let response = exchange(stream, &format!("{method} {target} HTTP/1.1\r\nHost: x\r\n\r\n")).await;
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

#[tokio::test]
async fn every_path_is_served() {
    let address = TestChecks::default().serve().await;
    for path in
        ["/healthz", "/livez", "/live", "/readyz", "/ready", "/readyz/", "/readyz/sync", "/livez/engine"]
    {
        assert_eq!(request(address, "GET", path).await, (200, "ok".into()), "{path}");
    }
    for path in ["/readyz?verbose", "/readyz?a=b&verbose=1"] {
        let expected = "[+]sync ok\n[+]engine ok\nreadyz check passed\n";
        assert_eq!(request(address, "GET", path).await, (200, expected.into()), "{path}");
    }
    assert_eq!(
        request(address, "GET", "/live?verbose").await,
        (200, "[+]engine ok\nlivez check passed\n".into())
    );
    assert_eq!(request(address, "HEAD", "/readyz").await, (200, String::new()));
}

#[tokio::test]
async fn unknown_paths_and_methods_are_refused() {
    let address = TestChecks::default().serve().await;
    for path in ["/", "/metrics/", "/debug/pprof", "/readyzz", "/Readyz", "//", "/metricsz", "*"] {
        assert_eq!(request(address, "GET", path).await.0, 404, "{path}");
    }
    let (status, body) = request(address, "GET", "/livez/sync").await;
    assert_eq!((status, body.as_str()), (404, "no such check: there are engine\n"));
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
        assert_eq!(request(address, method, "/metrics").await.0, 405, "{method}");
    }
    let rejected = exchange(
        TcpStream::connect(address).await.unwrap(),
        "POST /readyz HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999\r\n\r\n",
    );
    let rejected = rejected.await;
    assert!(
        rejected.starts_with("HTTP/1.1 405 ") && rejected.contains("\r\nallow: GET, HEAD\r\n"),
        "{rejected}"
    );
}

#[tokio::test]
async fn a_missing_list_makes_it_unready_but_not_dead() {
    let test_checks = TestChecks::default();
    let address = test_checks.serve().await;
    test_checks.unsynced.store(true, Ordering::SeqCst);
    let (status, body) = request(address, "GET", "/readyz").await;
    let expected =
        "[-]sync failed: pods: list not complete\\n\\u001b[31m\n[+]engine ok\nreadyz check failed\n";
    assert_eq!((status, body.as_str()), (500, expected));
    assert_eq!(request(address, "GET", "/readyz/sync").await.0, 500);
    assert_eq!(request(address, "GET", "/readyz/engine").await.0, 200);
    assert_eq!(request(address, "GET", "/livez").await.0, 200);
    assert_eq!(request(address, "GET", "/healthz").await.0, 200);
}

#[tokio::test]
async fn a_stuck_loop_fails_all_endpoints() {
    let test_checks = TestChecks::default();
    let address = test_checks.serve().await;
    test_checks.stuck.store(true, Ordering::SeqCst);
    for path in ["/readyz", "/livez", "/healthz"] {
        let (status, body) = request(address, "GET", path).await;
        assert!(
            status == 500 && body.contains("[-]engine failed: no turn for 30 s\n"),
            "{path}: {status} {body}"
        );
    }
    test_checks.stuck.store(false, Ordering::SeqCst);
    assert_eq!(request(address, "GET", "/livez").await.0, 200);
}

#[tokio::test]
async fn metrics_have_the_requested_format() {
    let address = TestChecks::default().serve().await;
    for (accept, media_type, declared) in [
        ("*/*", "text/plain; version=0.0.4; charset=utf-8", "# TYPE pods_deleted_total counter"),
        (
            "application/openmetrics-text;version=1.0.0,text/plain",
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            "# TYPE pods_deleted counter",
        ),
    ] {
        let request = format!("GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: {accept}\r\n\r\n");
        let response = exchange(TcpStream::connect(address).await.unwrap(), &request).await;
        assert!(response.starts_with("HTTP/1.1 200 OK\r\n"));
        assert!(response.contains(&format!("\r\ncontent-type: {media_type}\r\n")), "{response}");
        assert!(response.contains(&format!("\n{declared}\n")), "{response}");
        assert!(response.contains("\npods_deleted_total 0\n"));
    }
}

#[tokio::test]
async fn invalid_requests_do_no_harm() {
    let address = TestChecks::default().serve().await;
    for nonsense in ["GET\r\n\r\n", "\u{0}\u{1}\u{2}\r\n\r\n", "GET /readyz HTTP/9.9\r\n\r\n"] {
        let response = exchange(TcpStream::connect(address).await.unwrap(), nonsense).await;
        assert!(!response.contains("200 OK"), "{nonsense:?}: {response}");
    }
    let head = format!("GET /readyz HTTP/1.1\r\nX: {}\r\n\r\n", "a".repeat(64 * 1024));
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The server may close the connection before it has read everything.
    let _ = stream.write_all(head.as_bytes()).await;
    let mut response = Vec::new();
    let _ = timeout(Duration::from_secs(20), stream.read_to_end(&mut response)).await.unwrap();
    assert!(!String::from_utf8_lossy(&response).contains("200 OK"));
    assert_eq!(request(address, "GET", "/readyz").await.0, 200);
}

/// A connection from another address than that of probes.
async fn elsewhere(to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((Ipv4Addr::new(127, 0, 0, 2), 0).into()).unwrap();
    socket.connect(to).await.unwrap()
}

#[tokio::test]
async fn connections_held_open_or_opened_all_the_time_keep_no_client_out() {
    let address = TestChecks::default().serve().await;
    let mut held = Vec::new();
    for _ in 0..2 * CONNECTIONS_MAX {
        let mut stream = elsewhere(address).await;
        let _ = stream.write_all(b"GET /readyz HTTP/1.1\r\n").await;
        held.push(stream);
    }
    assert_eq!(request(address, "GET", "/readyz").await, (200, "ok".into()));
    let mut byte = [0];
    let newest = held.last_mut().unwrap();
    let newest = timeout(Duration::from_secs(2), newest.read(&mut byte)).await.expect("it was refused");
    assert!(matches!(newest, Ok(0) | Err(_)), "{newest:?}");
    let oldest = &mut held[0];
    oldest.write_all(b"Host: x\r\n\r\n").await.unwrap();
    let mut response = String::new();
    oldest.read_to_string(&mut response).await.unwrap();
    assert!(response.starts_with("HTTP/1.1 200 OK"), "the oldest has its grace period: {response}");
    // No client is rejected for long, from any address.
    let tried = async {
        loop {
            let mut stream = elsewhere(address).await;
            let _ = stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n").await;
            let mut response = String::new();
            let _ = stream.read_to_string(&mut response).await;
            if response.starts_with("HTTP/1.1 200 OK") {
                break;
            }
        }
    };
    timeout(Duration::from_secs(20), tried).await.expect("it connects eventually");
}

#[tokio::test(start_paused = true)]
async fn a_slow_head_is_cut_off_in_time() {
    let admin = TestChecks::default().admin();
    let (mut client, server) = duplex(1024);
    let began = Instant::now();
    let dripping = tokio::spawn(async move {
        for byte in "GET /readyz HTTP/1.1\r\nHost: xxxxxxxxxx".bytes() {
            if client.write_all(&[byte]).await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        client
    });
    converse(server, &admin, &anyone(), &AtomicBool::new(false)).await;
    assert_eq!(began.elapsed(), HEAD_MAX);
    drop(dripping);
}

#[tokio::test(start_paused = true)]
async fn a_quick_client_gets_a_response_and_the_connection_ends() {
    let admin = TestChecks::default().admin();
    let (client, server) = duplex(1024);
    let began = Instant::now();
    let server =
        tokio::spawn(async move { converse(server, &admin, &anyone(), &AtomicBool::new(false)).await });
    let two = "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\nGET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
    let response = exchange(client, two).await;
    assert_eq!(response.matches("HTTP/1.1 ").count(), 1, "{response}");
    assert!(response.contains("\r\nconnection: close\r\n") && response.ends_with("\r\n\r\nok"), "{response}");
    server.await.unwrap();
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_stops_reading_is_cut_off() {
    // The response is larger than the pipe, so the server has to wait for the reader.
    let (mut held, server) = duplex(64);
    held.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let began = Instant::now();
    client(server, None, TestChecks::default().admin(), anyone()).await;
    assert_eq!(began.elapsed(), CONNECTION_MAX);
}

#[tokio::test]
async fn a_port_in_use_names_the_flag() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = NonZeroU16::new(taken.local_addr().unwrap().port()).unwrap();
    let mut serving =
        ServingSettings { bind_address: Ipv4Addr::LOCALHOST.into(), metrics_port: Some(port), secure: None };
    let error = AdminListener::open(&serving).await.err().unwrap().to_string();
    let expected = format!(
        "cannot listen on 127.0.0.1:{port}: the port is in use; choose another with --metrics-port, or 0 to switch it off"
    );
    assert_eq!(error, expected);
    serving.metrics_port = None;
    serving.secure = Some(SecureServing {
        port,
        certificate: ServingCertificate::SelfSigned,
        readers: Default::default(),
    });
    let error = AdminListener::open(&serving).await.err().unwrap().to_string();
    assert!(error.contains("the port is in use; choose another with --secure-port"), "{error}");
    drop(taken);
    assert!(AdminListener::open(&serving).await.is_ok());
}

#[tokio::test]
async fn an_address_of_another_machine_names_the_flag() {
    let elsewhere = Ipv4Addr::new(192, 0, 2, 1).into();
    let serving =
        ServingSettings { bind_address: elsewhere, metrics_port: NonZeroU16::new(10357), secure: None };
    let error = AdminListener::open(&serving).await.err().unwrap().to_string();
    assert!(
        error.starts_with("cannot listen on 192.0.2.1:10357: ") && error.contains("--bind-address"),
        "{error}"
    );
}
