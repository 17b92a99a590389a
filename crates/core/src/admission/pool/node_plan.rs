//! Plans the edits that a node needs: the taints and labels of its pool to add, and those of earlier pools to remove.
//!
//! - Invariant: applying the plan leaves nothing to do. The label and taint of a known pool belong to the pool, whichever
//!   client has set them and whatever the record says: a node that no pool wants loses them. The record is evidence
//!   only for the marks of other pools.
//! - A taint or label with another value is a [`PoolConflict`]; an invalid pool leaves its nodes as they are.
//! - See `assess.rs` for whether a pool may have nodes at all.

use super::node_record::{AppliedMark, NodeRecordAnnotation, RecordTrust};
use super::validity::PoolValidity;
use super::{DedicatedPool, PoolLabel};
use crate::scheduling::Labels;
use crate::taint::Taint;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// The parts of a node that pools read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolNode {
    /// `metadata.name`.
    pub name: Box<str>,
    /// `metadata.labels`.
    pub labels: Labels,
    /// `spec.taints`.
    pub taints: Vec<Taint>,
    /// The annotation [`super::RECORD`].
    pub record: Option<Box<str>>,
}

/// What happens to the annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordEdit {
    /// It gets this value.
    Write(Box<str>),
    /// It is removed.
    Remove,
}

/// The edits of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeEdits {
    /// Taints to remove: exactly these, by key, value and effect.
    pub remove_taints: Vec<Taint>,
    /// Taints to append, after the removal.
    pub add_taints: Vec<Taint>,
    /// Labels to remove, while they have this value.
    pub remove_labels: Vec<PoolLabel>,
    /// Labels to add, after the removal.
    pub add_labels: Vec<PoolLabel>,
    /// What happens to the annotation.
    pub record: Option<RecordEdit>,
}

impl NodeEdits {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Why a pool leaves one of its nodes unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolConflict {
    /// Position of the pool.
    pub pool: usize,
    /// In a sentence, with the remedy.
    pub message: String,
}

/// The plan for a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodePlan {
    /// Position of the pool that it belongs to, unless there is a conflict.
    pub pool: Option<usize>,
    /// The conflict.
    pub conflict: Option<PoolConflict>,
    /// The edits.
    pub edits: NodeEdits,
}

/// Plans the edits of a node. `validity` goes with `pools`; see [`super::assess`].
///
/// All edits of a node belong in one write, with a test that the node has not changed since it was read: the record
/// annotation and the marks that it lists must agree. A process that stops before the write has changed nothing; after
/// it, the record is complete.
pub fn reconcile(
    pools: &[DedicatedPool],
    validity: &[PoolValidity],
    node: &PoolNode,
    trust: RecordTrust,
) -> NodePlan {
    let plain = NodeWithoutMarks::of(node, pools, trust);
    let validity = |at: usize| validity.get(at).copied().unwrap_or_default();
    if plain.holder(pools).is_some_and(|pool| validity(pool) == PoolValidity::Rejected) {
        return NodePlan::default();
    }
    let wanted = owner(pools, &plain, validity);
    let conflict = wanted.and_then(|pool| plain.conflict(pool, &pools[pool]));
    let pool = wanted.filter(|_| conflict.is_none());
    let marks = pool.map(|pool| pools[pool].marks()).unwrap_or_default();
    let mut edits = plain.edits(&marks);
    for stray in plain.strays(pools, pool, wanted, validity) {
        match stray.taint() {
            Some(taint) => edits.remove_taints.push(taint),
            None => edits.remove_labels.extend(stray.label()),
        }
    }
    let record =
        pool.map(|pool| NodeRecordAnnotation { pool: pools[pool].name.clone(), marks }.to_string().into());
    edits.record = match record {
        Some(text) if node.record.as_ref() != Some(&text) => Some(RecordEdit::Write(text)),
        None if node.record.is_some() => Some(RecordEdit::Remove),
        _ => None,
    };
    NodePlan { pool, conflict, edits }
}

/// A node without what pools have added.
pub(super) struct NodeWithoutMarks<'n> {
    pub(super) name: &'n str,
    pub(super) labels: Labels,
    pub(super) taints: Vec<Taint>,
    /// The pool that the record names.
    holder: Box<str>,
    /// What this view leaves out.
    owned: Vec<AppliedMark>,
}

impl<'n> NodeWithoutMarks<'n> {
    pub(super) fn of(node: &'n PoolNode, pools: &[DedicatedPool], trust: RecordTrust) -> Self {
        let mut plain = Self {
            name: &node.name,
            labels: node.labels.clone(),
            taints: node.taints.clone(),
            holder: Box::default(),
            owned: Vec::new(),
        };
        let record = node.record.as_deref().map(NodeRecordAnnotation::parse).unwrap_or_default();
        plain.holder = record.pool;
        for mark in record.marks {
            if plain.has(&mark) && trust.believes(&mark, pools) {
                plain.take_off(&mark);
                plain.owned.push(mark);
            }
        }
        plain
    }

    /// Whether exactly this mark is there, and the record does not list it.
    fn has(&self, mark: &AppliedMark) -> bool {
        match mark {
            AppliedMark::Taint { key, value, effect } => {
                self.taints.iter().any(|one| one.key == *key && one.value == *value && one.effect == *effect)
            }
            AppliedMark::Label { key, value } => self.labels.get(key) == Some(value),
        }
    }

    fn take_off(&mut self, mark: &AppliedMark) {
        match mark {
            AppliedMark::Taint { key, effect, .. } => {
                self.taints.retain(|one| one.key != *key || one.effect != *effect);
            }
            AppliedMark::Label { key, .. } => _ = self.labels.remove(key),
        }
    }

    /// The marks of pools on a node outside of them, which the record does not list: labels, because they would attract
    /// the pool's pods, and taints if no pool wants the node. A label that selects nodes stays: it may be why the node
    /// belongs to another pool. So does a label under the key that the pool in `wants` writes: it is either the same
    /// label or a conflict, which is reported.
    fn strays(
        &self,
        pools: &[DedicatedPool],
        own: Option<usize>,
        wants: Option<usize>,
        validity: impl Fn(usize) -> PoolValidity,
    ) -> BTreeSet<AppliedMark> {
        let others = pools
            .iter()
            .enumerate()
            .filter(|&(at, _)| Some(at) != own && validity(at) != PoolValidity::Rejected);
        let wanted = wants.map(|at| pools[at].label().key);
        let is_stray = |mark: &AppliedMark| match mark.label() {
            Some(label) => Some(&label.key) != wanted.as_ref() && self.has_stray(&label, pools),
            None => wants.is_none() && self.has(mark),
        };
        others.flat_map(|(_, pool)| pool.marks()).filter(is_stray).collect()
    }

    /// Whether the node has this label from another client, and no pool selects nodes by its key.
    pub(super) fn has_stray(&self, label: &PoolLabel, pools: &[DedicatedPool]) -> bool {
        let selectors = pools.iter().filter_map(|pool| pool.members.selector.as_ref());
        let mut required = selectors.flat_map(|selector| &selector.0);
        self.labels.get(&label.key) == Some(&label.value) && !required.any(|one| one.key == label.key)
    }

    /// Returns the conflict: a mark of the same name with another value.
    pub(super) fn conflict(&self, at: usize, pool: &DedicatedPool) -> Option<PoolConflict> {
        let (name, node) = (&pool.name, self.name);
        let message = pool.marks().iter().find_map(|mark| match mark {
            AppliedMark::Taint { value, .. } => {
                let wanted = mark.taint()?;
                let other = self.taints.iter().find(|one| one.is_same(&wanted) && one.value != *value)?;
                Some(format!(
                    "node {node} has the taint {other} from another writer, and pool {name} needs {wanted} \
                     instead: remove it, or give the pool another key"
                ))
            }
            AppliedMark::Label { key, value } => {
                let other = self.labels.get(key).filter(|other| *other != value)?;
                Some(format!(
                    "node {node} has the label {key}={other} from another writer, and pool {name} needs \
                     {value}: remove it, or give the pool another label"
                ))
            }
        })?;
        Some(PoolConflict { pool: at, message })
    }

    /// Returns the edits that lead from the marks that are owned to those that should be.
    fn edits(&self, own: &[AppliedMark]) -> NodeEdits {
        let mut edits = NodeEdits::default();
        for mark in self.owned.iter().filter(|mark| !own.contains(mark)) {
            match mark {
                AppliedMark::Taint { .. } => edits.remove_taints.extend(mark.taint()),
                AppliedMark::Label { key, value } => {
                    edits.remove_labels.push(PoolLabel { key: key.clone(), value: value.clone() });
                }
            }
        }
        for mark in own.iter().filter(|mark| !self.owned.contains(mark) && !self.has(mark)) {
            match mark {
                AppliedMark::Taint { .. } => edits.add_taints.extend(mark.taint()),
                AppliedMark::Label { key, value } => {
                    edits.add_labels.push(PoolLabel { key: key.clone(), value: value.clone() });
                }
            }
        }
        edits
    }

    /// Position of the pool that the record names, as long as it still claims the node.
    pub(super) fn holder(&self, pools: &[DedicatedPool]) -> Option<usize> {
        let holds =
            |pool: &DedicatedPool| *self.holder == *pool.name && pool.selects(self.name, &self.labels);
        pools.iter().position(holds)
    }
}

/// Position of the pool that gets the node: the one that has it already, as long as it claims it; else the first
/// claimant of those that may take more.
fn owner(
    pools: &[DedicatedPool],
    plain: &NodeWithoutMarks<'_>,
    validity: impl Fn(usize) -> PoolValidity,
) -> Option<usize> {
    let selects = |&(at, pool): &(usize, &DedicatedPool)| {
        validity(at) == PoolValidity::Applied && pool.selects(plain.name, &plain.labels)
    };
    let first = || pools.iter().enumerate().filter(selects).min_by_key(|(_, pool)| pool.rank());
    plain.holder(pools).or_else(|| first().map(|(at, _)| at))
}
