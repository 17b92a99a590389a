//! Runs taint eviction: takes facts about nodes and pods as input and returns the requests that evict pods.
//!
//! - Invariant: level-triggered. The end depends on the facts, not on their order or number.
//! - See `eviction/cache.rs` for what follows from facts and the passing of time, `eviction/work_queue.rs` for effects
//!   and their answers, `verdict.rs` for the decision.

use crate::api_error::ApiFailure;
use crate::engine::{Engine, Lane, LiveRead};
use crate::fact::PodFact;
use crate::identity::{PodName, PodRef, ResourceVersion};
use crate::object_event::ObjectIndex;
use crate::time::{Mono, Now};
use crate::verdict::{TaintInstance, Verdict};
use alloc::vec::Vec;
use cache::{Cache, CacheUpdate};
use pod_turn::Dispatch;
use state::EvictionState;

mod cache;
mod config;
mod confirmation;
mod effect;
mod input;
mod notice;
mod order;
mod phase;
mod pod_turn;
mod state;
mod stats;
mod work_queue;

pub use config::{DisruptionConditionPolicy, EvictionConfig};
pub use effect::EvictionEffect;
pub use input::EvictionInput;
pub use notice::{EvictionNotice, EvictionReason};
pub use order::{EvictionOrder, PriorityClass};
pub use stats::{EvictionStats, FailingEviction, PendingEviction};

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

/// What answers to requests about pods come to.
impl EvictionEngine {
    fn marked(&mut self, pod: &PodRef, result: Result<Option<ResourceVersion>, ApiFailure>, now: Mono) {
        if !self.state.queue.answer(pod).marked(result.is_ok(), now) {
            return;
        }
        match result {
            Ok(version) => {
                if self.update().set_marked(pod, true, version) {
                    self.state.queue.answer(pod).requeue();
                }
            }
            Err(failure) => self.failed(pod, failure, now),
        }
    }

    fn deleted(&mut self, pod: &PodRef, result: Result<(), ApiFailure>, now: Mono) {
        let refused = matches!(result, Err(ApiFailure::NotFound | ApiFailure::Conflict));
        if refused && self.state.queue.answer(pod).came_late() {
            self.state.notices.push(EvictionNotice::EvictedByOther { pod: pod.clone() });
        }
        if !self.state.queue.answer(pod).deleted(result) {
            return;
        }
        match result {
            Ok(()) => self.evicted(pod),
            Err(failure) => self.failed(pod, failure, now),
        }
    }

    /// The API server has accepted the deletion; whether the watch has said so already does not matter.
    fn evicted(&mut self, pod: &PodRef) {
        let completed = self.state.queue.answer(pod).complete();
        let (reason, any_version) = completed.unwrap_or_default();
        self.update().accept_deletion(pod, any_version);
        if let Some(reason) = reason {
            self.state.notices.push(EvictionNotice::Evicted { pod: pod.clone(), reason });
        }
    }

    fn pod_read(
        &mut self,
        pod: &PodRef,
        result: Result<LiveRead<PodFact>, ApiFailure>,
        half_deleted: bool,
        now: Now,
    ) {
        let answer = self.state.queue.answer(pod);
        let Some((asked, known, any_version)) = answer.read(half_deleted, now.mono) else { return };
        match result {
            Ok(LiveRead::Found(fact)) if *fact.id.uid() == pod.uid => {
                let late = now.mono > asked.plus(self.config.confirm_age_max);
                let counts = any_version || fact.version.is_none();
                // As with nodes: older than what was known means that the store was put back.
                let rewound = fact.version.is_some() && fact.version < known;
                let is_as_known = self.cache.version(pod) == known;
                if rewound {
                    self.state.notices.push(EvictionNotice::ResourceVersionWentBack);
                }
                self.update().applied(fact, rewound && is_as_known, now);
                match (rewound && !is_as_known, late && counts) {
                    (true, _) => self.failed(pod, ApiFailure::Conflict, now.mono),
                    (_, true) => self.failed(pod, ApiFailure::Unavailable, now.mono),
                    _ => self.state.queue.answer(pod).requeue(),
                }
            }
            Ok(LiveRead::Found(successor)) => {
                self.delete_pod(pod, now);
                self.update().applied(successor, false, now);
            }
            Ok(LiveRead::NotFound) | Err(ApiFailure::NotFound) => self.delete_pod(pod, now),
            Ok(LiveRead::Undecodable) => {
                ObjectIndex::<PodFact>::undecodable(&mut self.update(), pod.clone().into(), now);
                self.state.queue.answer(pod).requeue();
            }
            Err(failure) => self.failed(pod, failure, now.mono),
        }
    }

    fn unmarked(&mut self, pod: &PodRef, result: Result<(), ApiFailure>, now: Mono) {
        let Some(resume_at) = self.state.queue.answer(pod).unmarked(result.is_ok()) else { return };
        if let Err(failure) = result {
            self.failed(pod, failure, now);
            return match resume_at {
                Some(resume_at) => self.state.queue.answer(pod).resume_at(resume_at),
                // Its deadline may come before the next try.
                None => self.update().reassess_pod(pod, None, now),
            };
        }
        self.update().set_marked(pod, false, None);
        match resume_at {
            Some(resume_at) => self.state.queue.answer(pod).resume_at(resume_at),
            None => self.update().finish_without_eviction(pod, now),
        }
    }

    fn delete_pod(&mut self, pod: &PodRef, now: Now) {
        ObjectIndex::<PodFact>::deleted(&mut self.update(), pod.clone().into(), now);
    }

    fn failed(&mut self, pod: &PodRef, failure: ApiFailure, now: Mono) {
        let any_version = self.state.queue.answer(pod).failed(failure, now);
        if any_version {
            self.update().unconfirm(&pod.node);
        }
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

/// What metrics and people ask for.
impl EvictionEngine {
    /// Counts.
    pub fn stats(&self) -> EvictionStats {
        let (nodes, tainted_nodes) = self.cache.node_counts();
        let EvictionState { queue, pods, counts, .. } = &self.state;
        let (counting, held) = (counts.counting(), counts.held());
        queue.stats(EvictionStats {
            nodes,
            tainted_nodes,
            pods: *pods,
            counting,
            held,
            ..EvictionStats::default()
        })
    }

    /// Whether a pull of this lane could find something now.
    pub fn has_work(&self, lane: Lane, now: Mono) -> bool {
        self.is_synced() && self.state.queue.has_work(lane, now)
    }

    /// The name and the full verdict of a pod, with the taints it was judged by.
    pub fn explain(&self, pod: &PodRef, now: Now) -> Option<(&PodName, Verdict, &[TaintInstance])> {
        self.cache.explain(pod, &self.state.holds, self.config.numeric, now)
    }

    /// Since when countdowns are held, if they are (NL-48).
    pub const fn held_since(&self) -> Option<Mono> {
        self.state.holds.since()
    }

    /// All pods with a deadline, in no particular order of time.
    pub fn pending(&self) -> impl Iterator<Item = PendingEviction<'_>> {
        self.cache.pending()
    }

    /// All pods that have a deadline, a turn or an attempt, in no particular order. Whether one goes, and when, its verdict
    /// tells ([`EvictionEngine::explain`]): a pod whose mark is to be withdrawn (S9) may count down all the same, and one whose
    /// mark nobody withdraws in time goes.
    pub fn pods_with_eviction_state(&self) -> impl Iterator<Item = PodRef> {
        self.cache.pods_with_eviction_state()
    }

    /// All evictions that failed at least once and are not over.
    pub fn failing_evictions(&self) -> impl Iterator<Item = FailingEviction<'_>> {
        self.state.queue.failing()
    }
}
