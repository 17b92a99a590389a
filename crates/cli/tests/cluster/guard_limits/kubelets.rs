//! Tests what a kubelet may write to its own node and its pods.

use super::harness::{BINDINGS, GuardLimitsHarness, POLICIES, STARTUP_TIMEOUT, has_label};
use serde_json::{Value, json};
use std::process::Command;
use std::time::Instant;
use taintward_envtest::api::PatchType;
use taintward_envtest::wait;

const NODE: &str = "/api/v1/nodes/n2";
const LABEL: &str = "node-restriction.kubernetes.io/pool.victim";

fn note(name: &str, value: Value) -> String {
    json!({"metadata": {"annotations": {name: value}}}).to_string()
}

/// A kubelet writes the status of its pods, and could write their annotations with it.
pub(crate) async fn a_kubelet_writes_no_record_of_its_pods(harness: &GuardLimitsHarness) {
    let pod = json!({"metadata": {"name": "running"},
        "spec": {"nodeName": "n2", "containers": [{"name": "c", "image": "i"}]}});
    harness.admin.create("/api/v1/namespaces/kube-system/pods", &pod).await.unwrap();
    let write = async |body: String| {
        let path = "/api/v1/namespaces/kube-system/pods/running/status";
        harness.kubelet.patch(path, PatchType::Merge, &body).await
    };
    write(note("taintward.io/held", json!("before"))).await.expect("no policy forbids it");
    for object in policy_of_records() {
        let path = if object["kind"] == "ValidatingAdmissionPolicy" { POLICIES } else { BINDINGS };
        harness.admin.create(path, &object).await.unwrap();
    }
    for name in ["taintward.io/held", "taintward.io/guard"] {
        let rejection = wait::until("the policy to forbid it", STARTUP_TIMEOUT, async || {
            let new = json!(format!("{:?}", Instant::now()));
            Ok(write(note(name, new)).await.err().map(|why| why.to_string()))
        })
        .await
        .unwrap();
        assert!(rejection.contains("'taintward-pod-records'"), "{name}: {rejection}");
    }
    let status = json!({"metadata": {"annotations": {"example.com/a": "b"}}, "status": {"message": "m"}});
    let reported = write(status.to_string()).await.expect("the records are unchanged");
    assert_eq!(reported["status"]["message"], "m");
    let reported = write(note("taintward.io/held", json!(null))).await.expect("it may be removed");
    assert_eq!(reported["metadata"]["annotations"], json!({"example.com/a": "b"}));
}

/// The policy is installed with the controllers that write the annotations.
fn policy_of_records() -> Vec<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
    let printed =
        command.args(["install", "--image=none", "--controllers=toleration-hold-controller"]).output();
    let text = String::from_utf8(printed.unwrap().stdout).unwrap();
    let all = text.split("\n---\n").map(|document| serde_saphyr::from_str::<Value>(document).unwrap());
    let found: Vec<Value> =
        all.filter(|object| object["metadata"]["name"] == "taintward-pod-records").collect();
    assert_eq!(found.len(), 2, "{text}");
    found
}

pub(crate) async fn a_node_leaves_its_pool_whatever_its_kubelet_writes(harness: &GuardLimitsHarness) {
    harness.change("victim", json!({"nodes": {"names": ["n1", "n2"]}})).await;
    until_node(harness, "in the pool", |node| node["metadata"]["labels"][LABEL] == "true").await;
    for (name, value) in [
        ("taintward.io/pool", json!("{}")),
        ("taintward.io/pool", json!(null)),
        ("taintward.io/hold", json!("x")),
    ] {
        for path in [NODE.to_owned(), format!("{NODE}/status")] {
            let reported = harness.kubelet.patch(&path, PatchType::Merge, &note(name, value.clone())).await;
            let error = reported.expect_err(name).to_string();
            assert!(error.contains("a kubelet may not write the annotations"), "{path}: {error}");
        }
    }
    let registered = json!({"metadata": {"name": "n3", "annotations": {"taintward.io/hold": "x"}}});
    harness.kubelet.create("/api/v1/nodes", &registered).await.expect_err("a node with this annotation");
    harness.kubelet.create("/api/v1/nodes", &json!({"metadata": {"name": "n3"}})).await.unwrap();
    let heartbeat = json!({"metadata": {"annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}},
        "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}});
    for path in [NODE.to_owned(), format!("{NODE}/status")] {
        harness.kubelet.patch(&path, PatchType::Strategic, &heartbeat.to_string()).await.unwrap();
    }
    // Without the policy, as on older servers.
    harness.admin.delete(&format!("{BINDINGS}/taintward-node-annotations"), &json!({})).await.unwrap();
    wait::until("the kubelet to write records", STARTUP_TIMEOUT, async || {
        Ok(harness.kubelet.patch(NODE, PatchType::Merge, &note("taintward.io/pool", json!("{}"))).await.ok())
    })
    .await
    .unwrap();
    let forging = async {
        for at in 0.. {
            let records = ["{}".to_owned(), format!("ghost{at}"), format!("ghost label:{LABEL}={at}")];
            let record = json!(records[at % records.len()]);
            // It may conflict with the controller.
            let _ = harness.kubelet.patch(NODE, PatchType::Merge, &note("taintward.io/pool", record)).await;
        }
    };
    let expelled = async {
        harness.change("victim", json!({"nodes": {"names": ["n1"]}})).await;
        until_node(harness, "out of the pool", |node| {
            node["metadata"]["labels"][LABEL].is_null()
                && node["spec"]["taints"].as_array().is_none_or(Vec::is_empty)
        })
        .await;
    };
    tokio::select! {
        () = forging => unreachable!(),
        () = expelled => {}
    }
    wait::until("the status to name the other node alone", STARTUP_TIMEOUT, async || {
        let pool = harness.pool("victim").await;
        assert!(has_label(&pool), "{pool}");
        Ok((pool["status"]["nodeNames"] == json!(["n1"])).then_some(()))
    })
    .await
    .unwrap();
}

async fn until_node(harness: &GuardLimitsHarness, what: &str, is: impl Fn(&Value) -> bool) {
    wait::until(&format!("node n2 to be {what}"), STARTUP_TIMEOUT, async || {
        Ok(is(&harness.admin.get(NODE).await?).then_some(()))
    })
    .await
    .unwrap();
}
