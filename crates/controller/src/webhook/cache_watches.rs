//! Watches the objects that the admission rules need and updates the webhook's cache.
//!
//! - Invariant: nothing of an incomplete first list is used; an undecodable object counts as absent and is reported.

use crate::stream_health::{StreamLog, check, listener};
use kube::Client;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use taintward_admission::rules::{CacheUpdate, CachedNode, ClusterCache};
use taintward_core::dedicated_pools::{PoolFact, PoolNodeFact};
use taintward_core::identity::Uid;
use taintward_kube::decode::{NamespaceObject, PolicyObject, WatchedObject};
use taintward_kube::watch::{RelistTrigger, StreamHealth, WatchEvent};
use taintward_server::admin::{Check, Scope};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

/// Batches of one stream that may wait.
const BATCHES_WAITING: usize = 2;

/// For so long a stream may be interrupted before questions go to others. Those are cut off from the API server as a
/// rule, too, and nobody asks while there is none: who gives up early is missed when it is back.
const INTERRUPTED_MAX: Duration = Duration::from_secs(90);

/// One stream.
pub(super) struct WebhookStream {
    name: &'static str,
    health: watch::Receiver<StreamHealth>,
}

impl WebhookStream {
    /// Ready while the stream is in step, or the server has no such resource at all.
    pub(super) fn into_check(self) -> Check {
        Check::new(self.name, Scope::Ready, check(self.health, INTERRUPTED_MAX))
    }
}

/// Begins to listen to everything the rules ask about.
pub(super) fn begin(
    client: &Client,
    relist_every: Option<Duration>,
    around: &Arc<ClusterCache>,
    tasks: &mut JoinSet<()>,
) -> Vec<WebhookStream> {
    let mut beginning = WatchStarter { client, relist_every, around, tasks };
    vec![
        beginning.stream::<NamespaceObject>(),
        beginning.stream::<PoolFact>(),
        beginning.stream::<PolicyObject>(),
        beginning.stream::<PoolNodeFact>(),
    ]
}

struct WatchStarter<'a> {
    client: &'a Client,
    relist_every: Option<Duration>,
    around: &'a Arc<ClusterCache>,
    tasks: &'a mut JoinSet<()>,
}

impl WatchStarter<'_> {
    fn stream<F: CachedKind>(&mut self) -> WebhookStream {
        let (out, news) = mpsc::channel(BATCHES_WAITING);
        let (health_out, health) = watch::channel(StreamHealth::default());
        let listener = listener::<F>(self.client.clone(), self.relist_every, RelistTrigger::default(), None);
        self.tasks.spawn(listener.run(out, health_out));
        self.tasks.spawn(pass_on::<F>(news, health.clone(), Arc::clone(self.around)));
        self.tasks.spawn(report(F::RESOURCE, health.clone()));
        WebhookStream { name: F::RESOURCE, health }
    }
}

/// An object that the rules are told of.
trait CachedKind: WatchedObject {
    /// What of it they are told.
    type Item: Send;

    fn item(self) -> (Box<str>, Uid, Self::Item);
    fn tell(around: &ClusterCache, tidings: CacheUpdate<Self::Item>);
}

impl CachedKind for NamespaceObject {
    type Item = (Box<str>, taintward_core::admission::request::NamespaceFact);

    fn item(self) -> (Box<str>, Uid, Self::Item) {
        (self.name.clone(), self.uid, (self.name, self.facts))
    }

    fn tell(around: &ClusterCache, tidings: CacheUpdate<Self::Item>) {
        around.namespaces(tidings);
    }
}

impl CachedKind for PoolFact {
    type Item = taintward_core::admission::pool::DedicatedPool;

    fn item(self) -> (Box<str>, Uid, Self::Item) {
        (self.pool.name.clone(), self.uid, self.pool)
    }

    fn tell(around: &ClusterCache, tidings: CacheUpdate<Self::Item>) {
        around.pools(tidings);
    }
}

impl CachedKind for PolicyObject {
    type Item = taintward_core::admission::policy::TolerationPolicy;

    fn item(self) -> (Box<str>, Uid, Self::Item) {
        (self.policy.name.clone(), self.uid, self.policy)
    }

    fn tell(around: &ClusterCache, tidings: CacheUpdate<Self::Item>) {
        around.policies(tidings);
    }
}

impl CachedKind for PoolNodeFact {
    type Item = CachedNode;

    fn item(self) -> (Box<str>, Uid, Self::Item) {
        (self.node.name.clone(), self.uid, CachedNode { node: self.node, ready: self.ready })
    }

    fn tell(around: &ClusterCache, tidings: CacheUpdate<Self::Item>) {
        around.nodes(tidings);
    }
}

/// Hands on what is heard. A kind that the server does not have has no objects; one that goes away later has none left.
async fn pass_on<F: CachedKind>(
    mut news: mpsc::Receiver<Vec<WatchEvent<F>>>,
    mut health: watch::Receiver<StreamHealth>,
    around: Arc<ClusterCache>,
) {
    let mut following = CacheUpdater::<F>::default();
    loop {
        tokio::select! {
            // What was heard before the kind went away is not told after it.
            biased;
            batch = news.recv() => match batch {
                Some(batch) => batch.into_iter().for_each(|heard| following.hear(heard, &around)),
                None => return,
            },
            Ok(()) = health.changed() => {
                if health.borrow_and_update().absent {
                    following.nothing(&around);
                }
            }
        }
    }
}

/// Who is there, by name.
struct CacheUpdater<F: CachedKind> {
    held: HashMap<Box<str>, Uid>,
    /// Of the list that is being received.
    listed: Option<HashMap<Box<str>, Uid>>,
    /// The objects of the first list, until it is complete.
    first: Option<HashMap<Box<str>, F::Item>>,
}

impl<F: CachedKind> Default for CacheUpdater<F> {
    fn default() -> Self {
        Self { held: HashMap::new(), listed: None, first: Some(HashMap::new()) }
    }
}

impl<F: CachedKind> CacheUpdater<F> {
    fn hear(&mut self, heard: WatchEvent<F>, around: &ClusterCache) {
        match heard {
            WatchEvent::ListStarted { .. } => {
                self.listed = Some(HashMap::new());
                if let Some(first) = &mut self.first {
                    first.clear();
                }
            }
            WatchEvent::Applied { fact, .. } => {
                let (name, uid, item) = fact.item();
                if let Some(listed) = &mut self.listed {
                    listed.insert(name.clone(), uid.clone());
                }
                self.held.insert(name.clone(), uid);
                match &mut self.first {
                    Some(first) => _ = first.insert(name, item),
                    None => F::tell(around, CacheUpdate::Upsert(item)),
                }
            }
            WatchEvent::Deleted { uid, identity } => {
                let name = if identity.name.is_empty() { self.name_of(&uid) } else { identity.name.into() };
                if self.held.get(&name) == Some(&uid) {
                    self.gone(name, around);
                }
            }
            WatchEvent::Undecodable(unreadable) => {
                let identity = unreadable.identity.unwrap_or_default();
                tracing::warn!(
                    kind = F::KIND,
                    name = identity.name.as_str(),
                    why = unreadable.why.as_str(),
                    "an object cannot be understood; it counts as not there"
                );
                self.gone(identity.name.into(), around);
            }
            WatchEvent::ListCompleted => self.swept(around),
            WatchEvent::ListAborted | WatchEvent::Bookmark => {}
        }
    }

    fn name_of(&self, uid: &Uid) -> Box<str> {
        self.held.iter().find(|(_, held)| *held == uid).map(|(name, _)| name.clone()).unwrap_or_default()
    }

    fn gone(&mut self, name: Box<str>, around: &ClusterCache) {
        self.held.remove(&name);
        if let Some(listed) = &mut self.listed {
            listed.remove(&name);
        }
        match &mut self.first {
            Some(first) => _ = first.remove(&name),
            None => F::tell(around, CacheUpdate::Delete(name)),
        }
    }

    fn swept(&mut self, around: &ClusterCache) {
        let listed = self.listed.take().unwrap_or_default();
        if let Some(first) = self.first.take() {
            F::tell(around, CacheUpdate::Replace(first.into_values().collect()));
        } else {
            let vanished = self.held.keys().filter(|name| !listed.contains_key(*name)).cloned();
            vanished
                .collect::<Vec<_>>()
                .into_iter()
                .for_each(|name| F::tell(around, CacheUpdate::Delete(name)));
        }
        self.held = listed;
    }

    fn nothing(&mut self, around: &ClusterCache) {
        *self = Self { first: None, ..Self::default() };
        F::tell(around, CacheUpdate::Replace(Vec::new()));
    }
}

/// Says when a stream breaks, what may not be read, and what the server does not have.
async fn report(resource: &'static str, mut health: watch::Receiver<StreamHealth>) {
    let (mut complaints, mut was_absent, mut was_missing) = (StreamLog::default(), false, false);
    loop {
        let now = health.borrow_and_update().clone();
        if now.absent && !was_absent {
            tracing::warn!(
                resource,
                "the API server does not have this resource: the rules take it that there are none; install the \
                 CustomResourceDefinitions of Taintward"
            );
        }
        if let Some(missing) = now.missing.filter(|_| !was_missing) {
            let (verb, on) = (missing.verb, missing.resource);
            tracing::error!(verb, resource = on, "permission missing: the rules that need it do nothing");
        }
        if let Some(why) = complaints.news(&now) {
            tracing::warn!(resource, err = why, "stream interrupted; it is taken up again");
        }
        (was_absent, was_missing) = (now.absent, now.missing.is_some());
        if health.changed().await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
