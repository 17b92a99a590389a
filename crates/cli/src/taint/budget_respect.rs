//! Writes the annotation by which the evictions because of new taints respect disruption budgets (`--respect-budgets`).

use super::taint_args::TaintArgs;
use taintward_core::eviction_policy::BudgetRespect;
use taintward_core::fact::{NodeRespect, RESPECT_BUDGETS, TaintRespect};
use taintward_core::taint::{Taint, TaintEffect};
use taintward_core::taint_edit::{EditResult, TaintOrigin};
use taintward_core::time::Wall;
use taintward_kube::node_client::{AnnotationEdit, EditableNode};
use taintward_kube::respect_annotation::encode_respects;

/// The taints to add. With `--respect-budgets`, NoExecute taints have the time `now` in whole seconds, so that the annotation
/// is about these instances only.
pub(super) fn added(options: &TaintArgs, taints: &[Taint], now: Wall) -> Vec<Taint> {
    let seconds = Wall::from_secs(now.as_micros().div_euclid(1_000_000));
    let dated = |taint: &Taint| Taint { time_added: Some(seconds), ..taint.clone() };
    let is_dated = |taint: &Taint| options.respect_budgets && taint.effect == TaintEffect::NoExecute;
    taints.iter().map(|taint| if is_dated(taint) { dated(taint) } else { taint.clone() }).collect()
}

/// The edit of the annotation: entries for the added taints, none for taints that are gone; `None` if nothing changes.
pub(super) fn edit(
    options: &TaintArgs,
    node: &EditableNode,
    applied: &EditResult,
    added: &[Taint],
) -> Option<AnnotationEdit> {
    let annotation = node.fact().respect_budgets.as_deref();
    let mut entries = match annotation {
        Some(NodeRespect::Taints(taints)) => taints.to_vec(),
        // Another writer's text stays, unless it is replaced.
        Some(NodeRespect::Undecodable) if !options.respect_budgets => return None,
        Some(NodeRespect::Undecodable) | None => Vec::new(),
    };
    let stays = |(at, _): &(usize, &Taint)| applied.origins.contains(&TaintOrigin::Kept(*at));
    let kept = node.fact().taints.iter().enumerate().filter(stays).map(|(_, taint)| taint);
    entries.retain(|entry| kept.clone().any(|taint| entry.is_about(taint)));
    let respect = options.budget_respect().into_iter();
    entries.extend(respect.flat_map(|BudgetRespect { deadline }| {
        let new = added.iter().filter(|taint| taint.effect == TaintEffect::NoExecute);
        new.map(move |taint| TaintRespect {
            key: taint.key.clone(),
            value: taint.value.clone(),
            time_added: taint.time_added,
            deadline,
        })
    }));
    match (annotation, entries.is_empty()) {
        (None, true) => None,
        (_, is_empty) => Some((RESPECT_BUDGETS.to_owned(), (!is_empty).then(|| encode_respects(&entries)))),
    }
}
