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
mod seconds_objects;

pub use hold_limit::{HoldLimit, LimitChange, LimitExceeded, LimitScope};
pub use object_cache::TolerationSecondsStats;
pub use objects::{HeldPodFact, HoldNodeFact, NodeHoldRequest, RecordAnnotations, RecordState};
pub use patch::{
    PatchPurpose, PatchedRecord, SecondsPatch, SecondsWrite, TolerationSecondsEffect, TolerationSecondsInput,
    TolerationSecondsNotice,
};
pub use seconds_objects::{
    BackfillPolicyFact, BackfillProgress, BackfillSettings, GuardSettings, PolicyStatusWrite,
    SecondsNamespaceFact,
};

use crate::api_error::ApiFailure;
use crate::engine::{Engine, Lane};
use crate::identity::NodeName;
use crate::object_event::ObjectIndex as _;
use crate::time::{Mono, Now, Wall};
use crate::toleration_guard::GuardWrite;
use crate::toleration_hold::{
    HoldIntent, HoldOrder, HoldOrigin, HoldStep, HoldWrite, OBSERVATION_PAUSE, ReleaseMode, next_step,
};
use alloc::boxed::Box;
use alloc::vec::Vec;
use desired_seconds::DesiredSeconds;
use effect_queue::{HeldPodKey, PodPatchQueue};
use held_pod_entry::HeldPodEntry;
use hold_limit::LimitPlan;
use object_cache::{HoldNodeEntry, SecondsCache};

/// Maximum number of concurrent pod patches.
const PATCHES_AT_ONCE: usize = 64;

/// The settings of holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HoldSettings {
    /// How many nodes may be silent before pods are held; `None`: only an administrator's request holds pods.
    pub limit: Option<HoldLimit>,
}

/// The engine.
///
/// The contract is that of every [`Engine`]; every pulled effect comes back, as [`TolerationSecondsEffect`] says.
#[derive(Clone, Debug, Default)]
pub struct TolerationSecondsEngine {
    /// `None`: no pod is held, and none is released.
    hold: Option<HoldSettings>,
    /// Backfill and the guard; `None`: neither runs.
    desired: Option<DesiredSeconds>,
    cache: SecondsCache,
    plan: LimitPlan,
    queue: PodPatchQueue,
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
        Self { hold, desired: DesiredSeconds::new(backfill, guard), ..Self::default() }
    }

    /// Returns the counts.
    pub fn stats(&self) -> TolerationSecondsStats {
        let pending = self.desired.as_ref().map(DesiredSeconds::pending);
        let (backfill_pending, guard_pending) = pending.unwrap_or_default();
        TolerationSecondsStats { backfill_pending, guard_pending, ..self.cache.stats(self.queue.waiting()) }
    }

    /// The zones, or the cluster, in which more nodes are silent than the limit allows.
    pub fn limits_exceeded(&self) -> impl Iterator<Item = &LimitExceeded> {
        self.plan.exceeded()
    }

    /// Returns the desired state of a node's pods: an administrator's request takes precedence over the limit.
    fn intent(&self, node: &HoldNodeEntry, now: Wall) -> HoldIntent {
        let limit = node.silent_since().and_then(|_| self.plan.order(node.zone()?));
        match node.request() {
            NodeHoldRequest::Hold { since, until } if now < until => {
                HoldIntent::Hold(HoldOrder { origin: HoldOrigin::Person, since, until })
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
            step => step,
        }
    }

    /// Returns the patch of a hold that is due for a pod; otherwise records when to check again, and whether the pod
    /// needs backfill.
    fn patch(&mut self, key: &HeldPodKey, now: Now) -> Option<SecondsPatch> {
        let node = self.hold.and_then(|_| self.cache.node(&key.node)).filter(|node| node.is_known());
        let step = node.and_then(|node| node.pod(&key.uid).map(|pod| (pod, self.step(node, pod, now.wall))));
        let wait = match step {
            Some((pod, HoldStep::Write(write))) => {
                return Some(SecondsPatch::new(pod, key.node.clone(), write, PatchPurpose::Hold));
            }
            Some((_, HoldStep::Wait(at))) => at,
            None => None,
        };
        if let Some(patch) = self.restoring_patch(key) {
            return Some(patch);
        }
        let wanted = self.desired_write(key).map(|(_, (_, purpose))| purpose);
        if let Some(desired) = &mut self.desired {
            desired.set(key, wanted);
        }
        if wanted.is_none() {
            self.queue.succeed(key);
        }
        if let Some(at) = wait {
            self.queue.wait_until(key.clone(), now.mono_of(at));
        }
        None
    }

    /// Returns the patch that restores the record of a guarded pod after another writer removed or replaced it.
    fn restoring_patch(&self, key: &HeldPodKey) -> Option<SecondsPatch> {
        let pod = self.cache.node(&key.node)?.pod(&key.uid)?;
        let guards = self.desired.as_ref().is_some_and(DesiredSeconds::guards);
        let record = pod.guard_record().filter(|_| guards && pod.has_lost_its_record())?;
        let write = GuardWrite { seconds: Vec::new(), record: Some(record.clone()) };
        Some(SecondsPatch::new(pod, key.node.clone(), write, PatchPurpose::Guard))
    }

    /// Returns what backfill and the guard write to a pod now. A pod on a silent node, and a held one, waits.
    fn desired_write(&self, key: &HeldPodKey) -> Option<(&HeldPodEntry, (SecondsWrite, PatchPurpose))> {
        let desired = self.desired.as_ref()?;
        let node = self.cache.node(&key.node).filter(|node| node.is_known())?;
        let pod = node.pod(&key.uid).filter(|_| node.silent_since().is_none())?;
        match pod.record() {
            RecordState::Absent | RecordState::Guarded(_) => Some((pod, desired.write(pod)?)),
            RecordState::Known(_) | RecordState::Undecodable => None,
        }
    }

    /// Returns the next patch of backfill or the guard, if it is due.
    fn desired_patch(&mut self, now: Mono) -> Option<SecondsPatch> {
        loop {
            let key = self.desired.as_mut()?.pop(now)?;
            let Some((pod, (write, purpose))) = self.desired_write(&key) else { continue };
            let patch = SecondsPatch::new(pod, key.node.clone(), write, purpose);
            if let Some(desired) = &mut self.desired {
                desired.sent(now);
            }
            return Some(patch);
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
        let Some(node) = self.cache.node(&key.node) else { return };
        if let Some(pod) = node.pod(&key.uid) {
            self.queue.add(key, pod.deadline(node.silent_since()));
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
            .filter(|(_, node)| node.silent_since().is_some())
            .filter(|(_, node)| node.zone().is_some_and(|zone| before.order(zone) != self.plan.order(zone)))
            .map(|(name, _)| name.clone())
            .collect();
        others.iter().for_each(|name| self.queue_node(name));
    }

    fn patch_done(&mut self, patch: SecondsPatch, result: Result<HeldPodFact, ApiFailure>, now: Now) {
        let key = patch.key();
        if !self.queue.end(&key) {
            return;
        }
        match result {
            Ok(fact) => {
                if patch.is_contested {
                    // The other writer may change it again: so the next patch waits for a pause (D3).
                    let pause = ApiFailure::Throttled(Some(OBSERVATION_PAUSE));
                    self.queue.fail(key.clone(), pause, now.mono);
                    let (pod, node) = (patch.pod.clone(), patch.node.clone());
                    self.notices.push(TolerationSecondsNotice::SecondsContested { pod, node });
                } else {
                    self.queue.succeed(&key);
                }
                self.notices.extend(patch.notice());
                self.cache.put_response(fact);
            }
            Err(ApiFailure::NotFound) => {
                self.queue.succeed(&key);
                self.cache.remove_pod(&key.uid, Some(&key.node));
            }
            Err(failure) => self.queue.fail(key.clone(), failure, now.mono),
        }
        self.queue_changes();
        // Events of the watch were skipped meanwhile.
        self.queue_pod(key);
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
        self.queue.tick(now);
    }

    fn next_effect(&mut self, lane: Lane, now: Now) -> Option<TolerationSecondsEffect> {
        if !self.has_begun {
            return None;
        }
        let begin = |queue: &mut PodPatchQueue, patch: SecondsPatch| {
            queue.begin(patch.key());
            Some(TolerationSecondsEffect::PatchPod(Box::new(patch)))
        };
        while self.queue.in_flight() < PATCHES_AT_ONCE {
            let Some(key) = self.queue.pop(lane) else {
                if let Some(write) = self.desired.as_mut().and_then(DesiredSeconds::pop_status) {
                    return Some(TolerationSecondsEffect::WriteStatus(write));
                }
                let patch = self.desired_patch(now.mono)?;
                return begin(&mut self.queue, patch);
            };
            if let Some(patch) = self.patch(&key, now) {
                return begin(&mut self.queue, patch);
            }
        }
        None
    }

    fn next_wakeup(&self) -> Option<Mono> {
        let has_room = self.queue.in_flight() < PATCHES_AT_ONCE;
        let desired = self.desired.as_ref().filter(|_| has_room).and_then(DesiredSeconds::next_wakeup);
        self.ticked.and_then(|_| self.queue.next_wakeup().into_iter().chain(desired).min())
    }

    fn take_notices(&mut self) -> Vec<TolerationSecondsNotice> {
        core::mem::take(&mut self.notices)
    }

    fn is_synced(&self) -> bool {
        self.cache.is_synced() && self.desired.as_ref().is_none_or(DesiredSeconds::is_synced)
    }
}
