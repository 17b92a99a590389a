//! Tests the commands with the permissions of Kubernetes' own role `view`, which reads pods but no nodes.

use crate::cli::running::text;
use crate::harness::{ManagedHarness, UNREACHABLE};
use serde_json::{Value, json};
use std::process::Command;
use taintward_envtest::binaries;
use taintward_envtest::fixtures::{create_node, pod};

const BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";

#[tokio::test(flavor = "current_thread")]
async fn a_viewer_learns_once_which_permission_is_missing() {
    let Some(tools) = binaries::for_test("a_viewer_learns_once_which_permission_is_missing") else { return };
    let harness = ManagedHarness::set(&tools, "toleration-guard-controller", &[]).await;
    for node in ["a", "b"] {
        create_node(&harness.admin, node, &[]).await.unwrap();
        for at in 0..2 {
            let fixture = pod(&format!("{node}-{at}"), node).bearing(UNREACHABLE, Some(500));
            fixture.create(&harness.admin).await.unwrap();
        }
    }
    harness.silence("a").await;
    // The rules of `view` come from this role, by a controller that does not run here.
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:aggregate-to-view"});
    let user = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "viewer"});
    let binding = json!({"metadata": {"name": "viewer"}, "roleRef": role, "subjects": [user]});
    harness.admin.create(BINDINGS, &binding).await.unwrap();
    let kubeconfig = harness.cluster.kubeconfig_as("viewer", &["system:authenticated"]).unwrap();

    let run = async |words: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
        command.args(words.split(' ')).arg("--kubeconfig").arg(&kubeconfig);
        tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
    };
    let list = "list nodes: 403 Forbidden: User \"viewer\" may not; grant the verb list on nodes";
    let get = "get nodes a: 403 Forbidden: User \"viewer\" may not; grant the verb get on nodes";
    for (words, right) in [
        ("pending", list),
        ("pending -A", list),
        ("pending --past", list),
        ("explain pod/a-0", get),
        ("explain node/a", get),
        ("plan", list),
        ("plan --drain a", list),
        ("plan --taint a x=y:NoExecute", list),
        // In kubectl's words, as the rest of the command.
        ("taint nodes a --list", "nodes \"a\" is forbidden: User \"viewer\" cannot get resource \"nodes\""),
        ("taint nodes --all --list", list),
        ("lint", list),
        ("hold status", list),
        ("guard status", list),
    ] {
        let done = run(words).await;
        let message = text(&done.stdout) + &text(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{words}: {message}");
        let errors: Vec<&str> = message.lines().filter(|line| line.contains("Forbidden")).collect();
        assert!(errors.len() == 1 && errors[0].contains(right), "{words}: {message}");
        for claim in ["not evicted", "stays", "No pods are counting down", "does not exist", "0 evicted"] {
            assert!(!message.contains(claim), "{words}: {message}");
        }
    }
    let explained = run("explain pod/a-0 -o json").await;
    let explained: Value = serde_json::from_slice(&explained.stdout).unwrap();
    assert_eq!((&explained["outcome"], &explained["complete"]), (&json!("Unknown"), &json!(false)));
    // The pods can be read, so this is known.
    let missing = run("explain pod/missing").await;
    assert!(text(&missing.stderr).contains("pod missing does not exist"), "{missing:?}");
    // Doctor judges what it can read, and nothing else.
    let report: Value = serde_json::from_slice(&run("doctor -o json").await.stdout).unwrap();
    for check in report["items"].as_array().unwrap() {
        let expected = match check["id"].as_str().unwrap() {
            "server-version" | "clock" | "default-toleration-seconds" | "disruption-budgets" => "ok",
            // No kubelet runs its pods.
            "installation" => "failed",
            _ => "unknown",
        };
        assert_eq!(check["status"], expected, "{check}");
    }
}
