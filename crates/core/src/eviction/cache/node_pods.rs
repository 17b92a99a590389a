//! Stores the pods of a node, with an index of the earliest deadlines.
//!
//! - Invariant: the cost per expired deadline does not grow with the number of pods.

use super::PodEntry;
use crate::eviction::EvictionPhase;
use crate::identity::Uid;
use crate::time::Mono;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

/// How many deadlines are kept for a node with this many pods; tests and production run the same code for any number.
fn kept(pods: usize) -> usize {
    (pods / 8).max(1)
}

/// The pods of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct NodePods {
    /// Sorted by UID.
    #[expect(
        clippy::vec_box,
        reason = "inserting moves pointers, not pods, even on a node with 100,000 of them"
    )]
    pods: Vec<Box<PodEntry>>,
    deadlines: NodeDeadlines,
}

impl NodePods {
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &PodEntry> {
        self.pods.iter().map(|pod| &**pod)
    }

    pub(super) fn get(&self, uid: &Uid) -> Option<&PodEntry> {
        self.position(uid).ok().map(|at| &*self.pods[at])
    }

    pub(super) fn insert(&mut self, pod: PodEntry) {
        if let Err(at) = self.position(pod.uid()) {
            self.pods.insert(at, Box::new(pod));
        }
    }

    pub(super) fn remove(&mut self, uid: &Uid) -> Option<Box<PodEntry>> {
        let pod = self.position(uid).ok().map(|at| self.pods.remove(at))?;
        self.deadlines.change(uid, pod.phase(), EvictionPhase::Deleted, self.pods.len());
        Some(pod)
    }

    /// Changes one pod, and its deadline with it.
    pub(super) fn update<R>(&mut self, uid: &Uid, change: impl FnOnce(&mut PodEntry) -> R) -> Option<R> {
        let at = self.position(uid).ok()?;
        let pods = self.pods.len();
        let pod = &mut self.pods[at];
        let before = pod.phase();
        let result = change(pod);
        self.deadlines.change(uid, before, pod.phase(), pods);
        Some(result)
    }

    /// Changes any number of pods, and their deadlines with them.
    pub(super) fn update_all(&mut self, change: impl FnMut(&mut PodEntry)) {
        self.pods.iter_mut().map(|pod| &mut **pod).for_each(change);
        self.deadlines.forget();
    }

    pub(super) fn start_list(&mut self) {
        self.pods.iter_mut().for_each(|pod| pod.start_list());
    }

    /// The earliest deadline of all pods; [`Mono::NEVER`]: there is none.
    pub(super) fn earliest_deadline(&mut self) -> Mono {
        self.deadlines.earliest(&self.pods)
    }

    /// Returns the pods whose deadline has come; `None`: there may be others, scan all.
    pub(super) fn take_due(&mut self, now: Mono) -> Option<Vec<Uid>> {
        self.deadlines.take_due(now)
    }

    fn position(&self, uid: &Uid) -> Result<usize, usize> {
        self.pods.binary_search_by(|pod| pod.uid().cmp(uid))
    }
}

/// An index derived from the pods: it does not take part in equality.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct NodeDeadlines(Option<Box<EarliestDeadlines>>);

#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct EarliestDeadlines {
    /// Sorted; the earliest comes last.
    pods: Vec<(Mono, Uid)>,
    /// Every deadline outside of this index is at this time or later.
    horizon: Mono,
}

impl PartialEq for NodeDeadlines {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for NodeDeadlines {}

impl Hash for NodeDeadlines {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

fn deadline(phase: EvictionPhase) -> Option<Mono> {
    match phase {
        EvictionPhase::CountingDown(at) => Some(at),
        _ => None,
    }
}

impl NodeDeadlines {
    /// Any number of pods were judged again.
    fn forget(&mut self) {
        self.0 = None;
    }

    /// One of `pods` pods was judged again, or is gone.
    fn change(&mut self, uid: &Uid, before: EvictionPhase, after: EvictionPhase, pods: usize) {
        let Some(next) = &mut self.0 else { return };
        if before != after {
            deadline(before).into_iter().for_each(|at| next.remove(at, uid));
            let after = deadline(after).filter(|at| *at < next.horizon);
            after.into_iter().for_each(|at| next.insert(at, uid, kept(pods)));
        }
    }

    /// The earliest deadline among all pods of the node; [`Mono::NEVER`]: there is none.
    fn earliest(&mut self, pods: &[Box<PodEntry>]) -> Mono {
        if let Some((at, _)) = self.0.as_ref().and_then(|next| next.pods.last()) {
            return *at;
        }
        let counting = pods.iter().filter_map(|pod| Some((deadline(pod.phase())?, pod.uid())));
        let next = EarliestDeadlines::of(counting.collect(), kept(pods.len()));
        let earliest = next.pods.last().map_or(Mono::NEVER, |(at, _)| *at);
        self.0 = (earliest != Mono::NEVER).then(|| Box::new(next));
        earliest
    }

    /// Takes out the pods whose deadline has come; `None`: there may be others, scan all.
    fn take_due(&mut self, now: Mono) -> Option<Vec<Uid>> {
        let next = self.0.as_mut().filter(|next| next.horizon > now)?;
        let due = next.pods.iter().rev().take_while(|(at, _)| *at <= now).count();
        let due = next.pods.drain(next.pods.len() - due..).rev();
        Some(due.map(|(_, uid)| uid).collect())
    }
}

impl EarliestDeadlines {
    fn of(mut counting: Vec<(Mono, &Uid)>, most: usize) -> Self {
        let mut horizon = Mono::NEVER;
        if most < counting.len() {
            horizon = counting.select_nth_unstable(most).1.0;
            counting.truncate(most);
        }
        counting.sort_unstable_by(|one, other| other.cmp(one));
        Self { pods: counting.into_iter().map(|(at, uid)| (at, uid.clone())).collect(), horizon }
    }

    fn position(&self, at: Mono, uid: &Uid) -> Result<usize, usize> {
        self.pods.binary_search_by(|(kept, of)| (at, uid).cmp(&(*kept, of)))
    }

    fn remove(&mut self, at: Mono, uid: &Uid) {
        if let Ok(position) = self.position(at, uid) {
            self.pods.remove(position);
        }
    }

    fn insert(&mut self, at: Mono, uid: &Uid, most: usize) {
        if let Err(position) = self.position(at, uid) {
            self.pods.insert(position, (at, uid.clone()));
        }
        if self.pods.len() > 2 * most {
            let latest = self.pods.drain(..self.pods.len() / 2).next_back();
            self.horizon = latest.map_or(self.horizon, |(at, _)| at);
        }
    }
}

#[cfg(test)]
mod tests;
