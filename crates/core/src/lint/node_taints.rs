//! Checks the taints of nodes (TL105, TL109, TL110, TL112, TL302): invalid ones (VAL-8), and those that evict DaemonSet
//! pods.

use super::{
    EFFECTS, FindingPlace, FindingSink, LintFinding, LintInput, LintSubject, LintedNode, NOT_TEXT, QUOTE_IT,
    Rule, TolerationPart, odd_letter, shown, unknown_effect,
};
use crate::label::{is_key, is_value};
use crate::taint::{Taint, TaintEffect, keys};
use crate::text::Quoted;
use crate::toleration::Toleration;
use crate::toleration::daemon_tolerations;
use crate::toleration_matching::{TaintMatch, match_taint};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

pub(super) fn check(node: &LintedNode, findings: &mut FindingSink<'_>) {
    let mut seen = BTreeMap::new();
    for (index, taint) in node.taints.iter().enumerate() {
        malformed(index, taint, findings);
        effect(index, taint, findings);
        if let Some(first) = seen.get(&(&*taint.key, &taint.effect)) {
            let reason =
                format!("taint {first} has this key and effect already: an API server rejects the node");
            let fix = "keep only one of the two";
            findings.report(
                Rule::DuplicateTaint,
                FindingPlace::Taint(index, TolerationPart::Whole),
                reason,
                fix,
            );
        } else {
            seen.insert((&*taint.key, &taint.effect), index);
        }
    }
    for &(index, part) in &node.not_text {
        findings.report(Rule::NotText, FindingPlace::Taint(index, part), NOT_TEXT, QUOTE_IT);
    }
}

fn malformed(index: usize, taint: &Taint, findings: &mut FindingSink<'_>) {
    if !is_key(&taint.key) {
        let reason = format!(
            "{} cannot be the key of a taint{}: an API server rejects it",
            Quoted(&taint.key),
            odd_letter(&taint.key)
        );
        let fix = "write a name of letters, digits, '-', '_' and '.', optionally after a domain and '/'";
        findings.report(Rule::Malformed, FindingPlace::Taint(index, TolerationPart::Key), reason, fix);
    }
    if !is_value(&taint.value) {
        let reason = format!(
            "{} cannot be the value of a taint{}: an API server rejects it",
            Quoted(&taint.value),
            odd_letter(&taint.value)
        );
        let fix = "write at most 63 letters, digits, '-', '_' and '.'";
        findings.report(Rule::Malformed, FindingPlace::Taint(index, TolerationPart::Value), reason, fix);
    }
}

fn effect(index: usize, taint: &Taint, findings: &mut FindingSink<'_>) {
    let TaintEffect::Unknown(text) = &taint.effect else { return };
    let (reason, fix) = match &**text {
        "" => {
            let reason = String::from("a taint needs an effect: an API server rejects it");
            (reason, format!("write one of {}", EFFECTS.join(", ")))
        }
        other => unknown_effect(other),
    };
    findings.report(Rule::UnknownEffect, FindingPlace::Taint(index, TolerationPart::Effect), reason, fix);
}

/// A taint that evicts pods, and the nodes that have it.
struct CarriedTaint<'f> {
    taint: &'f Taint,
    /// The first node that has it, and the taint's position on it.
    first: (usize, usize),
    nodes: usize,
}

/// Adds one finding for each taint, at the first node that has it.
pub(super) fn check_daemons(facts: &LintInput, found: &mut Vec<LintFinding>) {
    let own = facts.workloads.iter().filter(|workload| workload.daemon);
    let daemons: BTreeSet<Vec<Toleration>> = own
        .chain(&facts.other_daemons)
        .map(|daemon| {
            let template: Vec<Toleration> = daemon.read().cloned().collect();
            daemon_tolerations(&template, daemon.host_network)
        })
        .collect();
    if !facts.daemons_known || daemons.is_empty() {
        return;
    }
    for CarriedTaint { taint, first: (at, index), nodes } in sending(facts) {
        let borne =
            daemons.iter().any(|one| match_taint(one, taint, facts.numeric) != TaintMatch::Untolerated);
        if !borne {
            let nodes = if nodes == 1 { "1 node loses".into() } else { format!("{nodes} nodes lose") };
            let reason =
                format!("no DaemonSet tolerates {}: {nodes} logs, network and monitoring", shown(taint));
            let fix = "give the agents a toleration for it, or use NoSchedule if running pods may stay";
            let findings = &mut FindingSink { subject: LintSubject::Node(at), found };
            findings.report(
                Rule::NoTolerantDaemon,
                FindingPlace::Taint(index, TolerationPart::Whole),
                reason,
                fix,
            );
        }
    }
}

/// Returns users' own NoExecute taints, each once.
fn sending(facts: &LintInput) -> impl Iterator<Item = CarriedTaint<'_>> {
    let mut found: BTreeMap<(&str, &str), CarriedTaint<'_>> = BTreeMap::new();
    for (at, node) in facts.nodes.iter().enumerate().filter(|(_, node)| !node.partial) {
        for (index, taint) in node.taints.iter().enumerate() {
            if taint.effect == TaintEffect::NoExecute && !keys::ALL.contains(&&*taint.key) {
                let new = CarriedTaint { taint, first: (at, index), nodes: 0 };
                found.entry((&taint.key, &taint.value)).or_insert(new).nodes += 1;
            }
        }
    }
    found.into_values()
}
