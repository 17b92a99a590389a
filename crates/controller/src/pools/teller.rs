//! # Teller: what operators read about pools
//! Room:     log lines and events: how a pool stands, what became of a node, requests that failed.
//! Comes in: what was written, and what was refused.
//! Goes out: one line for each; an event on the pool when its condition `Ready` gets another reason, and few lines when
//!           much goes wrong.
//! Keeps:    nothing beyond fixed bounds.
//! Not here: sending events (`outbox.rs`); the conditions (the client's `pools/status.rs`).

use super::hands::Errand;
use crate::outbox::{Bounds, Outbox};
use crate::teller::Quota;
use taintward_client::act::{MemberNow, Refusal};
use taintward_client::decode::{Condition, SeenPool};
use taintward_client::event::{About, EventNote, Voice};
use taintward_client::pools::ELSEWHERE;
use taintward_core::admission::pool::{NodeRecordAnnotation, Reason, UnauthorizedPod};
use taintward_core::api_error::ApiFailure;
use taintward_core::time::{Mono, Wall};

const BOUNDS: Bounds = Bounds { waiting: 100, at_once: 1 };

/// Reasons of the condition `Ready` that are no finding's and worth an event.
const WORDS: [&str; 4] = ["Applied", "Frozen", "Refused", ELSEWHERE];

/// What is still to be said, and how often what may be said.
pub(super) struct Teller {
    pub(super) outbox: Outbox,
    complaints: Quota,
}

impl Teller {
    pub(super) fn new() -> Self {
        Self { outbox: Outbox::new(BOUNDS), complaints: Quota::per_second(5) }
    }

    /// A pool's status was written.
    pub(super) fn told(&mut self, before: &SeenPool, after: &SeenPool, at: Wall) {
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
        self.outbox.put(EventNote {
            voice: Voice::pools(reason),
            about: About::Pool(after.pool.name.clone(), after.uid.clone()),
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
        self.outbox.put(EventNote {
            voice: Voice::pools("DedicatedPoolEviction"),
            about: About::Pod(pod.clone(), uid.clone()),
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
    pub(super) fn member(&self, now: &MemberNow) {
        let (node, uid) = (&*now.seen.node.name, &now.seen.uid);
        let pool = now.seen.node.record.as_deref().map(|text| NodeRecordAnnotation::parse(text).pool);
        match pool {
            _ if !now.written => {}
            Some(pool) => tracing::info!(node, %uid, pool = &*pool, "node dedicated"),
            None => tracing::info!(node, %uid, "node given back"),
        }
    }

    /// Says that a request failed and will be tried again; not for every one of thousands.
    pub(super) fn complain(&mut self, errand: &Errand, refusal: &Refusal, now: Mono) {
        let (request, object) = (errand.kind().as_str(), errand.object());
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

fn ready(pool: &SeenPool) -> Option<&Condition> {
    pool.told.as_ref()?.conditions.iter().find(|one| *one.kind == *"Ready")
}
