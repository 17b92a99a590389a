//! Assesses all pools together: which ones are valid, which overlap, and which nodes none of them may take.
//!
//! - Invariant: a younger pool never takes anything from an older one, a pool never loses a node because of other
//!   nodes, and at least one node stays open to all pods.
//! - See `node_plan.rs` for the edits of nodes.

use super::findings::{PoolFinding, Reason, errors};
use super::node_plan::{NodeWithoutMarks, PoolNode};
use super::node_record::RecordTrust;
use super::validity::PoolValidity;
use super::{DedicatedPool, is_control_plane, keeps_off};
use crate::admission::messages::few;
use crate::taint::keys;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// The result of assessing a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolAssessment {
    /// What it may do.
    pub validity: PoolValidity,
    /// What the pool's author should know.
    pub findings: Vec<PoolFinding>,
}

impl PoolAssessment {
    fn report(&mut self, finding: PoolFinding) {
        if finding.reason.rejects() {
            self.validity = PoolValidity::Rejected;
        }
        self.findings.push(finding);
    }
}

/// Assesses each pool. Without nodes, whatever depends on them is left out.
pub fn assess(
    pools: &[DedicatedPool],
    nodes: Option<&[PoolNode]>,
    trust: RecordTrust,
) -> Vec<PoolAssessment> {
    let mut all = vec![PoolAssessment::default(); pools.len()];
    let mut order: Vec<usize> = (0..pools.len()).filter(|&at| !pools[at].leaving).collect();
    order.sort_by_key(|&at| pools[at].rank());
    for (place, &at) in order.iter().enumerate() {
        errors(&pools[at]).into_iter().for_each(|finding| all[at].report(finding));
        for &older in &order[..place] {
            if all[older].validity != PoolValidity::Rejected {
                overlaps(&pools[at], &pools[older]).for_each(|finding| all[at].report(finding));
            }
        }
    }
    if let Some(nodes) = nodes {
        PoolSurvey::new(pools, nodes, trust, &all).fill(&order, &mut all);
    }
    all
}

fn overlaps(pool: &DedicatedPool, older: &DedicatedPool) -> impl Iterator<Item = PoolFinding> {
    let name = &older.name;
    let taint = (pool.taint.key == older.taint.key && pool.taint.value == older.taint.value).then(|| {
        let message = format!(
            "pool {name} has the same taint, so the pods of each would be let onto the nodes of the other: write another \
             key or value"
        );
        PoolFinding::new(Reason::TaintOverlaps, message)
    });
    let label = (pool.label() == older.label()).then(|| {
        let message = format!(
            "pool {name} has the same label, so the pods of each would be led to the nodes of the other: write another \
             key or value"
        );
        PoolFinding::new(Reason::LabelOverlaps, message)
    });
    taint.into_iter().chain(label)
}

/// A node, and the pool that has it.
struct NodeOwnership<'n> {
    plain: NodeWithoutMarks<'n>,
    /// Position of the pool that has it.
    taken: Option<usize>,
    /// Whether no taint repelled pods before nodes were assigned.
    open: bool,
}

/// All nodes, while they are assigned.
struct PoolSurvey<'p> {
    pools: &'p [DedicatedPool],
    spots: Vec<NodeOwnership<'p>>,
    /// How many nodes are open to all pods.
    open: usize,
}

impl<'p> PoolSurvey<'p> {
    /// A pool keeps the nodes it has.
    fn new(
        pools: &'p [DedicatedPool],
        nodes: &'p [PoolNode],
        trust: RecordTrust,
        all: &[PoolAssessment],
    ) -> Self {
        let ownership = |node: &'p PoolNode| {
            let plain = NodeWithoutMarks::of(node, pools, trust);
            let lasting = |key: &str| key == keys::CONTROL_PLANE || !keys::ALL.contains(&key);
            let open = !plain.taints.iter().any(|taint| keeps_off(&taint.effect) && lasting(&taint.key));
            let taken = plain.holder(pools);
            let closes =
                |at: usize| all[at].validity == PoolValidity::Rejected || !pools[at].barrier().is_empty();
            NodeOwnership { open: open && !taken.is_some_and(closes), plain, taken }
        };
        let spots: Vec<NodeOwnership<'p>> = nodes.iter().map(ownership).collect();
        let open = spots.iter().filter(|ownership| ownership.open).count();
        Self { pools, spots, open }
    }

    fn fill(mut self, order: &[usize], all: &mut [PoolAssessment]) {
        for &at in order {
            if all[at].validity != PoolValidity::Rejected {
                self.give(at, &mut all[at]);
            }
        }
    }

    fn give(&mut self, at: usize, assessment: &mut PoolAssessment) {
        let pool = &self.pools[at];
        let requested =
            |ownership: &NodeOwnership<'_>| pool.selects(ownership.plain.name, &ownership.plain.labels);
        let closes = !pool.barrier().is_empty();
        let new = |ownership: &NodeOwnership<'_>| ownership.taken.is_none() && requested(ownership);
        let closed = self.spots.iter().filter(|ownership| closes && new(ownership) && ownership.open).count();
        if closed > 0 && closed == self.open {
            assessment.validity = PoolValidity::Frozen;
            assessment.report(PoolFinding::new(Reason::LocksOutSystem, locks_out(&self.named(&new))));
        } else {
            for ownership in &mut self.spots {
                if new(ownership) {
                    ownership.taken = Some(at);
                }
            }
            self.open -= closed;
        }
        self.report_missing(at, assessment, &requested);
    }

    fn named<'s>(&'s self, which: &dyn Fn(&NodeOwnership<'p>) -> bool) -> Vec<&'s str> {
        self.spots.iter().filter(|ownership| which(ownership)).map(|ownership| ownership.plain.name).collect()
    }

    /// Adds what the pool's author should know about the nodes.
    fn report_missing(
        &self,
        at: usize,
        assessment: &mut PoolAssessment,
        requested: &dyn Fn(&NodeOwnership<'p>) -> bool,
    ) {
        let pool = &self.pools[at];
        if self.named(requested).is_empty() {
            let message = "no node is selected: label nodes so that the selector matches them, or name them; \
             until then the pool's pods are unschedulable";
            assessment.report(PoolFinding::new(Reason::SelectsNothing, message));
        }
        let other = |ownership: &NodeOwnership<'p>| {
            ownership.taken.filter(|&owner| requested(ownership) && owner != at)
        };
        let others = self.named(&|ownership| other(ownership).is_some());
        if !others.is_empty() {
            let owners: BTreeSet<&str> =
                self.spots.iter().filter_map(other).map(|at| &*self.pools[at].name).collect();
            let message = format!(
                "these nodes belong to another pool ({}) and stay there: {}; select each node in only one pool",
                few(owners),
                few(others)
            );
            assessment.report(PoolFinding::new(Reason::NodesOverlap, message));
        }
        let control = self.named(&|ownership| {
            is_control_plane(&ownership.plain.labels)
                && pool.names_or_matches(ownership.plain.name, &ownership.plain.labels)
        });
        if !control.is_empty() {
            let message = format!(
                "these nodes run the control plane, so the pool skips them: {}; select other nodes",
                few(control)
            );
            assessment.report(PoolFinding::new(Reason::ControlPlaneNodes, message));
        }
        self.report_conflicts(at, assessment);
        let strays = self.named(&|ownership| {
            let home = ownership.taken.map(|owner| self.pools[owner].label().key);
            let label = pool.label();
            home.as_ref() != Some(&label.key) && ownership.plain.has_stray(&label, self.pools)
        });
        if !strays.is_empty() {
            let message = format!(
                "these nodes have the label of the pool and do not belong to it: {}; the controller removes the label: \
                 find out which client adds it",
                few(strays)
            );
            assessment.report(PoolFinding::new(Reason::StrayLabel, message));
        }
    }

    fn report_conflicts(&self, at: usize, assessment: &mut PoolAssessment) {
        let pool = &self.pools[at];
        let mine = self.spots.iter().filter(|ownership| ownership.taken == Some(at));
        let conflicts: Vec<_> = mine.filter_map(|ownership| ownership.plain.conflict(at, pool)).collect();
        if let Some(first) = conflicts.first() {
            let more = match conflicts.len() - 1 {
                0 => String::new(),
                more => format!(" (and {more} more nodes)"),
            };
            assessment.report(PoolFinding::new(Reason::NodeConflict, format!("{}{more}", first.message)));
        }
    }
}

fn locks_out(names: &[&str]) -> String {
    format!(
        "no more nodes are added, because these are the last nodes outside of pools and the pods of \
         kube-system need one: {}; deselect one of them, or add a node",
        few(names.iter().copied())
    )
}
