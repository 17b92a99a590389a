//! Tests the order of writes and watch events, and idle watches.

use crate::api::{ApiServer, ApiServerSettings};
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use serde_json::Value;
use std::sync::{Arc, Mutex};
use tower::Service as _;

const PATH: &str = "/api/v1/namespaces/default/configmaps";

fn request(method: Method, path: &str, body: &'static str) -> Request<Full<bytes::Bytes>> {
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    request.body(Full::new(body.into())).expect("a request")
}

/// When a write is answered, controllers expect its event to have arrived; later events look stale to them.
#[tokio::test]
async fn a_watch_reports_a_write_before_its_response() {
    let server = ApiServer::new(ApiServerSettings::default());
    server.bootstrap();
    let path = format!("{PATH}?watch=1");
    let watch = server.clone().call(request(Method::GET, &path, "")).await.expect("answers never fail");
    let received = Arc::<Mutex<Vec<Value>>>::default();
    let kept = Arc::clone(&received);
    let mut stream = watch.into_body();
    let listening = tokio::spawn(async move {
        while let Some(Ok(frame)) = stream.frame().await {
            let event: Value = serde_json::from_slice(frame.data_ref().expect("data")).expect("one event");
            kept.lock().expect("no thread panics while it holds the lock").push(event);
        }
    });
    tokio::task::yield_now().await;
    for number in 1..=20 {
        let object = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a-"}}"#;
        let made = server.clone().call(request(Method::POST, PATH, object)).await;
        assert_eq!(made.expect("answers never fail").status(), 201);
        assert_eq!(received.lock().expect("no thread panics while it holds the lock").len(), number);
    }
    listening.abort();
}

/// As in a real server's watch cache: the version at which the watch began is not sent again.
#[tokio::test(start_paused = true)]
async fn a_watch_of_what_does_not_change_is_silent_and_ends_in_time() {
    let server = ApiServer::new(ApiServerSettings::default());
    server.bootstrap();
    let server = server.clone();
    let list = server.clone().call(request(Method::GET, PATH, "")).await.expect("answers never fail");
    let list = list.into_body().collect().await.expect("a body").to_bytes();
    let list: Value = serde_json::from_slice(&list).expect("a list");
    let version = list["metadata"]["resourceVersion"].as_str().expect("a version");
    let reported = async |seconds: u32| {
        let path = format!(
            "{PATH}?watch=1&allowWatchBookmarks=true&timeoutSeconds={seconds}&resourceVersion={version}"
        );
        let watch = server.clone().call(request(Method::GET, &path, "")).await.expect("answers never fail");
        let reported = watch.into_body().collect().await.expect("a body").to_bytes();
        String::from_utf8(reported.to_vec()).expect("text")
    };
    assert_eq!(reported(290).await, "");
    let object = r#"{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}"#;
    let secrets = "/api/v1/namespaces/default/secrets";
    let made = server.clone().call(request(Method::POST, secrets, object)).await;
    assert_eq!(made.expect("answers never fail").status(), 201);
    let reported = reported(290).await;
    assert_eq!(
        reported.lines().count(),
        5,
        "each minute, and before its end, once the version has changed: {reported}"
    );
    assert!(reported.lines().all(|line| line.contains("BOOKMARK")), "{reported}");
}
