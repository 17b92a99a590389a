//! Reports that the brake delays evictions, and that it does no more: a log line, and an event of the first node.

use crate::controller::ReportSink;
use taintward_core::identity::{NodeName, Uid};
use taintward_core::time::Now;
use taintward_kube::events::{Event, EventReporter, Regarding};

/// The brake delays the first pod for a key, on this node.
pub(super) fn began(
    key: &str,
    node: (&NodeName, Option<&Uid>),
    (nodes, limit): (usize, usize),
    sink: &mut ReportSink,
    now: Now,
) {
    let remedy = remedy(key);
    tracing::warn!(
        key,
        nodes,
        limit,
        remedy,
        "pods of more nodes are due than --brake-limit allows, delaying evictions"
    );
    let note = format!(
        "Delaying evictions because of taints with the key {key}: pods of {nodes} nodes are due, and --brake-limit allows \
         {limit}; {remedy}"
    );
    record(("EvictionsBraked", "Delaying"), node, note, true, sink, now);
}

/// It delays no pod any more.
pub(super) fn ended(
    key: &str,
    node: (&NodeName, Option<&Uid>),
    (nodes, limit): (usize, usize),
    sink: &mut ReportSink,
    now: Now,
) {
    tracing::info!(
        key,
        nodes,
        limit,
        "the number of nodes is within --brake-limit again, evictions continue"
    );
    let note = format!(
        "Evictions because of taints with the key {key} continue: pods of {nodes} nodes are due, and --brake-limit allows \
         {limit}"
    );
    record(("EvictionsResumed", "Resuming"), node, note, false, sink, now);
}

/// What removes the reason, and what releases the pods.
fn remedy(key: &str) -> String {
    format!(
        "if that is a mistake: kubectl taint nodes --all {key}-; if it is intended: taintward release --taint {key}, or, for \
         some of the nodes, taintward release NODE --taint {key}"
    )
}

fn record(
    (reason, action): (&'static str, &str),
    (node, uid): (&NodeName, Option<&Uid>),
    note: String,
    warning: bool,
    sink: &mut ReportSink,
    now: Now,
) {
    // A node that is gone has no events.
    let Some(uid) = uid else { return };
    sink.recorder.record(Event {
        reporter: EventReporter { reason, ..EventReporter::EVICTION },
        regarding: Regarding::Node(node.clone(), uid.clone()),
        action: action.into(),
        note,
        warning,
        related: None,
        at: now.wall,
        count: 1,
    });
}
