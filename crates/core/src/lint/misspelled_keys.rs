//! Checks keys and values of Kubernetes' own taints (TL205, TL206, TL207): misspelled, obsolete or impossible ones
//! (MATCH-10).
//!
//! - Invariant: a key that some node carries is never reported in a toleration.

use super::node_coverage::NodeGroups;
use super::quoted::Quoted;
use super::{FindingPlace, FindingSink, LintedNode, LintedWorkload, Rule, TolerationPart, nearest};
use crate::taint::keys;
use crate::toleration::{Toleration, TolerationOperator};
use alloc::format;
use alloc::string::String;

/// Kubernetes, or an administrator, adds these taints with a value.
const WITH_VALUE: [&str; 2] = [keys::UNINITIALIZED, keys::OUT_OF_SERVICE];

/// The maximum edit distance between a misspelled key and the right one.
const LETTERS_MOST: usize = 2;

/// What is wrong with a key.
enum KeyProblem {
    Old(Option<&'static str>),
    Misspelt(&'static str),
}

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
            _ => valueless(index, toleration, findings),
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
        findings.say(rule, FindingPlace::Taint(index, TolerationPart::Key), reason, fix);
    }
}

fn wrong(key: &str) -> Option<KeyProblem> {
    if key.is_empty() || keys::ALL.contains(&key) {
        return None;
    }
    if let Some((_, new)) = keys::OLD.iter().find(|(old, _)| *old == key) {
        return Some(KeyProblem::Old(*new));
    }
    if key.starts_with("node.alpha.kubernetes.io/") || key.starts_with("node.beta.kubernetes.io/") {
        return Some(KeyProblem::Old(None));
    }
    misspelt_of(key).map(KeyProblem::Misspelt)
}

/// Returns the key that was intended: one that differs only in punctuation and case, in a few letters, or in having no
/// domain or another one of Kubernetes' domains.
fn misspelt_of(key: &str) -> Option<&'static str> {
    let plain = |text: &str| -> String {
        text.chars().filter(|sign| !"-_".contains(*sign)).flat_map(char::to_lowercase).collect()
    };
    let name = |key: &str| key.split_once('/').map_or_else(|| plain(key), |(_, name)| plain(name));
    let same = |known: &&&str| plain(known) == plain(key);
    if let Some(known) = keys::ALL.iter().find(same) {
        return Some(known);
    }
    if let Some(known) = nearest(key, keys::ALL, LETTERS_MOST) {
        return Some(known);
    }
    let of_kubernetes =
        key.split_once('/').is_none_or(|(domain, _)| domain.ends_with("kubernetes.io") || domain.is_empty());
    let known = keys::ALL.iter().find(|known| of_kubernetes && name(known) == name(key));
    known.copied()
}

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
