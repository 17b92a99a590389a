//! # Teller: what operators read about pools
//! Room:     log lines and events: how a pool stands, what became of a node, requests that failed.
//! Comes in: what was written, and what was refused.
//! Goes out: one line for each; an event on the pool when its condition `Ready` gets another reason, and few lines when
//!           much goes wrong.
//! Keeps:    nothing beyond fixed bounds.
//! Not here: sending events (`event_recorder.rs`); the conditions (the core's `dedicated_pools/conditions.rs`).

use super::pool_effects::{kind, object};
use crate::event_recorder::{EventRecorder, RecorderLimits};
use crate::eviction_reporting::LogRateLimit;
use crate::settings::WriteMode;
use taintward_core::admission::pool::{Reason, UnauthorizedPod};
use taintward_core::api_error::ApiFailure;
use taintward_core::dedicated_pools::{DedicatedPoolNotice, ELSEWHERE, PoolCondition, PoolEffect};
use taintward_core::identity::Uid;
use taintward_core::time::{Mono, Wall};
use taintward_kube::api::RequestError;
use taintward_kube::events::{Event, EventReporter, Regarding};

const BOUNDS: RecorderLimits = RecorderLimits { waiting: 100, at_once: 1 };

/// Reasons of the condition `Ready` that are no finding's and worth an event.
const WORDS: [&str; 4] = ["Applied", "Frozen", "Refused", ELSEWHERE];

/// What is still to be said, and how often what may be said.
pub(super) struct PoolReporter {
    pub(super) recorder: EventRecorder,
    complaints: LogRateLimit,
    mode: WriteMode,
}

impl PoolReporter {
    pub(super) fn new(mode: WriteMode) -> Self {
        Self { recorder: EventRecorder::new(BOUNDS), complaints: LogRateLimit::per_second(5), mode }
    }

    /// Says what the engine has to report.
    pub(super) fn report(&mut self, notice: DedicatedPoolNotice, at: Wall) {
        match notice {
            DedicatedPoolNotice::Synced { pools, nodes } => {
                tracing::info!(pools, nodes, "dedicated pools synced");
            }
            DedicatedPoolNotice::NodesPlanned(nodes) => {
                if self.mode == WriteMode::Observe {
                    tracing::info!(nodes, "would write nodes for dedicated pools now");
                }
            }
            DedicatedPoolNotice::ReadyChanged { pool, uid, before, ready } => {
                self.ready_changed((pool, uid), before.as_deref(), &ready, at);
            }
            DedicatedPoolNotice::NodeWritten { node, uid, pool: Some(pool) } => {
                tracing::info!(node = &*node, %uid, pool = &*pool, "node dedicated");
            }
            DedicatedPoolNotice::NodeWritten { node, uid, pool: None } => {
                tracing::info!(node = &*node, %uid, "node given back");
            }
            DedicatedPoolNotice::PodEvicted { pool, pod } => self.evicted(&pool, &pod, at),
            DedicatedPoolNotice::PoolGone { pool } => {
                tracing::info!(pool = &*pool, "pool is gone, and nothing of it is left on nodes");
            }
        }
    }

    fn ready_changed(
        &mut self,
        (name, uid): (Box<str>, Uid),
        before: Option<&str>,
        ready: &PoolCondition,
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
        // That a node has joined is no event of the pool.
        if (before, reason) == (Some("Progressing"), "Applied") {
            return;
        }
        self.recorder.put(Event {
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

    /// The API server has accepted that a pod of others is evicted.
    fn evicted(&mut self, pool: &str, trespasser: &UnauthorizedPod, at: Wall) {
        let UnauthorizedPod { uid, pod, node } = trespasser;
        let (namespace, name) = (pod.namespace(), pod.name());
        tracing::info!(namespace, name, %uid, node = node.as_str(), pool, "pod evicted from a dedicated pool");
        self.recorder.put(Event {
            reporter: EventReporter::pools("DedicatedPoolEviction"),
            regarding: Regarding::Pod(pod.clone(), uid.clone()),
            action: "Evicting".into(),
            note: format!(
                "Evicting Pod {namespace}/{name}: node {node} is one of pool {pool}, which is for others"
            ),
            warning: false,
            related: Some(node.clone()),
            at,
            count: 1,
        });
    }

    /// Says that a request failed and will be tried again; not for every one of thousands.
    pub(super) fn complain(&mut self, effect: &PoolEffect, refusal: &RequestError, now: Mono) {
        let (request, object) = (kind(effect).as_str(), object(effect));
        if matches!(refusal.failure, ApiFailure::Conflict | ApiFailure::NotFound) {
            tracing::debug!(request, object, err = %refusal.message, "looked at again");
            return;
        }
        let Some(withheld) = self.complaints.take(now) else { return };
        tracing::warn!(
            request,
            object,
            err = %refusal.message,
            withheld,
            "request about a dedicated pool failed; it is tried again as long as there is reason to"
        );
    }
}
