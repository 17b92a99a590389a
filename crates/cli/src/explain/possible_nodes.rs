//! Explains a pod without a node: which taints keep it off which nodes, and where it could run.
//!
//! - Affinity between pods, topology constraints and volumes are mentioned, not evaluated.

use super::pod::{PodExplanation, PodLocation};
use std::collections::BTreeMap;
use taintward_core::scheduling::{filter, kept_off_by};

/// The nodes, sorted by what they are to a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PossibleNodes {
    pub(super) possible: Vec<String>,
    /// Taints, each as text, and the nodes with just these; most nodes first.
    pub(super) tainted: Vec<(Vec<String>, Vec<String>)>,
    /// Another reason, in the scheduler's words, and the nodes.
    pub(super) unfit: Vec<(String, Vec<String>)>,
    /// There are rules that were not looked at.
    pub(super) beyond: bool,
}

/// `None` for a pod that looks for no node.
pub(super) fn of(story: &PodExplanation<'_>) -> Option<PossibleNodes> {
    let is_looking = story.place == PodLocation::Nowhere && !story.closeup.is_over();
    let pod = story.pod.filter(|_| is_looking)?;
    let (snapshot, shape) = (story.snapshot(), story.snapshot().shape(pod));
    let mut places = PossibleNodes { beyond: shape.beyond, ..PossibleNodes::default() };
    let (mut tainted, mut unfit) = (BTreeMap::<_, Vec<String>>::new(), BTreeMap::<_, Vec<String>>::new());
    for (at, node) in snapshot.nodes().iter().enumerate() {
        let name = node.fact.name.to_string();
        let taints = kept_off_by(&shape.spec.tolerations, &node.fact.taints, snapshot.numeric());
        if !taints.is_empty() {
            let taints: Vec<String> = taints.into_iter().map(ToString::to_string).collect();
            tainted.entry(taints).or_default().push(name);
            continue;
        }
        match filter(&shape.spec, &snapshot.candidate(at), snapshot.numeric()) {
            Ok(()) => places.possible.push(name),
            Err(why) => {
                let words: Vec<String> = why.reasons.iter().map(ToString::to_string).collect();
                unfit.entry(words.join(", ")).or_default().push(name);
            }
        }
    }
    places.tainted = tainted.into_iter().collect();
    places.tainted.sort_by_key(|(_, nodes)| std::cmp::Reverse(nodes.len()));
    places.unfit = unfit.into_iter().collect();
    places.unfit.sort_by_key(|(_, nodes)| std::cmp::Reverse(nodes.len()));
    Some(places)
}

/// Names that are told; the others are counted.
const NAMED_MOST: usize = 5;

/// `n1, n2 and 7 more`
pub(super) fn listed(names: &[String]) -> String {
    match names.len() {
        0..=NAMED_MOST => names.join(", "),
        count => format!("{} and {} more", names[..NAMED_MOST].join(", "), count - NAMED_MOST),
    }
}
