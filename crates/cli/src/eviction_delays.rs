//! Reads what delays due pods: lists everything that decides it once, and asks the controller's own engine.
//!
//! - Invariant: the engine that is asked is private, and no effect of it is carried out.
//! - See `eviction_delays/facts.rs` for what is listed, `eviction_delays/delay_watch.rs` for lists that are watched.

mod cluster_policies;
mod delay_watch;
mod due_delays;
mod facts;

pub(crate) use cluster_policies::{ClusterPolicies, PolicySubject, ignore_forbidden_holds};
pub(crate) use delay_watch::DelayWatch;
pub(crate) use due_delays::{DueDelays, PodWait};
pub(crate) use facts::EvictionFacts;

use crate::args::node_limit::{ParsedLimit, limit};
use crate::cluster_state::ObjectLists;
use crate::controller_deployment::DeploymentFacts;
use crate::messages::{at_moment, stamp};
use serde_json::{Value, json};
use taintward_core::eviction::{
    BrakedKey, DelayCategory, DelayedEviction, EvictionDelayReason, EvictionEngine,
};
use taintward_core::identity::{PodName, PodRef, Uid};
use taintward_core::node_limit::NodeLimit;
use taintward_core::time::{Mono, Now};
use taintward_core::toleration_matching::NumericOperators;
use taintward_kube::api::RequestError;
use taintward_kube::api::paged_list::ListRequest;

/// The settings of the controller that decide about delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DelaySettings {
    pub(crate) numeric: NumericOperators,
    /// Whether it applies eviction policies.
    pub(crate) policies: bool,
    pub(crate) brake: Option<NodeLimit>,
    /// Budgets count because of what is planned, whatever exists.
    pub(crate) plans_budgets: bool,
}

impl DelaySettings {
    /// Those of a Deployment. Without one, a policy that exists counts as applied, and the brake as off.
    pub(crate) fn of(deployment: Option<&DeploymentFacts>, numeric: NumericOperators) -> Self {
        let brake = deployment.and_then(DeploymentFacts::brake_limit).and_then(|text| limit(text).ok());
        Self {
            numeric,
            policies: deployment.is_none_or(DeploymentFacts::applies_policies),
            brake: brake.and_then(ParsedLimit::limit),
            plans_budgets: false,
        }
    }
}

/// The Deployment of the controller; `None`: it has none, as in a sandbox.
pub(crate) async fn deployment(
    lists: ObjectLists<'_>,
    namespace: &str,
) -> Result<Option<DeploymentFacts>, RequestError> {
    let mut found: Vec<DeploymentFacts> = Vec::new();
    let request = ListRequest { namespace, ..ListRequest::all("apps", "deployments") };
    let add = &mut |json: &[u8]| {
        let deployment = DeploymentFacts::of_object(&serde_json::from_slice(json)?);
        // Files may have Deployments of any program.
        if matches!(lists, ObjectLists::Cluster(..)) || deployment.image.contains("taintward") {
            found.push(deployment);
        }
        Ok(())
    };
    lists.each(request, add).await?;
    found.sort_by_key(|one| !one.evicts());
    Ok(found.into_iter().find(DeploymentFacts::is_controller))
}

/// A due pod, and what delays it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DuePod {
    pub(crate) namespace: String,
    pub(crate) pod: String,
    pub(crate) uid: Uid,
    pub(crate) node: String,
    pub(crate) since: Mono,
    /// `None`: nothing that objects show.
    pub(crate) delay: Option<PodDelay>,
}

/// What delays a due pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PodDelay {
    pub(crate) category: DelayCategory,
    /// The name of the policy, if one delays it.
    policy: Option<String>,
    /// Continues the sentence "the pod ...".
    message: String,
    /// When it is deleted in spite of its budgets.
    forced_at: Option<Mono>,
    /// The command that ends the delay of the brake.
    release: Option<String>,
    /// The only budget that it waits for.
    pub(crate) budget: Option<DelayingBudget>,
}

/// A budget that a due pod waits for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DelayingBudget {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) never_allows: bool,
}

impl PodDelay {
    pub(crate) fn of(delayed: &DelayedEviction<'_>, error: Option<&RequestError>) -> Self {
        let reason = &delayed.reason;
        let message = match (reason, error) {
            // The lists are complete, except for those that could not be read.
            (EvictionDelayReason::Lists, Some(error)) => format!("may wait for an eviction policy: {error}"),
            _ => reason.to_string(),
        };
        let budget = match reason {
            EvictionDelayReason::Budget(fact) => Some(DelayingBudget {
                namespace: fact.budget.namespace.to_string(),
                name: fact.budget.name.to_string(),
                never_allows: reason.remedy().is_some(),
            }),
            _ => None,
        };
        let release = match reason {
            EvictionDelayReason::Brake { key, .. } => Some(release_command(key)),
            _ => None,
        };
        Self {
            category: reason.category(),
            release,
            policy: delayed.policy.map(ToOwned::to_owned),
            message,
            forced_at: delayed.forced_at.filter(|_| reason.category() == DelayCategory::Budget),
            budget,
        }
    }

    /// The sentence for people: what the pod waits for, and until when at most.
    pub(crate) fn sentence(&self, now: Now) -> String {
        let until = match (self.category, self.forced_at) {
            (DelayCategory::Budget, Some(at)) => format!("; deleted at {}", at_moment(now, at)),
            (DelayCategory::Budget, None) => "; without a deadline, so never forced".to_owned(),
            _ => self.release.as_ref().map(|command| format!("; to evict: {command}")).unwrap_or_default(),
        };
        let policy = self.policy.as_ref().map(|name| format!(" (policy {name})")).unwrap_or_default();
        format!("{}{until}{policy}", self.message)
    }

    /// What the pod waits for in a few words.
    pub(crate) const fn words(&self) -> &'static str {
        match self.category {
            DelayCategory::Budget => "waits for a budget",
            DelayCategory::Limit => "waits for a limit",
            DelayCategory::Order => "waits for its order",
            DelayCategory::Policy => "waits for a policy",
            DelayCategory::Brake => "waits for the brake",
        }
    }

    /// Equal for pods that wait for the same.
    pub(crate) fn cause(&self) -> (&str, Option<&str>) {
        (&self.message, self.policy.as_deref())
    }

    /// For programs.
    pub(crate) fn object(&self) -> Value {
        json!({
            "reason": category(self.category),
            "message": self.message,
            "policy": self.policy,
            "until": self.forced_at.map(stamp),
        })
    }
}

/// The word for programs.
pub(crate) fn category(category: DelayCategory) -> String {
    category.as_str().to_lowercase()
}

/// The command that ends the delay of a braked key, if its taints are intended on all nodes.
pub(crate) fn release_command(key: &str) -> String {
    format!("taintward release --taint {key}")
}

/// The due pods of a cluster, as its controller decides about them.
pub(crate) struct EvictionDelays {
    /// Each due pod has had its turn.
    engine: EvictionEngine,
    /// What could not be read, of what policies need.
    pub(crate) unread: Option<RequestError>,
}

impl EvictionDelays {
    /// All due pods, the one that has been due longest first.
    pub(crate) fn due_pods(&self) -> Vec<DuePod> {
        let delayed = self.engine.delayed().map(|delayed| {
            let delay = PodDelay::of(&delayed, self.unread.as_ref());
            (delayed.pod, delayed.name, delayed.due, Some(delay))
        });
        let undelayed = self.engine.undelayed().map(|due| (due.pod, due.name, due.due, None));
        let due_pod = |(pod, name, since, delay): (&PodRef, &PodName, Mono, Option<PodDelay>)| DuePod {
            namespace: name.namespace().to_owned(),
            pod: name.name().to_owned(),
            uid: pod.uid.clone(),
            node: pod.node.to_string(),
            since,
            delay,
        };
        let mut all: Vec<DuePod> = delayed.chain(undelayed).map(due_pod).collect();
        all.sort_by(|a, b| (a.since, &a.namespace, &a.pod).cmp(&(b.since, &b.namespace, &b.pod)));
        all
    }

    /// The pods whose holds a policy forbids.
    pub(crate) fn pods_with_forbidden_holds(&self) -> impl Iterator<Item = &Uid> {
        self.engine.pods_with_forbidden_holds().map(|pod| &pod.uid)
    }

    /// The number of pods with a deadline.
    pub(crate) fn counting(&self) -> usize {
        self.engine.stats().counting
    }

    /// The taint keys that the brake delays.
    pub(crate) fn braked_keys(&self) -> Vec<BrakedKey> {
        self.engine.braked_keys()
    }
}
