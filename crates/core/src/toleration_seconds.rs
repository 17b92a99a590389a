//! Runs holds where kube-controller-manager's own taint eviction stays on: takes facts about nodes and pods as input and
//! returns the patches that clear the seconds of tolerations and give them back.
//!
//! - Invariant: level-triggered. What is held, since when, and what its own seconds are stands in the pods; a restart or
//!   another leader finds all of it again.
//! - See `toleration_hold.rs` for what is decided about one pod, `toleration_seconds/hold_limit.rs` for which nodes.

mod effect_queue;
mod hold_limit;
mod object_cache;
mod objects;
mod patch;

pub use hold_limit::{HoldLimit, LimitChange, LimitExceeded, LimitScope};
pub use object_cache::TolerationSecondsStats;
pub use objects::{HeldPodFact, HoldNodeFact, NodeHoldRequest, RecordState};
pub use patch::{SecondsPatch, TolerationSecondsInput, TolerationSecondsNotice};

use crate::api_error::ApiFailure;
use crate::engine::{Engine, Lane};
use crate::identity::NodeName;
use crate::object_event::ObjectIndex as _;
use crate::time::{Mono, Now, Wall};
use crate::toleration_hold::{
    HoldIntent, HoldOrder, HoldOrigin, HoldStep, HoldWrite, ReleaseMode, next_step,
};
use alloc::vec::Vec;
use effect_queue::{HeldPodKey, PodPatchQueue};
use hold_limit::LimitPlan;
use object_cache::{HeldPodEntry, HoldNodeEntry, SecondsCache};

/// Pods that are patched at once, at most.
const PATCHES_AT_ONCE: usize = 64;

/// The engine.
///
/// The contract is that of every [`Engine`]; every pulled patch comes back as [`TolerationSecondsInput::PatchDone`].
#[derive(Clone, Debug, Default)]
pub struct TolerationSecondsEngine {
    limit: Option<HoldLimit>,
    cache: SecondsCache,
    plan: LimitPlan,
    queue: PodPatchQueue,
    has_begun: bool,
    ticked: Option<Mono>,
    notices: Vec<TolerationSecondsNotice>,
}

impl TolerationSecondsEngine {
    /// An engine that knows nothing yet. Without a limit it holds only what people ask for.
    pub fn new(limit: Option<HoldLimit>) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Counts.
    pub fn stats(&self) -> TolerationSecondsStats {
        self.cache.stats(self.queue.waiting())
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
        let record = match pod.record() {
            RecordState::Absent => None,
            RecordState::Known(record) => Some(&**record),
            RecordState::Undecodable => return HoldStep::Wait(None),
        };
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

    fn patch(&mut self, key: &HeldPodKey, now: Now) -> Option<SecondsPatch> {
        let node = self.cache.node(&key.node).filter(|node| node.is_known());
        let step = node.and_then(|node| node.pod(&key.uid).map(|pod| (pod, self.step(node, pod, now.wall))));
        let wait = match step {
            Some((pod, HoldStep::Write(write))) => {
                return Some(SecondsPatch::new(pod, key.node.clone(), write));
            }
            Some((_, HoldStep::Wait(at))) => at,
            None => None,
        };
        self.queue.succeed(key);
        if let Some(at) = wait {
            self.queue.wait_until(key.clone(), now.mono_of(at));
        }
        None
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
        for (uid, pod) in node.pods() {
            let key = HeldPodKey { node: name.clone(), uid: uid.clone() };
            self.queue.add(key, pod.deadline(node.silent_since()));
        }
    }

    /// Counts the silent nodes, and has the pods looked at for which that changes something.
    fn plan(&mut self) {
        let changed = self.cache.take_changed_nodes();
        if changed.is_empty() && self.has_begun {
            return;
        }
        let plan = LimitPlan::of(self.limit, self.cache.nodes());
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
                self.queue.succeed(&key);
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
    type Effect = SecondsPatch;
    type Notice = TolerationSecondsNotice;

    fn handle(&mut self, input: TolerationSecondsInput, now: Now) {
        match input {
            TolerationSecondsInput::Nodes(event) => self.cache.apply(event, now),
            TolerationSecondsInput::Pods(event) => {
                self.cache.apply(event, now);
                self.queue_changes();
            }
            TolerationSecondsInput::PatchDone { patch, result } => self.patch_done(*patch, result, now),
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
        self.queue.tick(now);
    }

    fn next_effect(&mut self, lane: Lane, now: Now) -> Option<SecondsPatch> {
        if !self.has_begun {
            return None;
        }
        while self.queue.in_flight() < PATCHES_AT_ONCE {
            let key = self.queue.pop(lane)?;
            if let Some(patch) = self.patch(&key, now) {
                self.queue.begin(key);
                return Some(patch);
            }
        }
        None
    }

    fn next_wakeup(&self) -> Option<Mono> {
        self.ticked.and_then(|_| self.queue.next_wakeup())
    }

    fn take_notices(&mut self) -> Vec<TolerationSecondsNotice> {
        core::mem::take(&mut self.notices)
    }

    fn is_synced(&self) -> bool {
        self.cache.is_synced()
    }
}
