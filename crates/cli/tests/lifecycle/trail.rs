//! Extracts from the record what happened to a node in one step.

use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use taintward_envtest::node_history::{HistoryPosition, NO_EXECUTE, NodeHistory};

/// The own taints of a node at one time; `None` if the node does not exist.
pub(crate) type Own = Option<BTreeSet<String>>;

/// One step of the script on one side.
#[derive(Clone, Debug)]
pub(crate) struct Played {
    pub(crate) step: String,
    pub(crate) trails: BTreeMap<String, Trail>,
    /// Nodes that were not as expected at the end.
    pub(crate) wrong: Vec<String>,
}

impl Played {
    /// The changes of a node; empty if nothing happened to it.
    pub(crate) fn trail(&self, node: &str) -> Trail {
        self.trails.get(node).cloned().unwrap_or_default()
    }
}

/// The changes of one node in one step.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Trail {
    /// Its states, including the initial one; no two equal ones in a row.
    pub(crate) ways: Vec<Own>,
    /// How often a NoExecute taint that stayed got another `timeAdded`.
    pub(crate) renewed: usize,
    /// Seconds into the step until the first NoExecute taint was added.
    pub(crate) tainted_after: Option<f64>,
}

/// The changes of a step.
pub(crate) struct Trails;

impl Trails {
    /// The changes of all nodes since `mark`.
    pub(crate) fn of(
        record: &NodeHistory,
        mark: HistoryPosition,
        since: Timestamp,
    ) -> BTreeMap<String, Trail> {
        let changes = record.since(mark);
        let nodes: BTreeSet<&str> = changes.iter().map(|change| change.node.as_str()).collect();
        let trail = |node: &str| {
            let mut trail = Trail::default();
            let mut last = record.before(mark, node);
            trail.ways.push(last.as_ref().map(|sight| sight.own()));
            for change in changes.iter().filter(|change| change.node == node) {
                let own = change.sight.as_ref().map(|sight| sight.own());
                if let (Some(before), Some(now)) = (&last, &change.sight) {
                    let moved = |taint: &&str| {
                        own.as_ref().is_some_and(|own| own.contains(*taint))
                            && before.own().contains(*taint)
                            && before.added(taint) != now.added(taint)
                    };
                    trail.renewed += NO_EXECUTE.iter().filter(|taint| moved(taint)).count();
                    if trail.tainted_after.is_none() && now.is_evicting() && !before.is_evicting() {
                        trail.tainted_after = Some(change.at.duration_since(since).as_secs_f64());
                    }
                }
                if trail.ways.last() != Some(&own) {
                    trail.ways.push(own);
                }
                last.clone_from(&change.sight);
            }
            trail
        };
        let all = nodes.into_iter().map(|node| (node.to_owned(), trail(node)));
        all.filter(|(_, trail)| trail.ways.len() > 1 || trail.renewed > 0).collect()
    }
}

impl Trail {
    /// The states without those that lie between their neighbours: a change made in several writes, or in one.
    ///
    /// Empty if nothing changed.
    pub(crate) fn turns(&self) -> Vec<Own> {
        let mut turns = if self.ways.len() > 1 { self.ways.clone() } else { Vec::new() };
        let mut place = 1;
        while place + 1 < turns.len() {
            if lies_between(&turns[place - 1], &turns[place], &turns[place + 1]) {
                turns.remove(place);
                place = 1;
            } else {
                place += 1;
            }
        }
        turns
    }

    /// The number of changes.
    pub(crate) fn stations(&self) -> usize {
        self.ways.len().saturating_sub(1)
    }

    /// The changes in words.
    pub(crate) fn send(&self) -> String {
        let send = |own: &Own| match own {
            None => "gone".to_owned(),
            Some(own) => format!("{{{}}}", own.iter().map(String::as_str).collect::<Vec<_>>().join(" ")),
        };
        self.ways.iter().map(send).collect::<Vec<_>>().join(" → ")
    }
}

/// Whether the middle one has everything that both others have, and nothing that neither has.
fn lies_between(before: &Own, middle: &Own, after: &Own) -> bool {
    let (Some(before), Some(middle), Some(after)) = (before, middle, after) else { return false };
    before != after
        && before.intersection(after).all(|taint| middle.contains(taint))
        && middle.iter().all(|taint| before.contains(taint) || after.contains(taint))
}
