//! Keeps what is known of a pod, in few bytes: a process may check the requests for hundreds of thousands of pods.

use crate::engine_monitor::RequestProperty;
use crate::fact::{PodFact, PodLifePhase};
use crate::hash::fnv1a;
use crate::identity::{NodeName, PodName, PodRef, ResourceVersion, Uid};
use crate::intern::SharedInterner;
use crate::taint::Taint;
use crate::time::{Mono, Span};
use crate::toleration::{Toleration, TolerationPeriod};
use crate::toleration_matching::{NumericOperators, TaintMatch, match_taint};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::num::NonZeroU64;

/// A UID in eight bytes: that two of a million pods share one is as rare as 1 in 30 million.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct UidHash(u64);

impl UidHash {
    pub(crate) fn of(uid: &Uid) -> Self {
        Self(match uid {
            // The bits of a UUID are random.
            Uid::Uuid(bytes) => {
                let bits = u128::from_be_bytes(*bytes);
                (bits ^ bits >> 64) as u64
            }
            Uid::Opaque(text) => fnv1a(text),
        })
    }
}

/// A node's and a pod's name in two bytes: of 65,536 wrong names, one is not noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NamesHash(u16);

impl NamesHash {
    pub(crate) fn of(node: &NodeName, pod: &PodName) -> Self {
        let hash = fnv1a(node.as_str()).rotate_left(1) ^ fnv1a(pod.as_str());
        Self((hash ^ hash >> 16 ^ hash >> 32 ^ hash >> 48) as u16)
    }
}

/// The tolerations of all pods, each list of them once.
pub(crate) type TolerationLists = SharedInterner<Vec<Toleration>>;

/// What is known of a pod.
#[derive(Clone, Debug)]
pub(super) struct MonitoredPod {
    tolerations: Arc<Vec<Toleration>>,
    /// The version that the latest event or response contained.
    latest: Option<NonZeroU64>,
    /// The one before: a response that contains an older version than the watch does may come from a restored store, or may
    /// only have been slow.
    before: Option<NonZeroU64>,
    names: NamesHash,
    life_phase: PodLifePhase,
    deletion: PodDeletion,
    is_mirror: bool,
    is_decodable: bool,
    /// Its deletion was interrupted, and needs another request, whatever the taints are (P31).
    is_half_deleted: bool,
    /// It was in the current list, or a list is not running.
    is_listed: bool,
}

const _: () = assert!(size_of::<MonitoredPod>() == 32);

/// Whether the API server has accepted its deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PodDeletion {
    /// No, or a newer version, or a list that began afterwards, has shown that it lives.
    NotAccepted,
    Accepted,
    /// And a list began after that.
    AcceptedBeforeList,
}

fn number(version: Option<ResourceVersion>) -> Option<NonZeroU64> {
    version.and_then(|version| NonZeroU64::new(version.0))
}

impl MonitoredPod {
    pub(super) fn new(fact: &PodFact, lists: &mut TolerationLists) -> Self {
        Self {
            tolerations: lists.take(fact.tolerations.clone()),
            latest: None,
            before: None,
            names: NamesHash::of(&fact.node, fact.id.name()),
            life_phase: fact.life_phase,
            deletion: PodDeletion::NotAccepted,
            is_mirror: fact.mirror,
            is_decodable: true,
            is_half_deleted: false,
            is_listed: true,
        }
    }

    #[cfg(test)]
    pub(super) fn names_hash(node: &str, pod: &str) -> u16 {
        NamesHash::of(&NodeName::new(node), &PodName::new("default", pod)).0
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
        let version = number(fact.version);
        if !is_read && version.is_some() && version < self.latest {
            return;
        }
        let is_newer = version > self.latest || (is_read && self.deletion == PodDeletion::AcceptedBeforeList);
        if fact.life_phase == PodLifePhase::Live && is_newer {
            self.deletion = PodDeletion::NotAccepted;
        }
        self.names = NamesHash::of(&fact.node, fact.id.name());
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
        let version = number(Some(version));
        if self.latest != version {
            self.before = core::mem::replace(&mut self.latest, version);
        }
    }

    /// An event shows that it exists, and cannot be decoded.
    pub(super) const fn fail_to_decode(&mut self) {
        self.is_decodable = false;
        self.is_listed = true;
    }

    pub(super) fn begin_list(&mut self) {
        self.is_listed = false;
        if self.deletion == PodDeletion::Accepted {
            self.deletion = PodDeletion::AcceptedBeforeList;
        }
    }

    /// The API server has accepted its deletion.
    pub(super) const fn accept_deletion(&mut self) {
        self.deletion = PodDeletion::Accepted;
    }

    pub(super) const fn is_half_deleted(&self) -> bool {
        self.is_half_deleted
    }

    pub(super) const fn set_half_deleted(&mut self, is_half_deleted: bool) {
        self.is_half_deleted = is_half_deleted;
    }

    pub(super) fn check_identity(
        &self,
        pod: &PodRef,
        name: &PodName,
        version: Option<ResourceVersion>,
    ) -> Result<(), (RequestProperty, String)> {
        let wrong = |reason: &str| Err((RequestProperty::RightPod, reason.into()));
        if self.names != NamesHash::of(&pod.node, name) {
            return wrong("the pod with this UID has another name or node");
        }
        let version = number(version);
        if version.is_some() && version != self.latest && version != self.before {
            return wrong(
                "the latest events and responses contained other versions than the request requires",
            );
        }
        Ok(())
    }

    pub(super) fn check_phase(&self) -> Result<(), (RequestProperty, String)> {
        if !self.is_decodable {
            return Err((RequestProperty::Decoded, "it cannot be decoded".into()));
        }
        let reason = match self.life_phase {
            _ if self.deletion != PodDeletion::NotAccepted => {
                "the API server has accepted its deletion already"
            }
            PodLifePhase::Terminating => "it is terminating",
            PodLifePhase::Finished => "it has succeeded or failed",
            PodLifePhase::Live if self.is_mirror => "it is a mirror pod",
            PodLifePhase::Live => return Ok(()),
        };
        Err((RequestProperty::Once, reason.into()))
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
