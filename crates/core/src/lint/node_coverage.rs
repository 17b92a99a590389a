//! Checks tolerations against the taints of all nodes (TL301, TL303, TL304).
//!
//! - Invariant: temporary taints (MATCH-10) may be missing from a node now.

use super::key_problem::is_of_kubernetes;
use super::{
    FindingPlace, FindingSink, LintInput, LintedNode, LintedWorkload, Rule, TolerationPart, nearest, shown,
};
use crate::taint::{Taint, TaintEffect, keys};
use crate::text::Quoted;
use crate::toleration::daemon_tolerations;
use crate::toleration::{Toleration, TolerationOperator};
use crate::toleration_matching::{NumericOperators, TaintMatch, TolerationMatch, match_taints, tolerates};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// The maximum edit distance between a key and one on a node.
const LETTERS_MAX: usize = 2;

/// The taints of all nodes.
pub(super) struct NodeGroups<'f> {
    nodes: Vec<&'f LintedNode>,
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
        let nodes: Vec<&LintedNode> = facts.nodes.iter().filter(|node| !node.partial).collect();
        for (at, node) in nodes.iter().enumerate() {
            for taint in &node.taints {
                taints.entry(&taint.key).or_default().entry((&*taint.value, &taint.effect)).or_insert(taint);
                carriers.entry(&taint.key).or_default().insert(at);
            }
        }
        Self { nodes, taints, carriers, numeric: facts.numeric }
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

/// Whether a taint is a user's own, and not one that Kubernetes adds and removes. The domain does not tell.
fn is_own(key: &str, pools: &NodeGroups<'_>) -> bool {
    let is_of_kubernetes = if pools.carry(key) { keys::ALL.contains(&key) } else { is_of_kubernetes(key) };
    !key.is_empty() && !is_of_kubernetes
}

/// Formats a toleration as the taint it is for: `spot=yes:NoSchedule`.
fn taint_text(toleration: &Toleration) -> String {
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
        if !is_own(&toleration.key, pools) || pools.needs(toleration) {
            continue;
        }
        let (reason, fix) = match pools.taints.get(&*toleration.key) {
            Some(others) => {
                let there: Vec<String> = others.values().take(3).map(|taint| shown(taint)).collect();
                let reason = format!(
                    "no node has a taint for {}, although there is {}",
                    taint_text(toleration),
                    there.join(", ")
                );
                (reason, String::from("compare value and effect with those of the nodes"))
            }
            None => match nearest(&toleration.key, pools.taints.keys().copied(), LETTERS_MAX) {
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
        let for_pool = is_own(&toleration.key, pools)
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
    let runtime = workload.runtime.as_ref();
    if workload.bound || runtime.is_some_and(|runtime| !runtime.is_known) {
        return;
    }
    let added = runtime.into_iter().flat_map(|runtime| &runtime.tolerations);
    let tolerations: Vec<Toleration> = workload.read().chain(added).cloned().collect();
    let tolerations =
        if workload.daemon { daemon_tolerations(&tolerations, workload.host_network) } else { tolerations };
    let spec = workload.with_tolerations(tolerations);
    let mut best: Option<UntoleratedTaints<'_>> = None;
    let mut count = 0;
    for node in pools.nodes.iter().filter(|node| spec.matches(&node.name, &node.labels)) {
        count += 1;
        let untolerated = UntoleratedTaints::of(node, &spec.tolerations, pools.numeric);
        let is_control_plane = |taint: &&Taint| *taint.key == *keys::CONTROL_PLANE;
        let is_known = workload.wants_control_plane() && untolerated.lasting.iter().any(is_control_plane);
        if untolerated.lasting.is_empty() || is_known {
            return;
        }
        if best.as_ref().is_none_or(|best| untolerated.lasting.len() < best.lasting.len()) {
            best = Some(untolerated);
        }
    }
    let Some(best) = best else { return };
    let selects = !workload.node_selector.is_empty() || workload.required.is_some();
    let (relation, who) = if selects { (" that it selects", "have") } else { ("", "of the input have") };
    let reason = match count {
        1 => format!(
            "the only node{relation} has {}, which it does not tolerate",
            best.words(&spec.tolerations, pools.numeric)
        ),
        many => format!(
            "all {many} nodes{relation} {who} taints that it does not tolerate; {} has {}",
            best.node.name,
            best.words(&spec.tolerations, pools.numeric)
        ),
    };
    let fix = match best.lasting.len() {
        1 => "add the toleration, or ask for other nodes",
        _ => "add all of these tolerations, or ask for other nodes",
    };
    findings.report(Rule::NotLetIn, FindingPlace::Selection, reason, fix);
}

/// The taints that repel a pod from a node (SC-1).
struct UntoleratedTaints<'n> {
    node: &'n LintedNode,
    /// Those that nothing but a person removes.
    lasting: Vec<&'n Taint>,
    /// Those that Kubernetes removes by itself.
    temporary: Vec<&'n Taint>,
}

impl<'n> UntoleratedTaints<'n> {
    fn of(node: &'n LintedNode, tolerations: &[Toleration], numeric: NumericOperators) -> Self {
        let repelling: Vec<&Taint> = node.taints.iter().filter(|taint| keeps_off(&taint.effect)).collect();
        let matches = match_taints(tolerations, repelling.iter().copied(), numeric);
        let untolerated =
            repelling.into_iter().zip(matches).filter(|(_, one)| *one == TaintMatch::Untolerated);
        let (lasting, temporary) = untolerated
            .map(|(taint, _)| taint)
            .partition(|taint| *taint.key == *keys::CONTROL_PLANE || !keys::ALL.contains(&&*taint.key));
        Self { node, lasting, temporary }
    }

    /// `etcd=true:NoExecute and, for now, uninitialized:NoSchedule`
    fn words(&self, tolerations: &[Toleration], numeric: NumericOperators) -> String {
        let lasting: Vec<String> =
            self.lasting.iter().map(|taint| shown(taint) + &near_miss(taint, tolerations, numeric)).collect();
        let temporary: Vec<String> = self.temporary.iter().map(|taint| shown(taint)).collect();
        match temporary[..] {
            [] => lasting.join(", "),
            _ => format!("{} and, for some time, {}", lasting.join(", "), temporary.join(", ")),
        }
    }
}

/// How the toleration of the same key misses the taint: ` (toleration 0 has the value windows)`.
fn near_miss(taint: &Taint, tolerations: &[Toleration], numeric: NumericOperators) -> String {
    let near = tolerations.iter().enumerate().find(|(_, one)| {
        !one.key.is_empty()
            && one.key.eq_ignore_ascii_case(&taint.key)
            && tolerates(one, taint, numeric) == TolerationMatch::No
    });
    let Some((index, one)) = near else { return String::new() };
    let mut parts = Vec::new();
    if one.key != taint.key {
        parts.push(format!("key {}≠{}", one.key, taint.key));
    }
    if one.operator != TolerationOperator::Exists && one.value != taint.value {
        parts.push(format!("value {}≠{}", quoted_if_empty(&one.value), quoted_if_empty(&taint.value)));
    }
    if let Some(effect) = one.effect.as_ref().filter(|effect| **effect != taint.effect) {
        parts.push(format!("effect {}≠{}", effect.as_str(), taint.effect.as_str()));
    }
    let parts = Quoted(&parts.join(", ")).to_string();
    format!(" (toleration {index} misses it: {})", parts.trim_matches('"'))
}

fn quoted_if_empty(text: &str) -> &str {
    if text.is_empty() { "''" } else { text }
}
