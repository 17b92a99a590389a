//! Runs holds and backfill where kube-controller-manager's own taint eviction stays on: takes facts about nodes and pods,
//! namespaces and policies as input and returns the patches of tolerations' seconds.
//!
//! - Invariant: level-triggered. What is held, since when, and what its own seconds are stands in the pods; a restart or
//!   another leader finds all of it again.
//! - See `toleration_hold.rs` and `toleration_backfill.rs` for what is decided about one pod,
//!   `toleration_seconds/hold_limit.rs` for which nodes are held, `toleration_seconds/backfill.rs` for which pods wait.

mod backfill;
mod backfill_objects;
mod effect_queue;
mod held_pod_entry;
mod hold_limit;
mod object_cache;
mod objects;
mod patch;

pub use backfill_objects::{
    BackfillNamespaceFact, BackfillPolicyFact, BackfillProgress, BackfillSettings, PolicyStatusWrite,
};
pub use hold_limit::{HoldLimit, LimitChange, LimitExceeded, LimitScope};
pub use object_cache::TolerationSecondsStats;
pub use objects::{HeldPodFact, HoldNodeFact, NodeHoldRequest, RecordState};
pub use patch::{
    PatchPurpose, SecondsPatch, TolerationSecondsEffect, TolerationSecondsInput, TolerationSecondsNotice,
};

use crate::api_error::ApiFailure;
use crate::engine::{Engine, Lane};
use crate::identity::NodeName;
use crate::object_event::ObjectIndex as _;
use crate::time::{Mono, Now, Wall};
use crate::toleration_backfill::{BackfillVerdict, SecondsChanges};
use crate::toleration_hold::{
    HoldIntent, HoldOrder, HoldOrigin, HoldStep, HoldWrite, OBSERVATION_PAUSE, ReleaseMode, next_step,
};
use alloc::boxed::Box;
use alloc::vec::Vec;
use backfill::Backfill;
use effect_queue::{HeldPodKey, PodPatchQueue};
use held_pod_entry::HeldPodEntry;
use hold_limit::LimitPlan;
use object_cache::{HoldNodeEntry, SecondsCache};

/// Pods that are patched at once, at most.
const PATCHES_AT_ONCE: usize = 64;

/// By what holds go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HoldSettings {
    /// How many nodes may be silent before pods are held; `None`: only a person's word holds.
    pub limit: Option<HoldLimit>,
}

/// The engine.
///
/// The contract is that of every [`Engine`]; every pulled effect comes back, as [`TolerationSecondsEffect`] says.
#[derive(Clone, Debug, Default)]
pub struct TolerationSecondsEngine {
    /// `None`: no pod is held, and none is released.
    hold: Option<HoldSettings>,
    /// `None`: no pod is backfilled.
    backfill: Option<Backfill>,
    cache: SecondsCache,
    plan: LimitPlan,
    queue: PodPatchQueue,
    has_begun: bool,
    ticked: Option<Mono>,
    notices: Vec<TolerationSecondsNotice>,
}

impl TolerationSecondsEngine {
    /// An engine that knows nothing yet, and does what it has settings for.
    pub fn new(hold: Option<HoldSettings>, backfill: Option<BackfillSettings>) -> Self {
        Self { hold, backfill: backfill.map(Backfill::new), ..Self::default() }
    }

    /// Counts.
    pub fn stats(&self) -> TolerationSecondsStats {
        let backfill_pending = self.backfill.as_ref().map(Backfill::pending).unwrap_or_default();
        TolerationSecondsStats { backfill_pending, ..self.cache.stats(self.queue.waiting()) }
    }

    /// The zones, or the cluster, in which more nodes are silent than the limit allows.
    pub fn limits_exceeded(&self) -> impl Iterator<Item = &LimitExceeded> {
        self.plan.exceeded()
    }

    /// What is wanted for the pods of a node: a person's word counts before the limit.
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

    /// The write that is due for a pod, or when to look again.
    fn step(&self, node: &HoldNodeEntry, pod: &HeldPodEntry, now: Wall) -> HoldStep {
        if *pod.record() == RecordState::Undecodable {
            return HoldStep::Wait(None);
        }
        let record = pod.known_record();
        let step = next_step(
            pod.tolerations(),
            record,
            pod.counts_since(node.silent_since()),
            self.intent(node, now),
            now,
        );
        match step {
            HoldStep::Wait(_) if pod.has_lost_its_record() => {
                HoldStep::Write(HoldWrite { seconds: Vec::new(), record: record.cloned() })
            }
            step => step,
        }
    }

    /// The patch of a hold that is due for a pod; otherwise when to look again is noted, and whether it is to be
    /// backfilled.
    fn patch(&mut self, key: &HeldPodKey, now: Now) -> Option<SecondsPatch> {
        let node = self.hold.and_then(|_| self.cache.node(&key.node)).filter(|node| node.is_known());
        let step = node.and_then(|node| node.pod(&key.uid).map(|pod| (pod, self.step(node, pod, now.wall))));
        let wait = match step {
            Some((pod, HoldStep::Write(write))) => {
                let is_contested = pod.is_contested();
                let purpose = if is_contested { PatchPurpose::ContestedHold } else { PatchPurpose::Hold };
                return Some(SecondsPatch::new(pod, key.node.clone(), write, purpose));
            }
            Some((_, HoldStep::Wait(at))) => at,
            None => None,
        };
        let changes = self.backfill_changes(key);
        let is_wanted = changes.is_some();
        if let Some(backfill) = &mut self.backfill {
            backfill.set(key, is_wanted);
        }
        if !is_wanted {
            self.queue.succeed(key);
        }
        if let Some(at) = wait {
            self.queue.wait_until(key.clone(), now.mono_of(at));
        }
        None
    }

    /// The seconds that backfill gives a pod now.
    fn backfill_changes(&self, key: &HeldPodKey) -> Option<(&HeldPodEntry, SecondsChanges)> {
        let backfill = self.backfill.as_ref()?;
        let node = self.cache.node(&key.node).filter(|node| node.is_known())?;
        let pod = node.pod(&key.uid).filter(|pod| *pod.record() == RecordState::Absent)?;
        match backfill.verdict(pod)? {
            BackfillVerdict::Differs(changes) if node.silent_since().is_none() => Some((pod, changes)),
            _ => None,
        }
    }

    /// The next patch of backfill, if its time has come.
    fn backfill_patch(&mut self, now: Mono) -> Option<SecondsPatch> {
        loop {
            let key = self.backfill.as_mut()?.pop(now)?;
            let Some((pod, seconds)) = self.backfill_changes(&key) else { continue };
            let write = HoldWrite { seconds, record: None };
            let patch = SecondsPatch::new(pod, key.node.clone(), write, PatchPurpose::Backfill);
            if let Some(backfill) = &mut self.backfill {
                backfill.sent(now);
            }
            return Some(patch);
        }
    }

    /// Looks at the pods for which namespaces or policies have changed something, and counts how far backfill is.
    fn plan_backfill(&mut self, now: Mono) {
        let Some(backfill) = &mut self.backfill else { return };
        let changed = backfill.take_changed();
        if !changed.is_empty() {
            let all = self.cache.nodes().flat_map(|(node, entry)| entry.pods().map(move |pod| (node, pod)));
            let keys: Vec<HeldPodKey> = all
                .filter(|(_, pod)| changed.contains(pod.id().name().namespace()))
                .map(|(node, pod)| HeldPodKey { node: node.clone(), uid: pod.id().uid().clone() })
                .collect();
            keys.into_iter().for_each(|key| self.queue_pod(key));
        }
        if let Some(backfill) = &mut self.backfill {
            backfill.count(&self.cache, now);
        }
    }

    /// What watches and responses changed is looked at.
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

    /// Counts the silent nodes, and has the pods looked at for which that changes something.
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
                match patch.purpose {
                    // The other writer may change it again: no answer to that comes without a pause (D3).
                    PatchPurpose::ContestedHold => {
                        let pause = ApiFailure::Throttled(Some(OBSERVATION_PAUSE));
                        self.queue.fail(key.clone(), pause, now.mono);
                        let (pod, node) = (patch.pod.clone(), patch.node.clone());
                        self.notices.push(TolerationSecondsNotice::HoldContested { pod, node });
                    }
                    PatchPurpose::Hold | PatchPurpose::Backfill => self.queue.succeed(&key),
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
        // What the watch said meanwhile was passed over.
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
                if let Some(backfill) = &mut self.backfill {
                    backfill.apply(event, now);
                }
            }
            TolerationSecondsInput::Policies(event) => {
                if let Some(backfill) = &mut self.backfill {
                    backfill.apply(*event, now);
                }
            }
            TolerationSecondsInput::StatusDone { write, result } => {
                if let Some(backfill) = &mut self.backfill {
                    backfill.status_done(&write, result.is_ok());
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
        self.plan_backfill(now);
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
                if let Some(write) = self.backfill.as_mut().and_then(Backfill::pop_status) {
                    return Some(TolerationSecondsEffect::WriteStatus(write));
                }
                let patch = self.backfill_patch(now.mono)?;
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
        let backfill = self.backfill.as_ref().filter(|_| has_room).and_then(Backfill::next_wakeup);
        self.ticked.and_then(|_| self.queue.next_wakeup().into_iter().chain(backfill).min())
    }

    fn take_notices(&mut self) -> Vec<TolerationSecondsNotice> {
        core::mem::take(&mut self.notices)
    }

    fn is_synced(&self) -> bool {
        self.cache.is_synced() && self.backfill.as_ref().is_none_or(Backfill::is_synced)
    }
}
