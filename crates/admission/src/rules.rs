//! Applies the core's admission rules to the pods and nodes of reviews, with cached facts of the cluster
//! ([`ClusterCache`]).
//!
//! - Invariant: missing facts reject only a pod that is not known to belong to a pool which denies, unless
//!   [`UntilReady::Reject`] is set and no facts have arrived yet; other objects pass.

mod cluster_cache;
mod decode_objects;
mod notes;
mod write;

pub use cluster_cache::{CacheUpdate, CachedNode, ClusterCache};

use crate::review::{
    AdmissionRequest, InvalidReview, RequestOperation, RequestOrigin, ReviewDenial, ReviewVerdict, Reviewer,
    quoted,
};
use cluster_cache::CacheView;
use decode_objects::{ReviewedPod, pod, pod_before};
use std::sync::Arc;
use taintward_core::admission::no_execute_guard::NodeTaintUpdate;
use taintward_core::admission::request::{self as core, ClusterView, PodRequest, Requester};
use taintward_core::admission::review::{self, AdmissionRule, MissingInput, ReviewSettings, SkippedRule};

/// The response until the first facts have arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UntilReady {
    /// Objects are allowed; a rule that lacks facts does nothing, and is counted.
    #[default]
    Allow,
    /// Objects for which a rule lacks facts are rejected, with 503 (AD-12).
    Reject,
}

/// All rules of a cluster.
#[derive(Debug)]
pub struct RuleReviewer {
    settings: ReviewSettings,
    until_ready: UntilReady,
    cluster: Arc<ClusterCache>,
}

impl RuleReviewer {
    /// Uses the rules in `settings`, with the facts of `cluster`.
    pub fn new(settings: ReviewSettings, until_ready: UntilReady, cluster: Arc<ClusterCache>) -> Self {
        Self { settings, until_ready, cluster }
    }

    /// The names of all rules, for [`crate::metrics::WebhookMetrics::new`].
    pub fn names() -> [&'static str; AdmissionRule::ALL.len()] {
        AdmissionRule::ALL.map(AdmissionRule::name)
    }

    /// Returns which facts are still missing for the rules; empty if reviews can be complete.
    pub fn missing(&self) -> Vec<&'static str> {
        self.cluster.view().missing(&self.settings)
    }

    fn too_early(&self, unknown: &[SkippedRule], view: &CacheView<'_>) -> Option<ReviewVerdict> {
        let waits = |one: &&SkippedRule| match one.missing {
            MissingInput::Namespace => !view.knows_namespaces(),
            MissingInput::Policies | MissingInput::Pools => true,
            MissingInput::Nodes => !view.knows_nodes(),
            MissingInput::Membership => false,
        };
        let first = unknown
            .iter()
            .find(|one| self.until_ready == UntilReady::Reject && waits(one))
            .map(|one| (one.rule.name(), one.missing.name()))?;
        let message = format!(
            "not yet ready to handle request: the rule {} waits for the first list of {}; try again, or run the webhook \
             with --until-ready=allow",
            first.0,
            plural(first.1)
        );
        Some(ReviewVerdict {
            denial: Some(ReviewDenial { code: 503, reason: "ServiceUnavailable", message }),
            notes: notes::unknown(unknown),
            ..ReviewVerdict::default()
        })
    }

    fn mutate_pod(
        &self,
        request: &AdmissionRequest<'_>,
        operation: core::Operation,
    ) -> Result<ReviewVerdict, InvalidReview> {
        let (read, pod_request) = pod_request(request, operation)?;
        let view = self.cluster.view();
        let cluster = surroundings(&view, &pod_request);
        let made = review::mutate(&pod_request, &cluster, &self.settings);
        if let Some(verdict) = self.too_early(&made.unknown, &view) {
            return Ok(verdict);
        }
        let is_early = is_early(&made.unknown, &view);
        drop(view);
        let patch = write::patch(&read.shape, &pod_request.pod, &made)?;
        Ok(ReviewVerdict {
            patch,
            warnings: made.warnings,
            notes: notes::of(&made.acts, &made.unknown),
            is_early,
            ..ReviewVerdict::default()
        })
    }

    fn validate_pod(
        &self,
        request: &AdmissionRequest<'_>,
        operation: core::Operation,
    ) -> Result<ReviewVerdict, InvalidReview> {
        let (_, pod_request) = pod_request(request, operation)?;
        let view = self.cluster.view();
        let cluster = surroundings(&view, &pod_request);
        let ruling = review::validate(&pod_request, &cluster, &self.settings);
        let is_early = is_early(&ruling.unknown, &view);
        let verdict = self.too_early(&ruling.unknown, &view).unwrap_or_else(|| verdict(ruling));
        Ok(ReviewVerdict { is_early, ..verdict })
    }

    fn validate_node(
        &self,
        request: &AdmissionRequest<'_>,
        operation: core::Operation,
    ) -> Result<ReviewVerdict, InvalidReview> {
        let node = decode_objects::node(demanded(request)?)?;
        let old = match (operation, request.old_object) {
            (core::Operation::Update, Some(old)) => Some(decode_objects::node(old)?),
            _ => None,
        };
        let requester = requester(request);
        let view = self.cluster.view();
        let own = view.own_taints(&request.name);
        let change = NodeTaintUpdate {
            name: &request.name,
            old: old.as_ref().map(|old| &old.taints[..]),
            new: &node.taints,
            allow: node.allow.as_deref(),
            ready: old.as_ref().map_or(node.ready, |old| old.ready),
            requester: Some(&requester),
            own: &own,
        };
        let fleet = self.settings.guard.as_ref().filter(|_| change.old != Some(change.new));
        let fleet = fleet.and_then(|_| view.fleet(&request.name));
        let ruling = review::change_of_node(&change, view.dedicated(), fleet, &self.settings);
        let early = self.too_early(&ruling.unknown, &view);
        drop(view);
        // Any client can forge a request about a node: only requests from an API server count, and for the others what
        // the watch delivers.
        let is_real = request.origin == RequestOrigin::ApiServer && !request.dry_run;
        if early.is_none() && ruling.denial.is_none() && is_real {
            self.cluster.allowed(&request.name, change.old, change.new);
        }
        Ok(early.unwrap_or_else(|| verdict(ruling)))
    }
}

impl Reviewer for RuleReviewer {
    fn mutate(&self, request: &AdmissionRequest<'_>) -> Result<ReviewVerdict, InvalidReview> {
        match subject(request)? {
            ReviewSubject::Pod(operation) => self.mutate_pod(request, operation),
            ReviewSubject::Node(_) | ReviewSubject::Nothing => Ok(ReviewVerdict::allow()),
        }
    }

    fn validate(&self, request: &AdmissionRequest<'_>) -> Result<ReviewVerdict, InvalidReview> {
        match subject(request)? {
            ReviewSubject::Pod(operation) => self.validate_pod(request, operation),
            ReviewSubject::Node(operation) => self.validate_node(request, operation),
            ReviewSubject::Nothing => Ok(ReviewVerdict::allow()),
        }
    }

    /// A pod that cannot be decoded may be about to enter a pool, a node to be tainted.
    fn denial_if_unjudged(&self, request: &AdmissionRequest<'_>) -> Option<&'static str> {
        match subject(request) {
            Ok(ReviewSubject::Pod(_)) if self.settings.pools && self.cluster.view().may_deny() => Some(
                "while a DedicatedPool has `enforcement: Deny`, and before the pools are known, such pods are kept out",
            ),
            Ok(ReviewSubject::Node(_)) if self.settings.guard.is_some() => {
                Some("while the brake is on, such nodes are not changed")
            }
            _ => None,
        }
    }
}

/// The subject of a review.
enum ReviewSubject {
    Pod(core::Operation),
    Node(core::Operation),
    /// Nothing that a rule handles: a subresource, a deletion.
    Nothing,
}

/// A review of other objects is invalid (AD-5): the webhook configuration names too much.
fn subject(request: &AdmissionRequest<'_>) -> Result<ReviewSubject, InvalidReview> {
    let operation = match request.operation {
        RequestOperation::Create => Some(core::Operation::Create),
        RequestOperation::Update => Some(core::Operation::Update),
        RequestOperation::Delete | RequestOperation::Connect => None,
    };
    let resource = (&*request.resource.group, &*request.resource.version, &*request.resource.resource);
    let kind = (&*request.kind.group, &*request.kind.version, &*request.kind.kind);
    let (of, expected): (fn(core::Operation) -> ReviewSubject, _) = match resource {
        ("", "v1", "pods") => (ReviewSubject::Pod, "Pod"),
        ("", "v1", "nodes") => (ReviewSubject::Node, "Node"),
        (group, version, resource) => {
            return Err(InvalidReview::question(format!(
                "expected pods or nodes of v1, got {} of {}: correct the rules of the webhook configuration",
                quoted(resource),
                quoted(&group_version(group, version))
            )));
        }
    };
    match operation {
        Some(operation) if request.subresource.is_empty() => match kind {
            ("", "v1", kind) if kind == expected => Ok(of(operation)),
            (group, version, kind) => Err(InvalidReview::question(format!(
                "expected a {expected} of v1, got {} of {}",
                quoted(kind),
                quoted(&group_version(group, version))
            ))),
        },
        _ => Ok(ReviewSubject::Nothing),
    }
}

fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

fn demanded<'a>(request: &AdmissionRequest<'a>) -> Result<&'a serde_json::value::RawValue, InvalidReview> {
    request.object.ok_or_else(|| InvalidReview::question("request.object is missing".into()))
}

/// The pod and its requester. Parts of the old pod that an update does not have are unknown.
fn pod_request<'a>(
    request: &AdmissionRequest<'a>,
    operation: core::Operation,
) -> Result<(ReviewedPod<'a>, PodRequest), InvalidReview> {
    let mut read = pod(demanded(request)?)?;
    let mut pod_request = std::mem::take(&mut read.requested);
    pod_request.identity.namespace = request.namespace.as_ref().into();
    let old = match (operation, request.old_object) {
        (core::Operation::Update, Some(old)) => Some(pod_before(old)?),
        _ => None,
    };
    Ok((read, PodRequest { operation, requester: Some(requester(request)), pod: pod_request, old }))
}

fn requester(request: &AdmissionRequest<'_>) -> Requester {
    let groups = request.user.groups.iter().map(|group| group.as_ref().into()).collect();
    Requester { user: request.user.username.as_ref().into(), groups }
}

fn surroundings<'v>(view: &'v CacheView<'_>, pod_request: &PodRequest) -> ClusterView<'v> {
    ClusterView {
        namespace: view.namespace(&pod_request.pod.identity.namespace),
        policies: view.policies(),
        pools: view.pools(),
        node_pool: view.node_pool(pod_request.destination()),
    }
}

fn verdict(ruling: review::AdmissionDecision) -> ReviewVerdict {
    ReviewVerdict {
        notes: notes::of(&ruling.acts, &ruling.unknown),
        denial: ruling.denial.map(|denial| ReviewDenial::forbidden(denial.message)),
        warnings: ruling.warnings,
        ..ReviewVerdict::default()
    }
}

/// All namespaces are known but this one, which the API server knows: its watch event is in flight (AD-12).
fn is_early(unknown: &[SkippedRule], view: &CacheView<'_>) -> bool {
    view.knows_namespaces() && unknown.iter().any(|one| one.missing == MissingInput::Namespace)
}

fn plural(missing: &str) -> &str {
    if missing == "namespace" { "namespaces" } else { missing }
}
