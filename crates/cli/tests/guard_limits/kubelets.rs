//! Tests what a kubelet may write to its own node and its pods.

use super::scene::{BINDINGS, PATIENCE, Scene, has_label};
use serde_json::{Value, json};
use taintward_envtest::api::PatchType;
use taintward_envtest::wait;

const NODE: &str = "/api/v1/nodes/n2";
const LABEL: &str = "node-restriction.kubernetes.io/pool.victim";

fn note(name: &str, value: Value) -> String {
    json!({"metadata": {"annotations": {name: value}}}).to_string()
}

pub(crate) async fn a_node_leaves_its_pool_whatever_its_kubelet_writes(scene: &Scene) {
    scene.change("victim", json!({"nodes": {"names": ["n1", "n2"]}})).await;
    until_node(scene, "in the pool", |node| node["metadata"]["labels"][LABEL] == "true").await;
    for (name, value) in [
        ("taintward.io/pool", json!("{}")),
        ("taintward.io/pool", json!(null)),
        ("taintward.io/hold", json!("x")),
    ] {
        for path in [NODE.to_owned(), format!("{NODE}/status")] {
            let told = scene.kubelet.patch(&path, PatchType::Merge, &note(name, value.clone())).await;
            let error = told.expect_err(name).to_string();
            assert!(error.contains("a kubelet may not write the annotations"), "{path}: {error}");
        }
    }
    let registered = json!({"metadata": {"name": "n3", "annotations": {"taintward.io/hold": "x"}}});
    scene.kubelet.create("/api/v1/nodes", &registered).await.expect_err("a node with this annotation");
    scene.kubelet.create("/api/v1/nodes", &json!({"metadata": {"name": "n3"}})).await.unwrap();
    let heartbeat = json!({"metadata": {"annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}},
        "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}});
    for path in [NODE.to_owned(), format!("{NODE}/status")] {
        scene.kubelet.patch(&path, PatchType::Strategic, &heartbeat.to_string()).await.unwrap();
    }
    // Without the policy, as on older servers.
    scene.admin.delete(&format!("{BINDINGS}/taintward-node-annotations"), &json!({})).await.unwrap();
    wait::until("the kubelet to write records", PATIENCE, async || {
        Ok(scene.kubelet.patch(NODE, PatchType::Merge, &note("taintward.io/pool", json!("{}"))).await.ok())
    })
    .await
    .unwrap();
    let forging = async {
        for at in 0.. {
            let records = ["{}".to_owned(), format!("ghost{at}"), format!("ghost label:{LABEL}={at}")];
            let record = json!(records[at % records.len()]);
            // It may conflict with the controller.
            let _ = scene.kubelet.patch(NODE, PatchType::Merge, &note("taintward.io/pool", record)).await;
        }
    };
    let expelled = async {
        scene.change("victim", json!({"nodes": {"names": ["n1"]}})).await;
        until_node(scene, "out of the pool", |node| {
            node["metadata"]["labels"][LABEL].is_null()
                && node["spec"]["taints"].as_array().is_none_or(Vec::is_empty)
        })
        .await;
    };
    tokio::select! {
        () = forging => unreachable!(),
        () = expelled => {}
    }
    wait::until("the status to name the other node alone", PATIENCE, async || {
        let pool = scene.pool("victim").await;
        assert!(has_label(&pool), "{pool}");
        Ok((pool["status"]["nodeNames"] == json!(["n1"])).then_some(()))
    })
    .await
    .unwrap();
}

async fn until_node(scene: &Scene, what: &str, is: impl Fn(&Value) -> bool) {
    wait::until(&format!("node n2 to be {what}"), PATIENCE, async || {
        Ok(is(&scene.admin.get(NODE).await?).then_some(()))
    })
    .await
    .unwrap();
}
