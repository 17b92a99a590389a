//! Tests requests and their responses, valid and invalid.

use super::harness::{HarnessClient, SHORT, ServerHarness, connect_as, limits, post, question};
use http::{Method, Request};
use http_body_util::Full;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

#[tokio::test]
async fn a_connection_is_reused_for_many_requests() {
    let harness = ServerHarness::set(limits()).await;
    let mut client = HarnessClient::connect(&harness).await;
    for _ in 0..3 {
        let (status, body) = client.post("/mutate?timeout=2s", question("a", 10)).await;
        assert_eq!(status, 200, "{body}");
        assert!(body.contains("\"patchType\":\"JSONPatch\""), "{body}");
        let (status, body) = client.post("/validate", question("refused", 10)).await;
        assert_eq!(status, 200, "{body}");
        assert!(body.contains("\"allowed\":false") && body.contains("\"code\":403"), "{body}");
    }
    assert_eq!(harness.value("taintward_webhook_reviews_total{path=\"mutate\",outcome=\"patched\"}"), 3.0);
    assert_eq!(harness.value("taintward_webhook_reviews_total{path=\"validate\",outcome=\"denied\"}"), 3.0);
    assert_eq!(harness.value("taintward_webhook_review_duration_seconds_count{path=\"mutate\"}"), 3.0);
    assert_eq!(harness.value("taintward_webhook_rules_total{rule=\"pool\",did=\"unknown\"}"), 3.0);
    assert_eq!(harness.value("taintward_webhook_accepted_connections_total"), 1.0);
}

#[tokio::test]
async fn a_clients_error_is_reported_in_one_line() {
    let harness = ServerHarness::set(limits()).await;
    let json = |method: Method, path: &str, media: &str, body: &str| {
        let request = Request::builder().method(method).uri(format!("https://localhost{path}"));
        let request = request.header("host", "localhost").header("content-type", media);
        request.body(Full::from(body.to_owned())).unwrap()
    };
    let mut client = HarnessClient::connect(&harness).await;
    for (request, status) in [
        (json(Method::POST, "/mutate", "application/json", "{}"), 400),
        (json(Method::POST, "/mutate", "application/json; charset=utf-8", "["), 400),
        (json(Method::POST, "/mutate", "application/json", ""), 400),
        (json(Method::POST, "/", "application/json", "{}"), 404),
        (json(Method::POST, "/mutate/", "application/json", "{}"), 404),
        (json(Method::GET, "/debug/pprof", "application/json", ""), 404),
        (json(Method::GET, "/mutate", "application/json", ""), 405),
        (json(Method::PUT, "/validate", "application/json", "{}"), 405),
        (json(Method::POST, "/healthz", "application/json", "{}"), 405),
        (json(Method::POST, "/mutate", "text/plain", "{}"), 415),
        (json(Method::POST, "/mutate", "application/jsonx", "{}"), 415),
    ] {
        let what = format!("{} {}", request.method(), request.uri());
        let (is, message) = client.send(request).await.unwrap();
        assert_eq!(is, status, "{what}: {message}");
        assert_eq!(message.matches('\n').count(), 1, "{what}: {message}");
    }
    let mut packed = post("/mutate", "{}".into());
    packed.headers_mut().insert("content-encoding", "gzip".parse().unwrap());
    assert_eq!(client.send(packed).await.unwrap().0, 415);
    assert_eq!(harness.value("taintward_webhook_refused_requests_total{reason=\"media_type\"}"), 3.0);
    assert_eq!(harness.value("taintward_webhook_reviews_total{path=\"mutate\",outcome=\"malformed\"}"), 3.0);
}

#[tokio::test]
async fn health_and_metrics_have_a_port_of_their_own_or_share_that_of_the_reviews() {
    for own in [true, false] {
        let mut harness = if own {
            ServerHarness::with_metrics(limits()).await
        } else {
            ServerHarness::set(limits()).await
        };
        let mut client = HarnessClient::connect(&harness).await;
        let mut get = async |path: &str| match harness.metrics_address {
            Some(address) => plain(address, path).await,
            None => client.get(path).await,
        };
        for path in ["/healthz", "/livez", "/readyz", "/readyz/certificate"] {
            assert_eq!(get(path).await, (200, "ok".into()), "{path}");
        }
        let (status, text) = get("/metrics").await;
        assert!(status == 200 && text.contains("\ntaintward_webhook_reviews_total"), "{status} {text}");
        let until = format!(
            "\ntaintward_webhook_certificate_expiration_timestamp_seconds {}\n",
            1_800_000_000 + 90 * 86_400
        );
        assert!(text.contains(&until), "{text}");
        // The certificate expires: the server is not ready, but a restart would not help.
        harness.now.store(1_800_000_000 + 91 * 86_400, std::sync::atomic::Ordering::Relaxed);
        let (status, message) = get("/readyz").await;
        assert_eq!(status, 500);
        assert!(
            message.contains("[-]certificate failed: the current certificate is not valid now\n"),
            "{message}"
        );
        assert_eq!(get("/livez").await.0, 200);
        if own {
            for path in ["/healthz", "/livez", "/readyz", "/metrics"] {
                let (status, message) = client.get(path).await;
                assert_eq!(
                    (status, message.matches("--metrics-port").count()),
                    (404, 1),
                    "{path}: {message}"
                );
            }
            assert_eq!(client.post("/mutate", question("a", 1)).await.0, 200);
        }
        harness.request_stop();
    }
}

/// AD-12: a pod may be reviewed before the watch event of its namespace arrives.
#[tokio::test]
async fn a_review_ahead_of_the_watch_waits_for_it_and_not_indefinitely() {
    let mut harness = ServerHarness::set(limits()).await;
    let mut client = HarnessClient::connect(&harness).await;
    let requested = client.send(post("/mutate", question("young-3", 0)));
    let (status, message) = requested.await.unwrap();
    assert!(status == 200 && message.contains("patch"), "{message}");
    let (status, message) = client.send(post("/mutate", question("young-for-ever", 0))).await.unwrap();
    assert!(status == 200 && !message.contains("patch"), "{message}");
    let response_budget =
        harness.value("taintward_webhook_reviews_total{path=\"mutate\",outcome=\"patched\"}");
    assert_eq!(response_budget, 1.0, "one review, one response");
    harness.request_stop();
}

async fn plain(address: SocketAddr, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), body.to_owned())
}

#[tokio::test]
async fn a_rule_that_panics_allows_the_object_and_is_counted() {
    let harness = ServerHarness::set(limits()).await;
    let mut client = HarnessClient::connect(&harness).await;
    let (status, body) = client.post("/mutate", question("breaks", 1)).await;
    assert_eq!(status, 200);
    assert!(body.contains("\"allowed\":true") && !body.contains("patch"), "{body}");
    assert_eq!(harness.value("taintward_webhook_panics_total"), 1.0);
    assert_eq!(client.post("/mutate", question("a", 1)).await.0, 200, "the connection stays open");
}

#[tokio::test]
async fn old_tls_no_tls_and_invalid_data_get_no_response() {
    let harness = ServerHarness::set(limits()).await;
    // A ClientHello of TLS 1.1 with one cipher suite and one signature algorithm.
    let extensions = [0, 8, 0, 13, 0, 4, 0, 2, 4, 3];
    let hello = [&[3, 2][..], &[7; 32], &[0], &[0, 2, 0xc0, 0x13], &[1, 0], &extensions].concat();
    let length = u8::try_from(hello.len()).unwrap();
    let hello = [&[1, 0, 0, length][..], &hello].concat();
    let record = [&[22, 3, 1, 0, u8::try_from(hello.len()).unwrap()][..], &hello].concat();
    let response = message(harness.address, &record).await;
    assert_eq!(response.first(), Some(&21), "an alert: {response:?}");
    assert_eq!(response.last(), Some(&70), "protocol_version: {response:?}");
    for nonsense in [&b"POST /mutate HTTP/1.1\r\nhost: x\r\n\r\n"[..], &[0; 100], &[22, 3, 1, 0xff, 0xff]] {
        assert!(!String::from_utf8_lossy(&message(harness.address, nonsense).await).contains("HTTP"));
    }
    harness.becomes("taintward_webhook_ended_connections_total{reason=\"handshake\"}", 4.0).await;
    assert!(harness.responds().await < Duration::from_secs(20));
    for other in [&b"spdy/3"[..], b"h2"] {
        assert!(
            connect_as(harness.address, &harness.root, &[other], None).await.is_err(),
            "no common protocol"
        );
    }
    let both = harness.tls().await;
    assert_eq!(both.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]), "a supported protocol is accepted");
}

async fn message(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let _ = stream.shutdown().await;
    let mut response = Vec::new();
    let _ = tokio::time::timeout(SHORT * 20, stream.read_to_end(&mut response)).await.expect("no end");
    response
}
