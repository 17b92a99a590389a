//! Keeps the conditions `DisruptionTarget` that the engine has set, until it deletes the pods or removes the conditions (S9).

use super::monitored_pod::UidHash;
use crate::identity::{PodName, PodRef};
use crate::time::{Mono, Span};
use alloc::collections::BTreeMap;

/// How long a condition may stay without a further request about its pod, unless requests fail.
const WITHOUT_REQUEST_MAX: Span = Span::from_secs(60);

/// How much a time without calls counts: the process may have been suspended.
const GAP_MAX: Span = Span::from_secs(10);

/// How often all of them are looked at.
const CHECK_PAUSE: Span = Span::from_secs(5);

/// A condition that was requested.
#[derive(Clone, Debug)]
struct MonitoredMark {
    pod: PodRef,
    name: PodName,
    /// Whether the API server has confirmed it.
    is_set: bool,
    /// Whether a request about the pod has no response yet.
    in_flight: bool,
    /// When the last request was sent or got its response.
    last: Mono,
}

/// All conditions.
#[derive(Clone, Debug, Default)]
pub(super) struct MonitoredMarks {
    marks: BTreeMap<UidHash, MonitoredMark>,
    /// When a request last failed: others may wait for it.
    failed: Option<Mono>,
    checked: Option<Mono>,
    /// When the engine was last called.
    called: Option<Mono>,
}

impl MonitoredMarks {
    /// A condition is requested.
    pub(super) fn request(&mut self, pod: &PodRef, name: &PodName, now: Mono) {
        let new = || MonitoredMark {
            pod: pod.clone(),
            name: name.clone(),
            is_set: false,
            in_flight: true,
            last: now,
        };
        let mark = self.marks.entry(UidHash::of(&pod.uid)).or_insert_with(new);
        (mark.in_flight, mark.last) = (true, now);
    }

    /// Another request about a pod is sent.
    pub(super) fn touch(&mut self, pod: &PodRef, now: Mono) {
        if let Some(mark) = self.marks.get_mut(&UidHash::of(&pod.uid)) {
            (mark.in_flight, mark.last) = (true, now);
        }
    }

    /// The condition is set.
    pub(super) fn set(&mut self, pod: &PodRef, now: Mono) {
        if let Some(mark) = self.marks.get_mut(&UidHash::of(&pod.uid)) {
            (mark.is_set, mark.in_flight, mark.last) = (true, false, now);
        }
    }

    /// Another request about a pod has a response, which ends nothing.
    pub(super) fn respond(&mut self, pod: &PodRef, is_failure: bool, now: Mono) {
        if is_failure {
            self.fail(now);
        }
        if let Some(mark) = self.marks.get_mut(&UidHash::of(&pod.uid)) {
            (mark.in_flight, mark.last) = (false, now);
        }
    }

    /// A request has failed.
    pub(super) const fn fail(&mut self, now: Mono) {
        self.failed = Some(now);
    }

    /// The pod was deleted, or has no condition any more.
    pub(super) fn end(&mut self, pod: UidHash) {
        self.marks.remove(&pod);
    }

    /// A condition that stays although the engine has nothing to do, and since when; each is named once.
    pub(super) fn left(&mut self, now: Mono) -> Option<(PodRef, PodName, Span)> {
        self.skip_gap(now);
        if self.marks.is_empty() || self.checked.is_some_and(|checked| now.since(checked) < CHECK_PAUSE) {
            return None;
        }
        self.checked = Some(now);
        let is_long = |since: Mono| now.since(since) > WITHOUT_REQUEST_MAX;
        if self.failed.is_some_and(|failed| !is_long(failed)) {
            return None;
        }
        let is_left = |mark: &&MonitoredMark| mark.is_set && !mark.in_flight && is_long(mark.last);
        let mark = self.marks.values().find(is_left)?.clone();
        self.end(UidHash::of(&mark.pod.uid));
        Some((mark.pod, mark.name, now.since(mark.last)))
    }

    /// Moves what happened before a gap, so that the gap counts no more than it may.
    fn skip_gap(&mut self, now: Mono) {
        let gap = self.called.replace(now).map_or(Span::ZERO, |called| now.since(called));
        if gap <= GAP_MAX {
            return;
        }
        let uncounted = Span::from_micros(gap.as_micros() - GAP_MAX.as_micros());
        let moved = |at: Mono| at.plus(uncounted).min(now);
        self.marks.values_mut().for_each(|mark| mark.last = moved(mark.last));
        self.failed = self.failed.map(moved);
    }
}
