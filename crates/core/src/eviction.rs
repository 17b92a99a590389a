//! Runs taint eviction: takes facts about nodes and pods as input and returns the requests that evict pods.
//!
//! - Invariant: level-triggered. The result depends on the facts, not on their order or number.
//! - See `eviction/cache.rs` for what follows from facts and the passing of time, `eviction/work_queue.rs` for effects
//!   and their responses, `verdict.rs` for the decision.

use crate::countdown_hold::HoldHistory;
use crate::engine::{Engine, Lane};
use crate::fact::PodOwnerKind;
use crate::identity::{NodeName, PodName, PodRef, ResourceVersion, Uid};
use crate::object_event::ObjectIndex as _;
use crate::time::{Mono, Now};
use crate::toleration_matching::NumericOperators;
use crate::verdict::{TaintInstance, Verdict};
use alloc::vec::Vec;
use cache::{Cache, CacheUpdate};
use node_confirmation::{NodeConfirmation, ReadTimes};
use policy_gate::EvictionMode;
use work_queue::{InFlightRequest, WorkQueue};

mod cache;
mod config;
mod delay_preview;
mod delay_reason;
mod effect;
mod input;
mod node_confirmation;
mod notice;
mod order;
mod policy_gate;
mod policy_status;
mod prediction;
mod responses;
mod stats;
mod work_queue;

pub use config::{CONFIRM_AGE_LIMIT, DisruptionConditionPolicy, EvictionConfig};
pub use delay_preview::UndelayedEviction;
pub use delay_reason::{BrakedKey, DelayCategory, DelayedEviction, DelayedPods, EvictionDelayReason};
pub use effect::EvictionEffect;
pub use input::EvictionInput;
pub use notice::{CancellationReason, EvictionNotice, EvictionReason, GoverningPolicy, TaintImpact};
pub use order::{EvictionOrder, PriorityClass};
pub use policy_status::{EvictionPolicyStatus, OldestDelay};
pub use prediction::{EvictionPrediction, EvictionScenario, PredictedEviction, ReplacementReadiness};
pub use stats::{EvictionStall, EvictionStats, FailingEviction, PendingEviction, StallReason};

/// The eviction engine. Two engines are equal if their facts and their evictions in progress are equal.
///
/// The contract is that of every [`Engine`]. [`EvictionEngine::deadline_at`] and [`EvictionEngine::retry_at`] are the
/// two parts of its next wakeup, for callers that may not pull retries for a while.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct EvictionEngine {
    config: EvictionConfig,
    cache: Cache,
    state: EvictionState,
}

/// Everything except the facts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct EvictionState {
    queue: WorkQueue,
    notices: Vec<EvictionNotice>,
    pods: usize,
    counts: CountdownCounts,
    holds: HoldHistory,
}

/// The phase of a pod's eviction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum EvictionPhase {
    /// Nothing is planned.
    #[default]
    Idle,
    /// It has a deadline.
    CountingDown(Mono),
    /// It would have a deadline, but its time is on hold (NL-48).
    OnHold(LastNotice),
    /// It must be evicted, and is in the queue under this due date.
    Due(Mono),
    /// Its eviction is in progress (`attempts`).
    InProgress,
    /// Its deletion is accepted; the watch has not delivered it yet. A newer version of the living pod ends this phase.
    Deleted,
}

/// The last notice about a pod's eviction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum LastNotice {
    /// None, or that it stays.
    None,
    /// That it has a deadline.
    Countdown,
    /// That it is due.
    Due,
}

/// The number of pods in phases that metrics read often. A phase is changed only together with these counts
/// (`PodEntry::set_phase`), so that they are always right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct CountdownCounts {
    /// Pods with a deadline.
    counting: usize,
    /// Pods whose time is on hold.
    held: usize,
}

impl CountdownCounts {
    fn change(&mut self, from: EvictionPhase, to: EvictionPhase) {
        let counting = |phase| usize::from(matches!(phase, EvictionPhase::CountingDown(_)));
        let held = |phase| usize::from(matches!(phase, EvictionPhase::OnHold(_)));
        self.counting = self.counting + counting(to) - counting(from);
        self.held = self.held + held(to) - held(from);
    }
}

/// The facts that decide a pod's turn.
struct PodTurn<'a> {
    name: &'a PodName,
    generation: u32,
    version: Option<ResourceVersion>,
    is_marked: bool,
    owner: PodOwnerKind,
    verdict: Verdict,
    taints: &'a [TaintInstance],
    holds: &'a HoldHistory,
    mode: EvictionMode,
    node_version: Option<ResourceVersion>,
    confirmation: &'a mut NodeConfirmation,
}

/// The result of a turn.
enum Dispatch {
    /// Send this.
    Send(EvictionEffect),
    /// The pod waits; the next pod has its turn.
    Waiting,
    /// The pod stays after all: nothing more to do.
    Finished,
}

impl EvictionEngine {
    /// Returns an engine without any facts.
    pub fn new(config: EvictionConfig) -> Self {
        let mut engine = Self { config, ..Self::default() };
        engine.state.queue.gate_mut().set_brake(engine.config.brake);
        engine
    }

    fn update(&mut self) -> CacheUpdate<'_> {
        CacheUpdate::new(&mut self.cache, &mut self.state, &self.config)
    }

    /// When the next deadline comes: what [`Engine::tick`] then makes due is also in [`Lane::Fresh`].
    pub fn deadline_at(&self) -> Option<Mono> {
        let first = self.cache.next_deadline().into_iter();
        first.chain(self.state.queue.next_deadline()).min().filter(|at| *at != Mono::NEVER)
    }

    /// When the next retry may be pulled ([`Lane::All`]). It stays in the past until the retry is pulled: a caller that
    /// has no capacity for retries waits for deadlines only (L6).
    pub fn retry_at(&self) -> Option<Mono> {
        self.state.queue.next_retry().filter(|at| self.is_synced() && *at != Mono::NEVER)
    }

    /// Returns the next effect of a lane, decided at this moment; `None` if there is nothing to do yet.
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

    /// Records what a response shows about the API server, whichever object it is about.
    fn learn(&mut self, input: &EvictionInput, now: Mono) {
        let queue = &mut self.state.queue;
        let (pod, request, failure) = match input {
            EvictionInput::NodeConfirmed { node, sent, result } => {
                let is_late = now > self.config.confirmed_until(*sent, now);
                return queue.node_read(node, result.as_ref().err().copied(), is_late, now);
            }
            EvictionInput::PodRead { pod, result, .. } => {
                (pod, InFlightRequest::ReadPod, result.as_ref().err())
            }
            EvictionInput::Marked { pod, result } => (pod, InFlightRequest::Mark, result.as_ref().err()),
            EvictionInput::Deleted { pod, result } => (pod, InFlightRequest::Delete, result.as_ref().err()),
            EvictionInput::Unmarked { pod, result } => {
                (pod, InFlightRequest::ClearMark, result.as_ref().err())
            }
            EvictionInput::Evicted { pod, result } => (pod, InFlightRequest::Evict, result.as_ref().err()),
            EvictionInput::Nodes(_)
            | EvictionInput::Pods(_)
            | EvictionInput::CountdownHold(_)
            | EvictionInput::Policies(_)
            | EvictionInput::PolicyDefinitionAbsent(_)
            | EvictionInput::Budgets(_)
            | EvictionInput::Workloads(..)
            | EvictionInput::Namespaces(_) => return,
        };
        queue.request_ended(pod, request, failure.copied(), now);
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
            EvictionInput::Policies(_)
            | EvictionInput::PolicyDefinitionAbsent(_)
            | EvictionInput::Budgets(_)
            | EvictionInput::Workloads(..)
            | EvictionInput::Namespaces(_) => self.update().on_policy_input(input, now),
            EvictionInput::Marked { .. }
            | EvictionInput::Deleted { .. }
            | EvictionInput::Evicted { .. }
            | EvictionInput::PodRead { .. }
            | EvictionInput::Unmarked { .. } => self.on_response(input, now),
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
        self.state.notices.extend(self.state.queue.gate_mut().take_brake_notices());
        core::mem::take(&mut self.state.notices)
    }

    /// Before both lists were complete once, no pod is evicted (TE-7).
    fn is_synced(&self) -> bool {
        self.cache.is_synced() && (!self.config.policies || self.state.queue.gate().objects().is_synced())
    }
}

/// Queries of metrics and users.
impl EvictionEngine {
    /// Returns the counts.
    pub fn stats(&self) -> EvictionStats {
        let (nodes, tainted_nodes, ready_out_of_service_nodes) = self.cache.node_counts();
        let EvictionState { queue, pods, counts, .. } = &self.state;
        queue.stats(EvictionStats {
            nodes,
            tainted_nodes,
            ready_out_of_service_nodes,
            pods: *pods,
            counting: counts.counting,
            held: counts.held,
            ..EvictionStats::default()
        })
    }

    /// Whether it applies eviction policies.
    pub const fn applies_policies(&self) -> bool {
        self.config.policies
    }

    /// Whether it compares numbers.
    pub const fn numeric(&self) -> NumericOperators {
        self.config.numeric
    }

    /// Whether a pull of this lane could find something now.
    pub fn has_work(&self, lane: Lane, now: Mono) -> bool {
        self.is_synced() && self.state.queue.has_work(lane, now)
    }

    /// Returns the name and the full verdict of a pod, with the taints it was judged by.
    pub fn explain(&self, pod: &PodRef, now: Now) -> Option<(&PodName, Verdict, &[TaintInstance])> {
        self.cache.explain(pod, &self.state.holds, self.config.numeric, now)
    }

    /// Since when countdowns are on hold, if they are (NL-48).
    pub const fn held_since(&self) -> Option<Mono> {
        self.state.holds.since()
    }

    /// Returns all pods with a deadline, in no particular order.
    pub fn pending(&self) -> impl Iterator<Item = PendingEviction<'_>> {
        self.cache.pending()
    }

    /// Returns all pods that are bound to a node, in any phase.
    pub fn pods_on(&self, node: &NodeName) -> impl Iterator<Item = PodRef> {
        self.cache.pods_on(node)
    }

    /// Returns all pods that are bound to a node, with their names.
    pub fn pods(&self) -> impl Iterator<Item = (PodRef, &PodName)> {
        self.cache.named_pods()
    }

    /// Returns the NoExecute taints of a node, in its order; none if it does not exist.
    pub fn node_taints(&self, node: &NodeName) -> &[TaintInstance] {
        self.cache.node_taints(node)
    }

    /// Returns the UID of a node, if it exists.
    pub fn node_uid(&self, node: &NodeName) -> Option<&Uid> {
        self.cache.node_uid(node)
    }

    /// Returns all unfinished evictions that failed at least once.
    pub fn failing_evictions(&self) -> impl Iterator<Item = FailingEviction<'_>> {
        self.state.queue.failing()
    }
}
