//! Reports the notices of the node lifecycle engine: log lines, metrics and events.
//!
//! - See the core's `node_lifecycle/event_messages.rs` for upstream's events.

use crate::controller::ReportSink;
use crate::controller_context::ControllerContext;
use crate::metrics::ControllerMetrics;
use crate::text_time::{length, moment};
use crate::write_log::WriteLogLimits;
use taintward_core::identity::{PodName, PodRef};
use taintward_core::node_lifecycle::{
    ManagedTaints, NodeLifecycleEngine, NodeLifecycleNotice, NodeRef, TaintCause, TaintRate, ZoneKey,
    ZoneState,
};
use taintward_core::time::{Mono, Now, Span};
use taintward_kube::events::Event;

/// The largest number of zones that are named at start.
const ZONES_NAMED: usize = 50;

/// Reports one notice. Only the replica that may write records the events, so that each is recorded once.
pub(super) fn report(
    notice: &NodeLifecycleNotice,
    context: &ControllerContext,
    sink: &mut ReportSink,
    now: Now,
) {
    log(notice, &mut sink.lines, now, &context.metrics);
    if let Some(event) = event(notice, now).filter(|_| context.may_write()) {
        sink.recorder.record(event);
    }
}

fn log(notice: &NodeLifecycleNotice, lines: &mut WriteLogLimits, now: Now, metrics: &ControllerMetrics) {
    match notice {
        NodeLifecycleNotice::Tainted { node, zone, add, remove, why } => {
            let is_not_ready = matches!(why, TaintCause::NotReady | TaintCause::Silent { .. });
            if is_not_ready && !add.no_execute().is_empty() {
                metrics.node_health.evicted(zone.as_str());
            }
            log_taints("node tainted", node, zone, (*add, *remove), *why, now);
        }
        NodeLifecycleNotice::Declared { node, silent_since } => tracing::warn!(
            node = node.name.as_str(),
            uid = %node.uid,
            reason = cause_text(TaintCause::Silent { since: *silent_since }, now),
            "conditions of node set to Unknown"
        ),
        NodeLifecycleNotice::WouldTaint { node, zone, add, remove, why } => {
            if !add.no_execute().is_empty() {
                metrics.node_health.would_taint.inc();
            }
            const MESSAGE: &str = "would taint node now";
            if lines.admit(MESSAGE, now.mono) {
                log_taints(MESSAGE, node, zone, (*add, *remove), *why, now);
            }
        }
        NodeLifecycleNotice::WouldDeclare { node, silent_since } => {
            if lines.admit("would set conditions of node to Unknown now", now.mono) {
                tracing::info!(
                    node = node.name.as_str(),
                    uid = %node.uid,
                    reason = cause_text(TaintCause::Silent { since: *silent_since }, now),
                    "would set conditions of node to Unknown now"
                );
            }
        }
        NodeLifecycleNotice::EverythingDown(true) => {
            tracing::warn!("all zones are down, so the controller removes NoExecute taints and adds none")
        }
        NodeLifecycleNotice::EverythingDown(false) => {
            tracing::info!("a zone is no longer fully disrupted: each silent node gets a new grace period")
        }
        NodeLifecycleNotice::HoldCountdowns(true) => {
            tracing::warn!(
                reason = "all zones are fully disrupted, or no node is observed",
                "countdowns for node health on hold"
            );
        }
        NodeLifecycleNotice::HoldCountdowns(false) => tracing::info!("countdowns for node health resumed"),
        NodeLifecycleNotice::ZoneChanged { zone, from, to } => {
            let (zone, from, to) = (zone.to_string(), state_text(*from), state_text(*to));
            if lines.admit("zone changed", now.mono) {
                tracing::warn!(zone, from, to, "zone changed");
            }
        }
        NodeLifecycleNotice::NotUnderstood(node) => {
            const MESSAGE: &str = "node or its lease is invalid: its taints stay unchanged";
            if lines.admit(MESSAGE, now.mono) {
                tracing::warn!(node = node.as_str(), message = MESSAGE);
            }
        }
        NodeLifecycleNotice::ObservedAfresh => {
            tracing::warn!("observation was interrupted, so each node gets a new grace period")
        }
        NodeLifecycleNotice::Failed { node, failure, .. } => {
            tracing::debug!(node = node.as_str(), ?failure, "request about a node failed, retrying later");
        }
        NodeLifecycleNotice::Registered(node) => {
            tracing::debug!(node = node.name.as_str(), uid = %node.uid, "node seen for the first time");
        }
        NodeLifecycleNotice::Removed(node) => log_node(lines, node, "node is deleted", now.mono),
        NodeLifecycleNotice::BecameNotReady(node) => {
            log_node(lines, node, "node is no longer ready", now.mono)
        }
        NodeLifecycleNotice::PodMarked { pod, name } => {
            tracing::debug!(pod = name.as_str(), uid = %pod.uid, "pod condition Ready set to False because its node is not ready");
        }
    }
}

fn log_node(lines: &mut WriteLogLimits, node: &NodeRef, message: &'static str, now: Mono) {
    if lines.admit(message, now) {
        tracing::info!(node = node.name.as_str(), uid = %node.uid, message);
    }
}

/// Logs a change of a node's taints, made or, in observe mode, only decided (S14).
fn log_taints(
    message: &'static str,
    node: &NodeRef,
    zone: &ZoneKey,
    (add, remove): (ManagedTaints, ManagedTaints),
    cause: TaintCause,
    now: Now,
) {
    tracing::info!(
        node = node.name.as_str(),
        uid = %node.uid,
        zone = zone.to_string(),
        add = taint_list(add),
        remove = taint_list(remove),
        reason = cause_text(cause, now),
        message
    );
}

/// Upstream's events (NL-17, NL-19).
fn event(notice: &NodeLifecycleNotice, now: Now) -> Option<Event> {
    match notice {
        NodeLifecycleNotice::Registered(node) => Some(Event::registered(node, now.wall)),
        NodeLifecycleNotice::Removed(node) => Some(Event::removing(node, now.wall)),
        NodeLifecycleNotice::BecameNotReady(node) => Some(Event::node_not_ready(node, now.wall)),
        NodeLifecycleNotice::PodMarked { pod: PodRef { node, uid }, name } => {
            let pod: &PodName = name;
            Some(Event::pod_not_ready(pod, uid, node, now.wall))
        }
        _ => None,
    }
}

/// Logs the zones, their state, and the rate at which their nodes may be tainted.
pub(super) fn zones(engine: &NodeLifecycleEngine, now: Now) {
    let census = engine.stats();
    let zones = engine.zones().count();
    tracing::info!(nodes = census.nodes, zones, tainted = census.tainted, "node health synced");
    for zone in engine.zones().take(ZONES_NAMED) {
        tracing::info!(
            zone = zone.zone.to_string(),
            nodes = zone.size,
            not_ready = zone.unhealthy,
            excluded = zone.excluded,
            mode = state_text(zone.state),
            rate = rate_text(zone.rate),
            "state of a zone"
        );
    }
    if zones > ZONES_NAMED {
        tracing::info!(more = zones - ZONES_NAMED, "further zones are not logged");
    }
    if let Some(doubt) = engine.doubt(now.mono) {
        tracing::info!(
            ?doubt,
            "observation is incomplete, so the controller does not declare nodes silent yet"
        );
    }
}

/// Why taints were written.
fn cause_text(cause: TaintCause, now: Now) -> String {
    match cause {
        TaintCause::Conditions => "its conditions, or spec.unschedulable, require it".into(),
        TaintCause::Recovered => "it is ready".into(),
        TaintCause::Swap => "its reason for not being ready changed".into(),
        TaintCause::EverythingDown => "all zones are down, so the cause is not this node".into(),
        TaintCause::NotReady => "it reports that it is not ready".into(),
        TaintCause::Silent { since } => format!(
            "it has not reported within its grace period, which ended at {} ({} ago)",
            moment(since, now),
            length(now.mono.since(since))
        ),
    }
}

/// Taints in kubectl's format; empty for none.
fn taint_list(taints: ManagedTaints) -> String {
    let all: Vec<String> = taints.iter().map(|taint| taint.to_string()).collect();
    all.join(",")
}

/// The state of a zone, as text.
const fn state_text(state: ZoneState) -> &'static str {
    match state {
        ZoneState::Normal => "normal",
        ZoneState::PartialDisruption => "partly down",
        ZoneState::FullDisruption => "down",
    }
}

/// The rate at which nodes are tainted, as text.
fn rate_text(rate: TaintRate) -> String {
    let millionths = rate.as_millionths();
    match millionths {
        0 => "none".into(),
        1_000_000.. => format!("{} a second", rate.per_second()),
        _ => {
            let pause = i64::try_from(1_000_000_000_000 / millionths).unwrap_or(i64::MAX);
            format!("one in {}", length(Span::from_micros(pause)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logging::LogFormat;
    use crate::logging::tests::logged;
    use crate::metrics::BuildInfo;
    use std::sync::Arc;
    use taintward_core::identity::{NodeName, Uid};
    use taintward_core::node_lifecycle::ManagedTaint;
    use taintward_core::time::Wall;

    #[test]
    fn thousands_of_nodes_are_a_hundred_lines_of_each_kind_and_a_number() {
        let (mono, wall, skew_max) = (Mono::from_secs(7), Wall::from_secs(1_800_000_000), None);
        let now = Now { mono, wall, skew_max };
        let (started, host) = (now.wall, String::new());
        let about = BuildInfo { version: "", mode: "", lease: String::new(), started, host };
        let metrics = ControllerMetrics::new(Arc::new(|| Mono::from_secs(7)), &about);
        let log = logged(LogFormat::Text, 0, || {
            let mut lines = WriteLogLimits::default();
            for number in 0..5_000 {
                let name = NodeName::new(&format!("n{number}"));
                let node = NodeRef { name: name.clone(), uid: Uid::new("u") };
                let silent_since = now.mono;
                for notice in [
                    NodeLifecycleNotice::NotUnderstood(name),
                    NodeLifecycleNotice::BecameNotReady(node.clone()),
                    NodeLifecycleNotice::WouldDeclare { node: node.clone(), silent_since },
                    NodeLifecycleNotice::Removed(node),
                ] {
                    log(&notice, &mut lines, now, &metrics);
                }
            }
            lines.sum_up(None);
        });
        assert_eq!(log.lines().count(), 4 * 101);
        assert_eq!(log.lines().filter(|line| line.contains(" withheld=4900 of=")).count(), 4);
    }

    #[test]
    fn reasons_taints_and_rates_in_words() {
        let now = Now::exact(Mono::from_secs(100), Wall::from_secs(1_800_000_000));
        assert_eq!(
            cause_text(TaintCause::Silent { since: Mono::from_secs(90) }, now),
            "it has not reported within its grace period, which ended at 2027-01-15T07:59:50Z (10s ago)"
        );
        let both =
            ManagedTaints::NONE.with(ManagedTaint::Unreachable).with(ManagedTaint::UnreachableNoExecute);
        assert_eq!(
            taint_list(both),
            "node.kubernetes.io/unreachable:NoSchedule,node.kubernetes.io/unreachable:NoExecute"
        );
        assert_eq!(taint_list(ManagedTaints::NONE), "");
        for (millionths, text) in [
            (0, "none"),
            (10_000, "one in 1m40s"),
            (100_000, "one in 10s"),
            (1_000_000, "1 a second"),
            (2_500_000, "2.5 a second"),
        ] {
            assert_eq!(rate_text(TaintRate::from_millionths(millionths)), text);
        }
    }
}
