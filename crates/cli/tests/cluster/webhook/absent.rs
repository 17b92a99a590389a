//! Tests the webhook without an API server, and without pools and policies.

use super::super::admission::client::{WebhookClient, believing, question};
use super::super::admission::hook::{Hook, HookFiles, STARTUP_TIMEOUT, all, free_port};
use super::super::admission::register::plain_pod;
use super::WebhookHarness;
use serde_json::Value;
use taintward_envtest::{Account, wait};

async fn client(harness: &WebhookHarness, hook: &Hook) -> WebhookClient {
    let believing = believing(&harness.authority.certificate, None);
    let connected = async || Ok(WebhookClient::connect(hook.port, &believing).await.ok());
    wait::until("the webhook to listen", STARTUP_TIMEOUT, connected).await.unwrap()
}

/// A kubeconfig for a closed port.
fn nowhere(harness: &WebhookHarness) -> std::path::PathBuf {
    let text = std::fs::read_to_string(harness.cluster.kubeconfig(Account::Admin, 0)).unwrap();
    let server = |port: u16| format!("https://127.0.0.1:{port}");
    let file = harness.cluster.folder().join("nowhere.kubeconfig");
    std::fs::write(&file, text.replace(&server(harness.cluster.port(0)), &server(free_port()))).unwrap();
    file
}

/// The webhook answers: objects are admitted, or rejected if its flag says so.
pub(crate) async fn without_an_api_server(harness: &WebhookHarness) {
    let (files, nowhere) =
        (HookFiles::new(&harness.cluster, "nowhere", &harness.authority).flags(), nowhere(harness));
    let start = |more: &[&str]| Hook::start(&harness.cluster, &nowhere, &all(&files, more));
    let mut lenient = start(&[]);
    let strict = start(&["--until-ready=refuse"]);
    let pod = plain_pod("p");
    let response = client(harness, &lenient).await.request("mutate", &question("u1", "default", &pod)).await;
    assert_eq!((&response["uid"], &response["allowed"]), (&"u1".into(), &true.into()), "{response}");
    let (status, message) = lenient.get("/readyz?verbose").unwrap();
    assert!(status != 200 && message.contains("informers"), "{status} {message}");
    let (_, why) = lenient.get("/readyz/informers").unwrap();
    assert!(why.contains("namespaces") && why.contains("policies") && why.contains("pools"), "{why}");
    assert_eq!(lenient.get("/livez").unwrap().0, 200);
    assert!(lenient.metric("taintward_webhook_rules_total", "did=\"unknown\"") >= 1.0);
    let response = client(harness, &strict).await.request("mutate", &question("u2", "default", &pod)).await;
    assert_eq!(
        (&response["allowed"], &response["status"]["code"]),
        (&false.into(), &503.into()),
        "{response}"
    );
    assert!(lenient.is_running());
}

/// Without the definitions there are no pools and policies, as the log says; default tolerations are added.
pub(crate) async fn without_definitions(harness: &WebhookHarness) {
    let files = HookFiles::new(&harness.cluster, "undefined", &harness.authority).flags();
    let hook = Hook::start(&harness.cluster, &harness.account, &all(&files, &[])).ready().await;
    for resource in ["dedicatedpools", "tolerationpolicies"] {
        let message = hook.message("install the CustomResourceDefinitions");
        assert!(message.iter().any(|record| record["resource"] == resource), "{message:?}");
    }
    let pod = plain_pod("p");
    let response = client(harness, &hook).await.request("mutate", &question("u", "default", &pod)).await;
    let patch = response["patch"].as_str().unwrap_or_default();
    assert!(response["allowed"] == true && !patch.is_empty(), "{response}");
    assert_eq!(response["warnings"], Value::Null);
    // Its own requests: the lists of the two definitions, and the other lists.
    for (code, least) in [("404", 2.0), ("200", 2.0)] {
        hook.reaches("rest_client_requests_total", &format!("code=\"{code}\",method=\"GET\""), least).await;
    }
    hook.reaches("taintward_log_messages_total", "level=\"warning\"", 2.0).await;
}
