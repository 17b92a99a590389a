//! Reports the notices of the dedicated pools engine: log lines and events.
//!
//! - See the core's `dedicated_pools/conditions.rs` for the conditions of a pool.

use crate::controller::ReportSink;
use crate::controller_context::ControllerContext;
use crate::event_recorder::EventRecorder;
use crate::settings::WriteMode;
use taintward_core::admission::pool::{Reason, UnauthorizedPod};
use taintward_core::dedicated_pools::{DedicatedPoolNotice, ELSEWHERE};
use taintward_core::identity::Uid;
use taintward_core::status_condition::StatusCondition;
use taintward_core::time::Wall;
use taintward_kube::events::{Event, EventReporter, Regarding};

/// Reasons of the condition `Ready` that no finding has and that are worth an event.
const WORDS: [&str; 4] = ["Applied", "Frozen", "Refused", ELSEWHERE];

/// Reports one notice.
pub(super) fn report(
    notice: DedicatedPoolNotice,
    context: &ControllerContext,
    sink: &mut ReportSink,
    at: Wall,
) {
    let recorder = &mut sink.recorder;
    match notice {
        DedicatedPoolNotice::Synced { pools, nodes } => {
            tracing::info!(pools, nodes, "dedicated pools synced");
        }
        DedicatedPoolNotice::NodesPlanned(nodes) => {
            if context.mode == WriteMode::Observe {
                tracing::info!(nodes, "would write nodes for dedicated pools now");
            }
        }
        DedicatedPoolNotice::ReadyChanged { pool, uid, before, ready } => {
            ready_changed(recorder, (pool, uid), before.as_deref(), &ready, at);
        }
        DedicatedPoolNotice::NodeWritten { node, uid, pool: Some(pool) } => {
            tracing::info!(node = &*node, %uid, pool = &*pool, "node dedicated");
        }
        DedicatedPoolNotice::NodeWritten { node, uid, pool: None } => {
            tracing::info!(node = &*node, %uid, "node is no longer dedicated");
        }
        DedicatedPoolNotice::PodEvicted { pool, pod } => evicted(recorder, &pool, &pod, at),
        DedicatedPoolNotice::PoolGone { pool } => {
            tracing::info!(pool = &*pool, "pool deleted, its taints and labels are removed from all nodes");
        }
    }
}

fn ready_changed(
    recorder: &mut EventRecorder,
    (name, uid): (Box<str>, Uid),
    before: Option<&str>,
    ready: &StatusCondition,
    at: Wall,
) {
    let (pool, reason) = (&*name, &*ready.reason);
    match *ready.status == *"True" {
        true => tracing::info!(pool, "pool is ready"),
        false if matches!(reason, "Leaving" | "Progressing") => {
            tracing::info!(pool, reason, why = &*ready.message, "pool is not ready yet");
        }
        false => tracing::warn!(pool, reason, why = &*ready.message, "pool is not ready"),
    }
    let mut reasons = Reason::ALL.iter().map(|one| one.as_str()).chain(WORDS);
    let Some(reason) = reasons.find(|one| *one == reason) else { return };
    // A node that joined is not worth an event of the pool.
    if (before, reason) == (Some("Progressing"), "Applied") {
        return;
    }
    recorder.record(Event {
        reporter: EventReporter::pools(reason),
        regarding: Regarding::Pool(name, uid),
        action: "Dedicating".into(),
        note: ready.message.to_string(),
        warning: *ready.status != *"True",
        related: None,
        at,
        count: 1,
    });
}

/// Records that the API server has accepted the eviction of a pod that does not belong to the pool.
fn evicted(recorder: &mut EventRecorder, pool: &str, unauthorized: &UnauthorizedPod, at: Wall) {
    let UnauthorizedPod { uid, pod, node } = unauthorized;
    let (namespace, name) = (pod.namespace(), pod.name());
    tracing::info!(namespace, name, %uid, node = node.as_str(), pool, "pod evicted from a dedicated pool");
    recorder.record(Event {
        reporter: EventReporter::pools("DedicatedPoolEviction"),
        regarding: Regarding::Pod(pod.clone(), uid.clone()),
        action: "Evicting".into(),
        note: format!(
            "Evicting Pod {namespace}/{name}: it does not belong to pool {pool}, which reserves node {node}"
        ),
        warning: false,
        related: Some(node.clone()),
        at,
        count: 1,
    });
}
