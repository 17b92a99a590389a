//! Builds the command line of KWOK, which simulates the kubelets of labeled nodes.

use crate::api::{PatchType, TestApi, TestApiError};
use anyhow::Result;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::Command;

const STAGES: &str = include_str!("../../../xtask/kwok/stages.yaml");

/// The label of nodes that KWOK manages. It is a label because KWOK ignores an annotation that is added later.
pub const LABEL: (&str, &str) = ("kwok.x-k8s.io/node", "fake");

/// Manages labeled nodes and their pods, and renews the nodes' leases as kubelets do. `folder` contains its stages;
/// KWOK also looks for its own settings there.
pub(crate) fn command(program: &Path, folder: &Path, kubeconfig: &Path, port: u16) -> Result<Command> {
    let stages = folder.join("kwok-stages.yaml");
    fs::write(&stages, STAGES)?;
    let (key, value) = LABEL;
    let mut command = Command::new(program);
    command
        .env("HOME", folder)
        .env("KWOK_WORKDIR", folder)
        .arg(format!("--config={}", stages.display()))
        .arg(format!("--kubeconfig={}", kubeconfig.display()))
        .arg(format!("--manage-nodes-with-label-selector={key}={value}"))
        .arg("--node-lease-duration-seconds=40")
        .arg(format!("--server-address=127.0.0.1:{port}"));
    Ok(command)
}

/// Hands a node over to KWOK.
pub async fn adopt(api: &TestApi, node: &str) -> Result<(), TestApiError> {
    let (key, value) = LABEL;
    let body = json!({"metadata": {"labels": {key: value}}}).to_string();
    api.patch(&format!("/api/v1/nodes/{node}"), PatchType::Merge, &body).await.map(drop)
}
