//! Tells what taint-eviction-controller observed and did, by following its engine through a record.

mod notices;
mod objects;
mod requests;

use super::entry::{EntryLog, HistoryEvent, HistoryObject};
use super::filter::HistoryFilter;
use super::history_pod::HistoryPod;
use super::sentences;
use crate::messages::counted;
use std::collections::{BTreeMap, BTreeSet};
use taintward_core::engine::Engine as _;
use taintward_core::eviction::EvictionEngine;
use taintward_core::identity::{NodeName, PodName, PodRef, Uid};
use taintward_core::time::{Now, Span};
use taintward_record::{CallVisitor, EngineCall, RecordError, RecordedCall};

/// The entries of taint-eviction-controller so far.
pub(super) struct EvictionEntries {
    pub(super) log: EntryLog,
    /// The pods that the history is about, as long as the engine knows them.
    pods: BTreeMap<Uid, HistoryPod>,
    /// All nodes on which they were.
    nodes: BTreeSet<NodeName>,
    /// What is reported at the next call.
    begin: Option<SegmentBegin>,
    /// The lists are not complete: what they contain did not happen just now.
    is_listing: bool,
    last: Option<Now>,
    /// The tick before the notices.
    ticked: Option<Now>,
}

/// How a segment follows the one before.
enum SegmentBegin {
    First,
    /// The engine was in another state at the end of the segment before: something is missing between them, or this
    /// program decides differently.
    Differs,
}

/// A control loop that has anything to do makes calls in shorter intervals. A tap pauses for longer after it dropped
/// something, and no process starts again so soon.
const GAP_MIN: Span = Span::from_secs(3);

impl EvictionEntries {
    pub(super) const fn new(filter: HistoryFilter) -> Self {
        Self {
            log: EntryLog::new(filter),
            pods: BTreeMap::new(),
            nodes: BTreeSet::new(),
            begin: None,
            is_listing: false,
            last: None,
            ticked: None,
        }
    }

    /// The nodes of the pods that are named.
    pub(super) const fn nodes(&self) -> &BTreeSet<NodeName> {
        &self.nodes
    }

    /// Ends the record: tells which requests have no response.
    pub(super) fn finish(&mut self) {
        let Some(now) = self.last else { return };
        let open =
            self.pods.iter().filter_map(|(uid, pod)| Some((uid.clone(), pod.node.clone(), pod.request?)));
        for (uid, node, (request, sent)) in open.collect::<Vec<_>>() {
            let sent = sentences::time(sent, now);
            let message =
                format!("Taintward requested {request} at {sent}, and the record ends before the response");
            self.add_pod(now, &PodRef { node, uid }, HistoryEvent::ResponseMissing, message);
        }
    }

    fn add_node(&mut self, now: Now, node: &NodeName, event: HistoryEvent, message: String) {
        self.log.add(now, HistoryObject::Node(node.clone()), event, message);
    }

    fn add_cluster(&mut self, now: Now, event: HistoryEvent, message: String) {
        self.log.add(now, HistoryObject::Cluster, event, message);
    }

    /// Adds an entry about a tracked pod; none about another.
    fn add_pod(&mut self, now: Now, pod: &PodRef, event: HistoryEvent, message: String) {
        let Some(tracked) = self.pods.get(&pod.uid) else { return };
        let (name, node) = (tracked.name.clone(), pod.node.clone());
        self.log.add(now, HistoryObject::Pod { name, uid: pod.uid.clone(), node }, event, message);
    }

    /// Adds a decision about a pod, which a history without named objects has too.
    fn add_decision(&mut self, now: Now, pod: &PodRef, name: &PodName, event: HistoryEvent, message: String) {
        if self.log.filter.admits_pod(name, &pod.node) {
            let object =
                HistoryObject::Pod { name: name.clone(), uid: pod.uid.clone(), node: pod.node.clone() };
            self.log.add(now, object, event, message);
        }
    }

    fn includes_node(&self, node: &NodeName) -> bool {
        self.log.filter.names_node(node) || self.pods.values().any(|pod| pod.node == *node)
    }

    /// The pods that the history is about.
    fn tracked(&self) -> Vec<PodRef> {
        self.pods.iter().map(|(uid, pod)| pod.reference(uid)).collect()
    }

    fn track(&mut self, engine: &EvictionEngine, pod: PodRef, name: &PodName, now: Now) -> &mut HistoryPod {
        self.nodes.insert(pod.node.clone());
        let verdict = engine.explain(&pod, now).map(|(_, verdict, _)| verdict);
        let tracked = self.pods.entry(pod.uid);
        tracked.or_insert_with(|| HistoryPod::new(name.clone(), pod.node, verdict.as_ref()))
    }

    fn track_all(&mut self, engine: &EvictionEngine, now: Now) {
        if !self.log.filter.is_detailed() {
            return;
        }
        for (pod, name) in engine.pods() {
            if self.log.filter.names_pod(name, &pod.node) {
                self.track(engine, pod, name, now);
            }
        }
    }

    /// Tells the state of all that the history is about.
    fn report_state(&mut self, engine: &EvictionEngine, now: Now) {
        const EVENT: HistoryEvent = HistoryEvent::RecordBegan;
        self.find_deleted(engine, (self.tracked(), ", since a time that is not recorded"), now);
        if !self.log.filter.is_detailed() {
            let stats = engine.stats();
            let message = format!(
                "Taintward knows {} and {}; {} have NoExecute taints, and {} count down",
                counted(stats.nodes, "node"),
                counted(stats.pods, "pod"),
                counted(stats.tainted_nodes, "node"),
                counted(stats.counting, "pod"),
            );
            return self.add_cluster(now, EVENT, message);
        }
        let named = self.log.filter.nodes.iter().map(|name| NodeName::new(name));
        let nodes: BTreeSet<NodeName> = named.chain(self.pods.values().map(|pod| pod.node.clone())).collect();
        for node in nodes {
            let message = match engine.node_uid(&node) {
                None => "does not exist".to_owned(),
                Some(_) => {
                    let taints = engine.node_taints(&node).iter().map(|instance| &instance.taint);
                    sentences::has_taints(taints)
                }
            };
            self.add_node(now, &node, EVENT, message);
        }
        for pod in self.tracked() {
            if let Some((_, verdict, taints)) = engine.explain(&pod, now) {
                let outcome = sentences::outcome(&pod.node, &verdict, taints, now);
                self.add_pod(now, &pod, EVENT, format!("runs on node {}, and {outcome}", pod.node));
            }
        }
    }

    /// Tells what due pods wait for, when that changes.
    fn find_delays(&mut self, engine: &EvictionEngine, now: Now) {
        if self.pods.is_empty() {
            return;
        }
        let mut begun = Vec::new();
        for delayed in engine.delayed() {
            let category = delayed.reason.category();
            if let Some(tracked) = self.pods.get_mut(&delayed.pod.uid)
                && tracked.delay.replace(category) != Some(category)
            {
                begun.push((delayed.pod.clone(), delayed.reason.to_string()));
            }
        }
        for (pod, reason) in begun {
            self.add_pod(now, &pod, HistoryEvent::EvictionDelayed, reason);
        }
    }

    fn countdown(&mut self, engine: &EvictionEngine, pod: &PodRef, event: HistoryEvent, now: Now) {
        if !self.pods.contains_key(&pod.uid) {
            return;
        }
        if let Some((_, verdict, taints)) = engine.explain(pod, now) {
            let outcome = sentences::outcome(&pod.node, &verdict, taints, now);
            self.add_pod(now, pod, event, outcome);
        }
    }

    /// Tells how the record goes on, at its begin and after a gap.
    fn report_begin(&mut self, engine: &EvictionEngine, begin: &SegmentBegin, now: Now) {
        self.track_all(engine, now);
        if let (SegmentBegin::Differs, Some(last)) = (begin, self.last) {
            let is_gap = now.wall >= last.wall.plus(GAP_MIN) || self.is_listing;
            if !is_gap {
                return;
            }
            let message = format!("nothing is recorded since {}", sentences::wall_time(last.wall, now));
            self.add_cluster(now, HistoryEvent::GapFound, message);
            // Times of another process mean nothing in this one.
            self.pods.values_mut().for_each(|pod| pod.request = None);
        }
        match self.is_listing {
            true => self.add_cluster(
                now,
                HistoryEvent::ListingBegan,
                "Taintward lists all nodes and pods".to_owned(),
            ),
            false => self.report_state(engine, now),
        }
    }
}

impl CallVisitor<EvictionEngine> for EvictionEntries {
    type Error = RecordError;

    fn begin(&mut self, engine: &EvictionEngine, followed: Option<&EvictionEngine>) {
        if followed == Some(engine) {
            return;
        }
        self.begin = Some(if followed.is_none() { SegmentBegin::First } else { SegmentBegin::Differs });
        self.is_listing = !engine.is_synced();
        self.ticked = None;
    }

    fn call(
        &mut self,
        engine: &mut EvictionEngine,
        call: RecordedCall<EvictionEngine>,
        now: Now,
    ) -> Result<(), RecordError> {
        if let Some(begin) = self.begin.take() {
            self.report_begin(engine, &begin, now);
        }
        self.last = Some(now);
        match call {
            EngineCall::Handle(input) => {
                self.input(engine, &input, now);
                let candidates = self.deletion_candidates(&input);
                engine.handle(input, now);
                self.find_deleted(engine, candidates, now);
                if self.is_listing && engine.is_synced() {
                    self.is_listing = false;
                    self.report_state(engine, now);
                }
            }
            EngineCall::Tick => {
                self.ticked = Some(now);
                engine.tick(now.mono);
            }
            EngineCall::Pull(lane, effect) => {
                engine.next_effect(lane, now);
                match effect {
                    Some(effect) => self.effect(&effect, now),
                    None => self.find_delays(engine, now),
                }
            }
            EngineCall::Notices(notices) => {
                engine.take_notices();
                notices.into_iter().for_each(|notice| self.notice(engine, notice, now));
            }
        }
        Ok(())
    }
}
