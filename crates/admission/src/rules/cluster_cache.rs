//! Caches namespaces, policies, pools and nodes for the rules, from [`CacheUpdate`]s.
//!
//! - Invariant: what was never received is unknown, not empty. A pool that is invalid, or overlaps an older one, has no
//!   effect.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;
use taintward_core::admission::no_execute_guard::FleetHealth;
use taintward_core::admission::policy::TolerationPolicy;
use taintward_core::admission::pool::{
    DedicatedPool, PoolEnforcement, PoolNode, PoolValidity, RecordTrust, assess, reconcile,
};
use taintward_core::admission::request::{NamespaceFact, NodePoolMembership};
use taintward_core::admission::review::ReviewSettings;
use taintward_core::taint::{Taint, TaintEffect};
use tokio::time::Instant;

/// A change that was allowed and not observed within this time was not made.
const UNDERWAY_MAX: Duration = Duration::from_secs(10);

/// An update of the objects of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheUpdate<T> {
    /// The complete list.
    Replace(Vec<T>),
    /// This object is new, or has changed.
    Upsert(T),
    /// The object of this name is gone, or cannot be decoded.
    Delete(Box<str>),
}

/// The fields of a node that the rules need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedNode {
    /// Name, labels, taints, and the record of its pool.
    pub node: PoolNode,
    /// Its condition `Ready` is true.
    pub ready: bool,
}

/// The cached facts, for concurrent reviews.
#[derive(Debug, Default)]
pub struct ClusterCache {
    contents: RwLock<CacheContents>,
    /// Nodes whose tainting was allowed, and when.
    underway: Mutex<HashMap<Box<str>, Instant>>,
}

#[derive(Debug, Default)]
struct CacheContents {
    namespaces: Option<HashMap<Box<str>, NamespaceFact>>,
    policies: Option<Vec<TolerationPolicy>>,
    pools: Option<CachedPools>,
    nodes: Option<HashMap<Box<str>, CachedNode>>,
}

/// All pools, and those that apply.
#[derive(Debug, Default)]
struct CachedPools {
    /// Sorted by name.
    all: Vec<DedicatedPool>,
    validity: Vec<PoolValidity>,
    /// Those that are not rejected, in the same order.
    valid: Vec<DedicatedPool>,
    /// The taints of these.
    dedicated: Vec<Taint>,
}

impl ClusterCache {
    /// Applies an update of namespaces.
    pub fn namespaces(&self, update: CacheUpdate<(Box<str>, NamespaceFact)>) {
        let contents = &mut self.write().namespaces;
        match update {
            CacheUpdate::Replace(all) => *contents = Some(all.into_iter().collect()),
            CacheUpdate::Upsert((name, facts)) => _ = contents.get_or_insert_default().insert(name, facts),
            CacheUpdate::Delete(name) => _ = contents.get_or_insert_default().remove(&name),
        }
    }

    /// Applies an update of policies.
    pub fn policies(&self, update: CacheUpdate<TolerationPolicy>) {
        let mut contents = self.write();
        update_list(contents.policies.get_or_insert_default(), update, |policy| &policy.name);
    }

    /// Applies an update of pools.
    pub fn pools(&self, update: CacheUpdate<DedicatedPool>) {
        let mut contents = self.write();
        let pools = contents.pools.get_or_insert_default();
        update_list(&mut pools.all, update, |pool| &pool.name);
        pools.weigh();
    }

    /// Applies an update of nodes.
    pub fn nodes(&self, update: CacheUpdate<CachedNode>) {
        let mut contents = self.write();
        let nodes = contents.nodes.get_or_insert_default();
        let mut underway = self.underway.lock().unwrap_or_else(PoisonError::into_inner);
        match update {
            CacheUpdate::Replace(all) => {
                *nodes = all.into_iter().map(|cached| (cached.node.name.clone(), cached)).collect();
                underway.clear();
            }
            CacheUpdate::Upsert(cached) => {
                if nodes.get(&cached.node.name).is_none_or(|before| before.node.taints != cached.node.taints)
                {
                    underway.remove(&cached.node.name);
                }
                nodes.insert(cached.node.name.clone(), cached);
            }
            CacheUpdate::Delete(name) => {
                underway.remove(&name);
                nodes.remove(&name);
            }
        }
    }

    /// Whether a namespace of this name is known.
    pub fn knows_namespace(&self, name: &str) -> bool {
        self.view().namespace(name).is_some()
    }

    /// A change of a node's taints was allowed: until it is observed, the node counts as tainted. There are never more
    /// of these than nodes.
    pub(super) fn allowed(&self, node: &str, old: Option<&[Taint]>, new: &[Taint]) {
        let sends_away = |taint: &&Taint| taint.effect == TaintEffect::NoExecute;
        let had = old.unwrap_or_default();
        let is_known = || self.view().contents.nodes.as_ref().is_some_and(|nodes| nodes.contains_key(node));
        if old.is_some() && new.iter().filter(sends_away).any(|taint| !had.contains(taint)) && is_known() {
            let mut underway = self.underway.lock().unwrap_or_else(PoisonError::into_inner);
            underway.insert(node.into(), Instant::now());
        }
    }

    /// The facts during one review: they do not change meanwhile.
    pub(super) fn view(&self) -> CacheView<'_> {
        let contents = self.contents.read().unwrap_or_else(PoisonError::into_inner);
        CacheView { contents, underway: &self.underway }
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, CacheContents> {
        self.contents.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps a list sorted by name.
fn update_list<T>(all: &mut Vec<T>, update: CacheUpdate<T>, name: impl Fn(&T) -> &str) {
    let index_of = |all: &[T], wanted: &str| all.binary_search_by(|one| name(one).cmp(wanted));
    match update {
        CacheUpdate::Replace(new) => {
            *all = new;
            all.sort_by(|one, other| name(one).cmp(name(other)));
        }
        CacheUpdate::Upsert(new) => match index_of(all, name(&new)) {
            Ok(at) => all[at] = new,
            Err(at) => all.insert(at, new),
        },
        CacheUpdate::Delete(gone) => {
            if let Ok(at) = index_of(all, &gone) {
                all.remove(at);
            }
        }
    }
}

impl CachedPools {
    fn weigh(&mut self) {
        self.validity =
            assess(&self.all, None, RecordTrust::Pools).into_iter().map(|found| found.validity).collect();
        let valid = |(_, validity): &(&DedicatedPool, &PoolValidity)| **validity != PoolValidity::Rejected;
        self.valid =
            self.all.iter().zip(&self.validity).filter(valid).map(|(pool, _)| pool.clone()).collect();
        self.valid.retain(|pool| !pool.leaving);
        self.dedicated = self.valid.iter().flat_map(DedicatedPool::taints).collect();
    }

    /// The position of the pool that owns this node.
    fn of(&self, cached: &CachedNode) -> Option<usize> {
        reconcile(&self.all, &self.validity, &cached.node, RecordTrust::Pools).pool
    }
}

/// The facts at one moment.
pub(super) struct CacheView<'a> {
    contents: RwLockReadGuard<'a, CacheContents>,
    underway: &'a Mutex<HashMap<Box<str>, Instant>>,
}

impl CacheView<'_> {
    pub(super) fn namespace(&self, name: &str) -> Option<&NamespaceFact> {
        self.contents.namespaces.as_ref()?.get(name)
    }

    pub(super) fn knows_namespaces(&self) -> bool {
        self.contents.namespaces.is_some()
    }

    pub(super) fn knows_nodes(&self) -> bool {
        self.contents.nodes.is_some()
    }

    pub(super) fn policies(&self) -> Option<&[TolerationPolicy]> {
        self.contents.policies.as_deref()
    }

    pub(super) fn pools(&self) -> Option<&[DedicatedPool]> {
        self.contents.pools.as_ref().map(|pools| &pools.valid[..])
    }

    /// Whether any pool may deny pods, as far as is known.
    pub(super) fn may_deny(&self) -> bool {
        let lenient =
            |pool: &DedicatedPool| matches!(pool.enforcement, PoolEnforcement::Warn | PoolEnforcement::Off);
        self.pools().is_none_or(|pools| !pools.iter().all(lenient))
    }

    /// The taints of pools.
    pub(super) fn dedicated(&self) -> &[Taint] {
        self.contents.pools.as_ref().map_or(&[], |pools| &pools.dedicated)
    }

    /// The pool that owns the node of this name.
    pub(super) fn node_pool(&self, node: Option<&str>) -> NodePoolMembership<'_> {
        let (Some(node), Some(pools), Some(nodes)) = (node, &self.contents.pools, &self.contents.nodes)
        else {
            return NodePoolMembership::Unknown;
        };
        let Some(cached) = nodes.get(node) else { return NodePoolMembership::Unknown };
        match pools.of(cached) {
            Some(pool) => NodePoolMembership::Pool(&pools.all[pool].name),
            None => NodePoolMembership::None,
        }
    }

    /// The taints of the pool that owns the node of this name.
    pub(super) fn own_taints(&self, node: &str) -> Vec<Taint> {
        let (Some(pools), Some(nodes)) = (&self.contents.pools, &self.contents.nodes) else {
            return Vec::new();
        };
        let pool = nodes.get(node).and_then(|cached| pools.of(cached));
        pool.map(|pool| pools.all[pool].taints()).unwrap_or_default()
    }

    /// How many nodes are healthy, before a change of this one.
    pub(super) fn fleet(&self, changing: &str) -> Option<FleetHealth> {
        let nodes = self.contents.nodes.as_ref()?;
        let all: Vec<Vec<Taint>> = match &self.contents.pools {
            Some(pools) => pools.all.iter().map(DedicatedPool::taints).collect(),
            None => Vec::new(),
        };
        let own = |cached: &CachedNode| {
            let pool = self.contents.pools.as_ref().filter(|_| !cached.node.taints.is_empty())?.of(cached)?;
            all.get(pool).map(Vec::as_slice)
        };
        let counted =
            nodes.values().map(|cached| (cached.ready, &cached.node.taints[..], own(cached).unwrap_or(&[])));
        let mut fleet = FleetHealth::count(counted);
        let underway = self.underway.lock().unwrap_or_else(PoisonError::into_inner);
        let on_its_way = |name: &str, since: &Instant| {
            *name != *changing && since.elapsed() < UNDERWAY_MAX && nodes.contains_key(name)
        };
        let others = underway.iter().filter(|(name, since)| on_its_way(name, since)).count();
        fleet.recently_admitted = u32::try_from(others).unwrap_or(u32::MAX);
        Some(fleet)
    }

    /// The facts that the rules need and that have not been received yet.
    pub(super) fn missing(&self, settings: &ReviewSettings) -> Vec<&'static str> {
        let contents = &*self.contents;
        let needs = [
            ("namespaces", contents.namespaces.is_none()),
            ("policies", settings.defaults.is_some() && contents.policies.is_none()),
            ("pools", settings.pools && contents.pools.is_none()),
            ("nodes", (settings.pools || settings.guard.is_some()) && contents.nodes.is_none()),
        ];
        needs.into_iter().filter(|(_, missing)| *missing).map(|(name, _)| name).collect()
    }
}
