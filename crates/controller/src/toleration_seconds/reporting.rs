//! Reports the notices of holds and backfill: log lines, events of pods, and counts.

use crate::controller::ReportSink;
use crate::controller_context::ControllerContext;
use crate::text_time::moment;
use taintward_core::identity::{NodeName, PodId};
use taintward_core::time::Now;
use taintward_core::toleration_guard::UnrecordedCause;
use taintward_core::toleration_seconds::{LimitChange, LimitExceeded, LimitScope, TolerationSecondsNotice};
use taintward_kube::events::{Event, EventReporter, Regarding};

/// Reports one notice.
pub(super) fn report(
    notice: TolerationSecondsNotice,
    context: &ControllerContext,
    sink: &mut ReportSink,
    now: Now,
) {
    match notice {
        TolerationSecondsNotice::Synced { nodes, pods } => {
            tracing::info!(nodes, pods, "toleration seconds synced")
        }
        TolerationSecondsNotice::PodHeld { pod, node, until } => {
            context.metrics.holds.cleared.inc();
            let until = moment(now.mono_of(until), now);
            if sink.lines.admit("pod held", now.mono) {
                tracing::info!(pod = %pod.name(), uid = %pod.uid(), node = %node, until, "pod held");
            }
            let note = format!("The countdown of Pod {} is on hold until {until} at the latest", pod.name());
            sink.recorder.record(event(("TolerationHeld", "Holding"), &pod, node, note, now));
        }
        TolerationSecondsNotice::SecondsContested { pod, node } => {
            const MESSAGE: &str =
                "another writer changed tolerationSeconds or the annotation of a held or guarded pod";
            if sink.lines.admit(MESSAGE, now.mono) {
                let remedy = "stop that writer from changing these pods; the controller undoes each change after a pause \
                              of 5 s to 30 s";
                tracing::warn!(pod = %pod.name(), uid = %pod.uid(), node = %node, remedy, message = MESSAGE);
            }
        }
        TolerationSecondsNotice::PodReleased { pod, node, seconds } => {
            context.metrics.holds.given_back.inc();
            if sink.lines.admit("pod released", now.mono) {
                tracing::info!(pod = %pod.name(), uid = %pod.uid(), node = %node, seconds, "pod released");
            }
            let note = format!("Pod {} has tolerationSeconds again: {seconds}", pod.name());
            sink.recorder.record(event(("TolerationReleased", "Releasing"), &pod, node, note, now));
        }
        TolerationSecondsNotice::PodBackfilled { pod, node } => {
            context.metrics.backfill.patched.inc();
            if sink.lines.admit("pod backfilled", now.mono) {
                tracing::info!(pod = %pod.name(), uid = %pod.uid(), node = %node, "pod backfilled");
            }
        }
        TolerationSecondsNotice::PodGuarded { pod, node, is_guarded } => {
            context.metrics.guard.patched.inc();
            if sink.lines.admit("pod guarded", now.mono) {
                let message = if is_guarded { "pod has a ceiling" } else { "pod has its own seconds again" };
                tracing::info!(pod = %pod.name(), uid = %pod.uid(), node = %node, message);
            }
        }
        TolerationSecondsNotice::LimitChanged(LimitChange::Exceeded(exceeded)) => {
            let LimitExceeded { scope, silent, nodes, allowed, until, .. } = exceeded;
            let (scope, until) = (scope_name(&scope), moment(now.mono_of(until), now));
            tracing::warn!(
                scope,
                silent,
                nodes,
                allowed,
                until,
                "more nodes are silent than --hold-limit allows, so the controller holds their pods"
            );
        }
        TolerationSecondsNotice::LimitChanged(LimitChange::Kept(scope)) => {
            tracing::info!(
                scope = scope_name(&scope),
                "the number of silent nodes is within --hold-limit again"
            );
        }
        TolerationSecondsNotice::RecordMissing { pod, node, cause } => {
            missing_record(&pod, &node, cause, sink, now);
        }
        TolerationSecondsNotice::RecordUndecodable(pod) => {
            const MESSAGE: &str = "cannot decode an annotation of a held or guarded pod, skipping the pod";
            if sink.lines.admit(MESSAGE, now.mono) {
                let remedy = "correct the annotation taintward.io/held or taintward.io/guard, or remove it and set \
                              tolerationSeconds yourself";
                tracing::warn!(pod = %pod.name(), uid = %pod.uid(), remedy, message = MESSAGE);
            }
        }
    }
}

/// Reports a pod that keeps what it has because its record is gone.
fn missing_record(pod: &PodId, node: &NodeName, cause: UnrecordedCause, sink: &mut ReportSink, now: Now) {
    let kept = match cause {
        UnrecordedCause::Hold => "without tolerationSeconds",
        UnrecordedCause::Guard => "with the ceiling of its namespace",
    };
    if sink.lines.admit("pod kept without its own seconds", now.mono) {
        let remedy = "recreate the pod, or set the tolerationSeconds that its template or policy says";
        tracing::warn!(pod = %pod.name(), uid = %pod.uid(), node = %node, kept, remedy, "pod kept without its own seconds");
    }
    let note = format!(
        "Another client removed the annotation of Pod {} while no controller ran: the pod stays {kept}",
        pod.name()
    );
    let missing = event(("TolerationRecordMissing", "Checking"), pod, node.clone(), note, now);
    sink.recorder.record(Event { warning: true, ..missing });
}

fn scope_name(scope: &LimitScope) -> String {
    match scope {
        LimitScope::Cluster => "cluster".to_owned(),
        LimitScope::Zone(zone) => format!("zone {zone}"),
    }
}

fn event(
    (reason, action): (&'static str, &str),
    pod: &PodId,
    node: NodeName,
    note: String,
    now: Now,
) -> Event {
    Event {
        reporter: EventReporter::holds(reason),
        regarding: Regarding::Pod(pod.name().clone(), pod.uid().clone()),
        action: action.into(),
        note,
        warning: false,
        related: Some(node),
        at: now.wall,
        count: 1,
    }
}
