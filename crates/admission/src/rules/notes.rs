//! Converts the core's rule actions to outcomes for the metrics, at most one of a kind per rule.

use crate::review::{RuleEffect, RuleOutcome};
use taintward_core::admission::review::{ActionKind, RuleAction, SkippedRule};

/// Everything that was done, and everything that was skipped.
pub(super) fn of(acts: &[RuleAction], left_out: &[SkippedRule]) -> Vec<RuleOutcome> {
    let mut notes: Vec<RuleOutcome> = Vec::with_capacity(acts.len() + left_out.len());
    for act in acts {
        let effect = match act.deed {
            ActionKind::Added(_)
            | ActionKind::Changed(_)
            | ActionKind::Dropped(_)
            | ActionKind::Narrowed
            | ActionKind::Noted => RuleEffect::Changed,
            ActionKind::Warned(_) => RuleEffect::Warned,
            ActionKind::Rejected => RuleEffect::Denied,
            ActionKind::Exempted(_) => RuleEffect::Exempted,
        };
        once(&mut notes, RuleOutcome { rule: act.rule.name(), effect });
    }
    left_out
        .iter()
        .for_each(|one| once(&mut notes, RuleOutcome { rule: one.rule.name(), effect: RuleEffect::Unknown }));
    notes
}

/// Only what was skipped.
pub(super) fn unknown(left_out: &[SkippedRule]) -> Vec<RuleOutcome> {
    of(&[], left_out)
}

fn once(notes: &mut Vec<RuleOutcome>, note: RuleOutcome) {
    if !notes.contains(&note) {
        notes.push(note);
    }
}
