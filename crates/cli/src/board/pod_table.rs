//! Lists the pods of all nodes with their states, by the verdicts of an eviction engine.

use super::views::{PodPhase, PodState, PodView};
use crate::cluster_change::OVERDUE_AFTER;
use crate::eviction_delays::DueDelays;
use crate::live_verdicts::LiveVerdicts;
use serde::{Serialize, Serializer};
use std::collections::btree_map::Range;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;
use taintward_core::engine::Engine as _;
use taintward_core::fact::NodeFact;
use taintward_core::identity::{NodeName, PodId, PodRef, Uid};
use taintward_core::object_event::ObjectEvent;
use taintward_core::time::{Mono, Now};
use taintward_core::toleration_matching::NumericOperators;
use taintward_core::verdict::{EvictionExemption, Outcome, StayReason, Verdict};
use taintward_kube::decode::DecodedPod;

/// All pods that are bound to a node.
pub(crate) struct PodTable {
    verdicts: LiveVerdicts,
    pods: BTreeMap<NodeName, PodsByUid>,
    delays: DueDelays,
}

type PodsByUid = BTreeMap<Uid, ShownPod>;

struct ShownPod {
    id: PodId,
    /// The pod has the annotation of a hold.
    is_held: bool,
    is_overdue: bool,
    /// `None`: the pod was not judged yet.
    state: Option<PodState>,
}

/// A pod that is new, gone, or has another state.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PodChange {
    pub(crate) id: PodId,
    pub(crate) node: NodeName,
    pub(crate) before: Option<PodState>,
    /// `None`: the pod is gone.
    pub(crate) after: Option<PodState>,
}

impl PodTable {
    pub(crate) fn new() -> Self {
        let verdicts = LiveVerdicts::new(NumericOperators::Off);
        Self { verdicts, pods: BTreeMap::new(), delays: DueDelays::default() }
    }

    /// Whether nodes and pods were listed once; before, the verdicts are incomplete.
    pub(crate) fn is_synced(&self) -> bool {
        self.verdicts.engine().is_synced()
    }

    /// Handles an event of a node.
    pub(crate) fn handle_node(&mut self, event: ObjectEvent<NodeFact>, now: Now) {
        self.verdicts.handle_node(event, now);
    }

    /// Handles an event of a pod.
    pub(crate) fn handle_pod(&mut self, event: ObjectEvent<DecodedPod>, now: Now) {
        if let ObjectEvent::Applied { fact: DecodedPod { pod, held, .. }, .. } = &event {
            let pods = self.pods.entry(pod.node.clone()).or_default();
            let (id, uid) = (pod.id.clone(), pod.id.uid().clone());
            let new = ShownPod { id, is_held: false, is_overdue: false, state: None };
            pods.entry(uid).or_insert(new).is_held = held.is_some();
        }
        self.verdicts.handle_pod(event, now);
    }

    /// What delays due pods was read again: judges the nodes of delayed pods and of pods with other holds, and passes on the
    /// pods with another state.
    pub(crate) fn set_delays(&mut self, delays: DueDelays, now: Now, mut changed: impl FnMut(PodChange)) {
        self.verdicts.set_forbidden_holds(delays.forbidden_holds(), now);
        let before = std::mem::replace(&mut self.delays, delays);
        let nodes: BTreeSet<NodeName> =
            before.pods().chain(self.delays.pods()).map(|pod| NodeName::new(&pod.node)).collect();
        for node in nodes {
            self.judge(&node, now, &mut changed);
        }
        self.judge_stale(now, changed);
    }

    /// Judges pods with changed facts, and passes on the pods with another state.
    pub(crate) fn judge_stale(&mut self, now: Now, mut changed: impl FnMut(PodChange)) {
        if !self.is_synced() {
            return;
        }
        for node in self.verdicts.take_stale(self.pods.keys()) {
            self.judge(&node, now, &mut changed);
        }
    }

    fn judge(&mut self, node: &NodeName, now: Now, changed: &mut impl FnMut(PodChange)) {
        let Some(pods) = self.pods.get_mut(node) else { return };
        let engine = self.verdicts.engine();
        let change =
            |id: &PodId, before, after| PodChange { id: id.clone(), node: node.clone(), before, after };
        let known: BTreeSet<Uid> = engine.pods_on(node).map(|pod| pod.uid).collect();
        for (_, entry) in pods.extract_if(.., |uid, _| !known.contains(uid)) {
            if let Some(before) = entry.state {
                changed(change(&entry.id, Some(before), None));
            }
        }
        for (uid, entry) in pods.iter_mut() {
            let pod = PodRef { node: node.clone(), uid: uid.clone() };
            let Some((_, verdict, taints)) = engine.explain(&pod, now) else { continue };
            let taint = verdict.decisive.map(|at| Arc::from(taints[at].taint.to_string()));
            let mut state = state(&verdict, taint, entry.is_held && !taints.is_empty(), now);
            if state.phase == PodPhase::Due
                && let Some(delay) = self.delays.of(&uid.to_string())
            {
                (state.phase, state.delay) = (PodPhase::Delayed, Some(delay.category));
            }
            if entry.state.as_ref() != Some(&state) {
                entry.is_overdue &=
                    state.delay.is_none() && state.at == entry.state.as_ref().and_then(|before| before.at);
                let before = entry.state.replace(state.clone());
                changed(change(&entry.id, before, Some(state)));
            }
        }
        if pods.is_empty() {
            self.pods.remove(node);
        }
    }

    /// The pods that became overdue, each once. A delayed pod is not overdue.
    pub(crate) fn take_overdue(&mut self, now: Now) -> Vec<PodView> {
        let latest = now.wall.as_micros().saturating_sub(OVERDUE_AFTER.as_micros()).div_euclid(1_000_000);
        let mut overdue = Vec::new();
        for (node, pods) in &mut self.pods {
            for entry in pods.values_mut().filter(|entry| !entry.is_overdue) {
                let Some(state) = entry.state.as_ref().filter(|state| state.leaves()) else { continue };
                if state.delay.is_some() {
                    continue;
                }
                if state.at.is_some_and(|at| at <= latest) {
                    entry.is_overdue = true;
                    overdue.push(PodView { id: entry.id.clone(), node: node.clone(), state: state.clone() });
                }
            }
        }
        overdue
    }

    /// Whether a pod is due or held, and the number of pods.
    pub(crate) fn due_or_held(&self, now: Now) -> (bool, usize) {
        let now = now.wall.as_micros().div_euclid(1_000_000);
        let mut states = self.pods.values().flat_map(BTreeMap::values).filter_map(|pod| pod.state.as_ref());
        let any = states.any(|state| state.leaves() && state.at.is_some_and(|at| at <= now));
        (any || self.verdicts.has_held_pods(), self.verdicts.engine().stats().pods)
    }

    /// All pods that were judged.
    pub(crate) fn iter(&self) -> impl Iterator<Item = PodView> {
        views(self.pods.iter())
    }

    /// The pods of the nodes after `after`, until there are `most` pods or more.
    pub(crate) fn part(&self, after: Option<&NodeName>, most: usize) -> PodPart<'_> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut count = 0;
        let last = self.pods.range::<NodeName, _>((from, Bound::Unbounded)).find(|(_, pods)| {
            count += pods.len();
            count >= most
        });
        let last = last.map(|(node, _)| node);
        let nodes = self.pods.range::<NodeName, _>((from, last.map_or(Bound::Unbounded, Bound::Included)));
        let end = self.pods.last_key_value().map(|(node, _)| node);
        PodPart { nodes, next: last.filter(|last| Some(*last) != end).cloned() }
    }
}

/// The judged pods of consecutive nodes.
pub(crate) struct PodPart<'t> {
    nodes: Range<'t, NodeName, PodsByUid>,
    next: Option<NodeName>,
}

impl PodPart<'_> {
    /// Its last node; `None`: no node follows it.
    pub(crate) fn next(&self) -> Option<&NodeName> {
        self.next.as_ref()
    }
}

/// Serializes pods one by one, because there may be very many.
impl Serialize for PodPart<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(views(self.nodes.clone()))
    }
}

fn views<'t>(nodes: impl Iterator<Item = (&'t NodeName, &'t PodsByUid)>) -> impl Iterator<Item = PodView> {
    nodes.flat_map(|(node, pods)| {
        pods.values().filter_map(|entry| {
            Some(PodView { id: entry.id.clone(), node: node.clone(), state: entry.state.clone()? })
        })
    })
}

impl PodState {
    /// Whether the pod will be evicted, now or later.
    pub(crate) fn leaves(&self) -> bool {
        matches!(self.phase, PodPhase::Counting | PodPhase::Due | PodPhase::Delayed)
    }
}

fn state(verdict: &Verdict, taint: Option<Arc<str>>, is_held: bool, now: Now) -> PodState {
    let second = |at: Mono| Some(now.wall_of(at).as_micros().saturating_add(500_000).div_euclid(1_000_000));
    match verdict.outcome {
        Outcome::StaysUntil(until) => {
            PodState { phase: PodPhase::Counting, at: second(until), taint, ..PodState::default() }
        }
        Outcome::Leaves { due } => {
            PodState { phase: PodPhase::Due, at: second(due), taint, ..PodState::default() }
        }
        Outcome::Stays(StayReason::Exempt(EvictionExemption::Terminating)) => {
            PodState { phase: PodPhase::Terminating, ..PodState::default() }
        }
        Outcome::Stays(StayReason::Exempt(EvictionExemption::Finished)) => {
            PodState { is_finished: true, ..PodState::default() }
        }
        Outcome::Stays(_) if is_held => PodState { phase: PodPhase::Held, ..PodState::default() },
        Outcome::Stays(_) => PodState::default(),
    }
}
