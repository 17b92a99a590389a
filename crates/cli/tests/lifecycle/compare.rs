//! Compares the histories of both controllers for the same step, node by node.

use super::script::RATE;
use super::trail::{Own, Played, Trail};
use std::collections::BTreeSet;
use taintward_envtest::node_history::NO_EXECUTE;

/// The kinds of difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DifferenceKind {
    /// kube-controller-manager removed both taints of a node that is ready again one after the other.
    LiftedInSteps,
    /// kube-controller-manager needed several writes for one of Taintward.
    InSteps,
    /// Taintward needed more writes than kube-controller-manager.
    OursInSteps,
    /// The taints of the node passed through, or ended in, different states.
    Elsewhere,
    /// kube-controller-manager added a taint again that existed.
    PutOnAgain,
    /// kube-controller-manager added a NoExecute taint before a grace period was over, and Taintward did not.
    Sooner,
}

/// The difference for one node in one step.
#[derive(Clone, Debug)]
pub(crate) struct LifecycleDifference {
    pub(crate) step: String,
    pub(crate) node: String,
    pub(crate) kind: DifferenceKind,
    pub(crate) original: Trail,
    pub(crate) ours: Trail,
}

impl LifecycleDifference {
    /// The difference in words.
    pub(crate) fn send(&self) -> String {
        let Self { step, node, kind, original, ours } = self;
        format!(
            "{step}: {node}: {kind:?}\n      upstream:  {}, added again {} times, tainted after {:?} s\n      \
             taintward: {}, added again {} times, tainted after {:?} s",
            original.send(),
            original.renewed,
            original.tainted_after,
            ours.send(),
            ours.renewed,
            ours.tainted_after,
        )
    }
}

/// All differences between two runs of one script.
pub(crate) fn differences(original: &[Played], ours: &[Played]) -> Vec<LifecycleDifference> {
    assert_eq!(original.len(), ours.len(), "both play the same steps");
    original.iter().zip(ours).flat_map(|(original, ours)| of_step(original, ours)).collect()
}

fn of_step(original: &Played, ours: &Played) -> Vec<LifecycleDifference> {
    assert_eq!(original.step, ours.step);
    let nodes: BTreeSet<&String> = original.trails.keys().chain(ours.trails.keys()).collect();
    let mut all = Vec::new();
    for node in nodes {
        let (theirs, own) = (original.trail(node), ours.trail(node));
        for kind in kinds(&theirs, &own) {
            all.push(LifecycleDifference {
                step: original.step.clone(),
                node: node.clone(),
                kind,
                original: theirs.clone(),
                ours: own.clone(),
            });
        }
    }
    all
}

fn kinds(original: &Trail, ours: &Trail) -> Vec<DifferenceKind> {
    let mut kinds = Vec::new();
    if original.turns() != ours.turns() {
        kinds.push(DifferenceKind::Elsewhere);
    } else if original.stations() < ours.stations() {
        kinds.push(DifferenceKind::OursInSteps);
    } else if original.stations() > ours.stations() {
        let lifted =
            original.ways.last() == Some(&Some(BTreeSet::new())) && original.ways.iter().any(is_half_lifted);
        kinds.push(if lifted { DifferenceKind::LiftedInSteps } else { DifferenceKind::InSteps });
    }
    if original.renewed > ours.renewed {
        kinds.push(DifferenceKind::PutOnAgain);
    }
    let grace = RATE.grace.as_secs_f64();
    if let (Some(theirs), Some(own)) = (original.tainted_after, ours.tainted_after)
        && theirs < grace / 2.0
        && own >= grace - 1.0
    {
        kinds.push(DifferenceKind::Sooner);
    }
    kinds
}

/// Whether the NoSchedule taint was removed and the NoExecute taint was not.
fn is_half_lifted(own: &Own) -> bool {
    own.as_ref()
        .is_some_and(|own| own.len() == 1 && own.iter().any(|taint| NO_EXECUTE.contains(&taint.as_str())))
}
