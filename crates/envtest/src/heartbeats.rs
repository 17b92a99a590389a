//! Simulates the heartbeats of many kubelets: nodes with leases that are renewed, silenced and revived.
//!
//! - Invariant: renewals run on their own thread, so that a blocking test does not delay them; their lateness is
//!   measured.
//! - See `node_history.rs` for what becomes of the nodes.

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

/// Objects created at the same time.
const CREATING: usize = 32;

/// A node to be.
#[derive(Clone, Debug)]
pub struct FakeNode {
    /// Its name.
    pub name: String,
    /// Its zone (`topology.kubernetes.io/zone`).
    pub zone: String,
    /// Container images its status lists: what makes a real node's status big. Ten are about 3 KB.
    pub images: usize,
}

/// Kubelets of a fleet of nodes.
#[derive(Debug)]
pub struct Heartbeats {
    shared: Arc<HeartbeatState>,
    thread: Option<JoinHandle<Result<()>>>,
}

/// How late the renewals were since the last look. A test in which they were too late can say nothing about others.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lateness {
    /// The longest between two renewals of one node that was never silenced in between.
    pub longest_gap: Duration,
    /// The longest a renewal was sent after its turn.
    pub latest_start: Duration,
    /// Renewals that the server answered.
    pub renewals: u64,
    /// Requests that failed; each is tried again.
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
    /// What its clock is wrong by, in seconds.
    skew: i64,
    /// How often it was silenced or revived: a renewal under way across such a change says nothing about gaps.
    turns: u64,
    /// When the server last answered a renewal of its lease.
    renewed: Option<Instant>,
}

impl Heartbeats {
    /// Creates the nodes, Ready, and their leases; renews each every `period` from then on.
    pub async fn start(kubeconfig: &Path, plans: Vec<FakeNode>, period: Duration) -> Result<Self> {
        let api = TestApi::from_kubeconfig(kubeconfig).await?;
        let places = plans.iter().enumerate().map(|(place, plan)| (plan.name.clone(), place)).collect();
        let nodes = plans.into_iter().map(HeartbeatNode::from).collect();
        let state = HeartbeatNodes { nodes, places, lateness: Lateness::default() };
        let shared =
            Arc::new(HeartbeatState { period, ends: AtomicBool::new(false), state: Mutex::new(state) });
        // Renewals begin before the last node is there: a big fleet takes longer to create than a grace period lasts.
        let thread = renewal_schedule::spawn(&shared, kubeconfig)?;
        let heartbeats = Self { shared, thread: Some(thread) };
        let names = heartbeats.all();
        let all = stream::iter(&names).map(|name| heartbeats.create(&api, name));
        all.buffer_unordered(CREATING).try_for_each(async |()| Ok(())).await?;
        Ok(heartbeats)
    }

    /// Creates a node of this fleet, again if it was deleted: Ready, with its lease, and alive from then on.
    pub async fn create(&self, api: &TestApi, name: &str) -> Result<()> {
        let (zone, images, skew) = {
            let state = self.state();
            let node = state.node(name)?;
            (node.zone.clone(), node.images, node.skew)
        };
        let node = api.create("/api/v1/nodes", &objects::node(name, &zone, images)).await?;
        let uid = node.pointer("/metadata/uid").and_then(Value::as_str).context("a node without UID")?;
        let lease = objects::lease(name, uid, skew);
        match api.create(objects::LEASES, &lease).await {
            Err(TestApiError::Refused { code: 409, .. }) => {
                // The predecessor's; nobody collects garbage here.
                let body = json!({"metadata": lease["metadata"], "spec": lease["spec"]}).to_string();
                api.patch(&objects::lease_path(name), PatchType::Merge, &body).await?;
            }
            answer => drop(answer?),
        }
        self.turn(name, true)
    }

    /// The names of all nodes.
    pub fn all(&self) -> Vec<String> {
        self.state().nodes.iter().map(|node| node.name.clone()).collect()
    }

    /// The names of a zone's nodes, as planned.
    pub fn zone(&self, zone: &str) -> Vec<String> {
        let state = self.state();
        state.nodes.iter().filter(|node| node.zone == zone).map(|node| node.name.clone()).collect()
    }

    /// Those that renew their leases.
    pub fn alive(&self) -> Vec<String> {
        let state = self.state();
        state.nodes.iter().filter(|node| node.alive).map(|node| node.name.clone()).collect()
    }

    /// They renew no more. A renewal that is under way may still arrive.
    pub fn silence<N: AsRef<str>>(&self, names: impl IntoIterator<Item = N>) -> Result<()> {
        names.into_iter().try_for_each(|name| self.turn(name.as_ref(), false))
    }

    /// They are back, as a kubelet is: the lease is renewed and the status says Ready.
    pub async fn revive<N: AsRef<str>>(
        &self,
        api: &TestApi,
        names: impl IntoIterator<Item = N>,
    ) -> Result<(), anyhow::Error> {
        let names: Vec<String> = names.into_iter().map(|name| name.as_ref().to_owned()).collect();
        let all = stream::iter(&names).map(async |name| {
            self.renew(api, name).await?;
            say(api, name, &objects::HEALTHY).await?;
            self.turn(name, true)
        });
        all.buffer_unordered(CREATING).try_for_each(async |()| Ok(())).await
    }

    /// It is heard of again, and says nothing new about itself.
    pub async fn renew(&self, api: &TestApi, name: &str) -> Result<()> {
        let skew = self.state().node(name)?.skew;
        Ok(api.patch_text(&objects::lease_path(name), &objects::renewal(skew)).await?)
    }

    /// Renews again, without a word about its status: it had been cut off, or paused.
    pub fn resume<N: AsRef<str>>(&self, names: impl IntoIterator<Item = N>) -> Result<()> {
        names.into_iter().try_for_each(|name| self.turn(name.as_ref(), true))
    }

    /// From now on the node's clock is wrong by so many seconds.
    pub fn set_clock(&self, name: &str, skew: i64) -> Result<()> {
        let mut state = self.state();
        state.node_mut(name)?.skew = skew;
        Ok(())
    }

    /// How late we were since the last look, those included that are late right now.
    pub fn lateness(&self) -> Lateness {
        let mut lateness = std::mem::take(&mut self.state().lateness);
        lateness.longest_gap = lateness.longest_gap.max(self.longest_wait());
        lateness
    }

    /// For how long the live node that waits longest has not renewed.
    pub fn longest_wait(&self) -> Duration {
        let state = self.state();
        let renewed = state.nodes.iter().filter(|node| node.alive).filter_map(|node| node.renewed);
        renewed.map(|renewed| renewed.elapsed()).max().unwrap_or_default()
    }

    /// Fails, in words that blame nobody else, if a live node was not heard of for this long.
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

    /// How long ago the server last answered a renewal of this node's.
    pub fn silent_for(&self, name: &str) -> Result<Duration> {
        let state = self.state();
        let renewed = state.node(name)?.renewed.with_context(|| format!("{name} never renewed"))?;
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
        // Nothing in here is left half done by a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeartbeatNodes {
    fn node(&self, name: &str) -> Result<&HeartbeatNode> {
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

/// `count` nodes spread over `zones` in turn: `node-00000` in `zone-0` and so on.
pub fn plans(count: usize, zones: usize, images: usize) -> Vec<FakeNode> {
    let plan = |number: usize| FakeNode {
        name: format!("node-{number:05}"),
        zone: format!("zone-{}", number % zones),
        images,
    };
    (0..count).map(plan).collect()
}

/// The kubelet posts conditions, (type, status) each, heard of now.
pub async fn say(api: &TestApi, node: &str, conditions: &[(&str, &str)]) -> Result<()> {
    let path = format!("/api/v1/nodes/{node}/status");
    let body = json!({"status": {"conditions": objects::conditions(conditions)}}).to_string();
    Ok(api.patch(&path, PatchType::Strategic, &body).await.map(drop)?)
}

/// What `kubectl cordon` and `uncordon` do.
pub async fn cordon(api: &TestApi, node: &str, unschedulable: bool) -> Result<()> {
    let body = json!({"spec": {"unschedulable": unschedulable.then_some(true)}}).to_string();
    Ok(api.patch(&format!("/api/v1/nodes/{node}"), PatchType::Strategic, &body).await.map(drop)?)
}

/// Sets or, with `None`, removes a label of a node.
pub async fn label(api: &TestApi, node: &str, key: &str, value: Option<&str>) -> Result<()> {
    let body = json!({"metadata": {"labels": {key: value}}}).to_string();
    Ok(api.patch(&format!("/api/v1/nodes/{node}"), PatchType::Merge, &body).await.map(drop)?)
}
