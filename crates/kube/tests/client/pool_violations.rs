//! Tests the eviction of unauthorized pods from a pool's nodes, by the current state of each object.

use crate::fake::{ClientReply, SeenRequest, server};
use serde_json::{Value, json};
use taintward_core::admission::pool::UnauthorizedPod;
use taintward_core::api_error::ApiFailure;
use taintward_core::dedicated_pools::PoolFact;
use taintward_core::identity::{NodeName, PodName, Uid};
use taintward_kube::api::ApiClient;
use taintward_kube::decode::{Decoded, WatchedObject};

const NODE: &str = "/api/v1/nodes/n1";
const POOL: &str = "/apis/taintward.io/v1alpha1/dedicatedpools/a";
const NAMESPACE: &str = "/api/v1/namespaces/shop";
const POD: &str = "/api/v1/namespaces/shop/pods/web-0";
const EVICTION: &str = "/api/v1/namespaces/shop/pods/web-0/eviction";

/// The object at a path.
fn object(path: &str) -> Value {
    match path {
        NODE => json!({"kind": "Node", "metadata": {"name": "n1", "uid": "u1", "resourceVersion": "5"}}),
        POOL => json!({
            "kind": "DedicatedPool",
            "metadata": {"name": "a", "uid": "u2", "generation": 2, "finalizers": ["taintward.io/pool"]},
            "spec": {"taint": {"key": "k"}, "nodes": {"names": ["n1"]}, "enforcement": "Evict"},
        }),
        NAMESPACE => json!({"kind": "Namespace", "metadata": {"name": "shop", "uid": "u3"}}),
        POD => json!({
            "kind": "Pod", "apiVersion": "v1",
            "metadata": {"namespace": "shop", "name": "web-0", "uid": "u4", "resourceVersion": "77"},
            "spec": {"nodeName": "n1"}, "status": {"phase": "Running"},
        }),
        _ => panic!("{path}"),
    }
}

fn pool() -> PoolFact {
    match PoolFact::from_json(object(POOL).to_string().as_bytes()) {
        Decoded::Object(seen) => seen,
        other => panic!("{other:?}"),
    }
}

/// Returns the requests and the result, with one object changed, or with this response to the eviction.
async fn evicted(
    is_still: bool,
    other: impl Fn(&str) -> Option<ClientReply> + Send + 'static,
) -> (Vec<SeenRequest>, Result<(), ApiFailure>) {
    let (client, log) = server(move |seen: &SeenRequest| match (seen.method.as_str(), other(&seen.path)) {
        (_, Some(reply)) => reply,
        ("GET", None) => ClientReply::json(200, &object(&seen.path)),
        ("POST", None) if seen.path == EVICTION => {
            ClientReply::json(201, &json!({"kind": "Status", "apiVersion": "v1"}))
        }
        _ => panic!("{}", seen.line()),
    });
    let (uid, pod, node) = (Uid::new("u4"), PodName::new("shop", "web-0"), NodeName::new("n1"));
    let unauthorized = UnauthorizedPod { uid, pod, node };
    let result =
        ApiClient::new(client, "").evict_unauthorized_pod(&unauthorized, &pool(), |_, _, _| is_still).await;
    let seen = std::mem::take(&mut *log.lock().unwrap());
    (seen, result.map_err(|rejection| rejection.failure))
}

#[tokio::test(start_paused = true)]
async fn everything_is_read_first_and_the_eviction_is_for_the_read_state() {
    let (requested, result) = evicted(true, |_| None).await;
    let lines: Vec<String> = requested.iter().map(SeenRequest::line).collect();
    let gets = [POOL, NODE, NAMESPACE, POD].map(|path| format!("GET {path}"));
    assert_eq!((&lines[..4], &lines[4]), (&gets[..], &format!("POST {EVICTION}")));
    assert_eq!(result, Ok(()));
    assert_eq!(
        requested[4].body,
        json!({
            "apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": {"namespace": "shop", "name": "web-0"},
            "deleteOptions": {"preconditions": {"uid": "u4", "resourceVersion": "77"}},
        })
    );
}

#[tokio::test(start_paused = true)]
async fn a_changed_object_prevents_the_eviction() {
    let (requested, result) = evicted(false, |_| None).await;
    assert_eq!((requested.len(), result), (4, Err(ApiFailure::Conflict)), "it belongs to the pool now");
    for (path, place, value) in [
        (POOL, "/metadata/generation", json!(3)),
        (POOL, "/metadata/uid", json!("another")),
        (POD, "/metadata/uid", json!("another")),
        (POD, "/spec/nodeName", json!("n2")),
        (POD, "/status/phase", json!("Succeeded")),
        (POD, "/metadata/deletionTimestamp", json!("2027-01-15T08:00:00Z")),
    ] {
        let changed = move |requested: &str| {
            (requested == path).then(|| {
                let mut object = object(path);
                let (parent, name) = place.rsplit_once('/').unwrap();
                object.pointer_mut(parent).unwrap()[name] = value.clone();
                ClientReply::json(200, &object)
            })
        };
        let (requested, result) = evicted(true, changed).await;
        assert_eq!(result, Err(ApiFailure::Conflict), "{path} {place}");
        assert!(requested.iter().all(|one| one.method == "GET"), "{path} {place}: nothing is evicted");
    }
}

#[tokio::test(start_paused = true)]
async fn an_undecodable_object_prevents_the_eviction() {
    for path in [POOL, NODE, NAMESPACE, POD] {
        for (code, reason) in [(404, "NotFound"), (500, "InternalError"), (403, "Forbidden")] {
            let rejects =
                move |requested: &str| (requested == path).then(|| ClientReply::status(code, reason, "no"));
            let (requested, result) = evicted(true, rejects).await;
            assert!(result.is_err(), "{path} {code}");
            assert!(requested.iter().all(|one| one.method == "GET"), "{path} {code}: nothing is evicted");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_blocking_budget_delays_the_eviction() {
    let rejects = |requested: &str| {
        (requested == EVICTION).then(|| ClientReply::status(429, "TooManyRequests", "disruption budget"))
    };
    let (requested, result) = evicted(true, rejects).await;
    assert!(matches!(result, Err(ApiFailure::Throttled(_))), "{result:?}");
    assert_eq!(requested.len(), 5);
}
