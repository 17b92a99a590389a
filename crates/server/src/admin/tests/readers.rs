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
async fn with(readers: &MetricsAccess, line: &str, head: &str) -> (u16, String) {
    let (client, server) = duplex(1 << 16);
    let admin = TestChecks::default().admin();
    let served = converse(server, &admin, readers);
    let request = format!("{line} HTTP/1.1\r\nHost: x\r\n{head}\r\n");
    let (response, ()) = tokio::join!(exchange(client, &request), served);
    (response.split(' ').nth(1).unwrap().parse().unwrap(), response)
}

#[tokio::test]
async fn metrics_are_for_admitted_clients_and_health_is_for_all() {
    let guarded = MetricsAccess::Guarded(Arc::new(Known));
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
        with(&MetricsAccess::NoClient, "GET /metrics", "Authorization: Bearer good\r\n").await;
    assert!(code == 403 && response.contains("secure port"), "{response}");
    assert_eq!(with(&MetricsAccess::NoClient, "GET /readyz", "").await.0, 200);
}
