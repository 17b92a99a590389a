//! Tests every result of the access check, on both ports.

use super::super::access::{AccessCheck, AccessDecision, AccessDenied};
use super::*;

/// Knows three tokens.
struct Known;

impl AccessCheck for Known {
    fn admit<'g>(&'g self, token: &'g str) -> AccessDecision<'g> {
        Box::pin(async move {
            match token {
                "good" => Ok(()),
                "poor" => Err(AccessDenied::Forbidden),
                "lost" => Err(AccessDenied::Unknown),
                _ => Err(AccessDenied::Stranger),
            }
        })
    }
}

/// The status and the body of a response.
async fn with(readers: &PortAccess, line: &str, head: &str) -> (u16, String) {
    static SENDS: AtomicBool = AtomicBool::new(false);
    let (client, server) = duplex(1 << 16);
    let admin = TestChecks::default().admin();
    let served = converse(server, &admin, readers, &SENDS);
    let request = format!("{line} HTTP/1.1\r\nHost: x\r\n{head}\r\n");
    let (response, ()) = tokio::join!(exchange(client, &request), served);
    (response.split(' ').nth(1).unwrap().parse().unwrap(), response)
}

#[tokio::test]
async fn metrics_are_for_admitted_clients_and_health_is_for_all() {
    let guarded = PortAccess::of_metrics(PathAccess::Guarded(Arc::new(Known)));
    for (head, code) in [
        ("", 401),
        ("Authorization: Bearer bad\r\n", 401),
        ("Authorization: Bearer \r\n", 401),
        ("Authorization: Basic good\r\n", 401),
        ("Authorization: good\r\n", 401),
        ("Authorization: Bearer good\r\nAuthorization: Bearer good\r\n", 401),
        ("Authorization: Bearer poor\r\n", 403),
        ("Authorization: Bearer lost\r\n", 500),
        ("Authorization: Bearer good\r\n", 200),
        ("Authorization: bearer good\r\n", 200),
    ] {
        for method in ["GET", "HEAD"] {
            let (message, response) = with(&guarded, &format!("{method} /metrics"), head).await;
            assert_eq!(message, code, "{method} {head:?}: {response}");
            assert_eq!(response.contains("pods_deleted"), code == 200 && method == "GET", "{response}");
            assert_eq!(
                response.to_lowercase().contains("www-authenticate: bearer"),
                code == 401,
                "{response}"
            );
        }
    }
    assert_eq!(with(&guarded, "POST /metrics", "").await.0, 401, "no method bypasses it");
    for path in ["/healthz", "/livez", "/readyz?verbose", "/readyz/sync"] {
        assert_eq!(with(&guarded, &format!("GET {path}"), "").await.0, 200, "{path}");
    }
    for path in ["/metrics/", "//metrics", "/./metrics", "/%6detrics"] {
        let response = with(&guarded, &format!("GET {path}"), "").await.1;
        assert!(!response.contains("pods_deleted"), "{path}: {response}");
    }
}

#[tokio::test]
async fn no_token_is_requested_without_tls() {
    let (code, response) =
        with(&PortAccess::of_metrics(PathAccess::NoClient), "GET /metrics", "Authorization: Bearer good\r\n")
            .await;
    assert!(code == 403 && response.contains("secure port"), "{response}");
    assert_eq!(with(&PortAccess::of_metrics(PathAccess::NoClient), "GET /readyz", "").await.0, 200);
}

#[tokio::test]
async fn the_record_needs_a_permission_whatever_the_metrics_allow() {
    let good = "Authorization: Bearer good\r\n";
    for metrics in [PathAccess::Anyone, PathAccess::NoClient, PathAccess::Guarded(Arc::new(Known))] {
        let plain = PortAccess::of_metrics(metrics.clone());
        let (code, response) = with(&plain, "GET /record", good).await;
        assert!(code == 403 && response.contains("/record is on the secure port only"), "{response}");
        let guarded = PortAccess { metrics, record: PathAccess::Guarded(Arc::new(Known)) };
        for (head, code) in [
            ("", 401),
            ("Authorization: Bearer bad\r\n", 401),
            ("Authorization: Bearer poor\r\n", 403),
            ("Authorization: Bearer lost\r\n", 500),
            (good, 200),
        ] {
            let (status, response) = with(&guarded, "GET /record", head).await;
            assert_eq!(status, code, "{head:?}: {response}");
            assert_eq!(response.contains("a record"), code == 200, "{response}");
            assert_eq!(response.contains("[\"/record\"]"), code == 403, "{response}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_record_may_take_longer_than_other_responses() {
    let guarded = PortAccess { metrics: PathAccess::Anyone, record: PathAccess::Guarded(Arc::new(Known)) };
    // A reader that takes one byte a second, from a socket that takes 16.
    let seconds = async |path: &str| {
        let (mut reader, server) = duplex(16);
        let served = tokio::spawn(client(server, None, TestChecks::default().admin(), guarded.clone()));
        let (mut from, mut to) = tokio::io::split(&mut reader);
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\n\r\n");
        to.write_all(request.as_bytes()).await.unwrap();
        let begun = Instant::now();
        let mut bytes = 0;
        while from.read(&mut [0]).await.is_ok_and(|read| read == 1) {
            bytes += 1;
            tokio::time::sleep(Duration::from_millis(400)).await;
        }
        served.await.unwrap();
        (begun.elapsed() > CONNECTION_MAX * 2, bytes)
    };
    let (is_long, bytes) = seconds("/record").await;
    assert!(is_long && bytes > RECORD.len() + 100, "{bytes}");
    let (is_long, _) = seconds("/metrics").await;
    assert!(!is_long);
}
