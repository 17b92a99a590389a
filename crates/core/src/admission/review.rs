//! Applies all admission rules to a request: [`mutate`] changes a pod, [`validate`] allows or rejects a pod or node.
//!
//! - Invariant: the order is upstream's (AD-1): default tolerations, namespace tolerations, extended resources, then
//!   pools; last the ceilings of guarded namespaces. Mutating twice changes nothing.
//! - A rule that lacks a fact is skipped and reported; only a pool that denies rejects a pod of unknown membership.

use super::no_execute_guard::{FleetHealth, GuardDecision, NoExecuteGuard, NodeTaintUpdate};
use super::pod_toleration_restriction::PodTolerationRestriction;
use super::policy::DefaultTolerationSeconds;
use super::pool::{PoolExemption, PoolExemptions};
use super::request::{ClusterView, PodRequest};
use crate::lint;
use crate::scheduling::NodeTerm;
use crate::taint::Taint;
use crate::toleration::Toleration;
use crate::toleration_guard::GuardRecord;
use crate::toleration_matching::NumericOperators;
use alloc::string::String;
use alloc::vec::Vec;

mod lint_warnings;
mod mutate;
mod validate;

pub use lint_warnings::{LintAdvice, advise};

/// Which rules hold, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewSettings {
    /// Default tolerations (AD-2); `None`: off.
    pub defaults: Option<DefaultTolerationSeconds>,
    /// Tolerations of namespaces (AD-8 to AD-11); `None`: off.
    pub restriction: Option<PodTolerationRestriction>,
    /// Tolerations for extended resources (AD-7).
    pub extended: bool,
    /// Dedicated pools; without any pools, it makes no difference.
    pub pools: bool,
    /// The pods to which no pool applies.
    pub exemptions: PoolExemptions,
    /// Ceilings of guarded namespaces: only where toleration-guard-controller evicts by the pods' own seconds.
    pub toleration_guard: bool,
    /// Warnings about unusual tolerations and taints; `None`: none.
    pub advice: Option<LintAdvice>,
    /// Which changes of nodes are rejected; `None`: none.
    pub guard: Option<NoExecuteGuard>,
    /// The cluster's feature gate (MATCH-6).
    pub numeric: NumericOperators,
}

impl Default for ReviewSettings {
    /// Pools only.
    fn default() -> Self {
        Self {
            defaults: None,
            restriction: None,
            extended: false,
            pools: true,
            exemptions: PoolExemptions::default(),
            toleration_guard: false,
            advice: None,
            guard: None,
            numeric: NumericOperators::default(),
        }
    }
}

/// A rule, for counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AdmissionRule {
    /// Default tolerations.
    Defaults,
    /// Tolerations of namespaces.
    Restriction,
    /// Tolerations for extended resources.
    Extended,
    /// Dedicated pools.
    Pools,
    /// Ceilings of guarded namespaces.
    TolerationGuard,
    /// Warnings about unusual tolerations and taints.
    Advice,
    /// NoExecute taints on too many nodes.
    Brake,
}

impl AdmissionRule {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Defaults,
        Self::Restriction,
        Self::Extended,
        Self::Pools,
        Self::TolerationGuard,
        Self::Advice,
        Self::Brake,
    ];

    /// `default-tolerations`
    pub const fn name(self) -> &'static str {
        match self {
            Self::Defaults => "default-tolerations",
            Self::Restriction => "toleration-restriction",
            Self::Extended => "extended-resources",
            Self::Pools => "dedicated-pools",
            Self::TolerationGuard => "toleration-guard",
            Self::Advice => "advice",
            Self::Brake => "brake",
        }
    }
}

/// What a rule has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ActionKind {
    /// This many tolerations were added.
    Added(usize),
    /// This many tolerations got other seconds.
    Changed(usize),
    /// This many tolerations are covered by others and were removed
    /// ([`super::pod_toleration_restriction::MergeMode::AsUpstream`]).
    Dropped(usize),
    /// The node affinity was narrowed.
    Narrowed,
    /// The annotation [`MADE_FOR`](super::pool::MADE_FOR) was written or removed.
    Noted,
    /// This many warnings.
    Warned(usize),
    /// The request is rejected.
    Rejected,
    /// The pod is exempt.
    Exempted(PoolExemption),
}

/// Something that a rule did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleAction {
    /// Which rule.
    pub rule: AdmissionRule,
    /// What.
    pub deed: ActionKind,
}

/// A fact that was missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MissingInput {
    /// The pod's namespace.
    Namespace,
    /// The policies.
    Policies,
    /// The pools.
    Pools,
    /// Whether the pod belongs to a pool.
    Membership,
    /// The nodes, or the state of this one.
    Nodes,
}

impl MissingInput {
    /// `namespace`
    pub const fn name(self) -> &'static str {
        match self {
            Self::Namespace => "namespace",
            Self::Policies => "policies",
            Self::Pools => "pools",
            Self::Membership => "membership",
            Self::Nodes => "nodes",
        }
    }
}

/// A rule that did nothing, or only a part, because a fact was missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SkippedRule {
    /// Which rule.
    pub rule: AdmissionRule,
    /// The missing fact.
    pub missing: MissingInput,
}

/// The result of mutating admission.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mutation {
    /// The pod's tolerations: the whole list.
    pub tolerations: Vec<Toleration>,
    /// The terms of its required node affinity: all of them; `None` if it has none and gets none.
    pub required: Option<Vec<NodeTerm>>,
    /// The new value of the annotation [`MADE_FOR`](super::pool::MADE_FOR), if it changes; an empty value removes it.
    pub made_for: Option<String>,
    /// The pod's own seconds, where its tolerations have the ceiling of its namespace.
    pub guard: Option<GuardRecord>,
    /// What the author of the request should know.
    pub warnings: Vec<String>,
    /// What the rules have done.
    pub acts: Vec<RuleAction>,
    /// What was skipped.
    pub unknown: Vec<SkippedRule>,
}

/// Why a request is rejected, with 403 Forbidden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmissionDenial {
    /// The rule that rejects it.
    pub rule: AdmissionRule,
    /// In a sentence, with the remedy.
    pub message: String,
}

/// The result of validating admission.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdmissionDecision {
    /// Why the request is rejected; `None`: it is allowed.
    pub denial: Option<AdmissionDenial>,
    /// What the author of the request should know.
    pub warnings: Vec<String>,
    /// What the rules have done.
    pub acts: Vec<RuleAction>,
    /// What was skipped.
    pub unknown: Vec<SkippedRule>,
}

/// Both halves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdmissionReviewResult {
    /// The changes of the pod.
    pub mutation: Mutation,
    /// Whether the pod is allowed.
    pub ruling: AdmissionDecision,
}

/// Computes the changes of the pod.
pub fn mutate(request: &PodRequest, view: &ClusterView<'_>, settings: &ReviewSettings) -> Mutation {
    mutate::mutate(request, view, settings)
}

/// Decides whether the final pod is allowed.
pub fn validate(
    request: &PodRequest,
    view: &ClusterView<'_>,
    settings: &ReviewSettings,
) -> AdmissionDecision {
    validate::validate(request, view, settings)
}

/// Runs both, where they are done in one place.
pub fn review(
    mut request: PodRequest,
    view: &ClusterView<'_>,
    settings: &ReviewSettings,
) -> AdmissionReviewResult {
    let mutation = mutate(&request, view, settings);
    request.pod.tolerations.clone_from(&mutation.tolerations);
    request.pod.required.clone_from(&mutation.required);
    if let Some(made_for) = &mutation.made_for {
        request.pod.identity.made_for = made_for.as_str().into();
    }
    let ruling = validate(&request, view, settings);
    AdmissionReviewResult { mutation, ruling }
}

/// Decides whether a change of a node is allowed. `dedicated` are the taints of all valid pools; `fleet` is the cluster
/// before the change, without the changes that other requests have just been allowed
/// ([`FleetHealth::recently_admitted`]).
pub fn change_of_node(
    change: &NodeTaintUpdate<'_>,
    dedicated: &[Taint],
    fleet: Option<FleetHealth>,
    settings: &ReviewSettings,
) -> AdmissionDecision {
    let mut ruling = AdmissionDecision::default();
    if let Some(guard) = &settings.guard {
        match guard.judge(change, dedicated, fleet) {
            GuardDecision::Allowed(super::no_execute_guard::GuardExemption::Unknown) => {
                ruling.unknown.push(SkippedRule { rule: AdmissionRule::Brake, missing: MissingInput::Nodes });
            }
            GuardDecision::Allowed(_) => {}
            GuardDecision::Rejected(message) => ruling.reject(AdmissionRule::Brake, message),
        }
    }
    if let Some(advice) = settings.advice.as_ref().filter(|_| change.old != Some(change.new)) {
        let node = lint::LintedNode {
            name: change.name.into(),
            taints: change.new.to_vec(),
            ..lint::LintedNode::default()
        };
        let facts =
            lint::LintInput { nodes: [node].into(), numeric: settings.numeric, ..lint::LintInput::default() };
        ruling.warn(AdmissionRule::Advice, advise(&facts, advice));
    }
    ruling
}

impl AdmissionDecision {
    /// The first rule that rejects gives the reason.
    fn reject(&mut self, rule: AdmissionRule, message: String) {
        self.acts.push(RuleAction { rule, deed: ActionKind::Rejected });
        self.denial.get_or_insert(AdmissionDenial { rule, message });
    }

    fn warn(&mut self, rule: AdmissionRule, warnings: Vec<String>) {
        if !warnings.is_empty() {
            self.acts.push(RuleAction { rule, deed: ActionKind::Warned(warnings.len()) });
            self.warnings.extend(warnings);
        }
    }
}
