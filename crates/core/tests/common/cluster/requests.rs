//! Carries out requests of the engine against the simulated cluster: live reads and conditional writes.
//!
//! - Panics if a DELETE is committed that must not be (S1, S2, S3, S10).

use super::{ClusterNode, ClusterPod, Deleted, HoldTimes, ModelCluster, NodeTaint, SECOND, id_of, truncated};
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::LiveRead;
use taintward_core::fact::{NodeFact, PodFact, PodLifePhase};
use taintward_core::identity::PodRef;
use taintward_core::identity::{NodeName, PodName, ResourceVersion};
use taintward_core::taint::TaintEffect;
use taintward_core::testkit::node;
use taintward_core::toleration::TolerationOperator;

impl ModelCluster {
    pub fn read_node(&self, name: &NodeName) -> LiveRead<NodeFact> {
        let Some(stored) = self.nodes.get(&id_of(name.as_str())) else { return LiveRead::NotFound };
        if stored.unreadable {
            return LiveRead::Undecodable;
        }
        let unstamped =
            |held: &NodeTaint| held.taint.effect == TaintEffect::NoExecute && held.taint.time_added.is_none();
        LiveRead::Found(NodeFact {
            uid: stored.uid.clone(),
            created: Some(truncated(stored.created)),
            taints: stored.taints.iter().map(|held| held.taint.clone()).collect(),
            taints_changed: stored.taints.iter().any(unstamped).then(|| truncated(stored.changed)),
            ..node(name.as_str()).at_version(stored.version)
        })
    }

    pub fn read_pod(&self, name: &PodName) -> LiveRead<PodFact> {
        match self.pods.get(&id_of(name.name())) {
            None => LiveRead::NotFound,
            Some(pod) if pod.unreadable => LiveRead::Undecodable,
            Some(pod) => LiveRead::Found(pod.fact.clone()),
        }
    }

    fn demand(
        &self,
        pod: &PodRef,
        name: &PodName,
        version: Option<ResourceVersion>,
    ) -> Result<u8, ApiFailure> {
        let id = id_of(name.name());
        let truth = &self.pods.get(&id).ok_or(ApiFailure::NotFound)?.fact;
        match *truth.id.uid() == pod.uid && (version.is_none() || version == truth.version) {
            true => Ok(id),
            false => Err(ApiFailure::Conflict),
        }
    }

    pub fn set_mark(
        &mut self,
        pod: &PodRef,
        name: &PodName,
        version: Option<ResourceVersion>,
        on: bool,
    ) -> Result<Option<ResourceVersion>, ApiFailure> {
        let id = self.demand(pod, name, version)?;
        if self.pods[&id].fact.marked != on {
            self.edit_pod(id, |pod| pod.fact.marked = on);
        }
        Ok(self.pods[&id].fact.version)
    }

    /// Commits a DELETE, if its preconditions hold and nothing forbids it.
    pub fn delete(
        &mut self,
        pod: &PodRef,
        name: &PodName,
        version: Option<ResourceVersion>,
    ) -> Result<(), ApiFailure> {
        let id = self.demand(pod, name, version)?;
        if self.pods[&id].half_deleted {
            // Not an eviction: a deletion in progress is completed.
            self.remove_pod(id);
            return Ok(());
        }
        self.note();
        let truth = self.pods[&id].clone();
        let oldest = self.now - self.window;
        let justified = truth.justified.is_some_and(|at| at >= oldest);
        let excused = version.is_none() && self.was_due_in_pieces(&truth, oldest);
        assert!(justified || excused, "S2, S3: {name} deleted at {}: {truth:?} {:?}", self.now, self.nodes);
        assert!(
            truth.fact.life_phase != PodLifePhase::Terminating || version.is_none(),
            "S10: {name} is terminating already"
        );
        let due = self.due(id);
        self.deleted.push(Deleted { uid: pod.uid.clone(), at: self.now, due });
        match truth.lingers {
            true => self.edit_pod(id, |pod| pod.fact.life_phase = PodLifePhase::Terminating),
            false => self.remove_pod(id),
        }
        Ok(())
    }

    /// Commits the first half of a DELETE, without a watch event.
    pub fn half_delete(&mut self, pod: &PodRef, name: &PodName, version: Option<ResourceVersion>) {
        let Ok(id) = self.demand(pod, name, version) else { return };
        if self.pods[&id].lingers || self.pods[&id].half_deleted {
            return;
        }
        self.edit_pod(id, |pod| pod.lingers = true);
        let now = self.pods[&id].fact.version;
        if self.delete(pod, name, version.and(now)).is_ok() {
            self.edit_pod(id, |pod| pod.half_deleted = true);
        }
    }

    pub fn is_half_deleted(&self, name: &PodName) -> bool {
        self.pods.get(&id_of(name.name())).is_some_and(|pod| pod.half_deleted)
    }

    /// Whether the pod at one moment of the window and its node at another made it due: a DELETE with only the UID as
    /// precondition cannot know more.
    fn was_due_in_pieces(&self, pod: &ClusterPod, oldest: i64) -> bool {
        let past = || self.past.iter().filter(|(until, ..)| *until >= oldest);
        let pods = past().filter_map(|(.., pod)| pod.as_ref()).chain([pod]);
        let pods: Vec<_> = pods.filter(|then| *then.fact.id.uid() == *pod.fact.id.uid()).collect();
        let nodes = past().filter_map(|(_, node, _)| node.as_ref());
        let nodes: Vec<_> = nodes.chain(self.nodes.get(&id_of(pod.fact.node.as_str()))).collect();
        let holds = self.past_holds.iter().filter(|(until, _)| *until >= oldest).map(|(_, hold)| hold);
        holds.chain([&self.hold]).any(|hold| {
            let is_due = |pod, node| due(pod, node, hold).is_some_and(|due| due <= self.now);
            pods.iter().any(|pod| nodes.iter().any(|node| is_due(pod, node)))
        })
    }

    /// When a pod is due by the true state alone; `None`: it stays.
    pub fn due(&self, id: u8) -> Option<i64> {
        let pod = self.pods.get(&id)?;
        due(pod, self.nodes.get(&id_of(pod.fact.node.as_str()))?, &self.hold)
    }
}

/// The plain rule: each NoExecute taint, each toleration in order, the first that matches (MATCH-9, TE-17, D1, D6,
/// D7, D11, NL-48).
fn due(pod: &ClusterPod, node: &ClusterNode, hold: &HoldTimes) -> Option<i64> {
    if pod.unreadable || node.unreadable || pod.fact.mirror || pod.fact.life_phase != PodLifePhase::Live {
        return None;
    }
    let evicting = node.taints.iter().filter(|held| held.taint.effect == TaintEffect::NoExecute);
    let spent = |held: &NodeTaint| hold.spent(&held.taint.key, held.since.max(pod.arrived));
    evicting.filter_map(|held| Some(due_for(pod, held)?.saturating_add(spent(held)?))).min()
}

fn due_for(pod: &ClusterPod, held: &NodeTaint) -> Option<i64> {
    let from = held.since.max(pod.arrived);
    for toleration in &pod.fact.tolerations {
        let (effect, operator) = (&toleration.effect, &toleration.operator);
        if !matches!(effect, None | Some(TaintEffect::NoExecute | TaintEffect::Unknown(_))) {
            continue;
        }
        if matches!(operator, TolerationOperator::Unknown(_)) {
            return None;
        }
        let names = toleration.key.is_empty() || toleration.key == held.taint.key;
        let any_value = *operator == TolerationOperator::Exists;
        let compares = matches!(operator, TolerationOperator::Unset | TolerationOperator::Equal);
        if names && (any_value || compares && toleration.value == held.taint.value) {
            let understood = !matches!(effect, Some(TaintEffect::Unknown(_)));
            let left = toleration.seconds.filter(|_| understood)?;
            return Some(from.saturating_add(left.max(0).saturating_mul(SECOND)));
        }
    }
    Some(from)
}
