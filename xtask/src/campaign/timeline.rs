//! Follows all nodes and pods through an API server that no fault concerns, and keeps what it sees in the history.

use super::history::CampaignHistory;
use anyhow::{Context as _, Result, bail};
use futures::stream::StreamExt as _;
use jiff::Timestamp;
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use taintward_envtest::TestApi;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// Before a watch or a list is tried again.
const PAUSE: Duration = Duration::from_millis(50);
/// A list of a paused store does not end.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);

/// A restored control plane is ready before.
const RELIST_TIMEOUT: Duration = Duration::from_secs(30);

/// The history, its clock, and the wish to list again.
#[derive(Debug)]
pub(crate) struct CampaignTimeline {
    begin: Timestamp,
    history: Mutex<CampaignHistory>,
    relists: watch::Sender<u64>,
    /// Lists that are complete.
    lists: watch::Sender<u64>,
}

#[derive(Clone, Copy)]
enum FollowedKind {
    Nodes,
    Pods,
}

impl CampaignTimeline {
    pub(crate) fn new() -> Arc<Self> {
        let ((relists, _), (lists, _)) = (watch::channel(0), watch::channel(0));
        Arc::new(Self { begin: Timestamp::now(), history: Mutex::default(), relists, lists })
    }

    /// Seconds since the begin.
    pub(crate) fn seconds(&self, at: Timestamp) -> f64 {
        at.duration_since(self.begin).as_secs_f64()
    }

    pub(crate) fn now(&self) -> f64 {
        self.seconds(Timestamp::now())
    }

    pub(crate) fn with<T>(&self, read: impl FnOnce(&mut CampaignHistory) -> T) -> T {
        read(&mut self.history.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The number of a change that is sent now.
    pub(crate) fn send(&self) -> String {
        let now = self.now();
        self.with(|history| history.send(now)).to_string()
    }

    /// The store was restored: versions from before mean something else now. Returns when both kinds are listed again.
    pub(crate) async fn list_again(&self) -> Result<()> {
        self.relists.send_modify(|relists| *relists += 1);
        let mut lists = self.lists.subscribe();
        let enough = *lists.borrow() + 2;
        timeout(RELIST_TIMEOUT, lists.wait_for(|lists| *lists >= enough))
            .await
            .context("listing again")??;
        Ok(())
    }

    /// Follows both kinds until the set is dropped.
    pub(crate) fn follow(self: &Arc<Self>, api: &TestApi) -> JoinSet<()> {
        let mut followers = JoinSet::new();
        for kind in [FollowedKind::Nodes, FollowedKind::Pods] {
            let (timeline, api) = (Arc::clone(self), api.clone());
            followers.spawn(async move { timeline.follow_kind(&api, kind).await });
        }
        followers
    }

    async fn follow_kind(&self, api: &TestApi, kind: FollowedKind) {
        let mut relists = self.relists.subscribe();
        loop {
            relists.borrow_and_update();
            tokio::select! {
                _ = relists.changed() => {}
                // A list follows, whatever the reason is.
                _ = self.list_and_watch(api, kind) => sleep(PAUSE).await,
            }
        }
    }

    async fn list_and_watch(&self, api: &TestApi, kind: FollowedKind) -> Result<()> {
        let list = timeout(LIST_TIMEOUT, api.get(kind.path())).await??;
        let (items, at) = (list["items"].as_array().context("a list without items")?, self.now());
        self.with(|history| match kind {
            FollowedKind::Nodes => history.list_nodes(items, at),
            FollowedKind::Pods => history.list_pods(items, at),
        });
        self.lists.send_modify(|lists| *lists += 1);
        let mut from = version(&list)?;
        loop {
            let path = format!("{}?watch=true&allowWatchBookmarks=true&resourceVersion={from}", kind.path());
            if let Ok(mut lines) = api.watch(&path).await {
                while let Some(Ok(line)) = lines.next().await {
                    let event: Value = serde_json::from_str(&line)?;
                    self.apply(kind, &event)?;
                    from = version(&event["object"])?;
                }
            }
            sleep(PAUSE).await;
        }
    }

    fn apply(&self, kind: FollowedKind, event: &Value) -> Result<()> {
        let (object, at) = (&event["object"], self.now());
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        self.with(|history| {
            match (event["type"].as_str().unwrap_or_default(), kind) {
                ("ADDED" | "MODIFIED", FollowedKind::Nodes) => history.node_applied(object, at),
                ("ADDED" | "MODIFIED", FollowedKind::Pods) => history.pod_applied(object, at),
                ("DELETED", FollowedKind::Nodes) => history.node_gone(text("name"), at),
                ("DELETED", FollowedKind::Pods) => history.pod_gone(text("uid"), at),
                ("BOOKMARK", _) => {}
                _ => bail!("the watch cannot continue: {event}"),
            }
            Ok(())
        })
    }
}

impl FollowedKind {
    const fn path(self) -> &'static str {
        match self {
            Self::Nodes => "/api/v1/nodes",
            Self::Pods => "/api/v1/pods",
        }
    }
}

fn version(object: &Value) -> Result<String> {
    let version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
    Ok(version.context("an object without resourceVersion")?.to_owned())
}
