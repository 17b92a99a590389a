//! What the engine and the cluster show: delayed pods, forced deletions, ready pods.

use super::{World, WorldPod};
use taintward_core::eviction::{EvictionDelayReason, EvictionNotice};
use taintward_core::identity::NodeName;

impl World {
    /// The pods that wait, with policy and reason.
    pub(crate) fn reasons(&self) -> Vec<(String, String)> {
        let delayed = self.engine.delayed().map(|delayed| {
            let reason = match delayed.reason {
                EvictionDelayReason::Budget(budget) => format!("Budget {}", budget.budget.name),
                EvictionDelayReason::Replicas(workload) => format!("Replicas {workload}"),
                EvictionDelayReason::Nodes { emptied, .. } => {
                    let names: Vec<&str> =
                        emptied.iter().flat_map(|all| all.iter().map(NodeName::as_str)).collect();
                    format!("Nodes {}", names.join(" "))
                }
                reason => format!("{reason:?}"),
            };
            (delayed.pod.uid.to_string(), format!("{} {reason}", delayed.policy.unwrap_or("-")))
        });
        delayed.collect()
    }

    /// The pods that this process has reported as deleted in spite of their budgets under a policy.
    pub(crate) fn forced(&self, policy: &str) -> u64 {
        let is_forced = |notice: &&EvictionNotice| {
            let EvictionNotice::Evicted { reason, .. } = notice else { return false };
            let policy_then = reason.policy.as_ref();
            policy_then.is_some_and(|one| one.is_forced && *one.name == *policy)
        };
        self.notices[self.notices_of_crashed..].iter().filter(is_forced).count() as u64
    }

    pub(crate) fn ready(&self, app: &str) -> u32 {
        let is_ready =
            |pod: &&WorldPod| pod.app == app && !pod.is_terminating && pod.fact.ready == Some(true);
        u32::try_from(self.pods.values().filter(is_ready).count()).unwrap()
    }
}
