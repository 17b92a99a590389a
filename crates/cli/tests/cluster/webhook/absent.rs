//! Tests the webhook without an API server, and without pools and policies.

use super::super::admission::client::{Client, believing, question};
use super::super::admission::hook::{Files, Hook, PATIENCE, all, free_port};
use super::super::admission::register::plain_pod;
use super::Stage;
use serde_json::Value;
use taintward_envtest::{Account, wait};

async fn client(stage: &Stage, hook: &Hook) -> Client {
    let believing = believing(&stage.authority.certificate, None);
    let connected = async || Ok(Client::connect(hook.port, &believing).await.ok());
    wait::until("the webhook to listen", PATIENCE, connected).await.unwrap()
}

/// A kubeconfig for a closed port.
fn nowhere(stage: &Stage) -> std::path::PathBuf {
    let text = std::fs::read_to_string(stage.cluster.kubeconfig(Account::Admin, 0)).unwrap();
    let server = |port: u16| format!("https://127.0.0.1:{port}");
    let file = stage.cluster.folder().join("nowhere.kubeconfig");
    std::fs::write(&file, text.replace(&server(stage.cluster.port(0)), &server(free_port()))).unwrap();
    file
}

/// The webhook answers: objects are admitted, or rejected if its flag says so.
pub(crate) async fn without_an_api_server(stage: &Stage) {
    let (files, nowhere) = (Files::new(&stage.cluster, "nowhere", &stage.authority).flags(), nowhere(stage));
    let start = |more: &[&str]| Hook::start(&stage.cluster, &nowhere, &all(&files, more));
    let mut lenient = start(&[]);
    let strict = start(&["--until-ready=refuse"]);
    let pod = plain_pod("p");
    let answer = client(stage, &lenient).await.ask("mutate", &question("u1", "default", &pod)).await;
    assert_eq!((&answer["uid"], &answer["allowed"]), (&"u1".into(), &true.into()), "{answer}");
    let (status, said) = lenient.get("/readyz?verbose").unwrap();
    assert!(status != 200 && said.contains("informers"), "{status} {said}");
    let (_, why) = lenient.get("/readyz/informers").unwrap();
    assert!(why.contains("namespaces") && why.contains("policies") && why.contains("pools"), "{why}");
    assert_eq!(lenient.get("/livez").unwrap().0, 200);
    assert!(lenient.metric("taintward_webhook_rules_total", "did=\"unknown\"") >= 1.0);
    let answer = client(stage, &strict).await.ask("mutate", &question("u2", "default", &pod)).await;
    assert_eq!((&answer["allowed"], &answer["status"]["code"]), (&false.into(), &503.into()), "{answer}");
    assert!(lenient.is_running());
}

/// Without the definitions there are no pools and policies, as the log says; default tolerations are added.
pub(crate) async fn without_definitions(stage: &Stage) {
    let files = Files::new(&stage.cluster, "undefined", &stage.authority).flags();
    let hook = Hook::start(&stage.cluster, &stage.account, &all(&files, &[])).ready().await;
    for resource in ["dedicatedpools", "taintwardpolicies"] {
        let said = hook.said("install the CustomResourceDefinitions");
        assert!(said.iter().any(|record| record["resource"] == resource), "{said:?}");
    }
    let pod = plain_pod("p");
    let answer = client(stage, &hook).await.ask("mutate", &question("u", "default", &pod)).await;
    let patch = answer["patch"].as_str().unwrap_or_default();
    assert!(answer["allowed"] == true && !patch.is_empty(), "{answer}");
    assert_eq!(answer["warnings"], Value::Null);
    // Its own requests: the lists of the two definitions, and the other lists.
    for (code, least) in [("404", 2.0), ("200", 2.0)] {
        hook.reaches("rest_client_requests_total", &format!("code=\"{code}\",method=\"GET\""), least).await;
    }
    hook.reaches("taintward_log_messages_total", "level=\"warning\"", 2.0).await;
}
