//! Checks the tolerations of a workload against each other (TL202, TL203, TL204): duplicates, unused ones, and the
//! first-match trap (MATCH-9).
//!
//! - Invariant: a toleration of one key before a later one of all keys is an intended exception and not a finding.

use super::{FindingSink, LintedWorkload, Rule, TolerationPart};
use crate::taint::TaintEffect;
use crate::toleration::{Toleration, TolerationOperator, TolerationPeriod};
use crate::toleration_matching::{NumericOperators, canonical_integer};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// At most this many earlier tolerations are compared with each; more are not written by hand.
const EARLIER_MAX: usize = 512;

pub(super) fn check(workload: &LintedWorkload, numeric: NumericOperators, findings: &mut FindingSink<'_>) {
    let all: Vec<&Toleration> = workload.read().collect();
    for (index, later) in all.iter().enumerate() {
        let earlier = &all[..index.min(EARLIER_MAX)];
        let Some(matches) = first_matches(earlier, later, numeric) else { continue };
        let no_execute = matches.iter().find(|(effect, _)| *effect == TaintEffect::NoExecute);
        let trap = no_execute.and_then(|(_, first)| *first);
        if let Some(first) = trap.filter(|&first| earlier[first].period() != later.period()) {
            report_trap(index, first, (earlier[first], later), findings);
            continue;
        }
        let shadows: Option<Vec<usize>> = matches.iter().map(|(_, first)| *first).collect();
        if let Some(shadows) = shadows {
            report_useless(index, &shadows, &all, findings);
        }
    }
}

/// Returns, for each effect that the later one is for, the first of the earlier ones that matches everything it could
/// match. `None` if its meaning is unknown.
fn first_matches(
    earlier: &[&Toleration],
    later: &Toleration,
    numeric: NumericOperators,
) -> Option<Vec<(TaintEffect, Option<usize>)>> {
    let effects = match &later.effect {
        None => [TaintEffect::NoSchedule, TaintEffect::PreferNoSchedule, TaintEffect::NoExecute].to_vec(),
        Some(TaintEffect::Unknown(_)) => return None,
        Some(effect) => [effect.clone()].to_vec(),
    };
    if matches!(later.operator, TolerationOperator::Unknown(_)) {
        return None;
    }
    let first = |effect: &TaintEffect| earlier.iter().position(|one| covers(one, later, effect, numeric));
    Some(effects.into_iter().map(|effect| (effect.clone(), first(&effect))).collect())
}

/// Whether `earlier` matches every taint of this effect that `later` matches.
fn covers(earlier: &Toleration, later: &Toleration, effect: &TaintEffect, numeric: NumericOperators) -> bool {
    let key = earlier.key.is_empty() || earlier.key == later.key;
    key && earlier.effect.as_ref().is_none_or(|own| own == effect) && covers_values(earlier, later, numeric)
}

fn covers_values(earlier: &Toleration, later: &Toleration, numeric: NumericOperators) -> bool {
    use TolerationOperator::{Equal, Exists, Gt, Lt, Unset};
    let number = |toleration: &Toleration| canonical_integer(&toleration.value);
    let compare = |holds: fn(&i64, &i64) -> bool| {
        numeric == NumericOperators::On
            && number(earlier).zip(number(later)).is_some_and(|(earlier, later)| holds(&earlier, &later))
    };
    match (&earlier.operator, &later.operator) {
        (Exists, _) => true,
        (Unset | Equal, Unset | Equal) => earlier.value == later.value,
        (Lt, Lt) => compare(i64::ge),
        (Gt, Gt) => compare(i64::le),
        (Lt, Unset | Equal) => compare(i64::gt),
        (Gt, Unset | Equal) => compare(i64::lt),
        _ => false,
    }
}

fn report_trap(
    index: usize,
    first: usize,
    (earlier, later): (&Toleration, &Toleration),
    findings: &mut FindingSink<'_>,
) {
    let reason = format!(
        "for NoExecute, toleration {first} matches first, so the pod stays for {}; this one ({}) is never used",
        period_text(earlier),
        period_text(later)
    );
    let fix = if earlier.effect == Some(TaintEffect::NoExecute) && later.effect.is_none() {
        String::from(
            "write effect: NoSchedule here if that is what it is for; otherwise keep only one of the two",
        )
    } else if later.key == earlier.key {
        String::from("keep only the one that you need")
    } else {
        format!("move it before toleration {first}, or keep only the correct one")
    };
    findings.toleration(Rule::FirstMatchTrap, (index, TolerationPart::Whole), reason, fix);
}

fn report_useless(index: usize, shadows: &[usize], all: &[&Toleration], findings: &mut FindingSink<'_>) {
    let fix = "remove it";
    if let [first] | [first, _, _] = shadows[..]
        && is_same(all[first], all[index])
    {
        let reason = format!("it duplicates toleration {first}");
        findings.toleration(Rule::DuplicateToleration, (index, TolerationPart::Whole), reason, fix);
        return;
    }
    let mut others = shadows.to_vec();
    others.sort_unstable();
    others.dedup();
    let which = match &others[..] {
        [only] => format!("toleration {only} comes first and matches"),
        [rest @ .., last] => {
            let rest: Vec<String> = rest.iter().map(|other| format!("{other}")).collect();
            format!("tolerations {} and {last} come first and match", rest.join(", "))
        }
        [] => return,
    };
    let reason = format!("{which} everything that this one could match");
    findings.toleration(Rule::ShadowedToleration, (index, TolerationPart::Whole), reason, fix);
}

/// Whether they are equal apart from the seconds, which do not count (MATCH-2); an absent operator equals `Equal`.
fn is_same(one: &Toleration, other: &Toleration) -> bool {
    let operator = |toleration: &Toleration| match &toleration.operator {
        TolerationOperator::Unset => TolerationOperator::Equal,
        other => other.clone(),
    };
    one.key == other.key
        && one.effect == other.effect
        && one.value == other.value
        && operator(one) == operator(other)
}

fn period_text(toleration: &Toleration) -> String {
    match (toleration.period(), toleration.seconds) {
        (TolerationPeriod::For(_), Some(seconds)) => format!("{seconds} s"),
        _ => String::from("an unlimited time"),
    }
}
