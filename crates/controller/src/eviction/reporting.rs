//! Reports the notices of the eviction engine: log lines, metrics and events.

use super::{EvictionController, brake_report};
use crate::controller::ReportSink;
use crate::controller_context::ControllerContext;
use crate::event_recorder::PodEvent;
use crate::eviction_messages;
use crate::metrics::{DeletionTimes, Queue, Sign};
use crate::settings::{ORIGINAL_OFF, WriteMode};
use crate::text_time::{length, moment};
use crate::time_added_writer::PendingTimestamp;
use taintward_core::eviction::{
    CancellationReason, EvictionEngine, EvictionNotice, EvictionReason, TaintImpact,
};
use taintward_core::identity::{NodeName, PodName, PodRef};
use taintward_core::taint::Taint;
use taintward_core::time::{Mono, Now};
use taintward_core::verdict::Outcome;

/// Reports the notices of one moment.
pub(super) struct EvictionReport<'a> {
    controller: &'a mut EvictionController,
    engine: &'a EvictionEngine,
    context: &'a ControllerContext,
    sink: &'a mut ReportSink,
    now: Now,
}

impl<'a> EvictionReport<'a> {
    pub(super) const fn new(
        controller: &'a mut EvictionController,
        engine: &'a EvictionEngine,
        context: &'a ControllerContext,
        sink: &'a mut ReportSink,
        now: Now,
    ) -> Self {
        Self { controller, engine, context, sink, now }
    }

    /// Reports one notice.
    pub(super) fn report(mut self, notice: EvictionNotice) {
        let now = self.now;
        match notice {
            EvictionNotice::Evicted { pod, reason } => self.report_evicted(&pod, &reason, now),
            EvictionNotice::BecameDue { pod, .. } => self.report_due(&pod, now),
            EvictionNotice::CountdownStarted { pod, until } => {
                self.report_countdown(&pod, until, "countdown started", now)
            }
            EvictionNotice::CountdownMoved { pod, until } => {
                self.report_countdown(&pod, until, "countdown moved", now)
            }
            EvictionNotice::CountdownCancelled { pod, name, reason, taint } => {
                self.report_cancelled(&pod, &name, reason, taint.as_deref())
            }
            EvictionNotice::CountdownsHeld { pods: 0 }
            | EvictionNotice::CountdownsResumed { pods: 0, .. } => {}
            EvictionNotice::CountdownsHeld { pods } => {
                tracing::warn!(
                    pods,
                    reason = "all zones are fully disrupted, or no node is observed",
                    "countdowns on hold"
                )
            }
            EvictionNotice::CountdownsResumed { held, pods } => {
                tracing::warn!(
                    pods,
                    held_seconds = held.as_secs_f64(),
                    "countdowns resumed, deadlines are later by at most held_seconds"
                )
            }
            EvictionNotice::BrakeBegan { key, node, nodes, limit } => brake_report::began(
                &key,
                (&node, self.engine.node_uid(&node)),
                (nodes, limit),
                self.sink,
                now,
            ),
            EvictionNotice::BrakeEnded { key, node, nodes, limit } => brake_report::ended(
                &key,
                (&node, self.engine.node_uid(&node)),
                (nodes, limit),
                self.sink,
                now,
            ),
            EvictionNotice::NodeTaintsChanged { node, impact } => self.report_impact(&node, &impact, now),
            EvictionNotice::UnsupportedToleration { pod } => self.report_not_understood(&pod, now),
            EvictionNotice::ResourceVersionWentBack => self.report_rewound(now.mono),
            EvictionNotice::OtherControllerDetected { pod } => {
                self.report_foreign(&pod, Sign::Condition, now)
            }
            EvictionNotice::EvictedByOther { pod } => self.report_foreign(&pod, Sign::Deletion, now),
            EvictionNotice::TaintWithoutTimeAdded { node, uid, key, at } => {
                if self.context.may_write()
                    && let Some(time_added) = &mut self.controller.time_added
                {
                    time_added.add(PendingTimestamp::new(node, uid, key, at));
                }
            }
        }
    }

    fn report_evicted(&mut self, pod: &PodRef, grounds: &EvictionReason, now: Now) {
        // A pod that was due before this process knew of it counts from when it did.
        let due = grounds.due.max(grounds.known_due);
        self.context.metrics.evictions.deleted(DeletionTimes {
            due,
            confirmed: grounds.confirmed,
            sent: grounds.decided,
            on_response: now.mono,
        });
        let (waited, worked) = (grounds.decided.since(due), now.mono.since(grounds.decided));
        self.context.metrics.queues.handled(Queue::Pod, waited, worked);
        if grounds.policy.as_ref().is_some_and(|policy| policy.is_forced) {
            self.context.metrics.eviction_policies.forced.inc();
        }
        let taint = grounds.taint.to_string();
        tracing::info!(
            pod = grounds.name.as_str(),
            uid = %pod.uid,
            node = pod.node.as_str(),
            taint,
            policy = grounds.policy.as_ref().map(|policy| &*policy.name),
            late_seconds = now.mono.since(due).as_secs_f64(),
            reason = eviction_messages::why(&pod.node, grounds, now),
            "pod evicted"
        );
        let note = eviction_messages::evicted(&pod.node, grounds, now);
        self.record(("Evict", "Marking for deletion"), pod, &grounds.name, note);
    }

    fn report_due(&mut self, pod: &PodRef, now: Now) {
        self.context.metrics.queues.added(Queue::Pod, false);
        if self.context.mode != WriteMode::Observe {
            return;
        }
        self.context.metrics.evictions.would_evict.inc();
        if !self.sink.lines.admit("would evict pod now", now.mono) {
            return;
        }
        if let Some((name, verdict, taints)) = self.engine.explain(pod, now) {
            let taint =
                verdict.decisive.and_then(|at| taints.get(at)).map(|instance| instance.taint.to_string());
            tracing::info!(
                pod = name.as_str(),
                uid = %pod.uid,
                node = pod.node.as_str(),
                taint,
                "would evict pod now"
            );
        }
    }

    fn report_countdown(&mut self, pod: &PodRef, until: Mono, message: &'static str, now: Now) {
        let observing = self.context.mode == WriteMode::Observe;
        let shown = observing || tracing::enabled!(tracing::Level::DEBUG);
        if !shown || !self.sink.lines.admit(message, now.mono) {
            return;
        }
        let Some((name, verdict, taints)) = self.engine.explain(pod, now) else { return };
        let taint = verdict.decisive.and_then(|at| taints.get(at)).map(|instance| instance.taint.to_string());
        let (name, node, until, left) =
            (name.as_str(), pod.node.as_str(), moment(until, now), length(until.since(now.mono)));
        match observing {
            true => tracing::info!(pod = name, node, taint, until, left, message),
            false => tracing::debug!(pod = name, node, taint, until, left, message),
        }
    }

    /// Logs what a node's taints do to its pods; in observe mode, each pod has a line of its own.
    fn report_impact(&mut self, node: &NodeName, impact: &TaintImpact, now: Now) {
        const MESSAGE: &str = "NoExecute taints of a node changed";
        if !self.context.may_write() || !self.sink.lines.admit(MESSAGE, now.mono) {
            return;
        }
        let taints = impact.taints.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let [first, last] =
            [impact.deadlines.map(|(first, _)| first), impact.deadlines.map(|(_, last)| last)]
                .map(|at| at.map(|at| moment(at, now)));
        tracing::info!(
            node = node.as_str(),
            taints,
            due = impact.due,
            counting = impact.counting,
            first,
            last,
            held = (impact.held > 0).then_some(impact.held),
            staying = impact.staying,
            message = MESSAGE
        );
    }

    /// Logs why a pod stays after all, and records an event if the pod continues to run.
    fn report_cancelled(
        &mut self,
        pod: &PodRef,
        name: &PodName,
        reason: CancellationReason,
        taint: Option<&Taint>,
    ) {
        let why = eviction_messages::why_cancelled(&pod.node, reason, taint);
        if self.sink.lines.admit("countdown cancelled", self.now.mono) {
            tracing::info!(
                pod = name.as_str(),
                uid = %pod.uid,
                node = pod.node.as_str(),
                taint = taint.map(ToString::to_string),
                reason = why,
                "countdown cancelled"
            );
        }
        let goes_on = !matches!(reason, CancellationReason::PodFinished | CancellationReason::PodDeleted);
        if goes_on && self.context.may_write() {
            let note = eviction_messages::cancelled(name, &why);
            self.record(("CancelEviction", "Cancelling deletion of"), pod, name, note);
        }
    }

    fn report_not_understood(&mut self, pod: &PodRef, now: Now) {
        const MESSAGE: &str = "pod stays: it has a toleration with an unsupported operator or effect";
        if !self.sink.lines.admit(MESSAGE, now.mono) {
            return;
        }
        let Some((name, verdict, _)) = self.engine.explain(pod, now) else { return };
        let toleration = verdict.reasons.iter().find_map(|reason| match reason.taint_match {
            taintward_core::toleration_matching::TaintMatch::Unsupported(position) => Some(position),
            _ => None,
        });
        debug_assert!(matches!(verdict.outcome, Outcome::Stays(_)), "what is not understood does not evict");
        tracing::warn!(
            pod = name.as_str(),
            uid = %pod.uid,
            node = pod.node.as_str(),
            toleration,
            message = MESSAGE
        );
    }

    /// Relists everything: after a restore of its store, the API server's watches do not report the difference.
    fn report_rewound(&mut self, now: Mono) {
        self.controller.relist_now.request();
        if let Some(withheld) = self.controller.relist_lines.take(now) {
            tracing::warn!(
                withheld,
                reason = "the API server's store may have been restored from a backup",
                "a live read contradicts the watches, listing all objects again"
            );
        }
    }

    /// Reports that another controller evicts pods. Only the leader does, so that it is counted once; only the leader
    /// can see which controller deletes.
    fn report_foreign(&mut self, pod: &PodRef, sign: Sign, now: Now) {
        if self.context.mode == WriteMode::Enforce && !self.context.may_write() {
            return;
        }
        self.context.metrics.evictions.other_controller.of(sign).inc();
        // Another client may have deleted one pod at just this moment, but not pod after pod.
        if sign == Sign::Deletion && self.controller.chance.take(now.mono).is_some() {
            return;
        }
        let Some(withheld) = self.controller.other_controller_lines.take(now.mono) else { return };
        let name = self.engine.explain(pod, now).map(|(name, ..)| name.to_string());
        let (uid, node) = (&pod.uid, pod.node.as_str());
        match self.context.mode {
            WriteMode::Observe => {
                tracing::info!(
                    pod = name,
                    %uid,
                    node,
                    withheld,
                    "another taint eviction controller is evicting a pod"
                );
            }
            WriteMode::Enforce => tracing::warn!(
                pod = name,
                %uid,
                node,
                withheld,
                remedy = format!("{ORIGINAL_OFF}, or start this controller with --mode=observe"),
                "another taint eviction controller also evicts pods"
            ),
        }
    }

    /// Records an event; without room for one per pod, there is one for the node.
    fn record(
        &mut self,
        (action, aggregated_note): (&'static str, &'static str),
        pod: &PodRef,
        name: &PodName,
        note: String,
    ) {
        self.sink.recorder.record_pod(PodEvent {
            node: pod.node.clone(),
            pod: name.clone(),
            uid: pod.uid.clone(),
            action,
            note,
            aggregated_note,
            at: self.now.wall,
        });
    }
}
