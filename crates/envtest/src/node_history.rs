//! Records with a watch every change of taints and conditions of all nodes, in order.
//!
//! - Invariant: the watch runs on its own thread, so that a blocking test does not distort times; missed changes are
//!   recorded as a gap.
//! - See `audit.rs` for which account wrote a change.

mod node_view;

pub use node_view::{NO_EXECUTE, NodeView, TaintView, is_own};

use crate::api::TestApi;
use anyhow::{Result, bail, ensure};
use futures::stream::StreamExt as _;
use jiff::Timestamp;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long it may take to notice the end, and the pause before an ended watch is reopened.
const NAP: Duration = Duration::from_millis(50);

/// A change of one node.
#[derive(Clone, Debug)]
pub struct NodeChangeRecord {
    /// When the event arrived.
    pub at: Timestamp,
    /// Its name.
    pub node: String,
    /// Its state since then; `None` if it is gone.
    pub sight: Option<NodeView>,
}

/// A watch of all nodes, kept until dropped.
#[derive(Debug)]
pub struct NodeHistory {
    shared: Arc<SharedHistory>,
    thread: Option<JoinHandle<Result<()>>>,
}

#[derive(Debug, Default)]
struct SharedHistory {
    ends: AtomicBool,
    state: Mutex<HistoryState>,
}

#[derive(Debug, Default)]
struct HistoryState {
    first: BTreeMap<String, NodeView>,
    now: BTreeMap<String, NodeView>,
    changes: Vec<NodeChangeRecord>,
    hole: Option<String>,
}

/// A position in the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HistoryPosition(usize);

impl NodeHistory {
    /// Reads all nodes and follows them from then on.
    pub async fn start(kubeconfig: &Path) -> Result<Self> {
        let shared = Arc::new(SharedHistory::default());
        let api = TestApi::from_kubeconfig(kubeconfig).await?;
        let version = shared.list(&api).await?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (followed, kubeconfig) = (Arc::clone(&shared), kubeconfig.to_owned());
        let body = async move {
            let api = TestApi::from_kubeconfig(&kubeconfig).await?;
            follow(&followed, &api, version).await;
            Ok(())
        };
        let thread = thread::Builder::new().name("record".into()).spawn(move || runtime.block_on(body))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// The current end of the record.
    pub fn mark(&self) -> HistoryPosition {
        HistoryPosition(self.shared.state().changes.len())
    }

    /// The changes since a position.
    pub fn since(&self, mark: HistoryPosition) -> Vec<NodeChangeRecord> {
        self.shared.state().changes[mark.0..].to_vec()
    }

    /// The state of a node at a position; `None` if it did not exist.
    pub fn before(&self, mark: HistoryPosition, node: &str) -> Option<NodeView> {
        let state = self.shared.state();
        let last = state.changes[..mark.0].iter().rev().find(|change| change.node == node);
        last.map_or_else(|| state.first.get(node).cloned(), |change| change.sight.clone())
    }

    /// The present state of a node; `None` if it does not exist.
    pub fn sight(&self, node: &str) -> Option<NodeView> {
        self.shared.state().now.get(node).cloned()
    }

    /// The names of the nodes that are in such a state now.
    pub fn those(&self, fits: impl Fn(&NodeView) -> bool) -> BTreeSet<String> {
        let state = self.shared.state();
        state.now.iter().filter(|(_, sight)| fits(sight)).map(|(name, _)| name.clone()).collect()
    }

    /// Fails if a change may have been missed.
    pub fn expect_whole(&self) -> Result<()> {
        let hole = self.shared.state().hole.clone();
        ensure!(hole.is_none(), "the record of nodes has a hole: {}", hole.unwrap_or_default());
        Ok(())
    }
}

impl Drop for NodeHistory {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl SharedHistory {
    fn state(&self) -> MutexGuard<'_, HistoryState> {
        // A panic leaves the state consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn list(&self, api: &TestApi) -> Result<String> {
        let list = api.get("/api/v1/nodes").await?;
        for node in list["items"].as_array().into_iter().flatten() {
            self.state().see(node);
        }
        let mut state = self.state();
        state.changes.clear();
        state.first = state.now.clone();
        version(&list)
    }
}

fn version(object: &Value) -> Result<String> {
    match object.pointer("/metadata/resourceVersion").and_then(Value::as_str) {
        Some(version) => Ok(version.to_owned()),
        None => bail!("no resourceVersion in {object}"),
    }
}

async fn follow(shared: &SharedHistory, api: &TestApi, mut from: String) {
    while !shared.ends.load(Ordering::Relaxed) {
        // Why a watch ended does not matter, because the next one continues from the same version.
        let _ = watch(shared, api, &mut from).await;
        tokio::time::sleep(NAP).await;
    }
}

async fn watch(shared: &SharedHistory, api: &TestApi, from: &mut String) -> Result<()> {
    let path = format!("/api/v1/nodes?watch=true&allowWatchBookmarks=true&resourceVersion={from}");
    let mut lines = api.watch(&path).await?;
    while !shared.ends.load(Ordering::Relaxed) {
        let Ok(line) = tokio::time::timeout(NAP, lines.next()).await else { continue };
        let Some(line) = line else { return Ok(()) };
        let event: Value = serde_json::from_str(&line?)?;
        let (kind, object) = (event["type"].as_str().unwrap_or_default(), &event["object"]);
        match kind {
            "ADDED" | "MODIFIED" => shared.state().see(object),
            "DELETED" => shared.state().lose(object),
            "BOOKMARK" => {}
            _ => {
                shared.state().hole = Some(event.to_string());
                bail!("the watch cannot continue");
            }
        }
        *from = version(object)?;
    }
    Ok(())
}

impl HistoryState {
    fn see(&mut self, object: &Value) {
        let Some(name) = object.pointer("/metadata/name").and_then(Value::as_str) else { return };
        let sight = NodeView::of(object);
        if self.now.get(name) == Some(&sight) {
            return;
        }
        self.now.insert(name.into(), sight.clone());
        self.changes.push(NodeChangeRecord { at: Timestamp::now(), node: name.into(), sight: Some(sight) });
    }

    fn lose(&mut self, object: &Value) {
        let Some(name) = object.pointer("/metadata/name").and_then(Value::as_str) else { return };
        self.now.remove(name);
        self.changes.push(NodeChangeRecord { at: Timestamp::now(), node: name.into(), sight: None });
    }
}
