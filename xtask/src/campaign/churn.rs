//! Changes taints, pods and tolerations all the time, through an API server that no fault concerns.
//!
//! - Each change has a number (`history.rs`), and demands the version that it is based on: a change that arrives late is rejected.

use super::history::CHANGE;
use super::timeline::CampaignTimeline;
use anyhow::Result;
use fastrand::Rng;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use taintward_envtest::api::PatchType;
use taintward_envtest::{TestApi, TestApiError, kwok};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

pub(crate) const NODES: usize = 50;
const PODS: usize = 500;
/// The pods whose budget a policy respects: one in five.
pub(crate) const GUARDED: (&str, &str) = ("app", "guarded");

const KEYS: [&str; 3] = ["campaign.example.com/a", "campaign.example.com/b", "campaign.example.com/c"];
const FLAPPING: &str = "campaign.example.com/flap";
/// The nodes that flap.
const FLAPPING_NODES: usize = 6;

/// Between two changes.
const PAUSE: Duration = Duration::from_millis(50);
/// A request to a paused store does not end.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

const POD_PATH: &str = "/api/v1/namespaces/default/pods";

/// What changes now.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ChurnMode {
    pub(crate) runs: bool,
    pub(crate) flaps: bool,
    pub(crate) replaces: bool,
}

/// Who changes everything.
pub(crate) struct Churn {
    api: TestApi,
    timeline: Arc<CampaignTimeline>,
    modes: watch::Receiver<ChurnMode>,
    rng: Rng,
    created: u64,
    /// The names of the pods that a user deletes.
    deleted: Arc<Mutex<BTreeSet<String>>>,
}

pub(crate) fn node_name(index: usize) -> String {
    format!("node-{index:02}")
}

impl Churn {
    pub(crate) fn new(
        api: TestApi,
        timeline: Arc<CampaignTimeline>,
        modes: watch::Receiver<ChurnMode>,
        seed: u64,
    ) -> Self {
        Self { api, timeline, modes, rng: Rng::with_seed(seed), created: 0, deleted: Arc::default() }
    }

    /// The names of the pods that were deleted by it, also later.
    pub(crate) fn deleted(&self) -> Arc<Mutex<BTreeSet<String>>> {
        Arc::clone(&self.deleted)
    }

    /// Creates nodes and pods.
    pub(crate) async fn furnish(&mut self) -> Result<()> {
        for index in 0..NODES {
            self.create_node(&node_name(index), &[]).await?;
        }
        for _ in 0..PODS {
            self.create_pod().await?;
        }
        Ok(())
    }

    /// Changes something from time to time, as long as it is wanted. Faults of the store make requests fail: others follow.
    pub(crate) async fn run(mut self) {
        loop {
            let mode = *self.modes.borrow_and_update();
            if !mode.runs {
                if self.modes.changed().await.is_err() {
                    return;
                }
                continue;
            }
            let _ = timeout(REQUEST_TIMEOUT, self.step(mode)).await;
            sleep(PAUSE).await;
        }
    }

    async fn step(&mut self, mode: ChurnMode) -> Result<()> {
        if mode.flaps {
            for index in 0..FLAPPING_NODES {
                self.flap(&node_name(index)).await?;
            }
        }
        if mode.replaces && self.rng.u32(..100) < 12 {
            return self.replace_node().await;
        }
        let live =
            self.timeline.with(|history| history.pods().values().filter(|pod| pod.gone.is_none()).count());
        for _ in live..PODS.min(live + 3) {
            self.create_pod().await?;
        }
        match self.rng.u32(..100) {
            0..45 => self.change_taints().await,
            45..85 => self.change_pod().await,
            85..92 => self.delete_pod().await,
            92..94 => self.replace_node().await,
            _ => Ok(()),
        }
    }

    fn any_node(&mut self) -> String {
        node_name(self.rng.usize(..NODES))
    }

    async fn create_node(&mut self, name: &str, taints: &[Value]) -> Result<()> {
        let mut node = testkit::node(name);
        let annotations = json!({CHANGE: self.timeline.send()});
        node["metadata"]["annotations"] = annotations;
        node["metadata"]["labels"] = json!({(kwok::LABEL.0): kwok::LABEL.1});
        node["spec"]["taints"] = taints.into();
        Ok(self.api.create("/api/v1/nodes", &node).await.map(drop)?)
    }

    async fn create_pod(&mut self) -> Result<()> {
        self.created += 1;
        let tolerations: Vec<Value> = KEYS.iter().filter_map(|key| self.toleration(key)).collect();
        let grace = if self.rng.bool() { 0 } else { 30 };
        let mut labels = json!({});
        if self.rng.u32(..5) == 0 {
            labels[GUARDED.0] = GUARDED.1.into();
        }
        let (name, node) = (format!("pod-{:06}", self.created), self.any_node());
        let pod = json!({
            "metadata": {"name": name, "labels": labels, "annotations": {CHANGE: self.timeline.send()}},
            "spec": {"nodeName": node, "tolerations": tolerations, "terminationGracePeriodSeconds": grace,
                "containers": [{"name": "main", "image": "registry.invalid/main"}]},
        });
        Ok(self.api.create(POD_PATH, &pod).await.map(drop)?)
    }

    /// A toleration of a key, or none.
    fn toleration(&mut self, key: &str) -> Option<Value> {
        let mut toleration = json!({"key": key, "operator": "Exists", "effect": "NoExecute"});
        match self.rng.u32(..10) {
            0 => return None,
            1 | 2 => {}
            _ => toleration["tolerationSeconds"] = self.seconds().into(),
        }
        Some(toleration)
    }

    /// Most countdowns end within an episode.
    fn seconds(&mut self) -> u32 {
        match self.rng.u32(..8) {
            0 => self.rng.u32(15..60),
            _ => self.rng.u32(1..9),
        }
    }

    /// Adds a taint, or removes one or all.
    async fn change_taints(&mut self) -> Result<()> {
        let (name, key) = (self.any_node(), KEYS[self.rng.usize(..KEYS.len())]);
        let (draw, with_time) = (self.rng.u32(..10), self.rng.bool());
        self.edit_taints(&name, |taints| {
            let is_there = taints.iter().any(|taint| taint["key"] == key);
            match draw {
                _ if !is_there && draw < 7 => taints.push(taint(key, with_time)),
                0..8 => taints.retain(|taint| taint["key"] != key),
                _ => taints.clear(),
            }
        })
        .await
    }

    async fn flap(&mut self, name: &str) -> Result<()> {
        self.edit_taints(name, |taints| {
            let before = taints.len();
            taints.retain(|taint| taint["key"] != FLAPPING);
            if taints.len() == before {
                taints.push(taint(FLAPPING, false));
            }
        })
        .await
    }

    async fn edit_taints(&mut self, name: &str, edit: impl FnOnce(&mut Vec<Value>)) -> Result<()> {
        let path = format!("/api/v1/nodes/{name}");
        let node = self.api.get(&path).await?;
        let mut taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
        edit(&mut taints);
        let metadata = json!({
            "resourceVersion": node["metadata"]["resourceVersion"], "annotations": {CHANGE: self.timeline.send()},
        });
        let body = json!({"metadata": metadata, "spec": {"taints": taints}}).to_string();
        let path = format!("{path}?fieldManager=kubectl-taint");
        unless_conflict(self.api.patch(&path, PatchType::Strategic, &body).await)
    }

    /// Changes the seconds of a toleration: the only change, besides further tolerations, that an API server allows.
    async fn change_pod(&mut self) -> Result<()> {
        let Some(name) = self.any_pod() else { return Ok(()) };
        let path = format!("{POD_PATH}/{name}");
        let Some(pod) = self.api.find(&path).await? else { return Ok(()) };
        let tolerations = pod["spec"]["tolerations"].as_array().cloned().unwrap_or_default();
        let limited = |toleration: &Value| toleration["tolerationSeconds"].is_u64() && is_own(toleration);
        let places: Vec<usize> =
            (0..tolerations.len()).filter(|place| limited(&tolerations[*place])).collect();
        if places.is_empty() {
            return Ok(());
        }
        let (place, seconds) = (places[self.rng.usize(..places.len())], self.seconds());
        let edit = json!([
            {"op": "test", "path": "/metadata/resourceVersion", "value": pod["metadata"]["resourceVersion"]},
            {"op": "replace", "path": format!("/spec/tolerations/{place}/tolerationSeconds"), "value": seconds},
        ]);
        unless_conflict(self.api.patch(&path, PatchType::Json, &edit.to_string()).await)
    }

    async fn delete_pod(&mut self) -> Result<()> {
        let Some(name) = self.any_pod() else { return Ok(()) };
        self.deleted.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone());
        unless_conflict(self.api.delete(&format!("{POD_PATH}/{name}"), &json!({})).await)
    }

    /// A node is deleted, and another one of this name created, perhaps with a taint.
    async fn replace_node(&mut self) -> Result<()> {
        let (name, key) = (self.any_node(), KEYS[self.rng.usize(..KEYS.len())]);
        unless_conflict(self.api.delete(&format!("/api/v1/nodes/{name}"), &json!({})).await)?;
        let taints = if self.rng.bool() { vec![taint(key, self.rng.bool())] } else { Vec::new() };
        self.create_node(&name, &taints).await
    }

    fn any_pod(&mut self) -> Option<String> {
        let names: Vec<String> = self.timeline.with(|history| {
            let live = history.pods().values().filter(|pod| pod.gone.is_none());
            live.map(|pod| pod.name.clone()).collect()
        });
        (!names.is_empty()).then(|| names[self.rng.usize(..names.len())].clone())
    }
}

fn taint(key: &str, with_time: bool) -> Value {
    let mut taint = json!({"key": key, "effect": "NoExecute"});
    if with_time {
        // As Kubernetes writes it, in whole seconds.
        taint["timeAdded"] = format!("{:.0}", Timestamp::now()).into();
    }
    taint
}

fn is_own(toleration: &Value) -> bool {
    KEYS.iter().any(|key| toleration["key"] == *key)
}

/// An object that was changed or deleted meanwhile is left alone.
fn unless_conflict(result: Result<Value, TestApiError>) -> Result<()> {
    match result {
        Err(error) if !matches!(error.code(), Some(404 | 409 | 422)) => Err(error.into()),
        _ => Ok(()),
    }
}
