//! Runs the steps of one case against a server and records its responses.
//!
//! - Invariant: every wait has a limit (`STARTUP_TIMEOUT`); every case has a namespace and a prefix of its own.

use super::record::RecordedStep;
use super::target::{ConformanceTarget, TargetEncoding};
use super::wire;
use http_body_util::BodyExt as _;
use hyper::body::Bytes;
use serde_json::{Value, json};
use std::time::Duration;
use testkit::{ObjectExt as _, pod};
use tokio::runtime::{Builder, Runtime};

/// A server on a busy machine responds well within this.
pub(crate) const STARTUP_TIMEOUT: Duration = Duration::from_secs(15);

/// The content types of patches.
pub(crate) const JSON_PATCH: &str = "application/json-patch+json";
/// RFC 7386.
pub(crate) const MERGE: &str = "application/merge-patch+json";
/// Kubernetes' own.
pub(crate) const STRATEGIC: &str = "application/strategic-merge-patch+json";
/// Server-side apply.
pub(crate) const APPLY: &str = "application/apply-patch+yaml";

/// The headers that are compared; the others vary, or are not used by clients.
const HEADERS: [&str; 4] = ["allow", "content-type", "retry-after", "warning"];

/// A running case.
pub(crate) struct ConformanceHarness {
    /// The prefix of the case's own cluster-wide names, and the name of its namespace.
    pub(crate) own: String,
    pub(crate) runtime: Runtime,
    pub(crate) wire: TargetEncoding,
    pub(crate) steps: Vec<RecordedStep>,
    keep: Vec<&'static str>,
}

/// A request.
pub(crate) struct RecordedRequest {
    method: &'static str,
    path: String,
    headers: Vec<(String, String)>,
    body: Bytes,
}

impl RecordedRequest {
    pub(crate) fn new(method: &'static str, path: impl Into<String>) -> Self {
        Self { method, path: path.into(), headers: Vec::new(), body: Bytes::new() }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub(crate) fn accept(self, value: &str) -> Self {
        self.header("accept", value)
    }

    pub(crate) fn body(mut self, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into().into();
        if kind.is_empty() { self } else { self.header("content-type", kind) }
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.body("application/json", body.to_string())
    }
}

impl ConformanceHarness {
    /// Starts a case on a target.
    pub(crate) fn at(target: &ConformanceTarget, own: &str) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let wire = {
            let _inside = runtime.enter();
            target.connect()
        };
        let mut harness = Self { own: own.to_owned(), runtime, wire, steps: Vec::new(), keep: Vec::new() };
        harness.given("/api/v1/namespaces", &json!({"metadata": {"name": own}}));
        harness
    }

    /// A cluster-wide name of this case's own.
    pub(crate) fn named(&self, name: &str) -> String {
        format!("{}-{name}", self.own)
    }

    /// A path in this case's namespace, core group: `pods/web`.
    pub(crate) fn core(&self, rest: &str) -> String {
        format!("/api/v1/namespaces/{}/{rest}", self.own)
    }

    /// A path in this case's namespace in another group: `apps/v1`, `deployments/web`.
    pub(crate) fn group(&self, group: &str, rest: &str) -> String {
        format!("/apis/{group}/namespaces/{}/{rest}", self.own)
    }

    /// Compares only these places of the next response; `*` is every element. An error is always compared as a whole.
    pub(crate) fn keeping(&mut self, places: &[&'static str]) -> &mut Self {
        self.keep = places.to_vec();
        self
    }

    /// Creates an object as arrangement; not part of the record.
    #[track_caller]
    pub(crate) fn given(&mut self, path: &str, object: &Value) -> Value {
        self.arrange(&RecordedRequest::new("POST", path).json(object))
    }

    /// Changes an object as arrangement; not part of the record.
    #[track_caller]
    pub(crate) fn arranged(&mut self, path: &str, kind: &str, patch: &Value) -> Value {
        self.arrange(&RecordedRequest::new("PATCH", path).body(kind, patch.to_string()))
    }

    /// Creates a node of this case's own, as arrangement. Returns its full name.
    #[track_caller]
    pub(crate) fn create_node(&mut self, name: &str, spec: &Value) -> String {
        let (own, name) = (self.own.clone(), self.named(name));
        self.given(
            "/api/v1/nodes",
            &json!({"metadata": {"name": name, "labels": {"case": own}}, "spec": spec}),
        );
        name
    }

    /// Creates a pod in this case's namespace, as arrangement.
    #[track_caller]
    pub(crate) fn create_pod(&mut self, name: &str, spec: &Value) -> Value {
        let path = self.core("pods");
        self.given(&path, &pod_with(name, spec))
    }

    /// Makes sure that the watch cache, which serves reads at version 0, is up to date, by a list that requires it.
    #[track_caller]
    pub(crate) fn settle(&self, path: &str) {
        assert_eq!(self.request(&RecordedRequest::new("GET", path)).code, 200, "{path}");
    }

    pub(crate) fn get(&mut self, path: impl Into<String>) -> RecordedResponse {
        self.send(RecordedRequest::new("GET", path))
    }

    /// Reads; only these places are compared.
    pub(crate) fn check(&mut self, places: &[&'static str], path: impl Into<String>) -> RecordedResponse {
        self.keeping(places).get(path)
    }

    pub(crate) fn get_as(&mut self, path: impl Into<String>, accept: &str) -> RecordedResponse {
        self.send(RecordedRequest::new("GET", path).accept(accept))
    }

    pub(crate) fn post(&mut self, path: impl Into<String>, object: &Value) -> RecordedResponse {
        self.send(RecordedRequest::new("POST", path).json(object))
    }

    pub(crate) fn put(&mut self, path: impl Into<String>, object: &Value) -> RecordedResponse {
        self.send(RecordedRequest::new("PUT", path).json(object))
    }

    pub(crate) fn patch(&mut self, path: impl Into<String>, kind: &str, patch: &Value) -> RecordedResponse {
        self.send(RecordedRequest::new("PATCH", path).body(kind, patch.to_string()))
    }

    pub(crate) fn delete(&mut self, path: impl Into<String>) -> RecordedResponse {
        self.send(RecordedRequest::new("DELETE", path))
    }

    pub(crate) fn delete_with(&mut self, path: impl Into<String>, options: &Value) -> RecordedResponse {
        self.send(RecordedRequest::new("DELETE", path).json(options))
    }

    /// Sends a request and records the response.
    pub(crate) fn send(&mut self, request: RecordedRequest) -> RecordedResponse {
        let response = self.request(&request);
        self.note(request.method, &request.path, &response);
        response
    }

    pub(crate) fn note(&mut self, method: &str, path: &str, response: &RecordedResponse) {
        self.steps.push(RecordedStep {
            what: format!("{method} {}", path.split('?').next().unwrap_or(path)),
            code: response.code,
            headers: response.headers.clone(),
            body: response.body.clone(),
            keep: std::mem::take(&mut self.keep),
            compared: true,
        });
    }

    /// Arrangements are not compared, but messages may mention the objects.
    fn arrange(&mut self, request: &RecordedRequest) -> Value {
        let response = self.request(request);
        assert!(
            matches!(response.code, 200 | 201),
            "given {}: {} {}",
            request.path,
            response.code,
            response.body
        );
        self.note(request.method, &request.path, &response);
        self.steps.last_mut().unwrap().compared = false;
        response.body
    }

    /// Sends a request without recording the response.
    pub(crate) fn request(&self, request: &RecordedRequest) -> RecordedResponse {
        let whole = async {
            let response =
                self.wire.send(request.method, &request.path, &request.headers, request.body.clone()).await;
            let (head, body) = response.into_parts();
            RecordedResponse::of(&head, body.collect().await.unwrap().to_bytes())
        };
        let bounded = async { tokio::time::timeout(STARTUP_TIMEOUT, whole).await };
        self.runtime.block_on(bounded).unwrap_or_else(|_| {
            panic!("{} {}: no answer within {STARTUP_TIMEOUT:?}", request.method, request.path)
        })
    }
}

/// A pod with these fields in its spec, and no grace period unless one of them is it.
pub(crate) fn pod_with(name: &str, spec: &Value) -> Value {
    let pod = pod(name).with("metadata.labels.app", name).with("spec.terminationGracePeriodSeconds", 0);
    pod.with_all("spec", spec)
}

/// The response of a target.
pub(crate) struct RecordedResponse {
    pub(crate) code: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) bytes: Bytes,
    /// JSON as it is; several values, as from a watch, as a list; protobuf decoded; anything else as text.
    pub(crate) body: Value,
}

impl RecordedResponse {
    fn of(head: &http::response::Parts, bytes: Bytes) -> Self {
        let mut response = Self::head(head);
        response.body = read(response.kind(), &bytes);
        response.bytes = bytes;
        response
    }

    /// A response whose body is not read.
    pub(crate) fn head(head: &http::response::Parts) -> Self {
        let named = |name: &&'static str| {
            let all = head.headers.get_all(*name).into_iter();
            let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
            all.map(|value| ((*name).to_owned(), text(value))).collect::<Vec<_>>()
        };
        Self {
            code: head.status.as_u16(),
            headers: HEADERS.iter().flat_map(named).collect(),
            bytes: Bytes::new(),
            body: Value::Null,
        }
    }

    /// Part of a response: an event of a watch.
    pub(crate) fn bare(body: Value) -> Self {
        Self { code: 200, headers: Vec::new(), bytes: Bytes::new(), body }
    }

    /// The content type.
    pub(crate) fn kind(&self) -> &str {
        self.header("content-type").unwrap_or_default()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Expects this status code.
    #[track_caller]
    pub(crate) fn is(self, code: u16) -> Self {
        assert_eq!(self.code, code, "{}", self.body);
        self
    }

    /// Expects a Status with this code and reason.
    #[track_caller]
    pub(crate) fn rejected(self, code: u16, reason: &str) -> Self {
        assert_eq!(self.code, code, "{}", self.body);
        let status = json!([self.body["kind"], self.body["status"], self.body["reason"], self.body["code"]]);
        let reason = if reason.is_empty() { Value::Null } else { reason.into() };
        assert_eq!(status, json!(["Status", "Failure", reason, code]), "{}", self.body);
        self
    }

    /// Expects the message to contain this.
    #[track_caller]
    pub(crate) fn contains(self, words: &str) -> Self {
        let message = self.body["message"].as_str().unwrap_or_default();
        assert!(message.contains(words), "no {words:?} in {message:?}");
        self
    }

    /// Expects this value at a place.
    #[track_caller]
    pub(crate) fn has(self, pointer: &str, value: impl Into<Value>) -> Self {
        assert_eq!(
            self.body.pointer(pointer).unwrap_or(&Value::Null),
            &value.into(),
            "{pointer} of {}",
            self.body
        );
        self
    }

    /// Expects any value at a place.
    #[track_caller]
    pub(crate) fn some(self, pointer: &str) -> Self {
        assert!(
            self.body.pointer(pointer).is_some_and(|value| !value.is_null()),
            "no {pointer} in {}",
            self.body
        );
        self
    }

    /// Expects no value at a place.
    #[track_caller]
    pub(crate) fn lacks(self, pointer: &str) -> Self {
        assert_eq!(self.body.pointer(pointer), None, "{pointer} of {}", self.body);
        self
    }

    /// Expects a list with these names.
    #[track_caller]
    pub(crate) fn lists(self, names: &[&str]) -> Self {
        let items = self.body["items"].as_array().unwrap_or_else(|| panic!("no list: {}", self.body));
        let found: Vec<&str> = items.iter().filter_map(|item| item["metadata"]["name"].as_str()).collect();
        assert_eq!(found, names);
        self
    }

    /// The text at a place.
    #[track_caller]
    pub(crate) fn text(&self, pointer: &str) -> String {
        let text = self.body.pointer(pointer).and_then(Value::as_str);
        text.unwrap_or_else(|| panic!("no {pointer} in {}", self.body)).to_owned()
    }

    /// The version of the object, or of the list.
    #[track_caller]
    pub(crate) fn version(&self) -> String {
        self.text("/metadata/resourceVersion")
    }

    #[track_caller]
    pub(crate) fn uid(&self) -> String {
        self.text("/metadata/uid")
    }
}

fn read(kind: &str, bytes: &[u8]) -> Value {
    if kind.starts_with("application/vnd.kubernetes.protobuf") {
        return if kind.contains("stream=watch") { wire::events(bytes) } else { wire::object(bytes) };
    }
    if kind.starts_with("application/json") {
        let values: Result<Vec<Value>, _> = serde_json::Deserializer::from_slice(bytes).into_iter().collect();
        let mut values = values.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(bytes)));
        return if values.len() == 1 { values.remove(0) } else { Value::Array(values) };
    }
    Value::String(String::from_utf8_lossy(bytes).into_owned())
}
