//! Tests hostile requests: each gets a `Status`, and the server continues.
//!
//! - See `clients.rs` for slow clients, `files.rs` for snapshot files, `commands/sandbox.rs` and `commands/sandbox_files.rs` for
//!   the command line.

use crate::cluster;
use bytes::Bytes;
use fakekube::api::{ApiServer, ApiServerSettings};
use fakekube::http::ResponseBody;
use fakekube::store::HistoryLimits;
use futures::FutureExt as _;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use std::time::Duration;
use tower::Service as _;

const JSON: &str = "application/json";

fn server() -> ApiServer {
    cluster::with_nodes(2)
}

async fn request(
    server: &ApiServer,
    method: Method,
    path: &str,
    kind: &str,
    body: impl Into<Bytes>,
) -> (u16, ResponseBody) {
    let request = Request::builder().method(method).uri(path).header("content-type", kind);
    let request = request.body(Full::new(body.into())).unwrap();
    let response = server.clone().call(request).await.unwrap();
    (response.status().as_u16(), response.into_body())
}

/// The answer's code and its `Status`.
async fn rejected(
    server: &ApiServer,
    method: Method,
    path: &str,
    kind: &str,
    body: impl Into<Bytes>,
) -> (u16, Value) {
    let (code, body) = request(server, method, path, kind, body).await;
    let body: Value = serde_json::from_slice(&body.collect().await.unwrap().to_bytes()).unwrap();
    assert_eq!(body["kind"], "Status", "{path}: {body}");
    assert_eq!(body["code"], code, "{body}");
    assert!(!body["message"].as_str().unwrap().is_empty());
    (code, body)
}

async fn lives(server: &ApiServer) {
    let (code, _) = request(server, Method::GET, "/api/v1/nodes", JSON, "").await;
    assert_eq!(code, 200);
}

const CONFIGS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test]
async fn malformed_bodies_are_rejected_with_a_status() {
    let server = &server();
    let huge = format!("{{\"data\":{{\"a\":\"{}\"}}}}", "x".repeat(4 << 20));
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_object = format!("{}1{}", "{\"a\":".repeat(5_000), "}".repeat(5_000));
    let post = Method::POST;
    assert_eq!(rejected(server, post.clone(), CONFIGS, JSON, huge).await.0, 413);
    for body in [deep, deep_object, "{".into(), String::new(), "null".into(), "[]".into(), "\u{0}".into()] {
        let (code, _) = rejected(server, post.clone(), CONFIGS, JSON, body).await;
        assert!((400..500).contains(&code), "{code}");
    }
    assert_eq!(rejected(server, post.clone(), CONFIGS, "text/plain", "hello").await.0, 415);
    assert_eq!(
        rejected(server, post.clone(), CONFIGS, "application/vnd.kubernetes.protobuf", &b"k8s\0\x0a\xff"[..])
            .await
            .0,
        400
    );
    assert_eq!(rejected(server, post.clone(), CONFIGS, "application/yaml", "a: [").await.0, 400);
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\n\
                d: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e]\n\
                g: [*f,*f,*f,*f,*f,*f,*f,*f]\n";
    // One long text with many aliases: 100 GB if each were expanded.
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), vec!["*a"; 100_000].join(","));
    for bomb in [bomb.to_owned(), long] {
        let (code, _) = rejected(server, post.clone(), CONFIGS, "application/yaml", bomb).await;
        assert!((400..500).contains(&code), "{code}");
    }
    lives(server).await;
}

#[tokio::test]
async fn malformed_queries_and_patches_are_rejected_with_a_status() {
    let server = &server();
    for query in [
        "labelSelector=a%20b",
        "labelSelector=a%20in%20(",
        "fieldSelector=spec.color%3Dred",
        "fieldSelector=nonsense",
        "continue=!!",
        "resourceVersion=soon",
        "resourceVersion=1&resourceVersionMatch=Sometimes",
    ] {
        let (code, _) = rejected(server, Method::GET, &format!("/api/v1/nodes?{query}"), JSON, "").await;
        assert!((400..=500).contains(&code), "{query}: {code}");
    }
    let node = "/api/v1/nodes/n1";
    for (kind, patch) in [
        ("application/json-patch+json", "{}"),
        ("application/json-patch+json", "[{\"op\":\"fly\",\"path\":\"/a\"}]"),
        ("application/json-patch+json", "[{\"op\":\"remove\",\"path\":\"/nowhere\"}]"),
        ("application/merge-patch+json", "[1]"),
        ("application/merge-patch+json", "{\"spec\":{\"taints\":7}}"),
        ("application/strategic-merge-patch+json", "{\"spec\":{\"$patch\":\"explode\"}}"),
        ("application/strategic-merge-patch+json", "nonsense"),
        ("application/apply-patch+yaml", "a: ["),
        ("application/fruit", "{}"),
    ] {
        let path = format!("{node}?fieldManager=x");
        let (code, _) = rejected(server, Method::PATCH, &path, kind, patch).await;
        assert!((400..=500).contains(&code), "{kind} {patch}: {code}");
    }
    assert_eq!(
        server.get(fakekube::resource::known("", "nodes"), "", "n1").unwrap()["metadata"]["name"],
        "n1"
    );
    lives(server).await;
}

#[tokio::test]
async fn unknown_fields_are_rejected_in_strict_mode_and_dropped_with_a_warning_otherwise() {
    let server = server();
    let body = |name: &str| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "color": "red"}, "date": {}})
            .to_string()
    };
    let strict = format!("{CONFIGS}?fieldValidation=Strict");
    let (code, status) = rejected(&server, Method::POST, &strict, JSON, body("strict")).await;
    assert_eq!(code, 400);
    for field in ["unknown field \"date\"", "unknown field \"metadata.color\""] {
        assert!(status["message"].as_str().unwrap().contains(field), "{status}");
    }
    let request = Request::builder().method(Method::POST).uri(CONFIGS).header("content-type", JSON);
    let request = request.body(Full::new(Bytes::from(body("lax")))).unwrap();
    let response = server.clone().call(request).await.unwrap();
    assert_eq!(response.status(), 201);
    assert_eq!(response.headers().get_all("warning").iter().count(), 2);
    let kept: Value =
        serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap();
    assert!(kept["date"].is_null() && kept["metadata"]["color"].is_null(), "{kept}");
}

/// Some get a `Status`, some a line of text, as on a real server.
#[tokio::test]
async fn malformed_paths_do_not_exist() {
    let server = server();
    for path in [
        "/api/v9/pods",
        "/apis/x/v1/y",
        "/api/v1/namespaces/a/b/c/d/e/f",
        "/api/v1/%00",
        "/nothing",
        "/api/v1/nodes/n1/nothing",
    ] {
        assert_eq!(request(&server, Method::GET, path, JSON, "").await.0, 404, "{path}");
    }
    lives(&server).await;
}

/// Bytes of a watch that have arrived already.
fn received(body: &mut ResponseBody) -> Option<Bytes> {
    body.frame().now_or_never().flatten().and_then(|frame| frame.unwrap().into_data().ok())
}

#[tokio::test(start_paused = true)]
async fn a_thousand_idle_watches_receive_the_one_change() {
    let server = &server();
    let version = server.store().version();
    let mut watches = Vec::new();
    for _ in 0..1000 {
        let path = format!("/api/v1/nodes?watch=true&resourceVersion={version}");
        watches.push(request(server, Method::GET, &path, JSON, "").await.1);
    }
    assert!(watches.iter_mut().all(|watch| received(watch).is_none()));
    let label = json!({"metadata": {"labels": {"a": "b"}}}).to_string();
    let (code, _) =
        request(server, Method::PATCH, "/api/v1/nodes/n1", "application/merge-patch+json", label).await;
    assert_eq!(code, 200);
    for watch in &mut watches {
        let frame = watch.frame().await.unwrap().unwrap().into_data().unwrap();
        assert!(frame.starts_with(b"{\"type\":\"MODIFIED\""), "{frame:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_client_costs_no_memory_and_gets_410() {
    let clock = fakekube::clock::VirtualClock::starting("2026-01-01T00:00:00Z".parse().unwrap(), 1.0);
    let history = HistoryLimits { changes: 50, bytes: 1 << 20 };
    let server = ApiServer::new(ApiServerSettings { clock, history, ..ApiServerSettings::default() });
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}).to_string();
    assert_eq!(request(&server, Method::POST, "/api/v1/namespaces", JSON, namespace).await.0, 201);
    let path = format!("{CONFIGS}?watch=true&resourceVersion={}", server.store().version());
    let mut slow = request(&server, Method::GET, &path, JSON, "").await.1;
    for number in 0..200 {
        let config =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("c{number}")}});
        assert_eq!(request(&server, Method::POST, CONFIGS, JSON, config.to_string()).await.0, 201);
    }
    let last = slow.frame().await.unwrap().unwrap().into_data().unwrap();
    let event: Value = serde_json::from_slice(&last).unwrap();
    assert_eq!((&event["type"], &event["object"]["code"]), (&json!("ERROR"), &json!(410)));
    assert!(slow.frame().await.is_none(), "and the stream ended");
    // A client that disconnects causes no error either.
    drop(request(&server, Method::GET, &format!("{CONFIGS}?watch=true"), JSON, "").await);
    lives(&server).await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_from_the_future_waits_for_it_and_ends_in_its_time() {
    let server = server();
    let path = "/api/v1/nodes?watch=true&resourceVersion=999999999&timeoutSeconds=5";
    let (code, mut body) = request(&server, Method::GET, path, JSON, "").await;
    assert!(code == 200 || code == 504, "{code}");
    let ended =
        tokio::time::timeout(Duration::from_secs(60), async { while body.frame().await.is_some() {} }).await;
    assert!(ended.is_ok(), "it never ends");
    lives(&server).await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_with_the_longest_timeout_works() {
    let server = server();
    let path = format!("/api/v1/nodes?watch=true&timeoutSeconds={}", i64::MAX);
    let (code, mut body) = request(&server, Method::GET, &path, JSON, "").await;
    assert_eq!(code, 200);
    assert!(body.frame().await.is_some());
    lives(&server).await;
}

/// Objects that do not match are skipped, however many there are.
#[tokio::test(start_paused = true)]
async fn a_watch_finds_the_one_object_among_many() {
    let server = cluster::with_nodes(900);
    let path = "/api/v1/nodes?watch=true&fieldSelector=metadata.name%3Dn899";
    let mut body = request(&server, Method::GET, path, JSON, "").await.1;
    let first = body.frame().now_or_never().flatten().expect("it waits for a change").unwrap();
    assert!(first.into_data().unwrap().starts_with(b"{\"type\":\"ADDED\""));
}

/// A client that does not read costs one piece of memory, not the whole history.
#[tokio::test(start_paused = true)]
async fn a_watch_is_sent_in_small_pieces() {
    let server = server();
    let mut watch = request(&server, Method::GET, &format!("{CONFIGS}?watch=true"), JSON, "").await.1;
    for number in 0..40 {
        let data = json!({"a": "x".repeat(100_000)});
        let name = format!("c{number}");
        let config =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data});
        assert_eq!(request(&server, Method::POST, CONFIGS, JSON, config.to_string()).await.0, 201);
    }
    let (mut pieces, mut reported) = (0, 0);
    while let Some(piece) = received(&mut watch) {
        assert!(piece.len() < 400_000, "{} bytes in one piece", piece.len());
        (pieces, reported) = (pieces + 1, reported + piece.len());
    }
    assert!(pieces >= 10 && reported > 4_000_000, "{pieces} pieces, {reported} bytes");
}
