//! # Placement: where pods that leave could go
//! Room:     each pod that somebody makes again asks the scheduler's questions, in the order in which they leave.
//! Comes in: who leaves; the nodes as they would be.
//! Goes out: a [`Home`] for each.
//! Keeps:    a pod that has left takes nothing any more; one that got a place does.
//! Not here: affinity between pods, spreading, volumes, which the snapshot only knows to be there.

use super::NodeChange;
use super::judge::{Leaver, first};
use crate::fact::Standing;
use crate::scheduling::{Candidate, Placer, why_none};
use crate::snapshot::{Return, Snapshot};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Where a pod could go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// To this node.
    Node(usize),
    /// To none: why, in the scheduler's words.
    Nowhere(Arc<str>),
    /// It is not made again, or not for another node.
    None(Return),
}

/// A pod that leaves, and where it could go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    /// Its position in the snapshot.
    pub pod: u32,
    /// Where.
    pub place: Place,
}

/// Places for those that leave, and how many got none because they are too many.
pub(super) fn homes(
    snapshot: &Snapshot,
    changes: &[NodeChange],
    leavers: Vec<Leaver>,
    most: usize,
) -> (Vec<Home>, usize) {
    let all = leavers.len();
    let asked = first(snapshot, leavers, most);
    if asked.is_empty() {
        return (Vec::new(), all);
    }
    let mut placer = Placer::new(candidates(snapshot, changes), snapshot.numeric());
    let mut why: BTreeMap<u32, Arc<str>> = BTreeMap::new();
    let home = |leaver: &Leaver| {
        let pod = &snapshot.pods()[leaver.pod as usize];
        let wish = &snapshot.shape(pod).wish;
        if let (Some(node), true) = (pod.node, pod.standing != Standing::Finished) {
            placer.take(node as usize, &wish.load);
        }
        let place = match snapshot.workloads()[pod.workload as usize].kind.returns() {
            returns @ (Return::SameNode | Return::Never) => Place::None(returns),
            _ => match placer.choose(pod.shape, wish) {
                Some(node) => {
                    placer.put(node, &wish.load);
                    Place::Node(node)
                }
                None => {
                    let sentence = || -> Arc<str> { reason(&why_none(wish, &placer.why_not(wish))).into() };
                    Place::Nowhere(why.entry(pod.shape).or_insert_with(sentence).clone())
                }
            },
        };
        Home { pod: leaver.pod, place }
    };
    let homes = asked.iter().map(home).collect();
    (homes, all - asked.len())
}

/// Without what the scheduler says of preemption: nobody is preempted here.
fn reason(sentence: &str) -> String {
    sentence.split(" preemption: ").next().unwrap_or(sentence).trim_end_matches('.').into()
}

/// The nodes as they would be.
fn candidates(snapshot: &Snapshot, changes: &[NodeChange]) -> Vec<Candidate> {
    let mut candidates: Vec<Candidate> =
        (0..snapshot.nodes().len()).map(|node| snapshot.candidate(node)).collect();
    for change in changes {
        let candidate = &mut candidates[change.node];
        candidate.unschedulable = change.unschedulable;
        candidate.taints = change.taints.iter().map(|planned| planned.taint.clone()).collect();
    }
    candidates
}
