//! Keeps what is known of a pod, in few bytes: a process may check the requests for hundreds of thousands of pods.

use super::EvictionProperty;
use crate::fact::{PodFact, PodLifePhase};
use crate::identity::{NodeName, PodId, PodName, PodRef, ResourceVersion, Uid};
use crate::intern::SharedInterner;
use crate::taint::Taint;
use crate::time::{Mono, Span};
use crate::toleration::{Toleration, TolerationPeriod};
use crate::toleration_matching::{NumericOperators, TaintMatch, match_taint};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::cmp::Ordering;

/// The identity of a pod, ordered by its UID. The allocation is the one of the event, which the engine keeps too.
#[derive(Clone, Debug)]
pub(super) struct KnownPodId(pub(super) PodId);

impl Borrow<Uid> for KnownPodId {
    fn borrow(&self) -> &Uid {
        self.0.uid()
    }
}

impl PartialEq for KnownPodId {
    fn eq(&self, other: &Self) -> bool {
        self.0.uid() == other.0.uid()
    }
}

impl Eq for KnownPodId {}

impl PartialOrd for KnownPodId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for KnownPodId {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.uid().cmp(other.0.uid())
    }
}

/// The tolerations of all pods, each list of them once.
pub(super) type TolerationLists = SharedInterner<Vec<Toleration>>;

/// What is known of a pod.
#[derive(Clone, Debug)]
pub(super) struct MonitoredPod {
    node: NodeName,
    tolerations: Arc<Vec<Toleration>>,
    /// The version that the latest event or response contained.
    latest: Option<ResourceVersion>,
    /// The one before: a response that contains an older version than the watch does may come from a restored store, or may
    /// only have been slow.
    before: Option<ResourceVersion>,
    life_phase: PodLifePhase,
    is_mirror: bool,
    is_decodable: bool,
    /// Its deletion was interrupted, and needs another request, whatever the taints are (P31).
    is_half_deleted: bool,
    /// The API server has accepted its deletion, and neither a newer version, nor a list that began afterwards, has shown
    /// that it lives.
    is_deleted: bool,
    /// A list began after that.
    is_list_newer: bool,
    /// It was in the current list, or a list is not running.
    is_listed: bool,
}

impl MonitoredPod {
    pub(super) fn new(fact: &PodFact, lists: &mut TolerationLists) -> Self {
        Self {
            node: fact.node.clone(),
            tolerations: lists.take(fact.tolerations.clone()),
            latest: None,
            before: None,
            life_phase: fact.life_phase,
            is_mirror: fact.mirror,
            is_decodable: true,
            is_half_deleted: false,
            is_deleted: false,
            is_list_newer: false,
            is_listed: true,
        }
    }

    /// It is known no longer.
    pub(super) fn forget(&self, lists: &mut TolerationLists) {
        lists.give_back(&self.tolerations);
    }

    pub(super) const fn was_listed(&self) -> bool {
        self.is_listed
    }

    /// `is_read`: it is from a list or a live read, which no response is newer than.
    pub(super) fn apply(&mut self, fact: &PodFact, is_read: bool, lists: &mut TolerationLists) {
        self.is_listed = true;
        self.is_decodable = true;
        // An event that is older than another one, or than a response, changes nothing.
        if !is_read && fact.version.is_some() && fact.version < self.latest {
            return;
        }
        let is_newer = fact.version > self.latest || (is_read && self.is_list_newer);
        if fact.life_phase == PodLifePhase::Live && is_newer {
            self.is_deleted = false;
        }
        if self.node != fact.node {
            self.node.clone_from(&fact.node);
        }
        if *self.tolerations != fact.tolerations {
            lists.give_back(&self.tolerations);
            self.tolerations = lists.take(fact.tolerations.clone());
        }
        self.life_phase = fact.life_phase;
        self.is_mirror = fact.mirror;
        fact.version.into_iter().for_each(|version| self.learn(version));
    }

    /// A write whose response contains no version was accepted. The next event counts, even if it is older: a request that
    /// requires its version then fails.
    pub(super) const fn forget_versions(&mut self) {
        (self.latest, self.before) = (None, None);
    }

    /// A read, or the response to a write, contains this version.
    pub(super) fn learn(&mut self, version: ResourceVersion) {
        if self.latest != Some(version) {
            self.before = self.latest.replace(version);
        }
    }

    /// An event shows that it exists, and cannot be decoded.
    pub(super) const fn fail_to_decode(&mut self) {
        self.is_decodable = false;
        self.is_listed = true;
    }

    pub(super) const fn begin_list(&mut self) {
        self.is_listed = false;
        self.is_list_newer = self.is_deleted;
    }

    /// The list that began ends without an effect.
    pub(super) const fn abort_list(&mut self) {
        self.is_listed = true;
    }

    /// The API server has accepted its deletion.
    pub(super) const fn accept_deletion(&mut self) {
        self.is_deleted = true;
        self.is_list_newer = false;
    }

    pub(super) const fn is_half_deleted(&self) -> bool {
        self.is_half_deleted
    }

    pub(super) const fn set_half_deleted(&mut self, is_half_deleted: bool) {
        self.is_half_deleted = is_half_deleted;
    }

    /// `own_name`: the name of the pod with this UID.
    pub(super) fn check_identity(
        &self,
        own_name: &PodName,
        (pod, name): (&PodRef, &PodName),
        version: Option<ResourceVersion>,
    ) -> Result<(), (EvictionProperty, String)> {
        let wrong = |reason: &str| Err((EvictionProperty::RightPod, reason.into()));
        if own_name != name || self.node != pod.node {
            return wrong("the pod with this UID has another name or node");
        }
        if version.is_some() && version != self.latest && version != self.before {
            return wrong(
                "the latest events and responses contained other versions than the request requires",
            );
        }
        Ok(())
    }

    pub(super) fn check_phase(&self) -> Result<(), (EvictionProperty, String)> {
        if !self.is_decodable {
            return Err((EvictionProperty::Decoded, "it cannot be decoded".into()));
        }
        let reason = match self.life_phase {
            _ if self.is_deleted => "the API server has accepted its deletion already",
            PodLifePhase::Terminating => "it is terminating",
            PodLifePhase::Finished => "it has succeeded or failed",
            PodLifePhase::Live if self.is_mirror => "it is a mirror pod",
            PodLifePhase::Live => return Ok(()),
        };
        Err((EvictionProperty::Once, reason.into()))
    }

    /// Whether this taint may evict the pod now. `start`: it has not begun before; `None`: it may have begun long ago.
    pub(super) fn may_leave(
        &self,
        taint: &Taint,
        start: Option<Mono>,
        numeric: NumericOperators,
        now: Mono,
    ) -> bool {
        let period = match match_taint(&self.tolerations, taint, numeric) {
            TaintMatch::Untolerated => TolerationPeriod::For(Span::ZERO),
            TaintMatch::Unsupported(_) => return false,
            TaintMatch::Tolerated(at) => self.tolerations[at].period(),
        };
        match (period, start) {
            (TolerationPeriod::Forever, _) => false,
            (TolerationPeriod::For(_), None) => true,
            (TolerationPeriod::For(period), Some(start)) => start.plus(period) <= now,
        }
    }
}
