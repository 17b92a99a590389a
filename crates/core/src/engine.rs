//! # Engine: the eviction engine, facts in, effects out
//! Room:     the closed lists of inputs, effects and notices; the state; the contract. Routing only.
//! Comes in: [`Input`] facts in any order, any number of times; results of effects; the time.
//! Goes out: [`Effect`]s when pulled; [`Notice`]s; the next moment at which something changes by itself.
//! Keeps:    level-triggered: the end depends on the facts, not on their order or number.
//! Not here: taking facts in (`ingest.rs`, `pods.rs`), turns and results (`turns.rs`), letting time pass
//!           (`reassess.rs`), who stays or goes (`verdict.rs`).
//!
//! The contract:
//! 1. Feed each input with [`Engine::handle`], at a time that never goes backwards.
//! 2. When [`Engine::wake_at`] has come, call [`Engine::tick`]; extra calls change nothing. Its two parts are there for
//!    those who may not pull retries for a while.
//! 3. While there is capacity and the right to act, pull with [`Engine::next`]. What comes out was decided just now,
//!    from all that was fed; send it at once or not at all. Not pulling is how a follower or an observer waits: nothing
//!    is lost, and all that is due is there at the first pull (P34).
//! 4. Every pulled effect must come back as an input, also if it was never sent ([`Failure::Unavailable`]).
//! 5. Take [`Engine::notices`] whenever convenient.

use crate::effect::Failure;
use crate::fact::{NodeFact, PodFact};
use crate::hold::Holds;
use crate::matching::NumericOperators;
use crate::names::{NodeName, PodName, Uid, Version};
use crate::time::{Mono, Now, Span};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

mod answers;
mod census;
mod check;
mod deadlines;
mod hold;
mod ingest;
mod notice;
mod outage;
mod plan;
mod pods;
mod queue;
mod reassess;
mod roster;
mod turns;
mod unread;

pub use census::{Blocked, Census, Pending};
pub use notice::Notice;
pub(crate) use queue::backoff;
pub use queue::{Grounds, Lane, PodRef};
pub use roster::{Class, Rank};

use census::Counts;
use ingest::Sync;
use queue::Queue;
use roster::{Seat, TolerationLists};
use unread::Unread;

/// Which pods get the `DisruptionTarget` condition before they are deleted (TE-31, NB-3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ConditionPolicy {
    /// All, as upstream.
    #[default]
    Always,
    /// Those owned by a Job, whose failure policy may read it.
    Jobs,
    /// None.
    Never,
}

/// What an engine is told once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Whether `Lt` and `Gt` are compared (MATCH-6).
    pub numeric: NumericOperators,
    /// Who is marked before deletion.
    pub condition: ConditionPolicy,
    /// How old a node's live confirmation may be when a DELETE is decided by it (D5, S2).
    pub confirm_age_max: Span,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            numeric: NumericOperators::Off,
            condition: ConditionPolicy::Always,
            confirm_age_max: Span::from_secs(2),
        }
    }
}

/// What a live read of one object said.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reading<F> {
    /// It is like this.
    Is(F),
    /// There is none of that name (or, a pod: none that is bound to a node).
    Absent,
    /// There is one, and it can't be decoded (D11).
    Unreadable,
}

/// Everything the engine can be told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// A list of nodes begins; of this kind nothing was heard since `silent_since` (`None`: ever).
    NodesBegin {
        /// The last moment at which the nodes were known completely.
        silent_since: Option<Mono>,
    },
    /// A node is like this; `listed`: it was found, not seen changing.
    Node {
        /// The node.
        fact: NodeFact,
        /// Part of a list.
        listed: bool,
    },
    /// A node is gone; `uid` if known, so that the end of an old incarnation does not touch a new one.
    NodeGone {
        /// Its name.
        name: NodeName,
        /// Which incarnation.
        uid: Option<Uid>,
    },
    /// A node exists but can't be decoded: nobody leaves it (D11).
    NodeUnreadable {
        /// Its name.
        name: NodeName,
    },
    /// The list of nodes is complete: what was not in it is gone.
    NodesEnd,
    /// As [`Input::NodesBegin`], for pods.
    PodsBegin {
        /// The last moment at which the pods were known completely.
        silent_since: Option<Mono>,
    },
    /// A pod is like this.
    Pod {
        /// The pod.
        fact: PodFact,
        /// Part of a list.
        listed: bool,
    },
    /// A pod is gone.
    PodGone {
        /// Which one.
        pod: PodRef,
    },
    /// A pod exists but can't be decoded: it stays where it is (D11). The node may not be known.
    PodUnreadable {
        /// Its identity.
        uid: Uid,
        /// Its node, if that much could be read.
        node: Option<NodeName>,
    },
    /// The list of pods is complete.
    PodsEnd,
    /// Whether time is held for the taints that node health puts on (NL-48, D12): everything is down, or nobody is heard
    /// of. What is so already changes nothing. A new process knows of no hold: it is told of one before its first pull.
    Hold(bool),
    /// The answer to [`Effect::Confirm`].
    Confirmed {
        /// The node asked about.
        node: NodeName,
        /// When the read was sent.
        sent: Mono,
        /// What it said.
        result: Result<Reading<NodeFact>, Failure>,
    },
    /// The answer to [`Effect::Mark`]: the pod's new version.
    Marked {
        /// The pod.
        pod: PodRef,
        /// How it went.
        result: Result<Option<Version>, Failure>,
    },
    /// The answer to [`Effect::Delete`].
    Deleted {
        /// The pod.
        pod: PodRef,
        /// How it went.
        result: Result<(), Failure>,
    },
    /// The answer to [`Effect::Look`].
    Looked {
        /// The pod.
        pod: PodRef,
        /// What it said.
        result: Result<Reading<PodFact>, Failure>,
        /// Its deletion has begun and waits for nothing, neither a grace period nor a finalizer: it was cut in two.
        half_deleted: bool,
    },
    /// The answer to [`Effect::Unmark`].
    Unmarked {
        /// The pod.
        pod: PodRef,
        /// How it went.
        result: Result<(), Failure>,
    },
}

/// Everything the engine can ask for. Each effect names the incarnation it was decided for (D4, S1).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Read this node, past all caches (D5).
    Confirm {
        /// The node.
        node: NodeName,
    },
    /// Put the condition `DisruptionTarget` on this pod (TE-31), demanding its UID and, where given, its version: what
    /// the answer's version stands for is then what the pod was judged by (S1).
    Mark {
        /// The pod.
        pod: PodRef,
        /// Its name.
        name: PodName,
        /// The version it was judged by.
        version: Option<Version>,
        /// `metadata.generation`, for `observedGeneration`; 0 if unknown.
        generation: u32,
        /// An earlier request for this pod went unanswered: the server gets as long as there is.
        slow: bool,
    },
    /// Delete this pod (TE-30), demanding its UID and, where given, its version.
    Delete {
        /// The pod.
        pod: PodRef,
        /// Its name.
        name: PodName,
        /// The version it was judged by.
        version: Option<Version>,
        /// When the node's confirming read was sent: the age of the decision (S2).
        confirmed: Mono,
        /// As [`Effect::Mark`] has it.
        slow: bool,
    },
    /// Read this pod, past all caches: a precondition failed or an answer was lost (P31, P45).
    Look {
        /// The pod.
        pod: PodRef,
        /// Its name.
        name: PodName,
    },
    /// Take the condition away again, demanding the UID: the pod is not going (S9).
    Unmark {
        /// The pod.
        pod: PodRef,
        /// Its name.
        name: PodName,
    },
}

/// Everything beside the facts: what is planned, what is to be told, what is counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Book {
    queue: Queue,
    notices: Vec<Notice>,
    pods: usize,
    counts: Counts,
    holds: Holds,
}

/// The eviction engine. Equal when the facts, and what is under way, are equal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Engine {
    config: Config,
    nodes: BTreeMap<NodeName, Seat>,
    lists: TolerationLists,
    /// When each seat with counting pods is to be looked at again.
    wakes: BTreeSet<(Mono, NodeName)>,
    nodes_sync: Sync,
    pods_sync: Sync,
    unread_nodes: Unread<NodeName>,
    unread_pods: Unread<Uid>,
    book: Book,
}

impl Engine {
    /// An engine that knows nothing yet.
    pub fn new(config: Config) -> Self {
        Self { config, ..Self::default() }
    }

    /// What an answer tells of the API server, whomever it is about.
    fn learn(&mut self, input: &Input, now: Mono) {
        let (failure, is_read) = match input {
            Input::Confirmed { result, .. } => (result.as_ref().err(), true),
            Input::Looked { result, .. } => (result.as_ref().err(), true),
            Input::Marked { result, .. } => (result.as_ref().err(), false),
            Input::Deleted { result, .. } | Input::Unmarked { result, .. } => (result.as_ref().err(), false),
            _ => return,
        };
        if self.book.queue.outage.learn(failure.copied(), is_read, now) {
            self.book.queue.hasten_unanswered(now);
        }
    }

    /// Takes one input in.
    pub fn handle(&mut self, input: Input, now: Now) {
        self.learn(&input, now.mono);
        match input {
            Input::NodesBegin { silent_since } => self.nodes_begin(silent_since),
            Input::Node { fact, listed } => self.node(fact, listed, now),
            Input::NodeGone { name, uid } => self.node_gone(&name, uid.as_ref(), now.mono),
            Input::NodeUnreadable { name } => self.node_unreadable(&name, now.mono),
            Input::NodesEnd => self.nodes_end(now.mono),
            Input::PodsBegin { silent_since } => self.pods_begin(silent_since),
            Input::Pod { fact, listed } => self.pod(fact, listed, now),
            Input::PodGone { pod } => self.pod_gone(&pod),
            Input::PodUnreadable { uid, node } => self.pod_unreadable(&uid, node.as_ref(), now.mono),
            Input::PodsEnd => self.pods_end(),
            Input::Hold(on) => self.hold(on, now.mono),
            Input::Confirmed { node, sent, result } => self.confirmed(&node, sent, result, now),
            Input::Marked { pod, result } => self.marked(&pod, result, now.mono),
            Input::Deleted { pod, result } => self.deleted(&pod, result, now.mono),
            Input::Looked { pod, result, half_deleted } => self.looked(&pod, result, half_deleted, now),
            Input::Unmarked { pod, result } => self.unmarked(&pod, result, now.mono),
        }
    }

    /// What there is to tell since the last call.
    pub fn notices(&mut self) -> Vec<Notice> {
        core::mem::take(&mut self.book.notices)
    }

    /// Whether both lists were complete once: before that nobody is evicted (TE-7).
    pub const fn is_synced(&self) -> bool {
        self.nodes_sync.complete_once && self.pods_sync.complete_once
    }
}

#[cfg(test)]
mod tests;
