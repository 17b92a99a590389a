//! Decides what follows for all waiting pods when the API server rejects requests of one kind, and when that ends.
//!
//! - Invariant: only a request that succeeds shows that rejections of its kind have ended; 401, 403, 429, 5xx and silence
//!   do not (D3). A pod that is rejected while others are not keeps its own, growing pauses (L6).
//! - See `retry_queue.rs` for the pods that wait.

use crate::api_error::ApiFailure;
use crate::backoff::backoff;
use crate::identity::{NodeName, PodRef};
use crate::time::{Mono, Span};
use alloc::collections::BTreeMap;
use alloc::sync::Arc;

/// The interval between two retries of a kind that are sent before their time, to find out whether rejections have ended.
const PROBE_EVERY: Span = Span::from_secs(1);

/// Writes that have been rejected for long are probed less often: at intervals of this part of that time, up to
/// [`PROBE_EVERY_MAX`].
const PROBES_OF_AGE: i64 = 60;
/// The same if only one object is rejected: that may be about the object.
const PROBES_OF_AGE_ALONE: i64 = 6;
const PROBE_EVERY_MAX: Span = Span::from_secs(30);

/// The interval between two probes of any kind.
const PROBES_APART: Span = Span::from_millis(50);

/// After this many successes without a rejection in between, rejections of the kind have ended.
const SUCCESSES_CONVINCING: u32 = 3;

/// Until then, each success gives as many waiting pods their turn: they double while they succeed, and stay few while
/// most are rejected.
pub(crate) const TURNS_PER_SUCCESS: usize = 2;

/// A pod that got its turn that way in vain, by silence or throttling, waits at most this long for another one.
const HINT_PAUSE_MAX: Span = Span::from_secs(2);

/// The kind of a request: a success proves something about rejections of the same kind only. Admission may reject writes
/// in one namespace, and reads are never asked about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum RequestScope {
    /// Live reads of nodes and pods.
    Reads,
    /// Patches of the status of a pod in this namespace.
    Marks(Arc<str>),
    /// Deletions of pods in this namespace.
    Deletes(Arc<str>),
    /// Evictions of pods in this namespace by the eviction API.
    Evictions(Arc<str>),
}

impl RequestScope {
    /// The number of verbs.
    pub(crate) const VERBS: usize = 4;

    /// The verb, below [`RequestScope::VERBS`].
    pub(crate) const fn verb(&self) -> usize {
        match self {
            Self::Reads => 0,
            Self::Marks(_) => 1,
            Self::Deletes(_) => 2,
            Self::Evictions(_) => 3,
        }
    }
}

/// A pod that is rejected again and again, like others, by silence or throttling may just be unlucky: it is not kept
/// waiting for longer than this part of the time since its first rejection, or [`HINT_PAUSE_MAX`].
const UNLUCKY_PART: i64 = 6;

/// After so many rejections of one object and no other, a success of another shows that all were about the object.
const REJECTIONS_CONCLUSIVE: u32 = 3;

/// The object of a rejected request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum RejectedObject {
    /// A node that cannot be read.
    Node(NodeName),
    /// A pod.
    Pod(PodRef),
}

/// Whether a failure says that the API server rejects requests of this kind, or may not work.
pub(crate) const fn is_rejection(failure: ApiFailure) -> bool {
    match failure {
        ApiFailure::Forbidden | ApiFailure::Throttled(_) | ApiFailure::Rejected | ApiFailure::Unavailable => {
            true
        }
        ApiFailure::NotFound | ApiFailure::Conflict | ApiFailure::Budget => false,
    }
}

/// Why a request was rejected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RejectionReason {
    pub(crate) failure: ApiFailure,
    /// When a request of the kind for another object was rejected last.
    pub(crate) others: Option<Mono>,
}

/// The rejections that one pod got for requests of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Rejection {
    pub(crate) scope: RequestScope,
    /// The first and the last one.
    since: Mono,
    at: Mono,
    /// By silence or throttling, which may hit any request: not because of what was requested.
    may_hit_anyone: bool,
    /// Others were rejected, too, in such a way.
    is_unlucky: bool,
    /// The server asked not to be asked again before this.
    not_before: Mono,
    /// How many determine the pause.
    failures: u32,
    /// How many there were when others were found not to be rejected at all.
    failures_alone: u32,
    /// How often rejections of the kind had ended, and not for this pod.
    exceptions: u32,
    /// Refusals of the kind have ended since the last one.
    is_over: bool,
    /// How often the pod got its turn by single successes of other requests in vain.
    hints: u32,
    is_hinted: bool,
}

impl Rejection {
    /// Counts one more rejection of a pod.
    pub(crate) fn next(
        before: Option<&Self>,
        scope: RequestScope,
        reason: RejectionReason,
        now: Mono,
    ) -> Self {
        let RejectionReason { failure, others } = reason;
        let may_hit_anyone = matches!(failure, ApiFailure::Unavailable | ApiFailure::Throttled(_));
        let retry_after = match failure {
            ApiFailure::Throttled(Some(retry_after)) => retry_after.min(PROBE_EVERY_MAX),
            _ => Span::ZERO,
        };
        let count = |so_far: Option<u32>, more: Option<bool>| {
            so_far.unwrap_or(0).saturating_add(u32::from(more.unwrap_or(false)))
        };
        let exceptions = count(before.map(|it| it.exceptions), before.map(Self::is_exception));
        let exceptions = exceptions.max(before.map_or(0, |it| it.failures_alone));
        Self {
            scope,
            since: before.map_or(now, |it| it.since),
            at: now,
            may_hit_anyone,
            is_unlucky: may_hit_anyone && others.is_some_and(|others| before.is_none_or(|it| it.at < others)),
            not_before: now.plus(retry_after),
            failures: before.map_or(0, |it| it.failures).max(exceptions).saturating_add(1),
            failures_alone: 0,
            exceptions,
            is_over: false,
            hints: count(before.map(|it| it.hints), before.map(|it| it.is_hinted)),
            is_hinted: false,
        }
    }

    /// Whether another rejection is about this pod: other pods are no longer rejected, and chance does not explain it.
    const fn is_exception(&self) -> bool {
        self.is_over || self.is_hinted && !self.may_hit_anyone
    }

    /// How many rejections determine the next pause.
    pub(crate) const fn failures(&self) -> u32 {
        self.failures
    }

    /// The earliest next turn if rejections of the kind have ended.
    pub(crate) fn floor(&self, pod: &PodRef) -> Mono {
        let tries = self.exceptions.saturating_add(1);
        let pause = backoff(pod.node.as_str(), &pod.uid, tries, ApiFailure::Rejected);
        let age = Span::from_micros(self.at.since(self.since).as_micros() / UNLUCKY_PART);
        let pause = if self.is_unlucky { pause.min(age.max(HINT_PAUSE_MAX)) } else { pause };
        self.at.plus(pause).max(self.not_before)
    }

    /// The earliest next turn because a single request of the kind succeeded, or to find out whether one does.
    pub(crate) fn hint_floor(&self, pod: &PodRef) -> Mono {
        let pause = backoff(pod.node.as_str(), &pod.uid, self.hints.saturating_add(1), ApiFailure::Rejected);
        let pause = if self.may_hit_anyone { pause.min(HINT_PAUSE_MAX) } else { pause };
        self.floor(pod).max(self.at.plus(pause))
    }

    /// Refusals of the kind have ended: pauses begin again, unless the pod was an exception before.
    pub(crate) fn end(&mut self, is_alone: bool) {
        self.failures_alone = if is_alone { self.failures } else { 0 };
        (self.failures, self.is_over, self.hints) = (self.exceptions, true, 0);
    }

    /// The pod gets its turn before its time.
    pub(crate) fn hint(&mut self) {
        self.is_hinted = true;
    }
}

/// The last rejections of one kind, and whether they have ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct RejectionSeries {
    since: Mono,
    /// A convincing number of successes, without a rejection in between, has shown that they have ended.
    is_over: bool,
    rejections: u32,
    /// The only object that was rejected, if it is only one.
    only: Option<RejectedObject>,
    /// The object that was rejected last, and when another one was.
    last: (RejectedObject, Mono),
    last_other: Option<Mono>,
    /// Successes since the last rejection.
    successes: u32,
    probed: Mono,
    /// When a waiting pod may be tried before its time.
    probe_at: Mono,
}

/// What a success shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SuccessMeaning {
    /// Nothing that was not known.
    Nothing,
    /// Refusals of the kind may have ended.
    Hint,
    /// Refusals of the kind have ended; or, if `is_alone`, only one object was rejected all the time.
    End { is_alone: bool },
}

/// All ongoing series of rejections.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct RejectionLog {
    series: BTreeMap<RequestScope, RejectionSeries>,
    /// When reads last stopped being rejected: earlier failures no longer count.
    reads_ended: Mono,
    /// No probe of any kind before this.
    probe_free_at: Mono,
}

impl Default for RejectionLog {
    fn default() -> Self {
        let never = Mono::from_micros(i64::MIN);
        Self { series: BTreeMap::new(), reads_ended: never, probe_free_at: never }
    }
}

impl RejectionLog {
    /// A request of a kind was rejected.
    pub(crate) fn rejected(
        &mut self,
        scope: &RequestScope,
        object: RejectedObject,
        failure: ApiFailure,
        now: Mono,
    ) -> RejectionReason {
        let retry_after = match failure {
            ApiFailure::Throttled(Some(retry_after)) => retry_after.min(PROBE_EVERY_MAX),
            _ => Span::ZERO,
        };
        let begin = RejectionSeries {
            since: now,
            is_over: false,
            rejections: 0,
            only: Some(object.clone()),
            last: (object.clone(), now),
            last_other: None,
            successes: 0,
            probed: now,
            probe_at: now.plus(PROBE_EVERY),
        };
        let series = self.series.entry(scope.clone()).or_insert_with(|| begin.clone());
        if series.is_over {
            let before = core::mem::replace(series, begin);
            (series.last, series.last_other) = (before.last, before.last_other);
        }
        if series.only.as_ref().is_some_and(|only| *only != object) {
            series.only = None;
        }
        if series.last.0 != object {
            series.last_other = Some(series.last.1);
        }
        series.last = (object, now);
        series.rejections = series.rejections.saturating_add(1);
        series.successes = 0;
        series.probe_at = series.probe_at.max(now.plus(retry_after));
        RejectionReason { failure, others: series.last_other }
    }

    /// A request of a kind succeeded.
    pub(crate) fn succeeded(&mut self, scope: &RequestScope, now: Mono) -> SuccessMeaning {
        let Some(series) = self.series.get_mut(scope).filter(|series| !series.is_over) else {
            return SuccessMeaning::Nothing;
        };
        series.successes = series.successes.saturating_add(1);
        // One object is rejected and another is not: the kind is not.
        let is_over = series.successes >= SUCCESSES_CONVINCING || series.only.is_some();
        let is_alone = series.only.is_some() && series.rejections >= REJECTIONS_CONCLUSIVE;
        series.is_over = is_over;
        if is_over && *scope == RequestScope::Reads {
            self.reads_ended = now;
        }
        // What ended here may have ended elsewhere.
        for (_, other) in self.series.iter_mut().filter(|(other, _)| other.verb() == scope.verb()) {
            other.probe_at = other.probe_at.min(other.probed.plus(PROBE_EVERY));
        }
        if is_over { SuccessMeaning::End { is_alone } } else { SuccessMeaning::Hint }
    }

    /// Whether a failed read of that moment still counts.
    pub(crate) fn counts(&self, failed_at: Mono) -> bool {
        self.reads_ended <= failed_at
    }

    /// Forgets everything except when reads were last rejected.
    pub(crate) fn clear(&mut self) {
        self.series.clear();
    }

    /// When a pod that waits because of this kind may be tried before its time; `None`: its kind is not rejected.
    pub(crate) fn probe_at(&self, scope: &RequestScope) -> Option<Mono> {
        let series = self.series.get(scope).filter(|series| !series.is_over)?;
        Some(series.probe_at.max(self.probe_free_at))
    }

    /// A retry of a kind is sent, before its time or not.
    pub(crate) fn probed(&mut self, scope: &RequestScope, is_probe: bool, now: Mono) {
        if is_probe {
            self.probe_free_at = now.plus(PROBES_APART);
        }
        let Some(series) = self.series.get_mut(scope) else { return };
        let age = now.since(series.since).as_micros();
        let every = match (scope, series.only.is_some()) {
            (RequestScope::Reads, _) => PROBE_EVERY,
            (_, true) => Span::from_micros(age / PROBES_OF_AGE_ALONE),
            (_, false) => Span::from_micros(age / PROBES_OF_AGE).min(PROBE_EVERY_MAX),
        };
        let every = every.max(PROBE_EVERY);
        (series.probed, series.probe_at) = (now, series.probe_at.max(now.plus(every)));
    }

    /// When a pod may be a probe. Where only one object is rejected, and was while others were not, it does not
    /// show that others are rejected.
    pub(crate) fn probe_floor(&self, rejection: &Rejection, pod: &PodRef) -> Mono {
        let is_alone = self.series.get(&rejection.scope).is_some_and(|series| series.only.is_some());
        if is_alone && rejection.exceptions > 0 { Mono::NEVER } else { rejection.floor(pod) }
    }

    /// No pod of this kind may be tried before that moment.
    pub(crate) fn put_off(&mut self, scope: &RequestScope, until: Mono) {
        if let Some(series) = self.series.get_mut(scope) {
            series.probe_at = series.probe_at.max(until);
        }
    }
}

#[cfg(test)]
mod tests;
