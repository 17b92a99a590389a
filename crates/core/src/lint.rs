//! Finds tolerations and taints that do not do what their author expects: takes a [`LintInput`], returns
//! [`LintFinding`]s.
//!
//! - Invariant: `toleration_matching` alone decides what is tolerated; rules that need nodes report nothing without
//!   nodes.
//! - See `lint/rule.rs` for the list of rules.

use crate::scheduling::{Labels, NodeOperator, NodeTerm, PodSchedulingSpec};
use crate::taint::{Taint, keys};
use crate::text::{Quoted, distance};
use crate::toleration::Toleration;
use crate::toleration_matching::NumericOperators;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

mod conflicting_tolerations;
mod field_problems;
mod key_problem;
mod misspelled_keys;
mod node_coverage;
mod node_taints;
mod rule;
mod single_toleration;
#[cfg(test)]
mod tests;
mod unusual_tolerations;

pub use field_problems::{FieldProblem, LintedList, ValueType};
pub use rule::{Rule, Severity};

/// The valid effects.
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// The message for a non-text value.
const NOT_TEXT: &str = "YAML reads this as a number, a truth value or a list: an API server rejects it";
const QUOTE_IT: &str = "put it in quotes";

/// The labels of control plane nodes; some nodes still have the old name.
const CONTROL_PLANE_LABELS: [&str; 2] = [keys::CONTROL_PLANE, "node-role.kubernetes.io/master"];

/// A toleration as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LintedToleration {
    /// The toleration as an API server parses it; every text is kept as written.
    pub read: Toleration,
    /// `tolerationSeconds` as written, if it is not a 64-bit integer.
    pub odd_seconds: Option<Box<str>>,
    /// `tolerationSeconds` as written, if it is an octal number.
    pub octal_seconds: Option<Box<str>>,
    /// Names of fields that a toleration does not have.
    pub odd_fields: Vec<Box<str>>,
    /// Fields that should be text and have another type: `value: true`.
    pub not_text: Vec<TolerationPart>,
}

impl From<Toleration> for LintedToleration {
    fn from(read: Toleration) -> Self {
        Self { read, odd_seconds: None, octal_seconds: None, odd_fields: Vec::new(), not_text: Vec::new() }
    }
}

/// A workload, or a bare pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LintedWorkload {
    /// `metadata.namespace`; empty if absent.
    pub namespace: Box<str>,
    /// A DaemonSet, or a pod of one.
    pub daemon: bool,
    /// A part of the control plane itself: labeled `tier: control-plane`, as kubeadm does.
    pub control_plane: bool,
    /// Its priority class is `system-node-critical`.
    pub node_critical: bool,
    /// `spec.hostNetwork`.
    pub host_network: bool,
    /// `spec.nodeName` is set: the scheduler is bypassed.
    pub bound: bool,
    /// `spec.tolerations`.
    pub tolerations: Vec<LintedToleration>,
    /// `spec.nodeSelector`.
    pub node_selector: Labels,
    /// The terms of the required node affinity.
    pub required: Option<Vec<NodeTerm>>,
    /// Whether it prefers some nodes.
    pub prefers: bool,
    /// Whether it requests resources that only some nodes have, such as `nvidia.com/gpu`.
    pub special_resources: bool,
    /// What its RuntimeClass adds to its pods.
    pub runtime: Option<RuntimeScheduling>,
    /// Its tolerations are not all, or it is not a workload of Kubernetes: they are checked one by one only.
    pub partial: bool,
    /// Fields that an API server drops or rejects.
    pub problems: Vec<FieldProblem>,
}

/// What a RuntimeClass adds to the pods that name it, when they are created.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuntimeScheduling {
    /// `spec.runtimeClassName`.
    pub class: Box<str>,
    /// Whether the class is among the input; if not, nothing is known about the nodes of its pods.
    pub is_known: bool,
    /// The class's `scheduling.tolerations`.
    pub tolerations: Vec<Toleration>,
    /// The class's `scheduling.nodeSelector`.
    pub node_selector: Labels,
}

impl LintedWorkload {
    /// Returns the tolerations as an API server parses them.
    fn read(&self) -> impl Iterator<Item = &Toleration> {
        self.tolerations.iter().map(|toleration| &toleration.read)
    }

    /// Whether its pods select or prefer some nodes.
    fn is_led(&self) -> bool {
        self.bound
            || self
                .runtime
                .as_ref()
                .is_some_and(|runtime| !runtime.is_known || !runtime.node_selector.is_empty())
            || self.prefers
            || self.special_resources
            || !self.node_selector.is_empty()
            || self.required.is_some()
    }

    /// Whether it can only run on nodes of the control plane.
    fn wants_control_plane(&self) -> bool {
        let label = |key: &str| CONTROL_PLANE_LABELS.contains(&key);
        let requires_label = |term: &NodeTerm| {
            term.expressions
                .iter()
                .any(|one| label(&one.key) && matches!(one.operator, NodeOperator::Exists | NodeOperator::In))
        };
        self.node_selector.keys().any(|key| label(key))
            || self
                .required
                .as_ref()
                .is_some_and(|terms| !terms.is_empty() && terms.iter().all(requires_label))
    }

    /// Returns the scheduling spec with these tolerations.
    fn with_tolerations(&self, tolerations: Vec<Toleration>) -> PodSchedulingSpec {
        let mut node_selector = self.node_selector.clone();
        node_selector.extend(self.runtime.iter().flat_map(|runtime| runtime.node_selector.clone()));
        PodSchedulingSpec {
            tolerations,
            node_selector,
            required: self.required.clone(),
            preferred: Vec::new(),
            load: crate::scheduling::ResourceRequests::default(),
            priority: 0,
            preempts: false,
        }
    }
}

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LintedNode {
    /// `metadata.name`.
    pub name: Box<str>,
    /// `metadata.labels`.
    pub labels: Labels,
    /// `spec.taints`.
    pub taints: Vec<Taint>,
    /// Fields of taints, by their position, that should be text and have another type.
    pub not_text: Vec<(usize, TolerationPart)>,
    /// Its taints are not all, or it is not a node: they are checked one by one only.
    pub partial: bool,
    /// Fields that an API server drops or rejects.
    pub problems: Vec<FieldProblem>,
}

/// Everything that is checked together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LintInput {
    /// Objects with tolerations.
    pub workloads: Vec<LintedWorkload>,
    /// Objects with taints; empty means that nodes are unknown.
    pub nodes: Vec<LintedNode>,
    /// Workloads that are known but not checked: the DaemonSets of other namespaces.
    pub other_daemons: Vec<LintedWorkload>,
    /// Whether all DaemonSets are known.
    pub daemons_known: bool,
    /// The feature gate of the target cluster (MATCH-6).
    pub numeric: NumericOperators,
}

/// The subject of a finding: a position in [`LintInput`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LintSubject {
    /// One of the workloads.
    Workload(usize),
    /// One of the nodes.
    Node(usize),
}

/// The place in the subject: `spec.tolerations`, `spec.taints` and their elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingPlace {
    /// The whole subject.
    Whole,
    /// The selection of nodes: the node selector or the node affinity.
    Selection,
    /// A toleration, by its position.
    Toleration(usize, TolerationPart),
    /// A taint, by its position.
    Taint(usize, TolerationPart),
    /// One of the problems, by its position.
    Field(usize),
}

/// A field of a toleration or a taint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TolerationPart {
    /// The whole element.
    Whole,
    /// `key`
    Key,
    /// `operator`
    Operator,
    /// `value`
    Value,
    /// `effect`
    Effect,
    /// `tolerationSeconds`
    Seconds,
    /// An unknown field, by its position in [`LintedToleration::odd_fields`].
    Odd(usize),
}

/// Something that is wrong, or not what it appears to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LintFinding {
    /// The rule.
    pub rule: Rule,
    /// The subject.
    pub subject: LintSubject,
    /// The place in it.
    pub place: FindingPlace,
    /// Why, in a sentence.
    pub reason: String,
    /// The remedy, in a sentence.
    pub fix: String,
}

/// Collects findings about one subject.
struct FindingSink<'f> {
    subject: LintSubject,
    found: &'f mut Vec<LintFinding>,
}

impl FindingSink<'_> {
    fn report(&mut self, rule: Rule, place: FindingPlace, reason: impl Into<String>, fix: impl Into<String>) {
        let (reason, fix) = (reason.into(), fix.into());
        self.found.push(LintFinding { rule, subject: self.subject, place, reason, fix });
    }

    /// Adds a finding about a part of a toleration.
    fn toleration(
        &mut self,
        rule: Rule,
        at: (usize, TolerationPart),
        reason: impl Into<String>,
        fix: impl Into<String>,
    ) {
        self.report(rule, FindingPlace::Toleration(at.0, at.1), reason, fix);
    }
}

/// The rules about workloads, which need the nodes of the input, but no other workload.
pub struct WorkloadRules<'f> {
    groups: node_coverage::NodeGroups<'f>,
    numeric: NumericOperators,
}

impl<'f> WorkloadRules<'f> {
    /// Takes the nodes of the input.
    pub fn new(facts: &'f LintInput) -> Self {
        Self { groups: node_coverage::NodeGroups::new(facts), numeric: facts.numeric }
    }

    /// Returns the findings about one workload, in the order of its tolerations, then of the rules.
    pub fn check(&self, workload: &LintedWorkload, subject: LintSubject) -> Vec<LintFinding> {
        let mut found = Vec::new();
        let findings = &mut FindingSink { subject, found: &mut found };
        field_problems::check(&workload.problems, findings);
        single_toleration::check(workload, self.numeric, findings);
        if !workload.partial {
            conflicting_tolerations::check(workload, self.numeric, findings);
            misspelled_keys::check_tolerations(workload, &self.groups, findings);
            unusual_tolerations::check(workload, findings);
            node_coverage::check(workload, &self.groups, findings);
        }
        found.sort_by_key(|finding| (finding.place, finding.rule));
        found
    }
}

/// Returns all findings: those about workloads first, in their order; within a workload, in the order of its
/// tolerations, then of the rules.
pub fn lint(facts: &LintInput) -> Vec<LintFinding> {
    let mut found = Vec::new();
    let rules = WorkloadRules::new(facts);
    for (index, workload) in facts.workloads.iter().enumerate() {
        found.extend(rules.check(workload, LintSubject::Workload(index)));
    }
    for (index, node) in facts.nodes.iter().enumerate() {
        let findings = &mut FindingSink { subject: LintSubject::Node(index), found: &mut found };
        field_problems::check(&node.problems, findings);
        node_taints::check(node, findings);
        if !node.partial {
            misspelled_keys::check_taints(node, findings);
        }
    }
    node_taints::check_daemons(facts, &mut found);
    let nodes = found.iter().position(|finding| matches!(finding.subject, LintSubject::Node(_)));
    found[nodes.unwrap_or_default()..].sort_by_key(|finding| (finding.subject, finding.place, finding.rule));
    found
}

/// Returns reason and fix for an unknown effect.
fn unknown_effect(text: &str) -> (String, String) {
    let reason = format!("there is no effect {}: an API server rejects it", Quoted(text));
    let fix = match meant(text, EFFECTS) {
        Some(meant) => format!("write effect: {meant}"),
        None => format!("write one of {}", EFFECTS.join(", ")),
    };
    (reason, fix)
}

/// Returns the word that was probably intended: one that differs only in case and punctuation, or in a few letters. A word
/// that shares no letter with the text is not meant.
fn meant<'k>(text: &str, known: impl IntoIterator<Item = &'k str> + Clone) -> Option<&'k str> {
    let plain = |text: &str| -> String {
        text.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let same = known.clone().into_iter().find(|known| plain(known) == plain(text));
    same.or_else(|| nearest(text, known, text.chars().count().saturating_sub(1).min(2)))
}

/// Returns the element of `known` that `text` was probably intended to be.
fn nearest<'k>(text: &str, known: impl IntoIterator<Item = &'k str>, most: usize) -> Option<&'k str> {
    let near = known.into_iter().filter_map(|known| Some((distance(text, known, most)?, known)));
    near.min_by_key(|(letters, _)| *letters).map(|(_, known)| known)
}

/// Describes a letter that cannot be in a key or a value, although it may look like one that can.
fn odd_letter(text: &str) -> String {
    match text.chars().find(|letter| !letter.is_ascii()) {
        Some(letter) => format!(" (it contains U+{:04X}, which is not an ASCII letter)", u32::from(letter)),
        None => String::new(),
    }
}

/// Formats a taint as kubectl writes it, with bounded length.
fn shown(taint: &Taint) -> String {
    let text = Quoted(&taint.to_string()).to_string();
    text.trim_matches('"').to_string()
}
