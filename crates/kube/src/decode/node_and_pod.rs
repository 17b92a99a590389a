//! Defines the watched kinds node, pod and lease: their paths, decoders and facts.

use super::format;
use super::{ApiResource, Decoded, DecodedNode, DecodedPod, Encoding, ObjectIdentity, WatchedObject};
use taintward_core::dedicated_pools::PoolNodeFact;
use taintward_core::fact::{NodeFact, PodFact, PodLifePhase};
use taintward_core::identity::{NodeName, ResourceVersion};
use taintward_core::node_lifecycle::LeaseFact;

/// The namespace of the nodes' leases (NL-10).
pub const NODE_LEASES: &str = "kube-node-lease";

/// A node with the parts of the engines and of pools, if both read one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeForAllControllers {
    /// For the engines.
    pub node: DecodedNode,
    /// For pools. Decoded separately: what only they cannot decode is still understood by the others (D11).
    pub member: Decoded<PoolNodeFact>,
}

impl NodeForAllControllers {
    /// Returns the fact for taint eviction with labels, which eviction policies need. `None`: if they cannot be decoded, nor
    /// can the node, because a policy might delay evictions from it.
    pub fn labelled(&self) -> Option<NodeFact> {
        let Decoded::Object(member) = &self.member else { return None };
        let labels = Some(Box::new(member.node.labels.clone()));
        Some(NodeFact { labels, ..self.node.taints.clone() })
    }
}

/// A pod that is read because a request about it failed: in more detail than watched pods, of which there are too many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TerminatingPod {
    /// The pod.
    pub(crate) pod: DecodedPod,
    /// Its deletion has started and waits for nothing: no grace period is left, and it has no finalizer. Its removal is
    /// the second half of the same request, and was interrupted.
    pub(crate) half_deleted: bool,
}

impl<F> Decoded<F> {
    /// The same for a part of the fact.
    pub fn map<P>(self, part: impl FnOnce(F) -> P) -> Decoded<P> {
        match self {
            Self::Object(fact) => Decoded::Object(part(fact)),
            Self::Unbound(identity) => Decoded::Unbound(identity),
            Self::Undecodable(unreadable) => Decoded::Undecodable(unreadable),
        }
    }
}

fn of_node(name: &NodeName, version: Option<ResourceVersion>) -> ObjectIdentity {
    ObjectIdentity { name: name.as_str().to_owned(), version, ..ObjectIdentity::default() }
}

impl WatchedObject for DecodedNode {
    const RESOURCE: ApiResource = ApiResource::NODES;

    fn decode(encoding: Encoding, bytes: &[u8]) -> Decoded<Self> {
        format::decode(encoding, bytes)
    }

    fn identity(&self) -> ObjectIdentity {
        self.taints.identity()
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.taints.version
    }
}

impl WatchedObject for NodeForAllControllers {
    const RESOURCE: ApiResource = ApiResource::NODES;

    fn decode(encoding: Encoding, bytes: &[u8]) -> Decoded<Self> {
        DecodedNode::decode(encoding, bytes)
            .map(|node| Self { node, member: PoolNodeFact::decode(encoding, bytes) })
    }

    fn identity(&self) -> ObjectIdentity {
        self.node.identity()
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.node.version()
    }
}

impl WatchedObject for NodeFact {
    const RESOURCE: ApiResource = ApiResource::NODES;

    fn decode(encoding: Encoding, bytes: &[u8]) -> Decoded<Self> {
        DecodedNode::decode(encoding, bytes).map(|decoded| decoded.taints)
    }

    fn identity(&self) -> ObjectIdentity {
        ObjectIdentity { uid: Some(self.uid.clone()), ..of_node(&self.name, self.version) }
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.version
    }
}

impl WatchedObject for DecodedPod {
    const RESOURCE: ApiResource = ApiResource::PODS;

    fn decode(encoding: Encoding, bytes: &[u8]) -> Decoded<Self> {
        format::decode(encoding, bytes)
    }

    fn identity(&self) -> ObjectIdentity {
        self.pod.identity()
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.pod.version
    }
}

impl WatchedObject for PodFact {
    const RESOURCE: ApiResource = ApiResource::PODS;

    fn decode(encoding: Encoding, bytes: &[u8]) -> Decoded<Self> {
        DecodedPod::decode(encoding, bytes).map(|decoded| decoded.pod)
    }

    fn identity(&self) -> ObjectIdentity {
        ObjectIdentity {
            uid: Some(self.id.uid().clone()),
            namespace: self.id.name().namespace().to_owned(),
            name: self.id.name().name().to_owned(),
            node: Some(self.node.clone()),
            version: self.version,
        }
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.version
    }
}

impl WatchedObject for TerminatingPod {
    const RESOURCE: ApiResource = ApiResource::PODS;

    fn decode(encoding: Encoding, bytes: &[u8]) -> Decoded<Self> {
        DecodedPod::decode(encoding, bytes).map(|pod| {
            let half_deleted =
                pod.pod.life_phase == PodLifePhase::Terminating && format::waits_for_nothing(encoding, bytes);
            Self { pod, half_deleted }
        })
    }

    fn identity(&self) -> ObjectIdentity {
        self.pod.identity()
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.pod.version()
    }
}

impl WatchedObject for LeaseFact {
    const RESOURCE: ApiResource = ApiResource::NODE_LEASES;

    fn decode(encoding: Encoding, bytes: &[u8]) -> Decoded<Self> {
        format::decode(encoding, bytes)
    }

    /// Without the UID: a lease belongs to the node with its name.
    fn identity(&self) -> ObjectIdentity {
        ObjectIdentity { namespace: NODE_LEASES.to_owned(), ..of_node(&self.node, self.version) }
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.version
    }
}
