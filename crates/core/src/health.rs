//! # Health: the node health engine, facts in, effects out
//! Room:     the closed lists of inputs, effects and notices; the state; the contract. Routing only.
//! Comes in: [`Input`] facts in any order, any number of times; gaps in our own observation; results; the time.
//! Goes out: [`Effect`]s when pulled; [`Notice`]s; the next moment at which something changes by itself.
//! Keeps:    level-triggered; our own eyes are believed last (S7); only own taints are touched (S8).
//! Not here: who is evicted because of a taint (`engine.rs`); carrying effects out.
//!
//! The contract is the eviction engine's:
//! 1. Feed each input with [`Engine::handle`], at a time that never goes backwards and goes on while the machine sleeps.
//! 2. When [`Engine::wake_at`] has come, call [`Engine::tick`]. That is at least once every `--node-monitor-period`: two
//!    calls too far apart mean that the process stood still, and everybody gets a whole grace period anew.
//! 3. With the right to act, pull with [`Engine::next`]; what comes out was decided just now. Not pulling is how a
//!    follower waits; an observer calls [`Engine::observe`] instead. Whoever gains that right feeds [`Input::Leading`] first.
//! 4. Every pulled effect must come back as an input, also if it was never sent ([`Failure::Unavailable`]).
//! 5. Feed [`Input::Witness`] for each of our own requests that succeeds, at least once every [`Config::gap_max`]: without
//!    it nobody is declared dead.
//! 6. Take [`Engine::notices`] whenever convenient.

use crate::effect::Failure;
use crate::engine::{PodRef, Reading};
use crate::names::{NodeName, PodName, Uid, Version};
use crate::time::{Mono, Now, Wall};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

mod answers;
mod bucket;
mod census;
mod desire;
mod fact;
mod flags;
mod foresee;
mod ingest;
mod modes;
mod notice;
mod observe;
mod observer;
mod own;
mod pods;
mod roster;
mod turns;
mod weigh;
pub mod words;
mod zone;

pub use bucket::Rate;
pub use census::{Census, Explanation, Held, ZoneReport};
pub use desire::{Expiry, Plan, Situation, expired, plan};
pub use fact::{Condition, ConditionKind, Conditions, LeaseFact, NodeFact, Platform, PodFact, Status};
pub use flags::{Config, FlagError, Flags, Share};
pub use foresee::{Foreseen, Neighbour, foresee};
pub use notice::Notice;
pub use observe::{Doubt, Stream};
pub use own::{OwnTaint, OwnTaints};
pub use roster::NodeRef;
pub use zone::{ZoneKey, ZoneLabels, ZoneState};

use observe::Observation;
use pods::Marks;
use roster::{Seat, Urgency};
use zone::Zone;

/// Everything the engine can be told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// A list begins; nothing was heard of its kind since `silent_since` (`None`: ever). If the watch goes on beside it,
    /// what that tells is not `listed`.
    ListBegin {
        /// Of what.
        stream: Stream,
        /// The last moment at which the kind was known completely.
        silent_since: Option<Mono>,
    },
    /// The list is complete: what was not in it, and was not told of meanwhile, is gone.
    ListEnd {
        /// Of what.
        stream: Stream,
    },
    /// The list will not be completed, and sweeps nothing: the watch goes on where it stood, and its word counts again
    /// (L4). What could not be heard meanwhile is a gap if it took long.
    ListAborted {
        /// Of what.
        stream: Stream,
    },
    /// Nothing reliable is heard of this kind since a moment: the stream broke, stalls, or is throttled.
    Lost {
        /// Of what.
        stream: Stream,
        /// The last sign of life.
        since: Mono,
    },
    /// It is heard of again, from where it broke off; a list that ends says the same.
    Found {
        /// Of what.
        stream: Stream,
    },
    /// This process stood still since a moment, and knows it.
    Paused {
        /// When it stopped.
        since: Mono,
    },
    /// The API server has done what we asked: our own lease was renewed, say (S7).
    Witness {
        /// When the request was sent.
        sent: Mono,
    },
    /// We have just gained the right to act: whoever had it before may have used up the rate (S6).
    Leading,
    /// A node is like this; `listed`: it was found, not seen changing.
    Node {
        /// The node.
        fact: NodeFact,
        /// Part of a list.
        listed: bool,
    },
    /// A node is gone; `uid` if known.
    NodeGone {
        /// Its name.
        name: NodeName,
        /// Which incarnation.
        uid: Option<Uid>,
    },
    /// A node exists but can't be decoded: its taints stay as they are (D11).
    NodeUnreadable {
        /// Its name.
        name: NodeName,
    },
    /// A lease is like this.
    Lease {
        /// The lease.
        fact: LeaseFact,
        /// Part of a list.
        listed: bool,
    },
    /// A lease is gone.
    LeaseGone {
        /// The node it was for.
        node: NodeName,
    },
    /// A lease exists but can't be decoded: its node is not called silent (D11).
    LeaseUnreadable {
        /// The node it is for.
        node: NodeName,
    },
    /// A bound pod is like this.
    Pod {
        /// The pod.
        fact: PodFact,
    },
    /// A pod is gone.
    PodGone {
        /// Which one.
        pod: PodRef,
    },
    /// The answer to [`Effect::Confirm`].
    Confirmed {
        /// The node asked about.
        node: NodeName,
        /// When the reads were sent; the earlier of both.
        sent: Mono,
        /// What they said.
        result: Result<Confirmation, Failure>,
    },
    /// The answer to [`Effect::Taint`], [`Effect::Declare`] and [`Effect::Label`]: the node's new version.
    Written {
        /// The node.
        node: NodeName,
        /// How it went.
        result: Result<Option<Version>, Failure>,
    },
    /// The answer to [`Effect::MarkPod`].
    PodMarked {
        /// The pod.
        pod: PodRef,
        /// How it went; `Ok(false)`: there was nothing to change.
        result: Result<bool, Failure>,
    },
}

/// What live reads of a node and of its lease said.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Confirmation {
    /// The node.
    pub node: Reading<NodeFact>,
    /// Its lease.
    pub lease: Reading<LeaseFact>,
}

/// Why taints are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    /// Conditions or `spec.unschedulable` call for it (NL-5).
    Conditions,
    /// The node is ready (NL-15).
    Recovered,
    /// One NoExecute taint takes the other's place (NL-16).
    Swap,
    /// Everything is down (NL-27).
    EverythingDown,
    /// The node says itself that it is not ready (NL-16).
    NotReady,
    /// The node has been silent for longer than its grace period (NL-16).
    Silent {
        /// Since when it may be called so.
        since: Mono,
    },
}

/// Everything the engine can ask for. A write demands the UID and, where given, the version it was decided by; what
/// does not hold any more is a [`Failure::Conflict`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Read this node and its lease, past all caches (S7, P16).
    Confirm {
        /// The node.
        node: NodeName,
    },
    /// Put these taints on and take those off, in one write (NL-45), leaving all others as they are (S8).
    Taint {
        /// The node.
        node: NodeRef,
        /// The version it was decided by.
        version: Option<Version>,
        /// Put on, with this moment as `timeAdded` (NL-20) and no value.
        add: OwnTaints,
        /// Taken off, whatever the value.
        remove: OwnTaints,
        /// The moment of the decision.
        at: Wall,
        /// The reason.
        why: Why,
    },
    /// Set these conditions to Unknown, in `status` (NL-12); `lastTransitionTime` is `at`.
    Declare {
        /// The node.
        node: NodeRef,
        /// The version it was decided by.
        version: Option<Version>,
        /// Which, and how.
        conditions: Vec<(ConditionKind, Expiry)>,
        /// The moment of the decision.
        at: Wall,
    },
    /// Write these values into the labels of old (NL-8).
    Label {
        /// The node.
        node: NodeRef,
        /// The version it was decided by.
        version: Option<Version>,
        /// `beta.kubernetes.io/os`.
        os: Option<Box<str>>,
        /// `beta.kubernetes.io/arch`.
        arch: Option<Box<str>>,
    },
    /// Set the condition `Ready` of this pod to False if it has one, keeping reason and message (NL-17), demanding its UID.
    MarkPod {
        /// The pod.
        pod: PodRef,
        /// Its name.
        name: PodName,
    },
}

/// The node health engine. Equal when the facts, and what is under way, are equal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Engine {
    config: Config,
    eyes: Observation,
    /// Boxed: a tree keeps room for nearly as many again as it holds.
    seats: BTreeMap<NodeName, Box<Seat>>,
    zones: BTreeMap<ZoneKey, Zone>,
    modes: modes::Modes,
    /// When each node may be called silent.
    wakes: BTreeSet<(Mono, NodeName)>,
    todo: BTreeSet<(Urgency, NodeName)>,
    /// Silent nodes whose conditions do not say so yet, by since when.
    declare: BTreeSet<(Mono, NodeName)>,
    /// Nodes that wait for another try.
    later: BTreeSet<(Mono, NodeName)>,
    /// Zones in which a node waits for a NoExecute taint.
    waiting: BTreeSet<ZoneKey>,
    marks: Marks,
    /// When the engine next wants to be called at the latest.
    period_at: Option<Mono>,
    notices: Vec<Notice>,
}

impl Engine {
    /// An engine that knows nothing yet.
    pub fn new(config: Config) -> Self {
        Self { config, ..Self::default() }
    }

    /// Takes one input in.
    pub fn handle(&mut self, input: Input, now: Now) {
        self.enter(now.mono);
        match input {
            Input::ListBegin { stream, silent_since } => self.list_begin(stream, silent_since),
            Input::ListEnd { stream } => self.list_end(stream, now.mono),
            Input::ListAborted { stream } => self.list_aborted(stream, now.mono),
            Input::Lost { stream, since } => self.eyes.lose(stream, since),
            Input::Found { stream } => self.found(stream, now.mono),
            Input::Paused { since } => self.paused(since, now.mono),
            Input::Witness { sent } => self.witness(sent, now.mono),
            Input::Leading => self.leading(now.mono),
            Input::Node { fact, listed } => {
                self.told(Stream::Nodes, listed, now.mono);
                self.node(fact, listed, now);
            }
            Input::NodeGone { name, uid } => self.node_gone(&name, uid.as_ref(), now.mono),
            Input::NodeUnreadable { name } => self.node_unreadable(&name, now.mono),
            Input::Lease { fact, listed } => {
                self.told(Stream::Leases, listed, now.mono);
                self.lease(&fact, listed, now.mono);
            }
            Input::LeaseGone { node } => self.lease_gone(&node, now.mono),
            Input::LeaseUnreadable { node } => self.lease_unreadable(&node, now.mono),
            Input::Pod { fact } => self.pod(fact),
            Input::PodGone { pod } => self.pod_gone(&pod),
            Input::Confirmed { node, sent, result } => self.confirmed(&node, sent, result, now),
            Input::Written { node, result } => self.written(&node, result, now.mono),
            Input::PodMarked { pod, result } => self.pod_marked(&pod, result, now.mono),
        }
    }

    /// Lets time pass: nodes fall silent, waits end, modes change.
    pub fn tick(&mut self, now: Mono) {
        self.enter(now);
        self.period_at = Some(now.plus(self.config.monitor_period));
        self.wake(now);
        self.survey(now);
    }

    /// When [`Engine::tick`] or [`Engine::next`] will have something to do that they have not now.
    pub fn wake_at(&self) -> Option<Mono> {
        let fixed = [self.period_at, self.survey_at(), self.hush_at(), self.marks.wake_at(), self.token_at()];
        let queued = [&self.wakes, &self.later].map(|queue| queue.first().map(|(at, _)| *at));
        fixed.into_iter().chain(queued).flatten().min().filter(|at| *at != Mono::NEVER)
    }

    /// What there is to tell since the last call.
    pub fn notices(&mut self) -> Vec<Notice> {
        core::mem::take(&mut self.notices)
    }

    /// Whether nodes and leases were listed completely once: before that nothing is done.
    pub const fn is_synced(&self) -> bool {
        self.eyes.is_synced()
    }
}

#[cfg(test)]
mod tests;
