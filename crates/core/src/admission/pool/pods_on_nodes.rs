//! Stores the pods that run on nodes, in few bytes, for the counts in the status of pools.
//!
//! - Invariant: nothing is kept before a list has started; equal lists of tolerations, owners and node names are stored
//!   once.
//! - See `status.rs` for the counts.

use super::status::PodOnNode;
use crate::admission::request::PodIdentity;
use crate::identity::{NodeName, PodName, Uid};
use crate::intern::SharedInterner;
use crate::scheduling::Labels;
use crate::toleration::Toleration;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

/// A pod that has a node and is not over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodOnNodeFact {
    /// Which incarnation.
    pub uid: Uid,
    /// Namespace and name.
    pub name: PodName,
    /// Whose it is.
    pub identity: PodIdentity,
    /// `spec.nodeName`.
    pub node: NodeName,
    /// `spec.tolerations`.
    pub tolerations: Vec<Toleration>,
    /// `metadata.deletionTimestamp` is set: it goes by itself.
    pub leaving: bool,
}

impl PodOnNodeFact {
    /// The same, with the labels of its namespace.
    pub fn resident<'r>(&'r self, namespace: Option<&'r Labels>) -> PodOnNode<'r> {
        let Self { uid, name, identity, node, tolerations, leaving } = self;
        PodOnNode { uid, name, identity, namespace, node: node.as_str(), tolerations, leaving: *leaving }
    }
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub struct PodsOnNodes {
    pods: BTreeMap<Uid, TrackedPodOnNode>,
    shared: SharedValues,
    /// Counts lists.
    list: u32,
    synced: bool,
}

/// One pod as it is remembered.
#[derive(Clone, Debug)]
struct TrackedPodOnNode {
    name: PodName,
    identity: Arc<PodIdentity>,
    node: Arc<NodeName>,
    tolerations: Arc<Vec<Toleration>>,
    leaving: bool,
    /// The list in which, or after which, it was last heard of.
    list: u32,
}

#[derive(Clone, Debug, Default)]
struct SharedValues {
    identities: SharedInterner<PodIdentity>,
    nodes: SharedInterner<NodeName>,
    tolerations: SharedInterner<Vec<Toleration>>,
}

impl SharedValues {
    fn take(&mut self, fact: PodOnNodeFact, list: u32) -> TrackedPodOnNode {
        TrackedPodOnNode {
            name: fact.name,
            identity: self.identities.take(fact.identity),
            node: self.nodes.take(fact.node),
            tolerations: self.tolerations.take(fact.tolerations),
            leaving: fact.leaving,
            list,
        }
    }

    fn give_back(&mut self, pod: &TrackedPodOnNode) {
        self.identities.give_back(&pod.identity);
        self.nodes.give_back(&pod.node);
        self.tolerations.give_back(&pod.tolerations);
    }
}

impl TrackedPodOnNode {
    fn says(&self, fact: &PodOnNodeFact) -> bool {
        (&*self.identity, &*self.node, &*self.tolerations, self.leaving)
            == (&fact.identity, &fact.node, &fact.tolerations, fact.leaving)
    }
}

impl PodsOnNodes {
    /// A list begins.
    pub fn begin(&mut self) {
        self.list = self.list.wrapping_add(1).max(1);
    }

    /// The list is complete: whoever is not in it has gone. Whether that changes anything.
    pub fn end(&mut self) -> bool {
        if self.list == 0 {
            return false;
        }
        let (list, before, shared) = (self.list, self.pods.len(), &mut self.shared);
        self.pods.retain(|_, pod| {
            let stays = pod.list == list;
            if !stays {
                shared.give_back(pod);
            }
            stays
        });
        let first = !core::mem::replace(&mut self.synced, true);
        first || self.pods.len() != before
    }

    /// The latest word on a pod. Whether it changes anything.
    pub fn put(&mut self, fact: PodOnNodeFact) -> bool {
        if self.list == 0 {
            return false;
        }
        if let Some(pod) = self.pods.get_mut(&fact.uid)
            && pod.says(&fact)
        {
            pod.list = self.list;
            return false;
        }
        self.remove(&fact.uid);
        let uid = fact.uid.clone();
        self.pods.insert(uid, self.shared.take(fact, self.list));
        true
    }

    /// A pod that has gone, is over, or cannot be read: it counts for nobody. Whether that changes anything.
    pub fn remove(&mut self, uid: &Uid) -> bool {
        let gone = self.pods.remove(uid);
        gone.inspect(|pod| self.shared.give_back(pod)).is_some()
    }

    /// Whether a list was ever complete.
    pub fn is_synced(&self) -> bool {
        self.synced
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.pods.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pods.is_empty()
    }

    /// The pods on some nodes, and those of some identities; each node and identity is asked about once, however many
    /// pods there are. Namespaces are left open.
    pub fn of<'r>(
        &'r self,
        on: &dyn Fn(&NodeName) -> bool,
        whose: &dyn Fn(&PodIdentity) -> bool,
    ) -> impl Iterator<Item = PodOnNode<'r>> + use<'r> {
        let nodes: BTreeSet<*const NodeName> =
            self.shared.nodes.values().filter(|node| on(node)).map(Arc::as_ptr).collect();
        let identities: BTreeSet<*const PodIdentity> =
            self.shared.identities.values().filter(|identity| whose(identity)).map(Arc::as_ptr).collect();
        let counts = move |pod: &TrackedPodOnNode| {
            nodes.contains(&Arc::as_ptr(&pod.node)) || identities.contains(&Arc::as_ptr(&pod.identity))
        };
        self.pods.iter().filter(move |(_, pod)| counts(pod)).map(|(uid, pod)| PodOnNode {
            uid,
            name: &pod.name,
            identity: &pod.identity,
            namespace: None,
            node: pod.node.as_str(),
            tolerations: &pod.tolerations,
            leaving: pod.leaving,
        })
    }
}
