//! Reads from a running control plane the features by which versions differ.

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use taintward_envtest::{Account, Audit, Binaries, Cluster, ClusterConfig, TestApi};

/// The feature gates about taints, evictions and the cost of watches.
pub(crate) const GATES: [&str; 8] = [
    "EvictionRequestAPI",
    "InPlacePodVerticalScaling",
    "MutatingAdmissionPolicy",
    "NodeControllerLeaseCircuitBreaker",
    "NodeLifecycleConditions",
    "SeparateTaintEvictionController",
    "TaintTolerationComparisonOperators",
    "WatchList",
];

/// The resources that some versions lack: the path that lists them, and their names in the list.
pub(crate) const RESOURCES: [(&str, &str); 3] = [
    ("/api/v1", "pods/resize"),
    ("/apis/admissionregistration.k8s.io/v1", "validatingadmissionpolicies"),
    ("/apis/admissionregistration.k8s.io/v1", "mutatingadmissionpolicies"),
];

/// The objects that Taintward reads or writes.
const KINDS: [&str; 11] = [
    "core.v1.NodeSpec",
    "core.v1.NodeStatus",
    "core.v1.PodCondition",
    "core.v1.PodSpec",
    "core.v1.PodStatus",
    "core.v1.Taint",
    "core.v1.Toleration",
    "coordination.v1.LeaseSpec",
    "policy.v1.PodDisruptionBudgetSpec",
    "admissionregistration.v1.MutatingWebhook",
    "admissionregistration.v1.ValidatingAdmissionPolicySpec",
];

/// A streamed list, which an API server without the gate WatchList rejects.
const WATCH_LIST: &str = "/api/v1/nodes?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan\
                          &allowWatchBookmarks=true&timeoutSeconds=1";

/// The answers.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Probes {
    /// The version that the API server reports, such as `v1.30.14`.
    pub(crate) version: String,
    pub(crate) watch_list: bool,
    /// The gates of [`GATES`] that the API server has: `beta, on`.
    pub(crate) gates: BTreeMap<String, String>,
    pub(crate) resources: BTreeSet<String>,
    /// The fields of each of [`KINDS`].
    pub(crate) fields: BTreeMap<String, BTreeSet<String>>,
    /// The controllers that kube-controller-manager has.
    pub(crate) controllers: BTreeSet<String>,
}

pub(crate) async fn request(tools: &Binaries) -> Result<Probes> {
    let options = ClusterConfig { audit: Audit::Off, ..ClusterConfig::default() };
    let cluster = Cluster::start(tools, options).await?;
    let api = cluster.api(Account::Admin).await?;
    let schema = api.get("/openapi/v2").await?;
    let mut resources = BTreeSet::new();
    for (list, name) in RESOURCES {
        let listed = api.get(list).await?;
        let listed = listed["resources"].as_array().into_iter().flatten();
        resources.extend(
            listed.filter_map(|one| one["name"].as_str()).filter(|one| *one == name).map(str::to_owned),
        );
    }
    Ok(Probes {
        version: text(&api.get("/version").await?["gitVersion"])?,
        watch_list: streams_lists(&api).await?,
        gates: gates(&api.text("/metrics").await?),
        resources,
        fields: KINDS.iter().map(|kind| (kind.to_string(), fields(&schema, kind))).collect(),
        controllers: controllers(tools)?,
    })
}

fn text(value: &Value) -> Result<String> {
    Ok(value.as_str().context("the API server reports no version")?.to_owned())
}

async fn streams_lists(api: &TestApi) -> Result<bool> {
    match api.text(WATCH_LIST).await {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.code(), Some(400 | 422)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// From lines such as `kubernetes_feature_enabled{name="WatchList",stage="BETA"} 1`.
fn gates(metrics: &str) -> BTreeMap<String, String> {
    let known = metrics.lines().filter_map(|line| {
        let (name, rest) =
            line.strip_prefix("kubernetes_feature_enabled{name=\"")?.split_once("\",stage=\"")?;
        let (stage, value) = rest.split_once("\"} ")?;
        let stage = if stage.is_empty() { "GA".to_owned() } else { stage.to_lowercase() };
        let state = if value == "1" { "on" } else { "off" };
        GATES.contains(&name).then(|| (name.to_owned(), format!("{stage}, {state}")))
    });
    known.collect()
}

fn fields(schema: &Value, kind: &str) -> BTreeSet<String> {
    let properties = &schema["definitions"][format!("io.k8s.api.{kind}")]["properties"];
    properties.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
}

/// From the help on `--controllers`: `All controllers: a, b, c`.
fn controllers(tools: &Binaries) -> Result<BTreeSet<String>> {
    let output = Command::new(tools.path("kube-controller-manager")?).arg("--help").output()?;
    let help = String::from_utf8_lossy(&output.stdout).into_owned();
    let (_, rest) =
        help.split_once("All controllers: ").context("kube-controller-manager lists no controllers")?;
    let all = rest.split("Disabled-by-default").next().unwrap_or_default();
    Ok(all.split([',', '\n', ' ']).filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_read_from_metrics() {
        let metrics = "# HELP kubernetes_feature_enabled x\n\
                       kubernetes_feature_enabled{name=\"WatchList\",stage=\"BETA\"} 1\n\
                       kubernetes_feature_enabled{name=\"Other\",stage=\"ALPHA\"} 0\n\
                       kubernetes_feature_enabled{name=\"MutatingAdmissionPolicy\",stage=\"\"} 0\n";
        let wanted = [("MutatingAdmissionPolicy", "GA, off"), ("WatchList", "beta, on")];
        assert_eq!(gates(metrics), wanted.map(|(name, state)| (name.to_owned(), state.to_owned())).into());
    }
}
