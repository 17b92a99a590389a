//! Computes the patch from the difference between a pod and the core's mutation of it.
//!
//! - Invariant: equal parts are not written; replaced parts are tested first.

use super::decode_objects::{PresentFields, entries};
use crate::review::{
    self, AffinityShapeOfPod, InvalidReview, JsonPatchBuilder, PatchedRequirement, TermExpressions,
};
use taintward_core::admission::pool::MADE_FOR;
use taintward_core::admission::request::AdmittedPod;
use taintward_core::admission::review::Mutation;
use taintward_core::scheduling::{NodeRequirement, NodeTerm};
use taintward_core::toleration::Toleration;
use taintward_kube::guard_annotation::{GUARD, encode_guard};

/// Returns the patch that turns the pod into `made`.
pub(super) fn patch(
    shape: &PresentFields<'_>,
    pod: &AdmittedPod,
    made: &Mutation,
) -> Result<JsonPatchBuilder, InvalidReview> {
    let mut patch = JsonPatchBuilder::default();
    tolerations(&mut patch, shape, &pod.tolerations, &made.tolerations)?;
    if made.required != pod.required {
        nodes(&mut patch, shape, pod.required.as_deref(), made.required.as_deref().unwrap_or_default());
    }
    let made_for = made.made_for.iter().map(|value| (MADE_FOR, value.clone()));
    let guard = made.guard.iter().map(|record| (GUARD, encode_guard(record)));
    patch.annotate(shape.annotations, &made_for.chain(guard).collect());
    Ok(patch)
}

fn tolerations(
    patch: &mut JsonPatchBuilder,
    shape: &PresentFields<'_>,
    before: &[Toleration],
    after: &[Toleration],
) -> Result<(), InvalidReview> {
    if before == after {
        return Ok(());
    }
    let after: Vec<review::PatchedToleration<'_>> = after.iter().map(written).collect();
    let Some(list) = shape.tolerations() else {
        patch.add_tolerations(None, &after);
        return Ok(());
    };
    let places = before.len();
    let kept = |(one, other): (&Toleration, &review::PatchedToleration<'_>)| {
        review::PatchedToleration { seconds: other.seconds, ..written(one) } == *other
    };
    if after.len() < places || !before.iter().zip(&after).all(kept) {
        patch.replace_tolerations(list, &after);
        return Ok(());
    }
    if before.iter().zip(&after).any(|(one, other)| one.seconds != other.seconds) {
        let entries = entries(list)?;
        for (at, (one, other)) in before.iter().zip(&after).enumerate() {
            if one.seconds != other.seconds {
                patch.replace_toleration(at, entries[at], other);
            }
        }
    }
    patch.add_tolerations(Some(places), &after[places..]);
    Ok(())
}

fn written(one: &Toleration) -> review::PatchedToleration<'_> {
    review::PatchedToleration {
        key: &one.key,
        operator: one.operator.as_str(),
        value: &one.value,
        effect: one.effect.as_ref().map_or("", |effect| effect.as_str()),
        seconds: one.seconds,
    }
}

fn nodes(
    patch: &mut JsonPatchBuilder,
    shape: &PresentFields<'_>,
    before: Option<&[NodeTerm]>,
    after: &[NodeTerm],
) {
    let terms = || after.iter().map(term).collect::<Vec<_>>();
    match (before, shape.terms()) {
        (Some(before), Some(written)) => match narrowed(before, after) {
            Some(more) => {
                let have: Vec<TermExpressions> = before.iter().zip(after).map(room).collect();
                patch.require_nodes(AffinityShapeOfPod::Required(&have), &[requirement(more)]);
            }
            None => patch.replace_terms(written, &terms()),
        },
        // A required affinity without terms: an API server rejects it, and there is nothing to narrow.
        (Some(_), None) => {}
        (None, _) if shape.node_affinity => {
            patch.require_terms(AffinityShapeOfPod::WithoutRequired, &terms())
        }
        (None, _) if shape.affinity => patch.require_terms(AffinityShapeOfPod::WithoutNodes, &terms()),
        (None, _) => patch.require_terms(AffinityShapeOfPod::Absent, &terms()),
    }
}

/// The requirement that every changed term got, if it is the same single one and no term was added or removed.
fn narrowed<'a>(before: &[NodeTerm], after: &'a [NodeTerm]) -> Option<&'a NodeRequirement> {
    let mut same = None;
    for (one, other) in before.iter().zip(after).filter(|(one, other)| one != other) {
        let (last, rest) = other.expressions.split_last()?;
        if rest != one.expressions || one.fields != other.fields || same.is_some_and(|same| same != last) {
            return None;
        }
        same = Some(last);
    }
    same.filter(|_| before.len() == after.len())
}

fn room((before, after): (&NodeTerm, &NodeTerm)) -> TermExpressions {
    if before == after {
        TermExpressions::Left
    } else if before.expressions.is_empty() {
        TermExpressions::Absent
    } else {
        TermExpressions::Present
    }
}

fn term(term: &NodeTerm) -> review::PatchedTerm<'_> {
    review::PatchedTerm {
        match_expressions: term.expressions.iter().map(requirement).collect(),
        match_fields: term.fields.iter().map(requirement).collect(),
    }
}

fn requirement(one: &NodeRequirement) -> PatchedRequirement<'_> {
    let values = one.values.iter().map(AsRef::as_ref).collect();
    PatchedRequirement { key: &one.key, operator: one.operator.as_str(), values }
}
