//! Tells what taint-eviction-controller observed: nodes, their NoExecute taints, and pods.

use super::super::entry::HistoryEvent;
use super::super::sentences;
use super::EvictionEntries;
use std::mem::replace;
use taintward_core::eviction::{EvictionEngine, EvictionInput};
use taintward_core::fact::{NodeFact, PodFact, PodLifePhase};
use taintward_core::identity::{PodRef, Uid};
use taintward_core::object_event::ObjectEvent;
use taintward_core::taint::Taint;
use taintward_core::time::Now;

impl EvictionEntries {
    pub(super) fn node_event(&mut self, engine: &EvictionEngine, event: &ObjectEvent<NodeFact>, now: Now) {
        match event {
            ObjectEvent::Applied { fact, listed } if self.includes_node(&fact.name) => {
                self.node_applied(engine, fact, *listed, now);
            }
            ObjectEvent::Deleted(object) if self.includes_node(&object.node_name()) => {
                let node = object.node_name();
                self.add_node(now, &node, HistoryEvent::NodeDeleted, "was deleted".to_owned());
            }
            ObjectEvent::Undecodable(object) if self.includes_node(&object.node_name()) => {
                let message = "cannot be decoded, so that its pods are not evicted".to_owned();
                self.add_node(now, &object.node_name(), HistoryEvent::NodeUndecodable, message);
            }
            _ => {}
        }
    }

    fn node_applied(&mut self, engine: &EvictionEngine, fact: &NodeFact, listed: bool, now: Now) {
        let is_same = engine.node_uid(&fact.name) == Some(&fact.uid);
        if !is_same {
            let taints = sentences::has_taints(sentences::no_execute(&fact.taints));
            let message = format!("was added, and {taints}");
            return self.add_node(now, &fact.name, HistoryEvent::NodeAdded, message);
        }
        let before: Vec<&Taint> = engine.node_taints(&fact.name).iter().map(|known| &known.taint).collect();
        let now_on: Vec<&Taint> = sentences::no_execute(&fact.taints).collect();
        let is_in = |taints: &[&Taint], taint: &Taint| {
            taints.iter().any(|one| one.is_same(taint) && one.value == taint.value)
        };
        let lost =
            before.iter().filter(|taint| !is_in(&now_on, taint)).map(|taint| format!("lost taint {taint}"));
        let got =
            now_on.iter().filter(|taint| !is_in(&before, taint)).map(|taint| format!("got taint {taint}"));
        let changes: Vec<String> = lost.chain(got).collect();
        if !changes.is_empty() {
            let listed = if listed { "; observed in a list, after the change" } else { "" };
            let message = changes.join(", ") + listed;
            self.add_node(now, &fact.name, HistoryEvent::TaintsChanged, message);
        }
    }

    pub(super) fn pod_event(&mut self, engine: &EvictionEngine, event: &ObjectEvent<PodFact>, now: Now) {
        match event {
            ObjectEvent::Applied { fact, listed } => self.pod_applied(engine, fact, *listed, now),
            ObjectEvent::Undecodable(object) => {
                if let Some(pod) = object.uid.as_ref().and_then(|uid| self.known(uid)) {
                    let message = "cannot be decoded, so that it is not evicted".to_owned();
                    self.add_pod(now, &pod, HistoryEvent::PodUndecodable, message);
                }
            }
            ObjectEvent::ListStarted { .. }
            | ObjectEvent::Deleted(_)
            | ObjectEvent::ListCompleted
            | ObjectEvent::ListAborted => {}
        }
    }

    fn pod_applied(&mut self, engine: &EvictionEngine, fact: &PodFact, listed: bool, now: Now) {
        let (uid, name) = (fact.id.uid(), fact.id.name());
        let pod = PodRef { node: fact.node.clone(), uid: uid.clone() };
        let is_tracked = self.pods.contains_key(uid);
        if !is_tracked && !self.log.filter.names_pod(name, &fact.node) {
            return;
        }
        let is_listing = self.is_listing;
        let tracked = self.track(engine, pod.clone(), name, now);
        let tolerations = tracked.tolerations.replace(fact.tolerations.clone());
        let life_phase = replace(&mut tracked.life_phase, fact.life_phase);
        let is_evicted = tracked.is_evicted;
        if is_listing {
            return;
        }
        if !is_tracked {
            let listed = if listed { "; observed in a list, afterwards" } else { "" };
            let message = format!("was bound to node {}{listed}", fact.node);
            self.add_pod(now, &pod, HistoryEvent::PodBound, message);
        }
        if life_phase != fact.life_phase {
            let (event, message) = match fact.life_phase {
                PodLifePhase::Live => (HistoryEvent::PodBound, "runs again"),
                PodLifePhase::Finished => (HistoryEvent::PodFinished, "has succeeded or failed"),
                PodLifePhase::Terminating if is_evicted => (HistoryEvent::PodTerminating, "is terminating"),
                PodLifePhase::Terminating => {
                    (HistoryEvent::PodTerminating, "is terminating: another client deleted it")
                }
            };
            self.add_pod(now, &pod, event, message.to_owned());
        }
        if tolerations.is_some_and(|before| before != fact.tolerations) {
            self.add_pod(now, &pod, HistoryEvent::TolerationsChanged, "has other tolerations now".to_owned());
        }
    }

    fn known(&self, uid: &Uid) -> Option<PodRef> {
        self.pods.get(uid).map(|pod| pod.reference(uid))
    }

    /// The pods that this event may remove, and what is added to their entries.
    pub(super) fn deletion_candidates(&self, input: &EvictionInput) -> (Vec<PodRef>, &'static str) {
        match input {
            EvictionInput::Pods(ObjectEvent::Deleted(object)) => {
                (object.uid.iter().filter_map(|uid| self.known(uid)).collect(), "")
            }
            EvictionInput::Pods(ObjectEvent::ListCompleted) if !self.is_listing => {
                (self.tracked(), "; a list lacks it")
            }
            _ => (Vec::new(), ""),
        }
    }

    /// Tells which of these pods are gone.
    pub(super) fn find_deleted(
        &mut self,
        engine: &EvictionEngine,
        (candidates, how): (Vec<PodRef>, &str),
        now: Now,
    ) {
        for pod in candidates.into_iter().filter(|pod| engine.explain(pod, now).is_none()) {
            let by = match self.pods.get(&pod.uid) {
                Some(tracked) if tracked.is_evicted || tracked.life_phase == PodLifePhase::Terminating => "",
                _ => ": another client deleted it",
            };
            self.add_pod(now, &pod, HistoryEvent::PodDeleted, format!("is gone{by}{how}"));
            self.pods.remove(&pod.uid);
        }
    }
}
