//! Resolves the edits of the command line (taints, cordons, silent nodes and zones) to [`PlannedNodeChange`]s.
//!
//! - See `taintward_core::taint_edit` for the grammar of taints.

use super::EditedNodes;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use taintward_core::cluster_snapshot::{ClusterSnapshot, SnapshotNode};
use taintward_core::forecast::{PlannedNodeChange, PlannedTaint};
use taintward_core::label_requirements::LabelRequirements;
use taintward_core::node_lifecycle::{NodeLifecycleConfig, SilenceForecast, ZoneMember, ZoneState, foresee};
use taintward_core::taint::{Taint, TaintEffect, keys};
use taintward_core::taint_edit::{EditError, TaintEdit};
use taintward_core::time::{Mono, Wall};

/// The maximum number of nodes in a sentence; above it, the sentence contains only their number.
const NAMED_MAX: usize = 5;

/// The nodes of an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NodeSet {
    All,
    Names(Vec<String>),
    /// As typed, and parsed.
    Labels(String, LabelRequirements),
}

/// An edit of nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NodeEdit {
    Taints {
        nodes: NodeSet,
        change: TaintEdit,
    },
    Cordon {
        nodes: NodeSet,
        cordoned: bool,
    },
    /// What `kubectl drain` does.
    Drain(NodeSet),
    Silence(NodeFailure),
    /// Replace the node's taints and schedulability by those of a file.
    Whole {
        file: String,
        node: String,
        taints: Vec<Taint>,
        unschedulable: bool,
    },
}

/// Nodes that fall silent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NodeFailure {
    Nodes(NodeSet),
    Zone(String),
}

/// Why an edit is impossible.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NodeEditError {
    #[error("node \"{name}\" does not exist{hint}")]
    NoNode { name: String, hint: String },
    #[error("no node matches the label selector {0}; kubectl get nodes --show-labels shows the labels")]
    NoLabels(String),
    #[error("zone \"{zone}\" does not exist; the zones are: {known}")]
    NoZone { zone: String, known: String },
    #[error("cannot change node {node}: {why}")]
    Apply { node: String, why: String },
    #[error("{file}: {why}")]
    File { file: String, why: Box<Self> },
}

impl NodeSet {
    /// `*`, names separated by commas, or a label selector: anything with `=`, `!` or `(`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text == "*" {
            return Ok(Self::All);
        }
        if text.contains(['=', '!', '(']) {
            let labels = LabelRequirements::parse(text)
                .map_err(|why| format!("{text:?} is not a label selector: {why}"))?;
            return Ok(Self::Labels(text.to_owned(), labels));
        }
        let name = |name: &str| name.strip_prefix("node/").unwrap_or(name).to_owned();
        let names: Vec<String> = text.split(',').map(str::trim).map(name).collect();
        if names.iter().any(String::is_empty) {
            return Err(format!("{text:?} has an empty node name"));
        }
        Ok(Self::Names(names))
    }

    fn verb(&self, one: &'static str, many: &'static str) -> &'static str {
        match self {
            Self::Names(names) if names.len() == 1 => one,
            Self::All | Self::Names(_) | Self::Labels(..) => many,
        }
    }

    fn of(&self, snapshot: &ClusterSnapshot) -> Result<Vec<usize>, NodeEditError> {
        match self {
            Self::All => Ok((0..snapshot.nodes().len()).collect()),
            Self::Names(names) => names.iter().map(|name| at(snapshot, name)).collect(),
            Self::Labels(text, labels) => {
                let matches = |node: &SnapshotNode| labels.matches(&node.labels);
                let all = snapshot.nodes().iter().enumerate();
                let found: Vec<usize> = all.filter(|(_, node)| matches(node)).map(|(at, _)| at).collect();
                if found.is_empty() { Err(NodeEditError::NoLabels(text.clone())) } else { Ok(found) }
            }
        }
    }
}

impl fmt::Display for NodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all nodes"),
            Self::Names(names) if names.len() == 1 => write!(f, "node {}", names[0]),
            Self::Names(names) => write!(f, "nodes {}", names.join(", ")),
            Self::Labels(text, _) => write!(f, "nodes with {text}"),
        }
    }
}

fn at(snapshot: &ClusterSnapshot, name: &str) -> Result<usize, NodeEditError> {
    snapshot.node_at(name).ok_or_else(|| {
        let known: Vec<&str> = snapshot.nodes().iter().map(|node| node.fact.name.as_str()).collect();
        let hint = match known[..] {
            [] => "; the cluster has no nodes".to_owned(),
            ref few if few.len() <= 8 => format!("; there are: {}", few.join(", ")),
            _ => near(name, &known)
                .map_or_else(|| "; check the name".to_owned(), |near| format!("; did you mean {near}?")),
        };
        NodeEditError::NoNode { name: name.to_owned(), hint }
    })
}

/// The known name with the longest common prefix, if that is most of it.
fn near<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let common = |other: &str| name.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let best = known.iter().copied().max_by_key(|other| common(other))?;
    (common(best) * 2 > name.chars().count()).then_some(best)
}

/// A node while it is edited.
#[derive(Clone)]
struct NodeDraft {
    taints: Vec<PlannedTaint>,
    unschedulable: bool,
    drained: bool,
}

struct NodeDrafts<'s> {
    snapshot: &'s ClusterSnapshot,
    now: Mono,
    drafts: BTreeMap<usize, NodeDraft>,
}

/// Applies all edits, first those on the command line; nodes fall silent after all of them.
pub(super) fn apply(
    snapshot: &ClusterSnapshot,
    edits: &[NodeEdit],
    health: &NodeLifecycleConfig,
) -> Result<EditedNodes, NodeEditError> {
    let now = snapshot.now().mono;
    let mut drafts = NodeDrafts { snapshot, now, drafts: BTreeMap::new() };
    let mut descriptions = Vec::new();
    let mut silent = BTreeSet::new();
    for edit in edits {
        match edit {
            NodeEdit::Taints { nodes, change } => descriptions.push(drafts.taint(nodes, change)?),
            NodeEdit::Cordon { nodes, cordoned } => descriptions.push(drafts.cordon(nodes, *cordoned)?),
            NodeEdit::Drain(nodes) => descriptions.push(drafts.drain(nodes)?),
            NodeEdit::Whole { file, node, taints, unschedulable } => {
                descriptions.push(drafts.whole(file, node, taints, *unschedulable)?);
            }
            NodeEdit::Silence(who) => silent.extend(drafts.silent(who)?),
        }
    }
    if !silent.is_empty() {
        descriptions.push(drafts.fall_silent(&silent, health));
    }
    let changes = drafts.drafts.into_iter().map(|(node, NodeDraft { taints, unschedulable, drained })| {
        PlannedNodeChange { node, taints, unschedulable, drained }
    });
    Ok(EditedNodes { changes: changes.collect(), descriptions })
}

impl NodeDrafts<'_> {
    fn draft(&mut self, node: usize) -> &mut NodeDraft {
        let Self { snapshot, now, drafts } = self;
        let node_now = &snapshot.nodes()[node];
        drafts.entry(node).or_insert_with(|| {
            let there = node_now.fact.taints.iter().cloned();
            let taints = there.map(|taint| PlannedTaint { taint, from: *now }).collect();
            NodeDraft { taints, unschedulable: node_now.unschedulable, drained: false }
        })
    }

    fn taint(&mut self, nodes: &NodeSet, change: &TaintEdit) -> Result<String, NodeEditError> {
        let now = self.now;
        for node in nodes.of(self.snapshot)? {
            let name = self.snapshot.nodes()[node].fact.name.as_str().to_owned();
            let draft = self.draft(node);
            let old: Vec<Taint> = draft.taints.iter().map(|planned| planned.taint.clone()).collect();
            let applied = change.apply(&old, true).map_err(|why| apply_error(name, &why))?;
            let before = std::mem::take(&mut draft.taints);
            let planned = |taint: Taint| {
                let known = before.iter().find(|known| known.taint.is_same(&taint));
                PlannedTaint { from: known.map_or(now, |known| known.from), taint }
            };
            draft.taints = applied.taints.into_iter().map(planned).collect();
        }
        let gets = change.add.iter().map(|taint| format!("{} {taint}", nodes.verb("gets", "get")));
        let loses = change.remove.iter().map(|removal| format!("{} {removal}", nodes.verb("loses", "lose")));
        let parts: Vec<String> = gets.chain(loses).collect();
        Ok(format!("{nodes} {}", parts.join(" and ")))
    }

    /// A cordoned node also gets the taint of node lifecycle (NL-6).
    fn cordon(&mut self, nodes: &NodeSet, cordoned: bool) -> Result<String, NodeEditError> {
        let now = self.now;
        let meant = nodes.of(self.snapshot)?;
        // As with a missing taint, the name may be misspelled.
        if let (false, [one]) = (cordoned, meant.as_slice())
            && !self.draft(*one).unschedulable
        {
            let node = self.snapshot.nodes()[*one].fact.name.to_string();
            return Err(NodeEditError::Apply { node, why: "it is not cordoned".to_owned() });
        }
        for node in meant {
            let draft = self.draft(node);
            draft.unschedulable = cordoned;
            draft.taints.retain(|planned| *planned.taint.key != *keys::UNSCHEDULABLE);
            if cordoned {
                draft.taints.push(planned(keys::UNSCHEDULABLE, TaintEffect::NoSchedule, now));
            }
        }
        let verb = nodes.verb("is", "are");
        Ok(format!("{nodes} {verb} {}", if cordoned { "cordoned" } else { "no longer cordoned" }))
    }

    fn drain(&mut self, nodes: &NodeSet) -> Result<String, NodeEditError> {
        self.cordon(nodes, true)?;
        for node in nodes.of(self.snapshot)? {
            self.draft(node).drained = true;
        }
        Ok(format!("{nodes} {} drained", nodes.verb("is", "are")))
    }

    fn whole(
        &mut self,
        file: &str,
        node: &str,
        taints: &[Taint],
        unschedulable: bool,
    ) -> Result<String, NodeEditError> {
        let found = at(self.snapshot, node)
            .map_err(|why| NodeEditError::File { file: file.to_owned(), why: Box::new(why) })?;
        let from = self.now;
        let taints = taints.iter().map(|taint| PlannedTaint { taint: taint.clone(), from }).collect();
        self.drafts.insert(found, NodeDraft { taints, unschedulable, drained: false });
        Ok(format!("node {node} is as {file} has it"))
    }

    fn silent(&self, who: &NodeFailure) -> Result<Vec<usize>, NodeEditError> {
        let zone = match who {
            NodeFailure::Nodes(nodes) => return nodes.of(self.snapshot),
            NodeFailure::Zone(zone) => zone,
        };
        let nodes = self.snapshot.nodes().iter().enumerate();
        let is_meant = |node: &SnapshotNode| node.zone.to_string() == *zone || node.zone.parts().1 == *zone;
        let found: Vec<usize> = nodes.filter(|(_, node)| is_meant(node)).map(|(at, _)| at).collect();
        if found.is_empty() {
            let known: BTreeSet<String> =
                self.snapshot.nodes().iter().map(|node| node.zone.to_string()).collect();
            let known = known.into_iter().collect::<Vec<_>>().join(", ");
            return Err(NodeEditError::NoZone { zone: zone.clone(), known });
        }
        Ok(found)
    }

    /// Gives nodes with silent kubelets the taints that node lifecycle would add, at the time when it would (NL-46).
    fn fall_silent(&mut self, silent: &BTreeSet<usize>, health: &NodeLifecycleConfig) -> String {
        let neighbour = |(at, node): (usize, &SnapshotNode)| ZoneMember {
            zone: node.zone.clone(),
            ready: node.ready == Some(true),
            excluded: node.excluded,
            silent: silent.contains(&at),
        };
        let neighbours: Vec<ZoneMember> = self.snapshot.nodes().iter().enumerate().map(neighbour).collect();
        let foreseen = foresee(&neighbours, health, self.now);
        let declared = self.now.plus(health.monitor_grace());
        if foreseen.all_down {
            // NL-27: their NoExecute taints are removed, on all nodes.
            for node in 0..self.snapshot.nodes().len() {
                if self.has_own(node) || silent.contains(&node) {
                    self.draft(node).taints.retain(|planned| !is_own(&planned.taint));
                }
            }
        }
        for (&node, tainted) in silent.iter().zip(&foreseen.tainted) {
            let draft = self.draft(node);
            let had = |taints: &[PlannedTaint], key: &str| {
                taints.iter().any(|planned| *planned.taint.key == *key && is_own(&planned.taint))
            };
            if !had(&draft.taints, keys::UNREACHABLE) {
                draft.taints.push(planned(keys::UNREACHABLE, TaintEffect::NoSchedule, declared));
                if let Some(at) = tainted {
                    // The two taints exclude each other (NL-21).
                    draft.taints.retain(|planned| !is_own(&planned.taint));
                    draft.taints.push(planned(keys::UNREACHABLE, TaintEffect::NoExecute, *at));
                }
            }
        }
        silence_description(&self.named(silent), silent.len(), &foreseen, health)
    }

    /// `node n1 falls`, `nodes n1, n2 fall`, `17 nodes fall`.
    fn named(&self, silent: &BTreeSet<usize>) -> String {
        let names: Vec<&str> =
            silent.iter().map(|&node| self.snapshot.nodes()[node].fact.name.as_str()).collect();
        match names[..] {
            [one] => format!("node {one} falls"),
            _ if names.len() <= NAMED_MAX => format!("nodes {} fall", names.join(", ")),
            _ => format!("{} nodes fall", names.len()),
        }
    }

    fn has_own(&self, node: usize) -> bool {
        self.snapshot.nodes()[node].fact.taints.iter().any(is_own)
    }
}

fn is_own(taint: &Taint) -> bool {
    taint.effect == TaintEffect::NoExecute && [keys::NOT_READY, keys::UNREACHABLE].contains(&&*taint.key)
}

fn planned(key: &str, effect: TaintEffect, from: Mono) -> PlannedTaint {
    let time_added = Some(Wall::from_micros(from.as_micros()));
    PlannedTaint { taint: Taint { key: key.into(), value: "".into(), effect, time_added }, from }
}

fn silence_description(
    nodes: &str,
    silent: usize,
    foreseen: &SilenceForecast,
    health: &NodeLifecycleConfig,
) -> String {
    let grace = health.monitor_grace().as_secs_f64();
    if foreseen.all_down {
        return format!(
            "{nodes} silent, so that all zones are fully disrupted and no node gets a NoExecute taint (countdowns are on hold)"
        );
    }
    let partly: Vec<String> = foreseen
        .zones
        .iter()
        .filter(|(_, state)| **state == ZoneState::PartialDisruption)
        .map(|(zone, _)| zone.to_string())
        .collect();
    let never = foreseen.tainted.iter().filter(|at| at.is_none()).count();
    match (partly.is_empty(), never) {
        (true, _) if silent == 1 => format!("{nodes} silent, and is tainted after {grace} s"),
        (true, _) => {
            format!("{nodes} silent, and are tainted after {grace} s, one node after the other in each zone")
        }
        (false, 0) => format!(
            "{nodes} silent, so that most nodes of {} are down and get their taints at a low rate, from {grace} s on",
            partly.join(", ")
        ),
        (false, never) => format!(
            "{nodes} silent, so that most nodes of {} are down, and {never} of them get no NoExecute taint during this disruption",
            partly.join(", ")
        ),
    }
}

fn apply_error(node: String, why: &EditError) -> NodeEditError {
    let why = match why {
        EditError::Exists(keys) => format!("it has {} already", keys.join(", ")),
        EditError::NotFound(removals) => {
            let names: Vec<String> = removals.iter().map(ToString::to_string).collect();
            format!("it has no taint {}", names.join(", "))
        }
    };
    NodeEditError::Apply { node, why }
}
