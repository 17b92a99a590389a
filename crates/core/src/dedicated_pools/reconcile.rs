//! Computes the plan from the cache: what each pool may do, and which nodes need an edit.
//!
//! - Invariant: a pool edits no node before it has the finalizer and its status lists the marks; the marks of a
//!   pool that is undecodable or unknown stay (D11).
//! - See `admission/pool/node_plan.rs` for the edits of one node.

use super::fact::PoolFact;
use super::pool_cache::PoolCache;
use crate::admission::pool::{
    AppliedMark, DedicatedPool, NodeEdits, NodePlan, NodeRecordAnnotation, PodOnNode, PoolAssessment,
    PoolExemptions, PoolNode, PoolValidity, RecordEdit, RecordTrust, assess, is_unauthorized, reconcile,
    remembered,
};
use crate::identity::NodeName;
use crate::taint::Taint;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;

/// The edits of a node, and what they depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodePatch {
    /// The edits of the node.
    pub edits: NodeEdits,
    /// The pool for which marks are added; it must not have changed since it was observed.
    pub pool: Option<PoolFact>,
}

/// The result of a reconciliation.
#[derive(Clone, Debug, Default)]
pub struct PoolPlan {
    /// The pools, as they were during the reconciliation; the following fields are in their order.
    facts: Vec<PoolFact>,
    pools: Vec<DedicatedPool>,
    assessments: Vec<PoolAssessment>,
    validity: Vec<PoolValidity>,
    /// What each may do at this moment: a pool that is not prepared takes no more nodes.
    permitted: Vec<PoolValidity>,
    /// Names of pools that cannot be decoded.
    undecodable: BTreeSet<Box<str>>,
    nodes: Vec<PoolNode>,
    /// Nodes that have to be written.
    nodes_to_write: BTreeSet<NodeName>,
    /// Nodes that each pool should have and that still need edits.
    waiting: Vec<BTreeSet<NodeName>>,
    /// The nodes that each pool has or takes next.
    members: Vec<BTreeSet<Box<str>>>,
    recorded: Vec<RecordedMarks>,
}

/// The marks that the status of a pool has to remember.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RecordedMarks {
    /// At least what it remembers already.
    pub(crate) marks: Vec<AppliedMark>,
    /// Some of them are, as far as is known, on no node any more.
    pub(crate) may_prune: bool,
    /// None of them are on any node, as far as is known.
    pub(crate) is_empty: bool,
}

impl PoolPlan {
    /// Reconciles everything.
    pub(crate) fn of(cache: &PoolCache) -> Self {
        let facts: Vec<PoolFact> = cache.pools.facts().cloned().collect();
        let pools: Vec<DedicatedPool> = facts.iter().map(|fact| fact.pool.clone()).collect();
        let nodes: Vec<PoolNode> = cache.nodes.facts().map(|fact| fact.node.clone()).collect();
        let assessments = assess(&pools, Some(&nodes), RecordTrust::Pools);
        let validity: Vec<PoolValidity> = assessments.iter().map(|one| one.validity).collect();
        let mut plan = Self {
            permitted: facts
                .iter()
                .zip(&validity)
                .map(|(fact, &validity)| permitted(fact, validity))
                .collect(),
            undecodable: cache.pools.undecodable().map(Into::into).collect(),
            nodes_to_write: BTreeSet::new(),
            waiting: vec![BTreeSet::new(); facts.len()],
            members: vec![BTreeSet::new(); facts.len()],
            recorded: recorded_marks(&pools, &nodes),
            facts,
            pools,
            assessments,
            validity,
            nodes,
        };
        plan.reconcile_nodes();
        plan
    }

    fn reconcile_nodes(&mut self) {
        let (mut nodes_to_write, mut waiting) = (BTreeSet::new(), core::mem::take(&mut self.waiting));
        let mut members = core::mem::take(&mut self.members);
        for node in &self.nodes {
            let wanted = self.wanted(node);
            if let Some(pool) = wanted.pool {
                members[pool].insert(node.name.clone());
                if !wanted.edits.is_empty() {
                    waiting[pool].insert(NodeName::new(&node.name));
                }
            }
            let is_settled = wanted.edits.is_empty() && self.permitted == self.validity;
            if !is_settled && !self.desired_edits(node).edits.is_empty() {
                nodes_to_write.insert(NodeName::new(&node.name));
            }
        }
        (self.nodes_to_write, self.waiting, self.members) = (nodes_to_write, waiting, members);
    }

    /// Returns what the rules require of a node, whether or not it may be written yet.
    pub(crate) fn wanted(&self, node: &PoolNode) -> NodePlan {
        reconcile(&self.pools, &self.validity, node, RecordTrust::Pools)
    }

    /// Whether the record on a node names a pool that cannot be decoded.
    pub(crate) fn is_of_undecodable(&self, node: &PoolNode) -> bool {
        self.undecodable.contains(&holder(node))
    }

    /// Whether the record on a node names a pool that is known.
    pub(crate) fn knows_holder(&self, node: &PoolNode) -> bool {
        let holder = holder(node);
        self.pools.iter().any(|pool| *pool.name == *holder)
    }

    /// Returns the edits of a node.
    pub fn desired_edits(&self, node: &PoolNode) -> NodePatch {
        if self.is_of_undecodable(node) {
            return NodePatch::default();
        }
        let NodePlan { edits, pool, .. } = reconcile(&self.pools, &self.permitted, node, RecordTrust::Pools);
        match pool {
            Some(at) if !is_prepared(&self.facts[at]) => NodePatch::default(),
            Some(at) => {
                let adds = !edits.add_taints.is_empty()
                    || !edits.add_labels.is_empty()
                    || matches!(edits.record, Some(RecordEdit::Write(_)));
                NodePatch { edits, pool: adds.then(|| self.facts[at].clone()) }
            }
            // A record of an unknown pool is evidence for the marks of that pool only, and kept: should the pool return,
            // it finds its own marks again.
            None if node.record.is_some() && !self.knows_holder(node) => {
                NodePatch { edits: NodeEdits { record: None, ..edits }, pool: None }
            }
            None => NodePatch { edits, pool: None },
        }
    }

    /// Whether a pod on this node, both just read, has to be evicted for this pool: the node belongs to the pool and
    /// has all of its marks, and the pod certainly does not belong to the pool.
    pub fn is_unauthorized(
        &self,
        pool: &PoolFact,
        node: &PoolNode,
        pod: &PodOnNode<'_>,
        exemptions: &PoolExemptions,
    ) -> bool {
        let wanted = self.wanted(node);
        let owns = wanted.edits.is_empty() && wanted.pool.is_some_and(|at| self.facts[at].uid == pool.uid);
        owns && is_unauthorized(&pool.pool, pod, exemptions)
    }

    /// Whether marks of this pool have yet to be removed from nodes, whatever their records say.
    pub(crate) fn has_to_remove_marks(&self, pool: usize) -> bool {
        let pool = &self.pools[pool];
        let is_written = |node: &&PoolNode| self.nodes_to_write.contains(&NodeName::new(&node.name));
        self.nodes.iter().filter(is_written).any(|node| has_marks(pool, node))
    }

    /// Returns the nodes as their pools' status counts them: a node that still needs edits counts for no pool.
    pub(crate) fn settled_nodes(&self) -> Vec<&PoolNode> {
        let waiting: BTreeSet<&str> = self.waiting.iter().flatten().map(NodeName::as_str).collect();
        self.nodes.iter().filter(|node| !waiting.contains(&*node.name)).collect()
    }

    pub(crate) fn facts(&self) -> &[PoolFact] {
        &self.facts
    }

    pub(crate) fn pools(&self) -> &[DedicatedPool] {
        &self.pools
    }

    pub(crate) fn assessments(&self) -> &[PoolAssessment] {
        &self.assessments
    }

    pub(crate) fn validity(&self) -> &[PoolValidity] {
        &self.validity
    }

    pub(crate) fn nodes(&self) -> &[PoolNode] {
        &self.nodes
    }

    pub(crate) fn nodes_to_write(&self) -> &BTreeSet<NodeName> {
        &self.nodes_to_write
    }

    pub(crate) fn waiting(&self) -> &[BTreeSet<NodeName>] {
        &self.waiting
    }

    pub(crate) fn members(&self) -> &[BTreeSet<Box<str>>] {
        &self.members
    }

    pub(crate) fn recorded(&self) -> &[RecordedMarks] {
        &self.recorded
    }
}

/// Returns the pool that the record on a node names; empty without a record.
fn holder(node: &PoolNode) -> Box<str> {
    node.record.as_deref().map(|text| NodeRecordAnnotation::parse(text).pool).unwrap_or_default()
}

fn has_marks(pool: &DedicatedPool, node: &PoolNode) -> bool {
    let (label, taints) = (pool.label(), pool.taints());
    let is_own = |taint: &Taint| taints.iter().any(|own| own.is_same(taint) && own.value == taint.value);
    node.labels.get(&label.key) == Some(&label.value) || node.taints.iter().any(is_own)
}

/// Whether a pool may change nodes: its deletion then waits for the finalizer, and its status remembers its marks.
fn is_prepared(fact: &PoolFact) -> bool {
    fact.has_finalizer() && remembers_its_marks(&fact.pool)
}

/// Whether its status remembers the marks that it adds to nodes.
pub(crate) fn remembers_its_marks(pool: &DedicatedPool) -> bool {
    pool.marks().iter().all(|mark| pool.applied_marks.contains(mark))
}

fn permitted(fact: &PoolFact, validity: PoolValidity) -> PoolValidity {
    match validity {
        PoolValidity::Applied if !fact.pool.leaving && !is_prepared(fact) => PoolValidity::Frozen,
        other => other,
    }
}

/// Computes what each pool has to remember. Each record is read once, however many pools there are.
fn recorded_marks(pools: &[DedicatedPool], nodes: &[PoolNode]) -> Vec<RecordedMarks> {
    let mut held: BTreeMap<Box<str>, Vec<PoolNode>> = BTreeMap::new();
    for node in nodes.iter().filter(|node| node.record.is_some()) {
        let only = PoolNode { record: node.record.clone(), ..PoolNode::default() };
        held.entry(holder(node)).or_default().push(only);
    }
    let of = |pool: &DedicatedPool| held.get(&pool.name).map(Vec::as_slice).unwrap_or_default();
    pools.iter().map(|pool| RecordedMarks::of(pool, of(pool))).collect()
}

impl RecordedMarks {
    /// Computes which marks on these nodes a pool has to remember.
    fn of(pool: &DedicatedPool, nodes: &[PoolNode]) -> Self {
        let mut marks = remembered(pool, nodes);
        let is_empty = marks.is_empty();
        let gone: Vec<AppliedMark> =
            pool.applied_marks.iter().filter(|mark| !marks.contains(mark)).cloned().collect();
        let may_prune = !gone.is_empty();
        marks.extend(gone);
        Self { marks, may_prune, is_empty }
    }
}
