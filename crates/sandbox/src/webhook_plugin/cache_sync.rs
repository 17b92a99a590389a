//! Feeds changed namespaces, nodes, pools and policies from the store to the cache of the admission rules.
//!
//! - Invariant: after [`SyncedVersion::catch_up`] the cache equals the store in this transaction.

use crate::custom_resources::GROUP;
use fakekube::resource::known;
use fakekube::store::{ChangeKind, StoredObject, Transaction};
use std::sync::Arc;
use taintward_admission::rules::{CacheUpdate, CachedNode, ClusterCache};
use taintward_core::dedicated_pools::{PoolFact, PoolNodeFact};
use taintward_kube::decode::{Decoded, NamespaceObject, PolicyObject, WatchedObject};

/// Above this number of changes, the cache is replaced as a whole.
const CHANGES_MAX: usize = 4096;

/// The version up to which the cache is in sync; `None`: nothing has been sent to it.
#[derive(Debug, Default)]
pub(super) struct SyncedVersion {
    version: Option<u64>,
}

impl SyncedVersion {
    /// Updates the cache with all changes since the last call.
    pub(super) fn catch_up(&mut self, txn: &Transaction<'_>, around: &ClusterCache) {
        let now = txn.version();
        if self.version == Some(now) {
            return;
        }
        let named = |seen: NamespaceObject| (seen.name, seen.facts);
        let member = |seen: PoolNodeFact| CachedNode { node: seen.node, ready: seen.ready };
        sync(txn, self.version, ("", "namespaces"), named, |update| around.namespaces(update));
        sync(txn, self.version, ("", "nodes"), member, |update| around.nodes(update));
        sync(
            txn,
            self.version,
            (GROUP, "dedicatedpools"),
            |seen: PoolFact| seen.pool,
            |update| {
                around.pools(update);
            },
        );
        sync(
            txn,
            self.version,
            (GROUP, "tolerationpolicies"),
            |seen: PolicyObject| seen.policy,
            |update| {
                around.policies(update);
            },
        );
        self.version = Some(now);
    }
}

/// Sends the changes of one resource, or all its objects.
fn sync<F: WatchedObject, T>(
    txn: &Transaction<'_>,
    since: Option<u64>,
    (group, plural): (&str, &str),
    of: impl Fn(F) -> T,
    mut apply: impl FnMut(CacheUpdate<T>),
) {
    let number = known(group, plural);
    let changes = since.and_then(|since| txn.changes(number, since, CHANGES_MAX));
    let Some(changes) = changes.filter(|changes| changes.len() < CHANGES_MAX) else {
        let all = txn.all(number, None).into_iter();
        return apply(CacheUpdate::Replace(all.filter_map(|(_, object)| read(&object)).map(of).collect()));
    };
    for event in changes {
        let there = if event.change == ChangeKind::Deleted { None } else { read(&event.object) };
        apply(
            there.map_or_else(
                || CacheUpdate::Delete((*event.key).into()),
                |fact| CacheUpdate::Upsert(of(fact)),
            ),
        );
    }
}

fn read<F: WatchedObject>(object: &Arc<StoredObject>) -> Option<F> {
    match F::from_json(&object.json) {
        Decoded::Object(fact) => Some(fact),
        _ => None,
    }
}
