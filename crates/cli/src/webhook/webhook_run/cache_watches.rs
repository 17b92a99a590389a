//! Watches the objects that the admission rules need and updates the webhook's cache.
//!
//! - Invariant: an incomplete first list is not used; an undecodable object counts as absent and is reported.

use kube::Client;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use taintward_admission::rules::{CacheUpdate, CachedNode, ClusterCache};
use taintward_controller::stream_health::{StreamLog, check, listener};
use taintward_core::dedicated_pools::{PoolFact, PoolNodeFact};
use taintward_core::identity::Uid;
use taintward_core::object_event::{ObjectEvent, ObjectIndex, ObjectRef};
use taintward_core::time::{Mono, Now, Wall};
use taintward_kube::clock::Clock;
use taintward_kube::decode::{NamespaceObject, PolicyObject, WatchedObject};
use taintward_kube::watch::{RelistTrigger, StreamHealth};
use taintward_server::admin::{Check, Scope};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

/// The largest number of batches of one watch that wait.
const BATCHES_WAITING: usize = 2;

/// How long a watch may be interrupted before the replica is not ready. An interruption usually affects all replicas, and
/// without an API server no reviews arrive: a replica that is not ready too early is missing when the API server returns.
const INTERRUPTED_MAX: Duration = Duration::from_secs(90);

/// A watch.
pub(super) struct WebhookStream {
    name: &'static str,
    health: watch::Receiver<StreamHealth>,
}

impl WebhookStream {
    /// Ready while the watch is synced, or if the server does not have the resource.
    pub(super) fn into_check(self) -> Check {
        Check::new(self.name, Scope::Ready, check(self.health, INTERRUPTED_MAX))
    }
}

/// Starts the watches that the rules need.
pub(super) fn begin(
    client: &Client,
    relist_every: Option<Duration>,
    cache: &Arc<ClusterCache>,
    tasks: &mut JoinSet<()>,
) -> Vec<WebhookStream> {
    let mut beginning = WatchStarter { client, relist_every, cache, tasks };
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
    cache: &'a Arc<ClusterCache>,
    tasks: &'a mut JoinSet<()>,
}

impl WatchStarter<'_> {
    fn stream<F: CachedKind>(&mut self) -> WebhookStream {
        let (out, change_text) = mpsc::channel(BATCHES_WAITING);
        let (health_out, health) = watch::channel(StreamHealth::default());
        let (client, clock, relist_now) = (self.client.clone(), Clock::system(), RelistTrigger::default());
        let listener = listener::<F>(client, clock, self.relist_every, relist_now, None);
        self.tasks.spawn(listener.run(out, health_out));
        self.tasks.spawn(update_cache::<F>(
            change_text,
            health.clone(),
            CacheUpdater::new(Arc::clone(self.cache)),
        ));
        self.tasks.spawn(report(F::RESOURCE.plural, health.clone()));
        WebhookStream { name: F::RESOURCE.plural, health }
    }
}

/// A kind of object that the cache of the rules holds.
trait CachedKind: WatchedObject {
    /// The part that the cache holds.
    type Item: Send;

    fn item(self) -> (Box<str>, Uid, Self::Item);
    fn apply(cache: &ClusterCache, update: CacheUpdate<Self::Item>);
}

impl CachedKind for NamespaceObject {
    type Item = (Box<str>, taintward_core::admission::request::NamespaceFact);

    fn item(self) -> (Box<str>, Uid, Self::Item) {
        (self.name.clone(), self.uid, (self.name, self.facts))
    }

    fn apply(cache: &ClusterCache, update: CacheUpdate<Self::Item>) {
        cache.namespaces(update);
    }
}

impl CachedKind for PoolFact {
    type Item = taintward_core::admission::pool::DedicatedPool;

    fn item(self) -> (Box<str>, Uid, Self::Item) {
        (self.pool.name.clone(), self.uid, self.pool)
    }

    fn apply(cache: &ClusterCache, update: CacheUpdate<Self::Item>) {
        cache.pools(update);
    }
}

impl CachedKind for PolicyObject {
    type Item = taintward_core::admission::policy::TolerationPolicy;

    fn item(self) -> (Box<str>, Uid, Self::Item) {
        (self.policy.name.clone(), self.uid, self.policy)
    }

    fn apply(cache: &ClusterCache, update: CacheUpdate<Self::Item>) {
        cache.policies(update);
    }
}

impl CachedKind for PoolNodeFact {
    type Item = CachedNode;

    fn item(self) -> (Box<str>, Uid, Self::Item) {
        (self.node.name.clone(), self.uid, CachedNode { node: self.node, ready: self.ready })
    }

    fn apply(cache: &ClusterCache, update: CacheUpdate<Self::Item>) {
        cache.nodes(update);
    }
}

/// Updates the cache. A kind that the server does not have has no objects; one that is removed later loses them.
async fn update_cache<F: CachedKind>(
    mut events: mpsc::Receiver<Vec<ObjectEvent<F>>>,
    mut health: watch::Receiver<StreamHealth>,
    mut updater: CacheUpdater<F>,
) {
    loop {
        tokio::select! {
            // Events from before the removal of the kind must not be applied after it.
            biased;
            batch = events.recv() => match batch {
                Some(batch) => batch.into_iter().for_each(|event| updater.receive(event)),
                None => return,
            },
            Ok(()) = health.changed() => {
                if health.borrow_and_update().absent {
                    updater.nothing();
                }
            }
        }
    }
}

/// Keeps the cache of one kind in sync with its watch. A first list is applied only when it is complete.
struct CacheUpdater<F: CachedKind> {
    cache: Arc<ClusterCache>,
    /// The present objects, by name.
    uids: HashMap<Box<str>, Uid>,
    /// The objects of the present list.
    listed: Option<HashMap<Box<str>, Uid>>,
    /// The objects of the first list, until it is complete.
    first: Option<HashMap<Box<str>, F::Item>>,
}

/// The content of the cache does not depend on the time.
const ANY_TIME: Now = Now::exact(Mono::from_micros(0), Wall::from_secs(0));

impl<F: CachedKind> ObjectIndex<F> for CacheUpdater<F> {
    fn list_started(&mut self, _: Option<Mono>) {
        self.listed = Some(HashMap::new());
        if let Some(first) = &mut self.first {
            first.clear();
        }
    }

    fn applied(&mut self, fact: F, _: bool, _: Now) {
        let (name, uid, item) = fact.item();
        if let Some(listed) = &mut self.listed {
            listed.insert(name.clone(), uid.clone());
        }
        self.uids.insert(name.clone(), uid);
        match &mut self.first {
            Some(first) => _ = first.insert(name, item),
            None => F::apply(&self.cache, CacheUpdate::Upsert(item)),
        }
    }

    fn deleted(&mut self, object: ObjectRef, _: Now) {
        let ObjectRef { name, uid, .. } = object;
        let name = match &uid {
            Some(uid) if name.is_empty() => self.name_of(uid),
            _ => name,
        };
        if uid.is_some() && self.uids.get(&name) == uid.as_ref() {
            self.delete(name);
        }
    }

    fn undecodable(&mut self, object: ObjectRef, _: Now) {
        self.delete(object.name);
    }

    fn list_completed(&mut self, _: Now) {
        let listed = self.listed.take().unwrap_or_default();
        if let Some(first) = self.first.take() {
            F::apply(&self.cache, CacheUpdate::Replace(first.into_values().collect()));
        } else {
            let vanished = self.uids.keys().filter(|name| !listed.contains_key(*name));
            vanished.for_each(|name| F::apply(&self.cache, CacheUpdate::Delete(name.clone())));
        }
        self.uids = listed;
    }
}

impl<F: CachedKind> CacheUpdater<F> {
    fn new(cache: Arc<ClusterCache>) -> Self {
        Self { cache, uids: HashMap::new(), listed: None, first: Some(HashMap::new()) }
    }

    fn receive(&mut self, event: ObjectEvent<F>) {
        if let ObjectEvent::Undecodable(object) = &event {
            // The watcher logs why.
            tracing::warn!(
                kind = F::RESOURCE.kind,
                name = &*object.name,
                "treating an object as absent, because it cannot be decoded"
            );
        }
        self.apply(event, ANY_TIME);
    }

    fn name_of(&self, uid: &Uid) -> Box<str> {
        self.uids.iter().find(|(_, uids)| *uids == uid).map(|(name, _)| name.clone()).unwrap_or_default()
    }

    fn delete(&mut self, name: Box<str>) {
        self.uids.remove(&name);
        if let Some(listed) = &mut self.listed {
            listed.remove(&name);
        }
        match &mut self.first {
            Some(first) => _ = first.remove(&name),
            None => F::apply(&self.cache, CacheUpdate::Delete(name)),
        }
    }

    fn nothing(&mut self) {
        *self = Self { first: None, ..Self::new(Arc::clone(&self.cache)) };
        F::apply(&self.cache, CacheUpdate::Replace(Vec::new()));
    }
}

/// Logs interruptions of a watch, missing permissions, and missing kinds.
async fn report(resource: &'static str, mut health: watch::Receiver<StreamHealth>) {
    let (mut complaints, mut was_absent, mut was_missing) = (StreamLog::default(), false, false);
    loop {
        let now = health.borrow_and_update().clone();
        if now.absent && !was_absent {
            tracing::warn!(
                resource,
                remedy = "install the CustomResourceDefinitions of Taintward",
                "the API server does not serve a resource that rules need"
            );
        }
        if let Some(missing) = now.missing.filter(|_| !was_missing) {
            let missing = missing.permission();
            tracing::error!(%missing, "permission missing, so the rules that need it are inactive");
        }
        if let Some(why) = complaints.change_text(&now) {
            tracing::warn!(resource, err = why, "watch interrupted, resuming it");
        }
        (was_absent, was_missing) = (now.absent, now.missing.is_some());
        if health.changed().await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
