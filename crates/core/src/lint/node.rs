//! # Node: what is wrong with the taints of nodes
//! Room:     what an API server refuses (VAL-8), and taints that send a node's agents away.
//! Comes in: nodes; the DaemonSets, if all are known.
//! Goes out: findings of TL105, TL109, TL110, TL112, TL302 about taints.
//! Not here: misspelt keys (`keys.rs`); tolerations (`one.rs`).

use super::one::{EFFECTS, NOT_TEXT, QUOTE_IT, unknown_effect};
use super::pool::shown;
use super::words::Quoted;
use super::{Desk, Facts, Finding, Node, Part, Place, Rule, Subject};
use crate::admission::daemon_tolerations;
use crate::label::{is_key, is_value};
use crate::matching::{Answer, answer};
use crate::taint::{Effect, Taint, keys};
use crate::toleration::Toleration;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

pub(super) fn check(node: &Node, desk: &mut Desk<'_>) {
    let mut seen = BTreeMap::new();
    for (index, taint) in node.taints.iter().enumerate() {
        malformed(index, taint, desk);
        effect(index, taint, desk);
        if let Some(first) = seen.get(&(&*taint.key, &taint.effect)) {
            let reason =
                format!("taint {first} has this key and effect already: an API server refuses the node");
            let fix = "keep only one of the two";
            desk.say(Rule::DuplicateTaint, Place::Taint(index, Part::Whole), reason, fix);
        } else {
            seen.insert((&*taint.key, &taint.effect), index);
        }
    }
    for &(index, part) in &node.not_text {
        desk.say(Rule::NotText, Place::Taint(index, part), NOT_TEXT, QUOTE_IT);
    }
}

fn malformed(index: usize, taint: &Taint, desk: &mut Desk<'_>) {
    if !is_key(&taint.key) {
        let reason = format!("{} cannot be the key of a taint: an API server refuses it", Quoted(&taint.key));
        let fix = "write a name of letters, digits, '-', '_' and '.', perhaps after a domain and '/'";
        desk.say(Rule::Malformed, Place::Taint(index, Part::Key), reason, fix);
    }
    if !is_value(&taint.value) {
        let reason =
            format!("{} cannot be the value of a taint: an API server refuses it", Quoted(&taint.value));
        let fix = "write at most 63 letters, digits, '-', '_' and '.'";
        desk.say(Rule::Malformed, Place::Taint(index, Part::Value), reason, fix);
    }
}

fn effect(index: usize, taint: &Taint, desk: &mut Desk<'_>) {
    let Effect::Unknown(text) = &taint.effect else { return };
    let (reason, fix) = match &**text {
        "" => {
            let reason = String::from("a taint needs an effect: an API server refuses it");
            (reason, format!("write one of {}", EFFECTS.join(", ")))
        }
        other => unknown_effect(other),
    };
    desk.say(Rule::UnknownEffect, Place::Taint(index, Part::Effect), reason, fix);
}

/// A taint that sends pods away, and who has it.
struct Sending<'f> {
    taint: &'f Taint,
    /// The first node that has it, and which of its taints it is.
    first: (usize, usize),
    nodes: usize,
}

/// One finding for each taint, at the first node that has it.
pub(super) fn check_daemons(facts: &Facts, found: &mut Vec<Finding>) {
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
    for Sending { taint, first: (at, index), nodes } in sending(facts) {
        let borne = daemons.iter().any(|one| answer(one, taint, facts.numeric) != Answer::Untolerated);
        if !borne {
            let nodes = if nodes == 1 { "1 node loses".into() } else { format!("{nodes} nodes lose") };
            let reason =
                format!("no DaemonSet tolerates {}: {nodes} logs, network and monitoring", shown(taint));
            let fix = "give the agents a toleration for it, or use NoSchedule if running pods may stay";
            let desk = &mut Desk { subject: Subject::Node(at), found };
            desk.say(Rule::NoTolerantDaemon, Place::Taint(index, Part::Whole), reason, fix);
        }
    }
}

/// NoExecute taints of somebody's own, each once.
fn sending(facts: &Facts) -> impl Iterator<Item = Sending<'_>> {
    let mut found: BTreeMap<(&str, &str), Sending<'_>> = BTreeMap::new();
    for (at, node) in facts.nodes.iter().enumerate() {
        for (index, taint) in node.taints.iter().enumerate() {
            if taint.effect == Effect::NoExecute && !keys::ALL.contains(&&*taint.key) {
                let new = Sending { taint, first: (at, index), nodes: 0 };
                found.entry((&taint.key, &taint.value)).or_insert(new).nodes += 1;
            }
        }
    }
    found.into_values()
}
