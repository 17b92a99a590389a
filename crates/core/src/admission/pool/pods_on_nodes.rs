//! Stores the pods that run on nodes, in few bytes, for the counts in the status of pools.
//!
//! - Invariant: nothing is kept before a list has started; equal lists of tolerations and owners are stored once.
//! - See `status.rs` for the counts.

use super::status::PodOnNode;
use crate::admission::request::PodIdentity;
use crate::identity::{NodeName, PodId, Uid};
use crate::intern::SharedInterner;
use crate::scheduling::Labels;
use crate::toleration::Toleration;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

/// A pod that has a node and has not terminated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodOnNodeFact {
    /// UID, namespace and name.
    pub id: PodId,
    /// Its identity, which decides its membership in pools.
    pub identity: PodIdentity,
    /// `spec.nodeName`.
    pub node: NodeName,
    /// `spec.tolerations`.
    pub tolerations: Vec<Toleration>,
    /// `metadata.deletionTimestamp` is set: it terminates by itself.
    pub leaving: bool,
}

impl PodOnNodeFact {
    /// Returns the pod with the labels of its namespace.
    pub fn resident<'r>(&'r self, namespace: Option<&'r Labels>) -> PodOnNode<'r> {
        let Self { id, identity, node, tolerations, leaving } = self;
        PodOnNode {
            uid: id.uid(),
            name: id.name(),
            identity,
            namespace,
            node: node.as_str(),
            tolerations,
            leaving: *leaving,
        }
    }
}

/// All pods on nodes.
#[derive(Clone, Debug, Default)]
pub struct PodsOnNodes {
    /// By node, and within a node sorted by UID; no list is empty.
    nodes: BTreeMap<NodeName, Vec<TrackedPodOnNode>>,
    shared: SharedValues,
    /// Counts lists.
    list: u32,
    synced: bool,
}

/// A stored pod.
#[derive(Clone, Debug)]
struct TrackedPodOnNode {
    id: PodId,
    identity: Arc<PodIdentity>,
    tolerations: Arc<Vec<Toleration>>,
    leaving: bool,
    /// The list in which, or after which, it was last observed.
    list: u32,
}

#[derive(Clone, Debug, Default)]
struct SharedValues {
    identities: SharedInterner<PodIdentity>,
    tolerations: SharedInterner<Vec<Toleration>>,
}

impl SharedValues {
    fn take(&mut self, fact: PodOnNodeFact, list: u32) -> TrackedPodOnNode {
        TrackedPodOnNode {
            id: fact.id,
            identity: self.identities.take(fact.identity),
            tolerations: self.tolerations.take(fact.tolerations),
            leaving: fact.leaving,
            list,
        }
    }

    fn give_back(&mut self, pod: &TrackedPodOnNode) {
        self.identities.give_back(&pod.identity);
        self.tolerations.give_back(&pod.tolerations);
    }
}

impl TrackedPodOnNode {
    fn on<'r>(&'r self, node: &'r NodeName) -> PodOnNode<'r> {
        PodOnNode {
            uid: self.id.uid(),
            name: self.id.name(),
            identity: &self.identity,
            namespace: None,
            node: node.as_str(),
            tolerations: &self.tolerations,
            leaving: self.leaving,
        }
    }

    fn is_equivalent(&self, fact: &PodOnNodeFact) -> bool {
        (&*self.identity, &*self.tolerations, self.leaving)
            == (&fact.identity, &fact.tolerations, fact.leaving)
    }
}

impl PodsOnNodes {
    /// Starts a list.
    pub fn begin(&mut self) {
        self.list = self.list.wrapping_add(1).max(1);
    }

    /// Completes the list: a pod that is not in it is gone. Returns whether that changes anything.
    pub fn end(&mut self) -> bool {
        if self.list == 0 {
            return false;
        }
        let (list, before, shared) = (self.list, self.len(), &mut self.shared);
        self.nodes.retain(|_, pods| {
            pods.retain(|pod| {
                let stays = pod.list == list;
                if !stays {
                    shared.give_back(pod);
                }
                stays
            });
            !pods.is_empty()
        });
        let first = !core::mem::replace(&mut self.synced, true);
        first || self.len() != before
    }

    /// Stores the latest state of a pod. Returns whether that changes anything.
    pub fn put(&mut self, fact: PodOnNodeFact) -> bool {
        if self.list == 0 {
            return false;
        }
        let pods = self.nodes.entry(fact.node.clone()).or_default();
        match position(pods, fact.id.uid()) {
            Ok(at) if pods[at].is_equivalent(&fact) => {
                (pods[at].id, pods[at].list) = (fact.id, self.list);
                return false;
            }
            Ok(at) => {
                self.shared.give_back(&pods[at]);
                pods[at] = self.shared.take(fact, self.list);
            }
            Err(at) => pods.insert(at, self.shared.take(fact, self.list)),
        }
        true
    }

    /// Removes a pod that is gone, has terminated, or cannot be decoded. Returns whether that changes anything. If the
    /// node is not given, every node is searched.
    pub fn remove(&mut self, uid: &Uid, node: Option<&NodeName>) -> bool {
        let has = |pods: &Vec<TrackedPodOnNode>| position(pods, uid).is_ok();
        let found = || self.nodes.iter().find(|(_, pods)| has(pods)).map(|(node, _)| node.clone());
        let Some(node) = node.cloned().or_else(found) else { return false };
        let Some(pods) = self.nodes.get_mut(&node) else { return false };
        let Ok(at) = position(pods, uid) else { return false };
        self.shared.give_back(&pods.remove(at));
        if pods.is_empty() {
            self.nodes.remove(&node);
        }
        true
    }

    /// Whether a list was ever completed.
    pub fn is_synced(&self) -> bool {
        self.synced
    }

    /// Returns the number of pods.
    pub fn len(&self) -> usize {
        self.nodes.values().map(Vec::len).sum()
    }

    /// Whether there are no pods.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the pods on some nodes, and those of some identities; each predicate is called once for a node or an
    /// identity, however many pods there are. Namespaces are left open.
    pub fn of<'r>(
        &'r self,
        on: &dyn Fn(&NodeName) -> bool,
        whose: &dyn Fn(&PodIdentity) -> bool,
    ) -> Vec<PodOnNode<'r>> {
        let identities: BTreeSet<*const PodIdentity> =
            self.shared.identities.values().filter(|identity| whose(identity)).map(Arc::as_ptr).collect();
        let mut counting = Vec::new();
        for (node, pods) in &self.nodes {
            let all = on(node);
            let counts = |pod: &&TrackedPodOnNode| all || identities.contains(&Arc::as_ptr(&pod.identity));
            counting.extend(pods.iter().filter(counts).map(|pod| pod.on(node)));
        }
        counting
    }
}

fn position(pods: &[TrackedPodOnNode], uid: &Uid) -> Result<usize, usize> {
    pods.binary_search_by(|pod| pod.id.uid().cmp(uid))
}
