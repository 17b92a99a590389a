//! Says which eviction policy governs a due pod, and what the pod waits for.
//!
//! - Invariant: only what objects show is reported. What cannot be read is called unknown.

use super::pod::due_taints;
use crate::active_controllers::ActiveControllers;
use crate::cluster_state::ObjectLists;
use crate::eviction_delays::{ClusterPolicies, DueDelays, PolicySubject};
use crate::messages::at_moment;
use taintward_core::cluster_snapshot::{ClusterSnapshot, SnapshotPod};
use taintward_core::eviction_policy::EvictionPolicy;
use taintward_core::identity::Uid;
use taintward_core::scheduling::Labels;
use taintward_core::time::{Mono, Now};
use taintward_kube::hold_request::HOLD;

/// Reads the policies, if a pod of the snapshot is due or held, and removes the holds that they forbid. Reads what delays
/// due pods, if one is due. Without `controllers`, the lists are those of files.
pub(super) async fn read(
    lists: ObjectLists<'_>,
    controllers: Option<&ActiveControllers>,
    snapshot: &mut ClusterSnapshot,
) -> (ClusterPolicies, DueDelays) {
    let is_any_due =
        |snapshot: &ClusterSnapshot| snapshot.pods().iter().any(|pod| !due_taints(snapshot, pod).is_empty());
    if !snapshot.has_ordered_holds_of_pods() && !is_any_due(snapshot) {
        return <(ClusterPolicies, DueDelays)>::default();
    }
    let mut policies = ClusterPolicies::read(lists).await;
    policies.ignore_forbidden_holds(snapshot, &[]);
    let delays = match is_any_due(snapshot) {
        true => DueDelays::read(lists, controllers, snapshot.numeric(), snapshot.now().wall).await,
        false => DueDelays::default(),
    };
    (policies, delays)
}

/// What a policy does with a due pod, in sentences; empty if no policy governs it.
pub(super) fn sentences(
    policies: &ClusterPolicies,
    snapshot: &ClusterSnapshot,
    (pod, node): (&SnapshotPod, &Labels),
    due: Mono,
) -> Vec<String> {
    if let Some(error) = &policies.error {
        return vec![format!("it is unknown whether an eviction policy delays it: {error}")];
    }
    if !policies.undecodable.is_empty() {
        let names = policies.undecodable.join(", ");
        return vec![format!("an eviction policy that cannot be decoded may delay it: {names}")];
    }
    let labels = &snapshot.label_sets()[pod.labels as usize];
    let subject = PolicySubject { namespace: pod.name.namespace(), labels, node };
    let taints = due_taints(snapshot, pod);
    let Some(fact) = policies.governing(taints.iter().map(|one| &one.taint), subject) else {
        return Vec::new();
    };
    let name = &fact.policy.name;
    let mut sentences =
        vec![format!("eviction policy {name} governs it: {}", rules(&fact.policy, due, snapshot.now()))];
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

/// Why the hold of a pod does not count, if it has one that a policy forbids.
pub(super) fn forbidden_hold(policies: &ClusterPolicies, pod: &Uid) -> Option<String> {
    let policy = policies.forbidding_holds(pod)?;
    Some(format!(
        "its annotation {HOLD} delays nothing: eviction policy {policy} forbids holds of pods (allowHolds: false)"
    ))
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
        let with = |seconds| {
            let budgets = Some(BudgetRespect { deadline: Some(Span::from_secs(seconds)) });
            rules(&EvictionPolicy { budgets, ..EvictionPolicy::default() }, Mono::from_secs(40), now)
        };
        assert!(with(60).starts_with("its disruption budgets counted until"));
        assert!(with(61).starts_with("its disruption budgets count until"));
    }
}
