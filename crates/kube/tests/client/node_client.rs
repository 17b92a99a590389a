//! Tests the node requests of interactive commands.

use crate::fake::{self, ClientReply, server};
use serde_json::{Value, json};
use std::time::Duration;
use taintward_core::api_error::ApiFailure;
use taintward_core::taint_edit::{EditResult, parse};
use taintward_core::time::Wall;
use taintward_kube::node_client::{AnnotationEdit, EditableNode, NodeClient, NodeRequestError, PatchOptions};
use testkit::{ObjectExt as _, node};
use tokio::time::Instant;

const NODE: &str = "/api/v1/nodes/n1";
const LIMIT: Duration = Duration::from_secs(30);

fn stored_node() -> Value {
    node("n1").uid("u-1").version("7").with("spec.podCIDR", "10.0.0.0/24")
}

fn read(node: &Value) -> EditableNode {
    EditableNode::read(node.to_string().as_bytes()).unwrap()
}

fn applied(node: &EditableNode, change: &[&str]) -> EditResult {
    parse(change).unwrap().apply(&node.fact().taints, true).unwrap()
}

/// The patch of an edit of a node.
fn patch(node: &Value, change: &[&str], notes: &[AnnotationEdit]) -> Option<Value> {
    let node = read(node);
    let body = node.patch(&applied(&node, change), &parse(change).unwrap().add, notes)?;
    Some(serde_json::from_slice(&body).unwrap())
}

fn note(key: &str, value: Option<&str>) -> AnnotationEdit {
    (key.to_owned(), value.map(str::to_owned))
}

/// A list as it may be in a cluster, with a field that only a later release knows.
fn listed() -> Value {
    json!([
        { "key": "a", "effect": "NoExecute", "timeAdded": "2026-11-21T10:00:00Z", "from": "later" },
        { "key": "b", "value": "v", "effect": "NoSchedule", "timeAdded": "2026-11-21T11:00:00Z" },
    ])
}

#[test]
fn unnamed_fields_stay_to_the_letter() {
    let object = stored_node().with("spec.taints", listed());
    let patch = patch(&object, &["c=d:NoExecute", "b-"], &[]).unwrap();
    let after = json!([{ "key": "c", "value": "d", "effect": "NoExecute" }, listed()[0]]);
    let expected = json!([
        { "op": "test", "path": "/metadata/uid", "value": "u-1" },
        { "op": "test", "path": "/spec/taints", "value": listed() },
        { "op": "add", "path": "/spec/taints", "value": after },
    ]);
    assert_eq!(patch, expected);
    let seen = read(&object);
    let changed =
        seen.after(&applied(&seen, &["c=d:NoExecute", "b-"]), &parse(&["c=d:NoExecute"]).unwrap().add, &[]);
    assert_eq!(changed["spec"], json!({ "podCIDR": "10.0.0.0/24", "taints": after }));
}

#[test]
fn an_overwritten_taint_loses_its_time() {
    let patch = patch(&stored_node().with("spec.taints", listed()), &["b=w:NoSchedule"], &[]).unwrap();
    assert_eq!(patch[2]["value"], json!([{ "key": "b", "value": "w", "effect": "NoSchedule" }, listed()[0]]));
}

#[test]
fn the_last_taint_removes_the_list_and_the_first_adds_it() {
    let only = json!([{ "key": "a", "effect": "NoExecute" }]);
    let gone = patch(&stored_node().with("spec.taints", only.clone()), &["a-"], &[]).unwrap();
    assert_eq!(gone[1]["path"], "/spec/taints");
    assert_eq!(gone[2], json!({ "op": "remove", "path": "/spec/taints" }));
    // An absent list cannot be tested: the version is.
    let version = json!({ "op": "test", "path": "/metadata/resourceVersion", "value": "7" });
    let first = patch(&stored_node(), &["a:NoExecute"], &[]).unwrap();
    assert_eq!(first[1], version);
    assert_eq!(first[2], json!({ "op": "add", "path": "/spec/taints", "value": only }));
    let mut bare = stored_node();
    bare.as_object_mut().unwrap().remove("spec");
    let first = patch(&bare, &["a:NoExecute"], &[]).unwrap();
    assert_eq!(first[2], json!({ "op": "add", "path": "/spec", "value": { "taints": only } }));
}

#[test]
fn without_edits_nothing_is_sent() {
    let same = json!([{ "key": "a", "effect": "NoExecute" }]);
    assert_eq!(patch(&stored_node().with("spec.taints", same.clone()), &["a:NoExecute"], &[]), None);
    assert_eq!(
        patch(
            &stored_node()
                .with("spec.taints", same.clone())
                .with("metadata.annotations", json!({ "x": "1" })),
            &[],
            &[note("x", Some("1")), note("y", None)]
        ),
        None
    );
    assert!(
        patch(
            &stored_node().with("spec.taints", same).with("metadata.annotations", json!({ "x": "1" })),
            &[],
            &[note("x", Some("2"))]
        )
        .is_some()
    );
}

#[test]
fn annotations_are_written_and_no_other_is_changed() {
    let annotations = json!({ "a/b~c": "old", "other": "stays" });
    let notes = [note("a/b~c", Some("new")), note("d", Some("more")), note("other-that-is-not-there", None)];
    let object = stored_node().with("spec.taints", listed()).with("metadata.annotations", annotations);
    let steps = patch(&object, &["a-"], &notes).unwrap();
    assert_eq!(steps[1]["path"], "/spec/taints");
    let rest: Vec<&Value> = steps.as_array().unwrap()[3..].iter().collect();
    assert_eq!(
        rest,
        [
            &json!({ "op": "test", "path": "/metadata/annotations/a~1b~0c", "value": "old" }),
            &json!({ "op": "add", "path": "/metadata/annotations/a~1b~0c", "value": "new" }),
            &json!({ "op": "add", "path": "/metadata/annotations/d", "value": "more" }),
        ]
    );
    let steps = patch(&object, &["a-"], &[note("a/b~c", None)]).unwrap();
    assert_eq!(steps[4], json!({ "op": "remove", "path": "/metadata/annotations/a~1b~0c" }));
    let seen = read(&object);
    assert_eq!(
        seen.after(&applied(&seen, &["a-"]), &[], &notes)["metadata"]["annotations"],
        json!({ "a/b~c": "new", "d": "more", "other": "stays" })
    );
    // Removing the last one removes the map, as on a server.
    let only =
        read(&stored_node().with("spec.taints", listed()).with("metadata.annotations", json!({ "a": "b" })));
    let after = only.after(&applied(&only, &["a-"]), &[], &[note("a", None)]);
    assert_eq!(after["metadata"].get("annotations"), None);
    // Without annotations, another client's first one would be overwritten: so the version is tested.
    let steps = patch(&stored_node().with("spec.taints", listed()), &["a-"], &notes).unwrap();
    assert_eq!(steps[1]["path"], "/metadata/resourceVersion");
    assert_eq!(
        steps[3],
        json!({ "op": "add", "path": "/metadata/annotations", "value": { "a/b~c": "new", "d": "more" } })
    );
}

/// D1's source, for taints of any effect.
#[test]
fn the_minimum_age_of_taints_is_read_from_managed_fields() {
    let mut object = stored_node().with("spec.taints", json!([{ "key": "a", "effect": "NoSchedule" }]));
    assert_eq!(read(&object).taints_changed(), None);
    let entry =
        |time: &str, fields: Value| json!({ "manager": "kubectl-taint", "time": time, "fieldsV1": fields });
    object["metadata"]["managedFields"] = json!([
        entry("2027-01-15T08:00:00Z", json!({ "f:spec": { "f:taints": {} } })),
        entry("2027-01-15T09:00:00Z", json!({ "f:spec": { "f:unschedulable": {} } })),
    ]);
    assert_eq!(read(&object).taints_changed(), Some(Wall::from_secs(1_800_000_000)));
    assert_eq!(read(&object).fact().taints_changed, None, "the engine reads them only if needed");
}

#[test]
fn an_invalid_node_is_an_error() {
    for (body, why) in [
        ("{}", "a  where a Node was expected"),
        (r#"{"kind":"Pod","metadata":{"name":"p"}}"#, "a Pod where a Node was expected"),
        (r#"{"kind":"Status","message":"gone"}"#, "gone"),
        ("<html>", "not a Kubernetes object"),
        (r#"{"kind":"Node","metadata":{"name":"n1","uid":"u"},"spec":{"taints":[{"key":7}]}}"#, ""),
    ] {
        let message = EditableNode::read(body.as_bytes()).unwrap_err().to_string();
        assert!(message.contains(why) && !message.is_empty(), "{body}: {message}");
    }
}

#[tokio::test(start_paused = true)]
async fn requests_are_like_kubectls() {
    let object = stored_node().with("spec.taints", listed());
    let response = object.clone();
    let (client, log) = server(move |seen| match seen.method {
        http::Method::GET => ClientReply::json(200, &response),
        _ => ClientReply::Response(
            200,
            vec![
                ("warning", r#"299 - "metadata.labels: \"old\" \\ deprecated""#.into()),
                ("warning", "odd".into()),
            ],
            response.to_string(),
        ),
    });
    let nodes = NodeClient::new(client, LIMIT);
    let reported = nodes.read("n1").await.unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&reported.body).unwrap(), object);
    let body = read(&object).patch(&applied(&read(&object), &["a-"]), &[], &[]).unwrap();
    let plain = PatchOptions { field_manager: "kubectl-taint".into(), ..PatchOptions::default() };
    assert_eq!(
        nodes.patch("n1", body.clone(), &plain).await.unwrap().warnings,
        [r#"metadata.labels: "old" \ deprecated"#]
    );
    let tried = PatchOptions { field_manager: "a&b".into(), field_validation: "Strict", dry_run: true };
    nodes.patch("n1", body, &tried).await.unwrap();
    let seen = log.lock().unwrap().clone();
    let lines: Vec<(String, String, String)> =
        seen.iter().map(|seen| (seen.line(), seen.query.clone(), seen.content_type.clone())).collect();
    let patched =
        |query: &str| (format!("PATCH {NODE}"), query.to_owned(), "application/json-patch+json".to_owned());
    assert_eq!(
        lines,
        [
            (format!("GET {NODE}"), String::new(), String::new()),
            patched("fieldManager=kubectl-taint"),
            patched("fieldManager=a%26b&fieldValidation=Strict&dryRun=All"),
        ]
    );
}

/// The error made from a server's refusal.
async fn rejected(code: u16, body: Value) -> NodeRequestError {
    let (client, _) = server(move |_| ClientReply::json(code, &body));
    NodeClient::new(client, LIMIT).patch("n1", "[]".into(), &PatchOptions::default()).await.unwrap_err()
}

#[tokio::test(start_paused = true)]
async fn refusals_keep_the_servers_message_and_conflicts_are_detected() {
    let status = |code, reason, message| fake::status(code, reason, message);
    let NodeRequestError::Status(message) =
        rejected(404, status(404, "NotFound", "nodes \"n1\" not found")).await
    else {
        panic!("expected the server's status")
    };
    assert_eq!(
        (message.code, message.reason.as_str(), message.message.as_str()),
        (404, "NotFound", "nodes \"n1\" not found")
    );
    let conflicts = [status(409, "Conflict", "changed"), status(422, "Invalid", "the patch does not apply")];
    for body in conflicts {
        let code = u16::try_from(body["code"].as_u64().unwrap()).unwrap();
        assert!(rejected(code, body).await.is_conflict());
    }
    let mut invalid = status(422, "Invalid", "Node is invalid");
    invalid["details"] = json!({ "kind": "Node", "name": "n1", "causes": [{ "field": "metadata.taints[0]", "message": "no\u{1b}" }] });
    let complaint = rejected(422, invalid).await;
    assert!(!complaint.is_conflict());
    let NodeRequestError::Status(message) = complaint else { panic!("expected the server's status") };
    assert_eq!((message.kind.as_str(), message.name.as_str()), ("Node", "n1"));
    assert_eq!(message.causes, [("metadata.taints[0]".to_owned(), "no\\u{1b}".to_owned())]);
    assert!(!rejected(403, status(403, "Forbidden", "no")).await.is_conflict());
    let NodeRequestError::Status(message) = rejected(502, json!("bad gateway")).await else {
        panic!("expected a proxy's status")
    };
    assert_eq!(
        (message.code, message.reason.as_str(), message.message.as_str()),
        (502, "", "502 Bad Gateway")
    );
}

#[tokio::test(start_paused = true)]
async fn a_missing_response_has_a_timeout_and_invalid_names_are_not_sent() {
    let (client, log) = server(|_| ClientReply::Silence(Duration::from_secs(3600)));
    let (nodes, began) = (NodeClient::new(client, LIMIT), Instant::now());
    let NodeRequestError::NoResponse(rejection) = nodes.read("n1").await.unwrap_err() else {
        panic!("expected no status")
    };
    assert_eq!((rejection.failure, began.elapsed()), (ApiFailure::Unavailable, LIMIT));
    assert_eq!(log.lock().unwrap().len(), 1, "asked once");
    for name in ["", "a/b", ".."] {
        assert!(matches!(nodes.read(name).await, Err(NodeRequestError::NoResponse(_))), "{name:?}");
        assert!(nodes.patch(name, "[]".into(), &PatchOptions::default()).await.is_err(), "{name:?}");
    }
    assert_eq!(log.lock().unwrap().len(), 1, "nothing else was sent");
}
