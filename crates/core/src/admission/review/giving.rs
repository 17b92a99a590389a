//! # Giving: the mutating half
//! Room:     what each rule adds to a pod, one after the other.
//! Comes in: a request, what is known around it, the settings.
//! Goes out: [`Mutation`].
//! Not here: refusing (`judging.rs`).

use super::{Act, Deed, Missing, Mutation, Rule, Settings, Unknown};
use crate::admission::exists;
use crate::admission::extended::extended_tolerations;
use crate::admission::policy::{Upstream, decide, policy_for, with_defaults};
use crate::admission::pool::gift;
use crate::admission::request::{NamespaceFacts, Operation, PodRequest, Surroundings};
use crate::admission::restriction::{Listed, Restriction};
use crate::taint::{Effect, keys};
use crate::toleration::Toleration;
use alloc::vec::Vec;

pub(super) fn mutate(request: &PodRequest, around: &Surroundings<'_>, settings: &Settings) -> Mutation {
    let pod = &request.pod;
    let made = Mutation {
        tolerations: pod.tolerations.clone(),
        required: pod.required.clone(),
        ..Mutation::default()
    };
    let mut giving = Giving { request, around, settings, made };
    if let Some(upstream) = settings.defaults {
        giving.defaults(upstream);
    }
    if let Some(restriction) = &settings.restriction {
        giving.restriction(restriction);
    }
    if settings.extended {
        let added = extended_tolerations(&giving.made.tolerations, pod.resources.iter().map(AsRef::as_ref));
        giving.append(Rule::Extended, added);
    }
    if settings.pools {
        giving.pools();
    }
    giving.made
}

struct Giving<'a> {
    request: &'a PodRequest,
    around: &'a Surroundings<'a>,
    settings: &'a Settings,
    made: Mutation,
}

impl Giving<'_> {
    fn did(&mut self, rule: Rule, deed: Deed) {
        self.made.acts.push(Act { rule, deed });
    }

    fn lacks(&mut self, rule: Rule, missing: Missing) {
        self.made.unknown.push(Unknown { rule, missing });
    }

    fn append(&mut self, rule: Rule, added: Vec<Toleration>) {
        if !added.is_empty() {
            self.did(rule, Deed::Added(added.len()));
            self.made.tolerations.extend(added);
        }
    }

    /// AD-2 to AD-4.
    fn defaults(&mut self, upstream: Upstream) {
        let Some(namespace) = self.around.namespace else {
            return self.lacks(Rule::Defaults, Missing::Namespace);
        };
        let Some(policies) = self.around.policies else {
            return self.lacks(Rule::Defaults, Missing::Policies);
        };
        let policy = policy_for(policies, &namespace.labels);
        let decision = decide(&self.request.pod.asked, &namespace.asked, policy, upstream.seconds);
        let (old, behind) = (self.request.before(), self.behind(namespace));
        let defaulted = with_defaults(&self.made.tolerations, old, &behind, upstream, &decision);
        self.made.tolerations = defaulted.tolerations;
        for (number, deed) in [
            (defaulted.added, Deed::Added(defaulted.added)),
            (defaulted.changed, Deed::Changed(defaulted.changed)),
            (defaulted.warnings.len(), Deed::Warned(defaulted.warnings.len())),
        ] {
            if number > 0 {
                self.did(Rule::Defaults, deed);
            }
        }
        self.made.warnings.extend(defaulted.warnings);
    }

    /// What upstream's other plugins may have appended behind the default tolerations (AD-1).
    fn behind(&self, namespace: &NamespaceFacts) -> Vec<Toleration> {
        let pod = &self.request.pod;
        let mut behind = extended_tolerations(&[], pod.resources.iter().map(AsRef::as_ref));
        if !pod.best_effort {
            behind.push(exists(keys::MEMORY_PRESSURE, Effect::NoSchedule));
        }
        match (&namespace.lists.defaults, &self.settings.restriction) {
            (Listed::Present(own), _) => behind.extend_from_slice(own),
            (Listed::Absent, Some(restriction)) => behind.extend_from_slice(&restriction.cluster_defaults),
            _ => {}
        }
        behind
    }

    /// AD-8 to AD-10.
    fn restriction(&mut self, restriction: &Restriction) {
        let Some(namespace) = self.around.namespace else {
            return self.lacks(Rule::Restriction, Missing::Namespace);
        };
        let PodRequest { operation, pod, .. } = self.request;
        let merged =
            restriction.merged(&self.made.tolerations, &namespace.lists, *operation, pod.best_effort);
        if merged.added > 0 {
            self.did(Rule::Restriction, Deed::Added(merged.added));
        }
        if merged.dropped > 0 {
            self.did(Rule::Restriction, Deed::Dropped(merged.dropped));
        }
        self.made.tolerations = merged.tolerations;
    }

    fn pools(&mut self) {
        let Some(pools) = self.around.pools else {
            return self.lacks(Rule::Pools, Missing::Pools);
        };
        let pod = &self.request.pod;
        if pools.is_empty() || self.settings.exemptions.as_claimed(&pod.identity).is_some() {
            return;
        }
        let who = self.request.who(self.around.namespace);
        let gift = gift(pools, pod, &self.made.tolerations, who, self.settings.numeric);
        self.append(Rule::Pools, gift.tolerations);
        if gift.made_for.is_some() {
            self.made.made_for = gift.made_for;
            self.did(Rule::Pools, Deed::Noted);
        }
        if gift.required.is_some() {
            self.made.required = gift.required;
            self.did(Rule::Pools, Deed::Narrowed);
        }
        if gift.unknown > 0 && self.request.operation == Operation::Create {
            self.lacks(Rule::Pools, Missing::Membership);
        }
    }
}
