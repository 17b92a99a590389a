//! Implements [`mutate`]: applies each rule that adds something to a pod, in order.

use super::{ActionKind, AdmissionRule, MissingInput, Mutation, ReviewSettings, RuleAction, SkippedRule};
use crate::admission::extended_resource_toleration::extended_tolerations;
use crate::admission::pod_toleration_restriction::{PodTolerationRestriction, TolerationListAnnotation};
use crate::admission::policy::{DefaultTolerationSeconds, decide, policy_for, with_defaults};
use crate::admission::pool::mutation;
use crate::admission::request::{ClusterView, NamespaceFact, Operation, PodRequest};
use crate::taint::{TaintEffect, keys};
use crate::toleration::Toleration;
use crate::toleration_guard::{GuardCeiling, guard_write};
use alloc::vec::Vec;

pub(super) fn mutate(request: &PodRequest, view: &ClusterView<'_>, settings: &ReviewSettings) -> Mutation {
    let pod = &request.pod;
    let made = Mutation {
        tolerations: pod.tolerations.clone(),
        required: pod.required.clone(),
        ..Mutation::default()
    };
    let mut giving = MutationBuilder { request, view, settings, made };
    if let Some(upstream) = settings.defaults {
        giving.defaults(upstream);
    }
    if let Some(restriction) = &settings.restriction {
        giving.restriction(restriction);
    }
    if settings.extended {
        let added = extended_tolerations(&giving.made.tolerations, pod.resources.iter().map(AsRef::as_ref));
        giving.append(AdmissionRule::Extended, added);
    }
    if settings.pools {
        giving.pools();
    }
    if settings.toleration_guard && request.operation == Operation::Create {
        giving.ceiling();
    }
    giving.made
}

struct MutationBuilder<'a> {
    request: &'a PodRequest,
    view: &'a ClusterView<'a>,
    settings: &'a ReviewSettings,
    made: Mutation,
}

impl MutationBuilder<'_> {
    fn record(&mut self, rule: AdmissionRule, deed: ActionKind) {
        self.made.acts.push(RuleAction { rule, deed });
    }

    fn lacks(&mut self, rule: AdmissionRule, missing: MissingInput) {
        self.made.unknown.push(SkippedRule { rule, missing });
    }

    fn append(&mut self, rule: AdmissionRule, added: Vec<Toleration>) {
        if !added.is_empty() {
            self.record(rule, ActionKind::Added(added.len()));
            self.made.tolerations.extend(added);
        }
    }

    /// AD-2 to AD-4.
    fn defaults(&mut self, upstream: DefaultTolerationSeconds) {
        let Some(namespace) = self.view.namespace else {
            return self.lacks(AdmissionRule::Defaults, MissingInput::Namespace);
        };
        let Some(policies) = self.view.policies else {
            return self.lacks(AdmissionRule::Defaults, MissingInput::Policies);
        };
        let policy = policy_for(policies, &namespace.labels);
        let decision = decide(&self.request.pod.requested, &namespace.requested, policy, upstream.seconds);
        let (old, behind) = (self.request.before(), self.behind(namespace));
        let defaulted = with_defaults(&self.made.tolerations, old, &behind, upstream, &decision);
        self.made.tolerations = defaulted.tolerations;
        for (number, deed) in [
            (defaulted.added, ActionKind::Added(defaulted.added)),
            (defaulted.changed, ActionKind::Changed(defaulted.changed)),
            (defaulted.warnings.len(), ActionKind::Warned(defaulted.warnings.len())),
        ] {
            if number > 0 {
                self.record(AdmissionRule::Defaults, deed);
            }
        }
        self.made.warnings.extend(defaulted.warnings);
    }

    /// Returns what upstream's other plugins may have appended after the default tolerations (AD-1).
    fn behind(&self, namespace: &NamespaceFact) -> Vec<Toleration> {
        let pod = &self.request.pod;
        let mut behind = extended_tolerations(&[], pod.resources.iter().map(AsRef::as_ref));
        if !pod.best_effort {
            behind.push(Toleration::exists(keys::MEMORY_PRESSURE, TaintEffect::NoSchedule));
        }
        match (&namespace.lists.defaults, &self.settings.restriction) {
            (TolerationListAnnotation::Present(own), _) => behind.extend_from_slice(own),
            (TolerationListAnnotation::Absent, Some(restriction)) => {
                behind.extend_from_slice(&restriction.cluster_defaults)
            }
            _ => {}
        }
        behind
    }

    /// AD-8 to AD-10.
    fn restriction(&mut self, restriction: &PodTolerationRestriction) {
        let Some(namespace) = self.view.namespace else {
            return self.lacks(AdmissionRule::Restriction, MissingInput::Namespace);
        };
        let PodRequest { operation, pod, .. } = self.request;
        let merged =
            restriction.merged(&self.made.tolerations, &namespace.lists, *operation, pod.best_effort);
        if merged.added > 0 {
            self.record(AdmissionRule::Restriction, ActionKind::Added(merged.added));
        }
        if merged.dropped > 0 {
            self.record(AdmissionRule::Restriction, ActionKind::Dropped(merged.dropped));
        }
        self.made.tolerations = merged.tolerations;
    }

    /// Only for new pods: toleration-guard-controller gives running ones their ceiling.
    fn ceiling(&mut self) {
        let Some(namespace) = self.view.namespace else {
            return self.lacks(AdmissionRule::TolerationGuard, MissingInput::Namespace);
        };
        let ceiling = GuardCeiling::of(&namespace.labels);
        let Some(write) = guard_write(&self.made.tolerations, None, ceiling, &Vec::new()) else { return };
        self.record(AdmissionRule::TolerationGuard, ActionKind::Changed(write.seconds.len()));
        for (at, seconds) in write.seconds {
            self.made.tolerations[at].seconds = seconds;
        }
        self.made.guard = write.record;
    }

    fn pools(&mut self) {
        let Some(pools) = self.view.pools else {
            return self.lacks(AdmissionRule::Pools, MissingInput::Pools);
        };
        let pod = &self.request.pod;
        if pools.is_empty() || self.settings.exemptions.as_claimed(&pod.identity).is_some() {
            return;
        }
        let who = self.request.who(self.view.namespace);
        let mutation = mutation(pools, pod, &self.made.tolerations, who, self.settings.numeric);
        self.append(AdmissionRule::Pools, mutation.tolerations);
        if mutation.made_for.is_some() {
            self.made.made_for = mutation.made_for;
            self.record(AdmissionRule::Pools, ActionKind::Noted);
        }
        if mutation.required.is_some() {
            self.made.required = mutation.required;
            self.record(AdmissionRule::Pools, ActionKind::Narrowed);
        }
        if mutation.unknown > 0 && self.request.operation == Operation::Create {
            self.lacks(AdmissionRule::Pools, MissingInput::Membership);
        }
    }
}
