//! Tests the requests of dedicated pools, their order, and their responses.

use crate::fake::{ClientReply, SeenRequest, server};
use serde_json::{Value, json};
use taintward_core::admission::pool::{NodeEdits, RecordEdit};
use taintward_core::api_error::ApiFailure;
use taintward_core::dedicated_pools::{GUARD_MAX, NodePatch, PoolFact, PoolGuard, PoolGuardWrite};
use taintward_core::identity::{NodeName, ResourceVersion, Uid};
use taintward_core::testkit::taint;
use taintward_kube::api::ApiClient;
use taintward_kube::decode::{Decoded, WatchedObject};
use testkit::{ObjectExt as _, node};

const NODE: &str = "/api/v1/nodes/n1";
const POOL: &str = "/apis/taintward.io/v1alpha1/dedicatedpools/a";

fn stored_node() -> Value {
    node("n1").uid("u1").version("5")
}

fn pool() -> Value {
    json!({
        "kind": "DedicatedPool",
        "metadata": {
            "name": "a", "uid": "u2", "resourceVersion": "7", "generation": 2, "finalizers": ["taintward.io/pool"],
        },
        "spec": {"taint": {"key": "k"}, "nodes": {"names": ["n1"]}},
    })
}

fn seen() -> PoolFact {
    match PoolFact::from_json(pool().to_string().as_bytes()) {
        Decoded::Object(seen) => seen,
        other => panic!("{other:?}"),
    }
}

/// Adds a taint for the pool.
fn taints(pool: Option<PoolFact>) -> NodePatch {
    let taint = taint("k:NoSchedule");
    let record = Some(RecordEdit::Write("a taint:k=:NoSchedule".into()));
    NodePatch { edits: NodeEdits { add_taints: vec![taint], record, ..NodeEdits::default() }, pool }
}

/// Returns the requests and the result, with these responses to the reads of pool and node and to the patch.
async fn written(
    intent: NodePatch,
    found: ClientReply,
    patched: ClientReply,
) -> (Vec<String>, Result<bool, ApiFailure>) {
    let (mut found, mut patched) = (Some(found), Some(patched));
    let (client, log) = server(move |seen: &SeenRequest| match (seen.method.as_str(), seen.path.as_str()) {
        ("GET", NODE) => ClientReply::json(200, &stored_node()),
        ("GET", POOL) => found.take().unwrap(),
        ("PATCH", NODE) => patched.take().unwrap(),
        _ => panic!("{}", seen.line()),
    });
    let result = ApiClient::new(client, "").write_member(&NodeName::new("n1"), |_| intent).await;
    let lines = log.lock().unwrap().iter().map(SeenRequest::line).collect();
    (lines, result.map(|now| now.written).map_err(|rejection| rejection.failure))
}

#[tokio::test(start_paused = true)]
async fn a_node_is_written_for_an_unchanged_pool() {
    let ok = || ClientReply::json(200, &stored_node());
    let all = [format!("GET {NODE}"), format!("GET {POOL}"), format!("PATCH {NODE}")];
    let (requested, result) = written(taints(Some(seen())), ClientReply::json(200, &pool()), ok()).await;
    assert_eq!((&requested[..], result), (&all[..], Ok(true)));
    // Without a pool, as when marks are removed, no pool is read.
    let (requested, result) = written(taints(None), ok(), ok()).await;
    assert_eq!((requested, result), (vec![all[0].clone(), all[2].clone()], Ok(true)));
    let (requested, result) = written(NodePatch::default(), ok(), ok()).await;
    assert_eq!((requested, result), (vec![all[0].clone()], Ok(false)), "there is nothing to do");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_added_to_a_node_for_a_changed_pool() {
    let ok = || ClientReply::json(200, &stored_node());
    let changed = |place: &str, value: Value| {
        let mut pool = pool();
        let (parent, name) = place.rsplit_once('/').unwrap();
        pool.pointer_mut(parent).unwrap()[name] = value;
        ClientReply::json(200, &pool)
    };
    for found in [
        changed("/metadata/uid", json!("another")),
        changed("/metadata/generation", json!(3)),
        changed("/metadata/deletionTimestamp", json!("2027-01-15T08:00:00Z")),
        changed("/metadata/finalizers", json!([])),
        changed("/status", json!({"past": [{"kind": "Label", "key": "k", "value": ""}]})),
        ClientReply::status(404, "NotFound", "gone"),
    ] {
        let (requested, result) = written(taints(Some(seen())), found, ok()).await;
        assert_eq!((requested.len(), result), (2, Err(ApiFailure::Conflict)), "no write");
    }
    let (requested, result) =
        written(taints(Some(seen())), ClientReply::status(500, "", "broken"), ok()).await;
    assert_eq!((requested.len(), result), (2, Err(ApiFailure::Unavailable)));
    // A version that only the status has made new does not count as a change.
    let (requested, result) =
        written(taints(Some(seen())), changed("/metadata/resourceVersion", json!("9")), ok()).await;
    assert_eq!((requested.len(), result), (3, Ok(true)));
}

#[tokio::test(start_paused = true)]
async fn edits_that_no_longer_fit_are_a_conflict() {
    let pool = || ClientReply::json(200, &pool());
    for (code, reason) in [(409, "Conflict"), (422, "Invalid")] {
        let late = ClientReply::status(
            code,
            reason,
            "the server rejected our request due to an error in our request",
        );
        let (_, result) = written(taints(Some(seen())), pool(), late).await;
        assert_eq!(result, Err(ApiFailure::Conflict), "{code}");
    }
    let edits = NodeEdits {
        remove_taints: taints(None).edits.add_taints,
        record: Some(RecordEdit::Remove),
        ..NodeEdits::default()
    };
    let (requested, result) = written(NodePatch { edits, pool: None }, pool(), pool()).await;
    assert_eq!((requested.len(), result), (1, Err(ApiFailure::Conflict)), "it has no such taint");
}

#[tokio::test(start_paused = true)]
async fn the_finalizer_is_added_and_removed_for_the_pools_version() {
    let (client, log) = server(|seen: &SeenRequest| {
        let mut response = pool();
        response["metadata"]["finalizers"] = seen.body["metadata"]["finalizers"].clone();
        response["metadata"]["deletionTimestamp"] = json!("2027-01-15T08:00:00Z");
        ClientReply::json(200, &response)
    });
    let actor = ApiClient::new(client, "");
    assert_eq!(actor.hold_pool(&seen(), true).await.unwrap(), Some(seen()), "it has the finalizer already");
    assert_eq!(actor.hold_pool(&seen(), false).await.unwrap(), None, "no finalizer is left");
    let mut shared = seen();
    shared.finalizers.push("other/one".into());
    assert!(actor.hold_pool(&shared, false).await.unwrap().is_some(), "another finalizer is left");
    let log = log.lock().unwrap();
    assert_eq!((log.len(), log[0].line()), (2, format!("PATCH {POOL}")));
    assert_eq!(log[0].content_type, "application/merge-patch+json");
    assert_eq!(
        (&log[0].body["metadata"]["resourceVersion"], &log[0].body["metadata"]["uid"]),
        (&json!("7"), &json!("u2"))
    );
}

#[tokio::test(start_paused = true)]
async fn all_nodes_are_decoded_or_none() {
    for (odd, is_read) in [(json!(null), true), (json!("text"), false)] {
        let (client, _) = server(move |_: &SeenRequest| {
            let mut second = stored_node();
            second["spec"]["taints"] = odd.clone();
            ClientReply::json(
                200,
                &json!({"kind": "NodeList", "metadata": {}, "items": [stored_node(), second]}),
            )
        });
        let listed = ApiClient::new(client, "").list_members().await;
        assert_eq!(
            listed.map(|nodes| nodes.len()).ok(),
            is_read.then_some(2),
            "an undecodable node may have any marks"
        );
    }
}

const GUARD: &str = "/apis/taintward.io/v1alpha1/poolguards/taintward";

/// The requests and the result of a write, with these responses to the reads of the guard and of pool `a` in it, and to
/// the patch.
async fn guard_written(
    wanted: PoolGuard,
    found: ClientReply,
    pool: Value,
    patched: ClientReply,
) -> (Vec<String>, Result<Option<PoolGuardWrite>, ApiFailure>) {
    let (mut found, mut patched) = (Some(found), Some(patched));
    let (client, log) = server(move |seen: &SeenRequest| match (seen.method.as_str(), seen.path.as_str()) {
        ("GET", GUARD) => found.take().unwrap(),
        ("GET", POOL) => ClientReply::json(200, &pool),
        ("PATCH", GUARD) => patched.take().unwrap(),
        _ => panic!("{}", seen.line()),
    });
    let result = ApiClient::new(client, "").write_pool_guard(&wanted).await;
    let lines = log.lock().unwrap().iter().map(|seen| seen.line().replace(GUARD, "guard")).collect();
    (lines, result.map_err(|rejection| rejection.failure))
}

fn guard_with_pool() -> Value {
    json!({"kind": "PoolGuard", "metadata": {"name": "taintward", "uid": "u3", "resourceVersion": "9"},
        "spec": {"pools": [{"metadata": {"name": "a", "uid": "u2"}, "spec": {"enforcement": "Off"}}]}})
}

/// Without the definition, the API server's 404 has no Status.
#[tokio::test(start_paused = true)]
async fn without_the_guard_or_its_definition_there_is_none() {
    let gone = || {
        [
            ClientReply::status(404, "NotFound", "gone"),
            ClientReply::status(404, "", ""),
            ClientReply::Response(404, vec![], "404 page not found".into()),
        ]
    };
    for found in gone() {
        let (requested, result) =
            guard_written(PoolGuard::default(), found, pool(), ClientReply::json(200, &pool())).await;
        assert_eq!((requested.len(), result), (1, Ok(None)));
    }
    for patched in gone() {
        let found = ClientReply::json(200, &guard_with_pool());
        let mut wanted = PoolGuard::default();
        wanted.nodes.insert("n1".into());
        let (requested, result) = guard_written(wanted, found, pool(), patched).await;
        assert_eq!((requested.len(), result), (3, Ok(None)));
    }
    for response in gone() {
        let mut response = Some(response);
        let (client, _) = server(move |_: &SeenRequest| response.take().unwrap());
        assert_eq!(ApiClient::new(client, "").pool_guard_version().await, Ok(None));
    }
    let (client, log) = server(|_: &SeenRequest| ClientReply::json(200, &guard_with_pool()));
    let version = ApiClient::new(client, "").pool_guard_version().await;
    assert_eq!(version, Ok(Some(ResourceVersion(9))));
    let query = log.lock().unwrap()[0].query.clone();
    assert!(query.split('&').any(|one| one == "resourceVersion=0"), "{query}");
}

#[tokio::test(start_paused = true)]
async fn a_pool_leaves_the_guard_when_it_is_released_and_has_no_label() {
    let after = || ClientReply::json(200, &json!({"metadata": {"resourceVersion": "10"}}));
    let found = || ClientReply::json(200, &guard_with_pool());
    let mut labelled = pool();
    labelled["metadata"]["labels"] = json!({"taintward.io/pool-guard": "true"});
    let released = PoolGuard { released: [Uid::new("u2")].into(), ..PoolGuard::default() };
    for (wanted, pool, leaves) in
        [(released.clone(), pool(), true), (released, labelled, false), (PoolGuard::default(), pool(), false)]
    {
        let (requested, result) = guard_written(wanted, found(), pool, after()).await;
        assert_eq!(requested.len(), if leaves { 3 } else { 2 }, "{requested:?}");
        assert_eq!(result.unwrap().unwrap().version, Some(ResourceVersion(if leaves { 10 } else { 9 })));
    }
}

#[tokio::test(start_paused = true)]
async fn a_guard_that_is_too_large_is_not_sent() {
    let mut wanted = PoolGuard::default();
    wanted.nodes.extend((0..GUARD_MAX / 40).map(|at| format!("{at:050}").into()));
    let found = ClientReply::json(200, &guard_with_pool());
    let (requested, result) = guard_written(wanted, found, pool(), ClientReply::json(200, &pool())).await;
    assert_eq!((requested.len(), result), (2, Err(ApiFailure::Rejected)), "{requested:?}");
}
