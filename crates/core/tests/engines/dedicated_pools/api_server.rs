//! Simulates an API server as exactly as dedicated pools need it: versions, watches and the requests of effects.
//!
//! - Panics if a request violates a rule that must always hold.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use taintward_core::admission::pool::{
    Membership, PodOnNodeFact, PodOwner, PoolExemptions, PoolNode, RecordEdit, membership, remembered,
};
use taintward_core::api_error::ApiFailure;
use taintward_core::dedicated_pools::{
    DedicatedPoolInput, FINALIZER, NodePatch, PoolEffect, PoolEffectFailure, PoolFact, PoolGuard,
    PoolGuardWrite, PoolNamespaceFact, PoolNodeFact, PoolResponse,
};
use taintward_core::identity::{ResourceVersion, Uid};
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::scheduling::Labels;

/// Watch events that are not delivered yet.
pub type ServerEvents = Vec<DedicatedPoolInput>;

#[derive(Default)]
pub struct PoolApiServer {
    version: u64,
    pub pools: BTreeMap<Uid, PoolFact>,
    pub nodes: BTreeMap<String, PoolNodeFact>,
    pub namespaces: BTreeMap<String, PoolNamespaceFact>,
    pub pods: BTreeMap<Uid, PodOnNodeFact>,
    pub guard: Option<PoolGuard>,
    guard_version: u64,
    /// Writes of a larger guard fail, as etcd's do.
    pub guard_most: Option<usize>,
    /// All writes of the guard fail like this.
    pub guard_rejection: Option<ApiFailure>,
    /// Pools that no client can decode.
    pub undecodable: Vec<Uid>,
    /// Pools that had the label when another client changed the guard: until the controller notices, nothing keeps pods
    /// out of them.
    pub exposed: BTreeSet<Uid>,
    /// Undelivered events, in order.
    pub events: ServerEvents,
    /// Requests that changed something.
    pub writes: Vec<String>,
}

pub fn failed(failure: ApiFailure) -> PoolEffectFailure {
    PoolEffectFailure { failure, message: format!("{failure:?}").into() }
}

impl PoolApiServer {
    fn next_version(&mut self) -> Option<ResourceVersion> {
        self.version += 1;
        Some(ResourceVersion(self.version))
    }

    /// Writes a pool as a user or a controller does; a pool that is being deleted and has no finalizers is removed.
    pub fn put_pool(&mut self, mut fact: PoolFact) -> Option<PoolFact> {
        fact.version = self.next_version();
        if fact.pool.leaving && fact.finalizers.is_empty() {
            self.pools.remove(&fact.uid);
            self.events.push(DedicatedPoolInput::Pools(Box::new(ObjectEvent::Deleted(ObjectRef::pod(
                fact.uid, None,
            )))));
            return None;
        }
        self.pools.insert(fact.uid.clone(), fact.clone());
        self.events.push(self.pool_event(&fact, false));
        Some(fact)
    }

    fn pool_event(&self, fact: &PoolFact, listed: bool) -> DedicatedPoolInput {
        let (uid, name) = (fact.uid.clone(), fact.pool.name.clone());
        DedicatedPoolInput::Pools(Box::new(match self.undecodable.contains(&uid) {
            true => ObjectEvent::Undecodable(ObjectRef { name, uid: Some(uid), node: None }),
            false => ObjectEvent::Applied { fact: fact.clone(), listed },
        }))
    }

    pub fn put_node(&mut self, mut fact: PoolNodeFact) -> PoolNodeFact {
        fact.version = self.next_version();
        self.nodes.insert(fact.node.name.to_string(), fact.clone());
        self.events
            .push(DedicatedPoolInput::Nodes(ObjectEvent::Applied { fact: fact.clone(), listed: false }));
        fact
    }

    pub fn remove_node(&mut self, name: &str) {
        if let Some(fact) = self.nodes.remove(name) {
            self.events.push(DedicatedPoolInput::Nodes(ObjectEvent::Deleted(ObjectRef::pod(fact.uid, None))));
        }
    }

    pub fn put_namespace(&mut self, name: &str, labels: &[(&str, &str)]) {
        let labels: Labels = labels.iter().map(|&(key, value)| (key.into(), value.into())).collect();
        let uid = Uid::new(&format!("u-{name}"));
        let fact = PoolNamespaceFact { uid, version: self.next_version(), name: name.into(), labels };
        self.namespaces.insert(name.to_owned(), fact.clone());
        self.events.push(DedicatedPoolInput::Namespaces(ObjectEvent::Applied { fact, listed: false }));
    }

    pub fn put_pod(&mut self, fact: PodOnNodeFact) {
        self.version += 1;
        self.pods.insert(fact.id.uid().clone(), fact.clone());
        self.events.push(DedicatedPoolInput::Pods(ObjectEvent::Applied { fact, listed: false }));
    }

    pub fn remove_pod(&mut self, uid: &Uid) {
        if self.pods.remove(uid).is_some() {
            self.events
                .push(DedicatedPoolInput::Pods(ObjectEvent::Deleted(ObjectRef::pod(uid.clone(), None))));
        }
    }

    /// Lists the pools; and all other kinds, if they are watched.
    pub fn list_all(&mut self, others: bool) {
        self.events.clear();
        let mut events =
            vec![DedicatedPoolInput::Pools(Box::new(ObjectEvent::ListStarted { silent_since: None }))];
        events.extend(self.pools.values().map(|fact| self.pool_event(fact, true)));
        events.push(DedicatedPoolInput::Pools(Box::new(ObjectEvent::ListCompleted)));
        if others {
            let (nodes, namespaces, pods) =
                (self.nodes.values(), self.namespaces.values(), self.pods.values());
            events.extend(list(nodes.cloned()).map(DedicatedPoolInput::Nodes));
            events.extend(list(namespaces.cloned()).map(DedicatedPoolInput::Namespaces));
            events.extend(list(pods.cloned()).map(DedicatedPoolInput::Pods));
        }
        self.events = events;
    }

    pub fn live_nodes(&self) -> Vec<PoolNode> {
        self.nodes.values().map(|fact| fact.node.clone()).collect()
    }

    /// Carries out an effect.
    pub fn execute(&mut self, effect: &PoolEffect) -> Result<PoolResponse, PoolEffectFailure> {
        match effect {
            PoolEffect::AddFinalizer(seen) => {
                let mut live = self.same_version(seen)?;
                live.finalizers.push(FINALIZER.into());
                self.writes.push(format!("finalizer on {}", seen.pool.name));
                Ok(PoolResponse::Pool(self.put_pool(live).map(Box::new)))
            }
            PoolEffect::UpdateStatus { pool, status, marks } => {
                let mut live = self.same_version(pool)?;
                (live.recorded, live.pool.applied_marks) = (Some((**status).clone()), marks.clone());
                self.writes.push(format!("status of {}", pool.pool.name));
                Ok(PoolResponse::Pool(self.put_pool(live).map(Box::new)))
            }
            PoolEffect::PruneStatus(seen) => {
                let mut live = self.same_version(seen)?;
                let marks = remembered(&seen.pool, &self.live_nodes());
                if live.pool.applied_marks == marks {
                    return Err(failed(ApiFailure::Conflict));
                }
                live.pool.applied_marks = marks;
                self.writes.push(format!("pruned status of {}", seen.pool.name));
                Ok(PoolResponse::Pool(self.put_pool(live).map(Box::new)))
            }
            PoolEffect::RemoveFinalizer(seen) => {
                if !remembered(&seen.pool, &self.live_nodes()).is_empty() {
                    return Err(failed(ApiFailure::Conflict));
                }
                let mut live = self.same_version(seen)?;
                live.finalizers.retain(|one| **one != *FINALIZER);
                self.writes.push(format!("no finalizer on {}", seen.pool.name));
                Ok(PoolResponse::Pool(self.put_pool(live).map(Box::new)))
            }
            PoolEffect::ReconcileNode { node, plan } => {
                let live = self.nodes.get(node.as_str()).cloned().ok_or(failed(ApiFailure::NotFound))?;
                let patch = plan.desired_edits(&live.node);
                self.patch_node(live, &patch)
            }
            PoolEffect::EvictPod { pool, pod, plan } => {
                self.same_as_decided(pool)?;
                let live = self.pods.get(&pod.uid).ok_or(failed(ApiFailure::NotFound))?;
                let node = self.nodes.get(live.node.as_str()).ok_or(failed(ApiFailure::NotFound))?;
                let namespace = self.namespaces.get(&*live.identity.namespace);
                let namespace = namespace.ok_or(failed(ApiFailure::NotFound))?;
                let resident = live.resident(Some(&namespace.labels));
                if live.leaving
                    || !plan.is_unauthorized(pool, &node.node, &resident, &PoolExemptions::default())
                {
                    return Err(failed(ApiFailure::Conflict));
                }
                let (identity, made_for) = (&live.identity, &*live.identity.made_for);
                let labels = Some(&namespace.labels);
                let owner =
                    PodOwner { identity, namespace: labels, requester: None, made_for, operation: None };
                let live_pool = &self.pools[&pool.uid].pool;
                assert_eq!(membership(live_pool, owner), Membership::No, "{live:?} may be on {}", pod.node);
                assert!(live_pool.evicts(), "{live_pool:?} evicts no pods");
                self.writes.push(format!("eviction of {}", *live.id.name()));
                let mut leaving = live.clone();
                leaving.leaving = true;
                self.put_pod(leaving);
                Ok(PoolResponse::Evicted)
            }
            PoolEffect::WriteGuard(guard) => Ok(PoolResponse::Guard(self.write_guard(guard)?)),
            PoolEffect::ProbeGuard => Ok(PoolResponse::GuardVersion(self.guard_version())),
            PoolEffect::AddGuardLabel(seen) => {
                let mut live = self.same_version(seen)?;
                if !self.is_guarded(&seen.uid) {
                    return Err(failed(ApiFailure::Conflict));
                }
                live.has_guard_label = true;
                self.writes.push(format!("label on {}", seen.pool.name));
                Ok(PoolResponse::Pool(self.put_pool(live).map(Box::new)))
            }
            PoolEffect::RemoveGuardLabel(seen) => {
                let mut live = self.same_version(seen)?;
                live.has_guard_label = false;
                self.writes.push(format!("no label on {}", seen.pool.name));
                Ok(PoolResponse::Pool(self.put_pool(live).map(Box::new)))
            }
        }
    }

    /// Replaces the guard, as an administrator can.
    pub fn tamper(&mut self, guard: Option<PoolGuard>) {
        self.version += 1;
        (self.guard, self.guard_version) = (guard, self.version);
        let labelled = self.pools.values().filter(|fact| fact.has_guard_label);
        self.exposed.extend(labelled.map(|fact| fact.uid.clone()));
    }

    /// Asserts that either the guard or the policy for pools without the label judges each pool's pods.
    pub fn assert_kept(&mut self) {
        let exposed = std::mem::take(&mut self.exposed);
        let unguarded = |fact: &&PoolFact| fact.has_guard_label && !self.is_guarded(&fact.uid);
        let unguarded: BTreeSet<Uid> =
            self.pools.values().filter(unguarded).map(|fact| fact.uid.clone()).collect();
        assert!(unguarded.is_subset(&exposed), "{unguarded:?} have the label: {:?}", self.guard);
        self.exposed = unguarded;
    }

    /// The pools with the label whose form in the guard differs.
    pub fn outdated(&self) -> Vec<Uid> {
        let has_label = |fact: &&PoolFact| fact.has_guard_label && !self.undecodable.contains(&fact.uid);
        let differs = |fact: &&PoolFact| {
            let copy = self.guard.as_ref().and_then(|all| all.pools.iter().find(|one| one.uid == fact.uid));
            copy.is_none_or(|copy| (&copy.taint, &copy.users) != (&fact.pool.taint, &fact.pool.users))
        };
        self.pools.values().filter(has_label).filter(differs).map(|fact| fact.uid.clone()).collect()
    }

    /// Whether the guard judges pods for this pool.
    pub fn is_guarded(&self, uid: &Uid) -> bool {
        self.guard.as_ref().is_some_and(|guard| guard.pools.iter().any(|pool| pool.uid == *uid))
    }

    fn guard_version(&self) -> Option<ResourceVersion> {
        self.guard.as_ref().map(|_| ResourceVersion(self.guard_version))
    }

    /// A pool that is not wanted stays while it exists, unless it is released and has no label.
    fn write_guard(&mut self, wanted: &PoolGuard) -> Result<Option<PoolGuardWrite>, PoolEffectFailure> {
        let Some(before) = self.guard.clone() else { return Ok(None) };
        if let Some(failure) = self.guard_rejection {
            return Err(failed(failure));
        }
        let mut after = wanted.clone();
        after.released.clear();
        let stays = |uid: &Uid| {
            let live = self.pools.get(uid);
            live.is_some_and(|live| live.has_guard_label || !wanted.released.contains(uid))
        };
        let others = before.pools.iter().filter(|pool| wanted.pools.iter().all(|one| one.uid != pool.uid));
        after.pools.extend(others.filter(|pool| stays(&pool.uid)).cloned().collect::<Vec<_>>());
        if self.guard_most.is_some_and(|most| after.encoded_len() > most) {
            return Err(failed(ApiFailure::Unavailable));
        }
        if after != before {
            self.writes.push("guard".to_owned());
            self.put_guard(after);
        }
        let uids =
            |guard: &PoolGuard| guard.pools.iter().map(|pool| pool.uid.clone()).collect::<BTreeSet<_>>();
        Ok(Some(PoolGuardWrite { added: &uids(wanted) - &uids(&before), version: self.guard_version() }))
    }

    fn put_guard(&mut self, guard: PoolGuard) {
        self.version += 1;
        (self.guard, self.guard_version) = (Some(guard), self.version);
    }

    fn same_version(&self, seen: &PoolFact) -> Result<PoolFact, PoolEffectFailure> {
        let live = self.pools.get(&seen.uid).ok_or(failed(ApiFailure::NotFound))?;
        let same = live.version == seen.version && !self.undecodable.contains(&seen.uid);
        if same { Ok(live.clone()) } else { Err(failed(ApiFailure::Conflict)) }
    }

    /// The precondition that the client checks before it writes a node for a pool, or evicts a pod for it.
    fn same_as_decided(&self, seen: &PoolFact) -> Result<(), PoolEffectFailure> {
        let same = |live: &&PoolFact| {
            live.generation == seen.generation
                && live.finalizers == seen.finalizers
                && live.pool.leaving == seen.pool.leaving
                && live.pool.applied_marks == seen.pool.applied_marks
        };
        let live = self.pools.get(&seen.uid).filter(|_| !self.undecodable.contains(&seen.uid));
        live.filter(same).map(|_| ()).ok_or(failed(ApiFailure::Conflict))
    }

    fn patch_node(
        &mut self,
        mut live: PoolNodeFact,
        patch: &NodePatch,
    ) -> Result<PoolResponse, PoolEffectFailure> {
        let NodePatch { edits, pool } = patch;
        if edits.is_empty() {
            return Ok(PoolResponse::Node { fact: Box::new(live), is_written: false });
        }
        if let Some(pool) = pool {
            self.same_as_decided(pool)?;
            let live = &self.pools[&pool.uid];
            assert!(
                live.has_finalizer(),
                "{:?} is written before {} has the finalizer",
                edits,
                live.pool.name
            );
            let remembers =
                |taint: &_| live.pool.applied_marks.iter().any(|mark| mark.taint().as_ref() == Some(taint));
            assert!(edits.add_taints.iter().all(remembers), "{edits:?} is not remembered: {live:?}");
        }
        let node = &mut live.node;
        for gone in &edits.remove_taints {
            let at = node.taints.iter().position(|one| one == gone).ok_or(failed(ApiFailure::Conflict))?;
            node.taints.remove(at);
        }
        node.taints.extend(edits.add_taints.iter().cloned());
        for gone in &edits.remove_labels {
            node.labels.remove(&gone.key);
        }
        for new in &edits.add_labels {
            node.labels.insert(new.key.clone(), new.value.clone());
        }
        match &edits.record {
            Some(RecordEdit::Write(record)) => node.record = Some(record.clone()),
            Some(RecordEdit::Remove) => node.record = None,
            None => {}
        }
        self.writes.push(format!("node {}", node.name));
        Ok(PoolResponse::Node { fact: Box::new(self.put_node(live)), is_written: true })
    }
}

/// Lists these objects.
pub fn list<F>(facts: impl Iterator<Item = F>) -> impl Iterator<Item = ObjectEvent<F>> {
    let applied = facts.map(|fact| ObjectEvent::Applied { fact, listed: true });
    [ObjectEvent::ListStarted { silent_since: None }]
        .into_iter()
        .chain(applied)
        .chain([ObjectEvent::ListCompleted])
}

/// The exemptions of all tests.
pub fn exemptions() -> Arc<PoolExemptions> {
    Arc::default()
}
