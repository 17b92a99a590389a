//! Finds out which due pods a process with the same facts delays, and because of what, without sending anything.
//!
//! - See `policy_gate.rs` for what delays pods.

use super::EvictionEngine;
use super::delay_reason::BrakedKey;
use crate::engine::{Engine as _, Lane};
use crate::identity::{PodName, PodRef};
use crate::time::{Mono, Now};
use alloc::vec::Vec;

/// A due pod that neither a policy nor the brake delays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndelayedEviction<'a> {
    /// The pod.
    pub pod: &'a PodRef,
    /// Its name.
    pub name: &'a PodName,
    /// Since when it has been due.
    pub due: Mono,
}

impl EvictionEngine {
    /// Returns a copy in which each due pod has had its turn: [`EvictionEngine::delayed`] and
    /// [`EvictionEngine::undelayed`] of the copy have all due pods. The copy is pulled like the engine of a controller, and
    /// its effects are discarded, so that the gate itself decides; a pod that passes the gate waits in the copy for a response
    /// that never comes. Before the engine is synced, no pod has a turn.
    #[must_use]
    pub fn after_turns(&self, now: Now) -> Self {
        let mut copy = self.clone();
        copy.tick(now.mono);
        // The gate keeps no pod that is marked: a request removes the mark first.
        let marked: Vec<PodRef> = copy.cache.marked().collect();
        for pod in marked {
            let version = copy.cache.version(&pod);
            copy.update().set_marked(&pod, false, version);
        }
        while copy.next_effect(Lane::All, now).is_some() {}
        copy
    }

    /// Returns the due pods that nothing delays.
    pub fn undelayed(&self) -> impl Iterator<Item = UndelayedEviction<'_>> {
        self.state
            .queue
            .undelayed()
            .filter_map(|(pod, due)| Some(UndelayedEviction { pod, name: self.cache.name(pod)?, due }))
    }

    /// Returns the taint keys that the brake delays.
    pub fn braked_keys(&self) -> Vec<BrakedKey> {
        self.state.queue.gate().braked()
    }
}
