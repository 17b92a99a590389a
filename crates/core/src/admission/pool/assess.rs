//! # Assess: how each pool stands, beside the others and on the nodes there are
//! Room:     who has what two want; nodes that no pool may take.
//! Comes in: all pools; all nodes, if they are known.
//! Goes out: an [`Assessment`] for each pool, in their order.
//! Keeps:    the older pool is never worse off for a younger one. A pool never loses a node it has because of what
//!           happens to other nodes. Some node stays open to everybody: the system's pods have to run somewhere.
//! Not here: the edits (`node.rs`).

use super::fault::{Finding, Reason, faults};
use super::node::{NodeFacts, Plain};
use super::record::Trust;
use super::{Pool, is_control_plane, keeps_off};
use crate::admission::words::few;
use crate::taint::keys;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// What a pool may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standing {
    /// Everything.
    #[default]
    Applied,
    /// Keep the nodes it has, and take no more. Its rules for pods hold.
    Frozen,
    /// Nothing, until it is corrected. Its nodes stay as they are; its rules for pods do not hold.
    Refused,
}

impl Standing {
    /// `Applied`
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Applied => "Applied",
            Self::Frozen => "Frozen",
            Self::Refused => "Refused",
        }
    }
}

/// How a pool stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assessment {
    /// What it may do.
    pub standing: Standing,
    /// What its author should know.
    pub findings: Vec<Finding>,
}

impl Assessment {
    fn say(&mut self, finding: Finding) {
        if finding.reason.refuses() {
            self.standing = Standing::Refused;
        }
        self.findings.push(finding);
    }
}

/// How each pool stands. Without nodes, what depends on them is left out.
pub fn assess(pools: &[Pool], nodes: Option<&[NodeFacts]>, trust: Trust) -> Vec<Assessment> {
    let mut all = vec![Assessment::default(); pools.len()];
    let mut order: Vec<usize> = (0..pools.len()).filter(|&at| !pools[at].leaving).collect();
    order.sort_by_key(|&at| pools[at].rank());
    for (place, &at) in order.iter().enumerate() {
        faults(&pools[at]).into_iter().for_each(|finding| all[at].say(finding));
        for &older in &order[..place] {
            if all[older].standing != Standing::Refused {
                overlaps(&pools[at], &pools[older]).for_each(|finding| all[at].say(finding));
            }
        }
    }
    if let Some(nodes) = nodes {
        Survey::new(pools, nodes, trust, &all).fill(&order, &mut all);
    }
    all
}

fn overlaps(pool: &Pool, older: &Pool) -> impl Iterator<Item = Finding> {
    let name = &older.name;
    let taint = (pool.taint.key == older.taint.key && pool.taint.value == older.taint.value).then(|| {
        let message = format!(
            "pool {name} has the same taint, so the pods of each would be let onto the nodes of the other: write another \
             key or value"
        );
        Finding::new(Reason::TaintOverlaps, message)
    });
    let label = (pool.label() == older.label()).then(|| {
        let message = format!(
            "pool {name} has the same label, so the pods of each would be led to the nodes of the other: write another \
             key or value"
        );
        Finding::new(Reason::LabelOverlaps, message)
    });
    taint.into_iter().chain(label)
}

/// A node, and who has it.
struct Spot<'n> {
    plain: Plain<'n>,
    /// Position of the pool that has it.
    taken: Option<usize>,
    /// Before anything is given out, nothing keeps pods off it.
    open: bool,
}

/// All nodes, while they are given out.
struct Survey<'p> {
    pools: &'p [Pool],
    spots: Vec<Spot<'p>>,
    /// How many nodes are open to everybody.
    open: usize,
}

impl<'p> Survey<'p> {
    /// Who has a node keeps it.
    fn new(pools: &'p [Pool], nodes: &'p [NodeFacts], trust: Trust, all: &[Assessment]) -> Self {
        let spot = |node: &'p NodeFacts| {
            let plain = Plain::of(node, pools, trust);
            let lasting = |key: &str| key == keys::CONTROL_PLANE || !keys::ALL.contains(&key);
            let open = !plain.taints.iter().any(|taint| keeps_off(&taint.effect) && lasting(&taint.key));
            let taken = plain.holder(pools);
            let closes = |at: usize| all[at].standing == Standing::Refused || !pools[at].barrier().is_empty();
            Spot { open: open && !taken.is_some_and(closes), plain, taken }
        };
        let spots: Vec<Spot<'p>> = nodes.iter().map(spot).collect();
        let open = spots.iter().filter(|spot| spot.open).count();
        Self { pools, spots, open }
    }

    fn fill(mut self, order: &[usize], all: &mut [Assessment]) {
        for &at in order {
            if all[at].standing != Standing::Refused {
                self.give(at, &mut all[at]);
            }
        }
    }

    fn give(&mut self, at: usize, assessment: &mut Assessment) {
        let pool = &self.pools[at];
        let asked = |spot: &Spot<'_>| pool.selects(spot.plain.name, &spot.plain.labels);
        let closes = !pool.barrier().is_empty();
        let new = |spot: &Spot<'_>| spot.taken.is_none() && asked(spot);
        let closed = self.spots.iter().filter(|spot| closes && new(spot) && spot.open).count();
        if closed > 0 && closed == self.open {
            assessment.standing = Standing::Frozen;
            assessment.say(Finding::new(Reason::LocksOutSystem, locks_out(&self.named(&new))));
        } else {
            for spot in &mut self.spots {
                if new(spot) {
                    spot.taken = Some(at);
                }
            }
            self.open -= closed;
        }
        self.tell(at, assessment, &asked);
    }

    fn named<'s>(&'s self, which: &dyn Fn(&Spot<'p>) -> bool) -> Vec<&'s str> {
        self.spots.iter().filter(|spot| which(spot)).map(|spot| spot.plain.name).collect()
    }

    /// What its author should know about the nodes.
    fn tell(&self, at: usize, assessment: &mut Assessment, asked: &dyn Fn(&Spot<'p>) -> bool) {
        let pool = &self.pools[at];
        if self.named(asked).is_empty() {
            let message = "no node is asked for: label nodes so that the selector means them, or name them; until then \
                           its pods find no node of the pool";
            assessment.say(Finding::new(Reason::SelectsNothing, message));
        }
        let other = |spot: &Spot<'p>| spot.taken.filter(|&owner| asked(spot) && owner != at);
        let others = self.named(&|spot| other(spot).is_some());
        if !others.is_empty() {
            let owners: BTreeSet<&str> =
                self.spots.iter().filter_map(other).map(|at| &*self.pools[at].name).collect();
            let message = format!(
                "these nodes belong to another pool ({}) and stay there: {}; let only one pool ask for each",
                few(owners),
                few(others)
            );
            assessment.say(Finding::new(Reason::NodesOverlap, message));
        }
        let control = self.named(&|spot| {
            is_control_plane(&spot.plain.labels) && pool.names_or_matches(spot.plain.name, &spot.plain.labels)
        });
        if !control.is_empty() {
            let message = format!(
                "these nodes carry the control plane and are left out: {}; ask for others",
                few(control)
            );
            assessment.say(Finding::new(Reason::ControlPlaneNodes, message));
        }
        self.tell_conflicts(at, assessment);
    }

    fn tell_conflicts(&self, at: usize, assessment: &mut Assessment) {
        let pool = &self.pools[at];
        let mine = self.spots.iter().filter(|spot| spot.taken == Some(at));
        let conflicts: Vec<_> = mine.filter_map(|spot| spot.plain.conflict(at, pool)).collect();
        if let Some(first) = conflicts.first() {
            let more = match conflicts.len() - 1 {
                0 => String::new(),
                more => format!(" (and {more} more nodes)"),
            };
            assessment.say(Finding::new(Reason::NodeConflict, format!("{}{more}", first.message)));
        }
    }
}

fn locks_out(names: &[&str]) -> String {
    format!(
        "no more nodes are taken, because these are the last that are open to everybody and the pods of kube-system need \
         one: {}; leave one out, or add a node",
        few(names.iter().copied())
    )
}
