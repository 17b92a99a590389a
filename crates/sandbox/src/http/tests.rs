//! In which order watches and writers hear.

use crate::world::{Settings, World};
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

/// Controllers look at what they have heard once their write is answered; what is still to come they take for stale.
#[tokio::test]
async fn a_watch_tells_of_a_write_before_it_is_answered() {
    let world = World::new(&Settings { nodes: 0, roles: Vec::new(), ..Settings::default() });
    let path = format!("{PATH}?watch=1");
    let watch =
        world.server().clone().call(request(Method::GET, &path, "")).await.expect("answers never fail");
    let heard = Arc::<Mutex<Vec<Value>>>::default();
    let kept = Arc::clone(&heard);
    let mut stream = watch.into_body();
    let listening = tokio::spawn(async move {
        while let Some(Ok(frame)) = stream.frame().await {
            let event: Value = serde_json::from_slice(frame.data_ref().expect("data")).expect("one event");
            kept.lock().expect("nobody panics with it").push(event);
        }
    });
    tokio::task::yield_now().await;
    for number in 1..=20 {
        let object = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a-"}}"#;
        let made = world.server().clone().call(request(Method::POST, PATH, object)).await;
        assert_eq!(made.expect("answers never fail").status(), 201);
        assert_eq!(heard.lock().expect("nobody panics with it").len(), number);
    }
    listening.abort();
}
