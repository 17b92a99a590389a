//! Defines the watched kinds that eviction policies need: policies, budgets, workloads, labels of namespaces, pods.

use super::format;
use super::pool_objects::{decode_json_only, identity};
use super::{ApiResource, Decoded, DecodedPod, Encoding, NamespaceObject, ObjectIdentity, WatchedObject};
use taintward_core::cluster_snapshot::{OwnerReference, Workload, WorkloadKind};
use taintward_core::eviction_policy::{
    BudgetFact, EvictionPolicyFact, NamespaceLabelsFact, PodTemplateFact, WorkloadFact,
};
use taintward_core::fact::PodFact;
use taintward_core::identity::{ResourceVersion, Uid};
use taintward_core::node_lifecycle::ConditionStatus;

/// A pod with what policies select it by: another pass over its bytes, and its labels in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplatedPod {
    /// The pod.
    pub pod: DecodedPod,
    /// The part that policies need. If it cannot be decoded, nor can the pod: a policy might delay its eviction.
    pub template: PodTemplateFact,
}

/// A Deployment, ReplicaSet or StatefulSet.
pub(super) struct ReplicatedObject {
    pub(super) uid: Uid,
    pub(super) version: Option<ResourceVersion>,
    pub(super) namespace: Box<str>,
    pub(super) name: Box<str>,
    /// A Deployment controls it.
    pub(super) is_of_deployment: bool,
    pub(super) replicas: u32,
}

impl ReplicatedObject {
    pub(super) fn is_deployment(owner: Option<OwnerReference<'_>>) -> bool {
        owner.is_some_and(|owner| (owner.group, owner.kind) == ("apps", "Deployment"))
    }

    /// The API's default is one.
    pub(super) fn replicas(written: Option<i32>) -> u32 {
        u32::try_from(written.unwrap_or(1)).unwrap_or(0)
    }

    fn fact(self, kind: WorkloadKind) -> WorkloadFact {
        let Self { uid, version, namespace, name, replicas, .. } = self;
        WorkloadFact { uid, version, workload: Workload { namespace, kind, name }, replicas }
    }
}

/// Defines a watched kind of workloads.
macro_rules! workload {
    ($object:ident, $kind:ident, $plural:literal, $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $object(pub WorkloadFact);

        impl WatchedObject for $object {
            const RESOURCE: ApiResource =
                ApiResource::new("apps", concat!("/apis/apps/v1/", $plural), $plural, stringify!($kind));

            fn decode(encoding: Encoding, bytes: &[u8]) -> Decoded<Self> {
                match format::decode::<ReplicatedObject>(encoding, bytes) {
                    Decoded::Object(found) if found.is_of_deployment => {
                        Decoded::Unbound(Self(found.fact(WorkloadKind::$kind)).identity())
                    }
                    found => found.map(|found| Self(found.fact(WorkloadKind::$kind))),
                }
            }

            fn identity(&self) -> ObjectIdentity {
                let WorkloadFact { uid, version, workload, .. } = &self.0;
                let namespace = workload.namespace.to_string();
                ObjectIdentity { namespace, ..identity(uid, &workload.name, *version) }
            }

            fn version(&self) -> Option<ResourceVersion> {
                self.0.version
            }
        }
    };
}

workload!(DeploymentObject, Deployment, "deployments", "A Deployment.");
workload!(
    ReplicaSetObject,
    ReplicaSet,
    "replicasets",
    "A ReplicaSet that no Deployment controls: the pods of others belong to the Deployment."
);
workload!(StatefulSetObject, StatefulSet, "statefulsets", "A StatefulSet.");

impl WatchedObject for EvictionPolicyFact {
    const RESOURCE: ApiResource = ApiResource::EVICTION_POLICIES;

    fn decode(encoding: Encoding, bytes: &[u8]) -> Decoded<Self> {
        decode_json_only(encoding, bytes)
    }

    fn identity(&self) -> ObjectIdentity {
        identity(&self.uid, &self.policy.name, self.version)
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.version
    }
}

impl WatchedObject for BudgetFact {
    const RESOURCE: ApiResource = ApiResource::DISRUPTION_BUDGETS;
    const JSON_ONLY: bool = true;

    fn decode(encoding: Encoding, bytes: &[u8]) -> Decoded<Self> {
        decode_json_only(encoding, bytes)
    }

    fn identity(&self) -> ObjectIdentity {
        let namespace = self.budget.namespace.to_string();
        ObjectIdentity { namespace, ..identity(&self.uid, &self.budget.name, self.version) }
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.version
    }
}

impl WatchedObject for NamespaceLabelsFact {
    const RESOURCE: ApiResource = ApiResource::NAMESPACES;

    fn decode(encoding: Encoding, bytes: &[u8]) -> Decoded<Self> {
        NamespaceObject::decode(encoding, bytes).map(|NamespaceObject { uid, version, name, facts }| Self {
            uid,
            version,
            name,
            labels: facts.labels,
        })
    }

    fn identity(&self) -> ObjectIdentity {
        identity(&self.uid, &self.name, self.version)
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.version
    }
}

impl TemplatedPod {
    /// Returns a fact about the pod, with what policies need.
    pub fn with_template(&self, fact: PodFact) -> PodFact {
        PodFact {
            ready: Some(self.pod.ready == Some(ConditionStatus::True)),
            template: Some(Box::new(self.template.clone())),
            ..fact
        }
    }
}

impl WatchedObject for TemplatedPod {
    const RESOURCE: ApiResource = ApiResource::PODS;

    fn decode(encoding: Encoding, bytes: &[u8]) -> Decoded<Self> {
        match DecodedPod::decode(encoding, bytes) {
            Decoded::Object(pod) => format::decode(encoding, bytes).map(|template| Self { pod, template }),
            Decoded::Unbound(identity) => Decoded::Unbound(identity),
            Decoded::Undecodable(undecodable) => Decoded::Undecodable(undecodable),
        }
    }

    fn identity(&self) -> ObjectIdentity {
        self.pod.identity()
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.pod.version()
    }
}
