//! # Judge: what is to be done, from what is known
//! Room:     how each pool stands; which nodes have to be written; what a node is to be, asked again with the live one.
//! Comes in: pools and nodes as they are known.
//! Goes out: [`PoolPlan`], which requests in flight share.
//! Keeps:    a pool touches no node before it is held by our finalizer and its status remembers what it puts there; a
//!           node of a pool that can't be read, or that nobody knows, is left alone.
//! Not here: the rules (the core's `admission/pool`); when it is done (`pools.rs`).

use super::pool_cache::{PoolCache, Store};
use std::collections::{BTreeMap, BTreeSet};
use taintward_core::admission::pool::{
    AppliedMark, DedicatedPool, NodeRecordAnnotation, PoolAssessment, PoolNode, PoolValidity, RecordEdit,
    RecordTrust, assess, reconcile, remembered,
};
use taintward_core::identity::NodeName;
use taintward_kube::api::NodePatch;
use taintward_kube::decode::{PoolNodeObject, PoolObject};

/// What was found out about everything.
#[derive(Debug, Default)]
pub(super) struct PoolPlan {
    /// The pools, as they were when this was found out.
    pub(super) seen: Vec<PoolObject>,
    pub(super) pools: Vec<DedicatedPool>,
    /// How they stand; in their order, as everything that follows.
    pub(super) assessments: Vec<PoolAssessment>,
    pub(super) standing: Vec<PoolValidity>,
    /// What each may do at this moment: who is not held yet takes no more nodes.
    able: Vec<PoolValidity>,
    /// Names of pools that can't be read.
    unreadable: BTreeSet<Box<str>>,
    pub(super) nodes: Vec<PoolNode>,
    /// Nodes that have to be written.
    pub(super) todo: BTreeSet<NodeName>,
    /// Nodes that each pool should have and that are not yet as it wants them.
    pub(super) waiting: Vec<BTreeSet<NodeName>>,
    /// The nodes that each pool has or takes next.
    pub(super) members: Vec<BTreeSet<Box<str>>>,
    /// What each pool's status is to remember.
    pub(super) memory: Vec<RecordedMarks>,
}

/// What the status of a pool is to remember.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RecordedMarks {
    /// Never less than it does.
    pub(super) marks: Vec<AppliedMark>,
    /// Some of that is, as far as is known, on no node any more.
    pub(super) may_forget: bool,
    /// Nothing of it is on any node, as far as is known.
    pub(super) is_empty: bool,
}

impl PoolPlan {
    /// Finds out everything anew.
    pub(super) fn of(world: &PoolCache) -> Self {
        let seen: Vec<PoolObject> = world.pools.facts().cloned().collect();
        let pools: Vec<DedicatedPool> = seen.iter().map(|seen| seen.pool.clone()).collect();
        let nodes = members(&world.nodes);
        let assessments = assess(&pools, Some(&nodes), RecordTrust::Pools);
        let standing: Vec<PoolValidity> = assessments.iter().map(|one| one.standing).collect();
        let (waiting, members) = (vec![BTreeSet::new(); seen.len()], vec![BTreeSet::new(); seen.len()]);
        let unreadable = world.pools.unreadable().map(Into::into).collect();
        let able = seen.iter().zip(&standing).map(|(seen, &standing)| able(seen, standing)).collect();
        let todo = BTreeSet::new();
        let memory = memories(&pools, &nodes);
        let mut plan = Self {
            seen,
            pools,
            assessments,
            standing,
            able,
            unreadable,
            nodes,
            todo,
            waiting,
            members,
            memory,
        };
        plan.look_at_nodes();
        plan
    }

    fn look_at_nodes(&mut self) {
        let (mut todo, mut waiting) = (BTreeSet::new(), std::mem::take(&mut self.waiting));
        let mut members = std::mem::take(&mut self.members);
        for node in &self.nodes {
            let outcome = reconcile(&self.pools, &self.standing, node, RecordTrust::Pools);
            if let Some(pool) = outcome.pool {
                members[pool].insert(node.name.clone());
                if !outcome.edits.is_empty() {
                    waiting[pool].insert(NodeName::new(&node.name));
                }
            }
            let is_idle = outcome.edits.is_empty() && self.able == self.standing;
            if !is_idle && !self.intent(node).edits.is_empty() {
                todo.insert(NodeName::new(&node.name));
            }
        }
        (self.todo, self.waiting, self.members) = (todo, waiting, members);
    }

    /// What a node is to be.
    pub(super) fn intent(&self, node: &PoolNode) -> NodePatch {
        let holder =
            node.record.as_deref().map(|text| NodeRecordAnnotation::parse(text).pool).unwrap_or_default();
        if self.unreadable.contains(&holder) {
            return NodePatch::default();
        }
        let outcome = reconcile(&self.pools, &self.able, node, RecordTrust::Pools);
        let edits = outcome.edits;
        match outcome.pool {
            Some(at) if !is_prepared(&self.seen[at]) => NodePatch::default(),
            Some(at) => {
                let adds = !edits.add_taints.is_empty()
                    || !edits.add_labels.is_empty()
                    || matches!(edits.record, Some(RecordEdit::Write(_)));
                NodePatch { edits, pool: adds.then(|| self.seen[at].clone()) }
            }
            // A record that speaks of a pool nobody knows is worth more than none: should the pool come back, it finds
            // its own again.
            None if node.record.is_some() && !self.knows(&holder) => NodePatch::default(),
            None => NodePatch { edits, pool: None },
        }
    }

    /// Whether this node is one of the pool's, with all that the pool puts there.
    pub(super) fn owns(&self, pool: &PoolObject, node: &PoolNode) -> bool {
        let outcome = reconcile(&self.pools, &self.standing, node, RecordTrust::Pools);
        outcome.edits.is_empty() && outcome.pool.is_some_and(|at| self.seen[at].uid == pool.uid)
    }

    fn knows(&self, pool: &str) -> bool {
        self.pools.iter().any(|known| *known.name == *pool)
    }

    /// The nodes as their pools' status counts them: one that is still to be written counts for nobody.
    pub(super) fn settled_nodes(&self) -> Vec<&PoolNode> {
        let waits: BTreeSet<&str> = self.waiting.iter().flatten().map(NodeName::as_str).collect();
        self.nodes.iter().filter(|node| !waits.contains(&*node.name)).collect()
    }
}

fn members(nodes: &Store<PoolNodeObject>) -> Vec<PoolNode> {
    nodes.facts().map(|seen| seen.node.clone()).collect()
}

/// Whether a pool may touch nodes: who deletes it then waits for us, and we shall know what was its.
pub(super) fn is_prepared(seen: &PoolObject) -> bool {
    seen.is_held() && is_remembered(&seen.pool)
}

/// Whether its status remembers what it puts on nodes.
pub(super) fn is_remembered(pool: &DedicatedPool) -> bool {
    pool.marks().iter().all(|mark| pool.applied_marks.contains(mark))
}

fn able(seen: &PoolObject, standing: PoolValidity) -> PoolValidity {
    match standing {
        PoolValidity::Applied if !seen.pool.leaving && !is_prepared(seen) => PoolValidity::Frozen,
        other => other,
    }
}

/// What each pool is to remember. Each record is read once, however many pools there are.
fn memories(pools: &[DedicatedPool], nodes: &[PoolNode]) -> Vec<RecordedMarks> {
    let mut held: BTreeMap<Box<str>, Vec<PoolNode>> = BTreeMap::new();
    for record in nodes.iter().filter_map(|node| node.record.clone()) {
        let only = PoolNode { record: Some(record), ..PoolNode::default() };
        let holder =
            only.record.as_deref().map(|text| NodeRecordAnnotation::parse(text).pool).unwrap_or_default();
        held.entry(holder).or_default().push(only);
    }
    let of = |pool: &DedicatedPool| held.get(&pool.name).map(Vec::as_slice).unwrap_or_default();
    pools.iter().map(|pool| memory(pool, of(pool))).collect()
}

/// What a pool is to remember that is on these nodes.
fn memory(pool: &DedicatedPool, nodes: &[PoolNode]) -> RecordedMarks {
    let mut marks = remembered(pool, nodes);
    let is_empty = marks.is_empty();
    let forgotten: Vec<AppliedMark> =
        pool.applied_marks.iter().filter(|mark| !marks.contains(mark)).cloned().collect();
    let may_forget = !forgotten.is_empty();
    marks.extend(forgotten);
    RecordedMarks { marks, may_forget, is_empty }
}
