//! Reads each part of the status; a part that cannot be read does not prevent the others.

use crate::active_controllers::{ActiveControllers, LeaseHolder};
use crate::args::node_limit::limit;
use crate::cluster_state::ClusterReader;
use crate::controller_deployment::DeploymentFacts;
use crate::eviction_delays::{self, DelaySettings, DelayingBudget, DuePod, EvictionFacts};
use crate::hold_status::HoldStatus;
use serde::Deserialize;
use std::collections::BTreeMap;
use taintward_core::api_error::ApiFailure;
use taintward_core::eviction::{BrakedKey, DelayCategory};
use taintward_core::identity::Uid;
use taintward_core::node_limit::NodeLimit;
use taintward_core::time::{Now, Wall};
use taintward_core::toleration_matching::NumericOperators;
use taintward_kube::api::RequestError;
use taintward_kube::api::paged_list::ListRequest;

/// The state of Taintward in a cluster.
pub(crate) struct ClusterStatus {
    /// The cluster, for people.
    pub(crate) from: String,
    pub(crate) now: Now,
    pub(crate) controllers: ActiveControllers,
    pub(crate) deployment: StatusPart<DeploymentFacts>,
    pub(crate) backlog: StatusPart<EvictionBacklog>,
    pub(crate) holds: StatusPart<HoldStatus>,
    pub(crate) brake: StatusPart<Vec<BrakedKey>>,
    pub(crate) policies: StatusPart<Vec<PolicyRow>>,
}

/// A part of the status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StatusPart<T> {
    Known(T),
    /// The cluster does not have it: why it is unknown.
    Absent(String),
    /// It could not be read.
    Unread(String),
}

/// The pods that are due, or will be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EvictionBacklog {
    /// Those that are due, the one that has been due longest first.
    pub(crate) due: Vec<DuePod>,
    /// The number of pods with a deadline.
    pub(crate) counting: usize,
    /// The pods whose holds a policy forbids.
    forbidden_holds: Vec<Uid>,
    /// What could not be read of what delays pods.
    pub(crate) unread: Option<String>,
}

impl EvictionBacklog {
    /// How many due pods wait, by reason.
    pub(crate) fn waiting(&self) -> BTreeMap<DelayCategory, usize> {
        let mut waiting = BTreeMap::new();
        for delay in self.due.iter().filter_map(|pod| pod.delay.as_ref()) {
            *waiting.entry(delay.category).or_default() += 1;
        }
        waiting
    }

    /// How many pods wait for each budget.
    pub(crate) fn budgets(&self) -> BTreeMap<&DelayingBudget, usize> {
        let mut budgets = BTreeMap::new();
        for budget in self.due.iter().filter_map(|pod| pod.delay.as_ref()?.budget.as_ref()) {
            *budgets.entry(budget).or_default() += 1;
        }
        budgets
    }
}

/// What an `EvictionPolicy` and its status say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct PolicyRow {
    #[serde(default)]
    metadata: PolicyMetadata,
    #[serde(default)]
    status: PolicyStatus,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
struct PolicyMetadata {
    #[serde(default)]
    name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct PolicyStatus {
    governed: u64,
    waiting: BTreeMap<String, u64>,
    forced: u64,
    conditions: Vec<PolicyCondition>,
}

/// A condition of a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct PolicyCondition {
    #[serde(rename = "type")]
    kind: String,
    pub(crate) status: String,
    pub(crate) reason: String,
    pub(crate) message: String,
}

impl PolicyRow {
    pub(crate) fn name(&self) -> &str {
        &self.metadata.name
    }

    pub(crate) fn governed(&self) -> u64 {
        self.status.governed
    }

    pub(crate) fn waiting(&self) -> u64 {
        self.status.waiting.values().sum()
    }

    pub(crate) fn forced(&self) -> u64 {
        self.status.forced
    }

    pub(crate) fn condition(&self, kind: &str) -> Option<&PolicyCondition> {
        self.status.conditions.iter().find(|condition| condition.kind == kind)
    }

    /// What a person has to know: why it is not ready, or blocked; `None`: all is well, or no controller has reported.
    pub(crate) fn complaint(&self) -> Option<&str> {
        let not_ready = self.condition("Ready").filter(|ready| ready.status != "True");
        let blocked = self.condition("Blocked").filter(|blocked| blocked.status == "True");
        not_ready.or(blocked).map(|condition| &*condition.message)
    }
}

impl<T> StatusPart<T> {
    fn of(read: Result<T, RequestError>) -> Self {
        match read {
            Ok(part) => Self::Known(part),
            Err(error) if error.failure == ApiFailure::NotFound => Self::Absent(error.to_string()),
            Err(error) => Self::Unread(error.to_string()),
        }
    }

    pub(crate) const fn known(&self) -> Option<&T> {
        match self {
            Self::Known(part) => Some(part),
            Self::Absent(_) | Self::Unread(_) => None,
        }
    }

    fn error(&self) -> Option<&String> {
        match self {
            Self::Unread(why) => Some(why),
            Self::Known(_) | Self::Absent(_) => None,
        }
    }

    /// Another part that follows from this one.
    fn derive<U>(&self, form: impl FnOnce(&T) -> StatusPart<U>) -> StatusPart<U> {
        match self {
            Self::Known(part) => form(part),
            Self::Absent(why) => StatusPart::Absent(why.clone()),
            Self::Unread(why) => StatusPart::Unread(why.clone()),
        }
    }
}

impl ClusterStatus {
    pub(crate) async fn read(reader: &ClusterReader<'_>) -> Self {
        let wall = reader.clock.now().wall;
        let now = Now::of_wall(wall);
        let controllers = ActiveControllers::of(reader, wall).await;
        let (deployment, holds, policies) = tokio::join!(
            eviction_delays::deployment(reader.lists(), controllers.namespace()),
            HoldStatus::read(&reader.connected.streams, &[], wall, reader.cluster.server.timeout),
            policies(reader)
        );
        let missing = || {
            StatusPart::Absent(format!(
                "namespace {} has no Deployment of Taintward",
                controllers.namespace()
            ))
        };
        let deployment = StatusPart::of(deployment);
        let deployment = deployment.derive(|found| found.clone().map_or_else(missing, StatusPart::Known));
        let settings = DelaySettings::of(deployment.known(), NumericOperators::Off);
        let (backlog, braked) = backlog(reader, settings, wall).await;
        let brake = brake(&deployment).derive(|_| braked);
        let evicts_all = deployment.known().is_none_or(DeploymentFacts::evicts_all);
        let forbidden = backlog.known().map(|backlog| &backlog.forbidden_holds);
        let holds = holds
            .map(|holds| holds.of_evicting(evicts_all).without_forbidden(forbidden.into_iter().flatten()));
        let holds = StatusPart::of(holds);
        let from = reader.place();
        Self { from, now, controllers, deployment, backlog, holds, brake, policies }
    }

    /// What could not be read, without what the cluster does not have.
    pub(crate) fn read_errors(&self) -> Vec<String> {
        let lease = match &self.controllers.ours {
            LeaseHolder::Unread(_) => Some(self.controllers.described()),
            _ => None,
        };
        let known = self.backlog.known();
        let parts = [
            lease.as_ref(),
            self.deployment.error(),
            self.backlog.error(),
            known.and_then(|backlog| backlog.unread.as_ref()),
            self.holds.error(),
            self.policies.error(),
        ];
        let mut errors: Vec<String> = Vec::new();
        for error in parts.into_iter().flatten() {
            // Several parts need the same objects.
            if !errors.contains(error) {
                errors.push(error.clone());
            }
        }
        errors
    }
}

/// The brake; `None`: it is off.
fn brake(deployment: &StatusPart<DeploymentFacts>) -> StatusPart<Option<NodeLimit>> {
    deployment.derive(|deployment| match deployment.brake_limit().map(limit) {
        None => StatusPart::Known(None),
        Some(Ok(limit)) => StatusPart::Known(limit.limit()),
        Some(Err(why)) => StatusPart::Absent(format!("--brake-limit of the Deployment: {why}")),
    })
}

/// The due pods, and the keys that the brake delays.
async fn backlog(
    reader: &ClusterReader<'_>,
    settings: DelaySettings,
    now: Wall,
) -> (StatusPart<EvictionBacklog>, StatusPart<Vec<BrakedKey>>) {
    let delays =
        StatusPart::of(EvictionFacts::read(reader.lists(), settings, now).await.map(EvictionFacts::delays));
    let backlog = delays.derive(|delays| {
        StatusPart::Known(EvictionBacklog {
            due: delays.due_pods(),
            counting: delays.counting(),
            forbidden_holds: delays.pods_with_forbidden_holds().cloned().collect(),
            unread: delays.unread.as_ref().map(ToString::to_string),
        })
    });
    (backlog, delays.derive(|delays| StatusPart::Known(delays.braked_keys())))
}

/// The policies with their statuses.
async fn policies(reader: &ClusterReader<'_>) -> StatusPart<Vec<PolicyRow>> {
    let mut rows: Vec<PolicyRow> = Vec::new();
    let add = &mut |json: &[u8]| {
        rows.push(serde_json::from_slice(json)?);
        Ok(())
    };
    let listed = reader.each(ListRequest::all("taintward.io", "evictionpolicies"), add).await;
    rows.sort_by(|a, b| a.name().cmp(b.name()));
    match StatusPart::of(listed) {
        StatusPart::Absent(_) => StatusPart::Absent("the kind EvictionPolicy is not installed".to_owned()),
        part => part.derive(|()| StatusPart::Known(rows)),
    }
}
