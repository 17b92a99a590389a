//! Checks tolerations against the taints of all nodes (TL301, TL303, TL304).
//!
//! - Invariant: temporary taints (MATCH-10) may be missing from a node now.

use super::quoted::Quoted;
use super::{
    FindingPlace, FindingSink, LintInput, LintedNode, LintedWorkload, Rule, TolerationPart, nearest, shown,
};
use crate::admission::daemon_tolerations;
use crate::taint::{Taint, TaintEffect, keys};
use crate::toleration::{Toleration, TolerationOperator};
use crate::toleration_matching::{NumericOperators, TaintMatch, TolerationMatch, match_taints, tolerates};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// The maximum edit distance between a key and one on a node.
const LETTERS_MOST: usize = 2;

/// The taints of all nodes.
pub(super) struct NodeGroups<'f> {
    nodes: &'f [LintedNode],
    /// By key; each distinct taint once.
    taints: BTreeMap<&'f str, BTreeMap<(&'f str, &'f TaintEffect), &'f Taint>>,
    /// By key: the nodes that have it.
    carriers: BTreeMap<&'f str, BTreeSet<usize>>,
    numeric: NumericOperators,
}

impl<'f> NodeGroups<'f> {
    pub(super) fn new(facts: &'f LintInput) -> Self {
        let mut taints: BTreeMap<&str, BTreeMap<_, _>> = BTreeMap::new();
        let mut carriers: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        for (at, node) in facts.nodes.iter().enumerate() {
            for taint in &node.taints {
                taints.entry(&taint.key).or_default().entry((&*taint.value, &taint.effect)).or_insert(taint);
                carriers.entry(&taint.key).or_default().insert(at);
            }
        }
        Self { nodes: &facts.nodes, taints, carriers, numeric: facts.numeric }
    }

    /// Whether a node has a taint of this key.
    pub(super) fn carry(&self, key: &str) -> bool {
        self.taints.contains_key(key)
    }

    /// Whether a node has a taint that this toleration matches.
    fn needs(&self, toleration: &Toleration) -> bool {
        let mut of_key = self.taints.get(&*toleration.key).into_iter().flat_map(BTreeMap::values);
        of_key.any(|taint| tolerates(toleration, taint, self.numeric) != TolerationMatch::No)
    }

    /// How many nodes become available only by this toleration.
    fn opened(&self, toleration: &Toleration) -> usize {
        let opens = |taint: &Taint| {
            keeps_off(&taint.effect) && tolerates(toleration, taint, self.numeric) == TolerationMatch::Yes
        };
        let carriers = self.carriers.get(&*toleration.key).into_iter().flatten();
        carriers.filter(|&&at| self.nodes[at].taints.iter().any(opens)).count()
    }
}

pub(super) fn check(workload: &LintedWorkload, pools: &NodeGroups<'_>, findings: &mut FindingSink<'_>) {
    if !pools.nodes.is_empty() {
        unneeded(workload, pools, findings);
        not_let_in(workload, pools, findings);
    }
    nothing_leads_there(workload, pools, findings);
}

/// Whether a taint with this effect repels pods.
fn keeps_off(effect: &TaintEffect) -> bool {
    matches!(effect, TaintEffect::NoSchedule | TaintEffect::NoExecute)
}

/// Whether a taint is a user's own, and not one that Kubernetes adds and removes.
fn is_own(key: &str) -> bool {
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    !key.is_empty() && domain != "kubernetes.io" && !domain.ends_with(".kubernetes.io")
}

/// Formats a toleration as the taint it is for: `spot=yes:NoSchedule`.
fn told(toleration: &Toleration) -> String {
    let mut text = String::from(&*toleration.key);
    if !toleration.value.is_empty() {
        text += &format!("={}", toleration.value);
    }
    if let Some(effect) = &toleration.effect {
        text += &format!(":{}", effect.as_str());
    }
    Quoted(&text).to_string()
}

fn unneeded(workload: &LintedWorkload, pools: &NodeGroups<'_>, findings: &mut FindingSink<'_>) {
    for (index, toleration) in workload.read().enumerate() {
        if !is_own(&toleration.key) || pools.needs(toleration) {
            continue;
        }
        let (reason, fix) = match pools.taints.get(&*toleration.key) {
            Some(others) => {
                let there: Vec<String> = others.values().take(3).map(|taint| shown(taint)).collect();
                let reason = format!(
                    "no node has a taint for {}, although there is {}",
                    told(toleration),
                    there.join(", ")
                );
                (reason, String::from("compare value and effect with those of the nodes"))
            }
            None => match nearest(&toleration.key, pools.taints.keys().copied(), LETTERS_MOST) {
                Some(near) => {
                    let reason =
                        format!("no node has a taint {}; one has {}", Quoted(&toleration.key), Quoted(near));
                    (reason, format!("write key: {near}, if you mean that key"))
                }
                None => {
                    let reason = format!("no node has a taint {}", Quoted(&toleration.key));
                    (reason, String::from("remove it, unless such nodes come and go"))
                }
            },
        };
        findings.toleration(Rule::UnneededToleration, (index, TolerationPart::Whole), reason, fix);
    }
}

/// A dedicated pool needs both: its taint repels other pods, and a selector or affinity attracts its own. One finding
/// for a workload is enough.
fn nothing_leads_there(workload: &LintedWorkload, pools: &NodeGroups<'_>, findings: &mut FindingSink<'_>) {
    if workload.daemon || workload.is_led() {
        return;
    }
    for (index, toleration) in workload.read().enumerate() {
        let for_pool = is_own(&toleration.key)
            && toleration.effect.as_ref().is_none_or(keeps_off)
            && !matches!(toleration.operator, TolerationOperator::Unknown(_));
        if !for_pool {
            continue;
        }
        let tainted = pools.opened(toleration);
        let others = pools.nodes.len().saturating_sub(tainted);
        let reason = if pools.nodes.is_empty() && is_dedicated(&toleration.key) {
            String::from(
                "the toleration only lets the pods in: without a selector or affinity they go to any node",
            )
        } else if tainted > 0 && others > 0 {
            format!(
                "the toleration lets the pods onto {tainted} of {} nodes, and nothing keeps them off the others",
                pools.nodes.len()
            )
        } else {
            continue;
        };
        let fix = "add a nodeSelector or a required node affinity for a label of those nodes";
        findings.toleration(Rule::NothingLeadsThere, (index, TolerationPart::Whole), reason, fix);
        return;
    }
}

/// Whether it is the key that examples commonly use.
fn is_dedicated(key: &str) -> bool {
    key.rsplit('/').next() == Some("dedicated")
}

fn not_let_in(workload: &LintedWorkload, pools: &NodeGroups<'_>, findings: &mut FindingSink<'_>) {
    let selects = !workload.node_selector.is_empty() || workload.required.is_some();
    if !selects || workload.bound {
        return;
    }
    let tolerations: Vec<Toleration> = workload.read().cloned().collect();
    let tolerations =
        if workload.daemon { daemon_tolerations(&tolerations, workload.host_network) } else { tolerations };
    let wish = workload.wish(tolerations);
    let mut keeping: BTreeSet<String> = BTreeSet::new();
    let mut asked_for = 0;
    for node in pools.nodes.iter().filter(|node| wish.matches(&node.name, &node.labels)) {
        asked_for += 1;
        match keeps_out(&wish.tolerations, node, pools.numeric) {
            Some(taint) if *taint.key == *keys::CONTROL_PLANE && workload.wants_control_plane() => return,
            Some(taint) => _ = keeping.insert(shown(taint)),
            None => return,
        }
    }
    if asked_for > 0 {
        let taints: Vec<String> = keeping.into_iter().take(3).collect();
        let which = match asked_for {
            1 => "the only node that it selects has".to_string(),
            many => format!("all {many} nodes that it selects have"),
        };
        let reason = format!("{which} a taint that it does not tolerate: {}", taints.join(", "));
        let fix = "add the toleration, or ask for other nodes";
        findings.say(Rule::NotLetIn, FindingPlace::Selection, reason, fix);
    }
}

/// Returns the first lasting taint that repels such a pod from the node (SC-1).
fn keeps_out<'n>(
    tolerations: &[Toleration],
    node: &'n LintedNode,
    numeric: NumericOperators,
) -> Option<&'n Taint> {
    let lasting = |taint: &&Taint| {
        keeps_off(&taint.effect) && (*taint.key == *keys::CONTROL_PLANE || !keys::ALL.contains(&&*taint.key))
    };
    let taints: Vec<&Taint> = node.taints.iter().filter(lasting).collect();
    let matches = match_taints(tolerations, taints.iter().copied(), numeric);
    taints
        .into_iter()
        .zip(matches)
        .find(|(_, answer)| *answer == TaintMatch::Untolerated)
        .map(|(taint, _)| taint)
}
