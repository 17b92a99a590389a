//! Reads the eviction policies of a cluster or of files, with the labels of namespaces that they need.
//!
//! - Invariant: what cannot be read is an error, and what does not exist is known to be absent.

use crate::cluster_state::ObjectLists;
use std::collections::BTreeMap;
use taintward_core::admission::LabelSelector;
use taintward_core::api_error::ApiFailure;
use taintward_core::cluster_snapshot::ClusterSnapshot;
use taintward_core::eviction_policy::{
    EvictionPolicyFact, EvictionSubject, NamespaceLabelsFact, forbidding_holds, governing,
};
use taintward_core::forecast::PlannedNodeChange;
use taintward_core::identity::Uid;
use taintward_core::scheduling::Labels;
use taintward_core::taint::{Taint, TaintEffect};
use taintward_kube::api::RequestError;
use taintward_kube::api::paged_list::ListRequest;
use taintward_kube::decode::{DecodeError, Decoded, Encoding, WatchedObject};

/// The policies, and what they need to know about pods.
#[derive(Debug, Default)]
pub(crate) struct ClusterPolicies {
    policies: Vec<EvictionPolicyFact>,
    /// Names of policies that cannot be decoded.
    pub(crate) undecodable: Vec<String>,
    namespaces: BTreeMap<Box<str>, Labels>,
    /// They are in files, which need not have the statuses that a controller writes.
    are_files: bool,
    /// The pods whose holds were removed, by UID, each with the policy that forbids them.
    ignored_holds: BTreeMap<Uid, Box<str>>,
    /// The first read that failed.
    pub(crate) error: Option<RequestError>,
}

/// What a policy selects a pod by: the pod's namespace, its labels, and those of its node.
#[derive(Clone, Copy)]
pub(crate) struct PolicySubject<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) labels: &'a Labels,
    pub(crate) node: &'a Labels,
}

impl ClusterPolicies {
    /// A cluster without the kind has no policies.
    pub(crate) async fn read(lists: ObjectLists<'_>) -> Self {
        let mut all = Self { are_files: matches!(lists, ObjectLists::Files(_)), ..Self::default() };
        let read = all.read_objects(lists).await;
        all.error = read.err().filter(|error| error.failure != ApiFailure::NotFound);
        all
    }

    async fn read_objects(&mut self, lists: ObjectLists<'_>) -> Result<(), RequestError> {
        let Self { policies, undecodable, namespaces, .. } = self;
        let mut add = |json: &[u8]| {
            match EvictionPolicyFact::decode(Encoding::Json, json) {
                Decoded::Object(fact) => policies.push(fact),
                Decoded::Unbound(identity) => undecodable.push(identity.name),
                Decoded::Undecodable(object) => {
                    undecodable
                        .push(object.identity.map_or_else(|| "without a name".to_owned(), |one| one.name));
                }
            }
            Ok(())
        };
        lists.each(ListRequest::all("taintward.io", "evictionpolicies"), &mut add).await?;
        // A user may read one kind and not another.
        if policies.iter().any(|fact| fact.policy.namespaces != LabelSelector::default()) {
            let mut add = |json: &[u8]| {
                decoded(json).map(|fact: NamespaceLabelsFact| drop(namespaces.insert(fact.name, fact.labels)))
            };
            lists.each(ListRequest::all("", "namespaces"), &mut add).await?;
        }
        Ok(())
    }

    /// The policy of an eviction that all of these taints demand.
    pub(crate) fn governing<'t>(
        &self,
        taints: impl IntoIterator<Item = &'t Taint>,
        subject: PolicySubject<'_>,
    ) -> Option<&EvictionPolicyFact> {
        self.with_namespace(subject, |subject| governing(&self.policies, taints, subject))
    }

    /// Removes the holds of pods that a policy forbids because of present taints, or of those of a plan. A policy of a
    /// cluster counts once a controller has reported on it.
    pub(crate) fn ignore_forbidden_holds(
        &mut self,
        snapshot: &mut ClusterSnapshot,
        changes: &[PlannedNodeChange],
    ) {
        let is_applied = |fact: &&EvictionPolicyFact| self.are_files || !fact.recorded.conditions.is_empty();
        let policies = self.policies.iter().filter(is_applied);
        let mut ignored = BTreeMap::new();
        snapshot.ignore_ordered_holds_of_pods(|pod, node, labels| {
            let evicting = |taint: &&Taint| taint.effect == TaintEffect::NoExecute;
            let of_node = |change: &&PlannedNodeChange| pod.node.is_some_and(|at| at as usize == change.node);
            let planned = changes.iter().filter(of_node).flat_map(|change| &change.taints);
            let taints =
                node.fact.taints.iter().chain(planned.map(|planned| &planned.taint)).filter(evicting);
            let subject = PolicySubject { namespace: pod.name.namespace(), labels, node: &node.labels };
            let fact =
                self.with_namespace(subject, |subject| forbidding_holds(policies.clone(), taints, subject));
            ignored.extend(fact.map(|fact| (pod.uid.clone(), fact.policy.name.clone())));
            fact.is_some()
        });
        self.ignored_holds = ignored;
    }

    /// The policy that forbids the holds of a pod, which were removed because of that.
    pub(crate) fn forbidding_holds(&self, pod: &Uid) -> Option<&str> {
        self.ignored_holds.get(pod).map(|name| &**name)
    }

    /// The names of the policies that forbid holds of the pods that they select.
    pub(crate) fn that_forbid_holds(&self) -> Vec<&str> {
        let forbidding = self.policies.iter().filter(|fact| !fact.policy.allow_holds);
        forbidding.map(|fact| &*fact.policy.name).collect()
    }

    fn with_namespace<T>(
        &self,
        subject: PolicySubject<'_>,
        decide: impl FnOnce(EvictionSubject<'_>) -> T,
    ) -> T {
        let none = Labels::new();
        let namespace = self.namespaces.get(subject.namespace).unwrap_or(&none);
        decide(EvictionSubject { node: subject.node, namespace, pod: subject.labels })
    }
}

/// Removes the holds of pods that a policy forbids, if any pod has one. If policies cannot be read, holds count.
pub(crate) async fn ignore_forbidden_holds(
    lists: ObjectLists<'_>,
    snapshot: &mut ClusterSnapshot,
    changes: &[PlannedNodeChange],
) {
    if snapshot.has_ordered_holds_of_pods() {
        ClusterPolicies::read(lists).await.ignore_forbidden_holds(snapshot, changes);
    }
}

fn decoded<F: WatchedObject>(json: &[u8]) -> Result<F, DecodeError> {
    match F::decode(Encoding::Json, json) {
        Decoded::Object(fact) => Ok(fact),
        Decoded::Unbound(identity) => Err(DecodeError::new(format!("{} has no content", identity.name))),
        Decoded::Undecodable(object) => Err(DecodeError::new(object.why)),
    }
}
