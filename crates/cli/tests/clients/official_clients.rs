//! Works on a sandbox with kube-rs and the official clients of other languages: create, list in pages, watch, patch, evict,
//! delete, taint.
//!
//! - See `official_clients/` for the work, `kubectl.rs` for kubectl.

mod kube_rs;

use crate::cli::running::{RunningSandbox, request, text};
use crate::cli::timeout::eventually;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use taintward_envtest::client_libraries::{node_for_test, python_for_test};
use tokio::time::timeout;

/// A new sandbox, whose nodes are ready, and its kubeconfig.
fn sandbox() -> (RunningSandbox, String) {
    let mut sandbox = RunningSandbox::start(&["--plain", "--empty", "--nodes", "2"]);
    let kubeconfig = sandbox.kubeconfig();
    eventually("the nodes are ready", || {
        let nodes = request(&kubeconfig, "GET", "/api/v1/nodes", "");
        (nodes.matches(r#""reason":"KubeletReady""#).count() == 2).then_some(())
    });
    (sandbox, kubeconfig)
}

/// Does the work of a script.
fn works(mut client: Command, script: &str) {
    let (_sandbox, kubeconfig) = sandbox();
    client
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/official_clients").join(script))
        .arg(&kubeconfig);
    let done = client.output().unwrap();
    let (message, complaints) = (text(&done.stdout), text(&done.stderr));
    assert!(done.status.success() && message.ends_with("all done\n"), "{message}{complaints}");
}

#[tokio::test(flavor = "current_thread")]
async fn kube_rs_works() {
    let (_sandbox, kubeconfig) = tokio::task::spawn_blocking(sandbox).await.unwrap();
    timeout(Duration::from_secs(120), kube_rs::work(&kubeconfig)).await.expect("kube-rs waits");
}

#[test]
fn the_python_client_works() {
    let Some(python) = python_for_test("official_clients::the_python_client_works") else { return };
    works(Command::new(python), "day.py");
}

#[test]
fn the_client_for_node_js_works() {
    let Some(folder) = node_for_test("official_clients::the_client_for_node_js_works") else { return };
    let mut node = Command::new("node");
    node.current_dir(folder);
    works(node, "day.mjs");
}
