//! Reads which eviction policy governs a due pod, and says what the pod waits for.
//!
//! - Invariant: only what objects show is reported. What cannot be read is called unknown.

use super::pod::due_taints;
use crate::cluster_state::ObjectLists;
use crate::messages::at_moment;
use std::collections::BTreeMap;
use taintward_core::admission::LabelSelector;
use taintward_core::api_error::ApiFailure;
use taintward_core::cluster_snapshot::{ClusterSnapshot, SnapshotPod};
use taintward_core::eviction::EvictionDelayReason;
use taintward_core::eviction_policy::{
    BudgetFact, EvictionPolicy, EvictionPolicyFact, EvictionSubject, NamespaceLabelsFact, governing,
};
use taintward_core::scheduling::Labels;
use taintward_core::time::{Mono, Now};
use taintward_kube::api::RequestError;
use taintward_kube::api::paged_list::ListRequest;
use taintward_kube::decode::{DecodeError, Decoded, Encoding, WatchedObject};

/// The policies of a cluster or of files, and what they need to know about due pods.
#[derive(Debug, Default)]
pub(super) struct ClusterPolicies {
    policies: Vec<EvictionPolicyFact>,
    /// Names of policies that cannot be decoded.
    undecodable: Vec<String>,
    budgets: Vec<BudgetFact>,
    namespaces: BTreeMap<Box<str>, Labels>,
    /// The first read that failed.
    error: Option<RequestError>,
}

impl ClusterPolicies {
    /// Reads them, if a pod of the snapshot is due. A cluster without the kind has no policies.
    pub(super) async fn of(lists: ObjectLists<'_>, snapshot: &ClusterSnapshot) -> Self {
        let mut all = Self::default();
        if !snapshot.pods().iter().any(|pod| !due_taints(snapshot, pod).is_empty()) {
            return all;
        }
        let read = all.read(lists).await;
        all.error = read.err().filter(|error| error.failure != ApiFailure::NotFound);
        all
    }

    async fn read(&mut self, lists: ObjectLists<'_>) -> Result<(), RequestError> {
        let Self { policies, undecodable, budgets, namespaces, .. } = self;
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
        if policies.iter().any(|fact| fact.policy.budgets.is_some()) {
            let mut add = |json: &[u8]| decoded(json).map(|fact: BudgetFact| budgets.push(fact));
            lists.each(ListRequest::all("policy", "poddisruptionbudgets"), &mut add).await?;
        }
        if policies.iter().any(|fact| fact.policy.namespaces != LabelSelector::default()) {
            let mut add = |json: &[u8]| {
                decoded(json).map(|fact: NamespaceLabelsFact| drop(namespaces.insert(fact.name, fact.labels)))
            };
            lists.each(ListRequest::all("", "namespaces"), &mut add).await?;
        }
        Ok(())
    }

    /// What a policy does with a due pod, in sentences; empty if no policy governs it.
    pub(super) fn sentences(
        &self,
        snapshot: &ClusterSnapshot,
        (pod, node): (&SnapshotPod, &Labels),
        due: Mono,
    ) -> Vec<String> {
        if let Some(error) = &self.error {
            return vec![format!("it is unknown whether an eviction policy delays it: {error}")];
        }
        if !self.undecodable.is_empty() {
            let names = self.undecodable.join(", ");
            return vec![format!("an eviction policy that cannot be decoded may delay it: {names}")];
        }
        let (labels, none) = (&snapshot.label_sets()[pod.labels as usize], Labels::new());
        let namespace = self.namespaces.get(pod.name.namespace()).unwrap_or(&none);
        let subject = EvictionSubject { node, namespace, pod: labels };
        let taints = due_taints(snapshot, pod);
        let Some(fact) = governing(&self.policies, taints.iter().map(|one| &one.taint), subject) else {
            return Vec::new();
        };
        let name = &fact.policy.name;
        let mut sentences =
            vec![format!("eviction policy {name} governs it: {}", rules(&fact.policy, due, snapshot.now()))];
        if do_budgets_count(&fact.policy, due, snapshot.now()) {
            sentences.extend(self.budget(pod, labels));
        }
        if !fact.policy.is_valid() {
            sentences.push(format!(
                "eviction policy {name} is invalid, and delays what it selects until it is corrected"
            ));
        }
        if fact.recorded.conditions.is_empty() {
            sentences.push(format!(
                "no controller has reported on eviction policy {name} yet; taintward run honors policies with \
                 --eviction-policies only"
            ));
        }
        sentences
    }

    /// The budget that the pod waits for, if one allows no disruption now.
    fn budget(&self, pod: &SnapshotPod, labels: &Labels) -> Option<String> {
        let selecting = self
            .budgets
            .iter()
            .filter(|fact| *fact.budget.namespace == *pod.name.namespace() && fact.budget.selects(labels));
        let selecting: Vec<&BudgetFact> = selecting.collect();
        let reason = match selecting[..] {
            [] => return None,
            [only] if only.allowed == Some(0) => EvictionDelayReason::Budget(only),
            [_] => return None,
            _ => EvictionDelayReason::SeveralBudgets,
        };
        Some(format!("it {reason}"))
    }
}

fn decoded<F: WatchedObject>(json: &[u8]) -> Result<F, DecodeError> {
    match F::decode(Encoding::Json, json) {
        Decoded::Object(fact) => Ok(fact),
        Decoded::Unbound(identity) => Err(DecodeError::new(format!("{} has no content", identity.name))),
        Decoded::Undecodable(object) => Err(DecodeError::new(object.why)),
    }
}

/// Whether the budgets of a pod that has been due since then still count.
fn do_budgets_count(policy: &EvictionPolicy, due: Mono, now: Now) -> bool {
    let is_over = |deadline| due.plus(deadline) <= now.mono;
    policy.budgets.is_some_and(|budgets| !budgets.deadline.is_some_and(is_over))
}

/// The rules of a policy, for a pod that has been due since then.
fn rules(policy: &EvictionPolicy, due: Mono, now: Now) -> String {
    let budgets = policy.budgets.map(|budgets| match budgets.deadline.map(|deadline| due.plus(deadline)) {
        None => "its disruption budgets count without a deadline".to_owned(),
        Some(until) if until > now.mono => {
            format!(
                "its disruption budgets count until {}; then it is deleted in spite of them",
                at_moment(now, until)
            )
        }
        Some(until) => format!("its disruption budgets counted until {}", at_moment(now, until)),
    });
    let limit = policy.unavailable_per_workload.map(|limit| {
        let replicas = limit.replicas.map(|replicas| replicas.to_string());
        let percent = limit.percent.map(|percent| format!("{percent}%"));
        let both: Vec<String> = replicas.into_iter().chain(percent).collect();
        format!("at most {} replicas of its workload may be unavailable", both.join(" or "))
    });
    let all = [
        budgets,
        policy.pods_per_minute.map(|pods| format!("at most {pods} pods are evicted per minute")),
        policy.nodes_at_once.map(|nodes| format!("at most {nodes} nodes are emptied at once")),
        limit,
        policy.order.map(|_| "pods of lower priority leave its node first".to_owned()),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    if all.is_empty() { "it has no rule that delays it".to_owned() } else { all.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taintward_core::eviction_policy::BudgetRespect;
    use taintward_core::time::{Span, Wall};

    #[test]
    fn budgets_count_until_their_deadline() {
        let now = Now::exact(Mono::from_secs(100), Wall::from_secs(1_800_000_000));
        let with = |budgets| EvictionPolicy { budgets, ..EvictionPolicy::default() };
        let deadline = |seconds| Some(BudgetRespect { deadline: Some(Span::from_secs(seconds)) });
        let due = Mono::from_secs(40);
        for (budgets, expected) in [
            (None, false),
            (Some(BudgetRespect { deadline: None }), true),
            (deadline(61), true),
            (deadline(60), false),
        ] {
            assert_eq!(do_budgets_count(&with(budgets), due, now), expected, "{budgets:?}");
        }
        assert!(rules(&with(deadline(60)), due, now).starts_with("its disruption budgets counted until"));
    }
}
