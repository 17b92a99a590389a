//! Checks keys, values and effects of Kubernetes' own taints (TL205, TL206, TL207, TL213): misspelled, obsolete or
//! impossible ones (MATCH-10).
//!
//! - Invariant: a key that some node carries is never reported in a toleration.

use super::key_problem::{KeyProblem, wrong};
use super::node_coverage::NodeGroups;
use super::{FindingPlace, FindingSink, LintedNode, LintedWorkload, Rule, TolerationPart};
use crate::taint::{TaintEffect, keys};
use crate::text::Quoted;
use crate::toleration::{Toleration, TolerationOperator};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Kubernetes, or an administrator, adds these taints with a value.
const WITH_VALUE: [&str; 2] = [keys::UNINITIALIZED, keys::OUT_OF_SERVICE];

pub(super) fn check_tolerations(
    workload: &LintedWorkload,
    pools: &NodeGroups<'_>,
    findings: &mut FindingSink<'_>,
) {
    for (index, toleration) in workload.read().enumerate() {
        if pools.carry(&toleration.key) {
            continue;
        }
        match wrong(&toleration.key) {
            Some(KeyProblem::Old(new))
                if !new.is_some_and(|new| workload.read().any(|one| *one.key == *new)) =>
            {
                let (reason, fix) = old(&toleration.key, new);
                findings.toleration(Rule::OldKey, (index, TolerationPart::Key), reason, fix);
            }
            Some(KeyProblem::Misspelt(meant)) => {
                let (reason, fix) = misspelt(&toleration.key, meant);
                findings.toleration(Rule::MisspeltKey, (index, TolerationPart::Key), reason, fix);
            }
            _ => {
                valueless(index, toleration, findings);
                impossible_effect(index, toleration, findings);
            }
        }
    }
}

pub(super) fn check_taints(node: &LintedNode, findings: &mut FindingSink<'_>) {
    for (index, taint) in node.taints.iter().enumerate() {
        let (rule, (reason, fix)) = match wrong(&taint.key) {
            Some(KeyProblem::Old(new)) => (Rule::OldKey, old(&taint.key, new)),
            Some(KeyProblem::Misspelt(meant)) => (Rule::MisspeltKey, misspelt(&taint.key, meant)),
            None => continue,
        };
        findings.report(rule, FindingPlace::Taint(index, TolerationPart::Key), reason, fix);
    }
}

/// The effects that Kubernetes gives these taints. It never changes them; administrators give others to the taints of
/// control planes and of nodes that are out of service.
const EFFECTS: [(&str, &[TaintEffect]); 9] = [
    (keys::NOT_READY, &[TaintEffect::NoSchedule, TaintEffect::NoExecute]),
    (keys::UNREACHABLE, &[TaintEffect::NoSchedule, TaintEffect::NoExecute]),
    (keys::UNSCHEDULABLE, &[TaintEffect::NoSchedule]),
    (keys::MEMORY_PRESSURE, &[TaintEffect::NoSchedule]),
    (keys::DISK_PRESSURE, &[TaintEffect::NoSchedule]),
    (keys::PID_PRESSURE, &[TaintEffect::NoSchedule]),
    (keys::NETWORK_UNAVAILABLE, &[TaintEffect::NoSchedule]),
    (keys::UNINITIALIZED, &[TaintEffect::NoSchedule]),
    (keys::OUT_OF_SERVICE, &[TaintEffect::NoExecute]),
];

fn old(key: &str, new: Option<&str>) -> (String, String) {
    let reason = format!("no current release puts {} on a node", Quoted(key));
    let fix = match new {
        Some(new) => format!("write {new}"),
        None => String::from("remove it; it has no successor"),
    };
    (reason, fix)
}

fn misspelt(key: &str, meant: &str) -> (String, String) {
    let reason = format!("{} resembles {meant}, but is a different key", Quoted(key));
    (reason, format!("write {meant}"))
}

/// AD-2: such a toleration does not tolerate the real taint, and still suppresses the default of 300 s.
fn valueless(index: usize, toleration: &Toleration, findings: &mut FindingSink<'_>) {
    let known = keys::ALL.contains(&&*toleration.key) && !WITH_VALUE.contains(&&*toleration.key);
    let equal = matches!(toleration.operator, TolerationOperator::Unset | TolerationOperator::Equal);
    if known && equal && !toleration.value.is_empty() {
        let default_lost = [keys::NOT_READY, keys::UNREACHABLE].contains(&&*toleration.key);
        let and = if default_lost { ", and it prevents the default of 300 s" } else { "" };
        let reason = format!("{} has no value, so it never matches{and}", toleration.key);
        let fix = "leave the value out, or write operator: Exists";
        findings.toleration(Rule::ValueForValueless, (index, TolerationPart::Value), reason, fix);
    }
}

/// Kubelets evict pods by themselves when a node is short of something, and no toleration prevents that.
fn impossible_effect(index: usize, toleration: &Toleration, findings: &mut FindingSink<'_>) {
    let Some((key, effects)) = EFFECTS.iter().find(|(key, _)| **key == *toleration.key) else { return };
    let Some(own) = toleration.effect.as_ref().filter(|own| !matches!(own, TaintEffect::Unknown(_))) else {
        return;
    };
    if effects.contains(own) {
        return;
    }
    let names: Vec<&str> = effects.iter().map(TaintEffect::as_str).collect();
    let reason = format!("the effect of {key} is never {}: the toleration never matches", own.as_str());
    let fix = match key.ends_with("-pressure") && *own == TaintEffect::NoExecute {
        true => String::from(
            "remove it: kubelets evict pods under pressure without a taint, by priority and use of resources",
        ),
        false => format!("write effect: {}", names.join(" or ")),
    };
    findings.toleration(Rule::ImpossibleEffect, (index, TolerationPart::Effect), reason, fix);
}
