//! Tests that web pages and other users of the machine cannot use a sandbox.

use crate::cluster;
use fakekube::api::{ApiServer, ResourcePath, WriteOptions};
use fakekube::resource::known;
use fakekube::serve::ApiListener;
use serde_json::{Value, json};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const NAMESPACES: &str = "/api/v1/namespaces";

/// A sandbox with an object that others must not read.
struct ListenerHarness {
    address: SocketAddr,
    server: ApiServer,
}

impl ListenerHarness {
    async fn set() -> Self {
        let server = cluster::with_nodes(1);
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, "data": {"a": "aHVudGVyMg=="}});
        server
            .create(
                &ResourcePath::object(known("", "secrets"), "default", ""),
                secret,
                &WriteOptions::by("test"),
            )
            .unwrap();
        let listening = ApiListener::open("127.0.0.1:0".parse().unwrap(), false).await.unwrap();
        let address = listening.address();
        tokio::spawn(listening.serve(server.clone()));
        Self { address, server }
    }

    /// Sends a request with these header lines. Returns the response's status and body.
    async fn send(&self, line: &str, head: &[&str], body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let head: String = head.iter().map(|line| format!("{line}\r\n")).collect();
        let head =
            head.replace("TOKEN", self.server.token().text()).replace("HERE", &self.address.to_string());
        let length =
            if body.is_empty() { String::new() } else { format!("content-length: {}\r\n", body.len()) };
        let request = format!("{line} HTTP/1.1\r\n{head}{length}connection: close\r\n\r\n{body}");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = Vec::new();
        stream.read_to_end(&mut response).await.unwrap();
        let response = String::from_utf8(response).unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    /// Expects a rejection with a `Status` that reveals nothing of the sandbox.
    async fn rejects(&self, code: u16, reason: &str, line: &str, head: &[&str], body: &str) {
        let (message, response) = self.send(line, head, body).await;
        assert!(!response.contains("aHVudGVyMg"), "{line} {head:?}: the secret is out");
        assert_eq!(message, code, "{line} {head:?}: {response}");
        let status: Value = serde_json::from_str(&response).unwrap();
        let reported = [&status["kind"], &status["status"], &status["reason"], &status["code"]];
        assert_eq!(
            reported,
            [&json!("Status"), &json!("Failure"), &json!(reason), &json!(code)],
            "{response}"
        );
        let made = self.server.get(known("", "namespaces"), "", "owned");
        assert_eq!(made, None, "{line} {head:?}: the server did it nevertheless");
    }
}

const ENTRY: &str = "authorization: Bearer TOKEN";
const OWNED: &str = r#"{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "owned"}}"#;

#[tokio::test]
async fn a_name_that_was_made_to_lead_here_gets_nothing() {
    let harness = ListenerHarness::set().await;
    for token in [&[][..], &[ENTRY]] {
        for path in [SECRETS, "/version", "/healthz", "/openapi/v3"] {
            let head = [&["host: rebind.evil.example"], token].concat();
            harness.rejects(403, "Forbidden", &format!("GET {path}"), &head, "").await;
        }
    }
    let (code, response) = harness.send(&format!("GET {SECRETS}"), &["host: HERE", ENTRY], "").await;
    assert!(code == 200 && response.contains("aHVudGVyMg"), "{code} {response}");
}

#[tokio::test]
async fn a_page_of_another_site_writes_nothing() {
    let harness = ListenerHarness::set().await;
    let post = format!("POST {NAMESPACES}");
    let json = "content-type: application/json";
    for from in ["origin: https://evil.example", "origin: null", "sec-fetch-site: cross-site"] {
        for more in [&[][..], &[ENTRY], &[ENTRY, json]] {
            let head = [&["host: HERE", from], more].concat();
            harness.rejects(403, "Forbidden", &post, &head, OWNED).await;
        }
    }
    // What a browser sends without a preflight for a Blob without a type, if it is too old to send Fetch metadata.
    harness.rejects(401, "Unauthorized", &post, &["host: HERE"], OWNED).await;
    let (code, response) = harness.send(&post, &["host: HERE", ENTRY, json], OWNED).await;
    assert_eq!(code, 201, "{response}");
}

#[tokio::test]
async fn a_body_without_a_type_is_json() {
    let harness = ListenerHarness::set().await;
    let post = format!("POST {NAMESPACES}");
    let (code, response) = harness.send(&post, &["host: HERE", ENTRY], "kind: Namespace").await;
    assert_eq!(code, 400, "{response}");
    let delete = "DELETE /api/v1/nodes/n1";
    let preconditions = r#"{"preconditions": {"uid": "another"}}"#;
    harness.rejects(409, "Conflict", delete, &["host: HERE", ENTRY], preconditions).await;
    harness
        .rejects(415, "UnsupportedMediaType", "PATCH /api/v1/nodes/n1", &["host: HERE", ENTRY], "{}")
        .await;
    let (code, response) = harness.send(delete, &["host: HERE", ENTRY], "{}").await;
    assert_eq!(code, 200, "{response}");
    let (code, response) = harness.send(&post, &["host: HERE", ENTRY], OWNED).await;
    assert_eq!(code, 201, "{response}");
}

#[tokio::test]
async fn without_the_kubeconfig_only_public_endpoints_respond() {
    let harness = ListenerHarness::set().await;
    for offered in [&[][..], &["authorization: Bearer sandbox"], &["authorization: Basic c2FuZGJveDo="]] {
        let head = [&["host: HERE"], offered].concat();
        for line in [&format!("GET {SECRETS}"), "GET /", "GET /metrics", "DELETE /api/v1/nodes/n1"] {
            harness.rejects(401, "Unauthorized", line, &head, "").await;
        }
    }
    for path in ["/healthz", "/livez", "/readyz", "/version"] {
        let (code, response) = harness.send(&format!("GET {path}"), &["host: localhost"], "").await;
        assert_eq!(code, 200, "{path}: {response}");
    }
}

/// Programs in pods have tokens of service accounts, and review tokens.
#[tokio::test]
async fn tokens_that_are_handed_out_let_in_and_are_recognized() {
    let harness = ListenerHarness::set().await;
    let on = ResourcePath::object(known("", "serviceaccounts"), "default", "");
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}});
    let _there_already = harness.server.create(&on, account, &WriteOptions::by("test"));
    let inside = ["host: HERE", ENTRY, "content-type: application/json"];
    let line = "POST /api/v1/namespaces/default/serviceaccounts/a/token";
    let (code, response) = harness.send(line, &inside, "{}").await;
    assert_eq!(code, 201, "{response}");
    let token = serde_json::from_str::<Value>(&response).unwrap()["status"]["token"].clone();
    let bearer = format!("authorization: Bearer {}", token.as_str().unwrap());
    assert_eq!(harness.send("GET /api", &["host: HERE", &bearer], "").await.0, 200);
    for (token, expected) in [(token, json!(true)), (json!("sandbox"), Value::Null)] {
        let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}});
        let line = "POST /apis/authentication.k8s.io/v1/tokenreviews";
        let (code, response) = harness.send(line, &inside, &review.to_string()).await;
        assert_eq!(code, 201, "{response}");
        let response: Value = serde_json::from_str(&response).unwrap();
        assert_eq!(response["status"]["authenticated"], expected, "{response}");
    }
}
