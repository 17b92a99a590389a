//! # Teller: what operators read about pools
//! Room:     log lines and events: how a pool stands, what became of a node, requests that failed.
//! Comes in: what was written, and what was refused.
//! Goes out: one line for each; an event on the pool when its condition `Ready` gets another reason, and few lines when
//!           much goes wrong.
//! Keeps:    nothing beyond fixed bounds.
//! Not here: sending events (`recorder.rs`); the conditions (the client's `pools/pool_status.rs`).

use super::pool_effects::PoolEffect;
use crate::event_recorder::{EventRecorder, RecorderLimits};
use crate::eviction_reporting::LogRateLimit;
use taintward_core::admission::pool::{NodeRecordAnnotation, Reason, UnauthorizedPod};
use taintward_core::api_error::ApiFailure;
use taintward_core::time::{Mono, Wall};
use taintward_kube::api::{PatchedNode, RequestError};
use taintward_kube::decode::{PoolCondition, PoolObject};
use taintward_kube::events::{Event, EventReporter, Regarding};
use taintward_kube::pools::ELSEWHERE;

const BOUNDS: RecorderLimits = RecorderLimits { waiting: 100, at_once: 1 };

/// Reasons of the condition `Ready` that are no finding's and worth an event.
const WORDS: [&str; 4] = ["Applied", "Frozen", "Refused", ELSEWHERE];

/// What is still to be said, and how often what may be said.
pub(super) struct PoolReporter {
    pub(super) recorder: EventRecorder,
    complaints: LogRateLimit,
}

impl PoolReporter {
    pub(super) fn new() -> Self {
        Self { recorder: EventRecorder::new(BOUNDS), complaints: LogRateLimit::per_second(5) }
    }

    /// A pool's status was written.
    pub(super) fn told(&mut self, before: &PoolObject, after: &PoolObject, at: Wall) {
        let Some(ready) = ready(after) else { return };
        let before = self::ready(before).map(|before| &*before.reason);
        if before == Some(&*ready.reason) {
            return;
        }
        let (pool, reason) = (&*after.pool.name, &*ready.reason);
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
            regarding: Regarding::Pool(after.pool.name.clone(), after.uid.clone()),
            action: "Dedicating".into(),
            note: ready.message.to_string(),
            warning: *ready.status != *"True",
            related: None,
            at,
            count: 1,
        });
    }

    /// The API server has accepted that a pod of others is evicted.
    pub(super) fn evicted(&mut self, pool: &str, trespasser: &UnauthorizedPod, at: Wall) {
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

    /// A node was looked at, and perhaps written.
    pub(super) fn member(&self, now: &PatchedNode) {
        let (node, uid) = (&*now.seen.node.name, &now.seen.uid);
        let pool = now.seen.node.record.as_deref().map(|text| NodeRecordAnnotation::parse(text).pool);
        match pool {
            _ if !now.written => {}
            Some(pool) => tracing::info!(node, %uid, pool = &*pool, "node dedicated"),
            None => tracing::info!(node, %uid, "node given back"),
        }
    }

    /// Says that a request failed and will be tried again; not for every one of thousands.
    pub(super) fn complain(&mut self, effect: &PoolEffect, refusal: &RequestError, now: Mono) {
        let (request, object) = (effect.kind().as_str(), effect.object());
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

fn ready(pool: &PoolObject) -> Option<&PoolCondition> {
    pool.recorded.as_ref()?.conditions.iter().find(|one| *one.kind == *"Ready")
}
