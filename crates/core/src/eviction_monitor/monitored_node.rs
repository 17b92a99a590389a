//! Keeps what is known of a node's NoExecute taints: which there are, and since when at the earliest.

use crate::fact::NodeFact;
use crate::identity::{ResourceVersion, Uid};
use crate::taint::{Taint, TaintEffect};
use crate::time::{Mono, Now};
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// A taint, and the moment before which it has not begun; `None`: that is unknown.
pub(super) type StartedTaint = (Taint, Option<Mono>);

/// How many reads of a node are kept: a request rests on one of the last.
const READS_MAX: usize = 8;

/// A node.
#[derive(Clone, Debug, Default)]
pub(super) struct MonitoredNode {
    /// `None` before an event has shown it.
    uid: Option<Uid>,
    version: Option<ResourceVersion>,
    observed: NodeTaints,
    is_undecodable: bool,
    is_listed: bool,
    /// The latest live reads. They may show the node with this name that comes after the one that the watch shows.
    reads: VecDeque<NodeRead>,
}

/// A live read of a node.
#[derive(Clone, Debug)]
struct NodeRead {
    sent: Mono,
    uid: Uid,
    taints: NodeTaints,
}

/// The taints of a node at one moment. There are few of them.
type NodeTaints = Vec<StartedTaint>;

impl MonitoredNode {
    pub(super) fn is(&self, uid: &Uid) -> bool {
        self.uid.as_ref() == Some(uid)
    }

    pub(super) const fn is_decodable(&self) -> bool {
        !self.is_undecodable
    }

    pub(super) const fn was_listed(&self) -> bool {
        self.is_listed
    }

    /// The taints that the watch or the latest read has shown.
    pub(super) fn all(&self) -> NodeTaints {
        let read = self.reads.back().into_iter().flat_map(|read| &read.taints);
        self.observed.iter().chain(read).cloned().collect()
    }

    /// The taints that the read showed that was sent then.
    pub(super) fn confirmed(&self, sent: Mono) -> Option<NodeTaints> {
        self.reads.iter().rev().find(|read| read.sent == sent).map(|read| read.taints.clone())
    }

    pub(super) const fn begin_list(&mut self) {
        self.is_listed = false;
    }

    pub(super) fn fail_to_decode(&mut self) {
        self.is_undecodable = true;
        self.is_listed = true;
    }

    /// The watch, or a list, shows this state. `is_first`: the engine knew no more of it before.
    pub(super) fn apply(&mut self, fact: &NodeFact, (listed, is_first): (bool, bool), now: Now) {
        // An event that is older than another one changes nothing.
        if !listed && fact.version.is_some() && fact.version < self.version {
            return;
        }
        // The taints of a node that was not known, or could not be decoded, may be older than this event.
        let is_live = self.is(&fact.uid) && !listed && !self.is_undecodable;
        if !self.is(&fact.uid) {
            self.observed.clear();
            self.uid = Some(fact.uid.clone());
        }
        self.version = fact.version;
        self.observed = self.started(fact, is_live.then_some(now.mono), is_first.then_some(now));
        self.is_undecodable = false;
        self.is_listed = true;
    }

    /// A live read shows this state. `first`: now, if the engine knew no more of the node before.
    pub(super) fn confirm(&mut self, fact: &NodeFact, sent: Mono, first: Option<Now>) {
        if self.reads.len() == READS_MAX {
            self.reads.pop_front();
        }
        let taints = self.started(fact, None, first);
        self.is_undecodable = false;
        self.reads.push_back(NodeRead { sent, uid: fact.uid.clone(), taints });
    }

    /// An event shows that the node with this UID is gone; `None`: any. Returns whether nothing is known any more.
    pub(super) fn delete(&mut self, uid: Option<&Uid>) -> bool {
        let is_gone = |one: &Uid| uid.is_none_or(|uid| uid == one);
        if self.uid.as_ref().is_some_and(is_gone) {
            (self.uid, self.version, self.is_undecodable) = (None, None, false);
            self.observed.clear();
        }
        self.reads.retain(|read| !is_gone(&read.uid));
        self.uid.is_none() && self.reads.is_empty()
    }

    /// The NoExecute taints of this state, each with its start: the known one; that of the latest read, if it has shown the
    /// taint before the watch did; `live`, if the watch shows it now; or else what the taint itself says, to an engine that sees
    /// it for the first time: a taint whose `timeAdded` was changed keeps the start that was known.
    fn started(&self, fact: &NodeFact, live: Option<Mono>, first: Option<Now>) -> NodeTaints {
        let read = self.reads.back().filter(|read| read.uid == fact.uid);
        let observed = self.observed.iter().filter(|_| self.is(&fact.uid));
        let known: Vec<&StartedTaint> =
            observed.chain(read.into_iter().flat_map(|read| &read.taints)).collect();
        let taints = fact.taints.iter().filter(|taint| taint.effect == TaintEffect::NoExecute);
        let start = |taint: &Taint| {
            let same = known.iter().find(|(known, _)| known.is_same(taint));
            same.map_or_else(|| live.or_else(|| added(taint, first?)), |(_, start)| *start)
        };
        taints.map(|taint| (taint.clone(), start(taint))).collect()
    }
}

/// The earliest moment that its `timeAdded` allows; `None` if that is missing or impossible.
fn added(taint: &Taint, now: Now) -> Option<Mono> {
    now.earliest_mono_of(taint.time_added?).filter(|at| *at <= now.mono)
}
