//! Finds pods that lost their record while no process ran: their seconds are not their own, and nothing says which are.
//!
//! - See `toleration_guard/unrecorded.rs` for what such a pod shows. The pod template or the policy says what its seconds were meant to be;
//!   a person decides whether to recreate the pod.

use super::desired_seconds::DesiredSeconds;
use super::held_pod_entry::HeldPodEntry;
use super::object_cache::SecondsCache;
use super::objects::{HeldPodKey, RecordState};
use super::patch::TolerationSecondsNotice;
use crate::identity::PodRef;
use crate::toleration_guard::{UnrecordedCause, kept_by};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

/// The pods that lost their record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct UnrecordedPods {
    /// Pods whose tolerations Taintward was the last to write, to check once everything is listed.
    written: Vec<PodRef>,
    reported: BTreeSet<HeldPodKey>,
}

impl UnrecordedPods {
    pub(crate) fn add(&mut self, written: Vec<PodRef>) {
        self.written.extend(written);
    }

    /// Checks the pods that watches have delivered. Returns a notice for each that lost its record, once.
    pub(crate) fn check(
        &mut self,
        cache: &SecondsCache,
        desired: Option<&DesiredSeconds>,
    ) -> Vec<TolerationSecondsNotice> {
        let mut notices = Vec::new();
        for PodRef { node, uid } in core::mem::take(&mut self.written) {
            let key = HeldPodKey { node, uid };
            if let Some((pod, cause)) = unrecorded(&key, cache, desired)
                && !self.reported.contains(&key)
            {
                let (pod, node) = (pod.id().clone(), key.node.clone());
                notices.push(TolerationSecondsNotice::RecordMissing { pod, node, cause });
                self.reported.insert(key);
            }
        }
        notices
    }

    /// How many of them exist, and still do not have their own seconds.
    pub(crate) fn count(&self, cache: &SecondsCache, desired: Option<&DesiredSeconds>) -> usize {
        self.reported.iter().filter(|key| unrecorded(key, cache, desired).is_some()).count()
    }
}

/// Returns a pod without a record, and what it has kept.
fn unrecorded<'c>(
    key: &HeldPodKey,
    cache: &'c SecondsCache,
    desired: Option<&DesiredSeconds>,
) -> Option<(&'c HeldPodEntry, UnrecordedCause)> {
    let pod = cache.node(&key.node)?.pod(&key.uid).filter(|pod| *pod.record() == RecordState::Absent)?;
    let ceiling = desired.map(|desired| desired.ceiling(pod)).unwrap_or_default();
    let cause = kept_by(pod.tolerations(), ceiling)?;
    (!desired.is_some_and(|desired| desired.is_current(pod))).then_some((pod, cause))
}
