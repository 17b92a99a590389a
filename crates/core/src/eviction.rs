//! Runs taint eviction: takes facts about nodes and pods as input and returns the requests that evict pods.
//!
//! - Invariant: level-triggered. The end depends on the facts, not on their order or number.
//! - See `eviction/cache.rs` for what follows from facts and the passing of time, `eviction/work_queue.rs` for effects,
//!   `eviction/responses.rs` for their answers, `verdict.rs` for the decision.

use crate::api_error::ApiFailure;
use crate::countdown_hold::HoldHistory;
use crate::engine::{Engine, Lane, LiveRead};
use crate::fact::{NodeFact, PodFact, PodOwnerKind};
use crate::identity::{NodeName, PodName, PodRef, ResourceVersion};
use crate::object_event::{ObjectEvent, ObjectIndex as _};
use crate::time::{Mono, Now, Span};
use crate::toleration_matching::NumericOperators;
use crate::verdict::{TaintInstance, Verdict};
use alloc::vec::Vec;

mod cache;
mod confirmation;
mod notice;
mod order;
mod responses;
mod stats;
mod work_queue;

pub use notice::{EvictionNotice, EvictionReason};
pub use order::{EvictionOrder, PriorityClass};
pub use stats::{EvictionStats, FailingEviction, PendingEviction};

use cache::{Cache, CacheUpdate, CountdownCounts};
use confirmation::NodeConfirmation;
use work_queue::WorkQueue;

/// Which pods get the `DisruptionTarget` condition before they are deleted (TE-31, NB-3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DisruptionConditionPolicy {
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
pub struct EvictionConfig {
    /// Whether `Lt` and `Gt` are compared (MATCH-6).
    pub numeric: NumericOperators,
    /// Who is marked before deletion.
    pub condition: DisruptionConditionPolicy,
    /// How old a node's live confirmation may be when a DELETE is decided by it (D5, S2).
    pub confirm_age_max: Span,
}

impl Default for EvictionConfig {
    fn default() -> Self {
        Self {
            numeric: NumericOperators::Off,
            condition: DisruptionConditionPolicy::Always,
            confirm_age_max: Span::from_secs(2),
        }
    }
}

/// Everything the engine can be told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum EvictionInput {
    /// What the watch of nodes says.
    Nodes(ObjectEvent<NodeFact>),
    /// What the watch of pods says.
    Pods(ObjectEvent<PodFact>),
    /// Whether time is held for the taints that node health puts on (NL-48, D12): everything is down, or nobody is heard
    /// of. What is so already changes nothing. A new process knows of no hold: it is told of one before its first pull.
    CountdownHold(bool),
    /// The answer to [`EvictionEffect::ReadNode`].
    NodeConfirmed {
        /// The node asked about.
        node: NodeName,
        /// When the read was sent.
        sent: Mono,
        /// What it said.
        result: Result<LiveRead<NodeFact>, ApiFailure>,
    },
    /// The answer to [`EvictionEffect::SetDisruptionTarget`]: the pod's new version.
    Marked {
        /// The pod.
        pod: PodRef,
        /// How it went.
        result: Result<Option<ResourceVersion>, ApiFailure>,
    },
    /// The answer to [`EvictionEffect::DeletePod`].
    Deleted {
        /// The pod.
        pod: PodRef,
        /// How it went.
        result: Result<(), ApiFailure>,
    },
    /// The answer to [`EvictionEffect::ReadPod`].
    PodRead {
        /// The pod.
        pod: PodRef,
        /// What it said.
        result: Result<LiveRead<PodFact>, ApiFailure>,
        /// Its deletion has begun and waits for nothing, neither a grace period nor a finalizer: it was cut in two.
        half_deleted: bool,
    },
    /// The answer to [`EvictionEffect::ClearDisruptionTarget`].
    Unmarked {
        /// The pod.
        pod: PodRef,
        /// How it went.
        result: Result<(), ApiFailure>,
    },
}

/// Everything the engine can ask for. Each effect names the incarnation it was decided for (D4, S1).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum EvictionEffect {
    /// Read this node, past all caches (D5).
    ReadNode {
        /// The node.
        node: NodeName,
    },
    /// Put the condition `DisruptionTarget` on this pod (TE-31), demanding its UID and, where given, its version: what
    /// the answer's version stands for is then what the pod was judged by (S1).
    SetDisruptionTarget {
        /// The pod.
        pod: PodRef,
        /// Its name.
        name: PodName,
        /// The version it was judged by.
        version: Option<ResourceVersion>,
        /// `metadata.generation`, for `observedGeneration`; 0 if unknown.
        generation: u32,
        /// An earlier request for this pod went unanswered: the server gets as long as there is.
        slow: bool,
    },
    /// Delete this pod (TE-30), demanding its UID and, where given, its version.
    DeletePod {
        /// The pod.
        pod: PodRef,
        /// Its name.
        name: PodName,
        /// The version it was judged by.
        version: Option<ResourceVersion>,
        /// When the node's confirming read was sent: the age of the decision (S2).
        confirmed: Mono,
        /// As [`EvictionEffect::SetDisruptionTarget`] has it.
        slow: bool,
    },
    /// Read this pod, past all caches: a precondition failed or an answer was lost (P31, P45).
    ReadPod {
        /// The pod.
        pod: PodRef,
        /// Its name.
        name: PodName,
    },
    /// Take the condition away again, demanding the UID: the pod is not going (S9).
    ClearDisruptionTarget {
        /// The pod.
        pod: PodRef,
        /// Its name.
        name: PodName,
    },
}

/// What a pod's turn is decided by.
struct PodTurn<'a> {
    name: &'a PodName,
    generation: u32,
    version: Option<ResourceVersion>,
    is_marked: bool,
    owner: PodOwnerKind,
    verdict: Verdict,
    taints: &'a [TaintInstance],
    holds: &'a HoldHistory,
    node_version: Option<ResourceVersion>,
    confirmation: &'a mut NodeConfirmation,
}

/// What a turn came to.
enum Dispatch {
    /// Send this.
    Send(EvictionEffect),
    /// It waits for something; another pod's turn.
    Waiting,
    /// It stays after all: nothing more to do.
    Finished,
}

/// Everything beside the facts: what is planned, what is to be told, what is counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct EvictionState {
    queue: WorkQueue,
    notices: Vec<EvictionNotice>,
    pods: usize,
    counts: CountdownCounts,
    holds: HoldHistory,
}

/// The eviction engine. Equal when the facts, and what is under way, are equal.
///
/// The contract is that of every [`Engine`]. [`EvictionEngine::deadline_at`] and [`EvictionEngine::retry_at`] are the two
/// parts of its next wakeup, for callers that may not pull retries for a while.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct EvictionEngine {
    config: EvictionConfig,
    cache: Cache,
    state: EvictionState,
}

impl EvictionEngine {
    /// An engine that knows nothing yet.
    pub fn new(config: EvictionConfig) -> Self {
        Self { config, ..Self::default() }
    }

    fn update(&mut self) -> CacheUpdate<'_> {
        CacheUpdate::new(&mut self.cache, &mut self.state, &self.config)
    }

    /// When the next deadline comes: what [`Engine::tick`] then makes due is there for [`Lane::Fresh`], too.
    pub fn deadline_at(&self) -> Option<Mono> {
        let first = self.cache.next_deadline().into_iter();
        first.chain(self.state.queue.next_deadline()).min().filter(|at| *at != Mono::NEVER)
    }

    /// When the next retry may be pulled ([`Lane::All`]). It stays in the past for as long as nobody pulls it: whoever has
    /// no room for retries waits for deadlines only (L6).
    pub fn retry_at(&self) -> Option<Mono> {
        self.state.queue.next_retry().filter(|at| self.is_synced() && *at != Mono::NEVER)
    }

    /// The next effect of a lane, decided at this moment; `None` if there is nothing to do yet.
    fn dequeue_effect(&mut self, lane: Lane, now: Now) -> Option<EvictionEffect> {
        loop {
            let (pod, is_probe) = self.state.queue.dequeue(lane, now.mono)?;
            match self.update().take_turn(&pod, is_probe, now) {
                Some(Dispatch::Send(effect)) => return Some(effect),
                Some(Dispatch::Waiting) => {}
                Some(Dispatch::Finished) | None => self.update().finish_without_eviction(&pod, now.mono),
            }
        }
    }

    /// What an answer tells of the API server, whomever it is about.
    fn learn(&mut self, input: &EvictionInput, now: Mono) {
        let (failure, is_read) = match input {
            EvictionInput::NodeConfirmed { result, .. } => (result.as_ref().err(), true),
            EvictionInput::PodRead { result, .. } => (result.as_ref().err(), true),
            EvictionInput::Marked { result, .. } => (result.as_ref().err(), false),
            EvictionInput::Deleted { result, .. } | EvictionInput::Unmarked { result, .. } => {
                (result.as_ref().err(), false)
            }
            _ => return,
        };
        self.state.queue.observe(failure.copied(), is_read, now);
    }
}

impl Engine for EvictionEngine {
    type Input = EvictionInput;
    type Effect = EvictionEffect;
    type Notice = EvictionNotice;

    fn handle(&mut self, input: EvictionInput, now: Now) {
        self.learn(&input, now.mono);
        match input {
            EvictionInput::Nodes(event) => self.update().apply(event, now),
            EvictionInput::Pods(event) => self.update().apply(event, now),
            EvictionInput::CountdownHold(on) => self.update().hold(on, now.mono),
            EvictionInput::NodeConfirmed { node, sent, result } => {
                self.update().confirm_node(&node, sent, result, now)
            }
            EvictionInput::Marked { pod, result } => self.marked(&pod, result, now.mono),
            EvictionInput::Deleted { pod, result } => self.deleted(&pod, result, now.mono),
            EvictionInput::PodRead { pod, result, half_deleted } => {
                self.pod_read(&pod, result, half_deleted, now)
            }
            EvictionInput::Unmarked { pod, result } => self.unmarked(&pod, result, now.mono),
        }
    }

    fn tick(&mut self, now: Mono) {
        self.update().pass_deadlines(now);
    }

    fn next_effect(&mut self, lane: Lane, now: Now) -> Option<EvictionEffect> {
        if !self.is_synced() {
            return None;
        }
        self.dequeue_effect(lane, now)
    }

    fn next_wakeup(&self) -> Option<Mono> {
        self.deadline_at().into_iter().chain(self.retry_at()).min()
    }

    fn take_notices(&mut self) -> Vec<EvictionNotice> {
        core::mem::take(&mut self.state.notices)
    }

    /// Before both lists were complete once, no pod is evicted (TE-7).
    fn is_synced(&self) -> bool {
        self.cache.is_synced()
    }
}
