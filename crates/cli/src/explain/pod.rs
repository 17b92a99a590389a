//! Explains a pod: its verdict, and for each taint of its node the toleration that matches.
//!
//! - See `pod/blockers.rs` for what blocks it, `pod/ending.rs` for how it ended, `pod/scheduling_hold.rs` and
//!   `pod/possible_nodes.rs` for a pod without a node, `pod/missing_pod.rs` for a deleted one, `pod/workload.rs` for all
//!   pods of a workload.

mod blockers;
mod ending;
mod missing_pod;
mod pod_object;
mod pod_text;
mod possible_nodes;
mod scheduling_hold;
mod taint_explanation;
mod workload;

use super::taint_description::{ShownMeanings, TaintDescription};
use super::target::{Target, TargetKind};
use super::{ExplainContext, Explanation, ExplanationResult};
use crate::active_controllers::RestartedCountdown;
use crate::cluster_state::details::{EventDetails, PodDetails};
use crate::held_pod;
use crate::messages::{self, at_moment};
use crate::output::PrintOptions;
use serde_json::Value;
use taint_explanation::TaintExplanation;
use taintward_core::cluster_snapshot::{ClusterSnapshot, SnapshotPod, Workload};
use taintward_core::taint::{Taint, TaintEffect};
use taintward_core::time::{Mono, Now};
use taintward_core::toleration::Toleration;
use taintward_core::toleration_matching::{self, TaintMatch};
use taintward_core::verdict::{EvictionExemption, Outcome, StayReason, TaintInstance, TaintReason, Verdict};
use taintward_kube::hold_request::{self, HOLD};

/// Where a pod is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PodLocation<'s> {
    /// On this node, by its index.
    On(usize),
    /// On a node that does not exist.
    Absent(&'s str),
    /// On an unknown node.
    Unknown(&'s str),
    /// On no node.
    Nowhere,
}

/// A pod and its explanation.
struct PodExplanation<'s> {
    context: &'s ExplainContext,
    details: &'s PodDetails,
    /// The pod as verdicts see it; `None` if its node is unknown, or the pod could not be decoded.
    pod: Option<&'s SnapshotPod>,
    place: PodLocation<'s>,
    /// The node's NoExecute taints, and the controller's decision.
    judged: Option<(Vec<TaintInstance>, Verdict)>,
}

/// The explanation of a pod, also of a deleted one, or of the pods of a workload.
pub(super) fn explain<'s>(context: &'s ExplainContext, target: &'s Target) -> ExplanationResult<'s> {
    if let TargetKind::Workload(owner) = target.kind {
        return workload::explain(context, owner, target);
    }
    let name = target.name.as_str();
    let named: Vec<_> = context.related.details.pods.iter().filter(|pod| pod.name == name).collect();
    match named[..] {
        [details] => Ok(Box::new(PodExplanation::of(context, details))),
        [] if context.related.gone.contains(name) => missing_pod::explain(context, name),
        [] => Err(format!("cannot explain pod {name}, because it could not be read; fix the errors above")),
        _ => {
            let spaces: Vec<&str> = named.iter().map(|pod| pod.namespace.as_str()).collect();
            Err(format!(
                "pods named {name} exist in several namespaces: {}; choose one with -n",
                spaces.join(", ")
            ))
        }
    }
}

/// The NoExecute taints because of which a pod is due; empty if it is not.
pub(super) fn due_taints(snapshot: &ClusterSnapshot, pod: &SnapshotPod) -> Vec<TaintInstance> {
    let Some(node) = pod.node else { return Vec::new() };
    let instances = snapshot.instances(node as usize);
    let verdict = snapshot.judge(pod, &instances);
    if !matches!(verdict.outcome, Outcome::Leaves { .. }) {
        return Vec::new();
    }
    let is_due = |reason: &TaintReason| reason.due.is_some_and(|due| due <= snapshot.now().mono);
    let judged = instances.into_iter().zip(verdict.reasons);
    judged.filter(|(_, reason)| is_due(reason)).map(|(instance, _)| instance).collect()
}

impl Explanation for PodExplanation<'_> {
    fn name(&self) -> String {
        format!("pod/{}", self.details.name)
    }

    fn text(&self, view: &PrintOptions, shown: &mut ShownMeanings, text: &mut String) {
        pod_text::text(self, view, shown, text);
    }

    fn object(&self) -> Value {
        pod_object::object(self)
    }
}

impl<'s> PodExplanation<'s> {
    fn of(context: &'s ExplainContext, details: &'s PodDetails) -> Self {
        let snapshot = context.snapshot();
        let is_it =
            |pod: &&SnapshotPod| pod.name.name() == details.name && pod.name.namespace() == details.namespace;
        let pod = snapshot.pods().iter().find(is_it);
        let place = match details.node.as_str() {
            "" => PodLocation::Nowhere,
            node => match snapshot.node_at(node) {
                Some(at) => PodLocation::On(at),
                None if context.related.absent.contains(node) => PodLocation::Absent(node),
                None => PodLocation::Unknown(node),
            },
        };
        let judged = match (pod, place) {
            (Some(pod), PodLocation::On(node)) => {
                let instances = snapshot.instances(node);
                let verdict = snapshot.judge(pod, &instances);
                Some((instances, verdict))
            }
            _ => None,
        };
        Self { context, details, pod, place, judged }
    }

    /// The first taint to evict the pod.
    fn decisive_taint(&self) -> Option<String> {
        let taint = self.parts().into_iter().find(|part| part.decisive)?;
        Some(taint.instance.taint.to_string())
    }

    fn snapshot(&self) -> &'s ClusterSnapshot {
        self.context.snapshot()
    }

    fn now(&self) -> Now {
        self.snapshot().now()
    }

    /// The events about this pod, and those about the last earlier pod of its name.
    fn events(&self) -> (Vec<&'s EventDetails>, Vec<&'s EventDetails>) {
        let PodDetails { namespace, name, uid, .. } = self.details;
        let all = self.context.events(Some(namespace), name);
        let is_own = |event: &&EventDetails| event.uid.is_empty() || uid.is_empty() || event.uid == *uid;
        let (own, mut earlier): (Vec<_>, Vec<_>) = all.into_iter().partition(is_own);
        let last = earlier.last().map(|event| event.uid.clone());
        earlier.retain(|event| Some(&event.uid) == last.as_ref());
        (own, earlier)
    }

    /// The reason that an administrator gave for a hold of its node.
    fn hold_reason(&self) -> Option<String> {
        let node = self.context.related.details.nodes.get(&self.details.node)?;
        hold_request::decode_reason(node.annotations.get(HOLD)?)
    }

    /// When kube-controller-manager evicts a guarded pod at the latest.
    fn ceiling(&self) -> Option<Mono> {
        let (instances, _) = self.judged.as_ref()?;
        self.snapshot().ceiling(self.pod?, instances)
    }

    /// The sentence about a countdown that kube-controller-manager does not remember.
    fn restarted(&self) -> Option<String> {
        let (_, verdict) = self.judged.as_ref()?;
        let reason = &verdict.reasons[verdict.decisive?];
        let restarted = self.context.controllers.as_ref()?.restarted(reason.counts_from, self.leaves()?)?;
        Some(format!(
            "kube-controller-manager became the leader at {}, after this countdown began, and counts from then: it evicts \
             the pod at about {}.",
            at_moment(self.now(), restarted.leader_since),
            at_moment(self.now(), restarted.expected_at)
        ))
    }

    /// By when Taintward evicts it, if the deadline is not exact.
    fn latest(&self) -> Option<RestartedCountdown> {
        let (_, verdict) = self.judged.as_ref()?;
        let reason = &verdict.reasons[verdict.decisive?];
        self.context.controllers.as_ref()?.read_late(reason.counts_from, self.leaves()?)
    }

    /// The sentence about a deadline that is not exact.
    fn late(&self) -> Option<String> {
        let (latest, at) = (self.latest()?, |moment| at_moment(self.now(), moment));
        Some(format!(
            "Taintward became the leader at {}, after this countdown began, so it may have read its start from objects, \
             which name whole seconds of other clocks: it evicts the pod by {}, at the latest.",
            at(latest.leader_since),
            at(latest.expected_at)
        ))
    }

    /// The sentence about its hold or guard.
    fn record(&self) -> Option<String> {
        let why = self.hold_reason();
        held_pod::sentence(&self.pod?.record, self.ceiling(), why.as_deref(), self.now())
    }

    fn tolerations(&self) -> &'s [Toleration] {
        self.pod.map_or(&[], |pod| &self.snapshot().shape(pod).spec.tolerations)
    }

    fn outcome(&self) -> Option<Outcome> {
        self.judged.as_ref().map(|(_, verdict)| verdict.outcome)
    }

    /// Its owner; a pod without an owner stands for itself.
    fn workload(&self) -> Option<&'s Workload> {
        Some(&self.snapshot().workloads()[self.pod?.workload as usize])
    }

    /// The NoExecute taints, in the node's order.
    fn parts(&self) -> Vec<TaintExplanation<'_>> {
        let Some((instances, verdict)) = &self.judged else { return Vec::new() };
        let both = instances.iter().zip(&verdict.reasons).enumerate();
        both.map(|(at, (instance, reason))| self.part(instance, reason, verdict.decisive == Some(at)))
            .collect()
    }

    fn part<'p>(
        &'p self,
        instance: &'p TaintInstance,
        reason: &'p TaintReason,
        decisive: bool,
    ) -> TaintExplanation<'p> {
        let (tolerations, numeric, taint) = (self.tolerations(), self.snapshot().numeric(), &instance.taint);
        let (nearest, longer) = match reason.taint_match {
            TaintMatch::Untolerated => (toleration_matching::nearest(tolerations, taint, numeric), None),
            TaintMatch::Tolerated(used) => {
                (None, toleration_matching::more_patient(tolerations, used, taint, numeric))
            }
            TaintMatch::Unsupported(_) => (None, None),
        };
        let description = TaintDescription::of(self.context, &self.details.node, taint, instance.start);
        let exemption = self.pod.and_then(|pod| pod.exemption);
        let decisive = decisive && exemption.is_none();
        TaintExplanation { instance, reason, tolerations, nearest, longer, exemption, decisive, description }
    }

    /// The node's other taints, and whether the pod tolerates each.
    fn others(&self) -> Vec<(&'s Taint, bool)> {
        let PodLocation::On(node) = self.place else { return Vec::new() };
        let (tolerations, numeric) = (self.tolerations(), self.snapshot().numeric());
        let others = self.snapshot().nodes()[node].fact.taints.iter();
        let bears = |taint| {
            matches!(toleration_matching::match_taint(tolerations, taint, numeric), TaintMatch::Tolerated(_))
        };
        others
            .filter(|taint| taint.effect != TaintEffect::NoExecute)
            .map(|taint| (taint, bears(taint)))
            .collect()
    }

    /// The forecast for the pod, in a sentence.
    fn summary(&self) -> String {
        let Some((instances, verdict)) = &self.judged else { return self.unjudged() };
        let why = |at: usize| {
            messages::leaves_because(&instances[at], verdict.reasons[at].taint_match, self.tolerations())
        };
        match (verdict.outcome, verdict.decisive) {
            (Outcome::Stays(StayReason::Exempt(EvictionExemption::Terminating)), _) => {
                "It is already being deleted; taints have no further effect on it.".to_owned()
            }
            (Outcome::Stays(StayReason::Exempt(exemption)), _) => {
                format!("Taints do not evict it: it {}.", messages::exempt(exemption))
            }
            (Outcome::Stays(StayReason::OnHold), _) => format!("It {}.", self.why()),
            (Outcome::Stays(_), _) => format!("It stays: {}.", self.why()),
            (Outcome::StaysUntil(until), Some(at)) => {
                format!("It is evicted at {}: it {}.", at_moment(self.now(), until), why(at))
            }
            (Outcome::Leaves { due }, Some(at)) => {
                format!("It has been due for eviction since {}: it {}.", at_moment(self.now(), due), why(at))
            }
            (Outcome::StaysUntil(_) | Outcome::Leaves { .. }, None) => {
                unreachable!("a taint decides whenever a pod leaves")
            }
        }
    }

    /// The same in a few words, for a list.
    fn why(&self) -> String {
        let Some((instances, verdict)) = &self.judged else {
            return match self.place {
                PodLocation::Nowhere => scheduling_hold::why(self.details),
                PodLocation::Absent(_) => "its node no longer exists".to_owned(),
                PodLocation::Unknown(_) => "its node is unknown".to_owned(),
                PodLocation::On(_) => "could not be read".to_owned(),
            };
        };
        match (verdict.outcome, verdict.decisive) {
            (Outcome::Stays(stay), _) => {
                let pod = self.pod.expect("only a pod of the snapshot is judged");
                messages::stays_because(stay, verdict, (self.snapshot(), pod), instances)
            }
            (_, Some(at)) => {
                messages::leaves_because(&instances[at], verdict.reasons[at].taint_match, self.tolerations())
            }
            (_, None) => unreachable!("a taint decides whenever a pod leaves"),
        }
    }

    /// Its deadline.
    fn leaves(&self) -> Option<Mono> {
        match self.outcome()? {
            Outcome::StaysUntil(at) | Outcome::Leaves { due: at } => Some(at),
            Outcome::Stays(_) => None,
        }
    }

    fn unjudged(&self) -> String {
        match self.place {
            PodLocation::Absent(node) => format!(
                "Its node {node} no longer exists, so taints do not apply. The pod garbage collector of Kubernetes \
                 deletes pods of nodes that no longer exist."
            ),
            PodLocation::Unknown(node) => {
                format!("Its node {node} could not be read, so the effect of its taints is unknown.")
            }
            PodLocation::On(_) => "It could not be decoded, so it is not evicted.".to_owned(),
            PodLocation::Nowhere if self.details.is_over() => {
                "It has no node and has finished: taints do not apply.".to_owned()
            }
            PodLocation::Nowhere => scheduling_hold::summary(self.details),
        }
    }
}
