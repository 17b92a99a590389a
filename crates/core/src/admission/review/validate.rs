//! Implements [`validate`]: rejects or warns about the final pod of a request.
//!
//! - Invariant: an update is judged only by what it adds.

use super::lint_warnings::{WARNINGS_MAX, of_pod};
use super::{
    ActionKind, AdmissionDecision, AdmissionRule, MissingInput, ReviewSettings, RuleAction, SkippedRule,
};
use crate::admission::pool::{PoolEntry, PoolViolation, violation};
use crate::admission::request::{ClusterView, PodRequest};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

/// At most this many pools give their reasons in one rejection.
const REASONS_MAX: usize = 3;

pub(super) fn validate(
    request: &PodRequest,
    view: &ClusterView<'_>,
    settings: &ReviewSettings,
) -> AdmissionDecision {
    let mut ruling = AdmissionDecision::default();
    restriction(request, view, settings, &mut ruling);
    if settings.pools {
        pools(request, view, settings, &mut ruling);
    }
    let changed = request.before() != Some(&request.pod.tolerations[..]);
    if let Some(advice) = settings.advice.as_ref().filter(|_| changed) {
        ruling.warn(
            AdmissionRule::Advice,
            of_pod(&request.pod, view.pools.unwrap_or_default(), settings.numeric, advice),
        );
    }
    ruling
}

/// AD-8, AD-11, AD-12.
fn restriction(
    request: &PodRequest,
    view: &ClusterView<'_>,
    settings: &ReviewSettings,
    ruling: &mut AdmissionDecision,
) {
    let Some(restriction) = &settings.restriction else { return };
    let Some(namespace) = view.namespace else {
        return ruling
            .unknown
            .push(SkippedRule { rule: AdmissionRule::Restriction, missing: MissingInput::Namespace });
    };
    if let Err(violation) = restriction.allows(&request.pod.tolerations, request.before(), &namespace.lists) {
        ruling.reject(AdmissionRule::Restriction, violation.to_string());
    }
}

fn pools(
    request: &PodRequest,
    view: &ClusterView<'_>,
    settings: &ReviewSettings,
    ruling: &mut AdmissionDecision,
) {
    let Some(pools) = view.pools else {
        return ruling.unknown.push(SkippedRule { rule: AdmissionRule::Pools, missing: MissingInput::Pools });
    };
    let namespace = view.namespace.map(|namespace| &namespace.labels);
    let (found, unknown) = violation(pools, request, view.node_pool, namespace);
    if found.is_empty() && unknown == 0 {
        return;
    }
    if let Some(exempt) = settings.exemptions.of(request.who(view.namespace)) {
        return ruling
            .acts
            .push(RuleAction { rule: AdmissionRule::Pools, deed: ActionKind::Exempted(exempt) });
    }
    if namespace.is_none() {
        ruling.unknown.push(SkippedRule { rule: AdmissionRule::Pools, missing: MissingInput::Namespace });
    } else if unknown > 0 {
        ruling.unknown.push(SkippedRule { rule: AdmissionRule::Pools, missing: MissingInput::Membership });
    }
    let denies = |one: &PoolViolation| one.entry == PoolEntry::Claim || pools[one.pool].denial_if_unjudged();
    let (denied, warned): (Vec<_>, Vec<_>) = found.into_iter().partition(denies);
    ruling.warn(AdmissionRule::Pools, warned.into_iter().map(|one| one.message).take(WARNINGS_MAX).collect());
    if !denied.is_empty() {
        let messages: Vec<String> = denied.into_iter().map(|one| one.message).take(REASONS_MAX).collect();
        ruling.reject(AdmissionRule::Pools, messages.join("; and "));
    }
}
