//! # Judge: the verdict of every pod on the nodes that are asked about
//! Room:     taints before and after, with their starts; the outcomes; who leaves, in order.
//! Comes in: the snapshot and the changes.
//! Goes out: [`NodeForecast`]s, [`Leaver`]s.
//! Keeps:    a taint that is there already keeps its start (S4); pods of the same shape are matched once for each node.
//! Not here: what follows for others (`impact.rs`, `placement.rs`).

use super::{Fate, NodeChange, NodeForecast, PlannedTaint};
use crate::hold::Holds;
use crate::matching::{self, Answer};
use crate::snapshot::{Return, Snapshot};
use crate::start::{Start, StartSource};
use crate::taint::Effect;
use crate::time::Mono;
use crate::verdict::{self, Outcome, TaintInstance};
use alloc::vec::Vec;

/// A pod that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leaver {
    /// When.
    pub(super) at: Mono,
    /// Its position.
    pub(super) pod: u32,
    /// A drain evicts it, which asks disruption budgets.
    pub(super) evicted: bool,
}

/// The nodes that are changed, or, if none is, those with a NoExecute taint.
pub(super) fn nodes(snapshot: &Snapshot, changes: &[NodeChange]) -> Vec<NodeForecast> {
    if changes.is_empty() {
        let has_taint = |&node: &usize| {
            snapshot.nodes()[node].fact.taints.iter().any(|taint| taint.effect == Effect::NoExecute)
        };
        let tainted = (0..snapshot.nodes().len()).filter(has_taint);
        return tainted.map(|node| one(snapshot, node, None)).collect();
    }
    changes.iter().map(|change| one(snapshot, change.node, Some(change))).collect()
}

fn one(snapshot: &Snapshot, node: usize, change: Option<&NodeChange>) -> NodeForecast {
    let before = snapshot.instances(node);
    let after = change.map_or_else(|| before.clone(), |change| planned(&before, change));
    let mut fates = fates(snapshot, node, &before, &after);
    let drained = change.is_some_and(|change| change.drained);
    if drained {
        fates.iter_mut().for_each(|fate| drain(snapshot, fate));
    }
    NodeForecast { node, before, after, drained, fates }
}

/// Who stays, or goes later, is evicted now; not who is out of reach, nor a DaemonSet's, which would be made again at once.
fn drain(snapshot: &Snapshot, fate: &mut Fate) {
    let (pod, now) = (&snapshot.pods()[fate.pod as usize], snapshot.now().mono);
    let is_left = snapshot.workloads()[pod.workload as usize].kind.returns() == Return::SameNode;
    if pod.exemption.is_none() && !is_left && fate.at().is_none_or(|at| at > now) {
        (fate.after, fate.decisive) = (Outcome::Goes { due: now }, None);
    }
}

/// The instances that a node would have: those that go on keep their start, others begin when they come.
pub(super) fn planned(before: &[TaintInstance], change: &NodeChange) -> Vec<TaintInstance> {
    let evicting = change.taints.iter().filter(|planned| planned.taint.effect == Effect::NoExecute);
    let instance = |PlannedTaint { taint, from }: &PlannedTaint| {
        let known = before.iter().find(|instance| instance.taint.is_same(taint));
        let new = Start { at: *from, source: StartSource::SeenLive, clamped: false };
        TaintInstance { taint: taint.clone(), start: known.map_or(new, |known| known.start) }
    };
    evicting.map(instance).collect()
}

/// What the tolerations of one shape answer to the taints of one node.
struct Answers {
    shape: u32,
    before: Vec<Answer>,
    after: Vec<Answer>,
}

fn fates(snapshot: &Snapshot, node: usize, before: &[TaintInstance], after: &[TaintInstance]) -> Vec<Fate> {
    let now = snapshot.now().mono;
    let mut known: Vec<Answers> = Vec::new();
    let fate = |at: usize| {
        let pod = &snapshot.pods()[at];
        let subject = snapshot.subject(pod);
        let answers = match known.iter().position(|answers| answers.shape == pod.shape) {
            Some(position) => &known[position],
            None => {
                let of = |taints: &[TaintInstance]| {
                    let taints = taints.iter().map(|instance| &instance.taint);
                    matching::answers(subject.tolerations, taints, snapshot.numeric())
                };
                known.push(Answers { shape: pod.shape, before: of(before), after: of(after) });
                &known[known.len() - 1]
            }
        };
        let (was, _) = verdict::decided(&subject, before, &Holds::NONE, &answers.before, now);
        let (is, decisive) = verdict::decided(&subject, after, &Holds::NONE, &answers.after, now);
        let narrow = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Fate { pod: narrow(at), before: was, after: is, decisive: decisive.map(narrow) }
    };
    snapshot.pods_on(node).map(fate).collect()
}

/// Who leaves up to this moment, in no order.
pub(super) fn leavers(nodes: &[NodeForecast], until: Mono) -> Vec<Leaver> {
    let leaver = |fate: &Fate| {
        let at = fate.at().filter(|at| *at <= until)?;
        Some(Leaver { at, pod: fate.pod, evicted: fate.is_evicted() })
    };
    nodes.iter().flat_map(|node| node.fates.iter().filter_map(leaver)).collect()
}

/// The first so many of those that leave, in the order in which they do; of those that leave together, the more important
/// later.
pub(super) fn first(snapshot: &Snapshot, mut leavers: Vec<Leaver>, most: usize) -> Vec<Leaver> {
    let order = |leaver: &Leaver| {
        let pod = &snapshot.pods()[leaver.pod as usize];
        (leaver.at, snapshot.shape(pod).wish.priority, leaver.pod)
    };
    if leavers.len() > most && most > 0 {
        leavers.select_nth_unstable_by_key(most - 1, order);
        leavers.truncate(most);
    }
    leavers.sort_unstable_by_key(order);
    leavers
}
