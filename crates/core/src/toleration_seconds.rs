//! Runs holds, backfill and the guard while kube-controller-manager's own taint eviction stays enabled: takes facts
//! about nodes and pods, namespaces and policies as input and returns the patches of tolerations' seconds.
//!
//! - Invariant: level-triggered. Which pods are held, since when, and their own seconds are stored in the pods; a
//!   restart or another leader finds all of it again.
//! - See `toleration_hold.rs`, `toleration_backfill.rs` and `toleration_guard.rs` for the decision about one pod,
//!   `toleration_seconds/hold_limit.rs` for which nodes are held, `toleration_seconds/desired_seconds.rs` for pending
//!   pods.

mod desired_seconds;
mod effect_queue;
mod held_pod_entry;
mod hold_limit;
mod object_cache;
mod objects;
mod patch;
mod responses;
mod seconds_objects;
mod unrecorded_pods;

pub use hold_limit::{HoldLimit, LimitChange, LimitExceeded, LimitScope};
pub use object_cache::TolerationSecondsStats;
pub use objects::{HeldPodFact, HoldNodeFact, NodeHoldRequest, RecordAnnotations, RecordState};
pub use patch::{
    PatchPurpose, PatchedRecord, SecondsPatch, SecondsWrite, TolerationSecondsEffect, TolerationSecondsInput,
    TolerationSecondsNotice,
};
pub use seconds_objects::{
    BackfillPolicyFact, BackfillProgress, BackfillSettings, GuardSettings, HoldSettings, PolicyStatusWrite,
    SecondsNamespaceFact,
};

use crate::engine::{Engine, Lane};
use crate::identity::NodeName;
use crate::object_event::ObjectIndex as _;
use crate::time::{Mono, Now, Wall};
use crate::toleration_guard::GuardWrite;
use crate::toleration_hold::{
    HoldIntent, HoldOrder, HoldOrigin, HoldStep, HoldWrite, ReleaseMode, next_step,
};
use alloc::boxed::Box;
use alloc::vec::Vec;
use desired_seconds::DesiredSeconds;
use effect_queue::PodPatchQueue;
use held_pod_entry::HeldPodEntry;
use hold_limit::LimitPlan;
use object_cache::{HoldNodeEntry, SecondsCache};
use objects::HeldPodKey;
use unrecorded_pods::UnrecordedPods;

/// Maximum number of concurrent pod patches.
const PATCHES_AT_ONCE: usize = 64;

/// What a pod needs.
enum PodCheck {
    /// This patch, now.
    Patch(Box<SecondsPatch>),
    /// This patch, at the rate of backfill and the guard.
    PatchPaced(Box<SecondsPatch>),
    /// Nothing before this moment, unless a fact changes; `None`: not by the passing of time alone.
    Wait(Option<Wall>),
}

/// The engine.
///
/// The contract is that of every [`Engine`]; every pulled effect comes back, as [`TolerationSecondsEffect`] says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TolerationSecondsEngine {
    /// `None`: no pod is held, and none is released.
    hold: Option<HoldSettings>,
    /// Backfill and the guard; `None`: neither runs.
    desired: Option<DesiredSeconds>,
    cache: SecondsCache,
    plan: LimitPlan,
    queue: PodPatchQueue,
    unrecorded: UnrecordedPods,
    has_begun: bool,
    ticked: Option<Mono>,
    notices: Vec<TolerationSecondsNotice>,
}

impl TolerationSecondsEngine {
    /// Returns an engine without any facts, which does what it has settings for.
    pub fn new(
        hold: Option<HoldSettings>,
        backfill: Option<BackfillSettings>,
        guard: Option<GuardSettings>,
    ) -> Self {
        let desired = DesiredSeconds::new(backfill, guard);
        let per_second = desired.as_ref().and_then(DesiredSeconds::per_second);
        let queue = PodPatchQueue::new(per_second.unwrap_or_default());
        Self { hold, desired, queue, ..Self::default() }
    }

    /// Whether it holds pods, and releases them.
    pub(crate) const fn holds_pods(&self) -> bool {
        self.hold.is_some()
    }

    /// Whether it has got no input yet.
    pub(crate) fn is_new(&self) -> bool {
        !self.cache.is_synced() && self.cache.counts() == (0, 0)
    }

    /// Returns the counts.
    pub fn stats(&self) -> TolerationSecondsStats {
        let (backfill_pending, guard_pending) = self.queue.paced();
        let unrecorded = self.unrecorded.count(&self.cache, self.desired.as_ref());
        let waiting = self.queue.waiting();
        TolerationSecondsStats { backfill_pending, guard_pending, unrecorded, ..self.cache.stats(waiting) }
    }

    /// The zones, or the cluster, in which more nodes are silent than the limit allows.
    pub fn limits_exceeded(&self) -> impl Iterator<Item = &LimitExceeded> {
        self.plan.exceeded()
    }

    /// Returns the desired state of a node's pods: an administrator's request takes precedence over the limit.
    fn intent(&self, node: &HoldNodeEntry, now: Wall) -> HoldIntent {
        let limit = self.plan.order(node);
        // A taint's time may be ahead: the clock of kube-controller-manager set it.
        let limit = limit.map(|order| HoldOrder { since: order.since.min(now), ..order });
        let by_person = |since, until| HoldOrder { origin: HoldOrigin::Person, since, until };
        match node.request() {
            NodeHoldRequest::Hold { since, until } if by_person(since, until).applies_at(now) => {
                HoldIntent::Hold(by_person(since, until))
            }
            NodeHoldRequest::Release { at, mode } if node.silent_since().is_none_or(|since| since <= at) => {
                HoldIntent::Release(mode)
            }
            _ => limit.map_or(HoldIntent::Release(ReleaseMode::Remainder), HoldIntent::Hold),
        }
    }

    /// Returns the write that is due for a pod, or when to check again.
    fn step(&self, node: &HoldNodeEntry, pod: &HeldPodEntry, now: Wall) -> HoldStep {
        if *pod.record() == RecordState::Undecodable {
            return HoldStep::Wait(None);
        }
        let record = pod.known_record();
        let step = next_step(
            &pod.own_tolerations(),
            record,
            pod.counts_since(node.silent_since()),
            self.intent(node, now),
            now,
        );
        match step {
            HoldStep::Wait(_) if record.is_some() && pod.has_lost_its_record() => {
                HoldStep::Write(HoldWrite { seconds: Vec::new(), record: record.cloned() })
            }
            // A person's order may begin later.
            HoldStep::Wait(at) => {
                HoldStep::Wait(at.into_iter().chain(node.request().begins_after(now)).min())
            }
            step @ HoldStep::Write(_) => step,
        }
    }

    /// Returns what a pod needs now.
    fn check(&self, key: &HeldPodKey, now: Now) -> PodCheck {
        let Some(node) = self.cache.node(&key.node).filter(|node| node.is_known()) else {
            return PodCheck::Wait(None);
        };
        let Some(pod) = node.pod(&key.uid) else { return PodCheck::Wait(None) };
        let patch = |write, purpose| Box::new(SecondsPatch::new(pod, key.node.clone(), write, purpose));
        let step = self.hold.map_or(HoldStep::Wait(None), |_| self.step(node, pod, now.wall));
        let wait = match step {
            HoldStep::Write(write) => return PodCheck::Patch(patch(write.into(), PatchPurpose::Hold)),
            HoldStep::Wait(at) => at,
        };
        if let Some(write) = self.restoring_write(pod) {
            return PodCheck::Patch(patch(write.into(), PatchPurpose::Guard));
        }
        match self.desired_write(node, pod) {
            Some((write, purpose)) => PodCheck::PatchPaced(patch(write, purpose)),
            None => PodCheck::Wait(wait),
        }
    }

    /// Puts a pod that needs no patch now where it waits.
    fn put_back(&mut self, key: HeldPodKey, wait: Option<Wall>, now: Now) {
        self.queue.succeed(&key);
        if let Some(at) = wait {
            self.queue.wait_until(key, now.mono_of(at));
        }
    }

    /// Returns the write that restores the record of a guarded pod after another writer removed or replaced it.
    fn restoring_write(&self, pod: &HeldPodEntry) -> Option<GuardWrite> {
        let guards = self.desired.as_ref().is_some_and(DesiredSeconds::guards);
        let record = pod.guard_record().filter(|_| guards && pod.has_lost_its_record())?;
        Some(GuardWrite { seconds: Vec::new(), record: Some(record.clone()) })
    }

    /// Returns what backfill and the guard write to a pod now. A pod on a silent node, and a held one, waits.
    fn desired_write(
        &self,
        node: &HoldNodeEntry,
        pod: &HeldPodEntry,
    ) -> Option<(SecondsWrite, PatchPurpose)> {
        let desired = self.desired.as_ref().filter(|_| node.silent_since().is_none())?;
        match pod.record() {
            RecordState::Absent | RecordState::Guarded(_) => desired.write(pod),
            RecordState::Known(_) | RecordState::Undecodable => None,
        }
    }

    /// Checks the pods that changes of namespaces or policies affect, and counts the progress of backfill.
    fn plan_desired(&mut self, now: Mono) {
        let Some(desired) = &mut self.desired else { return };
        let changed = desired.take_changed();
        if !changed.is_empty() {
            let all = self.cache.nodes().flat_map(|(node, entry)| entry.pods().map(move |pod| (node, pod)));
            let keys: Vec<HeldPodKey> = all
                .filter(|(_, pod)| changed.contains(pod.id().name().namespace()))
                .map(|(node, pod)| HeldPodKey { node: node.clone(), uid: pod.id().uid().clone() })
                .collect();
            keys.into_iter().for_each(|key| self.queue_pod(key));
        }
        if let Some(desired) = &mut self.desired {
            desired.count(&self.cache, now);
        }
    }

    /// Queues the pods that events and responses have changed.
    fn queue_changes(&mut self) {
        for key in self.cache.take_changed_pods() {
            self.queue_pod(key);
        }
    }

    fn queue_pod(&mut self, key: HeldPodKey) {
        let node = self.cache.node(&key.node);
        match node.and_then(|node| Some(node.pod(&key.uid)?.deadline(node.silent_since()))) {
            Some(deadline) => self.queue.add(key, deadline),
            None => self.queue.forget(&key),
        }
    }

    fn queue_node(&mut self, name: &NodeName) {
        let Some(node) = self.cache.node(name) else { return };
        for pod in node.pods() {
            let key = HeldPodKey { node: name.clone(), uid: pod.id().uid().clone() };
            self.queue.add(key, pod.deadline(node.silent_since()));
        }
    }

    /// Counts the silent nodes, and queues the pods that this affects.
    fn plan(&mut self) {
        let changed = self.cache.take_changed_nodes();
        if changed.is_empty() && self.has_begun {
            return;
        }
        let limit = self.hold.and_then(|hold| hold.limit);
        let plan = LimitPlan::of(limit, self.cache.nodes());
        let before = core::mem::replace(&mut self.plan, plan);
        let changes = self.plan.changes_since(&before).into_iter();
        self.notices.extend(changes.map(TolerationSecondsNotice::LimitChanged));
        changed.iter().for_each(|name| self.queue_node(name));
        let others: Vec<NodeName> = self
            .cache
            .nodes()
            .filter(|(_, node)| before.order(node) != self.plan.order(node))
            .map(|(name, _)| name.clone())
            .collect();
        others.iter().for_each(|name| self.queue_node(name));
    }
}

impl Engine for TolerationSecondsEngine {
    type Input = TolerationSecondsInput;
    type Effect = TolerationSecondsEffect;
    type Notice = TolerationSecondsNotice;

    fn handle(&mut self, input: TolerationSecondsInput, now: Now) {
        match input {
            TolerationSecondsInput::Nodes(event) => self.cache.apply(event, now),
            TolerationSecondsInput::Pods(event) => {
                self.cache.apply(event, now);
                self.queue_changes();
            }
            TolerationSecondsInput::PatchDone { patch, result } => self.patch_done(*patch, result, now),
            TolerationSecondsInput::Namespaces(event) => {
                if let Some(desired) = &mut self.desired {
                    desired.apply(event, now);
                }
            }
            TolerationSecondsInput::Policies(event) => {
                if let Some(desired) = &mut self.desired {
                    desired.apply(*event, now);
                }
            }
            TolerationSecondsInput::WrittenPods(pods) => self.unrecorded.add(pods),
            TolerationSecondsInput::StatusDone { write, result } => {
                if let Some(desired) = &mut self.desired {
                    desired.status_done(&write, result.is_ok());
                }
            }
        }
        self.notices
            .extend(self.cache.take_undecodable_records().map(TolerationSecondsNotice::RecordUndecodable));
    }

    fn tick(&mut self, now: Mono) {
        self.ticked = Some(now);
        if !self.cache.is_synced() {
            return;
        }
        self.plan();
        if !self.has_begun {
            self.has_begun = true;
            let (nodes, pods) = self.cache.counts();
            self.notices.push(TolerationSecondsNotice::Synced { nodes, pods });
        }
        self.plan_desired(now);
        if self.is_synced() {
            self.notices.extend(self.unrecorded.check(&self.cache, self.desired.as_ref()));
        }
        self.queue.tick(now);
    }

    fn next_effect(&mut self, lane: Lane, now: Now) -> Option<TolerationSecondsEffect> {
        if !self.has_begun {
            return None;
        }
        while self.queue.in_flight() < PATCHES_AT_ONCE {
            let (key, is_paced) = match self.queue.pop(lane) {
                Some(key) => (key, false),
                None => {
                    if let Some(write) = self.desired.as_mut().and_then(DesiredSeconds::pop_status) {
                        return Some(TolerationSecondsEffect::WriteStatus(write));
                    }
                    (self.queue.pop_paced(lane, now.mono)?, true)
                }
            };
            self.desired.iter_mut().for_each(DesiredSeconds::pod_checked);
            let patch = match self.check(&key, now) {
                PodCheck::Patch(patch) => patch,
                PodCheck::PatchPaced(patch) if is_paced => {
                    self.queue.begin_paced(key, now.mono);
                    return Some(TolerationSecondsEffect::PatchPod(patch));
                }
                PodCheck::PatchPaced(patch) => {
                    self.queue.interval(key, patch.purpose);
                    continue;
                }
                PodCheck::Wait(at) => {
                    self.put_back(key, at, now);
                    continue;
                }
            };
            self.queue.begin(key);
            return Some(TolerationSecondsEffect::PatchPod(patch));
        }
        None
    }

    fn next_wakeup(&self) -> Option<Mono> {
        let has_room = self.queue.in_flight() < PATCHES_AT_ONCE;
        let progress = self.desired.as_ref().and_then(DesiredSeconds::next_wakeup);
        let desired = progress.into_iter().chain(self.queue.next_paced()).filter(|_| has_room);
        self.ticked.and_then(|_| self.queue.next_wakeup().into_iter().chain(desired).min())
    }

    fn take_notices(&mut self) -> Vec<TolerationSecondsNotice> {
        core::mem::take(&mut self.notices)
    }

    fn is_synced(&self) -> bool {
        self.cache.is_synced() && self.desired.as_ref().is_none_or(DesiredSeconds::is_synced)
    }
}
