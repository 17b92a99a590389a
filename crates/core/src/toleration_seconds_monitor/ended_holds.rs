//! Keeps when the holds of pods end, until the pods have their seconds again.

use crate::eviction_monitor::UidHash;
use crate::identity::{NodeName, PodId};
use crate::time::{Mono, Now, Span, Wall};
use crate::toleration_seconds::{HeldPodFact, RecordState};
use alloc::collections::BTreeMap;

/// How long a pod may wait for a request after the end of its hold, unless requests fail.
const WITHOUT_REQUEST_MAX: Span = Span::from_secs(60);

/// How often all of them are looked at.
const CHECK_PAUSE: Span = Span::from_secs(5);

/// The hold of a pod.
#[derive(Clone, Debug)]
struct PodHold {
    pod: PodId,
    node: NodeName,
    ends: Wall,
    /// The same, or when the last request about the pod was sent or got its response.
    last: Mono,
}

/// All holds.
#[derive(Clone, Debug, Default)]
pub(super) struct EndedHolds {
    holds: BTreeMap<UidHash, PodHold>,
    /// Requests without a response, about whichever pods: others may wait for them.
    in_flight: usize,
    /// When a request last failed: the next one may wait.
    failed: Option<Mono>,
    checked: Option<Mono>,
}

impl EndedHolds {
    /// A pod, as it is now.
    pub(super) fn observe(&mut self, fact: &HeldPodFact, now: Now) {
        let uid = UidHash::of(fact.id.uid());
        let order = match &fact.record {
            RecordState::Known(record) if !record.is_released() => record.order(),
            _ => None,
        };
        let Some(ends) = order.map(|order| order.ends_at()) else { return self.forget(uid) };
        let (pod, node, last) = (fact.id.clone(), fact.node.clone(), now.mono_of(ends).max(now.mono));
        let hold = self.holds.entry(uid).or_insert_with(|| PodHold { pod, node, ends, last });
        if hold.ends != ends {
            (hold.ends, hold.last) = (ends, last);
        }
    }

    /// The pod is gone, or has its seconds.
    pub(super) fn forget(&mut self, uid: UidHash) {
        self.holds.remove(&uid);
    }

    /// A request about a pod is sent.
    pub(super) fn request(&mut self, uid: UidHash, now: Mono) {
        self.in_flight += 1;
        self.touch(uid, now);
    }

    /// A request about a pod has a response.
    pub(super) fn respond(&mut self, uid: UidHash, is_failure: bool, now: Mono) {
        self.in_flight = self.in_flight.saturating_sub(1);
        if is_failure {
            self.failed = Some(now);
        }
        self.touch(uid, now);
    }

    fn touch(&mut self, uid: UidHash, now: Mono) {
        if let Some(hold) = self.holds.get_mut(&uid) {
            hold.last = hold.last.max(now);
        }
    }

    /// A pod whose hold has ended although the engine has nothing to do; each is named once.
    pub(super) fn left(
        &mut self,
        is_known: impl Fn(&NodeName) -> bool,
        now: Now,
    ) -> Option<(PodId, NodeName)> {
        let is_long = |since: Mono| now.mono.since(since) > WITHOUT_REQUEST_MAX;
        let is_early = self.checked.is_some_and(|checked| now.mono.since(checked) < CHECK_PAUSE);
        if is_early || self.in_flight > 0 || self.failed.is_some_and(|failed| !is_long(failed)) {
            return None;
        }
        self.checked = Some(now.mono);
        let is_left = |hold: &&PodHold| {
            hold.ends.plus(WITHOUT_REQUEST_MAX) < now.wall && is_long(hold.last) && is_known(&hold.node)
        };
        let (uid, hold) = self.holds.iter().find(|(_, hold)| is_left(hold))?;
        let (uid, left) = (*uid, (hold.pod.clone(), hold.node.clone()));
        self.forget(uid);
        Some(left)
    }
}
