//! # Judging: the validating half
//! Room:     what is refused, and what is said.
//! Comes in: a request with the final pod, what is known around it, the settings.
//! Goes out: [`Ruling`].
//! Keeps:    of an update, only what it brings with it is judged.
//! Not here: adding anything (`giving.rs`).

use super::advice::{WARNINGS_MOST, of_pod};
use super::{Act, Deed, Missing, Rule, Ruling, Settings, Unknown};
use crate::admission::pool::{Entry, Trespass, trespass};
use crate::admission::request::{PodRequest, Surroundings};
use alloc::string::String;
use alloc::vec::Vec;

/// So many pools give their reasons in one refusal.
const REASONS_MOST: usize = 3;

pub(super) fn validate(request: &PodRequest, around: &Surroundings<'_>, settings: &Settings) -> Ruling {
    let mut ruling = Ruling::default();
    restriction(request, around, settings, &mut ruling);
    if settings.pools {
        pools(request, around, settings, &mut ruling);
    }
    let changed = request.before() != Some(&request.pod.tolerations[..]);
    if let Some(advice) = settings.advice.as_ref().filter(|_| changed) {
        ruling.warn(
            Rule::Advice,
            of_pod(&request.pod, around.pools.unwrap_or_default(), settings.numeric, advice),
        );
    }
    ruling
}

/// AD-8, AD-11, AD-12.
fn restriction(request: &PodRequest, around: &Surroundings<'_>, settings: &Settings, ruling: &mut Ruling) {
    let Some(restriction) = &settings.restriction else { return };
    let Some(namespace) = around.namespace else {
        return ruling.unknown.push(Unknown { rule: Rule::Restriction, missing: Missing::Namespace });
    };
    if let Err(message) = restriction.allows(&request.pod.tolerations, request.before(), &namespace.lists) {
        ruling.refuse(Rule::Restriction, message);
    }
}

fn pools(request: &PodRequest, around: &Surroundings<'_>, settings: &Settings, ruling: &mut Ruling) {
    let Some(pools) = around.pools else {
        return ruling.unknown.push(Unknown { rule: Rule::Pools, missing: Missing::Pools });
    };
    let namespace = around.namespace.map(|namespace| &namespace.labels);
    let (found, unknown) = trespass(pools, request, around.node_pool, namespace);
    if found.is_empty() && unknown == 0 {
        return;
    }
    if let Some(exempt) = settings.exemptions.of(request.who(around.namespace)) {
        return ruling.acts.push(Act { rule: Rule::Pools, deed: Deed::Exempted(exempt) });
    }
    if namespace.is_none() {
        ruling.unknown.push(Unknown { rule: Rule::Pools, missing: Missing::Namespace });
    } else if unknown > 0 {
        ruling.unknown.push(Unknown { rule: Rule::Pools, missing: Missing::Membership });
    }
    let denies = |one: &Trespass| one.entry == Entry::Claim || pools[one.pool].keeps_out();
    let (denied, warned): (Vec<_>, Vec<_>) = found.into_iter().partition(denies);
    ruling.warn(Rule::Pools, warned.into_iter().map(|one| one.message).take(WARNINGS_MOST).collect());
    if !denied.is_empty() {
        let messages: Vec<String> = denied.into_iter().map(|one| one.message).take(REASONS_MOST).collect();
        ruling.refuse(Rule::Pools, messages.join("; and "));
    }
}
