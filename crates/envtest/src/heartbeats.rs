//! Simulates the heartbeats of many kubelets: nodes with leases that are renewed, silenced and revived.
//!
//! - Invariant: renewals run on their own thread, so that a blocking test does not delay them; their lateness is
//!   measured.
//! - See `node_history.rs` for a record of the nodes' changes.

mod objects;
mod renewal_schedule;

use crate::api::{PatchType, TestApi, TestApiError};
use anyhow::{Context as _, Result};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Objects created concurrently.
const CREATING: usize = 32;

/// A node to create.
#[derive(Clone, Debug)]
pub struct FakeNode {
    /// Its name.
    pub name: String,
    /// Its zone (`topology.kubernetes.io/zone`).
    pub zone: String,
    /// Container images in its status, which account for the size of a real node's status. Ten are about 3 KB.
    pub images: usize,
}

/// The kubelets of a fleet of nodes.
#[derive(Debug)]
pub struct Heartbeats {
    shared: Arc<HeartbeatState>,
    thread: Option<JoinHandle<Result<()>>>,
}

/// How late the renewals were since the last call. If they were too late, a test proves nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lateness {
    /// The longest interval between two renewals of a node that was not silenced in between.
    pub longest_gap: Duration,
    /// The longest delay of a renewal after its scheduled time.
    pub latest_start: Duration,
    /// Renewals with a response.
    pub renewals: u64,
    /// Requests that failed; each is retried.
    pub failures: u64,
}

#[derive(Debug)]
struct HeartbeatState {
    period: Duration,
    ends: AtomicBool,
    state: Mutex<HeartbeatNodes>,
}

#[derive(Debug)]
struct HeartbeatNodes {
    nodes: Vec<HeartbeatNode>,
    places: HashMap<String, usize>,
    lateness: Lateness,
}

/// One kubelet.
#[derive(Debug)]
struct HeartbeatNode {
    name: String,
    zone: String,
    images: usize,
    alive: bool,
    /// The error of its clock, in seconds.
    skew: i64,
    /// How often it was silenced or revived: a renewal in flight during such a change says nothing about gaps.
    turns: u64,
    /// When the server last confirmed a renewal of its lease.
    renewed: Option<Instant>,
}

impl Heartbeats {
    /// Creates the nodes, Ready, with their leases, and renews each lease every `period` from then on.
    pub async fn start(kubeconfig: &Path, plans: Vec<FakeNode>, period: Duration) -> Result<Self> {
        let api = TestApi::from_kubeconfig(kubeconfig).await?;
        let places = plans.iter().enumerate().map(|(place, plan)| (plan.name.clone(), place)).collect();
        let nodes = plans.into_iter().map(HeartbeatNode::from).collect();
        let state = HeartbeatNodes { nodes, places, lateness: Lateness::default() };
        let shared =
            Arc::new(HeartbeatState { period, ends: AtomicBool::new(false), state: Mutex::new(state) });
        // Renewals begin before the last node exists, because creating a big fleet takes longer than a grace period.
        let thread = renewal_schedule::spawn(&shared, kubeconfig)?;
        let heartbeats = Self { shared, thread: Some(thread) };
        let names = heartbeats.all();
        let all = stream::iter(&names).map(|name| heartbeats.create(&api, name));
        all.buffer_unordered(CREATING).try_for_each(async |()| Ok(())).await?;
        Ok(heartbeats)
    }

    /// Creates a node of this fleet, or recreates a deleted one: Ready, with its lease, and alive from then on.
    pub async fn create(&self, api: &TestApi, name: &str) -> Result<()> {
        let (zone, images, skew) = {
            let state = self.state();
            let node = state.find_node(name)?;
            (node.zone.clone(), node.images, node.skew)
        };
        let node = api.create("/api/v1/nodes", &objects::registered_node(name, &zone, images)).await?;
        let uid = node.pointer("/metadata/uid").and_then(Value::as_str).context("a node without UID")?;
        let lease = objects::lease(name, uid, skew);
        match api.create(objects::LEASES, &lease).await {
            Err(TestApiError::Rejected { code: 409, .. }) => {
                // The lease of a deleted predecessor, because no garbage collector runs here.
                let body = json!({"metadata": lease["metadata"], "spec": lease["spec"]}).to_string();
                api.patch(&objects::lease_path(name), PatchType::Merge, &body).await?;
            }
            response => drop(response?),
        }
        self.turn(name, true)
    }

    /// The names of all nodes.
    pub fn all(&self) -> Vec<String> {
        self.state().nodes.iter().map(|node| node.name.clone()).collect()
    }

    /// The planned nodes of a zone.
    pub fn zone(&self, zone: &str) -> Vec<String> {
        let state = self.state();
        state.nodes.iter().filter(|node| node.zone == zone).map(|node| node.name.clone()).collect()
    }

    /// The nodes that renew their leases.
    pub fn alive(&self) -> Vec<String> {
        let state = self.state();
        state.nodes.iter().filter(|node| node.alive).map(|node| node.name.clone()).collect()
    }

    /// Stops renewals. One in flight may still arrive.
    pub fn silence<N: AsRef<str>>(&self, names: impl IntoIterator<Item = N>) -> Result<()> {
        names.into_iter().try_for_each(|name| self.turn(name.as_ref(), false))
    }

    /// Restarts nodes as a kubelet does: the lease is renewed and the status says Ready.
    pub async fn revive<N: AsRef<str>>(
        &self,
        api: &TestApi,
        names: impl IntoIterator<Item = N>,
    ) -> Result<(), anyhow::Error> {
        let names: Vec<String> = names.into_iter().map(|name| name.as_ref().to_owned()).collect();
        let all = stream::iter(&names).map(async |name| {
            self.renew(api, name).await?;
            set_conditions(api, name, &objects::HEALTHY).await?;
            self.turn(name, true)
        });
        all.buffer_unordered(CREATING).try_for_each(async |()| Ok(())).await
    }

    /// Renews the lease once, without a new status.
    pub async fn renew(&self, api: &TestApi, name: &str) -> Result<()> {
        let skew = self.state().find_node(name)?.skew;
        Ok(api.patch_text(&objects::lease_path(name), &objects::renewal(skew)).await?)
    }

    /// Resumes renewals without a new status, as after a network failure or a pause.
    pub fn resume<N: AsRef<str>>(&self, names: impl IntoIterator<Item = N>) -> Result<()> {
        names.into_iter().try_for_each(|name| self.turn(name.as_ref(), true))
    }

    /// Sets the error of the node's clock, in seconds.
    pub fn set_clock(&self, name: &str, skew: i64) -> Result<()> {
        let mut state = self.state();
        state.node_mut(name)?.skew = skew;
        Ok(())
    }

    /// The lateness since the last call, including nodes that are late right now.
    pub fn lateness(&self) -> Lateness {
        let mut lateness = std::mem::take(&mut self.state().lateness);
        lateness.longest_gap = lateness.longest_gap.max(self.longest_wait());
        lateness
    }

    /// The longest time since the last renewal among live nodes.
    pub fn longest_wait(&self) -> Duration {
        let state = self.state();
        let renewed = state.nodes.iter().filter(|node| node.alive).filter_map(|node| node.renewed);
        renewed.map(|renewed| renewed.elapsed()).max().unwrap_or_default()
    }

    /// Fails if the renewals of a live node were missing for this long, which is an error of the test machine.
    pub fn expect_punctual(&self, within: Duration) -> Result<Lateness> {
        let lateness = self.lateness();
        anyhow::ensure!(
            lateness.longest_gap < within,
            "generator late: a node was to renew every {:?}, and once took {:?} ({lateness:?}); \
             this run says nothing about the controller",
            self.shared.period,
            lateness.longest_gap,
        );
        Ok(lateness)
    }

    /// The time since the server last confirmed a renewal of this node.
    pub fn silent_for(&self, name: &str) -> Result<Duration> {
        let state = self.state();
        let renewed = state.find_node(name)?.renewed.with_context(|| format!("{name} never renewed"))?;
        Ok(renewed.elapsed())
    }

    fn turn(&self, name: &str, alive: bool) -> Result<()> {
        let mut state = self.state();
        let node = state.node_mut(name)?;
        (node.alive, node.turns) = (alive, node.turns + 1);
        if alive {
            node.renewed = Some(Instant::now());
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, HeartbeatNodes> {
        self.shared.state()
    }
}

impl Drop for Heartbeats {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl HeartbeatState {
    fn state(&self) -> MutexGuard<'_, HeartbeatNodes> {
        // A panic leaves the state consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeartbeatNodes {
    fn find_node(&self, name: &str) -> Result<&HeartbeatNode> {
        let place = self.places.get(name).with_context(|| format!("no node {name} in this fleet"))?;
        Ok(&self.nodes[*place])
    }

    fn node_mut(&mut self, name: &str) -> Result<&mut HeartbeatNode> {
        let place = self.places.get(name).with_context(|| format!("no node {name} in this fleet"))?;
        Ok(&mut self.nodes[*place])
    }
}

impl From<FakeNode> for HeartbeatNode {
    fn from(plan: FakeNode) -> Self {
        let FakeNode { name, zone, images } = plan;
        Self { name, zone, images, alive: false, skew: 0, turns: 0, renewed: None }
    }
}

/// `count` nodes distributed over `zones` in turn: `node-00000` in `zone-0` and so on.
pub fn plans(count: usize, zones: usize, images: usize) -> Vec<FakeNode> {
    let plan = |number: usize| FakeNode {
        name: format!("node-{number:05}"),
        zone: format!("zone-{}", number % zones),
        images,
    };
    (0..count).map(plan).collect()
}

/// Writes conditions, each (type, status), as the kubelet does, with the current heartbeat time.
pub async fn set_conditions(api: &TestApi, node: &str, conditions: &[(&str, &str)]) -> Result<()> {
    let path = format!("/api/v1/nodes/{node}/status");
    let body = json!({"status": {"conditions": objects::conditions(conditions)}}).to_string();
    Ok(api.patch(&path, PatchType::Strategic, &body).await.map(drop)?)
}

/// Does what `kubectl cordon` and `uncordon` do.
pub async fn cordon(api: &TestApi, node: &str, unschedulable: bool) -> Result<()> {
    let body = json!({"spec": {"unschedulable": unschedulable.then_some(true)}}).to_string();
    Ok(api.patch(&format!("/api/v1/nodes/{node}"), PatchType::Strategic, &body).await.map(drop)?)
}

/// Sets or, with `None`, removes a label of a node.
pub async fn label(api: &TestApi, node: &str, key: &str, value: Option<&str>) -> Result<()> {
    let body = json!({"metadata": {"labels": {key: value}}}).to_string();
    Ok(api.patch(&format!("/api/v1/nodes/{node}"), PatchType::Merge, &body).await.map(drop)?)
}
